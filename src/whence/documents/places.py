"""Where the steps of a query can be matched: the top-down half of PossibleSat, over paths instead of nodes.

The paper's relation p̂ has the nodes whose ancestors match the steps above p. Whether they do depends on labels alone,
so it is told by a node's path when the node arrives, and what arrives there is a table.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from whence.documents.positions import Position
from whence.documents.routes import Reach, Route
from whence.documents.xpath.syntax import Step


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
