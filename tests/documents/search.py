"""The random tests of documents for as many seeds as wanted: `python -m tests.documents.search 2000 [FIRST]`."""

from __future__ import annotations

import logging
import sys

from tests.documents.test_random_useless import test_useless_streams_change_nothing
from tests.documents.test_random_verdicts import test_verdicts_are_those_of_lxml


def main(examples: int, first: int) -> None:
    # Queries that compare every value with every other are meant here.
    logging.getLogger("whence").setLevel(logging.ERROR)
    for seed in range(first, first + examples):
        for test in (test_verdicts_are_those_of_lxml, test_useless_streams_change_nothing):
            try:
                test.hypothesis.inner_test(seed)  # type: ignore[attr-defined]
            except Exception as error:
                error.add_note(f"{test.__name__}, seed {seed}")
                raise
    sys.stdout.write(f"{examples} seeds from {first} on: no difference\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
