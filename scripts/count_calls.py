"""How long the path of a commit is: the Python functions of the package that one delete calls, and their files.

python scripts/count_calls.py             a table of local databases
python scripts/count_calls.py --spark     one on Spark as well
python scripts/count_calls.py --calls     every function, too, with the number of its calls
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from types import FrameType
from typing import NamedTuple

import whence
from whence.lab.workloads.transit_stub import Link, TransitStub, transit_stub_links

PACKAGE = str(Path(whence.__file__).parent)
# A few hundred links, which make some ten thousand pairs reachable.
NODES = 100
# Deletes before those that are counted, so that nothing is imported, compiled or read for the first time in these.
WARM_UP = 8
# So many deletes are counted, and the one in the middle is shown: how many rows a link carries differs.
COUNTED = 9

COUNTING = """
CREATE TABLE link(src INT, dst INT, cost INT, PRIMARY KEY (src, dst));
CREATE MATERIALIZED VIEW degree AS SELECT src, count(*) AS n FROM link GROUP BY src;
"""
REACHABLE = """
CREATE TABLE link(src INT, dst INT, cost INT);
CREATE MATERIALIZED VIEW reachable AS
    WITH RECURSIVE reach(src, dst) AS (
        SELECT src, dst FROM link UNION SELECT l.src, r.dst FROM link l JOIN reach r ON l.dst = r.src
    ) SELECT * FROM reach;
"""


class CallPath(NamedTuple):
    """What one commit called: by file and function, how often."""

    calls: Counter[tuple[str, str]]

    @property
    def files(self) -> int:
        return len({file for file, _ in self.calls})


def counted(commit: Callable[[], object]) -> CallPath:
    calls: Counter[tuple[str, str]] = Counter()

    def count(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGE):
            calls[code.co_filename.removeprefix(PACKAGE + "/"), code.co_qualname] += 1

    sys.setprofile(count)
    try:
        commit()
    finally:
        sys.setprofile(None)
    return CallPath(calls)


def path_of_a_delete(db: whence.Database, program: str) -> CallPath:
    db.execute(program)
    rows: list[Link] = transit_stub_links(TransitStub.of_size(NODES))
    db.insert("link", rows)
    Random(3).shuffle(rows)  # noqa: S311 - chance is not a secret here
    for row in rows[:WARM_UP]:
        db.delete("link", [row])
    found = [counted(lambda row=row: db.delete("link", [row])) for row in rows[WARM_UP : WARM_UP + COUNTED]]  # type: ignore[misc]
    return sorted(found, key=lambda path: path.calls.total())[COUNTED // 2]


def local_paths() -> dict[str, CallPath]:
    paths = {}
    for name, program in (("counting", COUNTING), ("forest", REACHABLE)):
        with whence.connect() as db:
            paths[f"local, {name}, in memory"] = path_of_a_delete(db, program)
        with tempfile.TemporaryDirectory() as directory, whence.connect(directory) as db:
            paths[f"local, {name}, in a directory"] = path_of_a_delete(db, program)
    return paths


def spark_path() -> CallPath:
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    try:
        with whence.connect(spark) as db:
            return path_of_a_delete(db, REACHABLE)
    finally:
        spark.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spark", action="store_true")
    parser.add_argument("--calls", action="store_true")
    options = parser.parse_args()
    paths = local_paths()
    if options.spark:
        paths["Spark, reachability, in the driver"] = spark_path()
    lines = [f"{'a delete of one row':40} {'calls':>7} {'files':>6}"]
    lines += [f"{name:40} {path.calls.total():7,} {path.files:6}" for name, path in paths.items()]
    for name, path in paths.items() if options.calls else ():
        lines += ["", name]
        lines += [f"{number:7,}  {file}  {function}" for (file, function), number in path.calls.most_common()]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
