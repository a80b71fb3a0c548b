"""Views without recursion over columns: what a change of the tables below means for a view, and the view's own table.

    Δ(R ⋈ S) = ΔR ⋈ S + (R + ΔR) ⋈ ΔS

A rule whose literals change has a summand for each of them. It begins with the literal's change, reads the changed
literals before it as they will be, and those after it as they were.

Where more changes than is left, the view is computed again from what is left, and what differs has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from whence.analysis.components import Component
from whence.analysis.typed_rules import TypedRule
from whence.columns.delta import ColumnDelta
from whence.columns.encoding import INTEGER, Array, Encodings
from whence.columns.rows import TableRows
from whence.columns.table import ColumnTable
from whence.incremental.columnar.pipeline import ONE, VectorPlan, VectorTerms
from whence.incremental.columnar.store import ColumnStore, ViewStore
from whence.incremental.columnar.views import ColumnGroups, ColumnTally, ColumnView, Take, head_terms
from whence.incremental.maintainer import Maintainer
from whence.incremental.plan import relation_of
from whence.incremental.planner import make_delta_plan, make_plan
from whence.incremental.store import Store, StoreStatistics
from whence.model.program import Functions
from whence.model.rules import Atom
from whence.model.schema import Relation
from whence.model.terms import Constant, Variable
from whence.model.types import Row
from whence.model.updates import Delta
from whence.planning.join_order import by_distance
from whence.planning.statistics import has_outgrown
from whence.rewriting.view_sums import gives_different_rows

# Fewer rows are always followed.
LEAST_RECOMPUTED = 256


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A plan ready to run, what takes its bindings, and the tables that it was made for, with their sizes then."""

    plan: VectorPlan
    take: Take
    sizes: Sequence[tuple[ColumnTable, int]]

    @property
    def is_outdated(self) -> bool:
        return any(has_outgrown(planned, table.present) for table, planned in self.sizes)


class ColumnRule:
    """A rule over tables."""

    def __init__(
        self,
        rule: TypedRule,
        number: int,
        functions: Functions,
        stores: Mapping[str, ColumnStore],
        view: ColumnView,
        encodings: Encodings,
        *,
        is_followed: bool = True,
    ) -> None:
        """Unless it `is_followed`, it is built once and no change is."""
        self._rule, self._number, self._functions = rule, number, functions
        self.view, self._encodings = view, encodings
        self._tables = {name: store.table for name, store in stores.items()}
        self._statistics = StoreStatistics(stores)
        self._reads = {at: name for at, literal in enumerate(rule.rule.body) if (name := relation_of(literal))}
        self._prepared: dict[int | None, _Prepared] = {}
        # What cannot be done is to be known before anything is built. Where a rule only joins, any order of it can be.
        is_join = all(isinstance(literal, Atom) for literal in rule.rule.body)
        for trigger in (None, *(self._reads if is_followed and not is_join else ())):
            self._plan_for(trigger)

    def build(self, is_after: Callable[[str], bool] = lambda _: False) -> None:
        """Gives the view all bindings over what the tables hold, or will hold after the change that is staged, where
        a relation is read as it `is_after` that.
        """
        prepared = self._plan_for(None)
        for batch in prepared.plan.run(ONE, {at: is_after(name) for at, name in self._reads.items()}):
            prepared.take(batch)

    def cost(self, deltas: Mapping[str, ColumnDelta]) -> tuple[int, int]:
        """How many rows are read by following changes, and how many by computing everything again."""
        changed = [deltas[name] for name in self._reads.values() if name in deltas]
        followed = sum(map(len, changed))
        left = sum(self._tables[name].present for name in self._reads.values())
        return followed, left + sum(int(delta.weights.sum()) for delta in changed)

    def apply(self, deltas: Mapping[str, ColumnDelta]) -> None:
        """Gives the view the bindings that come and go. The deltas are staged in their tables."""
        reads_after: dict[int, bool] = {}
        for trigger, name in self._reads.items():
            if name in deltas:
                prepared = self._plan_for(trigger)
                for batch in prepared.plan.run(prepared.plan.enter(deltas[name]), reads_after):
                    prepared.take(batch)
                reads_after[trigger] = True

    def _plan_for(self, trigger: int | None) -> _Prepared:
        statistics = self._statistics
        prepared = self._prepared.get(trigger)
        if prepared is None or (prepared.sizes and prepared.is_outdated):
            # With less than two atoms beside the one that changes there is no order to choose.
            atoms = sum(isinstance(self._rule.rule.body[at], Atom) for at in self._reads if at != trigger)
            tables = {self._tables[name] for name in self._reads.values()} if trigger is None or atoms > 1 else set()
            sizes = [(table, table.present) for table in tables]
            if trigger is None:
                indexes = {name: table.indexed for name, table in self._tables.items()}
                plan = make_plan(self._rule, statistics, indexes=indexes.__getitem__, lookup=by_distance)
            else:
                plan = make_delta_plan(self._rule, statistics, trigger)
            terms = VectorTerms(plan, self._functions, self._encodings)
            take = self.view.taker(self._rule, self._number, terms)
            head = head_terms(self._rule)
            vector_plan = VectorPlan(plan, terms, self._tables, head, is_for_change=trigger is not None)
            prepared = self._prepared[trigger] = _Prepared(vector_plan, take, sizes)
        return prepared


