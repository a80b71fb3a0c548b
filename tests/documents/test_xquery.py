"""Verdicts by an XQuery processor: the form of Figure 10, run by Saxon over the document with its streams."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from saxonche import PySaxonProcessor

from tests.documents.trees import STREAMS, Stream, fragment_xml, random_fragment, random_query, random_tree
from tests.documents.xquery import XQuery
from whence.documents import Document
from whence.documents.query import paths_in
from whence.documents.xpath.parse import parse_query

VERDICTS = {"1": "true", "0.5": "not yet", "0": "never"}


@pytest.fixture(scope="module")
def saxon() -> Iterator[Any]:
    with PySaxonProcessor(license=False) as processor:
        yield processor


def verdict(saxon: Any, document: str, query: str) -> str:
    processor = saxon.new_xquery_processor()
    processor.set_context(xdm_item=saxon.parse_xml(xml_text=document))
    processor.set_query_content(XQuery().program(parse_query(query)))
    return VERDICTS[str(processor.run_query_to_value().head)]


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ("<a><b/><c/><?stream sc?></a>", "true"),
        ("<a><b/></a>", "never"),
        ("<a><b/><?stream sc?></a>", "not yet"),
    ],
)
def test_the_documents_of_figure_3(saxon: Any, document: str, expected: str) -> None:
    assert verdict(saxon, document, "/a[b][c]") == expected
    assert Document.xml(document).query("/a[b][c]").status == expected


def is_comparable(query: str) -> bool:
    """Joins, and values of attributes that contradict each other, are beyond Figure 10."""
    return (
        "k" not in query
        and not any(path.absolute for path in list(paths_in(parse_query(query)))[1:])
        and not (_joins(query))
    )


def _joins(query: str) -> bool:
    return any(f"{op} {start}" in query for op in ("=", "<") for start in ("a", "b", "*", ".", "/", "text", "@"))


@pytest.mark.parametrize("seed", range(8))
def test_random_verdicts(saxon: Any, seed: int) -> None:
    chance = random.Random(seed)
    tree = random_tree(chance, 2)
    tree.label = "a"
    tree.children.append(Stream(chance.choice(STREAMS)))
    doc = Document.xml(tree.xml())
    asked = [query for query in (random_query(chance) for _ in range(40)) if is_comparable(query)][:4]
    queries = [doc.query(query) for query in asked]
    for _ in range(4):
        for query in queries:
            # Texts that arrived one after the other are kept apart.
            arrived = tree.judged({name: f"<?stream {name}?>" for name in STREAMS})
            assert query.status == verdict(saxon, arrived, query.xpath), (query.xpath, arrived)
        if doc.streams:
            stream, fragment = chance.choice(doc.streams), random_fragment(chance)
            doc.add(stream, fragment_xml(fragment))
            tree.add(stream, fragment)
