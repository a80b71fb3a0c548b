"""All functions that Spark computes as we do, by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from whence.engines.spark.native.comparison import COMPARISON
from whence.engines.spark.native.dates import DATES
from whence.engines.spark.native.numbers import NUMBERS
from whence.engines.spark.native.pieces import Builder
from whence.engines.spark.native.strings import STRINGS

NATIVE: Mapping[str, Builder] = MappingProxyType({**NUMBERS, **COMPARISON, **DATES, **STRINGS})