class ColumnCounting(Maintainer):
    """One relation and its rules."""

    reads_columns = True

    def __init__(
        self,
        component: Component,
        relations: Mapping[str, Relation],
        functions: Functions,
        stores: Mapping[str, ColumnStore],
        encodings: Encodings,
        *,
        is_followed: bool = True,
    ) -> None:
        """Raises NotInColumnsError for rules that have to be followed otherwise."""
        (self._name,) = component.relations
        self._functions, self._encodings = functions, encodings
        self._typed = component.typed
        self.has_recomputed = False
        relation = relations[self._name]
        self._stores = {name: stores[name] for name in component.reads}
        self.view: ColumnView = (
            ColumnGroups(relation, component.typed, encodings)
            if component.aggregated
            else ColumnTally(relation, encodings)
        )
        self._rules = [
            ColumnRule(rule, number, functions, self._stores, self.view, encodings, is_followed=is_followed)
            for number, rule in enumerate(component.typed)
        ]

    @property
    def is_counted(self) -> bool:
        return isinstance(self.view, ColumnTally)

    def take_over(self, former: Maintainer) -> bool:
        if not isinstance(former, ColumnCounting):
            return False
        view, other = self.view, former.view
        if isinstance(view, ColumnGroups) and isinstance(other, ColumnGroups):
            return view.take_over(other)
        if not isinstance(view, ColumnTally) or not isinstance(other, ColumnTally):
            return False
        view.table = other.table
        return True

    def derive(
        self,
        rules: Iterable[TypedRule],
        stores: Mapping[str, ColumnStore],
        is_after: Callable[[str], bool],
        *,
        keeps_rows: bool,
    ) -> Mapping[str, Delta]:
        rules = tuple(rules)
        copied = None if keeps_rows else self._copied(rules, stores, is_after)
        if copied is not None:
            return {self._name: copied} if copied else {}
        (self.view.begin if keeps_rows else self.view.restart)()
        self._expect(rules)
        for rule in rules:
            made = ColumnRule(rule, 0, self._functions, stores, self.view, self._encodings, is_followed=False)
            made.build(is_after)
        delta = self.view.change()
        return {self._name: delta} if delta else {}

    def _copied(
        self, rules: Sequence[TypedRule], stores: Mapping[str, ColumnStore], is_after: Callable[[str], bool]
    ) -> ColumnDelta | None:
        table = self.view.table
        copy = _table_copy(rules, stores, table) if self.is_counted else None
        if copy is None:
            return None
        source = stores[copy.relation].table
        return table.stage_copy(source, copy.terms, copy.times, is_after=is_after(copy.relation))

    def own_store(self) -> Store:
        return ViewStore(self.view.table)

    def build(self) -> Mapping[str, Delta]:
        copied = self._copied(self._typed, self._stores, lambda _: False)
        if copied is not None:
            return {self._name: copied}
        self.view.begin()
        self._expect(self._typed)
        for rule in self._rules:
            rule.build()
        return {self._name: self.view.change()}

    def _expect(self, rules: Sequence[TypedRule]) -> None:
        """All bindings are about to come."""
        if isinstance(self.view, ColumnTally) and len(rules) == 1 and gives_different_rows(rules[0]):
            self.view.expect_different()

    def saved(self) -> Mapping[str, Any]:
        return self.view.saved()

    def restore(self, saved: Mapping[str, Any]) -> bool:
        self.view.restore(saved)
        return True

    def apply(self, deltas: Mapping[str, Delta]) -> Mapping[str, Delta]:
        staged = {name: self._stores[name].stage(delta) for name, delta in deltas.items() if delta}
        self.has_recomputed = self._is_cheaper_again(staged)
        if self.has_recomputed:
            self._compute_again()
        else:
            self.view.begin()
            for rule in self._rules:
                rule.apply(staged)
        delta = self.view.change()
        return {self._name: delta} if delta else {}

    def fold_again(self, deltas: Mapping[str, Delta]) -> Mapping[str, Delta]:
        for name, delta in deltas.items():
            if delta and name in self._stores:
                self._stores[name].stage(delta)
        self._compute_again()
        delta = self.view.change()
        return {self._name: delta} if delta else {}

    def _compute_again(self) -> None:
        """Over what is staged in the tables below."""
        self.view.restart()
        for rule in self._rules:
            rule.build(lambda _: True)

    def _is_cheaper_again(self, staged: Mapping[str, ColumnDelta]) -> bool:
        """Whether more rows change than would have to be read, those of the view included."""
        if sum(map(len, staged.values())) < LEAST_RECOMPUTED:
            return False
        followed, again = map(sum, zip(*(rule.cost(staged) for rule in self._rules), strict=True))
        return followed > again + self.view.table.present

    def settle(self) -> None:
        self.view.settle()

    def undo(self) -> None:
        self.view.undo()

    def counts(self, relation: str) -> Mapping[Row, int]:
        if relation != self._name:
            raise KeyError(relation)
        return TableRows(self.view.table)


