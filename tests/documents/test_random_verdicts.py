"""Verdicts of random queries over random documents, after every update, as lxml has them.

A query is true if lxml finds an answer in what has arrived. It can still become true if lxml finds one when every
stream has brought everything: queries are monotone, so that this one continuation is as good as all others together.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.documents.trees import (
    STREAMS,
    Stream,
    everything,
    fragment_xml,
    judge,
    random_fragment,
    random_query,
    random_tree,
)
from whence.documents import Document, Node, Query
from whence.errors import UnsupportedError

# As high as what the highest pattern can ask of one stream.
HEIGHT = 2
SATURATED = dict.fromkeys(STREAMS, everything(HEIGHT - 1))


def queries(chance: random.Random, doc: Document, wanted: int) -> list[Query]:
    found: list[Query] = []
    while len(found) < wanted:
        try:
            found.append(doc.query(random_query(chance)))
        except UnsupportedError as error:
            if "joined with other values" not in error.message:
                raise
    return found


def verdict(document: str, saturated: str, query: str) -> str:
    if judge(document, query):
        return "true"
    return "not yet" if judge(saturated, query) else "never"


# How often a query was compared with lxml.
CASES = Counter[str]()


@pytest.fixture(scope="module", autouse=True)
def _three_thousand_cases() -> Iterator[None]:
    """In every run, in the process that has run them."""
    yield
    assert CASES["verdicts"] >= 3_000


def check(tree_xml: str, saturated: str, asked: list[Query], before: dict[str, str]) -> None:
    CASES["verdicts"] += len(asked)
    for query in asked:
        expected = verdict(tree_xml, saturated, query.xpath)
        assert query.status == expected, (query.xpath, tree_xml)
        assert before.get(query.name, "not yet") in ("not yet", expected), "a verdict flipped"
        before[query.name] = expected
        assert len(query.answers) == len(judge(tree_xml, query.xpath)), (query.xpath, tree_xml)


@given(st.integers(0, 2**32))
@settings(max_examples=75)
def test_verdicts_are_those_of_lxml(seed: int) -> None:
    chance = random.Random(seed)
    tree = random_tree(chance, 2)
    tree.label = "a"
    tree.children.append(Stream(chance.choice(STREAMS)))
    doc = Document.xml(tree.xml())
    asked = queries(chance, doc, 5)
    before: dict[str, str] = {}
    ended: set[str] = set()
    check(tree.judged({}), tree.judged(SATURATED), asked, before)
    for _ in range(12):
        if not doc.streams:
            break
        stream = chance.choice(doc.streams)
        if chance.random() < 0.1:
            doc.end(stream)
            ended.add(stream)
        else:
            fragment = random_fragment(chance)
            doc.add(stream, fragment_xml(fragment))
            tree.add(stream, fragment)
        tree.drop(ended)
        check(tree.judged({}), tree.judged(SATURATED), asked, before)
    from_scratch(doc, asked[:1])


def from_scratch(doc: Document, asked: list[Query]) -> None:
    """Views that followed each update are those that are built from what there is."""
    for query in asked:
        again = doc.query(query.xpath)
        assert [each for each in again.answers if isinstance(each, Node)] == query.answers
        assert again.possible == query.possible
