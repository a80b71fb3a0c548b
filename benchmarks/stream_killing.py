"""A Spark driver that follows a stream of files, and is killed in the middle of it, again and again.

When all files have been taken, there must be one commit for each micro-batch, the views must be those of the reference
engine over all input, and the exported feed must have every change once.

`python -m benchmarks.stream_killing` kills 30 drivers, or as many as the environment variable WHENCE_KILLS says.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import whence
from benchmarks.harness import ROOT
from whence.storage.files.database_files import DatabaseFiles
from whence.storage.files.files import open_files

LINK = "CREATE TABLE link(src INT NOT NULL, dst INT NOT NULL, cost INT NOT NULL, PRIMARY KEY (src, dst))"
VIEWS = {
    "reachable": "reachable(x, y) :- link(x, y, _). reachable(x, y) :- link(x, z, _), reachable(z, y).",
    # With cycles, where only the least cost lets it come to an end.
    "distance": """
        .decl distance(x: number, y: number, cost: number)
        distance(x, y, min<c>) :- link(x, y, c).
        distance(x, y, min<c + d>) :- link(x, z, c), distance(z, y, d).
    """,
}
SCHEMA = "src INT, dst INT, cost INT, _change_type STRING"
NODES = 8
BEGINNING = 1_700_000_000
KILLS = int(os.environ.get("WHENCE_KILLS", "30"))
FILES = 150
# A driver that has not died or finished by then is stuck, in seconds.
PATIENCE = 280


class LostError(Exception):
    """A batch was lost or came twice, or something came out wrong."""


def write_input(directory: Path, files: int, chance: Random) -> None:
    """Files of changes, each of which can follow the ones before it."""
    directory.mkdir(parents=True)
    links: dict[tuple[int, int], int] = {}
    for number in range(files):
        changes: list[tuple[int, int, int, str]] = []
        for _ in range(chance.randrange(1, 5)):
            ends = chance.randrange(NODES), chance.randrange(NODES)
            if ends in links and chance.random() < 0.5:
                changes.append((*ends, links.pop(ends), "delete"))
                continue
            if ends in links:
                changes.append((*ends, links.pop(ends), "update_preimage"))
            links[ends] = chance.randrange(1, 9)
            changes.append((*ends, links[ends], "update_postimage"))
        # Within a batch there is no order.
        chance.shuffle(changes)
        names = ("src", "dst", "cost", "_change_type")
        lines = [json.dumps(dict(zip(names, change, strict=True))) for change in changes]
        path = directory / f"{number:05}.json"
        path.write_text("\n".join(lines) + "\n")
        # Spark takes files in the order of their times.
        os.utime(path, (BEGINNING + number, BEGINNING + number))


def follow(directory: Path, *, to_the_end: bool) -> None:
    """Be a driver: take one file after the other, and at the end say what came of it."""
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "1g")
        .config("spark.sql.shuffle.partitions", 2)
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    db: Any = whence.connect(directory / "state", engine="spark")
    if "link" not in db.catalog().relations:
        db.execute(LINK)
    for name, rules in VIEWS.items():
        if name not in db.catalog().relations:
            db.rules(rules)
    stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(directory / "input"))
    db.attach("link", stream)
    db.export("distance", directory / "feed")
    running = db.start(trigger="available now" if to_the_end else None)
    print("running", flush=True)
    running.awaitTermination()
    found = {name: sorted(db.rows(name)) for name in ("link", *VIEWS)}
    changes = db.changes("distance").drop(["_commit_timestamp"]).to_pylist()
    (directory / "found.json").write_text(json.dumps({"version": db.version, "rows": found, "changes": changes}))
    db.close()


def kill_one(directory: Path, chance: Random) -> None:
    """Let a driver run, and kill it at some moment, together with its JVM."""
    driver = _driver(directory)
    # Some die while they open the database, most while they follow.
    if chance.random() < 0.8:
        assert driver.stdout is not None
        driver.stdout.readline()
        time.sleep(chance.random() * 6)
    else:
        time.sleep(2 + chance.random() * 8)
    if driver.poll() is not None:
        raise LostError(f"the driver ended by itself, with {driver.returncode}")
    os.killpg(driver.pid, signal.SIGKILL)
    driver.communicate()


def phase(directory: Path) -> str:
    """Where in a batch the driver was that has just been killed, by the files that it left."""
    state = directory / "state"
    planned, taken = (
        max((int(path.name) for path in state.glob(f"streams/**/{kind}/*") if path.name.isdecimal()), default=-1)
        for kind in ("offsets", "commits")
    )
    if planned < 0:
        return "before the first batch"
    if planned == taken:
        return f"between batches, after {taken}"
    # There is a version for the table, one for each view, and one for each batch from 0 on.
    is_there = DatabaseFiles(open_files(None, str(state))).newest() >= 2 + len(VIEWS) + planned
    return f"in batch {planned}, {'after' if is_there else 'before'} its commit"


def finish(directory: Path) -> int:
    """Let a driver take all that is left, and check it; the version that it came to."""
    driver = _driver(directory, "--to-the-end")
    try:
        driver.communicate(timeout=PATIENCE)
    finally:
        if driver.poll() is None:
            os.killpg(driver.pid, signal.SIGKILL)
    if driver.returncode:
        raise LostError(f"the last driver failed, with {driver.returncode}")
    return check(directory)


def check(directory: Path) -> int:
    found = json.loads((directory / "found.json").read_text())
    batches = [_records(path) for path in sorted((directory / "input").iterdir())]
    # Mostly a batch for each file; but Spark puts two into one when it is killed between noticing a file and beginning
    # its batch.
    numbers = [int(path.name) for path in (directory / "state").glob("streams/**/offsets/*") if path.name.isdecimal()]
    taken = max(numbers) + 1
    if found["version"] != 1 + len(VIEWS) + taken or taken > len(batches):
        raise LostError(f"{taken} batches of {len(batches)} files came to version {found['version']}")
    links: Counter[tuple[int, int, int]] = Counter()
    for batch in batches:
        for each in batch:
            row = each["src"], each["dst"], each["cost"]
            links[row] += 1 if each["_change_type"] == "update_postimage" else -1
    with whence.connect(engine="reference") as reference:
        reference.execute(LINK)
        reference.insert("link", sorted(+links))
        for rules in VIEWS.values():
            reference.rules(rules)
        for name, rows in found["rows"].items():
            if [tuple(row) for row in rows] != sorted(reference.rows(name)):
                raise LostError(f"{name!r} is not that of all input")
    _check_feed(directory, found)
    return int(found["version"])


def _check_feed(directory: Path, found: dict[str, Any]) -> None:
    """The files must have what the database says has changed, in that order, and come to what the view holds."""
    files = sorted(path for path in (directory / "feed").iterdir() if not path.name.startswith(("_", ".")))
    changes = []
    rows: set[tuple[int, ...]] = set()
    for path in files:
        for change in _records(path):
            if change["_commit_version"] != int(path.stem):
                raise LostError(f"{path.name} has changes of version {change['_commit_version']}")
            del change["_commit_timestamp"]
            changes.append(change)
            row = (change["x"], change["y"], change["cost"])
            if (row in rows) != (change["_change_type"] == "delete"):
                raise LostError(f"{path.name} has a {change['_change_type']} of {row} that came before")
            rows ^= {row}
    if changes != found["changes"] or sorted(rows) != sorted(map(tuple, found["rows"]["distance"])):
        raise LostError("the exported feed is not that of the database")


def _records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def _driver(directory: Path, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "benchmarks.stream_killing", str(directory), *options]
    # In a group of its own, so that its JVM dies with it.
    return subprocess.Popen(  # noqa: S603 - a module of this package
        command, cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True
    )


def main() -> None:
    seed = Random().randrange(2**32)  # noqa: S311 - chance is not a secret here
    chance = Random(seed)  # noqa: S311 - likewise
    print(f"seed {seed}")
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        write_input(directory / "input", FILES, chance)
        for kill in range(1, KILLS + 1):
            kill_one(directory, chance)
            files = len(list((directory / "feed").glob("*.json"))) if (directory / "feed").exists() else 0
            print(f"kill {kill}: {phase(directory)}; {files} files in the feed", flush=True)
        print(f"version {finish(directory)}: nothing was lost, and nothing came twice")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        follow(Path(sys.argv[1]), to_the_end="--to-the-end" in sys.argv)
    else:
        main()
