"""Programs that are wrong, and exactly what is said about each.

Each NAME.dl in tests/bad/datalog has its message beside it in NAME.err. With WHENCE_REWRITE_GOLDEN=1 in the environment
the messages are written anew; read what changed.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from whence.analysis.analyze import analyze
from whence.errors import InternalError, WhenceError
from whence.lang.datalog.parse import parse_datalog

PROGRAMS = sorted((Path(__file__).parent / "datalog").glob("*.dl"))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_message(program: Path) -> None:
    text = program.read_text(encoding="utf-8")
    with pytest.raises(WhenceError) as raised:
        analyze(parse_datalog(text, program.name))
    assert not isinstance(raised.value, InternalError)
    message = f"{raised.value}\n"
    golden = program.with_suffix(".err")
    if os.environ.get("WHENCE_REWRITE_GOLDEN"):
        golden.write_text(message, encoding="utf-8")
    assert golden.read_text(encoding="utf-8") == message


def test_every_message_has_its_program() -> None:
    folder = Path(__file__).parent / "datalog"
    assert {path.stem for path in folder.glob("*.err")} == {path.stem for path in PROGRAMS}
