"""Tables that get other columns: which changes there can be, what the rows are then, and the columns of views above."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from whence.analysis.components import components, dependency_graph
from whence.analysis.order import order_body
from whence.analysis.typing import row_types
from whence.errors import StateError
from whence.functions.types import common_type
from whence.model.program import AlteredColumn, AlterTable, Program
from whence.model.rules import Atom, Rule
from whence.model.schema import Relation
from whence.model.span import Span
from whence.model.terms import Constant, Term, Variable
from whence.model.types import NULL
from whence.session.contents import any_order_table
from whence.session.definitions import Definitions
from whence.session.draft import Draft, TableContents
from whence.session.windows import Window
from whence.sources.source import read_rows

if TYPE_CHECKING:
    import pyarrow as pa

    from whence.session.redefinition import Redefinition
    from whence.session.session import Session


def composed(later: AlteredColumn, earlier: AlteredColumn) -> AlteredColumn:
    """A column that comes from one that was altered before."""
    return replace(later, source=earlier.source, default=earlier.default)


def check_alterable(relation: Relation, statement: AlterTable) -> None:
    """What is kept beside the rows of a table must not be lost."""
    kept = {each.source for each in statement.columns}
    needed = {*relation.key, relation.partition, relation.ttl and relation.ttl.column}
    for at, column in enumerate(relation.columns):
        if column.name in needed and at not in kept:
            raise StateError(
                f"column {column.name!r} of {relation.name!r} cannot be dropped: it is part of its key, its partition "
                "or its time to live",
                span=statement.span,
            )
    if relation.window is not None or (relation.ttl is not None and relation.ttl.column is None):
        raise StateError(
            f"{relation.name!r} cannot get other columns: when its rows came is kept beside them",
            span=statement.span,
            hint="make another table, and insert the rows into it",
        )


def altered_rule(old: Relation, new: Relation, columns: Sequence[AlteredColumn]) -> Rule:
    """What a table with other columns holds, as a rule over what it holds now."""
    head: list[Term] = [
        Constant(each.default, each.column.type) if each.source is None else Variable(old.columns[each.source].name)
        for each in columns
    ]
    body = Atom(old.name, tuple(Variable(column.name) for column in old.columns))
    return Rule(Atom(new.name, tuple(head)), (body,))


def redefined_draft(session: Session, redefinition: Redefinition) -> Draft:
    """Changes to come in the tables that there will be. Those with other columns have their rows in it, converted."""

    def contents(relation: Relation) -> TableContents:
        if not redefinition.is_renewed(relation.name):
            return session.tables.contents(relation)
        return TableContents(relation, {}, {}, None if relation.window is None else Window(relation))

    draft = Draft(contents, session.clock)
    for name, columns in redefinition.altered.items():
        relation, old = redefinition.catalog.relations[name], session.definitions.relations[name]
        rows = any_order_table(old, session.counts(name))
        draft.table(relation).insert(read_rows(_altered(rows, relation, columns), relation))
    return draft


def _altered(rows: pa.Table, relation: Relation, columns: tuple[AlteredColumn, ...]) -> pa.Table:
    import pyarrow as pa

    arrays = []
    for each in columns:
        if each.source is not None:
            arrays.append(rows.column(each.source))
        else:
            arrays.append(each.column.type.to_arrow([each.default] * len(rows)))
    return pa.Table.from_arrays(arrays, names=list(relation.column_names))


def followed_types(
    kept: Mapping[str, Relation], new: Mapping[str, Relation], rules: Sequence[Rule], before: Definitions
) -> dict[str, Relation]:
    """All relations; columns of views in Datalog that read new ones, directly or not, can be NULL, or are wider, as
    those below them are. A declared column does not follow.
    """
    relations = {**kept, **new}
    program = Program(tuple(relations.values()), tuple(rules))
    touched = {name for name, relation in new.items() if before.relations.get(name) != relation}
    for part in components(program, dependency_graph(program)):
        names = [name for name in part.relations if part.rules and _is_in_datalog(relations[name])]
        if not names or (touched.isdisjoint(part.reads) and touched.isdisjoint(part.relations)):
            continue
        # In a recursion what one rule finds is known to those before it the second time.
        for name in names * (2 if part.recursive else 1):
            wider = _wider(
                relations[name], [rule for rule in part.rules if rule.head.relation == name], relations, before
            )
            if wider != relations[name]:
                relations[name] = wider
                touched.add(name)
    return relations


def _wider(
    relation: Relation, rules: Sequence[Rule], relations: Mapping[str, Relation], before: Definitions
) -> Relation:
    found = [row_types(rule, order_body(rule), relations, before.signatures) for rule in rules]
    columns = []
    for column, *types in zip(relation.columns, *found, strict=True):
        if any(_is_declared(column.span, rule) for rule in rules):
            columns.append(column)
            continue
        kind = common_type([typed.type for typed in types])
        nullable = column.nullable or any(typed.nullable for typed in types)
        columns.append(replace(column, type=column.type if kind in (None, NULL) else kind, nullable=nullable))
    return replace(relation, columns=tuple(columns))


def _is_in_datalog(relation: Relation) -> bool:
    """Views in SQL are read again instead."""
    return relation.span is not None and relation.span.source.is_datalog


def _is_declared(place: Span | None, rule: Rule) -> bool:
    """Whether a column of a Datalog relation was given by a declaration, which stands outside of its rules."""
    span = rule.span
    if place is None or span is None or not place.source.is_datalog or place.source != span.source:
        return False
    return not span.start <= place.start < span.end
