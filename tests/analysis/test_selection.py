"""A recursion that is only read through min or max keeps its best rows, and nothing that is seen of it changes."""

from __future__ import annotations

import random
from collections import Counter

import pytest

import whence

LINK = "CREATE TABLE link(src INT, dst INT, cost INT)"
ENDLESS = """
    SELECT src, dst, cost FROM link
    UNION SELECT p.src, l.dst, p.cost + l.cost FROM path p JOIN link l ON p.dst = l.src"""
LEAST = "SELECT src, dst, min(cost) AS cost FROM path GROUP BY src, dst"


def view(recursion: str, reader: str, columns: str = "src, dst, cost") -> str:
    return f"CREATE VIEW best AS WITH RECURSIVE path({columns}) AS ({recursion}) {reader}"


def is_selected(recursion: str, reader: str, columns: str = "src, dst, cost") -> bool:
    db = whence.connect()
    db.execute(LINK)
    db.execute(view(recursion, reader, columns))
    return "aggregate selection" in db.explain("best")


class TestCycles:
    """What had no end before."""

    @pytest.mark.parametrize("engine", ["local", "reference"])
    @pytest.mark.parametrize("union", ["UNION", "UNION ALL"])
    def test_the_least_cost_of_each_pair(self, engine: str, union: str) -> None:
        db = whence.connect(engine=engine)
        db.execute(LINK)
        db.execute(view(ENDLESS.replace("UNION", union), LEAST))
        db.insert("link", [(1, 2, 5), (2, 1, 1), (2, 3, 9), (1, 3, 20)])
        assert db.rows("best") == {(1, 1, 6), (1, 2, 5), (1, 3, 14), (2, 1, 1), (2, 2, 6), (2, 3, 9)}
        db.delete("link", [(2, 3, 9)])
        assert db.rows("best") == {(1, 1, 6), (1, 2, 5), (1, 3, 20), (2, 1, 1), (2, 2, 6), (2, 3, 21)}

    def test_explain_says_so(self) -> None:
        db = whence.connect()
        db.execute(LINK)
        db.execute(view(ENDLESS, LEAST))
        assert "aggregate selection: only min reads it, so it keeps the least cost for each src, dst" in db.explain(
            "best"
        )

    def test_the_answer_of_a_statement(self) -> None:
        db = whence.connect()
        db.execute(LINK)
        db.insert("link", [(1, 2, 5), (2, 1, 1)])
        db.execute("CREATE TABLE found(src INT, dst INT, cost INT)")
        db.execute(f"INSERT INTO found WITH RECURSIVE path(src, dst, cost) AS ({ENDLESS}) {LEAST}")
        assert db.rows("found") == {(1, 1, 6), (1, 2, 5), (2, 1, 1), (2, 2, 6)}

    def test_a_proof_goes_along_the_best_path(self) -> None:
        db = whence.connect()
        db.execute(LINK)
        db.execute(view(ENDLESS, LEAST))
        db.insert("link", [(1, 2, 5), (2, 1, 1), (2, 3, 9), (1, 3, 20)])
        proof = str(db.why("best", (1, 3, 14)))
        assert "link(1, 2, 5)" in proof
        assert "link(2, 3, 9)" in proof

    def test_a_cycle_that_gets_better_has_no_end(self) -> None:
        db = whence.connect()
        db.execute(LINK)
        db.execute(view(ENDLESS, LEAST))
        with pytest.raises(whence.ConvergenceError, match="does not come to an end"):
            db.insert("link", [(1, 2, 5), (2, 1, -6)])
        assert db.rows("best") == set()

    def test_it_is_the_same_after_opening_again(self, tmp_path: object) -> None:
        with whence.connect(str(tmp_path)) as db:
            db.execute(LINK)
            db.execute(view(ENDLESS, LEAST))
            db.insert("link", [(1, 2, 5), (2, 1, 1)])
        with whence.connect(str(tmp_path)) as db:
            db.insert("link", [(2, 2, 1)])
            assert db.rows("best") == {(1, 1, 6), (1, 2, 5), (2, 1, 1), (2, 2, 1)}
            assert "aggregate selection" in db.explain("best")


