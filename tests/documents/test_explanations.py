"""Why and why not, and subtrees that are deleted and replaced."""

from __future__ import annotations

import pytest

import whence
from whence.documents import Document, Missing


def order() -> Document:
    return Document.xml("<order><?stream payments?><item>pen</item><delivery><?stream post?></delivery></order>")


def test_why_names_the_nodes() -> None:
    doc = order()
    query = doc.query("/order[payment/@by]/item")
    doc.add("payments", '<payment by="card"/>')
    (answer,) = query.answers
    assert [str(node) for node in query.why(answer)] == [
        "/order",
        "/order/item",
        "/order/payment",
        "/order/payment/@by 'card'",
    ]
    with pytest.raises(whence.DataError, match="is no answer"):
        doc.query("/order").why(answer)


def test_why_not_names_what_is_missing_and_where_it_could_come_from() -> None:
    doc = order()
    query = doc.query('/order[payment][delivery/at = "noon"]/item')
    assert query.why_not() == [
        Missing("/order", "payment", ("payments",)),
        Missing("/order", 'delivery/at/text() = "noon"', ("payments",)),
        Missing("/order/delivery", 'at/text() = "noon"', ("post",)),
        Missing("/order", "item", ("payments",)),
    ]
    doc.add("payments", "<payment/>")
    doc.end("payments")
    assert [str(each) for each in query.why_not()] == [
        '/order/delivery lacks at/text() = "noon", which may come from post'
    ]
    doc.end("post")
    assert query.status == "never"
    assert [str(each) for each in query.why_not()] == [
        '/order/item lacks payment and delivery/at = "noon", and no stream can bring it'
    ]


def test_why_not_of_a_path_that_nothing_leads_to() -> None:
    doc = Document.xml("<order><item/></order>")
    assert [str(each) for each in doc.query("/order/payment/by").why_not()] == [
        "/order lacks payment, and no stream can bring it"
    ]


def test_a_subtree_is_deleted_and_its_streams_with_it() -> None:
    doc = order()
    paid, sent = doc.query("/order/payment"), doc.query("/order/delivery/at")
    doc.add("payments", "<payment><by>card</by></payment>")
    doc.end("payments")
    assert (paid.status, sent.status) == ("true", "not yet")
    doc.delete(paid.answers[0])
    doc.delete(doc.query("/order/delivery").answers[0])
    assert (paid.status, sent.status) == ("never", "never")
    assert doc.streams == ()


def test_a_subtree_is_replaced_in_one_commit() -> None:
    doc = order()
    query = doc.query("/order[delivery/at]/item")
    version = doc.database.version
    doc.replace(doc.query("/order/delivery").answers[0], "<delivery><at>noon</at></delivery>")
    assert (query.status, doc.streams) == ("true", ("payments",))
    assert doc.database.version > version
    with pytest.raises(whence.DataError, match="malformed"):
        doc.replace(doc.query("/order/delivery").answers[0], "<delivery>")
    assert query.status == "true"
