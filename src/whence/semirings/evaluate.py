"""The annotation of derived tuples in any semiring, from their derivations.

    annotation(head) = Σ over its derivations of Π over the body of annotation(tuple)

The derivations are the most general provenance there is; every other annotation is this image of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from whence.errors import InternalError
from whence.semirings.derivations import Derivations, N, components, cycle
from whence.semirings.semiring import Semiring, require_sound

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
