"""A derivation graph: for every derived tuple its derivations, each the body tuples that one use of a rule took.

A tuple without an entry is a leaf: it comes from below, and is a variable of the provenance. A body may name a tuple
twice, and may be empty.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias, TypeVar

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
