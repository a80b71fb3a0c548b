"""Function names as SQL users type them: what each one means, and those that Spark has and whence has not."""

from __future__ import annotations

from whence.errors import UnsupportedError
from whence.functions.builtin import BUILTINS
from whence.model.span import Span
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
    "regexp": "rlike",
    "regexp_like": "rlike",
    "cardinality": "size",
    "sha": "sha1",
    "char": "chr",
    "bit_get": "getbit",
    "to_unix_timestamp": "unix_timestamp",
    "positive": "+",
    "negative": "-",
    "to_varchar": "to_char",
    "printf": "format_string",
    "reduce": "aggregate",
}
# Other than coalesce itself, these take two values.
TWO_ARGUMENTS = ("nvl", "ifnull")
AGGREGATE_SYNONYMS = {"mean": "avg"} | {name: name for name in AGGREGATES}


def builtin_name(name: str) -> str | None:
    """The built-in that a function name means, if any."""
    lowered = name.lower()
    lowered = SYNONYMS.get(lowered, lowered)
    return lowered if lowered in BUILTINS else None


_NOT_THERE = "{name}(...) is not supported"
_NO_AGGREGATE = "the aggregate {name}(...) is not supported"

# Names, what to say of each, and what to do.
_FAMILIES = (
    (
        "row_number rank dense_rank percent_rank cume_dist ntile lag lead nth_value",
        "{name} is a window function, and needs an OVER",
        "write {name}(...) OVER (PARTITION BY ... ORDER BY ...)",
    ),
    (
        "explode explode_outer posexplode posexplode_outer inline inline_outer stack json_tuple",
        "{name}(...) stands alone in a select list, in FROM or in LATERAL VIEW",
        "write SELECT {name}(array) AS x, and compute with x in a query around it",
    ),
    ("first first_value last last_value", _NO_AGGREGATE, "rows have no order; take any_value(x), min(x) or max(x)"),
    (
        "grouping percentile_approx approx_percentile histogram_numeric",
        _NO_AGGREGATE,
        "percentile(x, 0.5) is exact",
    ),
    (
        "current_date current_timestamp now localtimestamp rand random randn uuid shuffle current_user",
        "{name}() gives another value each time, so a view of it cannot be kept up to date",
        "put the value into a table",
    ),
    (
        "monotonically_increasing_id input_file_name spark_partition_id",
        "{name}() depends on how Spark reads its files, so it is not supported",
        "put the value into a table",
    ),
    (
        "window session_window",
        "{name}(...) belongs to a query that reads a table",
        "write GROUP BY {name}(ts, '10 seconds')",
    ),
    (
        "tumble tumble_start tumble_end hop hop_start hop_end session session_start session_end",
        "{name}(...) is not Spark's",
        "GROUP BY window(ts, '10 seconds'), window(ts, '10 seconds', '5 seconds') or session_window(ts, '5 minutes')",
    ),
    (
        (
            "hash xxhash64 arrays_zip "
            "format_number parse_json from_csv to_csv convert_timezone from_utc_timestamp "
            "to_utc_timestamp make_interval"
        ),
        _NOT_THERE,
        "define it in Python: db.function({name!r}, ..., returns=...)",
    ),
)
# What says the same.
INSTEAD = {
    "approx_count_distinct": "count(DISTINCT x)",
    "iff": "if(x > 0, y, z)",
}
_KNOWN = {name: (what, hint) for names, what, hint in _FAMILIES for name in names.split()} | {
    name: (_NOT_THERE, f"write {instead}") for name, instead in INSTEAD.items()
}


def missing(name: str, span: Span | None) -> UnsupportedError | None:
    """The refusal of a function that Spark has, in any letter case; None if Spark has none of that name either."""
    found = _KNOWN.get(name.lower())
    if found is None:
        return None
    what, hint = (part.format(name=name) for part in found)
    return UnsupportedError(what, span=span, hint=hint)
