"""The reference engine: after every change, the views that could differ are computed again from scratch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from types import MappingProxyType

from whence.analysis.analyze import Analysis
from whence.analysis.components import Component
from whence.analysis.limits import DEFAULT_LIMITS, RecursionLimits
from whence.engines.engine import Capabilities
from whence.engines.reference.body import EMPTY, Table
from whence.engines.reference.evaluate import NO_FUNCTIONS, Evaluator, evaluate
from whence.interrupts import interruptible
from whence.model.program import Functions, Program
from whence.model.rules import Atom, Negation, Rule
from whence.model.schema import Relation, has_same_values
from whence.model.types import Row
from whence.model.updates import Delta, Update


class ReferenceEngine:
    """State is one table per relation. Tables are replaced, never changed, so a call that raises leaves no trace."""

    def __init__(self, limits: RecursionLimits = DEFAULT_LIMITS) -> None:
        self._limits = limits
        self._analysis = Analysis(Program(), {}, ())
        self._evaluator = Evaluator(self._analysis, NO_FUNCTIONS, limits)
        self._tables: dict[str, Table] = {}
        self._evaluated = 0

    def define(self, analysis: Analysis, functions: Functions, update: Update) -> Mapping[str, Delta]:
        before, after = _definitions(self._analysis), _definitions(analysis)
        kept = {
            name: self._tables[name]
            for name, relation in analysis.relations.items()
            if name in self._tables
            and _is_told_as_a_change(self._analysis.relations[name], relation, is_view=name in before and name in after)
        }
        stale = {name for name in analysis.relations if name not in kept or before.get(name) != after.get(name)}
        evaluator = Evaluator(analysis, functions, self._limits)
        tables, deltas, evaluated = _bring_up_to_date(
            evaluator, dict.fromkeys(analysis.relations, EMPTY) | kept, update, stale
        )
        self._analysis, self._evaluator, self._tables, self._evaluated = analysis, evaluator, tables, evaluated
        return deltas

    def apply(self, update: Update) -> Mapping[str, Delta]:
        self._tables, deltas, self._evaluated = _bring_up_to_date(self._evaluator, self._tables, update, stale=set())
        return deltas

    def foresee(self, update: Update) -> Mapping[str, Delta]:
        _, deltas, _ = _bring_up_to_date(self._evaluator, self._tables, update, stale=set())
        return deltas

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(foresight=self)

    def counts(self, relation: str) -> Mapping[Row, int]:
        return MappingProxyType(self._tables[relation].counts)

    def evaluate(self, analysis: Analysis, functions: Functions, relation: str) -> Mapping[Row, int]:
        base = {name: self._tables[name].counts for name in analysis.relations if name in self._tables}
        counts = interruptible(lambda: evaluate(analysis, base, functions, self._limits))[relation]
        return {row: count for row, count in counts.items() if count > 0}

    def metrics(self) -> Mapping[str, int | float]:
        return {"components": self._evaluated}


def _bring_up_to_date(
    evaluator: Evaluator, before: Mapping[str, Table], update: Update, stale: set[str]
) -> tuple[dict[str, Table], dict[str, Delta], int]:
    """The tables after the update, how they differ, and how many components were evaluated.

    What is stale counts as changed whatever the update says.
    """
    tables = dict(before)
    deltas: dict[str, Delta] = {}
    evaluated = 0
    for name, delta in update.deltas.items():
        if delta:
            tables[name] = Table(_plus(before[name].counts, delta))
            deltas[name] = delta
    for component in evaluator.derived:
        concerned = {*component.relations, *_inputs(component)}
        if stale.isdisjoint(concerned) and deltas.keys().isdisjoint(concerned):
            continue
        evaluated += 1
        # Nothing has happened yet, so that it can be left at any moment.
        for name, table in interruptible(partial(evaluator.component, component, tables)).items():
            delta = _difference(table.counts, before[name].counts)
            if delta:
                # An unchanged table keeps its indexes.
                tables[name] = table
                deltas[name] = delta
    return tables, deltas, evaluated


def _inputs(component: Component) -> Iterator[str]:
    for rule in component.rules:
        for literal in rule.body:
            match literal:
                case Atom(relation=relation) | Negation(atom=Atom(relation=relation)):
                    yield relation


def _is_told_as_a_change(old: Relation, new: Relation, *, is_view: bool) -> bool:
    """Whether what differs is a change of the relation. Columns of a view may come to have NULL, or not any more."""
    return has_same_values(old, new) if is_view else old.columns == new.columns


def _definitions(analysis: Analysis) -> dict[str, tuple[bool, list[Rule]]]:
    """What the rows of every view follow from: whether it is a set, and its rules."""
    definitions: dict[str, tuple[bool, list[Rule]]] = {}
    for rule in analysis.program.rules:
        name = rule.head.relation
        definitions.setdefault(name, (analysis.relations[name].distinct, []))[1].append(rule)
    return definitions


def _plus(counts: Mapping[Row, int], delta: Delta) -> dict[Row, int]:
    total = dict(counts)
    for row, change in delta.items():
        total[row] = total.get(row, 0) + change
        if not total[row]:
            del total[row]
    return total


def _difference(after: Mapping[Row, int], before: Mapping[Row, int]) -> dict[Row, int]:
    difference = {row: count - before.get(row, 0) for row, count in after.items() if count != before.get(row, 0)}
    difference.update((row, -count) for row, count in before.items() if row not in after)
    return difference
