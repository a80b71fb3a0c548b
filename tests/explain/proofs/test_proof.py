"""Proofs as users see them: the text, its labels, JSON, DOT and the picture; and what is said when there is none."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import whence
from tests.explain.proofs.helpers import check
from whence.database.database import Database
from whence.errors import DataError, StateError, UnknownNameError, UnsupportedError

RULES = """
reachable(x, y) :- link(x, y).
reachable(x, y) :- link(x, z), reachable(z, y).
lonely(x) :- node(x), !reachable(x, _).
degree(x, count<*>) :- link(x, _).
"""


@pytest.fixture
def db() -> Database:
    db = whence.connect()
    db.execute("CREATE TABLE link(src STRING, dst STRING); CREATE TABLE node(name STRING)")
    db.rules(RULES, name="net.dl")
    db.insert("link", [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")])
    db.insert("node", [("a",), ("d",)])
    return db


def test_the_text_is_a_tree_in_the_words_of_the_rules(db: Database) -> None:
    assert str(db.why("reachable", ("a", "c"))) == (
        "reachable('a', 'c')\n"
        "│  by reachable(x, y) :- link(x, z), reachable(z, y).   [net.dl:3:1]\n"
        "├─ link('a', 'b')\n"
        "└─ reachable('b', 'c')\n"
        "   │  by reachable(x, y) :- link(x, y).   [net.dl:2:1]\n"
        "   └─ link('b', 'c')"
    )


def test_negation_and_aggregates(db: Database) -> None:
    assert str(db.why("lonely", ("d",))) == (
        "lonely('d')\n"
        "│  by lonely(x) :- node(x), !reachable(x, _).   [net.dl:4:1]\n"
        "├─ node('d')\n"
        "└─ absent: reachable('d', _)"
    )
    assert str(db.why("degree", ("c", None))) == (
        "degree('c', 2)\n│  of degree(x, count<*>) :- link(x, _).   [net.dl:5:1]\n├─ link('c', 'a')\n└─ link('c', 'd')"
    )


def test_a_row_of_a_table_is_its_own_proof(db: Database) -> None:
    proof = db.why("link", ("a", "b"))
    assert str(proof) == "link('a', 'b')\n└─ a row of the table: it was inserted"
    assert (proof.root.kind, proof.root.children) == ("base", [])
    assert proof.supports() == [frozenset({("link", ("a", "b"))})]
    assert db.critical("link", ("a", "b")) == db.cut("link", ("a", "b")) == {("link", ("a", "b"))}


def test_sql_is_shown_as_it_was_written() -> None:
    db = whence.connect()
    db.execute("CREATE TABLE t(k STRING, n INT); CREATE TABLE gone(k STRING)")
    db.execute(
        "CREATE VIEW big AS SELECT k, sum(n) AS total FROM t WHERE n > 0 GROUP BY k HAVING sum(n) > 5;\n"
        "CREATE VIEW kept AS SELECT k FROM t LEFT JOIN gone USING (k) WHERE k NOT IN (SELECT k FROM gone)",
        name="views.sql",
    )
    db.insert("t", [("x", 4), ("x", 3), ("x", -1)])
    assert str(db.why("big", ("x", 7))) == (
        "big('x', 7)\n"
        "│  of SELECT k, sum(n) AS total FROM t WHERE n > 0 GROUP BY k HAVING sum(n) > 5   [views.sql:1:27]\n"
        "├─ t('x', 4)\n"
        "└─ t('x', 3)"
    )
    text = str(db.why("kept", ("x",)))
    assert "$" not in text
    assert "holds: k NOT IN (SELECT k FROM gone)" in text


def test_a_recursive_cte_goes_by_its_name() -> None:
    db = whence.connect()
    db.execute(
        "CREATE TABLE link(src STRING NOT NULL, dst STRING NOT NULL);"
        "CREATE VIEW fan AS WITH RECURSIVE way(src, dst) AS (SELECT src, dst FROM link UNION"
        " SELECT l.src, w.dst FROM link l JOIN way w ON l.dst = w.src) SELECT src, count(*) AS n FROM way GROUP BY src"
    )
    db.insert("link", [("a", "b"), ("b", "c")])
    proof = db.why("fan", ("a", 2))
    assert [step.relation for step in proof.root.children] == ["way", "way"]
    check(db, proof)


def test_deep_proofs_are_opened_by_label(db: Database) -> None:
    db.insert("link", [(f"n{at}", f"n{at + 1}") for at in range(20)])
    proof = db.why("reachable", ("n0", "n20"))
    short = proof.text(depth=2)
    label = re.findall(r'at="([\d.]+)"', short)[0]
    assert label == "1.2.2"
    assert proof.text(at=label).startswith("reachable('n2', 'n20')")
    assert proof.text(depth=None).count("link(") > 20
    assert proof.step("1.2.1").fact == ("link", ("n1", "n2"))
    for wrong in ("2", "1.9", "x", ""):
        with pytest.raises(UnknownNameError, match="this proof has no step"):
            proof.text(at=wrong)


def test_what_was_shown_is_not_shown_again() -> None:
    db = whence.connect()
    db.rules("p(x) :- e(x). q(x) :- p(x). r(x) :- p(x), q(x). e(1).")
    proof = db.why("r", (1,))
    again = proof.step("1.2.1")
    assert (again.kind, again.again_at) == ("again", proof.step("1.1"))
    assert "as shown at 1.1" in str(proof)
    assert proof.json()["roots"][0]["children"][1]["children"][0]["again"] == "1.1"


def test_a_bag_shows_all_derivations_of_a_row_that_is_there_often() -> None:
    db = whence.connect()
    db.execute("CREATE TABLE t(a INT, b INT); CREATE VIEW u AS SELECT a AS x FROM t UNION ALL SELECT b FROM t")
    db.insert("t", [(1, 1), (1, 2), (1, 2)])
    proof = db.why("u", (1,))
    assert (proof.root.kind, proof.root.count, len(proof.root.children)) == ("sum", 4, 3)
    assert str(proof).splitlines()[0] == "u(1)   4 copies"
    check(db, proof)


def test_rules_that_take_away() -> None:
    db = whence.connect()
    db.rules(".decl d(x: INT) bag\nd(x) :- a(x). -d(x) :- b(x). a(1). a(2). b(2).")
    proof = db.why("d", (1,))
    check(db, proof)
    assert db.critical("d", (1,)) == {("a", (1,))}


def test_json_has_the_tree(db: Database) -> None:
    data = json.loads(json.dumps(db.why("reachable", ("a", "c")).json()))
    assert (data["relation"], data["complete"]) == ("reachable", True)
    root = data["roots"][0]
    assert root["row"] == ["a", "c"] and root["kind"] == "rule" and root["place"] == "net.dl:3:1"
    assert [child["label"] for child in root["children"]] == ["1.1", "1.2"]
    assert not root["cut"]


def test_json_of_a_long_chain_is_cut_and_opened(db: Database) -> None:
    db.insert("link", [(f"n{at}", f"n{at + 1}") for at in range(300)])
    proof = db.why("reachable", ("n0", "n300"))
    text = json.dumps(proof.json())
    label = re.findall(r'"label": "([\d.]+)"[^}]*"children": \[\], "cut": true', text)[0]
    assert proof.json(at=label)["roots"][0]["label"] == label


def test_pictures(db: Database) -> None:
    db.rules('odd(x) :- node(x), x != "<&>\\"".')
    db.insert("node", [('it\'s "<b>"',)])
    for view in ("reachable", "lonely", "odd", "degree"):
        proof = db.why(view, {})
        picture = ElementTree.fromstring(proof.svg())  # noqa: S314 - it was just made
        assert picture.tag.endswith("svg")
        assert len(picture.findall(".//{*}rect")) > len(proof.roots)
        assert proof.dot().startswith("digraph proof {") and proof.dot().rstrip().endswith("}")


def test_partly_bound_questions(db: Database) -> None:
    proof = db.why("reachable", ("a", None))
    assert {step.row for step in proof.roots} == {("a", each) for each in "abcd"}
    assert proof.complete
    assert db.why("reachable", {"y": "d"}).facts[0][1][1] == "d"
    db.insert("link", [("z", f"n{at}") for at in range(50)])
    many = db.why("reachable", ("z", None))
    assert len(many.roots) == 10 and not many.complete
    assert str(many).endswith("... more rows of reachable match: these are the first 10")


def test_a_row_with_null_is_meant_if_it_is_there() -> None:
    db = whence.connect()
    db.execute("CREATE TABLE t(a INT, b INT)")
    db.insert("t", [(1, None), (1, 2)])
    assert db.why("t", (1, None)).facts == (("t", (1, None)),)
    assert db.why("t", {"a": 1}).facts == (("t", (1, None)),)
    assert db.why("t", (None, 2)).facts == (("t", (1, 2)),)


def test_members_beyond_the_limit_are_told() -> None:
    db = whence.connect()
    db.execute("CREATE TABLE t(a INT); CREATE VIEW n AS SELECT count(*) AS n FROM t")
    db.insert("t", [(at,) for at in range(2_000)])
    proof = db.why("n", (2_000,))
    assert not proof.complete and len(proof.root.children) == 1_000
    assert "... 980 more: text(at=...) opens each, to 1.1000" in str(proof)
    assert "... and more that were not looked for: a limit was reached" in str(proof)
    assert proof.json()["roots"][0]["cut"]


def test_errors_in_words(db: Database) -> None:
    with pytest.raises(DataError, match=r"^reachable\('d', 'a'\) is not there\nhint: db.why_not\('reachable', ...\)"):
        db.why("reachable", ("d", "a"))
    with pytest.raises(DataError, match=r"^reachable\('d', _\) is not there"):
        db.why("reachable", ("d", None))
    with pytest.raises(UnknownNameError, match="there is no relation 'reachabel'\nhint: did you mean 'reachable'"):
        db.why("reachabel", ("d", "a"))
    with pytest.raises(
        DataError, match=r"'reachable' has columns 'x', 'y', and the row asked about has 1 value: \('a',\)"
    ):
        db.why("reachable", ("a",))
    with pytest.raises(DataError, match=r"column 'x' is STRING, and 1 does not fit.*in the row asked about"):
        db.why("reachable", (1, "a"))
    with pytest.raises(DataError, match="'reachable' has no column 'z', which is in the row asked about"):
        db.why("reachable", {"z": "a"})
    with pytest.raises(DataError, match="a row of 'reachable' is a tuple or a dict, not 'a'"):
        db.why("reachable", "a")
    with pytest.raises(DataError, match=r"several rows of 'reachable' match, and this question is about one"):
        db.critical("reachable", ("a", None))


def test_a_proof_of_yesterday_has_no_supports(db: Database) -> None:
    proof = db.why("reachable", ("a", "c"))
    before = str(proof)
    db.delete("link", [("a", "b")])
    assert str(proof) == before
    with pytest.raises(StateError, match=r"the database has changed since reachable\('a', 'c'\) was proved"):
        proof.supports()


def test_views_that_wait_for_a_function_say_so(tmp_path: object) -> None:
    with whence.connect(str(tmp_path)) as db:
        db.function("twice", lambda x: 2 * x, returns="BIGINT")
        db.execute("CREATE TABLE t(a BIGINT); CREATE VIEW v AS SELECT twice(a) AS b FROM t")
        db.insert("t", [(1,)])
        check(db, db.why("v", (2,)))
    with whence.connect(str(tmp_path)) as db, pytest.raises(StateError, match="calls function 'twice'"):
        db.why("v", (2,))


def test_the_formula_and_when_it_is_too_long(db: Database) -> None:
    assert db.why("reachable", ("a", "c")).formula() == "link('a', 'b') ∧ link('b', 'c')"
    assert db.why("lonely", ("d",)).formula() == "node('d') ∧ ¬reachable('d', _)"
    db.insert("link", [(f"s{at}", f"s{to}") for at in range(8) for to in range(8) if at != to])
    proof = db.why("reachable", ("s0", "s7"))
    with pytest.raises(UnsupportedError, match="is too long to be read: it has more than 100 minimal supports"):
        proof.formula()
    first = proof.supports(limit=7)
    assert [len(support) for support in first] == [1, 2, 2, 2, 2, 2, 2]
    assert first.complete


def test_the_reference_engine_answers_too() -> None:
    db = whence.connect(engine="reference")
    db.rules("p(x, y) :- e(x, y). p(x, y) :- p(x, z), p(z, y). e(1, 2). e(2, 1).")
    check(db, db.why("p", (1, 1)))
    db.delete("e", [(2, 1)])
    with pytest.raises(DataError, match=r"p\(1, 1\) is not there"):
        db.why("p", (1, 1))


def test_the_picture_in_the_documentation_is_what_comes_out() -> None:
    docs = Path(__file__).parents[3] / "docs"
    first = re.findall(r"```python\n(.*?)```", (docs / "why.md").read_text(), re.DOTALL)[0]
    names: dict[str, Any] = {}
    exec(first, names)  # noqa: S102 - the project's own documentation
    picture = docs / "images" / "why.svg"
    assert names["db"].why("open", ("a", "d")).svg() == picture.read_text(), f"{picture.name} is of an earlier day"


def test_what_a_search_left_aside_is_taken_up_by_the_next() -> None:
    """A proof of the first member is found before all is opened that the second one needs."""
    with whence.connect(maintenance="dred") as db:
        db.rules("""
            .decl link(x: number, y: number)
            .decl watched(x: number)
            r(x, y) :- link(x, y).
            r(y, x) :- r(x, y).
            r(x, 3) :- r(x, y), watched(y).
            degree(x, n) :- watched(x), n = count : { r(x, _) }.
        """)
        db.insert("link", [(3, 4), (2, 4)])
        db.insert("watched", [(4,), (2,)])
        assert db.why("degree", (4, 2)).complete
