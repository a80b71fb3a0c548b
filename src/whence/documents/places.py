"""Where the steps of a query can be matched: the top-down half of PossibleSat, over paths instead of nodes.

The paper's relation p̂ has the nodes whose ancestors match the steps above p. Whether they do depends on labels alone,
so it is told by a node's path when the path is first seen, and what arrives there is a table. So a view reads the few
nodes that are at its place, an update does not even reach the views of places where nothing came, and rows at paths
that no query can look at need not be kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from whence.documents.nodes import Path, ancestors
from whence.documents.xpath.syntax import ANY_NAME, And, Comparison, Expression, Or, PathExpression, Step

TEXT_STEP = Step("child", "text", "")
Reach: TypeAlias = Literal["at", "below"]
"""Nodes at a position, or the elements below those."""

# An underscore at an end would meet the one between words.
_NOT_IN_NAMES = re.compile(r"\W|^_|_$")


@dataclass(frozen=True, eq=False, slots=True)
class Position:
    """A step of a query, below another or below the root: what the labels of a path tell of it."""

    step: Step
    above: Position | None

    def is_at(self, path: Path) -> bool:
        """Whether the labels of a path match the steps down to this one."""
        if self.step.kind != path.kind or (self.step.name != ANY_NAME and self.step.label != path.label):
            return False
        if self.step.axis == "child":
            return path.above.parent is None if self.above is None else self.above.matches(path.above)
        return self.above is None or self.above.is_around(path.above)

    def matches(self, path: Path) -> bool:
        """As `is_at`, of any path: the root is matched by no step."""
        return path.parent is not None and self.is_at(path)

    def is_around(self, path: Path) -> bool:
        """Whether the path, or one that it begins with, is matched."""
        return any(self.matches(each) for each in ancestors(path))


@dataclass(frozen=True, eq=False, slots=True)
class Route:
    """The nodes that a step of a query can look at: a table of a document, with the columns of its table of elements or
    of its table of texts.
    """

    document: str
    position: Position
    reach: Reach = "at"

    @property
    def table(self) -> str:
        """`orders_?at_orders_order`: two queries that look at the same nodes share it."""
        words: list[str] = []
        position: Position | None = self.position
        while position is not None:
            words.append(_word(position.step))
            position = position.above
        return "_".join((self.document, f"?{self.reach}", *reversed(words)))

    @property
    def is_of_elements(self) -> bool:
        return self.reach != "at" or self.position.step.kind == "element"

    def declaration(self) -> str:
        values = "" if self.is_of_elements else ", value: symbol, number: float nullable"
        return f".decl {self.table}(node: number, parent: number, path: number{values}) bag"

    def takes(self, path: Path) -> bool:
        """Whether nodes of this path go here."""
        if self.reach == "at":
            return self.position.matches(path)
        return path.kind == "element" and path.parent is not None and self.position.is_around(path.parent)


def _word(step: Step) -> str:
    """The label as part of a name, in which an underscore stands between words and a question mark in no label."""
    axis = "?in_" if step.axis == "descendant" else ""
    if step.kind == "text":
        return f"{axis}?text"
    kind = "?of_" if step.kind == "attribute" else ""
    spelled = _NOT_IN_NAMES.sub(lambda found: f"?{ord(found[0]):x}?", step.name).replace("_", "__")
    return f"{axis}{kind}{'?any' if step.name == ANY_NAME else spelled}"


@dataclass(frozen=True, slots=True)
class Tables:
    """The relations of a document, by its name."""

    document: str

    @property
    def element(self) -> str:
        return f"{self.document}_element"

    @property
    def text(self) -> str:
        return f"{self.document}_text"

    @property
    def path(self) -> str:
        return f"{self.document}_path"

    @property
    def stream(self) -> str:
        return f"{self.document}_stream"

    @property
    def open(self) -> str:
        """The nodes of streams that can bring what a query asks for at a step."""
        return f"{self.document}_open"

    def declarations(self) -> str:
        return f"""
            .decl {self.path}(path: number, parent: number, label: symbol, kind: symbol)
            .decl {self.element}(node: number, parent: number, path: number) bag
            .decl {self.text}(node: number, parent: number, path: number, value: symbol, number: float nullable) bag
            .decl {self.stream}(node: number, parent: number, path: number, stream: symbol, label: symbol,
                is_call: boolean)
            .decl {self.open}(step: symbol, node: number, parent: number, path: number, stream: symbol)
        """


@dataclass(slots=True)
class Rules:
    """The rules of one query, as they are added, and names for their relations."""

    name: str
    lines: list[str] = field(default_factory=list)
    routes: dict[str, Route] = field(default_factory=dict)
    """The tables of nodes that they read, by name."""

    _next: int = 0

    def fresh(self, what: str) -> str:
        """A relation that is part of this query: `paid$has3`."""
        self._next += 1
        return f"{self.name}${what}{self._next}"

    def add(self, head: str, *body: str) -> None:
        self.lines.append(f"{head} :- {', '.join(body)}.")

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


class Place:
    """The paths at which a step of a query can be matched; at the root it is the document itself."""

    def __init__(self, rules: Rules, tables: Tables, position: Position | None = None) -> None:
        self.rules = rules
        self.tables = tables
        self.position = position
        self._below: str | None = None
        self._steps: dict[Step, Place] = {}

    @property
    def is_root(self) -> bool:
        return self.position is None

    def nodes(self, reach: Reach = "at") -> str:
        """The table of the nodes at these paths, or of the elements below them."""
        if self.position is None:
            return self.tables.element
        route = Route(self.tables.document, self.position, reach)
        self.rules.routes[route.table] = route
        return route.table

    def edges_below(self) -> str:
        """The relation of the elements below these places, with their parents."""
        if self._below is None:
            self._below = self.rules.fresh("edge")
            self.rules.add(f"{self._below}(n, y)", f"{self.nodes('below')}(n, y, _)")
        return self._below

    def step(self, step: Step) -> Place:
        """Where the step leads to from here."""
        if step not in self._steps:
            self._steps[step] = Place(self.rules, self.tables, Position(step, self.position))
        return self._steps[step]


def closed(rules: Rules, what: str, base: str, edge: str, *, upwards: bool, values: str = "") -> str:
    """The relation of what is reached from the nodes of `base` along the edges (child, parent), themselves included.

    Only the recursion itself reads the edges, and only a copy of it is read from above: a join with a recursive view
    is kept by the recursion's means, which are slower for a document's many rows than counting in columns.
    """
    reached, copied = rules.fresh(what), rules.fresh(what)
    rules.add(f"{reached}(n{values})", f"{base}(n{values})")
    step = f"{edge}(n, y)"
    head, body = ("y", "n") if upwards else ("n", "y")
    rules.add(f"{reached}({head}{values})", f"{reached}({body}{values})", step)
    rules.add(f"{copied}(n{values})", f"{reached}(n{values})")
    return copied


class Needs:
    """What some queries look at. `document` is the one whose paths are asked about."""

    def __init__(self, document: str) -> None:
        self._document = document
        self._positions: list[Position] = []

    def add(self, path: PathExpression, owner: str, columns: Sequence[PathExpression] = ()) -> None:
        """Another query, of the document that owns it."""
        end = self._path(path, None, owner)
        self._value(path, end)
        for column in columns:
            self._value(column, self._path(column, end, owner))

    def wants(self, path: Path) -> bool:
        """Whether a query can look at nodes there: at a step, or on the way from one to its descendants."""
        if any(position.is_at(path) for position in self._positions):
            return True
        if path.kind != "element":
            return False
        climbed = [position.above for position in self._positions if position.step.axis == "descendant"]
        return any(position is not None and position.is_around(path) for position in climbed)

    def _path(self, path: PathExpression, context: Position | None, owner: str) -> Position | None:
        if path.document is not None or path.absolute:
            owner, context = path.document or owner, None
        here = context
        for step in path.steps:
            here = Position(step, here)
            if owner == self._document:
                self._positions.append(here)
            for predicate in step.predicates:
                for part, is_value in _paths(predicate):
                    end = self._path(part, here, owner)
                    if is_value and (part.document or owner) == self._document:
                        self._value(part, end)
        return here

    def _value(self, path: PathExpression, end: Position | None) -> None:
        if end is not None and (not path.steps or path.steps[-1].kind == "element"):
            self._positions.append(Position(TEXT_STEP, end))


def _paths(part: Expression) -> Iterator[tuple[PathExpression, bool]]:
    """The paths of a predicate, and whether their values count."""
    match part:
        case And(parts=parts) | Or(parts=parts):
            for each in parts:
                yield from _paths(each)
        case Comparison(left=left, right=right):
            yield left, True
            if isinstance(right, PathExpression):
                yield right, True
        case PathExpression():
            yield part, False
