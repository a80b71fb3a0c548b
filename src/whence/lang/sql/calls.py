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


def builtin_name(name: str) -> str | None:
    """The built-in that a function name means, if any."""
    lowered = name.lower()
    lowered = SYNONYMS.get(lowered, lowered)
    return lowered if lowered in BUILTINS else None
