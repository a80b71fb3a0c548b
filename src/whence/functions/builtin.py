"""All built-in functions by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from whence.functions.arithmetic import ARITHMETIC
from whence.functions.arrays import ARRAYS
from whence.functions.bits import BITS
from whence.functions.comparison import COMPARISON
from whence.functions.conditional import CONDITIONAL, LOGIC
from whence.functions.dates import DATES
from whence.functions.digests import DIGESTS
from whence.functions.elementary import ELEMENTARY
from whence.functions.encodings import ENCODINGS
from whence.functions.epochs import EPOCHS
from whence.functions.intervals import INTERVALS, with_parts
from whence.functions.json_texts import JSON_TEXTS
from whence.functions.json_values import JSON_VALUES
from whence.functions.lambdas import LAMBDAS
from whence.functions.maps import MAPS
from whence.functions.mathematics import MATHEMATICS
from whence.functions.number_formats import NUMBER_FORMATS
from whence.functions.patterns import PATTERNS
from whence.functions.records import RECORDS
from whence.functions.regular_expressions import REGULAR_EXPRESSIONS
from whence.functions.resolve import Builtin
from whence.functions.statistics import STATISTICS
from whence.functions.strings import STRINGS
from whence.functions.structs import STRUCTS
from whence.functions.text_edits import TEXT_EDITS
from whence.functions.tries import TRIES
from whence.functions.urls import URLS
from whence.functions.vectors import VECTORS

_FAMILIES = (
    *(ARITHMETIC, ARRAYS, BITS, COMPARISON, CONDITIONAL, DATES, DIGESTS, ELEMENTARY, ENCODINGS, EPOCHS, LOGIC),
    *(MAPS, MATHEMATICS, PATTERNS, RECORDS, REGULAR_EXPRESSIONS, STATISTICS, STRINGS, STRUCTS, TEXT_EDITS, TRIES),
    *(INTERVALS, JSON_TEXTS, JSON_VALUES, LAMBDAS, NUMBER_FORMATS, URLS, VECTORS),
)

BUILTINS: Mapping[str, Builtin] = MappingProxyType(
    {each.name: with_parts(each) for family in _FAMILIES for each in family}
)

__all__ = ["BUILTINS", "Builtin"]
