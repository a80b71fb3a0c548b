"""What has arrived of a document, as rows: elements, texts and streams, each with its path of labels.

A path is a number. All nodes that are reached by the same labels share it, so that there are few paths however large a
document grows, and what a query asks of labels is worked out once for each path and not for each node.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from whence.documents.limits import LimitError, Limits
from whence.documents.xpath.syntax import Kind

if TYPE_CHECKING:
    import pyarrow as pa

# The label of a text; that of an attribute begins with an at sign. No element can be called so.
TEXT = "text()"
ATTRIBUTE = "@"
# The document itself, above its outermost element.
ROOT = 0
ANYTHING = ""
"""What a stream brings that is not bound to one label."""


class Path:
    """The labels from the root to a node. `wanted` tells whether rows at this path are kept."""

    __slots__ = ("children", "depth", "kind", "label", "number", "parent", "wanted")

    def __init__(self, number: int, label: str, kind: Kind, parent: Path | None, wanted: bool) -> None:
        self.number = number
        self.label = label
        self.kind = kind
        self.parent = parent
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.children: dict[str, Path] = {}
        self.wanted = wanted

    @property
    def above(self) -> Path:
        """The parent; the root has none."""
        assert self.parent is not None
        return self.parent

    def __str__(self) -> str:
        """`/order/item/@id`."""
        return "/" + "/".join(self.labels())

    def labels(self) -> list[str]:
        found: list[str] = []
        here: Path | None = self
        while here is not None and here.parent is not None:
            found.append(here.label)
            here = here.parent
        return found[::-1]


class Paths:
    """All paths of a document. `fresh` are those that are not rows of its table yet."""

    def __init__(self, limits: Limits) -> None:
        self.root = Path(ROOT, "", "element", None, True)
        self.all = [self.root]
        self.fresh: list[Path] = []
        self.wanted: Callable[[Path], bool] = lambda _: True
        self._limits = limits

    def below(self, parent: Path, label: str, kind: Kind = "element") -> Path:
        """The path with one more label."""
        found = parent.children.get(label)
        if found is None:
            if len(self.all) > self._limits.paths:
                raise LimitError("the document has too many different paths of labels", self._limits.paths, "paths")
            found = Path(len(self.all), label, kind, parent, False)
            if found.depth > self._limits.depth + 1:
                raise LimitError("elements are nested too deeply", self._limits.depth, "depth")
            found.wanted = self.wanted(found)
            parent.children[label] = found
            self.all.append(found)
            self.fresh.append(found)
        return found

    def rows(self) -> list[tuple[int, int, str, str]]:
        """The fresh paths as rows of the table of paths."""
        return [
            (path.number, path.parent.number, path.label, path.kind) for path in self.fresh if path.parent is not None
        ]

    def within_rows(self) -> list[tuple[int, int]]:
        """The fresh paths with all that they begin with."""
        return [(path.number, above.number) for path in self.fresh for above in ancestors(path)]

    def forget_fresh(self, kept: int = 0) -> None:
        """The paths since the last commit, but for the first, were only of nodes that are refused."""
        for path in reversed(self.fresh[kept:]):
            del path.above.children[path.label]
            self.all.pop()
        del self.fresh[kept:]


@dataclass(frozen=True, slots=True)
class StreamNode:
    """A place where data keeps arriving: what comes is added under `parent`."""

    node: int
    parent: int
    path: Path
    """Of the parent."""

    stream: str
    label: str = ANYTHING
    """What it brings are nodes of this label, as in a JSON array; or anything."""

    def row(self) -> tuple[int, int, int, str, str]:
        return self.node, self.parent, self.path.number, self.stream, self.label


@dataclass(slots=True)
class Arrival:
    """Nodes in columns, as lists that grow together; `next` is the number of the next node."""

    paths: Paths
    next: int
    element: list[int] = field(default_factory=list)
    element_parent: list[int] = field(default_factory=list)
    element_path: list[int] = field(default_factory=list)
    text: list[int] = field(default_factory=list)
    text_parent: list[int] = field(default_factory=list)
    text_path: list[int] = field(default_factory=list)
    value: list[str] = field(default_factory=list)
    streams: list[StreamNode] = field(default_factory=list)

    def mark(self) -> tuple[int, int, int, int, int]:
        """Where the next tree begins."""
        return self.next, len(self.element), len(self.text), len(self.streams), len(self.paths.fresh)

    def cut(self, mark: tuple[int, int, int, int, int]) -> None:
        """Take back what came after a mark: the tree in which something was wrong."""
        self.next, elements, texts, streams, paths = mark
        for column in (self.element, self.element_parent, self.element_path):
            del column[elements:]
        for values in (self.text, self.text_parent, self.text_path, self.value):
            del values[texts:]
        del self.streams[streams:]
        self.paths.forget_fresh(paths)

    def element_rows(self) -> pa.Table:
        import pyarrow as pa

        return pa.table({"node": self.element, "parent": self.element_parent, "path": self.element_path})

    def text_rows(self) -> pa.Table:
        import pyarrow as pa

        return pa.table(
            {
                "node": self.text,
                "parent": self.text_parent,
                "path": self.text_path,
                "value": pa.array(self.value, pa.string()),
                "number": pa.array(numbers(self.value), pa.float64()),
            }
        )


_NUMBER = re.compile(r"[ \t\r\n]*(-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))[ \t\r\n]*")
# Digits of a number that is far from the largest DOUBLE.
SURELY_FINITE = 300
_FIRST_OF_A_NUMBER = frozenset("0123456789-. \t\r\n")


def numbers(values: list[str]) -> list[float | None]:
    """What XPath takes each text for when it is compared with a number; None where it is not one."""
    return [number(value) if value[:1] in _FIRST_OF_A_NUMBER else None for value in values]


def number(value: str) -> float | None:
    """As XPath's number(): digits with at most a point and a minus sign, and white space around."""
    if value.isascii() and value.isdigit() and len(value) < SURELY_FINITE:
        return float(value)
    found = _NUMBER.fullmatch(value)
    # What is beyond the largest DOUBLE would be infinite, which no column holds: it is above everything else like this.
    return None if found is None else max(-sys.float_info.max, min(sys.float_info.max, float(found[1])))


def ancestors(path: Path) -> Iterator[Path]:
    """The path and all above it, the root last."""
    here: Path | None = path
    while here is not None:
        yield here
        here = here.parent
