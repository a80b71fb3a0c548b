"""How the cost of asking about a change grows: with the rows that it affects, and with the size of the view."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import whence
from benchmarks import duck
from benchmarks.harness import Report, Stopwatch, main, taking_turns
from benchmarks.reachable import IN_DUCKDB, Link, in_duckdb, in_whence, network, warm_up

# So many nodes before a bridge, and so many behind it: all ways from the ones to the others go over it.
BRIDGES = ((1, 1), (10, 10), (100, 100), (250, 400))
# The one that is asked about in views of all sizes; the others in the largest alone.
EVERYWHERE = 2


@dataclass(frozen=True)
class Sizes:
    nodes: int = 250
    doublings: int = 3
    runs: int = 20


def run(sizes: Sizes) -> Report:
    nodes = [sizes.nodes << doubling for doubling in range(sizes.doublings + 1)]
    affected = [before * behind for before, behind in BRIDGES]
    report = Report(
        "questions_growth",
        "How the cost of asking about a change grows",
        f"All reachable pairs of transit-stub networks of {', '.join(f'{n:,}' for n in nodes)} nodes; beside each "
        f"network there are bridges, links that are the only way between {', '.join(f'{n:,}' for n in affected)} pairs "
        f"of further nodes. It is asked {sizes.runs} times what would happen if a bridge were deleted, and what its "
        f"impact is: both answers have all pairs that would go, and the impact also counts those that can be derived "
        f"by way of the bridge, which are the same. First {affected[EVERYWHERE]:,} pairs are affected in views of all "
        f"sizes, then other numbers in the largest. DuckDB, with two threads, recomputes the view.",
    )
    warm_up()
    with_size: dict[str, list[tuple[float, float]]] = {}
    with_effect: dict[str, list[tuple[float, float]]] = {}
    for count in nodes:
        links = [*network(count), *(link for at in range(len(BRIDGES)) for link in around(at))]
        with in_whence() as db, in_duckdb(links) as theirs:
            pairs = db.insert("link", links).inserted["reachable"]
            for at in range(len(BRIDGES)) if count == nodes[-1] else [EVERYWHERE]:
                recompute = duck.Recompute(theirs, IN_DUCKDB)
                for question, ask in QUESTIONS.items():
                    watch = Stopwatch()
                    for _ in taking_turns(range(sizes.runs), recompute):
                        with watch:
                            found = ask(db, bridge(at))
                        if found != affected[at]:
                            raise AssertionError(f"{question}: {found:,} pairs, not {affected[at]:,}")
                    what = f"{question}: {affected[at]:,} of {pairs:,} pairs"
                    report.compare(what, watch.timing, duck.NAME, recompute.timing)
                    if at == EVERYWHERE:
                        with_size.setdefault(question, []).append((float(pairs), watch.timing.median))
                    if count == nodes[-1]:
                        with_effect.setdefault(question, []).append((float(affected[at]), watch.timing.median))
    for question, points in with_size.items():
        report.curve(f"{question}, {affected[EVERYWHERE]:,} pairs affected", "pairs in the view", "seconds", points)
    for question, points in with_effect.items():
        report.curve(f"{question}, in the largest view", "pairs affected", "seconds", points)
    return report


def bridge(at: int) -> Link:
    return -2 * at - 2, -2 * at - 1


def around(at: int) -> Sequence[Link]:
    """A bridge with the links to it and from it, whose nodes no network has."""
    before, behind = BRIDGES[at]
    start, end = bridge(at)
    first = -1000 * (at + 1)
    sources = [(first - source, start) for source in range(before - 1)]
    return [*sources, (start, end), *((end, first - before - target) for target in range(behind - 1))]


def foreseen(db: whence.Database, link: Link) -> int:
    """How many pairs would go, with all of them at hand."""
    return len(set(db.what_if(delete={"link": [link]}).changes["reachable"]))


def depending(db: whence.Database, link: Link) -> int:
    found = db.impact("link", link)
    gone, depend = len(found.vanish["reachable"]), found.depend["reachable"]
    if gone != depend:
        raise AssertionError(f"{gone:,} pairs would go, and {depend:,} can be derived by way of {link}")
    return gone


QUESTIONS: Mapping[str, Callable[[whence.Database, Link], int]] = {"what if": foreseen, "impact": depending}


if __name__ == "__main__":
    main(run, full=Sizes(), quick=Sizes(nodes=25, doublings=1, runs=5))
