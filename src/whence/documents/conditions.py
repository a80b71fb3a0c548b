"""Conditions of a query as rules: the bottom-up half of PossibleSat, for what is sure and for what is possible.

A formula over {0, ½, 1} with min and max is two formulas over {false, true}: whether its value is 1, and whether it is
½ or more (`Truth.reaches` in `algebra/semiring.py`). Both are positive, so each is a view, and an update of the
document is followed in both as any change of rows is. In the second, a stream holds the place of all that it can bring.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from whence.algebra.semiring import Truth
from whence.documents.places import TEXT_STEP, Place, Rules, Tables, closed
from whence.documents.satisfiable import Opening
from whence.documents.xpath.syntax import And, Comparison, Expression, Or, PathExpression, Step
from whence.model.types.strings import datalog_string

# The document itself is node 0.
ROOT_NODE = "0"


@dataclass(slots=True)
class Context:
    """What the parts of one query share: its rules, its document, and what it asks of streams."""

    rules: Rules
    document: str
    openings: list[Opening] = field(default_factory=list)
    roots: dict[str, Place] = field(default_factory=dict)
    asked: int = 0
    """How many openings there have been."""

    known: dict[tuple[object, ...], str] = field(default_factory=dict)
    """Relations that have their rules already."""

    def root(self, document: str) -> Place:
        if document not in self.roots:
            self.roots[document] = Place(self.rules, Tables(document))
        return self.roots[document]

    def opening(self, place: Place, steps: Sequence[Step], test: Comparison | None, node: str) -> str:
        """The literal that a stream `f`, a node below `y` at the path `x`, can bring the steps."""
        self.asked += 1
        name = f"{self.rules.name} {self.asked}"
        self.openings.append(Opening(place.tables.document, name, place.position, tuple(steps), test))
        return f'{place.tables.open}("{name}", {node}, y, x, f)'


@dataclass(frozen=True)
class Branch:
    """A path of steps from some place. `test` compares the value at its end, which is then a text or an attribute."""

    context: Context
    place: Place
    steps: tuple[Step, ...]
    test: Comparison | None = None

    @property
    def step(self) -> Step:
        return self.steps[0]

    @property
    def here(self) -> Place:
        """Where the first step leads."""
        return self.place.step(self.step)

    @property
    def rest(self) -> Branch | None:
        return Branch(self.context, self.here, self.steps[1:], self.test) if len(self.steps) > 1 else None

    def collapsed(self) -> tuple[Branch, list[Branch]]:
        """From the root, steps without predicates say nothing that a path does not: what is left, what was passed."""
        passed: list[Branch] = []
        branch = self
        while branch.place.is_root or passed:
            rest = branch.rest
            if branch.step.predicates or rest is None:
                break
            passed.append(branch)
            branch = rest
        return branch, passed

    def streams(self, node: str = "_") -> list[str]:
        """Literals: a stream that stands where it could bring the first step below `y`."""
        opening = self.context.opening(self.place, self.steps, self.test, node)
        elsewhere = [
            each for step in self.steps for part in step.predicates for each in demands(self.context, self.place, part)
        ]
        return [opening, *elsewhere]

    def nodes(self, node: str, parent: str, mode: Truth) -> list[str]:
        """Literals: `node` below `parent` matches the first step, its predicates included."""
        if self.step.kind == "element":
            return [
                f"{self.here.nodes()}({node}, {parent}, x)",
                *conditions(self.context, self.here, self.step.predicates, node, mode),
            ]
        return [f"{self.here.nodes()}({node}, {parent}, x, v, k)", *value_test(self.test)]


def value_test(test: Comparison | None) -> list[str]:
    if test is None:
        return []
    if isinstance(test.right, str):
        return [f"v {test.op} {datalog_string(test.right)}"]
    if test.op == "!=":
        # What is not a number is different from each: NaN != 1.
        return [f"(isnull(k) or k != {float_literal(test.right)})"]
    return [f"k {test.op} {float_literal(test.right)}"]


def float_literal(number: object) -> str:
    text = f"{number:f}" if isinstance(number, float) else str(number)
    return f"({text})" if text.startswith("-") else text


def exists(branch: Branch, mode: Truth) -> str:
    """The relation of the nodes that have the branch below them."""
    branch, passed = branch.collapsed()
    known = branch.context.known
    key = ("exists", branch.place, branch.steps, branch.test, mode)
    if key in known:
        return known[key]
    rules = branch.context.rules
    name = rules.fresh("has" if mode is Truth.TRUE else "may")
    parent = ROOT_NODE if branch.place.is_root or passed else "y"
    if mode is Truth.MAYBE and branch.rest is None and not branch.step.predicates:
        # Nodes that nothing is asked of are possible if they are there.
        body = [f"{exists(branch, Truth.TRUE)}({parent})"]
    else:
        body = branch.nodes("n", "_" if parent == ROOT_NODE else "y", mode)
        if branch.rest is not None:
            body.append(f"{exists(branch.rest, mode)}(n)")
    rules.add(f"{name}({parent})", *body)
    if mode is Truth.MAYBE:
        for each in (*passed, branch):
            rules.add(f"{name}({parent})", *each.streams())
    if branch.step.axis == "descendant" and parent == "y":
        name = closed(rules, "above", name, branch.place.edges_below(), upwards=True)
    known[key] = name
    return name


@dataclass(frozen=True, slots=True)
class Values:
    """The relations of the values at the end of a branch: those that are there, and the nodes where any may come."""

    known: str
    unknown: str | None
    is_absolute: bool


def values(branch: Branch, mode: Truth) -> Values:
    """(node, text, number) for each value that the branch leads to; and in the mode "maybe" who may get any value."""
    branch, passed = branch.collapsed()
    key = ("values", branch.place, branch.steps, mode)
    known = branch.context.known
    is_absolute = branch.place.is_root or bool(passed)
    if key in known:
        unknown = known.get(("unknown", branch.place, branch.steps))
        return Values(known[key], unknown if mode is Truth.MAYBE else None, is_absolute)
    rules = branch.context.rules
    name = rules.fresh("value")
    parent = ROOT_NODE if is_absolute else "y"
    body = branch.nodes("n", "_" if is_absolute else "y", mode)
    below = None if branch.rest is None else values(branch.rest, mode)
    rules.add(f"{name}({parent}, v, k)", *body, *([] if below is None else [f"{below.known}(n, v, k)"]))
    climbs = branch.step.axis == "descendant" and not is_absolute
    if climbs:
        name = closed(rules, "value", name, branch.place.edges_below(), upwards=True, values=", v, k")
    known[key] = name
    if mode is Truth.TRUE:
        return Values(name, None, is_absolute)
    unknown = rules.fresh("unknown")
    for each in (*passed, branch):
        rules.add(f"{unknown}({parent})", *each.streams())
    if below is not None:
        rules.add(f"{unknown}({parent})", *body, f"{below.unknown}(n)")
    if climbs:
        unknown = closed(rules, "unknown", unknown, branch.place.edges_below(), upwards=True)
    known["unknown", branch.place, branch.steps] = unknown
    return Values(name, unknown, is_absolute)


def value_branch(context: Context, place: Place, path: PathExpression, test: Comparison | None = None) -> Branch:
    """The branch to the values of a path: texts are what an element's value is."""
    steps = path.steps
    if not steps or steps[-1].kind == "element":
        steps = (*steps, TEXT_STEP)
    return Branch(context, start(context, place, path), steps, test)


