"""Function names as SQL users type them, and the built-in each one means."""

from __future__ import annotations

from whence.functions.builtin import BUILTINS
from whence.model.terms import AGGREGATES

# Other names for what a built-in does already.
SYNONYMS = {
    "substr": "substring",
    "char_length": "length",
    "character_length": "length",
    "len": "length",
    "ceiling": "ceil",
    "pow": "power",
    "mod": "%",
    "nvl": "coalesce",
    "ifnull": "coalesce",
    "lcase": "lower",
    "ucase": "upper",
    "dayofmonth": "day",
    "date_diff": "datediff",
    "dateadd": "date_add",
    "signum": "sign",
    "log": "ln",
    "regexp": "rlike",
    "regexp_like": "rlike",
    "iff": "if",
    "array_size": "size",
    "cardinality": "size",
}
AGGREGATE_SYNONYMS = {"mean": "avg"} | {name: name for name in AGGREGATES}

OTHER_AGGREGATES = frozenset(
    "any_value approx_count_distinct array_agg bit_and bit_or bit_xor bool_and bool_or collect_list collect_set corr "
    "count_if covar_pop covar_samp every first first_value grouping kurtosis last last_value listagg max_by median "
    "min_by mode percentile percentile_approx product regr_count skewness some stddev stddev_pop stddev_samp "
    "string_agg var_pop var_samp variance".split()
)
NOT_REPEATABLE = frozenset("current_date current_timestamp now rand random randn uuid shuffle current_user".split())


def builtin_name(name: str) -> str | None:
    """The built-in that a function name means, if any."""
    lowered = name.lower()
    lowered = SYNONYMS.get(lowered, lowered)
    return lowered if lowered in BUILTINS else None
