"""How a file is read: its format, and what Spark's CSV reader can be told, under the same names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from whence.errors import UnsupportedError, did_you_mean

# By lower-case name; `delimiter` and `null` are what COPY calls them elsewhere.
OPTIONS = {
    "format": "format",
    "sep": "sep",
    "delimiter": "sep",
    "header": "header",
    "quote": "quote",
    "nullvalue": "null",
    "null": "null",
    "mode": "mode",
}
FORMATS = ("csv", "parquet", "json")
# A row that does not fit is an error, or is left out.
MODES = ("failfast", "dropmalformed")
_TRUTHS = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class FileOptions:
    """Without a `format`, the end of a file's name tells it."""

    format: str | None = None
    sep: str = ","
    header: bool = True
    quote: str = '"'
    null: str = ""
    drops_bad_rows: bool = False


def file_options(given: Mapping[str, str]) -> FileOptions:
    """Raises where a name or a value is not known."""
    found: dict[str, str] = {}
    for name, value in given.items():
        known = OPTIONS.get(name.lower())
        if known is None:
            raise UnsupportedError(
                f"files have no option {name!r}", hint=did_you_mean(name, OPTIONS) or f"there is {', '.join(OPTIONS)}"
            )
        found[known] = value
    kind = found.get("format", "").lower() or None
    if kind is not None and kind not in FORMATS:
        raise UnsupportedError(f"the format {kind!r} is not known", hint=f"there is {', '.join(FORMATS)}")
    sep = {"\\t": "\t"}.get(found.get("sep", ","), found.get("sep", ","))
    quote = found.get("quote", '"')
    if len(sep) != 1 or sep in "\r\n" or len(quote) > 1 or sep == quote:
        raise UnsupportedError("sep and quote are two different characters", hint="sep = ';', quote = '\"'")
    header = found.get("header", "true").lower()
    if header not in _TRUTHS:
        raise UnsupportedError(f"header is true or false, not {header!r}")
    mode = found.get("mode", MODES[0]).lower()
    if mode not in MODES:
        raise UnsupportedError(
            f"the mode {mode!r} is not known",
            hint="FAILFAST refuses rows that do not fit, DROPMALFORMED leaves them out",
        )
    return FileOptions(kind, sep, _TRUTHS[header], quote, found.get("null", ""), mode == MODES[1])
