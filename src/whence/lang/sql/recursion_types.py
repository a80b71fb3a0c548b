"""What the two kinds of WITH RECURSIVE share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from sqlglot import exp

from whence.lang.sql.block import Block
from whence.lang.sql.lowering import Lowering, QueryDraft

# The branches of a query, each with its text.
RawParts: TypeAlias = Callable[[Lowering, exp.Expr, Block, Mapping[str, str]], list[tuple[exp.Expr, QueryDraft]]]


def tables_of(query: exp.Expr) -> set[str]:
    """What a query reads, by the names in small letters."""
    return {table.name.lower() for table in query.find_all(exp.Table)}
