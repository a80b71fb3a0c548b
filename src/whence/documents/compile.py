"""A query as views: which nodes are answers, which may become answers, and which streams may bring others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from whence.algebra.semiring import Truth
from whence.documents.conditions import Branch, Context
from whence.documents.places import TEXT_STEP, Place, Rules, closed
from whence.documents.xpath.syntax import And, Comparison, Expression, Or, PathExpression, Step
from whence.errors import UnsupportedError


@dataclass(frozen=True, slots=True)
class Compiled:
    """A query as rules, to which others can be added: `context` has them, and what they ask of streams."""

    context: Context
    main: MainPath
    columns: tuple[Branch, ...] = ()


@dataclass(frozen=True, slots=True)
class Names:
    """The relations that a query is, beside its parts."""

    query: str

    @property
    def candidate(self) -> str:
        """Nodes that are answers or may become some."""
        return f"{self.query}$candidate"

    @property
    def source(self) -> str:
        """Streams that may bring answers."""
        return f"{self.query}$source"

    @property
    def possible(self) -> str:
        """Candidates that are no answers yet, and sources."""
        return f"{self.query}_possible"

    @property
    def value(self) -> str:
        """The texts of answers."""
        return f"{self.query}_value"

    @property
    def useful(self) -> str:
        """Documents and their streams that may still change the answers."""
        return f"{self.query}_useful"

    @property
    def waiting(self) -> str:
        """Steps and nodes that may become part of an answer, and lack something that their predicates ask for."""
        return f"{self.query}_waiting"


class MainPath:
    """The steps from the root to the answers."""

    def __init__(self, context: Context, path: PathExpression) -> None:
        self._context = context
        self._rules = context.rules
        self.branches: list[Branch] = []
        self.stages: dict[tuple[int, Truth], str] = {}
        """The relations of the nodes that a step selects, where they are not all nodes at its place."""
        branch: Branch | None = Branch(context, context.root(context.document), path.steps)
        while branch is not None:
            self.branches.append(branch)
            branch = branch.rest

    @property
    def end(self) -> Place:
        return self.branches[-1].here

    def selected(self, mode: Truth) -> tuple[list[str], list[list[str]]]:
        """Literals by which `n`, at the path `x`, is at the end; and for the mode "maybe", one body for each step that
        a stream node `s` could bring.
        """
        sources: list[list[str]] = []
        # The relation of the nodes that the steps so far select; None as long as they are those at their places.
        selected: str | None = None
        for at, branch in enumerate(self.branches):
            is_last = at == len(self.branches) - 1
            above = self._above(selected, branch)
            if mode is Truth.MAYBE:
                sources.append(self._source(branch, selected, above))
            body = [*branch.nodes("n", "y" if above else "_", mode), *above]
            if is_last:
                return body, sources
            if branch.step.predicates or selected is not None:
                selected = self._rules.fresh("sure" if mode is Truth.TRUE else "maybe")
                self._rules.add(f"{selected}(n)", *body)
                self.stages[at, mode] = selected
        raise AssertionError("a path has a step")

    def _above(self, selected: str | None, branch: Branch) -> list[str]:
        """Literals: `y` is selected, or for a descendant step lies within what is."""
        if selected is None:
            return []
        if branch.step.axis == "child":
            return [f"{selected}(y)"]
        return [f"{closed(self._rules, 'within', selected, branch.place.edges_below(), upwards=False)}(y)"]

    def _source(self, branch: Branch, selected: str | None, above: list[str]) -> list[str]:
        body = branch.streams("s")
        return [*body, *above] if selected is not None else body


def compile_query(name: str, document: str, path: PathExpression) -> Compiled:
    """Views for a query whose answers are nodes.

    `NAME(node, path)` are the answers, `NAME_value(node, value)` their texts, and `NAME_possible(node, path, stream)`
    what may still come: nodes with an empty stream, and nodes of streams with their names.
    """
    context = Context(Rules(name), document)
    names, rules = Names(name), context.rules
    main = MainPath(context, path)
    for relation, mode in ((name, Truth.TRUE), (names.candidate, Truth.MAYBE)):
        body, sources = main.selected(mode)
        rules.add(f"{relation}(n, x)", *body)
        for source in sources:
            rules.add(f"{names.source}(s, x, f)", *source)
    rules.add(f'{names.possible}(n, x, "")', f"{names.candidate}(n, x)", f"!{name}(n, x)")
    rules.add(f"{names.possible}(s, x, f)", f"{names.source}(s, x, f)")
    if path.steps[-1].kind == "element":
        text = main.end.step(TEXT_STEP)
        rules.add(f"{names.value}(n, v)", f"{text.nodes()}(_, n, _, v, _)", f"{name}(n, _)")
    else:
        rules.add(f"{names.value}(n, v)", f"{main.end.nodes()}(n, _, _, v, _)", f"{name}(n, _)")
    return Compiled(context, main)


def check_attributes(path: PathExpression) -> None:
    """Refuse a query for which there would be no exact verdict.

    An attribute has one value. One that is joined may not be compared once more: what a stream brings would have to
    fit several values at once, and whether it can depends on all of them.
    """
    for step, rest in _steps(path):
        uses = Counter(_attributes(step, rest, joined=None))
        for name in _attributes(step, rest, joined=True):
            if uses[name] > 1:
                raise UnsupportedError(
                    f"@{name} is joined with other values and compared again, at the same node",
                    span=step.span,
                    hint="compare the other side of the join instead",
                )


def _steps(path: PathExpression) -> Iterator[tuple[Step, Expression | None]]:
    """Every step of the path and its predicates, with what follows it."""
    for at, step in enumerate(path.steps):
        yield step, PathExpression(path.steps[at + 1 :]) if at + 1 < len(path.steps) else None
        for predicate in step.predicates:
            yield from _within(predicate)


def _within(part: Expression) -> Iterator[tuple[Step, Expression | None]]:
    match part:
        case And(parts=parts) | Or(parts=parts):
            for each in parts:
                yield from _within(each)
        case Comparison(left=left, right=right):
            for side in (left, right):
                if isinstance(side, PathExpression):
                    for step, rest in _steps(side):
                        below = rest if isinstance(rest, PathExpression) else None
                        yield step, None if below is None else Comparison(below, part.op, right, part.offset)
        case PathExpression():
            yield from _steps(part)


def _attributes(step: Step, rest: Expression | None, *, joined: bool | None) -> Iterator[str]:
    """The attributes of a step's node that are compared, or only those that are joined."""
    for part in (*step.predicates, *([] if rest is None else [rest])):
        yield from _compared(part, joined)


def _compared(part: Expression, joined: bool | None) -> Iterator[str]:
    match part:
        case And(parts=parts) | Or(parts=parts):
            for each in parts:
                yield from _compared(each, joined)
        case Comparison(left=left, right=right):
            is_join = isinstance(right, PathExpression)
            if joined is None or is_join:
                for side in (left, right):
                    if isinstance(side, PathExpression) and len(side.steps) == 1 and not side.absolute:
                        first = side.steps[0]
                        if first.kind == "attribute" and first.axis == "child" and side.document is None:
                            yield first.name
        case _:
            return
