"""What a random query gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Output:
    """A column of a query. `plain`: it is a column of a table, and has that column's type in both systems."""

    name: str
    kind: str
    plain: bool = False


@dataclass(frozen=True)
class Query:
    """`combined`: a set operation; `duckdb`: other words for DuckDB."""

    text: str
    outputs: Sequence[Output]
    combined: bool = False
    duckdb: str | None = None

    @property
    def bare(self) -> bool:
        """Whether it can stand beside a set operator without parentheses."""
        return not self.text.startswith("WITH")
