"""Twenty sites through a day of partitions: rows come and go, and what is kept about them stays in bounds.

    python -m benchmarks replica_partitions

Time is simulated, a step is a minute. Every hour the network falls apart into other groups; within a group, sites
meet at random. Each site inserts rows and deletes them an hour later. What is remembered of deleted rows is counted,
and once more with sites that never collect.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from benchmarks.harness import Report, main
from tests.replica.small_world import Pair, SmallSite

MINUTES_TO_LIVE = 60
GROUPS = 3


@dataclass(frozen=True)
class Sizes:
    sites: int = 20
    minutes: int = 24 * 60
    seed: int = 1


def run(sizes: Sizes) -> Report:
    report = Report(
        "replica_partitions",
        "A day of partitions",
        f"{sizes.sites} sites, {sizes.minutes:,} simulated minutes, every hour other groups that are cut off.",
    )
    for collects, name in ((True, "collected"), (False, "never collected")):
        day = Day(sizes, collects=collects)
        day.run()
        report.curve(f"remembered rows per site, {name}", "minute", "rows", day.remembered)
        report.figure(f"remembered rows per site, at most, {name}", max(rows for _, rows in day.remembered), "rows")
        report.figure(f"remembered rows per site, in the end, {name}", day.remembered[-1][1], "rows")
        if collects:
            report.figure("rows that are there, per site, at most", max(rows for _, rows in day.present), "rows")
        day.settle()
    return report


class Day:
    def __init__(self, sizes: Sizes, *, collects: bool) -> None:
        self._chance = Random(sizes.seed)  # noqa: S311 - chance is not a secret here
        self._sizes = sizes
        self.sites = [SmallSite(f"site{number}") for number in range(sizes.sites)]
        if not collects:
            for site in self.sites:
                site.membership.collect = list  # type: ignore[method-assign]
        self._groups: list[list[SmallSite]] = []
        self._written: dict[int, list[tuple[SmallSite, Pair]]] = {}
        self.remembered: list[tuple[float, float]] = []
        self.present: list[tuple[float, float]] = []

    def run(self) -> None:
        self._meet_all()
        for minute in range(self._sizes.minutes):
            if minute % 60 == 0:
                self._fall_apart()
            self._write(minute)
            for group in self._groups:
                for _ in range(len(group) // 2):
                    one, other = self._chance.sample(group, 2)
                    one.exchange(other)
            if minute % 10 == 9:
                count = len(self.sites)
                self.remembered.append((minute, sum(len(each.augmented.gone) for each in self.sites) / count))
                self.present.append((minute, sum(len(each.rows) for each in self.sites) / count))

    def settle(self) -> None:
        """All meet, and agree."""
        self._meet_all()
        self._meet_all()
        assert all(site.rows == self.sites[0].rows for site in self.sites)

    def _meet_all(self) -> None:
        for one in self.sites:
            for other in self.sites:
                if one.name < other.name:
                    one.exchange(other)

    def _fall_apart(self) -> None:
        self._groups = [[] for _ in range(GROUPS)]
        for site in self.sites:
            self._chance.choice(self._groups).append(site)
        self._groups = [group for group in self._groups if len(group) > 1]

    def _write(self, minute: int) -> None:
        for site in self._chance.sample(self.sites, len(self.sites) // 4):
            row = (minute, self.sites.index(site))
            site.change(row, is_there=True)
            self._written.setdefault(minute + MINUTES_TO_LIVE, []).append((site, row))
        for site, row in self._written.pop(minute, ()):
            site.change(row, is_there=False)


if __name__ == "__main__":
    main(run, full=Sizes(), quick=Sizes(sites=5, minutes=180))
