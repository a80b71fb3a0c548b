"""Groups of tuples that never meet: which column divides them, and that growing one by one makes no proof longer."""

from __future__ import annotations

import pytest

import whence
from tests.engines.local.recursive_driver import analysis_of
from whence.engines.local.forest.layout import NOTHING
from whence.engines.local.forest.program import passed_on

DECLARED = ".decl link(x: INT, y: INT)\n"


@pytest.mark.parametrize(
    ("rules", "column"),
    [
        ("r(x, y) :- link(x, y). r(x, y) :- link(x, z), r(z, y).", 1),
        ("r(x, y) :- link(x, y). r(x, y) :- r(x, z), link(z, y).", 0),
        ("r(x, y) :- link(x, y). r(x, y) :- r(x, z), r(z, y).", NOTHING),
        ("r(x, y) :- link(x, y). r(x, y) :- link(x, z), r(z, y). r(x, y) :- r(x, z), link(z, y).", NOTHING),
        ("p(x, y) :- link(x, y). p(x, y) :- link(x, z), q(z, y). q(x, y) :- link(x, z), p(z, y).", 1),
        ("r(g, x, y) :- link(x, y), link(g, _). r(g, x, y) :- r(g, x, z), r(g, z, y).", 0),
        ("r(x, y) :- link(x, y). r(x, 1) :- link(x, z), r(z, 1).", NOTHING),
        ("r(x, y) :- link(x, y). r(x, y) :- link(x, y), r(_, _).", NOTHING),
        ("r(x, y) :- link(x, y).", NOTHING),
    ],
)
def test_the_column_that_every_recursive_rule_passes_on(rules: str, column: int) -> None:
    analysis = analysis_of(DECLARED + rules)
    assert passed_on(analysis.components[-1], analysis.relations) == column


def test_proofs_are_as_short_as_if_all_groups_grew_together() -> None:
    ring = 20
    links = [(at, (at + 1) % ring) for at in range(ring)]
    with whence.connect() as db:
        db.rules(DECLARED + "r(x, y) :- link(x, y). r(x, y) :- link(x, z), r(z, y).")
        db.insert("link", links + [(after, before) for before, after in links])
        deleted = db.delete("link", [(0, 1)])
        assert "r" not in deleted.deleted
        # The pairs for which the way over this link is no longer than half of the ring, and 0 to itself and back.
        assert deleted.metrics["dead"] <= sum(range(1, ring // 2 + 1)) + 1
