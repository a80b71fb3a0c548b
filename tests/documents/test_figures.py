"""Figures 1 to 9 of the paper, with the verdicts and useless functions that its text gives for them."""

from __future__ import annotations

import pytest

from whence.documents import Document

QUERY_OF_FIGURE_3 = "/a[b][c]"


def test_figure_1_an_update_adds_a_sibling_of_each_node_of_the_function() -> None:
    doc = Document.xml("<a><b><?stream f?></b><c><?stream f?></c><?stream g?></a>")
    added = doc.query("//d")
    doc.add("f", "<d><e/></d>")
    assert [node.path for node in added.answers] == ["/a/b/d", "/a/c/d"]
    assert len({node.number for node in added.answers}) == 2
    assert doc.streams == ("f", "g")


def test_figure_2_boolean_queries_and_a_binary_one() -> None:
    doc = Document.xml("<a><b><d>1</d></b><c>2</c><?stream f?></a>")
    assert doc.query("/a[b]").status == "true"
    assert doc.query("/a[b][.//c]").status == "true"
    binary = doc.query("/a", select={"b": "b/d", "c": "c"})
    assert binary.answers == [("1", "2")]


@pytest.mark.parametrize(
    ("document", "status"),
    [
        ("<a><b/><c/><?stream f1?></a>", "true"),
        ("<a><b/><d><?stream f1?></d></a>", "never"),
        ("<a><b/><?stream f1?></a>", "not yet"),
    ],
)
def test_figure_3_the_three_verdicts(document: str, status: str) -> None:
    assert Document.xml(document).query(QUERY_OF_FIGURE_3).status == status


def test_figure_4_unknown_values() -> None:
    """(b, c) with 1, (b, ?) with ½, (b, c) with ½: the last lacks something beside its values."""
    select = {"left": "l", "right": "r"}
    first = Document.xml("<a><l>b</l><r>c</r><d/></a>").query("/a[d]", select=select)
    second = Document.xml("<a><l>b</l><d/><r><?stream f?></r></a>").query("/a[d]", select=select)
    third = Document.xml("<a><l>b</l><r>c</r><x/></a>").query("/a[d]", select=select)
    waiting = Document.xml("<a><l>b</l><r>c</r><e><?stream f?></e></a>").query("/a[e/d]", select=select)
    assert (first.status, first.answers, first.possible) == ("true", [("b", "c")], [])
    assert (second.status, str(second.possible)) == ("not yet", "[('b', ?)]")
    assert third.status == "never"
    assert (waiting.status, waiting.possible) == ("not yet", [("b", "c")])


def test_figure_5_a_join_is_a_selection_of_what_its_branches_carry() -> None:
    text = "<r><a>1</a><a>2</a><b>2</b><c>x</c></r>"
    joined = Document.xml(text).query("/r[a = b]/c")
    carried = Document.xml(text).query("/r", select={"a": "a", "b": "b", "c": "c"})
    assert [node.value for node in joined.answers] == ["x"]
    assert [row for row in carried.answers if row[0] == row[1]] == [("2", "2", "x")]
    assert len(carried.answers) == 2


def test_figure_6_the_closure_of_the_joins_rules_out_what_has_no_chance() -> None:
    doc = Document.xml("<r><w>a</w><x><?stream f?></x><y><?stream g?></y><z>b</z></r>")
    select = {"w": "w", "x": "x", "y": "y", "z": "z"}
    assert doc.query("/r", select=select, where="w = x and x = y and y = z").status == "never"
    open_end = doc.query("/r", select=select, where="w = x and x = y")
    assert (open_end.status, str(open_end.possible)) == ("not yet", "[('a', ?, ?, 'b')]")


def test_figure_7_useless_functions() -> None:
    """h2 is below a node that matches nothing; f and g bring what a cousin or a node beside them has already."""
    doc = Document.xml("<a><b><e/><?stream f?></b><b><x><?stream g?></x></b><d><?stream h2?></d><?stream h?></a>")
    query = doc.query("/a[b[e]][c]")
    assert query.status == "not yet"
    assert doc.useless() == ("f", "g", "h2")
    doc.add("h", "<c/>")
    assert query.status == "true"
    assert doc.useless() == ("f", "g", "h", "h2")


def test_figure_8_what_one_stream_brings_comes_anyway_with_what_another_must() -> None:
    """By relevance alone f matters: it can bring a c below a. But c must come from g, and is below a as well."""
    doc = Document.xml("<r><a><x><?stream f?></x><b><?stream g?></b></a></r>")
    query = doc.query("/r[a//c][a/b/c]")
    assert query.useful() == {("document", "f"), ("document", "g")}
    assert doc.useless() == ("f",)


CLAUSES: dict[str, list[tuple[int, ...]]] = {
    "satisfiable": [(1, 2, -3), (-1, -2, 3), (1, -2, 3)],
    "unsatisfiable": [(1,), (-1,)],
}


@pytest.mark.parametrize("name", CLAUSES)
def test_figure_9_a_function_is_useful_if_the_formula_is_satisfiable(name: str) -> None:
    """The reduction of Theorem 5. Labels 0 and 1 are n0 and n1 here, since XML has no element of such a name."""
    clauses = CLAUSES[name]
    variables = sorted({abs(literal) for clause in clauses for literal in clause})

    def half(variable: int, sign: int, value: str) -> str:
        marks = "".join(f"<c{at}/>" for at, clause in enumerate(clauses) if sign * variable in clause)
        return f"<a>{marks}<{value}/><a><?stream h{value}{variable}?></a></a>"

    trees = "".join(f"<a>{half(variable, -1, 'n0')}{half(variable, 1, 'n1')}</a>" for variable in variables)
    doc = Document.xml(f"<r>{trees}<a><a><n1/><a><n1/></a></a><a><n0/><a><?stream h?></a></a></a></r>")
    asked = "".join(f"[a/a[c{at}]/a/n1]" for at in range(len(clauses)))
    query = doc.query(f"/r{asked}[a[a[n1]/a/n1][a[n0]/a/n1]]")
    assert query.status == "not yet"
    assert ("h" not in doc.useless()) == (name == "satisfiable")
