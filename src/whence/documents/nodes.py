"""What has arrived of a document, as rows: elements, texts and streams, each with its path of labels.

A path is a number. All nodes that are reached by the same labels share it, so that there are few paths however large a
document grows, and what a query asks of labels is worked out once for each path and not for each node.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from whence.documents.xpath.syntax import Kind
from whence.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

# The label of a text; that of an attribute begins with an at sign. No element can be called so.
TEXT = "text()"
ATTRIBUTE = "@"
# The document itself, above its outermost element.
ROOT = 0
# More rows than these are handed over as columns, which takes longer to begin with.
MOST_TUPLES = 300
ANYTHING = ""
"""What a stream brings that is not bound to one label."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one text may bring: a few bytes of XML or JSON can unfold to more than a machine holds.

    Of one document or fragment. What goes beyond is refused, and nothing of that tree is taken.
    """

    depth: int = 256
    """Elements within elements, from the document's root on."""

    nodes: int = 10_000_000
    """Elements, attributes and texts."""

    paths: int = 100_000
    """Different paths of labels in the whole document: the part of the state that is not rows of columns."""

    text: int = 100_000_000
    """Characters of one text or attribute."""


DEFAULT_LIMITS = Limits()


class LimitError(DataError):
    """More than a document may have."""

    def __init__(self, what: str, most: int, option: str) -> None:
        super().__init__(
            f"{what}, and {most:,} is the limit",
            hint=f"if it is meant, give the document more: limits=Limits({option}=...)",
        )


class Path:
    """The labels from the root to a node. `wanted` tells whether rows at this path are kept, and `tables` to which
    tables of queries they go beside.
    """

    __slots__ = ("children", "depth", "kind", "label", "number", "parent", "tables", "wanted")

    def __init__(self, number: int, label: str, kind: Kind, parent: Path | None, wanted: bool) -> None:
        self.number = number
        self.label = label
        self.kind = kind
        self.parent = parent
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.children: dict[str, Path] = {}
        self.wanted = wanted
        self.tables: tuple[str, ...] = ()

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
        self.tables: Callable[[Path], tuple[str, ...]] = lambda _: ()
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
            found.tables = self.tables(found)
            parent.children[label] = found
            self.all.append(found)
            self.fresh.append(found)
        return found

    def rows(self) -> list[tuple[int, int, str, str]]:
        """The fresh paths as rows of the table of paths."""
        return [
            (path.number, path.parent.number, path.label, path.kind) for path in self.fresh if path.parent is not None
        ]

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

    is_call: bool = False
    """Whether it brings one tree and ends with that."""

    def row(self) -> tuple[int, int, int, str, str, bool]:
        return self.node, self.parent, self.path.number, self.stream, self.label, self.is_call


class PathRows:
    """What arrived at one path, in columns that grow together; elements have no values."""

    __slots__ = ("add_node", "add_parent", "add_value", "children", "nodes", "parents", "path", "values", "wanted")

    def __init__(self, path: Path) -> None:
        self.path = path
        self.wanted = path.wanted
        self.children: dict[str, PathRows] = {}
        self.nodes: list[int] = []
        self.parents: list[int] = []
        self.values: list[str] = []
        # They are called for every node, and to look them up takes as long as the call.
        self.add_node, self.add_parent = self.nodes.append, self.parents.append
        self.add_value = self.values.append

    def cut(self, node: int) -> None:
        """Without this node and all after it."""
        kept = bisect_left(self.nodes, node)
        del self.nodes[kept:], self.parents[kept:], self.values[kept:]

    def rows(self) -> list[Any]:
        number = self.path.number
        if self.path.kind == "element":
            return [(node, parent, number) for node, parent in zip(self.nodes, self.parents, strict=True)]
        columns = zip(self.nodes, self.parents, self.values, numbers(self.values), strict=True)
        return [(node, parent, number, value, as_number) for node, parent, value, as_number in columns]

    def table(self) -> pa.Table:
        import pyarrow as pa

        columns: dict[str, Any] = {
            "node": pa.array(self.nodes, pa.int64()),
            "parent": pa.array(self.parents, pa.int64()),
            "path": pa.array(np.full(len(self.nodes), self.path.number)),
        }
        if self.path.kind != "element":
            columns["value"] = pa.array(self.values, pa.string())
            columns["number"] = pa.array(numbers(self.values), pa.float64())
        return pa.table(columns)


Mark: TypeAlias = tuple[int, int, int]
"""The next node, and how many streams and fresh paths there are."""


class Arrival:
    """Nodes by their paths; `next` is the number of the next node."""

    def __init__(self, paths: Paths, first: int) -> None:
        self.paths = paths
        self.next = first
        self.streams: list[StreamNode] = []
        self._at: dict[int, PathRows] = {}

    def at(self, path: Path) -> PathRows:
        """The rows of a path."""
        found = self._at.get(path.number)
        if found is None:
            found = self._at[path.number] = PathRows(path)
        return found

    def below(self, above: PathRows, label: str, kind: Kind = "element") -> PathRows:
        """The rows of the path with one more label."""
        path = above.path.children.get(label) or self.paths.below(above.path, label, kind)
        found = above.children[label] = self.at(path)
        return found

    def arrived_paths(self) -> list[Path]:
        """Those that nodes came at."""
        return [each.path for each in self._at.values() if each.nodes]

    def mark(self) -> Mark:
        """Where the next tree begins."""
        return self.next, len(self.streams), len(self.paths.fresh)

    def cut(self, mark: Mark) -> None:
        """Take back what came after a mark: the tree in which something was wrong."""
        self.next, streams, paths = mark
        del self.streams[streams:]
        self.paths.forget_fresh(paths)
        known = len(self.paths.all)
        self._at = {number: rows for number, rows in self._at.items() if number < known}
        for rows in self._at.values():
            rows.cut(self.next)
            rows.children = {label: below for label, below in rows.children.items() if below.path.number < known}

    def tables(self, element: str, text: str) -> dict[str, Any]:
        """The rows that arrived, by the tables that they go to."""
        found: dict[str, list[Any]] = {}
        is_small = sum(len(each.nodes) for each in self._at.values()) <= MOST_TUPLES
        for each in self._at.values():
            if each.nodes:
                rows = each.rows() if is_small else each.table()
                for table in (element if each.path.kind == "element" else text, *each.path.tables):
                    if is_small:
                        found.setdefault(table, []).extend(rows)
                    else:
                        found.setdefault(table, []).append(rows)
        return found if is_small else {table: _joined(parts) for table, parts in found.items()}


def _joined(parts: list[pa.Table]) -> pa.Table:
    import pyarrow as pa

    return pa.concat_tables(parts).combine_chunks() if len(parts) > 1 else parts[0]


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
