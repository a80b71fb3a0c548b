"""What a stream can bring: whether some tree satisfies the steps of a query at all, and may come from that stream.

What queries wait for are openings, and which nodes of streams could bring it are rows of a table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise, product
from typing import TypeAlias

from whence.documents.nodes import ATTRIBUTE, TEXT, Path, StreamNode, number
from whence.documents.places import Position
from whence.documents.schema import UNTYPED, Schema
from whence.documents.xpath.syntax import ANY_NAME, And, Comparison, Expression, Or, PathExpression, Step
from whence.errors import UnsupportedError

# Alternatives of one predicate, multiplied out. More are a query that nobody writes.
MOST_ALTERNATIVES = 1_000

# Of the table of open ends.
Row: TypeAlias = tuple[str, int, int, int, str]


@dataclass(frozen=True, slots=True)
class Source:
    """A stream, as far as it matters for what it can bring."""

    labels: frozenset[str] | None = None
    """What it may bring, outermost; None for anything."""

    is_json: bool = False
    """Then there are no attributes, and a node that has a text has one, and nothing else."""

    schema: Schema = UNTYPED
    brings_text: bool = True
    """Whether it may bring a text, outermost."""


SourceOf: TypeAlias = Callable[[str, str], Source]
"""The source that the stream of a name and a label is."""


def can_bring(source: Source, steps: Sequence[Step], test: Comparison | None) -> bool:
    """Whether the stream can bring a node below its parent that matches the first step, with all that follows it."""
    first = steps[0]
    # It stands in an element that is there, with all its attributes.
    if first.kind == "attribute" and first.axis == "child":
        return False
    if first.kind == "text" and first.axis == "child" and not source.brings_text:
        return False
    return satisfiable(source, source.labels, steps, test)


def satisfiable(
    source: Source, allowed: frozenset[str] | None, steps: Sequence[Step], test: Comparison | None = None
) -> bool:
    """Whether there is a tree with these steps, of nodes that are allowed.

    Attributes are what can contradict: an element has one of a name.
    """
    first, rest = steps[0], steps[1:]
    if first.kind == "attribute" and source.is_json:
        return False
    if first.axis == "descendant" and allowed is not None:
        allowed = source.schema.below(allowed)
    if first.kind != "element":
        return allowed is None or first.label in allowed
    whole: list[Expression] = list(first.predicates)
    if rest:
        below = PathExpression(tuple(rest))
        whole.append(below if test is None else Comparison(below, test.op, test.right))
    candidates = [first.name] if allowed is None else [each for each in allowed if _may_be(first, each)]
    insides = {source.schema.inside(label) for label in candidates}
    if allowed is None and (first.name == ANY_NAME or first.name not in source.schema.children):
        insides = {None}
    return any(_possible(source, inside, each) for inside in insides for each in alternatives(whole))


def _may_be(step: Step, label: str) -> bool:
    return label == step.name or (step.name == ANY_NAME and not label.startswith((ATTRIBUTE, TEXT)))


def alternatives(parts: Sequence[Expression]) -> Iterator[list[PathExpression | Comparison]]:
    """The ways to satisfy all parts, without `and` and `or`."""
    choices = [_choices(part) for part in parts]
    found = list(islice(product(*choices), MOST_ALTERNATIVES + 1))
    if len(found) > MOST_ALTERNATIVES:
        raise UnsupportedError(
            f"the query has more than {MOST_ALTERNATIVES:,} alternatives",
            span=parts[0].span,
            hint="an `or` within an `and` multiplies: ask several queries",
        )
    for combination in found:
        yield [each for choice in combination for each in choice]


def _choices(part: Expression) -> list[list[PathExpression | Comparison]]:
    match part:
        case And(parts=parts):
            return list(alternatives(parts))
        case Or(parts=parts):
            return [choice for each in parts for choice in _choices(each)]
    return [[part]]


def _possible(
    source: Source, allowed: frozenset[str] | None, conditions: Sequence[PathExpression | Comparison]
) -> bool:
    tests: dict[str, list[Comparison]] = {}
    has_elements = False
    for condition in conditions:
        path = condition.left if isinstance(condition, Comparison) else condition
        for each in (path, condition.right if isinstance(condition, Comparison) else None):
            if not isinstance(each, PathExpression) or each.absolute or each.document is not None:
                continue
            test = condition if isinstance(condition, Comparison) and each is path else None
            if test is not None and isinstance(test.right, PathExpression):
                test = None
            single = _single_value(source, each)
            if single is not None:
                if (single != TEXT and source.is_json) or not (allowed is None or single in allowed):
                    return False
                tests.setdefault(single, []).extend([test] if test is not None else [])
            elif each.steps:
                has_elements = has_elements or each.steps[0].kind == "element"
                if not satisfiable(source, allowed, each.steps, test):
                    return False
    if source.is_json and has_elements and TEXT in tests:
        return False
    return all(agreeing_value(each) is not None for each in tests.values())


def _single_value(source: Source, path: PathExpression) -> str | None:
    """The label of the one value that the path leads to, if a node has no two: an attribute, or a text in JSON."""
    if not path.steps:
        return TEXT if source.is_json else None
    first = path.steps[0]
    if first.axis == "child" and (first.kind == "attribute" or (first.kind == "text" and source.is_json)):
        return first.label
    return None


def agreeing_value(tests: Sequence[Comparison]) -> str | None:
    """A value that passes all of the tests, which compare with constants; None if there is none."""
    candidates = candidate_values(tests)
    return next((candidate for candidate in candidates if all(passes(candidate, test) for test in tests)), None)


def candidate_values(tests: Sequence[Comparison]) -> list[str]:
    """Values of which at least one passes whichever of the tests can be passed together."""
    constants = [test.right for test in tests]
    texts = [constant for constant in constants if isinstance(constant, str)]
    numbers = sorted(constant for constant in constants if isinstance(constant, float))
    between = [(low + high) / 2 for low, high in pairwise(numbers)]
    around = [numbers[0] - 1, numbers[-1] + 1] if numbers else []
    fresh = "z" * (1 + max((len(text) for text in texts), default=0))
    candidates = [fresh, *texts, *(plain(each) for each in (*numbers, *between, *around))]
    # A number can be written in many ways, so that one that must not be written like this is written like that.
    candidates += [f"{candidate}.0" if "." not in candidate else f"{candidate}0" for candidate in candidates]
    return list(dict.fromkeys(candidates))


def plain(value: float) -> str:
    """A number as XPath reads it: no exponent."""
    text = f"{value:.20f}".rstrip("0").rstrip(".")
    return text if float(text) == value else f"{value:f}"


def passes(value: str, test: Comparison) -> bool:
    """Whether a text passes a comparison with a constant."""
    if isinstance(test.right, str):
        return (value == test.right) == (test.op == "=")
    found = number(value)
    assert isinstance(test.right, float)
    return test.op == "!=" if found is None else compare(found, test.op, test.right)


def compare(left: float, op: str, right: float) -> bool:
    match op:
        case "=":
            return left == right
        case "!=":
            return left != right
        case "<":
            return left < right
        case "<=":
            return left <= right
        case ">":
            return left > right
    return left >= right


@dataclass(frozen=True, slots=True)
class Opening:
    """What a stream would have to bring: these steps, the first of them below a node at the position.

    `name` stands for it in the document's table of open ends.
    """

    document: str
    name: str
    position: Position | None
    """None for the root of the document."""

    steps: tuple[Step, ...]
    test: Comparison | None = None

    def is_at(self, path: Path) -> bool:
        """Whether what is added below a node of this path is where the first step looks."""
        if self.steps[0].axis == "child":
            return path.parent is None if self.position is None else self.position.matches(path)
        return self.position is None or self.position.is_around(path)


class Openings:
    """All that queries ask of the streams of one document."""

    def __init__(self, source: SourceOf) -> None:
        self._source = source
        self._all: list[Opening] = []
        # Streams of the same name at the same path can bring the same.
        self._known: dict[tuple[Path, str, str], list[str]] = {}

    def add(self, openings: Iterable[Opening], streams: Callable[[], Iterable[StreamNode]]) -> list[Row]:
        """Rows for the streams that could bring what is asked for now."""
        fresh = list(openings)
        if not fresh:
            return []
        self._all += fresh
        self._known.clear()
        names = {each.name for each in fresh}
        return [row for row in self.rows(streams()) if row[0] in names]

    def rows(self, streams: Iterable[StreamNode]) -> list[Row]:
        """What each of the nodes of streams could bring, as rows of the document's table of open ends."""
        return [
            (name, each.node, each.parent, each.path.number, each.stream)
            for each in streams
            for name in self._names(each)
        ]

    def forget(self) -> None:
        """What streams can bring may be otherwise now."""
        self._known.clear()

    def _names(self, stream: StreamNode) -> list[str]:
        key = (stream.path, stream.stream, stream.label)
        found = self._known.get(key)
        if found is None:
            source = self._source(stream.stream, stream.label)
            found = self._known[key] = [
                each.name for each in self._all if each.is_at(stream.path) and can_bring(source, each.steps, each.test)
            ]
        return found
