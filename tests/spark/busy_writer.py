"""A process that commits and writes new bases all the time, for readers elsewhere to look at.

`python -m tests.spark.busy_writer DIRECTORY COMMITS`. In a version all rows of `entry` have the same number, and there
are as many as `total` says; half of the accounts come and go.
"""

from __future__ import annotations

import sys
from unittest import mock

import whence
from whence.spark import journal
from whence.storage.files import store

ACCOUNTS = 40
PROGRAM = """
CREATE TABLE entry (account INT NOT NULL, version INT NOT NULL, PRIMARY KEY (account));
CREATE MATERIALIZED VIEW total AS SELECT version, count(*) AS n FROM entry GROUP BY version;
"""


def main(directory: str, commits: int) -> None:
    with (
        mock.patch.object(journal, "SMALL_OVERLAY", 60),
        mock.patch.object(store, "STEPS", 4),
        whence.connect(directory, engine="spark") as db,
    ):
        db.execute(PROGRAM)
        for number in range(commits):
            rows = [(account, number) for account in range(ACCOUNTS) if account % 2 == 0 or number % 2 == 0]
            with db.batch() as batch:
                if number:
                    batch.execute("DELETE FROM entry")
                batch.insert("entry", rows)
            sys.stdout.write(f"{db.version}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
