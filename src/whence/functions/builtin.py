"""All built-in functions by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from whence.functions.arithmetic import ARITHMETIC
from whence.functions.comparison import COMPARISON
from whence.functions.conditional import CONDITIONAL, LOGIC
from whence.functions.dates import DATES
from whence.functions.mathematics import MATHEMATICS
from whence.functions.patterns import PATTERNS
from whence.functions.resolve import Builtin
from whence.functions.strings import ARRAYS, STRINGS

_FAMILIES = (ARITHMETIC, ARRAYS, COMPARISON, CONDITIONAL, DATES, LOGIC, MATHEMATICS, PATTERNS, STRINGS)

BUILTINS: Mapping[str, Builtin] = MappingProxyType({each.name: each for family in _FAMILIES for each in family})

__all__ = ["BUILTINS", "Builtin"]
