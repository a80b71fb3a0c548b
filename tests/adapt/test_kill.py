"""A process that changes definitions and rows together, and is killed: the old ones stand, or the new ones do."""

from __future__ import annotations

from pathlib import Path
from random import Random

import whence
from benchmarks.killing import killed
from whence.database.database import Database

ROWS = 300
QUERIES = (
    "SELECT a, b FROM r WHERE b > 1",
    "SELECT a, b FROM r WHERE b > 1 UNION ALL SELECT a, a AS b FROM r WHERE b = 0",
    "SELECT b, a FROM r WHERE b > 1",
)

VICTIM = """
import os, sys
import whence
from tests.adapt.test_kill import step
with whence.connect(sys.argv[1]) as db:
    while True:
        os.write(1, f"{db.version}\\n".encode())
        step(db)
"""


def step(db: Database) -> None:
    """What the next commit does follows from its version."""
    version = db.version + 1
    if version == 1:
        db.execute("CREATE TABLE r(a INT NOT NULL, b INT NOT NULL)")
    elif version == 2:
        db.insert("r", [(number, number % 5) for number in range(ROWS)])
    elif version == 3:
        db.execute(f"CREATE VIEW v AS {QUERIES[0]}")
    elif version == 4:
        db.execute("CREATE VIEW many AS SELECT b, count(*) AS n FROM v GROUP BY b")
    else:
        with db.redefine() as change:
            change.execute(f"CREATE OR REPLACE VIEW v AS {QUERIES[version % len(QUERIES)]}")
            change.insert("r", [(version, version % 5)])


def test_killed_in_the_middle_the_old_definition_stands(tmp_path: Path) -> None:
    chance = Random(7)
    for _ in range(3):
        told = killed(VICTIM, tmp_path, chance, 25)
        with whence.connect(tmp_path) as db:
            assert told <= db.version <= told + 1
            twin = whence.connect()
            while twin.version < db.version:
                step(twin)
            assert db.catalog().relations.keys() == twin.catalog().relations.keys()
            for name in twin.catalog().relations:
                assert db.table(name) == twin.table(name), name