class _TableCopy(NamedTuple):
    """A view that is another relation with its columns in another order, or with constants beside them.

        s'(x, y, 7) :- s(y, x).

    Different rows stay different, so that nothing has to be looked up to add them up. `terms` has for every column
    which one of the relation it is, or the number that all rows hold.
    """

    relation: str
    terms: tuple[int | Array, ...]
    times: int


def _table_copy(rules: Sequence[TypedRule], stores: Mapping[str, ColumnStore], table: ColumnTable) -> _TableCopy | None:
    """What an empty table becomes by these rules, if it becomes a copy."""
    if len(rules) != 1 or table.size:
        return None
    rule = rules[0].rule
    if len(rule.body) != 1 or (table.is_set and rule.sign < 0):
        return None
    (atom,) = rule.body
    names = _variables(atom) if isinstance(atom, Atom) else None
    if names is None or not isinstance(atom, Atom):
        return None
    source = stores[atom.relation].table
    terms: list[int | Array] = []
    for at, term in enumerate(rule.head.terms):
        column = rules[0].relations[rule.head.relation].columns[at]
        if isinstance(term, Variable):
            place = names.index(term.name)
            if table.encodings[at] != source.encodings[place]:
                return None
            terms.append(place)
        elif isinstance(term, Constant) and term.type == column.type:
            terms.append(table.encodings[at].encode([term.value]).view(INTEGER)[0])
        else:
            return None
    if not set(range(len(names))).issubset(each for each in terms if isinstance(each, int)):
        return None
    return _TableCopy(atom.relation, tuple(terms), rule.sign)


def _variables(atom: Atom) -> list[str] | None:
    """Of an atom that has a different one in every place."""
    names = [term.name for term in atom.terms if isinstance(term, Variable)]
    return names if len(set(names)) == len(atom.terms) else None
