"""Walks over graphs of any nodes. They keep their own stack, because graphs go deeper than Python's."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

N = TypeVar("N", bound=Hashable)


def reached(starts: Iterable[N], targets: Callable[[N], Iterable[N]]) -> Iterator[N]:
    """The starts and all that edges lead to from them, each once; depth-first, the last of several before others."""
    seen: set[N] = set()
    todo = [*starts]
    while todo:
        here = todo.pop()
        if here not in seen:
            seen.add(here)
            yield here
            todo += targets(here)


def strongly_connected(starts: Iterable[N], targets: Callable[[N], Iterable[N]]) -> Iterator[list[N]]:
    """What is reached from the starts, in groups that lead to each other; every group after those it leads to."""
    reached: dict[N, int] = {}
    lowest: dict[N, int] = {}
    unfinished: list[N] = []
    finished: set[N] = set()
    for start in starts:
        path = [] if start in reached else [(start, iter(targets(start)))]
        while path:
            here, following = path[-1]
            if here not in reached:
                reached[here] = lowest[here] = len(reached)
                unfinished.append(here)
            for target in following:
                if target not in reached:
                    path.append((target, iter(targets(target))))
                    break
                if target not in finished:
                    lowest[here] = min(lowest[here], reached[target])
            else:
                path.pop()
                if path:
                    above = path[-1][0]
                    lowest[above] = min(lowest[above], lowest[here])
                if lowest[here] == reached[here]:
                    group = [unfinished.pop()]
                    while group[-1] != here:
                        group.append(unfinished.pop())
                    finished.update(group)
                    yield group
