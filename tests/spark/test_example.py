"""The example that `make run` shows says the same on both engines, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def told(engine: str) -> list[str]:
    """What happened, without the lines about how."""
    done = subprocess.run(
        [sys.executable, "examples/backbone/live.py", "--engine", engine],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "COLUMNS": "120"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "WARN" not in done.stderr
    before, _, _ = done.stdout.partition("How is the view")
    return [line for line in before.splitlines() if not line.endswith(" engine.")]


def test_the_backbone_is_the_same_on_both_engines() -> None:
    lines = told("local")
    assert "  + cut_off(Reykjavik, IS)   version 8" in lines
    assert "     └─ link('London', 'Reykjavik', 1888)" in lines
    assert told("spark") == lines
