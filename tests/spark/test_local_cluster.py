"""On a cluster whose executors are killed in the middle of commits, a database has the rows of the reference engine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from random import Random

ROOT = Path(__file__).parents[2]
# Executors and their Python processes start anew several times: long where other tests take the processors.
TIMEOUT_SECONDS = 900


def test_executors_may_die(tmp_path: Path) -> None:
    seed = Random().randrange(2**32)
    done = subprocess.run(
        [sys.executable, "-m", "tests.spark.local_cluster", str(tmp_path), str(seed), "1"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"the seed was {seed}:\n{done.stderr}"
