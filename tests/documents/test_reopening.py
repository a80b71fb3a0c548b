"""A document in a durable database is there after reopening: nodes, streams, ends, queries, verdicts and alerts."""

from __future__ import annotations

import random
from contextlib import suppress
from pathlib import Path

import pytest

import whence
from tests.documents.trees import STREAMS, Stream, fragment_xml, random_fragment, random_query, random_tree
from whence.documents import Document, Documents, Limits, Query, Schema
from whence.errors import UnsupportedError


def told(query: Query) -> tuple[object, ...]:
    return query.status, query.answers, query.possible


@pytest.mark.parametrize("seed", range(6))
def test_documents_go_on_where_they_were(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    tree = random_tree(chance, 2)
    tree.children.append(Stream(chance.choice(STREAMS)))
    database = whence.connect(tmp_path)
    durable, judge = Document.xml(tree.xml(), database=database), Document.xml(tree.xml())
    texts: list[str] = []
    while len(texts) < 3:
        text = random_query(chance)
        with suppress(UnsupportedError):
            durable.query(text, name=f"q{len(texts)}")
            judge.query(text, name=f"q{len(texts)}")
            texts.append(text)
    for _ in range(8):
        if judge.streams:
            stream, fragment = chance.choice(judge.streams), fragment_xml(random_fragment(chance))
            for doc in (durable, judge):
                doc.add(stream, fragment)
            if chance.random() < 0.2:
                durable.end(stream)
                judge.end(stream)
        if chance.random() < 0.3:
            assert durable.useless() == judge.useless()
        if chance.random() < 0.5:
            database.close()
            database = whence.connect(tmp_path)
            durable = Document.reopen(database=database)
        for name, query in judge.queries.items():
            assert told(durable.queries[name]) == told(query), query.xpath
        assert durable.streams == judge.streams
    database.close()


def test_what_has_ended_and_what_is_not_allowed_stays_so(tmp_path: Path) -> None:
    types = Schema({"payment": ["amount"]}, {"bank": ["payment"]})
    with whence.connect(tmp_path) as database:
        doc = Document.xml(
            "<a><?stream f?><?stream bank?><b><?stream g?></b></a>",
            name="order",
            database=database,
            schema=types,
            limits=Limits(depth=3),
        )
        doc.query("/a/x")
        doc.end("f")
        assert doc.collect() == ("bank", "g")
    with whence.connect(tmp_path) as database:
        doc = Document.reopen("order", database=database)
        assert Document.reopen("order", database=database) is doc
        with pytest.raises(whence.StateError, match="'f' of 'order' has ended"):
            doc.add("f", "<x/>")
        doc.add("g", "<this is not even read")
        with pytest.raises(whence.UnknownNameError, match=r"no document 'orders'.*\n.*did you mean 'order'"):
            Document.reopen("orders", database=database)
        with pytest.raises(whence.DuplicateNameError):
            Document.xml("<a/>", name="order", database=database)


def test_queries_are_found_again_by_their_text_and_join_documents(tmp_path: Path) -> None:
    with whence.connect(tmp_path) as database:
        orders = Document.xml("<orders><?stream shop?></orders>", name="orders", database=database)
        payments = Document.xml("<payments><?stream bank?></payments>", name="payments", database=database)
        orders.query('/orders/order[@id = doc("payments")/payments/payment/@order]', name="paid")
        orders.add("shop", '<order id="1"/><order id="2"/>')
    with whence.connect(tmp_path) as database:
        payments = Document.reopen("payments", database=database)
        orders = Document.reopen("orders", database=database)
        paid = orders.queries["paid"]
        assert orders.query(paid.xpath, name="paid") is paid
        with pytest.raises(whence.DuplicateNameError, match="there is a relation 'paid' already"):
            orders.query("/orders", name="paid")
        payments.add("bank", '<payment order="2"/><payment order="3"/>')
        orders.add("shop", '<order id="3"/>')
        assert [str(node) for node in paid.answers] == ["/orders/order", "/orders/order"]
        payments.end("bank")
        assert paid.status == "true"
        assert database.rows("paid") == {(5, 2), (7, 2)}


def test_what_was_not_kept_cannot_be_asked_for_after_reopening(tmp_path: Path) -> None:
    with whence.connect(tmp_path) as database:
        doc = Document.xml("<a><?stream f?></a>", database=database, keep="needed")
        doc.query("/a/b", name="b")
        doc.add("f", "<b/><c/>")
    with whence.connect(tmp_path) as database:
        doc = Document.reopen(database=database)
        doc.add("f", "<b/><c/>")
        assert len(doc.queries["b"].answers) == 2
        with pytest.raises(whence.StateError, match="is not kept"):
            doc.query("/a/c")


def test_many_documents_and_their_batches(tmp_path: Path) -> None:
    with whence.connect(tmp_path) as database:
        orders = Documents("<order><?stream bank?><?stream post?></order>", name="orders", database=database)
        orders.query("/order[payment][delivery]", name="served")
        orders.update([("1", "bank", "<payment/>"), ("2", "bank", None)])
    with whence.connect(tmp_path) as database:
        orders = Documents.reopen("orders", database=database)
        served = orders.query("/order[payment][delivery]", name="served")
        assert served.statuses() == {"1": "not yet", "2": "not yet"}
        orders.update([("1", "post", "<delivery/>"), ("2", "post", None), ("3", "post", "<delivery/>")])
        assert served.statuses() == {"1": "true", "2": "never", "3": "not yet"}
        with pytest.raises(whence.StateError, match="'bank' of the document '2' has ended"):
            orders.update([("2", "bank", "<payment/>")])
        Document.xml("<a/>", name="one", database=database)
        with pytest.raises(whence.UnknownNameError, match="'one' is one document and not many"):
            Documents.reopen("one", database=database)