def start(context: Context, place: Place, path: PathExpression) -> Place:
    """Where a path begins."""
    if path.document is not None:
        return context.root(path.document)
    return context.root(context.document) if path.absolute else place


def conditions(context: Context, place: Place, parts: Sequence[Expression], node: str, mode: Truth) -> list[str]:
    """Literals that hold of a node at the place whenever all parts do."""
    return [literal for part in parts for literal in _condition(context, place, part, node, mode)]


def _condition(context: Context, place: Place, part: Expression, node: str, mode: Truth) -> list[str]:
    match part:
        case And(parts=parts):
            return conditions(context, place, parts, node, mode)
        case Or(parts=parts):
            return [f"{either(context, place, parts, mode)}({node})"]
        case PathExpression():
            branch = Branch(context, start(context, place, part), part.steps)
            return [f"{exists(branch, mode)}({_of(branch, node)})"]
        case Comparison(right=PathExpression()):
            return [joined(context, place, part, node, mode)]
        case Comparison(left=left):
            test = replace(part, span=None)
            branch = value_branch(context, place, left, test)
            return [f"{exists(branch, mode)}({_of(branch, node)})"]


def _of(branch: Branch, node: str) -> str:
    return ROOT_NODE if branch.place.is_root else node


def either(context: Context, place: Place, parts: Sequence[Expression], mode: Truth) -> str:
    key = ("either", place, tuple(parts), mode)
    if key in context.known:
        return context.known[key]
    name = context.known[key] = context.rules.fresh("either")
    for part in parts:
        body = conditions(context, place, (part,), "n", mode)
        context.rules.add(f"{name}(n)", f"{place.nodes()}(n, _, _)", *body)
    return name


