"""A recursion that is only asked for some rows computes those, and nothing that is seen of it changes."""

from __future__ import annotations

from random import Random

import pytest

import whence
from tests.explain.proofs.helpers import check, exactly

LINKS = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("x", "y"), ("y", "z")]
LEFT = "SELECT src, dst FROM link UNION SELECT r.src, l.dst FROM r JOIN link l ON r.dst = l.src"
RIGHT = "SELECT src, dst FROM link UNION SELECT l.src, r.dst FROM link l JOIN r ON l.dst = r.src"
REACH = "r(x, y) :- link(x, y). r(x, y) :- r(x, z), link(z, y). "


def with_view(query: str, recursion: str = LEFT, engine: str = "local") -> whence.Database:
    db = whence.connect(engine=engine)
    db.execute("CREATE TABLE link(src STRING, dst STRING); CREATE TABLE watched(name STRING)")
    db.insert("link", LINKS)
    db.execute(f"CREATE VIEW v AS WITH RECURSIVE r(src, dst) AS ({recursion}) {query}")
    return db


def with_rules(text: str, output: str = "v") -> whence.Database:
    db = whence.connect()
    outputs = "".join(f".output {name}\n" for name in output.split())
    db.rules(f".decl link(src: symbol, dst: symbol)\n.decl watched(name: symbol)\n{text}\n{outputs}")
    db.insert("link", LINKS)
    return db


def is_asked(db: whence.Database, view: str = "v") -> bool:
    return "magic sets" in db.explain(view)


def is_asked_by(query: str, recursion: str = LEFT) -> bool:
    return is_asked(with_view(query, recursion))


class TestWhatIsComputed:
    def test_the_rows_of_one_source(self) -> None:
        db = with_view("SELECT dst FROM r WHERE src = 'a'")
        assert db.rows("v") == {("a",), ("b",), ("c",), ("d",)}
        assert "magic sets: it is only read by src, so it has the rows that are asked for" in db.explain("v")
        assert "reads v$r$bf (4 rows)" in db.explain("v")

    def test_the_sources_that_one_leads_to(self) -> None:
        db = with_view("SELECT dst FROM r WHERE src = 'x'", RIGHT)
        assert db.rows("v") == {("y",), ("z",)}
        assert "reads v$r$bf (3 rows)" in db.explain("v")

    def test_what_a_table_asks_for(self) -> None:
        db = with_view("SELECT r.src, dst FROM watched JOIN r ON r.src = watched.name")
        assert "reads watched (0 rows), v$r$bf (0 rows)" in db.explain("v")
        db.insert("watched", [("x",)])
        assert db.rows("v") == {("x", "y"), ("x", "z")}
        db.insert("watched", [("y",)])
        db.delete("watched", [("x",)])
        assert db.rows("v") == {("y", "z")}
        assert "reads watched (1 row), v$r$bf (1 row)" in db.explain("v")

    def test_two_views_by_two_columns(self) -> None:
        db = with_rules(REACH + 'v(y) :- r("y", y). w(x) :- r(x, "z").', "v w")
        assert db.rows("v") == {("z",)}
        assert db.rows("w") == {("x",), ("y",)}
        assert "reads v$r$bf (1 row)" in db.explain("v")
        # From x to z over y.
        assert "reads v$r$fb (3 rows)" in db.explain("w")

    def test_what_is_read_by_more_columns_is_there_by_fewer(self) -> None:
        db = with_rules(REACH + 'v(y) :- r("x", y). w(1) :- r("x", "z").', "v w")
        assert db.rows("w") == {(1,)}
        assert "reads v$r$bf (2 rows)" in db.explain("w")

    def test_recursions_on_recursions(self) -> None:
        far = "far(x, y) :- r(x, y), watched(y). far(x, y) :- far(x, z), r(z, y), watched(y)."
        db = with_rules(REACH + far + 'v(y) :- far("x", y).')
        db.insert("watched", [("y",), ("z",), ("b",)])
        assert db.rows("v") == {("y",), ("z",)}
        assert "v$far$bf(x, y) :- v$far$bf$magic(x), v$r$bf(x, y), watched(y)." in db.explain("v")

    def test_levels(self) -> None:
        db = with_view("SELECT dst FROM r WHERE src = 'x'", LEFT.replace("UNION", "UNION ALL"))
        # Around the cycle of a, b and c there is no end, and nobody asks for it.
        assert sorted(db.rows("v")) == [("y",), ("z",)]
        db.insert("link", [("x", "z")])
        assert db.table("v").num_rows == 3

    def test_the_best_rows(self) -> None:
        db = whence.connect()
        db.rules("""
            .decl road(x: symbol, y: symbol, km: number)
            path(x, y, km) :- road(x, y, km).
            path(x, y, a + b) :- path(x, z, a), road(z, y, b).
            best(x, y, min<km>) :- path(x, y, km).
            v(y, km) :- best("a", y, km).
            .output v
        """)
        db.insert("road", [("a", "b", 3), ("b", "a", 1), ("b", "c", 2), ("a", "c", 9)])
        assert db.rows("v") == {("a", 4), ("b", 3), ("c", 5)}
        assert "why" not in str(db.why("v", ("c", 5)))
        assert "$" not in str(db.why("v", ("c", 5)))

    def test_it_is_the_same_after_opening_again(self, tmp_path: object) -> None:
        with whence.connect(str(tmp_path)) as db:
            db.rules(f'.decl link(src: symbol, dst: symbol)\n{REACH} v(y) :- r("a", y).\n.output v')
            db.insert("link", [("a", "b")])
        with whence.connect(str(tmp_path)) as db:
            assert is_asked(db)
            db.insert("link", [("b", "c")])
            assert db.rows("v") == {("b",), ("c",)}
            assert "$" not in str(db.why("v", ("c",)))

    def test_the_answer_of_a_statement(self) -> None:
        db = with_view("SELECT 1", "SELECT 'a', 'a' UNION SELECT src, dst FROM r")
        db.execute(f"INSERT INTO watched WITH RECURSIVE r(src, dst) AS ({LEFT}) SELECT dst FROM r WHERE src = 'x'")
        assert db.rows("watched") == {("y",), ("z",)}


