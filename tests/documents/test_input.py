"""What comes in: XML and JSON, malformed texts, bombs, streams that have ended. Nothing good is lost."""

from __future__ import annotations

import pytest

import whence
from whence.documents import Document, Limits


def arriving(text: str = "<a><?stream f?></a>") -> Document:
    return Document.xml(text)


def test_a_malformed_fragment_keeps_the_trees_before_the_mistake() -> None:
    doc = arriving()
    found = doc.query("/a/*")
    with pytest.raises(whence.DataError, match=r"line 2, column 9: mismatched tag"):
        doc.add("f", "<b/>text\n<c><d></c><e/>")
    assert [node.path for node in found.answers] == ["/a/b"]
    assert doc.query("/a/text()").answers[0].value == "text\n"
    doc.add("f", "<e/>")
    assert [node.path for node in found.answers] == ["/a/b", "/a/e"]


def test_a_malformed_json_fragment_keeps_the_values_before_the_mistake() -> None:
    doc = Document.json('{"order": [{"$stream": "orders"}]}')
    found = doc.query("/order/id")
    with pytest.raises(whence.DataError, match=r"line 2, column 8: expecting value"):
        doc.add("orders", '{"id": 1}\n{"id": }')
    assert [node.value for node in found.answers] == ["1"]


@pytest.mark.parametrize("text", ["<a>", "<a></b>", "", "   ", "{", "<a/><b/>", "<?stream f?>", "<a>&nbsp;</a>"])
def test_a_malformed_document_is_none(text: str) -> None:
    database = whence.connect()
    with pytest.raises(whence.WhenceError):
        Document.xml(text, database=database)
    assert not database.catalog().relations
    assert Document.xml("<a/>", database=database).query("/a").status == "true"


def test_entities_are_refused_and_nothing_is_loaded() -> None:
    laughs = '<!DOCTYPE a [<!ENTITY x "ha"><!ENTITY y "&x;&x;">]><a>&y;</a>'
    with pytest.raises(whence.DataError, match="declares an entity, 'x'"):
        Document.xml(laughs)
    outside = '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>'
    with pytest.raises(whence.DataError, match="declares an entity, 'x'"):
        Document.xml(outside)
    with pytest.raises(whence.DataError, match=r"&x; is not declared here"):
        Document.xml('<!DOCTYPE a SYSTEM "http://example.org/a.dtd"><a>&x;</a>')


@pytest.mark.parametrize(
    ("limits", "fragment", "message"),
    [
        (Limits(depth=5), "<b>" * 9 + "</b>" * 9, "nested too deeply, and 5 is the limit"),
        (Limits(nodes=10), "<b/>" * 20, "too many nodes, and 10 is the limit"),
        (Limits(paths=10), "".join(f"<b{n}/>" for n in range(20)), "too many different paths of labels, and 10"),
        (Limits(text=10), "<b>12345678901</b>", "a text is too long, and 10 is the limit"),
    ],
)
def test_bombs_are_refused_and_leave_nothing(limits: Limits, fragment: str, message: str) -> None:
    doc = Document.xml("<a><?stream f?></a>", limits=limits)
    paths = len(doc.paths.all)
    with pytest.raises(whence.DataError, match=message):
        doc.add("f", f"<outer>{fragment}</outer>")
    assert doc.query("/a/*").answers == []
    assert len(doc.paths.all) == paths


def test_deep_json_is_refused() -> None:
    with pytest.raises(whence.DataError, match="nested too deeply"):
        Document.json('{"a": ' + "[" * 5_000 + "]" * 5_000 + "}")


def test_numbers_that_unfold_stay_short() -> None:
    doc = Document.json('{"a": 1e1000000, "b": 1.50, "c": 2e3}')
    assert [doc.query(f"/{name}").answers[0].value for name in "abc"] == ["1E+1000000", "1.5", "2000"]


def test_an_ended_stream_takes_nothing_more() -> None:
    doc = arriving()
    doc.end("f")
    with pytest.raises(whence.StateError, match="stream 'f' of 'document' has ended"):
        doc.add("f", "<b/>")
    with pytest.raises(whence.StateError, match="has ended"):
        doc.end("f")


def test_an_unknown_stream_is_named() -> None:
    with pytest.raises(whence.UnknownNameError, match="did you mean 'payments'"):
        Document.xml("<a><?stream payments?></a>").add("payment", "<b/>")


