"""Documents that are still arriving: throughput against lxml, the cost of an update, and memory."""

from __future__ import annotations

import io
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from lxml import etree

import whence
from benchmarks.documents_auctions import Auctions
from benchmarks.harness import FEWEST_RUNS, Report, Timing, main, resident_bytes
from whence.documents import Document, Query

QUERIES = (
    '/site/people/person[address/city = "Oslo"]/name',
    "/site/open_auctions/open_auction[bidder/increase > 20][reserve]/@id",
    "//item[mailbox/mail]/name",
    "/site/closed_auctions/closed_auction[annotation//keyword][price >= 400]/itemref/@item",
    "/site/people/person[@id = /site/open_auctions/open_auction/seller/@person]/emailaddress",
)
LXML = "lxml iterparse, alone"
Keep = Literal["all", "needed"]


@dataclass(frozen=True)
class Sizes:
    bytes: int = 10_000_000
    piece: int = 1_000_000
    small_piece: int = 200_000
    nodes: int = 1_000_000
    updates: int = 60


def processor_seconds(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def opened(keep: Keep) -> tuple[Document, list[Query]]:
    doc = Document.xml(Auctions().frame(), name="site", keep=keep, database=whence.connect(keep_versions=1))
    return doc, [doc.query(query) for query in QUERIES]


def iterparse(data: bytes) -> None:
    for _ in etree.iterparse(io.BytesIO(data)):
        pass


def answers_of_lxml(data: bytes) -> list[int]:
    """How many answers each query has on the finished document; joins compare attributes, and so does lxml."""
    tree = etree.fromstring(data).getroottree()
    return [len(tree.xpath(query)) for query in QUERIES[:4]]


def arrive(doc: Document, pieces: list[tuple[str, str]]) -> None:
    for stream, piece in pieces:
        doc.add(stream, piece)


def throughput(report: Report, sizes: Sizes) -> None:
    data = Auctions().whole(sizes.bytes).encode()
    expected = answers_of_lxml(data)
    cases: tuple[tuple[str, int, Keep], ...] = (
        (f"pieces of {sizes.piece:,} characters, everything kept", sizes.piece, "all"),
        (f"pieces of {sizes.piece:,} characters, what queries need kept", sizes.piece, "needed"),
        (f"pieces of {sizes.small_piece:,} characters, everything kept", sizes.small_piece, "all"),
        (f"pieces of {sizes.small_piece:,} characters, what queries need kept", sizes.small_piece, "needed"),
    )
    for what, piece, keep in cases:
        pieces = list(Auctions().pieces(sizes.bytes, piece))
        ours, theirs = [], []
        for _ in range(FEWEST_RUNS):
            doc, queries = opened(keep)
            theirs.append(processor_seconds(lambda: iterparse(data)))
            ours.append(processor_seconds(lambda doc=doc, pieces=pieces: arrive(doc, pieces)))  # type: ignore[misc]
            assert [len(query.answers) for query in queries[:4]] == expected
        report.compare(what, Timing(ours), LXML, Timing(theirs))


def growth(report: Report, sizes: Sizes) -> None:
    """Updates of one person or auction each, on a document that grows by half an order of magnitude at a time."""
    doc, _ = opened("all")
    rest = Auctions(2).pieces(100 * sizes.nodes, 500_000)
    small = [(stream, piece) for stream, piece in Auctions(3).fragments(sizes.updates * 2_000)][: sizes.updates]
    goals = [goal for goal in (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000) if goal <= sizes.nodes]
    points: list[tuple[float, float]] = []
    for goal in goals:
        while doc.size < goal:
            stream, piece = next(rest)
            # Pieces as large as what is missing: a node takes some 20 characters.
            doc.add(stream, piece if goal - doc.size > 25_000 else first_trees(piece, 20 * (goal - doc.size)))
        seconds = sorted(
            processor_seconds(lambda stream=stream, piece=piece: doc.add(stream, piece))  # type: ignore[misc]
            for stream, piece in small
        )
        points.append((float(doc.size), seconds[len(seconds) // 2]))
        report.figure(f"one update, {doc.size:,} nodes, five queries", points[-1][1] * 1000, "ms")
    report.curve("one update, five queries maintained", "nodes of the document", "seconds", points)


def first_trees(piece: str, size: int) -> str:
    """The first trees of a piece, as many as fit, but one at least."""
    end = 0
    for event_end in tree_ends(piece):
        if end and event_end > size:
            break
        end = event_end
    return piece[:end]


def tree_ends(piece: str) -> list[int]:
    name = piece[1:].split(" ", 1)[0].split(">", 1)[0]
    close = f"</{name}>"
    ends, at = [], 0
    while (found := piece.find(close, at)) >= 0:
        at = found + len(close)
        ends.append(at)
    return ends


def memory(report: Report, sizes: Sizes) -> None:
    """Resident memory while a document arrives, each way of keeping it in a process of its own."""
    for keep, what in (("all", "everything kept"), ("needed", "what queries need kept")):
        command = [sys.executable, "-m", "benchmarks.documents", "--memory-of", keep, str(sizes.bytes)]
        told = subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603 - this module
        points = [(float(a), float(b)) for a, b in (line.split() for line in told.splitlines())]
        report.curve(what, "megabytes that arrived", "megabytes of memory", points)
        report.figure(f"memory after {points[-1][0]:.0f} MB, {what}", points[-1][1], "MB more than before")


def tell_memory(keep: Keep, size: int) -> None:
    warm, _ = opened(keep)
    arrive(warm, list(Auctions(5).pieces(500_000, 100_000)))
    doc, _ = opened(keep)
    before, arrived = resident_bytes(), 0
    for number, (stream, piece) in enumerate(Auctions().pieces(size, 100_000)):
        doc.add(stream, piece)
        arrived += len(piece)
        if number % 5 == 4:
            print(arrived / 1e6, max(0, resident_bytes() - before) / 1e6)


def run(sizes: Sizes) -> Report:
    report = Report(
        "documents",
        "Documents that are still arriving",
        f"A site of auctions like XMark's, of {sizes.bytes / 1e6:.0f} MB, arrives in pieces by nine streams, and five "
        "queries are maintained: values, numbers, descendants, and a join of people with auctions. Against lxml's "
        "iterparse, which reads the finished document and does nothing else. Processor time.",
    )
    warm, _ = opened("all")
    arrive(warm, list(Auctions(4).pieces(min(sizes.bytes, 1_000_000), 100_000)))
    throughput(report, sizes)
    growth(report, sizes)
    memory(report, sizes)
    return report


if __name__ == "__main__":
    if sys.argv[1:2] == ["--memory-of"]:
        tell_memory("all" if sys.argv[2] == "all" else "needed", int(sys.argv[3]))
    else:
        main(run, full=Sizes(), quick=Sizes(bytes=300_000, piece=100_000, small_piece=50_000, nodes=3_000, updates=5))
