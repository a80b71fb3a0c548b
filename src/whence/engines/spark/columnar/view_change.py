"""What a change of many rows means for a view: the delta rules of the local engine over tables of this commit."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pyarrow as pa

from whence.analysis.typed_rules import TypedRule
from whence.columns.delta import ColumnDelta
from whence.columns.encoding import Array, Encodings
from whence.columns.rows import encoded_rows
from whence.engines.spark.columnar.lookup import ColumnLookup
from whence.engines.spark.columnar.paged_table import PagedTable, encoded_table, one_chunk
from whence.engines.spark.columnar.stored_groups import StoredColumnGroups
from whence.engines.spark.columnar.stored_totals import as_integers
from whence.engines.spark.frames import DriverDelta
from whence.engines.spark.payloads import FoldColumns
from whence.incremental.columnar.pipeline import VectorPlan, VectorTerms
from whence.incremental.columnar.views import ColumnTally, ColumnView, head_terms
from whence.incremental.keyed import key_positions
from whence.incremental.plan import Plan, relation_of
from whence.incremental.planner import make_delta_plan
from whence.model.program import Functions
from whence.model.rules import Atom, Negation, Rule
from whence.model.schema import Relation
from whence.model.terms import Wildcard
from whence.model.updates import Delta
from whence.planning.statistics import Statistics, is_outdated


@dataclass(frozen=True, slots=True)
class ColumnOutcome:
    """What a change does to a view, as columns: `seen` by readers, and in the states of the view.

    `counts` is what changes in the state of its rows, the same table where that is what is seen.
    """

    seen: pa.Table
    counts: pa.Table
    groups: pa.Table | None = None
    members: Mapping[int, pa.Table] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GroupStates:
    """Where a view with aggregates keeps its groups, and of folds that keep them their values."""

    groups: str
    members: Mapping[int, str]
    folds: Sequence[FoldColumns]


class ColumnRules:
    """The rules of a view. Plans are made again when relations have outgrown them."""

    def __init__(
        self,
        relation: Relation,
        rules: Sequence[TypedRule],
        functions: Functions,
        statistics: Statistics,
        grouped: GroupStates | None,
        derived: Collection[str],
    ) -> None:
        """`derived` are relations with rules."""
        self._derived = derived
        self._relation = relation
        self._rules = rules
        self._functions = functions
        self._statistics = statistics
        self._grouped = grouped
        self._plans: dict[tuple[int, int], tuple[Plan, Mapping[str, int]]] = {}

    def follow(self, inputs: Mapping[str, Delta], lookup: ColumnLookup) -> ColumnOutcome:
        """Raises NotInColumnsError for what has to be followed row by row, and TooLargeError for what is too much."""
        encodings = Encodings()
        relations = {name: each for rule in self._rules for name, each in rule.relations.items()}
        reads = {name for rule in self._rules for each in rule.rule.body if (name := relation_of(each))}
        tables = {name: self._table(relations[name], encodings, lookup) for name in reads}
        deltas = {}
        for name, delta in inputs.items():
            words, weights = _encoded(delta, tables[name])
            deltas[name] = tables[name].enter_change(words, weights)
        view = self._view(encodings, lookup)
        view.begin()
        for number, rule in enumerate(self._rules):
            self._run(number, rule, deltas, tables, view, encodings)
        return self._outcome(view)

    def _table(self, relation: Relation, encodings: Encodings, lookup: ColumnLookup) -> PagedTable:
        used = used_columns(relation, [rule.rule for rule in self._rules], is_derived=relation.name in self._derived)
        return PagedTable(relation, encodings, partial(lookup.find, relation.name, used=used), used=used)

    def _view(self, encodings: Encodings, lookup: ColumnLookup) -> ColumnView:
        name = self._relation.name
        if self._grouped is None:
            tally = ColumnTally(self._relation, encodings)
            tally.table = PagedTable(self._relation, encodings, partial(lookup.find, name), is_own=True)
            return tally
        values = {number: partial(lookup.find, members) for number, members in self._grouped.members.items()}
        groups = partial(lookup.find, self._grouped.groups)
        return StoredColumnGroups(self._relation, self._rules, encodings, self._grouped.folds, groups, values)

    def _run(
        self,
        number: int,
        rule: TypedRule,
        deltas: Mapping[str, ColumnDelta],
        tables: Mapping[str, PagedTable],
        view: ColumnView,
        encodings: Encodings,
    ) -> None:
        """Gives the view the bindings of a rule that come and go."""
        reads = {at: name for at, literal in enumerate(rule.rule.body) if (name := relation_of(literal))}
        changed = [at for at, name in reads.items() if name in deltas]
        for place, trigger in enumerate(changed):
            plan = self._plan(number, rule, trigger, reads)
            terms = VectorTerms(plan, self._functions, encodings)
            take = view.taker(rule, number, terms)
            steps = VectorPlan(plan, terms, tables, head_terms(rule), is_for_change=True)
            start = steps.enter(deltas[reads[trigger]])
            for batch in steps.run(start, dict.fromkeys(changed[:place], True)):
                take(batch)

    def _plan(self, number: int, rule: TypedRule, trigger: int, reads: Mapping[int, str]) -> Plan:
        sizes = {name: self._statistics.size(name) for name in reads.values()}
        known = self._plans.get((number, trigger))
        if known is None or is_outdated(known[1], sizes):
            known = self._plans[number, trigger] = make_delta_plan(rule, self._statistics, trigger), sizes
        return known[0]

    def _outcome(self, view: ColumnView) -> ColumnOutcome:
        delta = view.change()
        seen = _counted_table(delta)
        if isinstance(view, StoredColumnGroups):
            keys, totals = view.totals()
            members = {number: pa.table(columns) for number, columns in view.members().items()}
            named = {f"c{at}": array for at, array in enumerate(keys)}
            return ColumnOutcome(seen, seen, pa.table({**named, **totals}), members)
        if not self._relation.distinct:
            return ColumnOutcome(seen, seen)
        assert isinstance(view.table, PagedTable)
        return ColumnOutcome(seen, _counted_table(view.table.change()))


def used_columns(relation: Relation, rules: Iterable[Rule], *, is_derived: bool) -> frozenset[int] | None:
    """The columns of a relation that rules read, and those that tell the rows of a set apart; None for all columns.

    Of a bag, rows that are the same in what is read count together, which is no matter unless one is asked whether it
    is there at all. The key of a relation with rules is not checked.
    """
    used = set(key_positions(relation))
    if relation.distinct and (is_derived or not used):
        return None
    for literal in (literal for rule in rules for literal in rule.body):
        match literal:
            case Negation(atom=atom) if atom.relation == relation.name and not relation.distinct:
                return None
            case (Atom() as atom) | Negation(atom=atom) if atom.relation == relation.name:
                used |= {at for at, term in enumerate(atom.terms) if not isinstance(term, Wildcard)}
    return frozenset(used) if len(used) < relation.arity else None


def _encoded(delta: Delta, table: PagedTable) -> tuple[Array, Array]:
    if isinstance(delta, DriverDelta):
        return encoded_table(table.encodings, delta.table, table.used), one_chunk(delta.table.column("n")).to_numpy()
    words = encoded_rows(table.encodings, list(delta))
    if table.used is not None:
        words[[at for at in range(table.width) if at not in table.used]] = 0
    return words, np.array([*delta.values()], np.int64)


def _counted_table(delta: ColumnDelta) -> pa.Table:
    columns = zip(delta.encodings, delta.encoded, strict=True)
    named = {f"c{at}": each.to_arrow(column) for at, (each, column) in enumerate(columns)}
    return pa.table({**named, "n": as_integers(delta.weights)})
