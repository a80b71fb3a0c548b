"""Function names as SQL users type them: what each one means, and those that Spark has and whence has not."""

from __future__ import annotations

from whence.errors import UnsupportedError
from whence.functions.builtin import BUILTINS
from whence.model.span import Span
from whence.model.terms import AGGREGATES
from whence.model.types import TYPES

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
    "array_size": "size",
    "cardinality": "size",
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
        "{name} is a window function, which is not supported",
        "join with a GROUP BY of the same rows",
    ),
    (
        "explode explode_outer posexplode posexplode_outer inline inline_outer stack json_tuple",
        "{name}(...) makes several rows of one, which is not supported",
        "keep the elements in a table of their own, with a row for each",
    ),
    (
        "array_agg collect_list collect_set listagg string_agg",
        _NO_AGGREGATE,
        "keep a row for each value, and collect what db.query(...) gives",
    ),
    (
        "stddev stddev_pop stddev_samp std var_pop var_samp variance",
        _NO_AGGREGATE,
        "compute it in a second view from sum(x), sum(x * x) and count(x)",
    ),
    ("max_by min_by", _NO_AGGREGATE, "join with a view that has the max or min of each group"),
    ("any_value first first_value last last_value", _NO_AGGREGATE, "rows have no order; take min(x) or max(x)"),
    (
        (
            "bit_and bit_or bit_xor corr covar_pop covar_samp grouping kurtosis median mode percentile "
            "percentile_approx approx_percentile product regr_count skewness histogram_numeric"
        ),
        _NO_AGGREGATE,
        "aggregates are count, sum, avg, min and max",
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
    ("window", _NOT_THERE, "group by date_trunc('HOUR', x)"),
    (
        "struct named_struct map map_from_arrays map_from_entries map_keys map_values map_entries map_concat",
        "{name}(...) is not supported: there are no STRUCT and MAP values",
        "give each part a column of its own",
    ),
    (
        "transform filter aggregate reduce exists forall zip_with transform_keys transform_values map_filter",
        "{name}(...) takes a lambda, which is not supported",
        "define the whole of it in Python: db.function(...)",
    ),
    *((" ".join(kind.cast_functions), _NOT_THERE, f"write CAST(x AS {kind})") for kind in TYPES),
    (
        (
            "regexp_replace regexp_extract split initcap translate overlay soundex levenshtein ascii chr char "
            "format_number format_string printf md5 sha sha1 sha2 crc32 hash xxhash64 base64 unbase64 hex unhex bin "
            "conv get_json_object from_json to_json parse_url sin cos tan asin acos atan atan2 sinh cosh tanh degrees "
            "radians cbrt hypot factorial pi rint bround months_between last_day next_day make_date make_timestamp "
            "weekofyear weekday dayofyear unix_timestamp from_unixtime to_unix_timestamp flatten sequence slice "
            "sort_array array_sort array_distinct array_union array_intersect array_except array_join array_max "
            "array_min array_position array_remove array_repeat arrays_overlap"
        ),
        _NOT_THERE,
        "define it in Python: db.function({name!r}, ..., returns=...)",
    ),
)
# What says the same.
INSTEAD = {
    "approx_count_distinct": "count(DISTINCT x)",
    "count_if": "count(if(x > 0, 1, NULL))",
    "bool_and": "min(x > 0)",
    "every": "min(x > 0)",
    "bool_or": "max(x > 0)",
    "some": "max(x > 0)",
    "date_part": "EXTRACT(YEAR FROM d)",
    "datepart": "EXTRACT(YEAR FROM d)",
    "date_format": "concat(CAST(year(d) AS STRING), '-', lpad(CAST(month(d) AS STRING), 2, '0'))",
    "trunc": "date_trunc('MONTH', d)",
    "unix_date": "datediff(d, DATE '1970-01-01')",
    "date_from_unix_date": "date_add(DATE '1970-01-01', x)",
    "iff": "if(x > 0, y, z)",
    "nvl2": "if(isnotnull(x), y, z)",
    "zeroifnull": "coalesce(x, 0)",
    "nullifzero": "nullif(x, 0)",
    "decode": "CASE x WHEN 1 THEN 'one' ELSE 'other' END",
    "equal_null": "x <=> y",
    "concat_ws": "concat(s, ', ', t)",
    "btrim": "trim(s)",
    "log10": "ln(x) / ln(10)",
    "log2": "ln(x) / ln(2)",
    "log1p": "ln(1 + x)",
    "expm1": "exp(x) - 1",
    "e": "exp(1)",
    "negative": "-x",
    "pmod": "(x % y + y) % y",
    "try_divide": "x / nullif(y, 0)",
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
