"""A process that commits and writes new bases all the time, for readers elsewhere to look at.

`python -m tests.spark.busy_writer DIRECTORY` goes on until its input ends. In a version all rows of `entry` have the
same number, and there are as many as `total` says; half of the accounts come and go.
"""

from __future__ import annotations

import sys
import threading
from itertools import count
from unittest import mock

import whence
from whence.spark import journal
from whence.storage.files import store

ACCOUNTS = 40
PROGRAM = """
CREATE TABLE entry (account INT NOT NULL, version INT NOT NULL, PRIMARY KEY (account));
CREATE MATERIALIZED VIEW total AS SELECT version, count(*) AS n FROM entry GROUP BY version;
"""


def main(directory: str) -> None:
    ended = threading.Event()
    threading.Thread(target=_wait, args=(ended,), daemon=True).start()
    with (
        mock.patch.object(journal, "SMALL_OVERLAY", 60),
        mock.patch.object(store, "STEPS", 4),
        whence.connect(directory, engine="spark") as db,
    ):
        db.execute(PROGRAM)
        for number in count():
            if ended.is_set():
                break
            rows = [(account, number) for account in range(ACCOUNTS) if account % 2 == 0 or number % 2 == 0]
            with db.batch() as batch:
                if number:
                    batch.execute("DELETE FROM entry")
                batch.insert("entry", rows)
            sys.stdout.write(f"{number}\n")
            sys.stdout.flush()


def _wait(ended: threading.Event) -> None:
    sys.stdin.read()
    ended.set()


if __name__ == "__main__":
    main(sys.argv[1])
