"""What a SQL script asks for, one statement each, already resolved to the model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from whence.model.program import Program
from whence.model.schema import Relation
from whence.model.span import Span
from whence.model.types import Row


@dataclass(frozen=True, slots=True)
class CreateTable:
    relation: Relation
    if_not_exists: bool = False
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class CreateView:
    """`definition` holds the view's relation last, and before it the auxiliary ones that its query needed."""

    name: str
    definition: Program
    replace: bool = False
    if_not_exists: bool = False
    materialized: bool = False
    notices: tuple[str, ...] = field(default=(), compare=False)
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Drop:
    kind: str
    name: str
    if_exists: bool = False
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class InsertValues:
    relation: str
    rows: tuple[Row, ...]
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class InsertQuery:
    """The rows of the last relation of `query`, evaluated now, go into `relation`."""

    relation: str
    query: Program
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class DeleteWhere:
    """The rows of the last relation of `query`, evaluated now, leave `relation`, every copy of them."""

    relation: str
    query: Program
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


Statement: TypeAlias = CreateTable | CreateView | Drop | InsertValues | InsertQuery | DeleteWhere
