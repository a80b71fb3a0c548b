"""The part of XPath that there is: read, written, and refused where it ends, with the place."""

from __future__ import annotations

import pytest

import whence
from whence.documents import Document
from whence.documents.xpath.parse import parse_query


@pytest.mark.parametrize(
    "query",
    [
        "/order[payment]/item",
        '//item[mailbox/mail and @id = "x" or price > 40]/name/text()',
        '/a[b/@x = c/@y][.//d[. = "z"]]',
        "/o[d/@at <= p/@at + 4]",
        '/o[id = doc("payments")/payment/order]',
        "/*[(a or b) and c != 1.5]//*",
        "/a[b < -3]",
    ],
)
def test_a_query_is_read_and_written(query: str) -> None:
    assert str(parse_query(query)) == query


@pytest.mark.parametrize(
    ("query", "same"),
    [
        ("/child::a/descendant::b", "/a//b"),
        ("/a/attribute::b", "/a/@b"),
        ("/a[./b]", "/a[b]"),
        ("/a/./b", "/a/b"),
        ("/a[4 > b]", "/a[b < 4]"),
        ("/a[b - 4 > c]", "/a[b > c + 4]"),
        ("/a[b = 'x']", '/a[b = "x"]'),
    ],
)
def test_other_words_for_the_same(query: str, same: str) -> None:
    assert str(parse_query(query)) == same


@pytest.mark.parametrize(
    ("query", "message", "column"),
    [
        ("/a[not(b)]", "not() is not part of queries here", 4),
        ("/a[count(b) > 3]", "count() is not part of queries here", 4),
        ("/a[1]", "a position is not part of queries here", 4),
        ("/a/following::b", "the axis following:: is not part of queries here", 4),
        ("/a/../b", "the parent axis `..` is not part of queries here", 4),
        ("/a | /b", "a union with | is not part of queries here", 4),
        ("/a[b + c > 1]", "a sum of anything but a number is not part of queries here", 8),
        ("/a[$x]", "a variable is not part of queries here", 4),
        ("/a/@*", "@* is not part of queries here", 5),
        ("/a[contains(b, 'x')]", "contains() is not part of queries here", 4),
        ("a/b", "a query is a path from the root", 1),
        ("/", "the query names no node", 1),
        ("/a[", "a step names a node, as in /order or /*, and the end stands here", 4),
        ("/a[b", "a predicate ends with ], and the end stands here", 5),
        ("/a]", "the query should end here, and ']' follows", 3),
        ("/a[b < 'x']", "< compares numbers, and 'x' is a text", 4),
        ("/a[1 = 2]", "two constants are compared", 4),
        ("/a['x']", "a predicate is a path or a comparison", 4),
        ("/a/@b/c", "nothing lies below @b", 7),
        ("/a['x]", "a text has no end", 4),
        ("/a#b", "'#' means nothing in XPath", 3),
    ],
)
def test_what_is_refused_is_named_at_its_place(query: str, message: str, column: int) -> None:
    with pytest.raises(whence.WhenceError) as error:
        parse_query(query)
    assert error.value.message == message
    assert error.value.span is not None
    assert error.value.span.column == column


def test_a_query_that_is_nested_too_deeply_is_refused() -> None:
    with pytest.raises(whence.ParseError, match="nested more than"):
        parse_query("/a" + "[b" * 200 + "]" * 200)


def test_an_attribute_that_is_joined_and_compared_is_refused() -> None:
    doc = Document.xml("<a/>")
    with pytest.raises(whence.UnsupportedError, match="@k is joined with other values and compared again"):
        doc.query("/a[@k = b][@k = 1]")


def test_columns_may_be_called_anything_and_are_known_in_conditions() -> None:
    doc = Document.xml("<r><a>1</a><b>2</b></r>")
    assert doc.query("/r", select={"key": "a", "bag": "b"}, where="key < bag").answers == [("1", "2")]
    with pytest.raises(whence.UnknownNameError, match="there is no column 'keys'"):
        doc.query("/r", select={"key": "a"}, where="keys = 1")
    with pytest.raises(whence.TypeMismatchError, match="there are none"):
        doc.query("/r", where="a = 1")


@pytest.mark.parametrize(
    ("where", "status"),
    [
        ("x < y and y < z", "never"),
        ("x > y and y > z", "not yet"),
        ("x = y + 1 and y = z + 1", "not yet"),
        ("x = y + 1 and y = z", "never"),
        ("y = 'a' and y = 'b'", "never"),
        ("x <= 4", "never"),
        ("y >= 4 and y <= 3", "never"),
        ("x != z", "not yet"),
        ("x = y and x != y", "never"),
    ],
)
def test_conditions_are_closed_over_unknown_values(where: str, status: str) -> None:
    """x is 5 and z is 3; y may be anything."""
    doc = Document.xml("<r><x>5</x><y><?stream f?></y><z>3</z></r>")
    assert doc.query("/r", select={"x": "x", "y": "y", "z": "z"}, where=where).status == status


def test_of_several_texts_a_node_shows_the_least() -> None:
    """In whatever order they came, and whatever order a set has."""
    texts = [f"t{number}" for number in range(20)]
    doc = Document.xml("<a><b>" + "<c/>".join(texts) + "</b><?stream f?></a>")
    query = doc.query("/a/b")
    doc.add("f", "<b>" + "<c/>".join(reversed(texts)) + "</b>")
    assert [node.value for node in query.answers] == ["t0", "t0"]


def test_a_text_that_is_no_number_differs_from_each() -> None:
    """NaN != 1 in XPath: found by a random document."""
    doc = Document.xml("<a><b>x</b></a>")
    assert doc.query("/a[b != 1]").status == "true"
    assert doc.query("/a[b < 1 or b >= 1 or b = 1]").status == "never"
