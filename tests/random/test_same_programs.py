"""A seed stands for one program, in every process: sets of strings, whose order changes with it, decide nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

GENERATED = """
from random import Random
from tests.engines.local.counting_programs import Generator
from tests.engines.local.forest_programs import PlainPrograms
from tests.engines.local.recursive_programs import random_program as recursive_program
from tests.random.datalog_programs import random_datalog
from tests.random.sql_programs import random_program
from whence.lang.datalog.write import to_datalog

for seed in range(40):
    print(to_datalog(Generator(Random(seed)).program().program))
    print(PlainPrograms(Random(seed), 5).program()[0])
    print(recursive_program(seed)[0])
    print(random_datalog(seed).text)
    print(random_program(seed).script)
"""


def generated(hash_seed: int) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(
        [sys.executable, "-c", GENERATED], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    ).stdout


def test_whatever_the_hash_of_a_string() -> None:
    assert generated(1) == generated(2)
