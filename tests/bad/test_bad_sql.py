"""Bad SQL programs: the exact words and place that the user is shown, and nothing left behind."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import whence

PROGRAMS = sorted((Path(__file__).parent / "sql").glob("*.sql"))


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: p.stem)
def test_refused_as_written_down(path: Path) -> None:
    db = whence.connect()
    with pytest.raises(whence.WhenceError) as caught:
        db.execute(path.read_text(), name=path.name)
    golden = path.with_suffix(".err")
    if os.environ.get("WHENCE_REWRITE_GOLDEN"):
        golden.write_text(f"{type(caught.value).__name__}: {caught.value}\n")
    assert f"{type(caught.value).__name__}: {caught.value}\n" == golden.read_text()
