"""Datalog programs in a database: rules become views, facts and files become rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import whence

REACH = "reach(x, y) :- link(x, y, _).\nreach(x, y) :- link(x, z, _), reach(z, y).\n"


@pytest.fixture
def db() -> Iterator[whence.Database]:
    with whence.connect() as opened:
        opened.execute("CREATE TABLE link(src STRING, dst STRING, cost INT)")
        opened.insert("link", [("a", "b", 1), ("b", "c", 2)])
        yield opened


def refusal(db: whence.Database, text: str, kind: type[whence.WhenceError]) -> str:
    """What the error says; the database is as it was."""
    version = db.version
    with pytest.raises(kind) as caught:
        db.rules(text)
    assert db.version == version
    return str(caught.value)


class TestRules:
    def test_rules_over_a_table(self, db: whence.Database) -> None:
        commit = db.rules(REACH)
        assert commit.inserted == {"reach": 3}
        assert db.rows("reach") == {("a", "b"), ("b", "c"), ("a", "c")}

    def test_later_rules_see_earlier_ones(self, db: whence.Database) -> None:
        db.rules(REACH)
        db.rules('from_a(y) :- reach("a", y).')
        db.delete("link", [("b", "c", 2)])
        assert db.rows("from_a") == {("b",)}

    def test_sql_sees_rules(self, db: whence.Database) -> None:
        db.rules(REACH)
        db.execute("CREATE VIEW n AS SELECT count(*) AS n FROM reach")
        assert db.rows("n") == {(3,)}

    @pytest.mark.parametrize("text", ["", " \n", b"", "// nothing here"])
    def test_an_empty_program(self, text: str | bytes) -> None:
        with pytest.raises(whence.ParseError, match=r"^the program is empty$"):
            whence.connect().rules(text)

    def test_bytes_that_are_no_text(self, db: whence.Database) -> None:
        with pytest.raises(whence.ParseError, match=r"<rules>:1: byte 0xc3 at offset 2 is not UTF-8"):
            db.rules(b"//\xc3(")

    def test_auxiliary_relations_stay_hidden(self, db: whence.Database) -> None:
        commit = db.rules("n(x, c) :- link(x, _, _), c = count : { link(x, _, _) }.")
        assert set(commit.inserted) == {"n"}
        assert db.rows("n") == {("a", 1), ("b", 1)}

    def test_dropping_a_view_of_rules(self, db: whence.Database) -> None:
        db.rules("n(x, c) :- link(x, _, _), c = count : { link(x, _, _) }.")
        db.execute("DROP VIEW n")
        db.rules("n(x) :- link(x, _, _).")
        assert db.rows("n") == {("a",), ("b",)}


class TestNames:
    def test_a_view_gets_no_more_rules(self, db: whence.Database) -> None:
        db.rules(REACH, name="first.dl")
        message = refusal(db, "\nreach(x, y) :- link(y, x, _).", whence.DuplicateNameError)
        assert message.startswith("there is a view 'reach' already")
        assert "<rules>:2:1" in message
        assert "note: its definition is here" in message
        assert "first.dl:1:1" in message

    def test_nor_facts(self, db: whence.Database) -> None:
        db.rules(REACH)
        assert "there is a view 'reach' already" in refusal(db, 'reach("x", "y").', whence.DuplicateNameError)

    def test_a_table_gets_no_rules(self, db: whence.Database) -> None:
        message = refusal(db, "link(y, x, c) :- link(x, y, c), c > 1.", whence.DuplicateNameError)
        assert message.startswith("'link' is a table, and a table gets no rules")
        assert "note: it is declared here" in message
        assert "<sql>:1:14" in message

    def test_a_key_is_for_rows_that_are_inserted(self) -> None:
        with pytest.raises(whence.UnsupportedError, match="'r' has a key and rules, and a key is checked where"):
            whence.connect().rules(".decl e(x: number)\n.decl r(x: number, y: number) key(x)\nr(x, y) :- e(x), e(y).")

    def test_declaring_again_what_is_there(self, db: whence.Database) -> None:
        db.rules(".decl other(x: number)")
        db.insert("other", [(1,)])
        db.rules(".decl other(x: number)\ntwice(x + x) :- other(x).")
        assert db.rows("twice") == {(2,)}

    def test_declaring_it_differently(self, db: whence.Database) -> None:
        message = refusal(db, ".decl link(src: symbol, dst: symbol)", whence.DuplicateNameError)
        assert message.startswith("there is a relation 'link' already, with other columns")
        assert "note: it is link(src STRING, dst STRING, cost INT)" in message

    def test_letter_case_in_a_body(self, db: whence.Database) -> None:
        message = refusal(db, "v(x) :- Link(x, _, _).", whence.UnknownNameError)
        assert "there is no relation 'Link'" in message
        assert "hint: did you mean 'link'?" in message

    def test_letter_case_in_a_head(self, db: whence.Database) -> None:
        message = refusal(db, "LINK(x) :- link(x, _, _).", whence.DuplicateNameError)
        assert "'link' and 'LINK' differ only in case" in message

    def test_python_does_not_mind_letter_case(self, db: whence.Database) -> None:
        assert db.rows("LINK") == db.rows("link")


class TestFacts:
    def test_facts_of_a_declared_relation_are_its_first_rows(self) -> None:
        db = whence.connect()
        commit = db.rules('.decl p(x: symbol)\np("a"). p("b"). q(x) :- p(x).')
        assert commit.inserted == {"p": 2, "q": 2}
        db.delete("p", [("a",)])
        db.insert("p", [("c",)])
        assert db.rows("q") == {("b",), ("c",)}

    def test_facts_of_an_undeclared_relation_too(self) -> None:
        db = whence.connect()
        db.rules('p("a", 1). p("b", 2).')
        db.insert("p", [("c", 3)])
        assert db.rows("p") == {("a", 1), ("b", 2), ("c", 3)}

    def test_facts_of_a_relation_with_rules_belong_to_the_rules(self) -> None:
        db = whence.connect()
        db.rules(".decl next(x: number, y: number)\nseen(0). seen(y) :- seen(x), next(x, y).")
        with pytest.raises(whence.DataError, match="'seen' is a view"):
            db.insert("seen", [(1,)])
        db.insert("next", [(0, 1)])
        assert db.rows("seen") == {(0,), (1,)}

    def test_facts_for_a_table_that_is_there(self, db: whence.Database) -> None:
        commit = db.rules('link("c", "d", 1 + 2).')
        assert (commit.inserted, ("c", "d", 3) in db.rows("link")) == ({"link": 1}, True)

    def test_a_fact_of_the_wrong_type(self, db: whence.Database) -> None:
        assert "column 'cost' of 'link' is INT" in refusal(db, 'link("c", "d", "e").', whence.TypeMismatchError)

    def test_many_facts(self) -> None:
        db = whence.connect()
        db.rules("".join(f"p({i}).\n" for i in range(3_000)))
        assert len(db.rows("p")) == 3_000


class TestInput:
    def program(self, tmp_path: Path, directive: str, file: str, content: str) -> set[object]:
        (tmp_path / file).write_text(content)
        db = whence.connect()
        db.rules(f".decl p(name: symbol, n: number)\n{directive}\n", directory=tmp_path)
        return set(db.rows("p"))

    def test_souffle_facts(self, tmp_path: Path) -> None:
        assert self.program(tmp_path, ".input p", "p.facts", "a\t1\nb c\t-2\n") == {("a", 1), ("b c", -2)}

    def test_csv_with_a_header(self, tmp_path: Path) -> None:
        directive = '.input p(filename="rows.csv", header=true)'
        assert self.program(tmp_path, directive, "rows.csv", 'n,name\n1,"a,b"\n') == {("a,b", 1)}

    def test_another_delimiter(self, tmp_path: Path) -> None:
        assert self.program(tmp_path, '.input p(filename="x", delimiter="|")', "x", "a|1\n") == {("a", 1)}
        assert self.program(tmp_path, r'.input p(filename="y.csv", delimiter="\t")', "y.csv", "a\t1\n") == {("a", 1)}

    @pytest.mark.parametrize(
        ("directive", "content", "expected"),
        [
            (".input p", '"a"\t1\n"b\t2\nc"\t3\n', {('"a"', 1), ('"b', 2), ('c"', 3)}),
            (".input p", "a\t1\r\nb \t +2", {("a", 1), ("b ", 2)}),
            (".input p", "\t1\nnil\t-0\n\\t\\n\t007\n", {("", 1), ("nil", 0), ("\\t\\n", 7)}),
            (".input p(rfc4180=true)", '"a,""b""",1\nc "d",2\n', {('a,"b"', 1), ('c "d"', 2)}),
            ('.input p(rfc4180=true, delimiter=";")', '"a;b";1\n', {("a;b", 1)}),
            ('.input p(delimiter=",")', "[a, [b]],1\n", {("[a, [b]]", 1)}),
            (".input p(headers=true)", "n\tname\na\t1\n", {("a", 1)}),
            (".input p(headers=true)", "", set()),
        ],
    )
    def test_fact_files_as_souffle_reads_them(
        self, tmp_path: Path, directive: str, content: str, expected: set[object]
    ) -> None:
        assert self.program(tmp_path, directive, "p.facts", content) == expected

    @pytest.mark.parametrize(
        ("directive", "content", "message"),
        [
            (".input p", "a\t1 \n", "column 'n' must be BIGINT, not '1 '"),
            (".input p", "a\t0x10\n", "column 'n' must be BIGINT, not '0x10'"),
            (".input p", "a\t\n", "column 'n' is NOT NULL, and the value is NULL"),
            (".input p", "a\t1\n\n", "p.facts:2: 'p' has columns 'name', 'n', and this row has 1 field: ''"),
            (".input p(rfc4180=true)", '"a\nb",1\n', "p.facts:1: a quoted field does not end on its line"),
            (".input p(rfc4180=true)", '"a"b,1\n', "p.facts:1: a quoted field is followed by something else"),
            ('.input p(delimiter=",")', "[a,1\n", "p.facts:1: the brackets in this row do not match"),
            ('.input p(delimiter=",")', "a],1\n", "p.facts:1: the brackets in this row do not match"),
            (".input p(rfc4180=yes)", "", "rfc4180 is true or false, not 'yes'"),
        ],
    )
    def test_fact_files_that_souffle_refuses_too(
        self, tmp_path: Path, directive: str, content: str, message: str
    ) -> None:
        with pytest.raises(whence.WhenceError) as caught:
            self.program(tmp_path, directive, "p.facts", content)
        assert message in str(caught.value)

    @pytest.mark.parametrize(("content", "holds"), [("", False), ("\n", True), ("()\n", True), ("()", True)])
    def test_a_relation_without_columns_is_true_if_there_is_a_line(
        self, tmp_path: Path, content: str, holds: bool
    ) -> None:
        (tmp_path / "q.facts").write_text(content)
        db = whence.connect()
        db.rules(".decl q()\n.input q\nr(1) :- q().", directory=tmp_path)
        assert db.rows("r") == ({(1,)} if holds else set())

    def test_floats_and_texts_of_one_column(self, tmp_path: Path) -> None:
        (tmp_path / "f.facts").write_text(" 1.5e3\n.5\n2.\n-7\n")
        (tmp_path / "s.facts").write_text("a\n\n b\n")
        db = whence.connect()
        db.rules(".decl f(x: float)\n.decl s(x: symbol)\n.input f, s", directory=tmp_path)
        assert db.rows("f") == {(1500.0,), (0.5,), (2.0,), (-7.0,)}
        assert db.rows("s") == {("a",), ("",), (" b",)}
        for wrong in ("1.5d", "1_0", "nan", "inf", "1 "):
            (tmp_path / "f.facts").write_text(wrong)
            with pytest.raises(whence.DataError, match="must be DOUBLE"):
                whence.connect().rules(".decl f(x: float)\n.input f", directory=tmp_path)

    @pytest.mark.parametrize(
        ("directive", "message"),
        [
            ('.input p(file_name="x")', "no parameter 'file_name'"),
            (".input p(IO=sqlite)", "reads files only"),
            ('.input p(delimiter="::")', "a delimiter is one character, not '::'"),
            ("   .input p(header=maybe)", "header is true or false, not 'maybe'"),
        ],
    )
    def test_parameters_that_do_not_work(self, directive: str, message: str) -> None:
        with pytest.raises(whence.WhenceError, match=message) as caught:
            whence.connect().rules(f".decl p(x: number)\n{directive}")
        assert caught.value.span is not None
        assert caught.value.span.line == 2

    def test_a_file_that_is_not_there(self, tmp_path: Path) -> None:
        db = whence.connect()
        with pytest.raises(whence.DataError, match=r"the rows of 'p' cannot be read from .*p\.facts: there is no such"):
            db.rules(".decl p(x: number)\n.input p", directory=tmp_path)
        with pytest.raises(whence.UnknownNameError):
            db.rows("p")

    def test_a_relation_with_rules_has_no_input(self, db: whence.Database) -> None:
        message = refusal(db, "v(x) :- link(x, _, _).\n.input v", whence.StateError)
        assert "'v' has rules, and only relations without rules have input" in message


