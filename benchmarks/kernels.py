"""How long a new process takes to its first answer, when compiled code is not there yet and when it is."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from tempfile import TemporaryDirectory

from benchmarks import duck
from benchmarks.harness import ROOT, Report, Stopwatch, main

IN_WHENCE = """
from benchmarks.reachable import in_whence
db = in_whence()
db.insert("link", [(1, 2), (2, 3), (3, 1)])
db.delete("link", [(3, 1)])
assert db.rows("reachable") == {(1, 2), (2, 3), (1, 3)}
"""
IN_DUCKDB = """
from benchmarks.reachable import IN_DUCKDB, in_duckdb
db = in_duckdb([(1, 2), (2, 3), (3, 1)])
db.execute("DELETE FROM link WHERE src = 3")
assert set(db.execute(IN_DUCKDB).fetchall()) == {(1, 2), (2, 3), (1, 3)}
"""
COMPILE = """
from whence.engines.local.warmup import warm_up
warm_up(lambda line: None)
"""
IMPORTS = "from benchmarks import reachable"


@dataclass(frozen=True)
class Sizes:
    runs: int = 5


def run(sizes: Sizes) -> Report:
    report = Report(
        "kernels",
        "From nothing to a first answer",
        "A new process each time: it defines a recursive view over three links, deletes one, reads the view and ends. "
        "First with an empty cache of compiled code, as after an installation: the view is kept by slower means, and "
        "kernels are compiled in the background. Then with all of them compiled. DuckDB does the same with its own "
        "means; all of them import the same modules.",
    )
    cold, warm, theirs, imports = Stopwatch(), Stopwatch(), Stopwatch(), Stopwatch()
    for _ in range(sizes.runs):
        with TemporaryDirectory() as cache:
            with cold:
                execute(IN_WHENCE, {"NUMBA_CACHE_DIR": cache})
            execute(COMPILE, {"NUMBA_CACHE_DIR": cache})
            with warm:
                execute(IN_WHENCE, {"NUMBA_CACHE_DIR": cache})
        with theirs:
            execute(IN_DUCKDB, {})
        with imports:
            execute(IMPORTS, {})
    report.compare("first use, nothing compiled", cold.timing, duck.NAME, theirs.timing)
    report.compare("first use in a new process", warm.timing, duck.NAME, theirs.timing)
    report.figure("of which for starting Python and importing", imports.timing.median, "s")
    return report


def execute(program: str, environment: Mapping[str, str]) -> None:
    command = [sys.executable, "-c", program]
    # Python keeps bytecode unless it is told not to; without, all modules would be parsed again in each process.
    everywhere = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    subprocess.run(command, cwd=ROOT, env={**everywhere, **environment}, check=True)  # noqa: S603 - the programs above


if __name__ == "__main__":
    main(run, full=Sizes(), quick=Sizes())
