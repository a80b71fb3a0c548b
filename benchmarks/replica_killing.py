"""Sites that are killed in the middle of commits and meetings: nothing acknowledged is lost, nothing comes back.

    python -m benchmarks.replica_killing 200

Three sites in directories work in a child process: two share a table, the third follows a recursive view over it.
They insert, delete and meet, and tell every commit that returned. The child is killed with SIGKILL at a random
moment, again and again. In the end all meet: rows whose insert was acknowledged are everywhere, rows whose delete was
are nowhere, and the followed view is that of the rows.
"""

from __future__ import annotations

import os
import random
import select
import signal
import sys
import tempfile
import time
from pathlib import Path

import whence
from whence.replica.site import Site

NODES = 12
SECONDS = 0.6  # a child lives no longer
Row = tuple[int, int]


def opened(directory: Path) -> tuple[Site, Site, Site]:
    one, two, edge = (whence.site(name, directory / name) for name in ("one", "two", "edge"))
    for site in (one, two):
        if "link" not in site.catalog().relations:
            site.rules(".decl link(a: number, b: number)")
        site.share("link")
    if "path" not in one.catalog().relations:
        one.rules("path(a, b) :- link(a, b). path(a, c) :- link(a, b), path(b, c).")
    edge.follow("one", "path")
    return one, two, edge


def work(directory: Path, seed: int, tell: int) -> None:
    """Until killed. Each site changes rows of its own, so that what was acknowledged last is what must be."""
    chance = random.Random(seed)  # noqa: S311 - not for secrets
    one, two, edge = opened(directory)
    os.write(tell, b"open 0 0\n")
    while True:
        what = chance.random()
        if what < 0.6:
            at = chance.randrange(2)
            site = (one, two)[at]
            row = (chance.randrange(NODES // 2) * 2 + at, chance.randrange(NODES))
            is_there = row in site.rows("link")
            os.write(tell, f"try {row[0]} {row[1]}\n".encode())
            (site.delete if is_there else site.insert)("link", [row])
            os.write(tell, f"{'deleted' if is_there else 'inserted'} {row[0]} {row[1]}\n".encode())
        elif what < 0.8:
            one.exchange(two)
        else:
            edge.exchange(one)


def kill_once(directory: Path, seed: int, chance: random.Random) -> str:
    """What a child told before it was killed."""
    reading, telling = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            work(directory, seed, telling)
        finally:
            # Only an error gets here.
            os._exit(1)
    os.close(telling)
    if chance.random() < 0.85:
        # Else it may die while it opens.
        select.select([reading], [], [], 60.0)
    time.sleep(chance.uniform(0.0, SECONDS))
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status):
        raise AssertionError(f"the child of seed {seed} failed by itself")
    with os.fdopen(reading) as told:
        return told.read()


def closure(links: set[Row]) -> set[Row]:
    paths = set(links)
    while more := {(a, d) for a, b in links for c, d in paths if b == c} - paths:
        paths |= more
    return paths


def run(directory: Path, kills: int, seed: int = 0) -> tuple[int, int]:
    """How many commits were acknowledged, and how many rows there are in the end."""
    chance = random.Random(seed)  # noqa: S311 - not for secrets
    with tempfile.TemporaryDirectory() as once:
        # What children need is loaded before they come to life.
        one, two, edge = opened(Path(once))
        one.insert("link", [(0, 1), (1, 0)])
        one.delete("link", [(0, 1)])
        one.exchange(two)
        edge.exchange(one)
        for site in (one, two, edge):
            site.close()
    state: dict[Row, bool] = {}
    open_tries: set[Row] = set()
    acknowledged = 0
    for number in range(kills):
        tried: Row | None = None
        for line in kill_once(directory, seed * 1_000_000 + number, chance).splitlines():
            kind, a, b = line.split()
            row = (int(a), int(b))
            if kind == "try":
                tried = row
            elif kind != "open":
                tried = None
                state[row] = kind == "inserted"
                open_tries.discard(row)
                acknowledged += 1
        if tried is not None:
            # It may have happened, or not: nobody was told.
            open_tries.add(tried)
    sites = opened(directory)
    one, two, edge = sites
    one.exchange(two)
    edge.exchange(one)
    rows: set[Row] = {(int(str(a)), int(str(b))) for a, b in one.rows("link")}
    assert one.rows("link") == two.rows("link"), "sites differ"
    for row, is_there in state.items():
        assert row in open_tries or (row in rows) == is_there, f"{row} was acknowledged"
    assert rows <= state.keys() | open_tries, "a row that nobody inserted"
    assert edge.rows("path") == one.rows("path") == closure(rows), "the followed view differs"
    for site in sites:
        site.close()
    return acknowledged, len(rows)


def main() -> None:
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    with tempfile.TemporaryDirectory() as directory:
        acknowledged, rows = run(Path(directory), kills)
    sys.stdout.write(f"{kills} kills, {acknowledged} acknowledged commits, {rows} rows: exact\n")


if __name__ == "__main__":
    main()