class TestDatalog:
    PROGRAM = """
        .decl link(x: number, y: number, c: number)
        path(x, y, c) :- link(x, y, c).
        path(x, y, c) :- path(x, z, a), path(z, y, b), c = a + b.
        best(x, y, min<c>) :- path(x, y, c).
    """

    def test_a_relation_that_is_no_output(self) -> None:
        db = whence.connect()
        db.rules(self.PROGRAM + ".output best")
        assert db.notices[-1] == (
            "'path' is no output and only min reads it, so it keeps the best rows alone, and is called 'best$path$min'"
        )
        db.insert("link", [(1, 2, 5), (2, 1, 1)])
        assert db.rows("best") == {(1, 1, 6), (1, 2, 5), (2, 1, 1), (2, 2, 6)}
        assert "best$path$min(x, y, min<c>) :- best$path$min(x, z, a), best$path$min(z, y, b), c = a + b." in (
            " ".join(db.explain("best").split())
        )
        with pytest.raises(whence.UnknownNameError, match="there is no relation 'path'"):
            db.rows("path")

    @pytest.mark.parametrize("output", ["", ".output best\n.output path"])
    def test_an_output_keeps_all_rows(self, output: str) -> None:
        db = whence.connect()
        db.rules(self.PROGRAM + output)
        db.insert("link", [(1, 2, 5), (1, 2, 7)])
        assert db.rows("path") == {(1, 2, 5), (1, 2, 7)}

    def test_relations_on_the_way_keep_the_best_rows_too(self) -> None:
        db = whence.connect()
        db.rules("""
            .decl link(x: number, y: number, c: number)
            even(x, y, c) :- odd(x, z, a), link(z, y, b), c = a + b.
            odd(x, y, c) :- link(x, y, c).
            odd(x, y, c + d) :- even(x, z, c), link(z, y, d).
            priced(x, y, 2 * c) :- even(x, y, c), x != y.
            top(x, m) :- link(x, _, _), m = min c : { priced(x, _, c) }.
            .output top
        """)
        db.insert("link", [(1, 2, 5), (2, 1, 1), (2, 3, 2), (3, 1, 4)])
        assert db.rows("top") == {(1, 14), (2, 12), (3, 18)}
        for hidden in ("even", "odd", "priced"):
            with pytest.raises(whence.UnknownNameError, match="there is no relation"):
                db.rows(hidden)


class TestWhatIsRead:
    @pytest.mark.parametrize(
        "reader",
        [
            LEAST,
            "SELECT min(cost) FROM path",
            "SELECT src, min(cost + 1) AS c, max(dst) AS far FROM path WHERE cost < 7 GROUP BY src",
            "SELECT src, max(10 - cost) AS c FROM path GROUP BY src",
            "SELECT l.src, min(p.cost + l.cost) AS c FROM link l JOIN path p ON p.src = l.dst GROUP BY l.src",
            "SELECT src, c FROM (SELECT src, min(cost) AS c FROM path GROUP BY src) WHERE c > 3",
            "SELECT src, min(c) AS c FROM (SELECT src, cost * 2 AS c FROM path) GROUP BY src",
            "SELECT l.src, (SELECT min(cost) FROM path p WHERE p.src = l.dst) AS c FROM link l",
            f"{LEAST} UNION ALL SELECT DISTINCT src, dst, 0 FROM path",
        ],
    )
    def test_it_is_selected(self, reader: str) -> None:
        assert is_selected(ENDLESS, reader)

    @pytest.mark.parametrize(
        "reader",
        [
            "SELECT src, dst, cost FROM path",
            "SELECT src, min(cost) AS a, max(cost) AS b FROM path GROUP BY src",
            "SELECT src, min(cost) AS a, count(*) AS n FROM path GROUP BY src",
            "SELECT src, min(cost) AS a, sum(dst) AS n FROM path GROUP BY src",
            "SELECT cost, min(cost) AS a FROM path GROUP BY cost",
            "SELECT src, min(cost) AS a FROM path WHERE cost > 3 GROUP BY src",
            "SELECT src, min(cost) AS a FROM path WHERE cost <> 3 GROUP BY src",
            "SELECT src, min(cost * src) AS a FROM path GROUP BY src",
            "SELECT src, min(abs(cost)) AS a FROM path GROUP BY src",
            "SELECT p.src, min(p.cost) AS a FROM path p JOIN link l ON l.cost = p.cost GROUP BY p.src",
            "SELECT src, min(cost) OVER (PARTITION BY src) AS a FROM path",
            "SELECT p.* FROM path p JOIN (SELECT min(cost) AS c FROM path) m ON m.c = p.cost",
            "SELECT src FROM link WHERE NOT EXISTS (SELECT * FROM path p WHERE p.src = link.src AND p.cost = 3)",
        ],
    )
    def test_it_is_left_alone(self, reader: str) -> None:
        assert not is_selected(ENDLESS, reader)

    @pytest.mark.parametrize(
        "step",
        [
            "SELECT p.src, l.dst, p.cost - l.cost FROM path p JOIN link l ON p.dst = l.src",
            "SELECT p.src, l.dst, p.cost + l.cost FROM path p JOIN link l ON p.dst = l.src WHERE p.cost < 9",
            "SELECT p.src, q.dst, p.cost + q.cost FROM path p JOIN path q ON p.dst = q.src",
            "SELECT p.src, l.dst, greatest(coalesce(l.cost, 0), 1) FROM path p JOIN link l ON p.dst = l.src",
        ],
    )
    def test_steps_that_follow(self, step: str) -> None:
        assert is_selected(f"SELECT src, dst, cost FROM link UNION {step}", LEAST)

    @pytest.mark.parametrize(
        "step",
        [
            "SELECT p.src, l.dst, l.cost - p.cost FROM path p JOIN link l ON p.dst = l.src",
            "SELECT p.src, l.dst, p.cost * l.cost FROM path p JOIN link l ON p.dst = l.src",
            "SELECT p.src, l.dst, p.cost + l.cost FROM path p JOIN link l ON p.dst = l.src WHERE p.cost > 9",
            "SELECT p.src, l.dst, p.cost + l.cost FROM path p JOIN link l ON p.cost = l.src",
            "SELECT p.src, p.cost, p.cost FROM path p JOIN link l ON p.dst = l.src",
        ],
    )
    def test_steps_that_do_not(self, step: str) -> None:
        assert not is_selected(f"SELECT src, dst, cost FROM link UNION {step}", LEAST)

    def test_a_view_that_can_be_seen_keeps_all_rows(self) -> None:
        db = whence.connect()
        db.execute(LINK)
        db.execute(f"CREATE VIEW path AS WITH RECURSIVE path(src, dst, cost) AS ({ENDLESS}) SELECT * FROM path")
        db.execute(f"CREATE VIEW best AS {LEAST}")
        db.insert("link", [(1, 2, 5), (1, 2, 7)])
        assert db.rows("path") == {(1, 2, 5), (1, 2, 7)}


