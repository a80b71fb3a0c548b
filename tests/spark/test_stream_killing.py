"""A driver that is killed while it follows a stream goes on as if nothing had happened."""

from __future__ import annotations

from pathlib import Path
from random import Random

from benchmarks.stream_killing import finish, kill_one, write_input

KILLS = 5
FILES = 30


def test_every_batch_once(tmp_path: Path) -> None:
    # What is killed when depends on more than chance: a seed would not bring a failure back.
    chance = Random()
    write_input(tmp_path / "input", FILES, chance)
    for _ in range(KILLS):
        kill_one(tmp_path, chance)
    finish(tmp_path)