class TestWhatIsAsked:
    @pytest.mark.parametrize(
        "query",
        [
            "SELECT dst FROM r WHERE 'a' = src",
            "SELECT count(*) FROM r WHERE src = 'a'",
            "SELECT dst FROM (SELECT src, dst FROM r) q WHERE src = 'a'",
            "SELECT name FROM watched WHERE NOT EXISTS (SELECT * FROM r WHERE src = 'a' AND dst = name)",
            "SELECT name FROM watched WHERE name IN (SELECT dst FROM r WHERE src = 'a')",
            "SELECT a.dst FROM r a JOIN r b ON a.dst = b.src WHERE a.src = 'a' AND b.src = 'b'",
        ],
    )
    def test_columns_that_are_told(self, query: str) -> None:
        assert is_asked_by(query)

    @pytest.mark.parametrize(
        "query",
        [
            "SELECT src, dst FROM r",
            "SELECT dst FROM r WHERE src > 'a'",
            "SELECT dst FROM r WHERE upper(src) = 'A'",
            "SELECT dst FROM r WHERE src = 'a' OR dst = 'b'",
            "SELECT a.dst FROM r a JOIN r b ON a.dst = b.src WHERE a.src = 'a'",
            "SELECT src, count(*) FROM r GROUP BY src",
        ],
    )
    def test_columns_that_are_not(self, query: str) -> None:
        assert not is_asked_by(query)

    def test_a_column_that_is_computed_is_none_to_ask_for(self) -> None:
        db = whence.connect()
        db.rules("""
            .decl start(n: number)
            down(n) :- start(n).
            down(n - 1) :- down(n), n > 0.
            v(1) :- down(7).
            .output v
        """)
        db.insert("start", [(9,)])
        assert db.rows("v") == {(1,)}
        assert not is_asked(db)

    def test_floats_have_two_zeros(self) -> None:
        db = whence.connect()
        db.execute("CREATE TABLE link(src DOUBLE, dst DOUBLE)")
        db.execute(f"CREATE VIEW v AS WITH RECURSIVE r(src, dst) AS ({LEFT}) SELECT dst FROM r WHERE src = 0")
        assert not is_asked(db)

    def test_a_view_that_others_can_read_has_all_rows(self) -> None:
        db = with_rules(REACH + 'v(y) :- r("a", y).', "")
        assert not is_asked(db)
        assert len(db.rows("r")) == 15


class TestWhatIsSeen:
    def test_proofs_are_in_the_rules_of_the_user(self) -> None:
        db = with_view("SELECT dst FROM r WHERE src = 'a'", RIGHT)
        proof = db.why("v", ("d",))
        assert "r('c', 'd')" in str(proof)
        assert "$" not in str(proof) + str(proof.json())
        assert [sorted(support) for support in proof.supports()] == [
            [("link", ("a", "b")), ("link", ("b", "c")), ("link", ("c", "d"))]
        ]

    def test_what_is_missing_may_have_to_do_with_rows_that_nobody_asks_for(self) -> None:
        db = with_view("SELECT dst FROM r WHERE src = 'a'", RIGHT)
        found = db.why_not("v", ("z",))
        assert frozenset([("link", ("a", "x"))]) in {found.missing, *found.others}
        assert "$" not in str(found)

    def test_a_change_counts_by_what_follows_from_it(self) -> None:
        db = with_rules("r(x, y) :- link(x, y). r(x, y) :- r(x, z), r(z, y). v(y) :- r(x, y), watched(x).")
        db.insert("watched", [("b",), ("c",)])
        assert dict(db.impact("link", ("a", "b")).depend) == {"v": 4}

    def test_the_mark_of_a_relation_that_is_asked_for_rows(self) -> None:
        db = whence.connect()
        db.rules("""
            .decl link(x: symbol, y: symbol)
            .decl r(x: symbol, y: symbol) magic
            r(x, y) :- link(x, y).
            r(x, y) :- r(x, z), link(z, y).
            v(y) :- r("a", y).
        """)
        assert is_asked(db)
        assert db.notices == ("'r' is only asked for some rows, so it has no others, and is called 'v$r$bf'",)


