"""Asking why: proofs, supports and critical rows of pairs in a large network, against having the view computed."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

import whence
from benchmarks import duck
from benchmarks.harness import Report, Stopwatch, Timing, main, taking_turns
from benchmarks.reachable import IN_DUCKDB, Link, in_duckdb, in_whence, network, some, warm_up


@dataclass(frozen=True)
class Sizes:
    nodes: int = 1_000
    proofs: int = 300
    weighed: int = 20
    runs: int = 5


def run(sizes: Sizes) -> Report:
    links = network(sizes.nodes)
    report = Report(
        "questions",
        "Why a pair of nodes is connected",
        f"A transit-stub network of {sizes.nodes:,} nodes and {len(links):,} directed links, all of whose reachable "
        f"pairs are kept. Random pairs are asked about: for a proof, for the same as text, for ten minimal supports, "
        f"for the links that they cannot do without, and for a smallest set of links that cuts them off; and "
        f"about random links: what if one goes, and its impact, which also counts all pairs that can be derived by way "
        f"of it. The opponents compute the view: whence from nothing, and DuckDB, with two threads, with WITH "
        f"RECURSIVE.",
    )
    warm_up()
    build = Stopwatch()
    for _ in range(sizes.runs):
        with in_whence() as another, build:
            another.insert("link", links)
    with in_whence() as db:
        pairs = db.insert("link", links).inserted["reachable"]
        report.figure("reachable pairs", pairs, "rows")
        recompute = duck.Recompute(in_duckdb(links), IN_DUCKDB)
        asked = pairs_of(links, sizes.proofs)
        db.why("reachable", asked[0])
        timings = {
            "why, a proof": ask(asked, lambda pair: db.why("reachable", pair), recompute),
            "why, as text": ask(asked, lambda pair: str(db.why("reachable", pair)), recompute),
            "ten minimal supports": ask(asked[: sizes.weighed], lambda p: db.why("reachable", p).supports(), recompute),
            "critical links": ask(asked[: sizes.weighed], lambda pair: db.critical("reachable", pair), recompute),
            "a smallest cut": ask(asked[: sizes.weighed], lambda pair: db.cut("reachable", pair), recompute),
        }
        report.figure("rows in a proof, median", statistics.median(proof_sizes(db, asked)), "rows")
        what_if = ask(some(links, sizes.weighed), lambda link: db.what_if(delete={"link": [link]}), recompute)
        impact = ask(some(links, sizes.weighed), lambda link: db.impact("link", link), recompute)
        depending = [db.impact("link", link).depend["reachable"] for link in some(links, sizes.weighed)]
        report.figure("pairs that can be derived by way of a link, median", statistics.median(depending), "rows")
    for what, timing in timings.items():
        report.compare(what, timing, duck.NAME, recompute.timing)
    report.compare("what if one link goes", what_if, duck.NAME, recompute.timing)
    report.compare("impact of one link", impact, duck.NAME, recompute.timing)
    report.compare("why, a proof", timings["why, a proof"], "whence, building", build.timing)
    return report


def pairs_of(links: Sequence[Link], count: int) -> list[Link]:
    """Random pairs of nodes, all of which are connected in these networks."""
    rng = Random(3)  # noqa: S311 - chance is not a secret here
    nodes = sorted({node for link in links for node in link})
    return [(rng.choice(nodes), rng.choice(nodes)) for _ in range(count)]


def ask(questions: Sequence[Link], question: Callable[[Link], object], other: Callable[[], object]) -> Timing:
    watch = Stopwatch()
    for each in taking_turns(questions, other):
        with watch:
            question(each)
    return watch.timing


def proof_sizes(db: whence.Database, pairs: Sequence[Link]) -> list[int]:
    return [len(db.why("reachable", pair).reasons) for pair in pairs]


if __name__ == "__main__":
    main(run, full=Sizes(), quick=Sizes(nodes=50, proofs=20, weighed=5))
