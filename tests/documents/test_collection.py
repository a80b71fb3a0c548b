"""Many documents with keys, in batches; against each as a document of its own."""

from __future__ import annotations

import random
from contextlib import suppress

import pytest

import whence
from tests.documents.trees import fragment_xml, random_fragment, random_query
from whence.documents import Document, Documents
from whence.documents.collection import KeyedQuery
from whence.errors import UnsupportedError

TEMPLATE = "<a><b><?stream f?></b><?stream g?></a>"


def test_verdicts_go_by_key() -> None:
    orders = Documents("<order><?stream bank?><?stream post?></order>", name="orders")
    served = orders.query("/order[payment][delivery]", name="served")
    orders.update([("1", "bank", "<payment/>"), ("2", "bank", "<payment/>"), ("1", "post", "<delivery/>")])
    assert served.statuses() == {"1": "true", "2": "not yet"}
    orders.update([("2", "post", None), ("3", "bank", "<x/>")])
    assert served.statuses() == {"1": "true", "2": "not yet", "3": "not yet"}
    orders.update([("2", "bank", None)])
    assert served.statuses() == {"1": "true", "2": "never", "3": "not yet"}
    assert orders.database.rows("served") == {(2, "1")}


def test_a_bad_batch_changes_nothing() -> None:
    orders = Documents(TEMPLATE)
    query = orders.query("/a/c", name="c")
    with pytest.raises(whence.DataError):
        orders.update([("1", "g", "<c/>"), ("2", "g", "<c>")])
    with pytest.raises(whence.UnknownNameError):
        orders.update([("1", "g", "<c/>"), ("2", "h", "<c/>")])
    assert (len(orders), query.statuses()) == (0, {})
    orders.update([("1", "g", None)])
    with pytest.raises(whence.StateError):
        orders.update([("1", "g", "<c/>")])


@pytest.mark.parametrize("seed", range(4))
def test_batches_are_as_documents_of_their_own(seed: int) -> None:
    chance = random.Random(seed)
    together = Documents(TEMPLATE)
    asked: list[tuple[str, KeyedQuery]] = []
    while len(asked) < 3:
        text = random_query(chance)
        with suppress(UnsupportedError):
            asked.append((text, together.query(text, name=f"q{len(asked)}")))
    alone = {str(key): Document.xml(TEMPLATE) for key in range(3)}
    judges = {key: [doc.query(text) for text, _ in asked] for key, doc in alone.items()}
    for _ in range(5):
        batch: list[tuple[str, str, str | None]] = []
        for _ in range(4):
            key = chance.choice(list(alone))
            doc = alone[key]
            streams = [stream for stream in ("f", "g") if stream in doc.streams]
            if streams:
                stream = chance.choice(streams)
                fragment = None if chance.random() < 0.2 else fragment_xml(random_fragment(chance))
                if fragment is not None and "stream" in fragment:
                    continue
                batch.append((key, stream, fragment))
                if fragment is None:
                    doc.end(stream)
                else:
                    doc.add(stream, fragment)
        together.update(batch)
        for at, (text, query) in enumerate(asked):
            statuses = query.statuses()
            assert statuses == {key: judges[key][at].status for key in statuses}, text
