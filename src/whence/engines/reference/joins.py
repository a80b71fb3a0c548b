"""The order of a body's steps for tables of given sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from whence.analysis.order import Absent, Define, Match, Step, Test
from whence.engines.reference.terms import as_term
from whence.model.terms import Term, Variable, Wildcard, variables


def join_order(steps: Sequence[Step], size: Callable[[str], int]) -> list[Step]:
    """Every filter as soon as it can be decided; of the joins, one that is connected to what is bound comes before one
    that is not, and then the one that should find the fewest rows. Ties keep the order of the text.
    """
    waiting = [(step, needs(step)) for step in steps]
    bound: set[str] = set()
    ordered: list[Step] = []
    while waiting:
        ready = [step for step, needed in waiting if needed <= bound]
        chosen: list[Step] = [step for step in ready if not isinstance(step, Match)]
        if not chosen:
            chosen = [
                min((step for step in ready if isinstance(step, Match)), key=lambda step: _rank(step, bound, size))
            ]
        ordered += chosen
        bound = bound.union(*map(binds, chosen))
        placed = set(map(id, chosen))
        waiting = [(step, needed) for step, needed in waiting if id(step) not in placed]
    return ordered


def binds(step: Step) -> set[str]:
    """The variables that have a value after the step."""
    match step:
        case Match(atom):
            return {term.name for term in atom.terms if isinstance(term, Variable)}
        case Define(variable):
            return {variable.name}
    return set()


def needs(step: Step) -> set[str]:
    """The variables that must have a value before the step."""
    match step:
        case Match(atom):
            return _names(term for term in atom.terms if not isinstance(term, Variable))
        case Define(_, term):
            return _names([term])
        case Absent(atom):
            return _names(atom.terms)
        case Test(literal):
            return _names([as_term(literal)])


def is_known(term: Term, bound: set[str]) -> bool:
    return not isinstance(term, Wildcard) and all(v.name in bound for v in variables(term))


def _rank(step: Match, bound: set[str], size: Callable[[str], int]) -> tuple[bool, float]:
    known = sum(is_known(term, bound) for term in step.atom.terms)
    # A guess, and enough to tell a probe from a scan: each known column leaves one row in ten.
    return bool(bound) and not known, size(step.atom.relation) / 10.0**known


def _names(terms: Iterable[Term]) -> set[str]:
    return {v.name for term in terms for v in variables(term)}
