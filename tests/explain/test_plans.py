"""What `explain` says about programs: each NAME.dl or NAME.sql in plans/ has its explanations beside it in NAME.txt.

With WHENCE_REWRITE_GOLDEN=1 in the environment the texts are written anew; read what changed.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

import whence
from whence.database.database import Database
from whence.engines.local.engine import LocalEngine
from whence.incremental.recursive.absorption import Absorption
from whence.lab.strategies import connect
from whence.session.session import Session

PROGRAMS = sorted((Path(__file__).parent / "plans").glob("*.[ds]*l"))


def opened(program: Path, maintenance: str = "auto") -> whence.Database:
    db = connect(maintenance)
    run = db.execute if program.suffix == ".sql" else db.rules
    run(program.read_text(), name=program.name)
    return db


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.name)
def test_explanation(program: Path) -> None:
    db = opened(program)
    found = "\n\n----\n\n".join(without_times(db.explain(name, analyze=True)) for name in db.catalog().relations) + "\n"
    golden = program.with_suffix(".txt")
    if os.environ.get("WHENCE_REWRITE_GOLDEN"):
        golden.write_text(found)
    assert found == golden.read_text()


def without_times(text: str) -> str:
    return re.sub(r"[\d,]+ bytes", "N bytes", re.sub(r"[\d.]+ ms", "T ms", text))


def test_every_explanation_has_its_program() -> None:
    folder = Path(__file__).parent / "plans"
    assert {path.stem for path in folder.glob("*.txt")} == {path.stem for path in PROGRAMS}


REACHABLE = Path(__file__).parent / "plans" / "reachable.dl"


@pytest.mark.parametrize(
    ("maintenance", "words"),
    [
        ("absorption", "kept by absorption (recursive: a compiled proof forest)"),
        ("dred", "to derive reachable again\n       look up link by src = x"),
        ("eager", "when link changes\n       keep if c < 100\n       look up reachable by src = z"),
        ("relative", "when reachable changes\n       look up link by dst = z"),
        ("recompute", "computed from nothing after every change, because that is the strategy"),
    ],
)
def test_strategies(maintenance: str, words: str) -> None:
    text = opened(REACHABLE, maintenance).explain("reachable")
    assert f"kept by {maintenance} (" in text
    assert words in text


def test_the_reference_engine_has_no_plan() -> None:
    db = whence.connect(engine="reference")
    db.rules(REACHABLE.read_text())
    assert db.explain("pair", analyze=True).splitlines()[-1] == (
        "computed from nothing after every change, because that is what this engine does"
    )


def test_a_strategy_that_gave_up_says_why() -> None:
    db = Database(Session(LocalEngine("general", strategies={"general": Absorption})))
    db.rules(
        """
        .decl link(x: number, y: number)
        .decl gone(x: number, y: number)
        .decl kept(x: number, y: number) bag
        kept(x, y) :- link(x, y).
        -kept(x, y) :- gone(x, y).
        .decl path(x: number, y: number)
        path(x, y) :- kept(x, y), !gone(y, x).
        path(x, y) :- kept(x, z), path(z, y).
        """
    )
    db.insert("gone", [(1, 2)])
    assert (
        "computed from nothing after every change, because a relation that it reads has rows with a count below zero"
    ) in db.explain("path")


def test_without_analyze_there_are_no_figures() -> None:
    text = opened(REACHABLE).explain("pair")
    assert "last commit" not in text
    assert repr(text) == str(text)
    assert isinstance(text, str)


def test_what_a_commit_does_not_touch() -> None:
    db = opened(REACHABLE)
    db.execute("CREATE TABLE other(x INT); CREATE VIEW copy AS SELECT x FROM other")
    db.insert("other", [(1,)])
    text = db.explain("pair", analyze=True)
    assert text.count("last commit: not touched") == 2
    assert "in all: 0 of 2 components touched, 0 rows in, 0 rows out, 0.000 ms" in text


def test_an_unknown_view() -> None:
    with pytest.raises(whence.UnknownNameError) as caught:
        opened(REACHABLE).explain("reachible")
    assert caught.value.hint == "did you mean 'reachable'?"
