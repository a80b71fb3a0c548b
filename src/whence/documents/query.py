"""A query over an arriving document: its verdict, its answers, and what may still come."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from whence.algebra.semiring import Truth
from whence.documents.calls import UndecidedError, can_become_true
from whence.documents.compile import Names, check_attributes, compile_query
from whence.documents.explanation import Missing, missing
from whence.documents.nodes import Path
from whence.documents.relevance import add_relevance
from whence.documents.satisfiable import Row as OpenRow
from whence.documents.tuples import compile_tuples
from whence.documents.xpath.parse import parse_condition, parse_query, parse_relative
from whence.documents.xpath.syntax import And, Comparison, Expression, Or, PathExpression
from whence.errors import DataError, TypeMismatchError, UnknownNameError, did_you_mean
from whence.session.feeds import Subscription

if TYPE_CHECKING:
    import pyarrow as pa

    from whence.documents.document import Document
    from whence.explain.hypothetical.what_if import WhatIf
    from whence.explain.proofs.proof import ProofStep

STATUS: dict[Truth, str] = {Truth.TRUE: "true", Truth.MAYBE: "not yet", Truth.FALSE: "never"}


@dataclass(frozen=True, slots=True)
class Node:
    """A node of a document: its number, its path of labels, and its text if it has one, the least if it has several."""

    number: int
    path: str
    value: str | None = None

    def __lt__(self, other: Node) -> bool:
        """In the order in which they came."""
        return self.number < other.number

    def __str__(self) -> str:
        return self.path if self.value is None else f"{self.path} {self.value!r}"


@dataclass(frozen=True, slots=True)
class Unknown:
    """`?`: a value that is not known yet, or an answer that a stream may bring; `path` is where the stream stands."""

    stream: str = ""
    path: str = ""

    def __str__(self) -> str:
        return f"? from {self.stream} at {self.path}" if self.stream else "?"

    def __repr__(self) -> str:
        return str(self)


UNKNOWN = Unknown()
Row: TypeAlias = tuple[str | Unknown, ...]
Answer: TypeAlias = Node | Row


@dataclass(frozen=True, slots=True)
class Change:
    """What a commit did to a query. After a change that is `final` nothing more can come."""

    status: str
    came: tuple[Answer, ...]
    final: bool


# _change_type, _commit_version, _commit_timestamp
FEED_COLUMNS = 3


class Query:
    """`Document.query` makes one. Its answers are the relation `name`, which rules and SQL can read."""

    def __init__(
        self, document: Document, xpath: str, name: str, select: Mapping[str, str] | None, where: str | None
    ) -> None:
        if not isinstance(xpath, str):
            raise TypeMismatchError(f"a query is a text, not a {type(xpath).__name__}")
        if where is not None and select is None:
            raise TypeMismatchError("where= compares columns, and there are none", hint="name them with select=")
        self.document = document
        self.name = name
        self.xpath = xpath
        self.path = parse_query(xpath)
        self.columns = None if select is None else {name: parse_relative(path) for name, path in select.items()}
        self.where = None if where is None else parse_condition(where)
        self._select, self._where = None if select is None else dict(select), where
        self.names = Names(name)
        self._has_useful = False
        self._decided: tuple[int, str] | None = None
        for path in (self.path, *(self.columns or {}).values()):
            check_attributes(path)
            self._check_documents(path)

    def define(self) -> None:
        """Make the views, and tell them which streams can bring what they ask for."""
        self._compile()
        self._install()

    def _compile(self) -> None:
        own = self.document.name
        if self.columns is None:
            self._compiled = compile_query(self.name, own, self.path)
        else:
            self._compiled = compile_tuples(self.name, own, self.path, self.columns, self.where)

    def useful(self) -> set[tuple[str, str]]:
        """Documents and streams that may still change the answers, as far as views can tell (Algorithm 3)."""
        if not self._has_useful:
            add_relevance(self._compiled, self.names)
            self._install()
            self._has_useful = True
        return {(str(document), str(stream)) for document, stream in self._rows(self.names.useful)}

    def why(self, answer: Node) -> list[Node]:
        """The nodes by which this is an answer, each once. `database.why` tells it in rules."""
        found = [row for row in self._rows(self.name) if row[0] == answer.number]
        if not found:
            raise DataError(f"{answer} is no answer of {self.xpath}", hint="why_not() tells what is missing")
        proof = self.document.database.why(self.name, found[0])
        nodes = {self._proved(step) for root in proof.roots for step in root.walk() if step.kind == "base"}
        return sorted(node for node in nodes if node is not None)

    def why_not(self) -> list[Missing]:
        """What is missing for an answer, or for another one, and which streams could bring it."""
        return missing(self)

    def source_places(self) -> list[tuple[Path, str]]:
        """Where streams stand that may bring answers, and their names."""
        if self.columns is not None:
            places = [each for nodes in self.document.places().values() for each in nodes]
            found = {row[0] for row in self._rows(self.names.possible) if row[-1]}
            return sorted(((each.path, each.stream) for each in places if each.node in found), key=str)
        rows = {(row[1], row[2]) for row in self._rows(self.names.possible) if row[2]}
        return [(self.document.paths.all[path], stream) for path, stream in sorted(rows)]

    def _proved(self, step: ProofStep) -> Node | None:
        """The node that a row of the document's tables is."""
        relation, row = step.fact
        document = self.document.owner(relation)
        if document is None:
            return None
        number, _, path, *rest = row
        assert isinstance(number, int)
        assert isinstance(path, int)
        return Node(number, str(document.paths.all[path]), str(rest[0]) if rest else None)

    def sources(self) -> set[str]:
        """The streams that may bring answers."""
        return {row[-1] for row in self._rows(self.names.possible)} - {""}

    def waiting(self) -> list[tuple[int, int]]:
        """Steps of the path, and nodes there that may yet be part of an answer and lack what the predicates ask for."""
        self.useful()
        has_predicates = any(step.predicates for step in self.path.steps)
        return sorted(self._rows(self.names.waiting)) if has_predicates or self.columns is not None else []

    def restore(self) -> None:
        """The views are there already; their document has to know what they ask of it."""
        self._compile()
        if self.document.database.catalog().find(self.names.useful) is not None:
            add_relevance(self._compiled, self.names)
            self._has_useful = True
        self._register()

    def text(self) -> dict[str, Any]:
        """As it was asked."""
        return {"xpath": self.xpath, "select": self._select, "where": self._where}

    def _install(self) -> None:
        """What was compiled since the last time."""
        rules, database = self._compiled.context.rules, self.document.database
        text = rules.text
        rows = self._register()
        database.rules(text, name=f"{self.name} ({self.xpath})")
        if rows:
            with database.batch() as batch:
                for table, brought in rows.items():
                    batch.insert(table, brought)

    def _register(self) -> dict[str, list[OpenRow]]:
        """Tell each document what is asked of it. The rows of what its streams can bring of that."""
        context = self._compiled.context
        found: dict[str, list[OpenRow]] = {}
        routes = context.rules.routes.values()
        for name in {each.document for each in context.openings} | {each.document for each in routes}:
            other = self._document(name)
            other.add_routes(each for each in routes if each.document == name)
            rows = other.register(each for each in context.openings if each.document == name)
            if rows:
                found[other.tables.open] = rows
        context.rules.lines.clear()
        context.openings.clear()
        return found

    @property
    def truth(self) -> Truth:
        """True with an answer; not yet without one as long as one can come; never otherwise."""
        sure = bool(self.document.database.page(self.name, limit=1))
        return Truth.between(sure=sure, possible=sure or not self.final)

    @property
    def status(self) -> str:
        """The verdict: "true", "not yet", "never"; "unknown" where calls return once and it takes too long to tell."""
        truth = self.truth
        if truth is not Truth.MAYBE or not self.document.calls():
            return STATUS[truth]
        version = self.document.database.version
        if self._decided is None or self._decided[0] != version:
            try:
                found = STATUS[Truth.MAYBE if can_become_true(self) else Truth.FALSE]
            except UndecidedError:
                found = "unknown"
            self._decided = (version, found)
        return self._decided[1]

    def may_become_true(self, supposed: WhatIf) -> bool:
        """Whether it is true, or can be, after a change that has not happened."""
        if any(count > 0 for count in supposed.changes.get(self.name, {}).values()):
            return True
        possible = supposed.changes.get(self.names.possible, {})
        if any(count > 0 for count in possible.values()):
            return True
        gone = {row for row, count in possible.items() if count < 0}
        return any(row not in gone for row in self._rows(self.names.possible))

    @property
    def final(self) -> bool:
        """Whether no answer can come any more."""
        return not self.document.database.page(self.names.possible, limit=1)

    @property
    def answers(self) -> list[Any]:
        """What is surely in: nodes in the order in which they came, or with columns their values, sorted."""
        return self._told(self._rows(self.name))

    @property
    def possible(self) -> list[Any]:
        """What may still come: nodes that may become answers, and `Unknown` for what streams may bring; or tuples, with
        `?` for values that are not known yet.
        """
        rows = self._rows(self.names.possible)
        if self.columns is not None:
            unknown = {tuple(UNKNOWN if value is None else value for value in row[1:-1]) for row in rows}
            return sorted(unknown, key=lambda row: [str(value) for value in row])
        paths = self.document.paths.all
        nodes: list[Any] = sorted(Node(node, str(paths[path])) for node, path, stream in rows if not stream)
        return nodes + [Unknown(stream, str(paths[path])) for _, path, stream in sorted(rows) if stream]

    def subscribe(self, callback: Callable[[Change], object]) -> Subscription:
        """Call back after each commit that brings answers, and a last time when nothing can come any more."""
        if not callable(callback):
            raise TypeMismatchError(f"subscribe needs something that can be called, not a {type(callback).__name__}")
        database = self.document.database
        told = Subscription(self.name, callback)

        def changed(table: pa.Table) -> None:
            answers = [tuple(row.values()) for row in table.to_pylist() if row["_change_type"] == "insert"]
            tell([row[: len(row) - FEED_COLUMNS] for row in answers])

        def narrowed(_: pa.Table) -> None:
            if self.final:
                tell([])

        def tell(rows: list[tuple[Any, ...]]) -> None:
            final = self.final
            if told.active and (rows or final):
                if final:
                    told.cancel()
                callback(Change(self.status, tuple(self._told(rows)), final))
            if not told.active:
                for subscription in subscriptions:
                    subscription.cancel()

        subscriptions = [database.subscribe(self.name, changed), database.subscribe(self.names.possible, narrowed)]
        return told

    def _rows(self, relation: str) -> list[tuple[Any, ...]]:
        return list(self.document.database.rows(relation))

    def _told(self, rows: list[tuple[Any, ...]]) -> list[Any]:
        if self.columns is not None:
            return sorted({row[1:] for row in rows})
        # Trees have no order: of several texts a node shows the least.
        values = dict(sorted(self._rows(self.names.value), reverse=True)) if rows else {}
        paths = self.document.paths.all
        return sorted(Node(node, str(paths[path]), values.get(node)) for node, path in rows)

    def _document(self, name: str) -> Document:
        found = self.document if name == self.document.name else self.document.sibling(name)
        assert found is not None, "documents are looked up before anything is compiled"
        return found

    def _check_documents(self, expression: Expression) -> None:
        for path in paths_in(expression):
            if path.document is not None and self.document.sibling(path.document) is None:
                raise UnknownNameError(
                    f"there is no document {path.document!r} in this database",
                    span=path.span,
                    hint=did_you_mean(path.document, [self.document.name]),
                )


def paths_in(expression: Expression) -> Iterator[PathExpression]:
    """All paths that an expression has, those in predicates too."""
    match expression:
        case And(parts=parts) | Or(parts=parts):
            for part in parts:
                yield from paths_in(part)
        case Comparison(left=left, right=right):
            yield from paths_in(left)
            if isinstance(right, PathExpression):
                yield from paths_in(right)
        case PathExpression(steps=steps):
            yield expression
            for step in steps:
                for predicate in step.predicates:
                    yield from paths_in(predicate)
