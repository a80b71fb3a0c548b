"""What a plan costs by the one cost model there is: the rows that its joins look at, and those that it writes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from whence.model.rules import Comparison, Condition, Literal
from whence.model.schema import Relation
from whence.model.terms import Call, Constant, Term, Variable, Wildcard, variable_names
from whence.planning.join_order import JoinAtom, JoinCost, join_cost
from whence.planning.statistics import Statistics
from whence.rewriting import states
from whence.rewriting.conjunction import Conjunction
from whence.rewriting.signed_union import SignedUnion

# To add up a row and to write it costs as much as to look at so many.
WRITTEN_ROW = 3.0


class PlanCosts:
    """Remembers what each conjunction costs, since plans share most of theirs."""

    def __init__(
        self,
        relations: Mapping[str, Relation],
        statistics: Statistics,
        in_place: float = 0.0,
        fresh: Collection[str] = (),
    ) -> None:
        """`in_place` is what it costs, in rows, not to change the rows that are there but to write all of them. What is
        `fresh` has no index that a join could use, so that one has to be made of all its rows.
        """
        self._relations = relations
        self._statistics = statistics
        self._in_place = in_place
        self._fresh = fresh
        self._known: dict[Conjunction, float] = {}

    def of(self, plan: SignedUnion, kept: Conjunction | None = None) -> float:
        """In rows that are looked at. Where the plan has what is `kept`, once, that is there already."""
        is_kept = kept is not None and plan.terms.get(kept) == 1
        costs = (self._of(each) for each, _ in plan if not (is_kept and each is kept))
        return sum(costs) + (0.0 if is_kept else self._in_place)

    def _of(self, each: Conjunction) -> float:
        cost = self._known.get(each)
        if cost is None:
            estimate = self.join(each)
            indexed = sum(self._statistics.size(name) for name in each.relations if name in self._fresh)
            is_joined = len(each.atoms) > 1
            cost = self._known[each] = estimate.looked_at + WRITTEN_ROW * estimate.rows + is_joined * indexed
        return cost

    def join(self, each: Conjunction) -> JoinCost:
        """What it takes to find the bindings of a body, and how many there are."""
        given = set(_given(each.body))
        atoms = [
            JoinAtom(
                self._relations[atom.relation],
                tuple(_keys(term, given) for term in atom.terms),
                frozenset(term.name for term in atom.terms if isinstance(term, Variable)),
            )
            for atom in each.atoms
        ]
        return join_cost(atoms, self._statistics) if atoms else JoinCost(1.0, 1.0)


class ScanCosts(PlanCosts):
    """Where joins read relations through, and columns of stored rows are taken as they lie there, without a look."""

    def _of(self, each: Conjunction) -> float:
        cost = self._known.get(each)
        if cost is None:
            estimate = self.join(each)
            read = sum(self._statistics.size(atom.relation) for atom in each.atoms[1:])
            cost = estimate.looked_at + WRITTEN_ROW * estimate.rows + read
            cost = self._known[each] = 1.0 if _is_projection(each) else cost
        return cost


def _is_projection(each: Conjunction) -> bool:
    """Whether it takes columns of what a relation holds before the step, and nothing else."""
    if len(each.body) != 1 or not each.atoms:
        return False
    (atom,) = each.atoms
    is_old = not states.is_after(atom.relation) and not states.is_change(atom.relation)
    is_open = all(isinstance(term, Variable) for term in (*atom.terms, *each.head))
    return is_old and is_open and len(set(atom.terms)) == len(atom.terms)


def _given(body: Iterable[Literal]) -> Iterable[str]:
    """Variables that a comparison with a constant gives their value."""
    for literal in body:
        sides: Sequence[Term] = ()
        match literal:
            case Comparison(op="=", left=left, right=right):
                sides = (left, right)
            case Condition(term=Call(function="=" | "<=>", arguments=arguments)):
                sides = arguments
        if any(isinstance(side, Constant) for side in sides):
            yield from (side.name for side in sides if isinstance(side, Variable))


def _keys(term: Term, given: set[str]) -> tuple[frozenset[str], ...]:
    if isinstance(term, Wildcard):
        return ()
    return (frozenset(variable_names([term]) - given),)
