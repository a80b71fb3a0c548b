"""Calls that return once: verdicts against all results that they could return, judged by lxml."""

from __future__ import annotations

import random
from collections import Counter
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import whence
from tests.documents.test_random_verdicts import queries
from tests.documents.trees import ALL_VALUES, LABELS, Stream, Tree, everything, judge, random_tree
from whence.documents import Document, Documents

CALLS = ("f", "g")
# One tree each: a text, or an element with everything inside. "c" is an element of any other label.
RESULTS = (
    *ALL_VALUES,
    *(
        f"<{label}{attribute}>{everything(1)}</{label}>"
        for label in (*LABELS, "c")
        for attribute in ("", *(f' k="{value}"' for value in ALL_VALUES))
    ),
)
SEEN = Counter[str]()


def with_calls(tree: Tree) -> str:
    """The streams f and g are calls."""
    text = tree.xml()
    for call in CALLS:
        text = text.replace(f"<?stream {call}?>", f"<?call {call}?>")
    return text


def verdict(tree: Tree, query: str) -> str:
    if judge(tree.judged({}), query):
        return "true"
    for results in product(RESULTS, repeat=len(CALLS)):
        continuation = dict(zip(CALLS, results, strict=True)) | {"h": everything(1)}
        if judge(tree.judged(continuation), query):
            return "not yet"
    return "never"


@given(st.integers(0, 2**32))
@settings(max_examples=12)
def test_verdicts_with_calls_are_those_of_all_results(seed: int) -> None:
    chance = random.Random(seed)
    tree = random_tree(chance, 1)
    tree.label = "a"
    tree.children += [Stream(chance.choice(CALLS)), Stream(chance.choice((*CALLS, "h")))]
    doc = Document.xml(with_calls(tree))
    for query in queries(chance, doc, 3):
        found = query.status
        SEEN[found] += 1
        if found != "unknown":
            assert found == verdict(tree, query.xpath), (query.xpath, tree.xml())


def test_a_call_returns_one_tree() -> None:
    doc = Document.xml("<a><?call f?><b><?stream g?></b></a>")
    both, other, deep = doc.query("/a[c][d]"), doc.query("/a[c][b/d]"), doc.query("/a[c/d][c/e]")
    assert (both.status, other.status, deep.status) == ("never", "not yet", "not yet")
    assert not both.final
    for wrong in ("<c/><d/>", "<c/>text", "<?stream h?>"):
        with pytest.raises(whence.DataError, match="the call 'f' of 'document' returns one tree"):
            doc.add("f", wrong)
    assert doc.streams == ("f", "g")
    doc.add("f", "<c><?stream h?></c>")
    assert doc.streams == ("g", "h")
    assert (both.status, deep.status) == ("never", "not yet")
    with pytest.raises(whence.StateError, match="has ended"):
        doc.add("f", "<c/>")


def test_what_is_malformed_leaves_the_call_open() -> None:
    doc = Document.xml("<a><?call f?></a>")
    with pytest.raises(whence.DataError, match="malformed"):
        doc.add("f", "<c>")
    doc.add("f", "<c/>")
    assert doc.query("/a/c").status == "true"


def test_the_reduction_of_theorem_3() -> None:
    """A formula of three variables: each call returns 0 or 1, of which one is for x and the other for its negation."""

    def verdict_of(clauses: list[tuple[int, ...]]) -> str:
        names = sorted({abs(literal) for clause in clauses for literal in clause})

        def side(variable: int, sign: int) -> str:
            marks = "".join(f"<c{at}/>" for at, clause in enumerate(clauses) if sign * variable in clause)
            return f"<side>{marks}<?call h{'p' if sign > 0 else 'n'}{variable}?></side>"

        trees = "".join(f"<x{name}>{side(name, 1)}{side(name, -1)}</x{name}>" for name in names)
        asked = "".join(f"[x{name}[*[n0]][*[n1]]]" for name in names)
        asked += "".join(f"[*[*[c{at}][n1]]]" for at in range(len(clauses)))
        return Document.xml(f"<r>{trees}</r>").query(f"/r{asked}").status

    assert verdict_of([(1, 2), (-1, 2)]) == "not yet"
    assert verdict_of([(1,), (-1,)]) == "never"
    assert verdict_of([(1, 2, 3), (-1, -2, 3), (1, -2, -3), (-1, 2, -3)]) in ("not yet", "unknown")


def test_joins_of_what_is_returned_are_not_decided() -> None:
    doc = Document.xml('<a><d k="7"/><?call f?></a>')
    assert doc.query("/a[c/@k = d/@k]").status in ("not yet", "unknown")
    assert doc.query("/a[c/@k = d/@k][e]").status == "unknown"


def test_calls_in_json() -> None:
    doc = Document.json('{"order": [{"id": 1}, {"$call": "next"}], "owner": {"$stream": "who"}}')
    assert doc.query("/order[id = 2]").status == "not yet"
    assert doc.query("/order[id = 2][id = 3]").status == "not yet"
    assert doc.query("/bill").status == "never"
    assert doc.query("/order[. = 5]").status == "not yet"
    assert doc.query("/order[. = 5][. = 6]").status == "never"
    assert doc.query("/order[. = 5][id]").status == "never"
    with pytest.raises(whence.UnsupportedError, match="the call 'f' is no value of an array"):
        doc.add("who", '{"x": {"$call": "f"}}')
    doc.add("next", '{"id": 2}')
    assert doc.query("/order[id = 3]").status == "never"


def test_a_name_is_a_call_or_a_stream() -> None:
    doc = Document.xml("<a><?call f?><?stream g?></a>")
    with pytest.raises(whence.DataError, match="'f' is a stream in one place of 'document' and a call in another"):
        doc.add("g", "<b><?stream f?></b>")
    with pytest.raises(whence.UnsupportedError, match="'f' is a call"):
        Documents("<a><?call f?></a>").update([("1", "f", "<b/>")])