COUNTING = "gen(1). gen(x + 1) :- gen(x), !lim(x)."


@pytest.mark.parametrize("engine", ["local", "reference"])
@pytest.mark.parametrize(
    "text",
    [
        f"{COUNTING} lim(100).",
        f"lim(100). {COUNTING}",
        # A view that stops another one is there before it, too.
        f"{COUNTING} lim(x) :- base(x). base(100).",
    ],
)
def test_facts_are_there_when_rules_are_first_evaluated(engine: str, text: str, tmp_path: Path) -> None:
    with whence.connect(tmp_path, engine=engine) as db:
        db.rules(text)
        assert len(db.rows("gen")) == 100
    with whence.connect(tmp_path, engine=engine) as db:
        assert len(db.rows("gen")) == 100


@pytest.mark.parametrize("engine", ["local", "reference"])
def test_facts_for_a_table_that_is_there_come_before_the_rules(engine: str) -> None:
    db = whence.connect(engine=engine)
    db.rules(".decl lim(x: INT)\n.decl all(x: INT)\nall(x) :- lim(x).")
    with pytest.raises(whence.ConvergenceError):
        db.rules(f"{COUNTING} lim(-1).")
    assert db.rows("lim") == db.rows("all") == set()
    db.rules(f"{COUNTING} lim(100). lim(200).")
    assert len(db.rows("gen")) == 100
    db.delete("lim", [(100,)])
    assert len(db.rows("gen")) == 200
    assert db.rows("all") == {(200,)}


def test_a_table_that_is_called_like_a_function(db: whence.Database) -> None:
    """Functions come and go with versions; what is in the database is meant."""
    db.execute("CREATE TABLE e(x INT, y INT); CREATE TABLE length(x INT)")
    db.insert("e", [(1, 2)])
    db.insert("length", [(1,)])
    db.rules("both(x, n) :- e(x, _), length(x), n = strlen(to_string(x)).")
    assert db.rows("both") == {(1, 1)}
