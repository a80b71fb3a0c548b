"""A database of which a disk has got a byte wrong: it opens with exactly what was written, or says that it is damaged.

`python -m benchmarks.damage` flips a bit in every so many bytes of every file, and one in each byte with 1.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from random import Random

import whence

SCHEMA = """
    CREATE TABLE link(src INT NOT NULL, dst INT NOT NULL, PRIMARY KEY (src, dst));
    CREATE TABLE price(at DATE, amount DECIMAL(10, 2), names ARRAY<STRING>);
    CREATE TABLE beat(node INT, name STRING) TBLPROPERTIES ('ttl' = '3652 days');
    CREATE TABLE last(node INT, name STRING) TBLPROPERTIES ('window_rows' = '5');
    CREATE VIEW degree AS SELECT src, count(*) AS n FROM link GROUP BY src;
"""
EVERY = 40


class TakenError(Exception):
    """Something else was taken for what was written, or an error was not one of the database's own."""


def fill(db: whence.Database) -> None:
    """Tables of every kind, lifetimes, windows, functions and a feed."""
    db.execute(SCHEMA)
    db.function("double", lambda x: 2 * x, returns="INT")
    db.rules("twice(x, double(y)) :- link(x, y). far(x, y) :- link(x, y). far(x, y) :- link(x, z), far(z, y).")
    db.advance("2026-01-01")
    for number in range(6):
        db.insert("link", [(number, number + 1)])
        db.insert("beat", [(number % 3, "beat")])
        db.insert("last", [(number % 4, "last")])
    db.insert("price", [("2026-01-31", Decimal("12.50"), ["a", None]), (None, None, None)])
    db.delete("link", [(2, 3)])


def seen(db: whence.Database) -> dict[str, object]:
    """Everything that can be seen, and what time will do to it. This changes the database."""
    db.function("double", lambda x: 2 * x, returns="INT")
    found: dict[str, object] = {"version": db.version, "notices": db.notices}
    for name in sorted(db.catalog().relations):
        found[name] = db.table(name).to_pylist()
        found[f"definition of {name}"] = db.definition(name)
        found[f"changes of {name}"] = db.changes(name).drop(["_commit_timestamp"]).to_pylist()
    found["evicted"] = sorted(db.insert("last", [(9, "new"), (8, "new")]).deleted.items()), sorted(db.rows("last"))
    found["expired"] = [dict(db.advance(when).deleted) for when in ("2035-12-31", "2036-02-01")]
    return found


def flips(directory: Path, every: int, chance: Random) -> Iterator[tuple[Path, int]]:
    """Files and the places in them where a bit is to be flipped."""
    for file in sorted(path for path in directory.rglob("*") if path.is_file()):
        size = file.stat().st_size
        yield from ((file, min(at + chance.randrange(every), size - 1)) for at in range(0, size, every))


def search(
    make: Callable[[Path], whence.Database], every: int, chance: Random, most: int | None = None
) -> Counter[str]:
    """How often it opened unharmed, and how often it said that it was damaged."""
    outcomes: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        whole, copy = Path(name) / "whole", Path(name) / "copy"
        with make(whole) as db:
            fill(db)
        shutil.copytree(whole, copy)
        with make(copy) as db:
            expected = seen(db)
        places = list(flips(whole, every, chance))
        for file, at in places if most is None else chance.sample(places, min(most, len(places))):
            shutil.rmtree(copy)
            shutil.copytree(whole, copy)
            target = copy / file.relative_to(whole)
            data = bytearray(target.read_bytes())
            data[at] ^= 1 << chance.randrange(8)
            target.write_bytes(data)
            outcomes[_outcome(make, copy, expected, f"{target.name}, byte {at}")] += 1
    return outcomes


def _outcome(make: Callable[[Path], whence.Database], copy: Path, expected: dict[str, object], place: str) -> str:
    try:
        with make(copy) as db:
            found = seen(db)
    except whence.WhenceError as error:
        if not isinstance(error, whence.StateError):
            raise TakenError(f"{place}: {error!r}") from error
        return "told"
    except Exception as error:
        raise TakenError(f"{place}: {error!r}") from error
    if found != expected:
        names = [name for name in expected if found.get(name) != expected[name]]
        raise TakenError(f"{place}: {', '.join(names)}")
    return "unharmed"


def main() -> None:
    every = int((*sys.argv[1:], str(EVERY))[0])
    started = time.perf_counter()
    found = search(whence.connect, every, Random())  # noqa: S311 - chance is not a secret here
    seconds = time.perf_counter() - started
    print(f"{found.total()} bits flipped in {seconds:.0f} s: {found['told']} told, {found['unharmed']} unharmed")


if __name__ == "__main__":
    main()
