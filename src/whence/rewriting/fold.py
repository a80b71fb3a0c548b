"""View folding with remainder: some bodies of a view, where they stand in a query, replaced by the view.

    q(x) :- r(x, z), r(z, d), t(x).            v(u, w) :- r(u, z), r(z, w).
    q(x) :- r(x, d), r(d, z), t(x).            v(u, w) :- r(u, w), r(w, z).
                                               v(u, w) :- s(u, c, w).

    q(x) :- v(x, d), t(x).    -q(x) :- s(x, c, d), t(x).

What is replaced is one body of the view; the view stands for all of them, so that the others are taken away again.
Those that the query has as well are gone by that, and the rest is the remainder: what is added to the query is the
folded rule less the same rule unfolded, which is zero whatever the tables hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from whence.model.rules import Atom, Literal
from whence.model.terms import Term, Variable
from whence.rewriting.conjunction import Conjunction, Sets, conjunction
from whence.rewriting.literal_matches import same_literal
from whence.rewriting.signed_union import SignedUnion, one
from whence.rewriting.substitution import Binding, NotUnifiedError, all_substituted, names_in
from whence.rewriting.unfold import unfold_atom

# A body can stand in another one in exponentially many ways; so many are looked at.
MAX_MATCHES = 64


class ViewFolds:
    """What folds into some views do to a conjunction. Plans share most of theirs, so that it is remembered."""

    def __init__(self, sets: Sets = ()) -> None:
        self._sets = sets
        # The parts of views, by one of the relations that each reads: only a body that reads it too can hold one.
        self._parts: dict[str, list[tuple[str, Conjunction, int, SignedUnion]]] = {}
        self._known: dict[tuple[Conjunction, str, Conjunction], tuple[SignedUnion, ...]] = {}

    def add(self, view: str, definition: SignedUnion) -> None:
        """One thing that the view is the sum of; there can be several."""
        for part, times in definition:
            if abs(times) == 1 and part.relations:
                self._parts.setdefault(min(part.relations), []).append((view, part, times, definition))

    def of(self, each: Conjunction) -> Iterator[tuple[str, SignedUnion]]:
        """Sums that are zero whatever the tables hold, by view: added to the conjunction they fold a body of it."""
        for relation in each.relations:
            for view, part, times, definition in self._parts.get(relation, ()):
                if not part.relations <= each.relations or part.symbols - each.symbols:
                    continue
                asked = each, view, part
                if asked not in self._known:
                    self._known[asked] = tuple(_replacements(*asked, times, definition, self._sets))
                yield from ((view, zero) for zero in self._known[asked])


def folds(query: SignedUnion, view: str, definition: SignedUnion, sets: Sets = ()) -> Iterator[SignedUnion]:
    """Every sum that one fold makes of the query, each once."""
    known = ViewFolds(sets)
    known.add(view, definition)
    seen: set[SignedUnion] = set()
    for each, coefficient in query:
        for _, zero in known.of(each):
            result = query + zero.times(coefficient)
            if result not in seen:
                seen.add(result)
                yield result


def _replacements(
    each: Conjunction, view: str, part: Conjunction, times: int, definition: SignedUnion, sets: Sets
) -> Iterator[SignedUnion]:
    """The folded conjunction less the same unfolded, for every place where the part stands."""
    for folded in _folded(each, part, view, sets):
        try:
            unfolded = unfold_atom(folded, _place(folded, view), definition, sets)
        except NotUnifiedError:
            continue
        # Otherwise the body occurs in the view more than once, or a set has swallowed a part of it.
        if unfolded.terms.get(each) == times:
            yield (one(folded) - unfolded).times(times)


def _place(query: Conjunction, view: str) -> int:
    """Of the atom that was put there: it is the first of the view's."""
    return next(at for at, literal in enumerate(query.body) if isinstance(literal, Atom) and literal.relation == view)


def _folded(query: Conjunction, part: Conjunction, view: str, sets: Sets) -> Iterator[Conjunction]:
    """The query with the body of the view's rule replaced, in every place where it stands."""
    hidden = frozenset(names_in((), part.body)) - set(names_in(part.head))
    for number, (places, binding) in enumerate(_matches(part.body, query.body)):
        if number >= MAX_MATCHES:
            return
        rest = [literal for at, literal in enumerate(query.body) if at not in places]
        if not _are_hidden(hidden, binding, query, rest):
            continue
        atom = Atom(view, all_substituted(part.head, binding))
        folded = conjunction(query.head, (atom, *rest), sets)
        if folded is not None:
            yield folded


def _are_hidden(hidden: frozenset[str], binding: Binding, query: Conjunction, rest: list[Literal]) -> bool:
    """Whether what the view does not show is needed by nothing else, and different things stay different."""
    images = [binding[name] for name in hidden]
    if not all(isinstance(term, Variable) for term in images):
        return False
    names = [term.name for term in images if isinstance(term, Variable)]
    if len(set(names)) < len(names) or not set(names).isdisjoint(names_in(query.head, rest)):
        return False
    return set(names).isdisjoint(names_in(term for name, term in binding.items() if name not in hidden))


def _matches(part: tuple[Literal, ...], body: tuple[Literal, ...]) -> Iterator[tuple[frozenset[int], Binding]]:
    """The literals of a body that those of the view's rule can be, each another one, and what variables are then."""
    # Atoms bind variables; what only tests them comes last.
    ordered = sorted(part, key=lambda literal: not isinstance(literal, Atom))
    stack: list[tuple[int, frozenset[int], Mapping[str, Term]]] = [(0, frozenset(), {})]
    while stack:
        number, places, binding = stack.pop()
        if number == len(ordered):
            yield places, binding
            continue
        for at, literal in enumerate(body):
            if at not in places:
                found = same_literal(ordered[number], literal, binding)
                stack += [(number + 1, places | {at}, bound) for bound in found]