# Rules of a recursion over link(x, y), which may have NULL, and ways to read it.
RECURSIONS = (
    "r(x, y) :- link(x, y). r(x, y) :- r(x, z), link(z, y).",
    "r(x, y) :- link(x, y). r(x, y) :- link(x, z), r(z, y).",
    "r(x, y) :- link(x, y). r(x, y) :- r(x, z), r(z, y).",
    "r(x, y) :- link(z, x), link(z, y). r(x, y) :- link(u, x), r(u, v), link(v, y).",
    "r(x, y) :- link(x, y), !watched(x). r(x, y) :- r(x, z), !watched(z), link(z, y).",
    "r(x, y) :- link(x, y). r(x, y) :- s(x, z), link(z, y). s(x, y) :- r(x, z), link(z, y), x != y.",
    "r(x, y) :- link(x, y). r(y, x) :- r(x, y). r(x, 3) :- r(x, y), watched(y).",
    "r(x, y) :- link(x, y). r(x, y) :- r(z, y), x = z, watched(x). r(2, y) :- watched(y), r(y, _).",
    "r(x, min<y>) :- link(x, y). r(x, min<y>) :- link(x, z), r(z, y).",
)
READERS = (
    "(y) :- r({0}, y).",
    "(x) :- r(x, {0}).",
    "(x, y) :- watched(x), r(x, y).",
    "(x, y) :- r(x, y), x = {0}, y != {1}.",
    "(x) :- watched(x), !r(x, {0}).",
    "(x, count<*>) :- watched(x), r(x, y).",
    "(x, n) :- watched(x), n = count : {{ r(x, _) }}.",
    "(x) :- r({0}, x), r(x, {1}).",
    "(x) :- r(x, x), watched(x).",
    "(x, y) :- link(x, z), z = {0}, r(z, y).",
)


def feed(db: whence.Database, view: str) -> list[str]:
    return sorted(map(repr, db.changes(view).drop(["_commit_timestamp"]).to_pylist()))


@pytest.mark.parametrize("seed", range(45))
def test_random_programs(seed: int) -> None:
    """Against all rows, computed from nothing by the reference engine; proofs by a checker, supports by the whole."""
    random = Random(seed)
    text = f"""
        .decl link(x: number nullable, y: number nullable)
        .decl watched(x: number nullable)
        {RECURSIONS[seed % len(RECURSIONS)]}
    """
    views = [f"v{at}" for at in range(random.randint(1, 2))]
    for name in views:
        text += name + random.choice(READERS).format(random.randint(1, 4), random.randint(1, 4)) + "\n"
    outputs = "".join(f".output {name}\n" for name in views)
    maintenance = random.choice(["auto", "auto", "absorption", "dred"])
    with (
        whence.connect(maintenance=maintenance) as db,
        whence.connect() as whole,
        whence.connect(engine="reference") as reference,
    ):
        db.rules(text + outputs)
        whole.rules(text)
        reference.rules(text)
        values = (1, 2, 3, 4, 5, None)
        there: list[tuple[str, tuple[int | None, ...]]] = []
        for _ in range(6):
            coming = [
                (name, tuple(random.choice(values) for _ in range(arity)))
                for name, arity in random.choices([("link", 2), ("watched", 1)], (3, 1), k=random.randint(1, 4))
            ]
            going = random.sample(there, random.randint(0, min(3, len(there))))
            coming = [fact for fact in dict.fromkeys(coming) if fact not in there]
            there = [fact for fact in there if fact not in going] + coming
            for each in (db, whole, reference):
                with each.batch() as batch:
                    for name, row in going:
                        batch.delete(name, [row])
                    for name, row in coming:
                        batch.insert(name, [row])
            for name in views:
                assert db.rows(name) == reference.rows(name), text
                assert feed(db, name) == feed(whole, name), text
        for name in views:
            for found in sorted(db.rows(name), key=repr)[:4]:
                proof = db.why(name, exactly(db, name, found))
                assert proof.complete
                assert "magic" not in str(proof)
                check(db, proof)
                other = whole.why(name, exactly(whole, name, found))
                assert set(proof.supports(all=True)) == set(other.supports(all=True)), text
