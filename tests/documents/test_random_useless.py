"""What a useless stream brings never changes an answer, whatever the others bring: by random continuations."""

from __future__ import annotations

import random
from copy import deepcopy

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.documents.test_random_verdicts import queries
from tests.documents.trees import STREAMS, Stream, Tree, fragment_xml, judge, random_fragment, random_tree
from whence.documents import Document, Query

# Continuations of each document.
TRIES = 30


def continued(chance: random.Random, tree: Tree, useless: set[str]) -> tuple[str, str]:
    """The document after some updates, and after the same without those of useless streams."""
    whole, part = deepcopy(tree), deepcopy(tree)
    for _ in range(chance.randint(1, 4)):
        stream = chance.choice(STREAMS)
        fragment = random_fragment(chance)
        for each in fragment:
            if isinstance(each, Tree):
                each.drop(set(STREAMS))
        whole.add(stream, fragment)
        if stream not in useless:
            part.add(stream, fragment)
    return whole.judged({}), part.judged({})


def check(chance: random.Random, doc: Document, tree: Tree, asked: list[Query]) -> None:
    useless = set(doc.useless())
    if not useless:
        return
    for _ in range(TRIES):
        whole, part = continued(chance, tree, useless)
        for query in asked:
            assert len(judge(whole, query.xpath)) == len(judge(part, query.xpath)), (query.xpath, useless, whole)


@given(st.integers(0, 2**32))
@settings(max_examples=12)
def test_useless_streams_change_nothing(seed: int) -> None:
    chance = random.Random(seed)
    tree = random_tree(chance, 2)
    tree.label = "a"
    tree.children.append(Stream(chance.choice(STREAMS)))
    doc = Document.xml(tree.xml())
    asked = queries(chance, doc, 2)
    check(chance, doc, tree, asked)
    for _ in range(3):
        if not doc.streams:
            break
        stream, fragment = chance.choice(doc.streams), random_fragment(chance)
        doc.add(stream, fragment_xml(fragment))
        tree.add(stream, fragment)
        check(chance, doc, tree, asked)
