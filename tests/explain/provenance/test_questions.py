"""Critical rows, cuts, probabilities and semirings as users ask for them, negation and aggregates included."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import whence
from tests.explain.proofs.helpers import exactly, session
from tests.explain.provenance.brute import World
from whence.database.database import Database
from whence.errors import DataError, TypeMismatchError, UnsupportedError

PROGRAMS = {
    "negation": """
        reach(x, y) :- link(x, y, _), !shut(y).
        reach(x, y) :- link(x, z, _), !shut(z), reach(z, y).
        cut(x) :- node(x), !reach(0, x).
        island(x) :- node(x), !linked(x).
        linked(x) :- link(x, _, _), !shut(x).
    """,
    "aggregates": """
        degree(x, count<*>) :- link(x, _, _).
        total(x, sum<c>) :- link(x, _, c).
        nearest(x, min<c>) :- link(x, _, c), !shut(x).
        busy(x) :- degree(x, n), n > 1.
        cheap(x) :- nearest(x, c), c < 2.
        all_in_all(count<*>, max<c>) :- link(_, _, c).
    """,
    "ways": """
        way(x, y, min<c>) :- link(x, y, c).
        way(x, y, min<greatest(c, d)>) :- link(x, z, c), way(z, y, d).
        ends(x, y) :- way(x, y, c), c < 2.
    """,
    "differences": """
        .decl more(x: number) bag
        more(x) :- link(x, _, _).
        -more(x) :- link(_, x, _).
        left(x) :- more(x), !shut(x).
    """,
}
Rows = set[tuple[int, ...]]
NODE = st.integers(0, 2)
LINKS = st.sets(st.tuples(NODE, NODE, st.integers(0, 3)), max_size=5)
NODES = st.sets(st.tuples(NODE), max_size=2)


def database(program: str, link: Rows, node: Rows, shut: Rows) -> Database:
    db = whence.connect()
    db.execute("CREATE TABLE link(a INT NOT NULL, b INT NOT NULL, c INT NOT NULL);")
    db.execute("CREATE TABLE node(a INT NOT NULL); CREATE TABLE shut(a INT NOT NULL)")
    db.rules(PROGRAMS[program])
    with db.batch() as batch:
        for name, rows in (("link", link), ("node", node), ("shut", shut)):
            batch.insert(name, sorted(rows))
    return db


@pytest.mark.parametrize("program", PROGRAMS)
@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
@given(link=LINKS, node=NODES, shut=NODES, data=st.data())
def test_what_is_told_is_what_trying_gives(
    program: str, link: Rows, node: Rows, shut: Rows, data: st.DataObject
) -> None:
    with database(program, link, node, shut) as db:
        inside = session(db)
        tables = {name: dict(inside.engine.counts(name)) for name in ("link", "node", "shut")}
        world = World(inside.definitions.analysis, tables, {})
        for view in sorted(db.catalog().views):
            for row in sorted(db.rows(view), key=repr)[:4]:
                asked = exactly(db, view, row)
                assert db.critical(view, asked) == world.critical((view, row))
                smallest = world.smallest_cut((view, row))
                if smallest is None:
                    with pytest.raises(UnsupportedError, match=r"was not found in time|is there without any base row"):
                        db.cut(view, asked)
                else:
                    cut = db.cut(view, asked)
                    assert len(cut) == smallest and not world.holds((view, row), set(world.facts) - cut)
                uncertain = (
                    data.draw(st.lists(st.sampled_from(world.facts), unique=True, max_size=4)) if world.facts else []
                )
                chances: dict[str, dict[object, float]] = {}
                for fact in uncertain:
                    chances.setdefault(fact[0], {})[fact[1]] = 0.25
                found = db.probability(view, asked, chances)
                assert found.exact
                assert found.value == pytest.approx(world.probability((view, row), dict.fromkeys(uncertain, 0.25)))


def grid(size: int) -> list[tuple[int, int]]:
    """A square of nodes, with links to the right and down."""
    at = [(row, column) for row in range(size) for column in range(size)]
    right = [(size * row + column, size * row + column + 1) for row, column in at if column + 1 < size]
    return right + [(size * row + column, size * (row + 1) + column) for row, column in at if row + 1 < size]


def reach(rules: str, links: Sequence[tuple[int, int]]) -> Database:
    db = whence.connect()
    db.execute("CREATE TABLE link(a INT NOT NULL, b INT NOT NULL)")
    db.rules(rules)
    db.insert("link", links)
    return db


LINEAR = "reach(x, y) :- link(x, y). reach(x, y) :- link(x, z), reach(z, y)."
TWICE = "reach(x, y) :- link(x, y). reach(x, y) :- reach(x, z), reach(z, y)."


@pytest.mark.parametrize("rules", [LINEAR, TWICE])
def test_a_grid(rules: str) -> None:
    with reach(rules, grid(4)) as db:
        supports = db.why("reach", (0, 15)).supports(all=True)
        assert {len(support) for support in supports} == {6} and len(supports) == 20
        assert db.critical("reach", (0, 15)) == set()
        assert len(db.cut("reach", (0, 15))) == 2
        assert db.critical("reach", (0, 1)) == {("link", (0, 1))}


def test_many_supports_are_cut_short_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whence.explain.provenance.provenance.TRIES", 2_000)
    with reach(LINEAR, grid(9)) as db:
        supports = db.why("reach", (0, 80)).supports(all=True)
        assert not supports.complete
        assert all(len(support) == 16 for support in supports)


def test_a_sampled_probability_says_how_far_off_it_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    with reach(LINEAR, grid(3)) as db:
        exact = db.probability("reach", (0, 8), {"link": 0.5})
        for limit in ("_FEW_NODES", "_MOST_NODES"):
            monkeypatch.setattr(f"whence.explain.provenance.probability.{limit}", 1)
        monkeypatch.setattr("whence.explain.provenance.probability._SAMPLES", 3_000)
        sampled = db.probability("reach", (0, 8), {"link": 0.5})
        assert exact.exact and not sampled.exact
        assert sampled.low <= exact.value <= sampled.high
        assert sampled.high - sampled.low < 0.07
        assert "between" in str(sampled) and str(exact) == f"{exact.value:.6g}"


def test_semirings_by_name() -> None:
    with reach(LINEAR, [(1, 2), (2, 3), (1, 3), (3, 1)]) as db:
        row = (1, 3)
        direct, detour = ("link", (1, 3)), frozenset({("link", (1, 2)), ("link", (2, 3))})
        assert db.evaluate("reach", "posbool", row=row) == {row: frozenset({frozenset({direct}), detour})}
        assert db.evaluate("reach", "lineage", row=row) == {row: frozenset({direct, ("link", (3, 1)), *detour})}
        levels = {(1, 2): "secret", (2, 3): "public", (1, 3): "top secret", (3, 1): "public"}
        assert db.evaluate("reach", "security", {"link": levels}, row=row) == {row: "secret"}
        assert db.evaluate("reach", "boolean", {"link": {(1, 3): False, (1, 2): False}}, row=row) == {row: False}
        assert db.evaluate("reach", "viterbi", {"link": {(1, 3): 0.25, (2, 3): 0.5}}, row=row) == {row: 0.5}
    with reach("two(x, y) :- link(x, z), link(z, y).", [(1, 2), (2, 3), (1, 4), (4, 3), (3, 3)]) as db:
        assert db.evaluate("two", "counting", row=(1, 3)) == {(1, 3): 2}
        assert db.evaluate("two", "counting", {"link": {(1, 2): 3}}, row=(1, 3)) == {(1, 3): 4}
        assert str(db.evaluate("two", "how", row=(3, 3))[3, 3]) == "link(3, 3)²"
        assert db.evaluate("two", "why", row=(3, 3)) == {(3, 3): frozenset({frozenset({("link", (3, 3))})})}


def test_questions_that_are_refused_in_words() -> None:
    db = database("aggregates", {(0, 1, 1)}, set(), set())
    with pytest.raises(DataError, match=r"a probability is a number from 0 to 1, not 1.5, for link\(0, 1, 1\)"):
        db.probability("degree", (0, 1), {"link": {(0, 1, 1): 1.5}})
    with pytest.raises(DataError, match=r"link\(5, 5, 5\) is not there"):
        db.probability("degree", (0, 1), {"link": {(5, 5, 5): 0.5}})
    with pytest.raises(DataError, match="'degree' is a view"):
        db.probability("degree", (0, 1), {"degree": 0.5})
    with pytest.raises(TypeMismatchError, match=r"values for base rows come as a dict of tables, not as 0\.5"):
        db.probability("degree", (0, 1), 0.5)
    with pytest.raises(UnsupportedError, match="there is no semiring 'viterby'\nhint: did you mean 'viterbi'"):
        db.evaluate("degree", "viterby")
    with pytest.raises(UnsupportedError, match="counts of degree have no meaning: it aggregates"):
        db.evaluate("degree", "counting")
    with pytest.raises(UnsupportedError, match="base rows stand for themselves in the semiring 'why'"):
        db.evaluate("degree", "why", {"link": 1})
    with pytest.raises(DataError, match="a cost is a number of zero or more, not -1, for link"):
        db.evaluate("degree", "tropical", {"link": -1})
    with pytest.raises(DataError, match="there is no security level 'cosmic', for link"):
        db.evaluate("degree", "security", {"link": "cosmic"})
    with pytest.raises(DataError, match="annotated with True or False, not 1, for link"):
        db.evaluate("degree", "boolean", {"link": 1})
    assert db.evaluate("busy", "boolean") == {}
    differences = database("differences", {(0, 1, 1)}, set(), set())
    with pytest.raises(UnsupportedError, match="more has rules that take rows away"):
        differences.evaluate("more", "counting")


def test_what_was_not_looked_at_is_no_support(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whence.explain.provenance.provenance.DERIVATIONS", 20)
    with reach(LINEAR, grid(4)) as db:
        supports = db.why("reach", (0, 15)).supports()
        assert supports and not supports.complete
        assert all(relation == "link" for support in supports for relation, _ in support)
        assert db.critical("reach", (0, 15)) == set()
        assert db.probability("reach", (0, 1), {"link": {(0, 1): 0.5}}).value == 0.5
        with pytest.raises(UnsupportedError, match=r"reach\(0, 15\) has too many derivations for a formula"):
            db.why("reach", (0, 15)).formula()


def test_trying_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whence.database.why._MOST_TRIES", 1)
    db = database("aggregates", {(0, 1, 1), (0, 2, 2)}, set(), set())
    with pytest.raises(UnsupportedError, match=r"was not told in time: 1 of 2 base rows were tried"):
        db.critical("degree", (0, 2))
