"""Types of what streams bring, and what they change in verdicts."""

from __future__ import annotations

import pytest

import whence
from whence.documents import Document, Schema

DTD = """
    <!ELEMENT payment (amount, note*)>
    <!ATTLIST payment by CDATA #IMPLIED>
    <!ELEMENT amount (#PCDATA)>
    <!ELEMENT note ANY>
"""
SCHEMAS = {
    "dtd": Schema.dtd(DTD, streams={"bank": ["payment"]}),
    "written": Schema({"payment": ["amount", "note", "@by"], "amount": ["text()"]}, streams={"bank": ["payment"]}),
}


@pytest.mark.parametrize("name", SCHEMAS)
@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("/order/payment", "not yet"),
        ("/order/delivery", "never"),
        ("/order/*", "not yet"),
        ("/order/text()", "never"),
        ("/order/payment[@by]", "not yet"),
        ("/order/payment[@at]", "never"),
        ("/order/payment/amount[. > 5]", "not yet"),
        ("/order/payment/text()", "never"),
        ("/order/payment[amount/note]", "never"),
        ("/order/payment[note/anything/at/all]", "not yet"),
        ("/order//amount/@k", "never"),
        ("/order/*[amount or price]", "not yet"),
        ("/order/*[price]", "never"),
        ("//payment//payment", "not yet"),
    ],
)
def test_verdicts_with_types(name: str, query: str, status: str) -> None:
    doc = Document.xml("<order><?stream bank?></order>", schema=SCHEMAS[name])
    assert doc.query(query).status == status


def test_untyped_streams_bring_elements_of_their_types() -> None:
    doc = Document.xml("<order><?stream other?></order>", schema=SCHEMAS["dtd"])
    assert doc.query("/order/delivery").status == "not yet"
    assert doc.query("/order/payment[@at]").status == "never"


def test_what_is_not_of_its_type_is_refused_whole() -> None:
    doc = Document.xml("<order><?stream bank?></order>", schema=SCHEMAS["dtd"])
    found = doc.query("/order/payment")
    with pytest.raises(whence.DataError, match="stream 'bank' brings delivery, and its type has payment"):
        doc.add("bank", "<payment/><delivery/>")
    with pytest.raises(whence.DataError, match="<payment> brings price, and its type has @by, amount, note"):
        doc.add("bank", "<payment><price>1</price></payment>")
    assert found.status == "not yet"
    doc.add("bank", '<payment by="card"><amount>5</amount><note><x/></note></payment>')
    assert found.status == "true"


def test_a_malformed_dtd() -> None:
    with pytest.raises(whence.ParseError, match="DTD is malformed"):
        Schema.dtd("<!ELEMENT payment")
    with pytest.raises(whence.DataError, match="declares an entity"):
        Schema.dtd('<!ENTITY x "y">')