RECURSIONS = {
    "linear": "SELECT p.src, l.dst, p.cost + l.cost FROM path p JOIN link l ON p.dst = l.src WHERE p.cost < 9",
    "non-linear": "SELECT p.src, q.dst, p.cost + q.cost FROM path p, path q "
    "WHERE p.dst = q.src AND p.cost + q.cost < 9",
    "smallest": "SELECT p.src, l.dst, least(p.cost, l.cost) FROM path p JOIN link l ON p.dst = l.src",
    "largest": "SELECT p.src, l.dst, greatest(p.cost, coalesce(l.cost, 0)) FROM path p, link l WHERE p.dst = l.src",
    "widened": "SELECT src, dst, CAST(cost AS BIGINT) FROM link UNION SELECT p.src, l.dst, l.cost FROM path p, link l "
    "WHERE p.dst = l.src",
}
READERS = [
    LEAST,
    "SELECT src, max(cost) AS c, min(dst) AS d FROM path GROUP BY src",
    "SELECT src, min(cost) AS c, max(dst) AS d FROM path WHERE cost <= 6 GROUP BY src",
    "SELECT dst, max(7 - cost) AS c FROM path WHERE src <> 2 GROUP BY dst",
    "SELECT l.src, min(p.cost + l.cost) AS c FROM link l JOIN path p ON p.src = l.dst GROUP BY l.src",
    "SELECT min(c) AS c FROM (SELECT src, cost * 2 AS c FROM path)",
    "SELECT l.src, (SELECT min(cost) FROM path p WHERE p.src = l.dst) AS c FROM link l",
    f"{LEAST} UNION ALL SELECT DISTINCT src, dst, 0 FROM path",
    "SELECT src, min(cost) AS c, count(*) AS n FROM path GROUP BY src",
]


@pytest.mark.parametrize("maintenance", ["auto", "dred"])
@pytest.mark.parametrize("recursion", RECURSIONS)
def test_it_means_the_same_under_random_changes(recursion: str, maintenance: str) -> None:
    """The oracle keeps every row of the recursion, in a view that can be seen."""
    chooser = random.Random(f"{recursion} {maintenance}")
    body = RECURSIONS[recursion]
    if "UNION" not in body:
        body = f"SELECT src, dst, cost FROM link UNION {body}"
    db, oracle = whence.connect(maintenance=maintenance), whence.connect(engine="reference")
    db.execute(LINK)
    oracle.execute(LINK)
    oracle.execute(f"CREATE VIEW path AS WITH RECURSIVE path(src, dst, cost) AS ({body}) SELECT * FROM path")
    for number, reader in enumerate(READERS):
        db.execute(f"CREATE VIEW v{number} AS WITH RECURSIVE path(src, dst, cost) AS ({body}) {reader}")
        oracle.execute(f"CREATE VIEW v{number} AS {reader}")
    selected = sum("aggregate selection" in db.explain(f"v{number}") for number in range(len(READERS)))
    assert 1 <= selected < len(READERS)
    there: list[tuple[int, int, int | None]] = []
    for _ in range(12):
        coming = [
            (chooser.randint(1, 4), chooser.randint(1, 4), chooser.choice([1, 2, 3, 5, 8, None]))
            for _ in range(chooser.randint(1, 3))
        ]
        going = chooser.sample(there, min(len(there), chooser.randint(0, 2)))
        for each in (db, oracle):
            with each.batch() as batch:
                batch.insert("link", coming)
                batch.delete("link", going)
        there = list((Counter(there) + Counter(coming) - Counter(going)).elements())
        for number in range(len(READERS)):
            rows = [
                Counter(map(tuple, map(dict.values, each.table(f"v{number}").to_pylist()))) for each in (db, oracle)
            ]
            assert rows[0] == rows[1], (READERS[number], sorted(there, key=str))