def test_what_arrives_may_bring_streams_and_those_of_ended_ones_bring_nothing() -> None:
    doc = arriving()
    query = doc.query("//c")
    doc.add("f", "<b><?stream g?></b>")
    doc.end("f")
    assert query.status == "not yet"
    doc.add("g", "<b><?stream f?></b>")
    doc.end("g")
    assert query.status == "never"
    assert doc.streams == ()


def test_json_as_a_tree() -> None:
    doc = Document.json('{"order": {"id": 7, "item": ["pen", {"name": "ink"}, [1, [2]]], "gone": null, "ok": true}}')
    paths = {node.path: node.value for node in doc.query("//text()").answers}
    assert paths == {
        "/order/id/text()": "7",
        "/order/item/text()": "pen",
        "/order/item/name/text()": "ink",
        "/order/item/item/text()": "1",
        "/order/item/item/item/text()": "2",
        "/order/ok/text()": "true",
    }
    assert doc.query("/order/gone").status == "true"


def test_a_stream_in_an_array_brings_values_of_the_array() -> None:
    doc = Document.json('{"order": [{"$stream": "orders"}], "note": {"$stream": "notes"}}')
    assert doc.query("/order/id").status == "not yet"
    assert doc.query("/delivery").status == "never"
    assert doc.query("/note/by").status == "not yet"
    assert doc.query("/order[id = 1][id = 2]").status == "not yet"
    assert doc.query("/order/id[. = 1][. = 2]").status == "never"
    assert doc.query("/order/@id").status == "never"


def test_several_documents_of_one_database_can_be_joined() -> None:
    database = whence.connect()
    orders = Document.xml("<orders><order id='1'/><order id='2'/></orders>", name="orders", database=database)
    payments = Document.xml("<payments><?stream bank?></payments>", name="payments", database=database)
    paid = orders.query('/orders/order[@id = doc("payments")/payments/payment/@order]', name="paid")
    assert (paid.status, len(paid.possible)) == ("not yet", 2)
    payments.add("bank", '<payment order="2"/>')
    assert [node.number for node in paid.answers] == [4]
    assert payments.useless() == ()
    payments.end("bank")
    assert paid.possible == []
    with pytest.raises(whence.DuplicateNameError):
        Document.xml("<a/>", name="orders", database=database)
    with pytest.raises(whence.UnknownNameError, match="no document 'bills'"):
        orders.query('/orders/order[@id = doc("bills")/bill]')


def test_answers_are_relations_that_sql_can_join() -> None:
    database = whence.connect()
    doc = Document.xml("<orders><?stream f?></orders>", name="shop", database=database)
    doc.query("/orders/order", select={"id": "@id", "city": "city"}, name="sent")
    database.execute("CREATE TABLE zone(city STRING, zone INT)")
    database.execute("CREATE VIEW zones AS SELECT id, zone FROM sent JOIN zone ON sent.city = zone.city")
    database.insert("zone", [("Oslo", 1), ("Rome", 2)])
    doc.add("f", '<order id="7"><city>Rome</city></order><order id="8"/>')
    assert database.rows("zones") == {("7", 2)}


def test_only_what_is_needed_is_kept() -> None:
    doc = Document.xml("<a><?stream f?></a>", keep="needed")
    query = doc.query("/a/b[c = 'x']")
    doc.add("f", "<b><c>x</c><d><e>y</e></d></b>" * 3)
    assert len(query.answers) == 3
    assert len(doc.database.rows("document_element")) == 7
    assert len(doc.database.rows("document_text")) == 3
    with pytest.raises(whence.StateError, match="ask all queries before the first update"):
        doc.query("/a/b/d")


def test_useless_streams_are_closed_and_what_they_bring_is_not_read() -> None:
    doc = Document.xml("<a><b><?stream f?></b><c><?stream g?></c></a>")
    query = doc.query("/a/b/x")
    assert doc.collect() == ("g",)
    doc.add("g", "<x><this is not even read")
    doc.add("f", "<x/>")
    assert len(query.answers) == 1
    assert doc.streams == ("f",)


def test_subscribers_hear_of_answers_and_of_the_end() -> None:
    doc = Document.xml("<a><?stream f?></a>")
    heard = []
    query = doc.query("/a/b")
    query.subscribe(lambda change: heard.append((change.status, len(change.came), change.final)))
    doc.add("f", "<c/>")
    doc.add("f", "<b/><b/>")
    doc.end("f")
    assert heard == [("true", 2, False), ("true", 0, True)]
