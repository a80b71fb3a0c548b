"""Programs and statements: relations and the rules that define some of them, and what a script asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from whence.model.rules import Rule
from whence.model.schema import Column, Relation
from whence.model.span import Located
from whence.model.types import Row, Type, Value


@dataclass(frozen=True, slots=True)
class Signature:
    """A registered function as rules see it."""

    name: str
    returns: Type


@dataclass(frozen=True, slots=True)
class Directive(Located):
    """`.input link(filename="links.csv")`, `.output reachable`, or that a relation is marked `magic`."""

    kind: str
    relation: str
    parameters: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Program:
    """Relations without rules are base tables; those with rules are views.

    In a Datalog program relations may be left undeclared; analysis finds their schemas.
    """

    relations: tuple[Relation, ...] = ()
    rules: tuple[Rule, ...] = ()
    directives: tuple[Directive, ...] = ()
    # What was read and left aside.
    notices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Catalog:
    """Relations by name, the names of those that are views, and registered functions by lower-case name."""

    relations: Mapping[str, Relation] = field(default_factory=dict)
    views: frozenset[str] = frozenset()
    functions: Mapping[str, Signature] = field(default_factory=dict)

    @cached_property
    def _lower(self) -> Mapping[str, Relation]:
        return {name.lower(): relation for name, relation in self.relations.items()}

    def find(self, name: str) -> Relation | None:
        """The relation of that name. Letter case does not matter, and no two names differ in it alone."""
        return self._lower.get(name.lower())

    def extended(self, relations: Mapping[str, Relation], views: Iterable[str]) -> Catalog:
        """With new relations, in no more steps than there are of them."""
        catalog = Catalog({**self.relations, **relations}, self.views.union(views), self.functions)
        lower = {name.lower(): relation for name, relation in relations.items()}
        vars(catalog)["_lower"] = {**self._lower, **lower}
        return catalog


@dataclass(frozen=True, slots=True)
class CreateTable(Located):
    """A table, with the rows of the last relation of `query`, evaluated now, if there is one.

    `constraints` has hidden relations for the rows that break one, which must have none.
    """

    relation: Relation
    if_not_exists: bool = False
    query: Program | None = None
    constraints: Program = field(default_factory=Program)


@dataclass(frozen=True, slots=True)
class CreateView(Located):
    """`definition` holds the view's relation last, and before it the auxiliary ones that its query needed.

    If it `keeps_derivations`, it gets a table for the derivations by each of its rules.
    """

    name: str
    definition: Program
    replace: bool = False
    if_not_exists: bool = False
    materialized: bool = False
    keeps_derivations: bool = False
    notices: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Drop(Located):
    kind: str
    name: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class AlteredColumn:
    """A column of a table that gets other columns: the number of the old one that it is, or its value in every row."""

    column: Column
    source: int | None = None
    default: Value = None


@dataclass(frozen=True, slots=True)
class AlterTable(Located):
    """The table has these columns from now on."""

    relation: str
    columns: tuple[AlteredColumn, ...]


@dataclass(frozen=True, slots=True)
class InsertValues(Located):
    """These rows go into `relation`, and all others leave it if they are to `overwrite` them."""

    relation: str
    rows: tuple[Row, ...]
    overwrite: bool = False


@dataclass(frozen=True, slots=True)
class InsertQuery(Located):
    """The rows of the last relation of `query`, evaluated now, go into `relation`, or are all that it has then."""

    relation: str
    query: Program
    overwrite: bool = False


@dataclass(frozen=True, slots=True)
class DeleteWhere(Located):
    """The rows of the last relation of `query`, evaluated now, leave `relation`, every copy of them."""

    relation: str
    query: Program


@dataclass(frozen=True, slots=True)
class RowAction(Located):
    """What is done with a row: "update", "delete" or "insert"."""

    kind: str


@dataclass(frozen=True, slots=True)
class ChangeRows(Located):
    """UPDATE and MERGE. Each row of the last relation of `query`, evaluated now, has the number of one of `actions`,
    the row that leaves `relation` and the row that comes; NULLs stand for one that there is not.

    It is an error if more copies of a row are to leave than there are, unless that `repeats` the same deletion.
    """

    relation: str
    query: Program
    actions: tuple[RowAction, ...]
    repeats: bool = False


@dataclass(frozen=True, slots=True)
class CopyFrom(Located):
    """The rows of a file, or of all files of a folder, go into `relation`."""

    relation: str
    path: str
    options: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class CopyTo(Located):
    """The answer to a query is written to a file."""

    query: str
    path: str
    options: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class NoChange(Located):
    """A statement that there is nothing to do for, and why."""

    notice: str


# What changes definitions, and what changes rows.
Definition: TypeAlias = CreateTable | CreateView | Drop | AlterTable
Statement: TypeAlias = Definition | InsertValues | InsertQuery | DeleteWhere | ChangeRows | CopyFrom | CopyTo | NoChange


@dataclass(frozen=True, slots=True)
class Function:
    """A registered function: what rules know of it, and what it does."""

    signature: Signature
    python: Callable[..., object]


# By lower-case name.
Functions: TypeAlias = Mapping[str, Function]
