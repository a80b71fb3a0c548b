"""From a program as it was written to one that can be run: everything that can be known before the data comes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from whence.analysis.components import Component, components, dependency_graph
from whence.analysis.monotone import check_monotone
from whence.analysis.names import check_names
from whence.analysis.order import order_body
from whence.analysis.safety import check_heads, check_windows
from whence.analysis.schemas import find_schemas
from whence.analysis.strata import stratify
from whence.analysis.typed_rules import checked_rule
from whence.model.program import Program, Signature
from whence.model.schema import Relation

NO_FUNCTIONS: Mapping[str, Signature] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Analysis:
    """A program in which every relation is declared, and its components in the order of their dependencies.

    `notices` says what was taken on trust.
    """

    program: Program
    relations: Mapping[str, Relation]
    components: tuple[Component, ...]
    notices: tuple[str, ...] = ()


def analyze(program: Program, signatures: Mapping[str, Signature] = NO_FUNCTIONS) -> Analysis:
    """Raises the first thing that is wrong, in the order of the passes."""
    check_names(program)
    check_heads(program)
    check_windows(program)
    # By identity, because equal rules may stand in two places, and hashing a rule walks all of it.
    orders = {id(rule): order_body(rule) for rule in program.rules}
    graph = dependency_graph(program)
    parts = components(program, graph)
    stratify(program, parts, graph)
    relations = find_schemas(program, parts, orders, signatures)
    notices = check_monotone(parts, orders, relations, signatures)
    parts = tuple(
        replace(part, typed=tuple(checked_rule(rule, orders[id(rule)], relations, signatures) for rule in part.rules))
        for part in parts
    )
    return Analysis(Program(tuple(relations.values()), program.rules, program.directives), relations, parts, notices)
