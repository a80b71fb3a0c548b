"""Derivation graphs, and the annotation of derived tuples in any semiring."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias, TypeVar

from whence.algebra.semiring import Semiring, require_sound
from whence.errors import InternalError

N = TypeVar("N", bound=Hashable)

Derivations: TypeAlias = Mapping[N, Sequence[Sequence[N]]]


def components(derivations: Derivations[N], roots: Iterable[N]) -> list[list[N]]:
    """What lies under the roots, in groups that depend on each other; every group after those it needs.

    The walk keeps its own stack, because derivations go deeper than Python's.
    """
    reached: dict[N, int] = {}
    lowest: dict[N, int] = {}
    unfinished: list[N] = []
    finished: set[N] = set()
    found: list[list[N]] = []
    for root in roots:
        path = [] if root in reached else [(root, _bodies(derivations, root))]
        while path:
            here, needs = path[-1]
            if here not in reached:
                reached[here] = lowest[here] = len(reached)
                unfinished.append(here)
            for need in needs:
                if need not in reached:
                    path.append((need, _bodies(derivations, need)))
                    break
                if need not in finished:
                    lowest[here] = min(lowest[here], reached[need])
            else:
                path.pop()
                if path:
                    above = path[-1][0]
                    lowest[above] = min(lowest[above], lowest[here])
                if lowest[here] == reached[here]:
                    found.append(_pop_until(here, unfinished))
                    finished.update(found[-1])
    return found


def cycle(derivations: Derivations[N], component: Sequence[N]) -> list[N]:
    """One way around inside a component, each tuple derived from the next; empty where a tuple stands alone."""
    inside = set(component)
    step: dict[N, N] = {}
    here = component[0]
    while here not in step:
        following = next((need for need in _bodies(derivations, here) if need in inside), None)
        if following is None:
            return []
        step[here] = following
        here = following
    around = [here]
    while step[around[-1]] != here:
        around.append(step[around[-1]])
    return around


def _pop_until(last: N, stack: list[N]) -> list[N]:
    popped = [stack.pop()]
    while popped[-1] != last:
        popped.append(stack.pop())
    return popped


def _bodies(derivations: Derivations[N], head: N) -> Iterator[N]:
    return iter([need for body in derivations.get(head, ()) for need in body])


A = TypeVar("A")


def evaluate(
    derivations: Derivations[N],
    semiring: Semiring[A],
    leaf: Callable[[N], A],
    roots: Iterable[N] | None = None,
    show: Callable[[N], str] = str,
) -> dict[N, A]:
    """The annotations of the roots and of everything under them, leaves included; without roots, of every head.

    A cycle has the least solution of its equations, and is refused where the semiring has none; `show` words a tuple
    in that error.
    """
    annotations: dict[N, A] = {}
    for component in components(derivations, derivations if roots is None else roots):
        first = component[0]
        if first not in derivations:
            annotations[first] = leaf(first)
        elif around := cycle(derivations, component):
            require_sound(semiring, [show(node) for node in around])
            _solve(component, derivations, semiring, annotations)
        else:
            annotations[first] = _sum(derivations[first], semiring, annotations)
    return annotations


def _solve(component: Sequence[N], derivations: Derivations[N], semiring: Semiring[A], annotations: dict[N, A]) -> None:
    """Round after round from zero, until nothing changes.

    With absorption that takes at most one round per tuple: a proof in which a tuple derives itself contains a smaller
    proof of that tuple, which absorbs it, so proofs no higher than the number of tuples are all that count.
    """
    inside = set(component)
    users: dict[N, list[N]] = {node: [] for node in component}
    for head in component:
        for need in dict.fromkeys(need for body in derivations[head] for need in body if need in inside):
            users[need].append(head)
    annotations.update(dict.fromkeys(component, semiring.zero))

    affected = list(component)
    for _ in range(len(component) + 1):
        changed = []
        for head in affected:
            annotation = _sum(derivations[head], semiring, annotations)
            if annotation != annotations[head]:
                annotations[head] = annotation
                changed.append(head)
        if not changed:
            return
        affected = list(dict.fromkeys(user for head in changed for user in users[head]))
    raise InternalError(f"{semiring.name} are said to be absorptive, and a cycle of {len(component)} tuples goes on")


def _sum(bodies: Iterable[Sequence[N]], semiring: Semiring[A], annotations: Mapping[N, A]) -> A:
    total = semiring.zero
    for body in bodies:
        product = semiring.one
        for need in body:
            product = semiring.times(product, annotations[need])
        total = semiring.plus(total, product)
    return total