def joined(context: Context, place: Place, join: Comparison, node: str, mode: Truth) -> str:
    """The literal that two paths have values that compare so."""
    assert isinstance(join.right, PathExpression)
    sides = [value_branch(context, place, path) for path in (join.left, join.right)]
    found = [values(side, mode) for side in sides]
    at = [ROOT_NODE if each.is_absolute else "n" for each in found]
    head = "n" if "n" in at else ROOT_NODE
    key = ("joined", place, join, mode)
    if key in context.known:
        return f"{context.known[key]}({node if head == 'n' else ROOT_NODE})"
    name = context.known[key] = context.rules.fresh("joined")
    is_text = join.op in ("=", "!=") and not join.offset
    left, right = [f"{each.known}({where}, {{}})" for each, where in zip(found, at, strict=True)]
    if is_text:
        compared = [left.format("v, _"), right.format("v, _")] if join.op == "=" else []
        compared = compared or [left.format("v, _"), right.format("w, _"), "v != w"]
    else:
        plus = f" + {float_literal(join.offset)}" if join.offset else ""
        compared = [left.format("_, k"), right.format("_, j"), f"k {join.op} j{plus}"]
    context.rules.add(f"{name}({head})", *compared)
    if mode is Truth.MAYBE:
        any_left, any_right = [f"{each.unknown}({where})" for each, where in zip(found, at, strict=True)]
        some = ["_, _"] if is_text else ["_, k", "isnotnull(k)"]
        context.rules.add(f"{name}({head})", any_left, any_right)
        context.rules.add(f"{name}({head})", any_left, right.format(some[0]), *some[1:])
        context.rules.add(f"{name}({head})", left.format(some[0]), *some[1:], any_right)
    return f"{name}({node if head == 'n' else ROOT_NODE})"


def demands(context: Context, place: Place, part: Expression) -> list[str]:
    """Literals for what a node that a stream brings needs elsewhere: absolute paths, which it cannot bring itself."""
    match part:
        case And(parts=parts):
            return [literal for each in parts for literal in demands(context, place, each)]
        case Or(parts=parts):
            found = [demands(context, place, each) for each in parts]
            if not all(found):
                return []
            name = context.rules.fresh("either")
            for literals in found:
                context.rules.add(f"{name}({ROOT_NODE})", *literals)
            return [f"{name}({ROOT_NODE})"]
        case Comparison(left=left, right=PathExpression() as right) if _is_elsewhere(left) and _is_elsewhere(right):
            return _condition(context, place, part, ROOT_NODE, Truth.MAYBE)
        case Comparison(left=left, right=PathExpression() as right):
            is_text = part.op in ("=", "!=") and not part.offset
            return [*_some_value(context, place, left, is_text), *_some_value(context, place, right, is_text)]
        case Comparison(left=path) | (PathExpression() as path) if _is_elsewhere(path):
            return _condition(context, place, part, ROOT_NODE, Truth.MAYBE)
        case Comparison(left=path) | (PathExpression() as path):
            return [each for step in path.steps for inner in step.predicates for each in demands(context, place, inner)]


def _is_elsewhere(path: PathExpression) -> bool:
    return path.absolute or path.document is not None


def _some_value(context: Context, place: Place, path: PathExpression, is_text: bool) -> list[str]:
    """Literals: the path has a value that what comes can be compared with."""
    if not _is_elsewhere(path):
        return demands(context, place, path)
    found = values(value_branch(context, place, path), Truth.MAYBE)
    name = context.rules.fresh("some")
    context.rules.add(f"{name}({ROOT_NODE})", f"{found.unknown}({ROOT_NODE})")
    number = [] if is_text else ["isnotnull(k)"]
    context.rules.add(f"{name}({ROOT_NODE})", f"{found.known}({ROOT_NODE}, _, k)", *number)
    return [f"{name}({ROOT_NODE})"]
