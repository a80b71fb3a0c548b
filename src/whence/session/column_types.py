"""Columns of views in Datalog that can be NULL, or are wider, because those below them are after a change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from whence.analysis.components import components, dependency_graph
from whence.analysis.order import order_body
from whence.analysis.typing import row_types
from whence.functions.types import common_type
from whence.model.program import Program
from whence.model.rules import Rule
from whence.model.schema import Relation
from whence.model.span import Span
from whence.model.types import NULL
from whence.session.definitions import Definitions


def followed_types(
    kept: Mapping[str, Relation], new: Mapping[str, Relation], rules: Sequence[Rule], before: Definitions
) -> dict[str, Relation]:
    """All relations; views in Datalog that read new ones, directly or not, follow them. A declared column does not."""
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
