"""What the state machines found, cut down. Every case is played in all strategies, against the reference engine."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.engines.local.machine_actions import Action, Changes, Delete, Insert, Row, Rules, Sql
from tests.engines.local.machine_twins import SMALL, Twins, local_databases

COSTS = ".decl link(x: INT, y: INT, c: {0})\n.decl start(x: INT, c: {0})\n"
BETTER = [(9, 1, -50), (9, 2, -50), (9, 3, -50), (0, 1, 2), (0, 2, 5), (2, 1, -4), (1, 3, 1)]


@dataclass(frozen=True)
class Case:
    name: str
    actions: tuple[Action, ...]


def insert(table: str, *rows: Row) -> Changes:
    return Changes((Insert(table, rows),))


def delete(table: str, *rows: Row) -> Changes:
    return Changes((Delete(table, rows),))


def costs(kind: str, step: str, body: str = "link(x, y, c), r(x, d)") -> Rules:
    function = step.partition("<")[0]
    return Rules(COSTS.format(kind) + f"r(x, {function}<c>) :- start(x, c). r(y, {step}) :- {body}.")


CASES = (
    Case(
        "recursion over relations without columns",
        (
            Rules(".decl e(x: INT, y: INT)\n.decl flag()\np() :- flag(). p() :- p(), e(_, _). q(x) :- e(x, _), p()."),
            insert("flag", ()),
            insert("e", (1, 2)),
            delete("flag", ()),
        ),
    ),
    Case(
        "the feed of a view that was empty when it was replaced",
        (
            Sql("CREATE TABLE t(x INT NOT NULL)"),
            Sql("CREATE VIEW v AS SELECT x FROM t WHERE x > 100"),
            insert("t", (1,), (2,)),
            Sql("CREATE OR REPLACE VIEW v AS SELECT x FROM t"),
            insert("t", (3,)),
            delete("t", (1,)),
        ),
    ),
    Case(
        "a recursive view that another one reads",
        (
            Rules(
                ".decl e(x: INT, y: INT)\nreach(x, y) :- e(x, y). reach(x, y) :- reach(x, z), e(z, y)."
                " back(y) :- reach(x, y), x > y."
            ),
            insert("e", (9, 7)),
            insert("e", (7, 8)),
            delete("e", (9, 7)),
        ),
    ),
    Case(
        "a best value that comes from below and only its presence from the recursion",
        (
            costs("INT", "min<c>", "link(x, y, c), r(x, _)"),
            insert("start", (1, 9)),
            insert("link", (1, 2, 3), (2, 1, 4)),
            delete("start", (1, 9)),
        ),
    ),
    Case(
        "the least of a path",
        (
            costs("INT", "min<least(c, d)>"),
            insert("start", (1, 9)),
            insert("link", (1, 2, 3), (2, 1, 4)),
            delete("start", (1, 9)),
        ),
    ),
    Case(
        "a value that improves itself after a delete",
        (
            costs("INT", "min<least(c, d)>"),
            insert("link", (3, 4, 3), (4, 4, 1)),
            insert("start", (3, 0), (4, 2)),
            delete("link", (3, 4, 3)),
        ),
    ),
    *[
        Case(
            f"a cost beyond {kind} after a delete",
            (
                costs(kind, step),
                insert("start", (0, least), (0, large)),
                insert("link", (0, 1, 10), (1, 2, 1)),
                delete("start", (0, least)),
            ),
        )
        for kind, step, least, large in (
            ("INT", "min<c + d>", 0, 2**31 - 5),
            ("BIGINT", "min<c + d>", 0, 2**63 - 5),
            ("DOUBLE", "min<c * d>", 1.0, 1e308),
        )
    ],
    Case(
        "costs below zero without a cycle",
        (
            costs("INT", "min<c + d>"),
            insert("start", (0, 0), (9, 0)),
            insert("link", *BETTER),
            delete("start", (9, 0)),
        ),
    ),
    Case(
        "the longest path without a cycle",
        (
            costs("INT", "max<c + d>"),
            insert("start", (0, 0), (9, 0)),
            insert("link", *[(x, y, abs(c)) for x, y, c in BETTER]),
            delete("start", (9, 0)),
        ),
    ),
    Case(
        "a NULL that gives its own group a better value",
        (
            Rules(
                ".decl link(x: INT, y: INT, c: INT nullable)\nr(x, y, max<c>) :- link(x, y, c)."
                " r(x, y, max<least(c, d)>) :- r(x, z, c), r(z, y, d)."
            ),
            insert("link", (1, 1, 1)),
            insert("link", (2, 1, None)),
            delete("link", (2, 1, None)),
        ),
    ),
    Case(
        "a condition that fails for a row that never followed by its rule",
        (
            Rules(".decl e(x: INT, y: INT)\nv(x, y) :- e(x, y). v(x, y) :- v(x, z), v(z, y), 4 / (x + y - 3) != 1."),
            insert("e", (0, 3), (1, 1), (1, 0)),
            delete("e", (0, 3)),
        ),
    ),
    Case("a large BIGINT", (costs("BIGINT", "min<c + d>"), insert("start", (0, 2**62 + 10)))),
    Case(
        "a product beyond BIGINT",
        (costs("BIGINT", "min<c * d>"), insert("start", (0, 2**40)), insert("link", (0, 1, 2**40))),
    ),
    Case(
        "a product beyond DOUBLE",
        (costs("DOUBLE", "min<c * d>"), insert("start", (0, 1e300)), insert("link", (0, 1, 1e300))),
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_found(case: Case) -> None:
    twins = Twins(local_databases(SMALL))
    for action in case.actions:
        twins.act(action)
    twins.check_everything()
