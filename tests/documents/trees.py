"""Random documents, fragments and queries, small enough that everything that can happen does; and lxml as the judge."""

from __future__ import annotations

import random
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache

from lxml import etree

from whence.documents.xpath.parse import parse_query
from whence.documents.xpath.syntax import And, Comparison, Expression, Or, PathExpression, Step

LABELS = ("a", "b")
STREAMS = ("f", "g", "h")
VALUES = ("1", "2", "x")
# What streams may bring beside: something below all numbers, and something above.
ALL_VALUES = ("0", *VALUES, "3")


@dataclass
class Stream:
    name: str


@dataclass
class Tree:
    label: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Tree | Stream | str] = field(default_factory=list)

    def xml(self) -> str:
        """As a document that is arriving."""
        attributes = "".join(f' {name}="{value}"' for name, value in self.attributes.items())
        inside = "".join(_arriving(child) for child in self.children)
        return f"<{self.label}{attributes}>{inside}</{self.label}>"

    def judged(self, continuation: dict[str, str]) -> str:
        """For lxml: with something in the place of each stream. Texts are kept apart, as nodes of their own."""
        attributes = "".join(f' {name}="{value}"' for name, value in self.attributes.items())
        parts = [
            child.judged(continuation)
            if isinstance(child, Tree)
            else continuation.get(child.name, "")
            if isinstance(child, Stream)
            else child
            for child in self.children
        ]
        return f"<{self.label}{attributes}>{'<?apart?>'.join(parts)}</{self.label}>"

    def walk(self) -> Iterator[Tree]:
        yield self
        for child in self.children:
            if isinstance(child, Tree):
                yield from child.walk()

    def add(self, stream: str, fragment: list[Tree | Stream | str]) -> None:
        for node in list(self.walk()):
            for _ in range(sum(isinstance(each, Stream) and each.name == stream for each in node.children)):
                node.children.extend(deepcopy(fragment))

    def drop(self, streams: set[str]) -> None:
        for node in self.walk():
            node.children = [each for each in node.children if not (isinstance(each, Stream) and each.name in streams)]


def _arriving(child: Tree | Stream | str) -> str:
    match child:
        case Tree():
            return child.xml()
        case Stream(name=name):
            return f"<?stream {name}?>"
    return child


def random_tree(chance: random.Random, depth: int, streams: tuple[str, ...] = STREAMS) -> Tree:
    tree = Tree(chance.choice(LABELS))
    if chance.random() < 0.4:
        tree.attributes["k"] = chance.choice(VALUES)
    last_was_text = False
    for _ in range(chance.randint(0, 3)):
        kind = chance.random()
        if kind < 0.2 and not last_was_text:
            tree.children.append(chance.choice(VALUES))
            last_was_text = True
            continue
        if kind < 0.45 and streams:
            tree.children.append(Stream(chance.choice(streams)))
            last_was_text = False
        elif depth > 0:
            tree.children.append(random_tree(chance, depth - 1, streams))
            last_was_text = False
    return tree


def random_fragment(chance: random.Random) -> list[Tree | Stream | str]:
    if chance.random() < 0.2:
        return [chance.choice(VALUES)]
    # Now and then what comes has streams itself.
    streams = STREAMS if chance.random() < 0.2 else ()
    return [random_tree(chance, chance.randint(0, 2), streams) for _ in range(chance.randint(1, 2))]


def fragment_xml(fragment: list[Tree | Stream | str]) -> str:
    return "".join(_arriving(each) for each in fragment)


def random_query(chance: random.Random) -> str:
    """A query of which a stream has to bring a tree of two levels at most."""
    if chance.random() < 0.6:
        text, height = f"/{chance.choice(('a', '*'))}", 2
    else:
        text, height = f"//{random_name(chance)}", 1
    text += random_predicates(chance, height)
    for below in range(chance.randint(0, height), 0, -1):
        height = min(height, below) - 1
        text += chance.choice(("/", "/", "//")) + random_name(chance) + random_predicates(chance, height)
    kind = chance.random()
    return text + ("/@k" if kind < 0.1 else "/text()" if kind < 0.2 else "")


