"""Killed at any instant, a database comes back with every commit that was acknowledged."""

from __future__ import annotations

from pathlib import Path
from random import Random

import whence
from benchmarks.killing import Victims, check

KILLS = 15


def test_no_acknowledged_commit_is_lost(tmp_path: Path) -> None:
    seed = Random().randrange(2**32)
    chance = Random(seed)
    version = 0
    with whence.connect() as twin, Victims() as victims:
        for _ in range(KILLS):
            safe = max(version, victims.kill_one(tmp_path / "state", chance))
            version = check(tmp_path / "state", safe, twin)
    assert version > 0, f"nothing was committed; the seed was {seed}"
