"""Which streams of a document can be closed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from whence.documents.scenarios import is_needed
from whence.documents.subtree import TooLargeError, TreeNode, load

if TYPE_CHECKING:
    from whence.documents.document import Document
    from whence.documents.query import Query

# Nodes that one question loads at most, to try scenarios on.
MOST_NODES = 5_000


def useless_streams(document: Document, queries: Iterable[Query]) -> tuple[str, ...]:
    """The streams that no query needs: first by views, and what these leave open by scenarios."""
    useful: set[str] = set()
    for query in queries:
        found = {stream for name, stream in query.useful() if name == document.name} - useful
        if found:
            useful |= _needed(document, query, found)
    return tuple(stream for stream in document.streams if stream not in useful)


def _needed(document: Document, query: Query, streams: set[str]) -> set[str]:
    """Of the streams that views have not ruled out, those that cannot be ruled out at all."""
    if query.columns is not None or query.document is not document:
        return streams
    needed = streams & query.sources()
    room = [MOST_NODES]
    places = document.places()
    try:
        for step, node in query.waiting():
            if needed == streams:
                break
            tree = load(document, node, query.path.steps[step].name, places, room)
            needed |= {stream for stream in streams - needed if _is_needed(query, step, stream, tree)}
    except TooLargeError:
        return streams
    return needed


def _is_needed(query: Query, step: int, stream: str, tree: TreeNode) -> bool:
    predicates = query.path.steps[step].predicates
    return is_needed(stream, predicates, tree, source=query.document.source)