def random_name(chance: random.Random) -> str:
    return chance.choice((*LABELS, *LABELS, "*"))


def random_predicates(chance: random.Random, height: int) -> str:
    return "".join(f"[{random_condition(chance, height)}]" for _ in range(chance.choice((0, 0, 1, 1, 2))))


def random_condition(chance: random.Random, height: int) -> str:
    kind = chance.random()
    if kind < 0.15:
        return f"{random_condition(chance, height)} or {random_condition(chance, height)}"
    if kind < 0.25:
        return f"{random_condition(chance, height)} and {random_condition(chance, height)}"
    path = random_path(chance, height)
    if kind < 0.5 and path != ".":
        return path
    if kind < 0.75:
        op = chance.choice(("=", "=", "!="))
        return f'{path} {op} "{chance.choice(VALUES)}"'
    if kind < 0.88:
        return f"{path} {chance.choice(('<', '<=', '>', '>=', '=', '!='))} {chance.randint(1, 2)}"
    other = random_path(chance, height) if chance.random() < 0.7 else f"//{random_name(chance)}"
    return f"{path} {chance.choice(('=', '=', '!=', '<', '>='))} {other}"


def random_path(chance: random.Random, height: int) -> str:
    if height <= 0:
        return chance.choice((".", "@k", "text()"))
    steps = chance.choice(("", ".//")) + random_name(chance)
    if height > 1 and chance.random() < 0.3:
        steps += random_predicates(chance, height - 1)
        return steps
    if height > 1 and chance.random() < 0.4:
        steps += chance.choice(("/", "//")) + random_name(chance)
    elif chance.random() < 0.3:
        steps += "/@k"
    return steps


@cache
def everything(depth: int) -> str:
    """All that a stream can bring, up to a depth and with these labels and values: what is possible holds with it."""
    inside = everything(depth - 1) if depth else "<?apart?>".join(ALL_VALUES)
    elements = [
        f"<{label}{attribute}>{inside}</{label}>"
        for label in LABELS
        for attribute in ("", *(f' k="{value}"' for value in ALL_VALUES))
    ]
    return "<?apart?>".join((*ALL_VALUES, *elements))


def lxml_text(query: str) -> str:
    """The same question in full XPath, where the value of an element is all text within it: ours is each text in it."""
    return _path(parse_query(query))


def _path(path: PathExpression) -> str:
    steps = "".join(_step(step) for step in path.steps)
    return steps if path.absolute else f".{steps}"


def _step(step: Step) -> str:
    inside = "".join(f"[{_expression(predicate)}]" for predicate in step.predicates)
    return f"{'//' if step.axis == 'descendant' else '/'}{step.label}{inside}"


def _value(path: PathExpression) -> str:
    ends = not path.steps or path.steps[-1].kind == "element"
    return _path(path) + ("/text()" if ends else "")


def _expression(part: Expression) -> str:
    match part:
        case And(parts=parts):
            return "(" + " and ".join(map(_expression, parts)) + ")"
        case Or(parts=parts):
            return "(" + " or ".join(map(_expression, parts)) + ")"
        case PathExpression():
            return f"boolean({_path(part)})"
        case Comparison(left=left, op=op, right=PathExpression() as right, offset=offset) if offset:
            # XPath 1 adds to the first node alone: every shift that the values can have is asked for.
            return _shifted(left, op, right, offset)
        case Comparison(left=left, op=op, right=PathExpression() as right):
            return f"{_value(left)} {op} {_value(right)}"
        case Comparison(left=left, op=op, right=str() as right):
            return f'{_value(left)} {op} "{right}"'
        case Comparison(left=left, op=op, right=right):
            return f"{_value(left)} {op} {right:g}"


def _shifted(left: PathExpression, op: str, right: PathExpression, offset: float) -> str:
    numbers = [int(value) for value in ALL_VALUES if value.isdigit()]
    return "(" + " or ".join(f"({_value(right)} = {n} and {_value(left)} {op} {n + offset:g})" for n in numbers) + ")"


def judge(document: str, query: str) -> list[object]:
    return list(etree.fromstring(document).getroottree().xpath(lxml_text(query)))
