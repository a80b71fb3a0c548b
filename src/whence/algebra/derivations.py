"""Derivation graphs, and the annotation of derived tuples in any semiring."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias, TypeVar

from whence.algebra.semiring import Semiring, require_sound
from whence.errors import InternalError
from whence.model.graphs import strongly_connected

N = TypeVar("N", bound=Hashable)

Derivations: TypeAlias = Mapping[N, Sequence[Sequence[N]]]


def components(derivations: Derivations[N], roots: Iterable[N]) -> list[list[N]]:
    """What lies under the roots, in groups that depend on each other; every group after those it needs."""
    return list(strongly_connected(roots, lambda head: needs(derivations, head)))


def needs(derivations: Derivations[N], head: N) -> Iterator[N]:
    """What the derivations of a tuple use, one after the other."""
    return (need for body in derivations.get(head, ()) for need in body)


def cycle(derivations: Derivations[N], component: Sequence[N]) -> list[N]:
    """One way around inside a component, each tuple derived from the next; empty where a tuple stands alone."""
    inside = set(component)
    step: dict[N, N] = {}
    here = component[0]
    while here not in step:
        following = next((need for need in needs(derivations, here) if need in inside), None)
        if following is None:
            return []
        step[here] = following
        here = following
    around = [here]
    while step[around[-1]] != here:
        around.append(step[around[-1]])
    return around


def founded(derivations: Iterable[tuple[N, Collection[N]]], leaves: Iterable[N]) -> set[N]:
    """What follows from the leaves, and these: a head does once all that one of its derivations needs does.

    What only supports itself around a cycle is not among it. Needs come without repetition.
    """
    found: set[N] = set()
    ready = list(leaves)
    missing: list[int] = []
    heads: list[N] = []
    users: dict[N, list[int]] = {}
    for number, (head, body) in enumerate(derivations):
        heads.append(head)
        missing.append(len(body))
        for need in body:
            users.setdefault(need, []).append(number)
        if not body:
            ready.append(head)
    while ready:
        node = ready.pop()
        if node not in found:
            found.add(node)
            for number in users.get(node, ()):
                missing[number] -= 1
                if not missing[number]:
                    ready.append(heads[number])
    return found


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
