"""Questions about a large view on Spark, against Spark computing the view again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeVar

from benchmarks import plain_spark
from benchmarks.harness import Report, Stopwatch, main
from benchmarks.spark_reachability import Kept, Plain

T = TypeVar("T")


@dataclass(frozen=True)
class Sizes:
    nodes: int = 1000
    asked: int = 15
    runs: int = 5


def run(sizes: Sizes) -> Report:
    report = Report(
        "spark_questions",
        "Why a pair of nodes is connected, on Spark",
        f"A transit-stub network of {sizes.nodes:,} nodes, all of whose reachable pairs are kept on Spark, which runs "
        f"on the two processors of this machine. {sizes.asked} random pairs are asked why they are there, and as many "
        f"links what if they go, and what depends on them. The opponent recomputes the pairs with plain PySpark.",
    )
    spark = plain_spark.local_spark()
    plain = Plain(spark, sizes.nodes)
    nodes = sorted({node for link in plain.links for node in link})
    rng = Random(3)  # noqa: S311 - chance is not a secret here
    with Kept(spark, plain.links) as kept:
        db = kept.db
        why, what_if, impact = Stopwatch(), Stopwatch(), Stopwatch()
        for links in plain.in_turns(sizes.asked, sizes.runs):
            pairs = [(rng.choice(nodes), rng.choice(nodes)) for _ in links]
            ask(pairs, lambda pair: db.why("reachable", pair), why)
            ask(links, lambda link: db.what_if(delete={"link": [link]}), what_if)
            ask(links, lambda link: db.impact("link", link), impact)
        plain.check(kept)
    recompute = plain.watch.timing
    report.compare(f"{plain.name}: why", why.timing, plain_spark.NAME, recompute)
    report.compare(f"{plain.name}: what if one link goes", what_if.timing, plain_spark.NAME, recompute)
    report.compare(f"{plain.name}: impact of one link", impact.timing, plain_spark.NAME, recompute)
    spark.stop()
    return report


def ask(about: Sequence[T], question: Callable[[T], object], watch: Stopwatch) -> None:
    for each in about:
        with watch:
            question(each)


if __name__ == "__main__":
    main(run, full=Sizes(), quick=Sizes(nodes=50, asked=5))
