"""Queries whose answers are tuples of values: columns below a node, with a condition between them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

from whence.algebra.semiring import Truth
from whence.documents.compile import Compiled, MainPath, Names
from whence.documents.conditions import Context, Values, float_literal, value_branch, values
from whence.documents.places import Rules
from whence.documents.xpath.syntax import And, Comparison, Expression, PathExpression
from whence.errors import UnknownNameError, UnsupportedError, did_you_mean
from whence.lang.datalog.write import name_word
from whence.model.types.strings import datalog_string

# Stands for the number 0 among the columns.
ZERO = -1
# Each of them is known or unknown in what is possible, so that there are 2 to the power of this many rules.
MOST_COLUMNS = 6


class Bound(NamedTuple):
    """left - right <= most, or < most if it is strict."""

    most: float
    strict: bool

    def __add__(self, other: tuple[object, ...]) -> Bound:
        assert isinstance(other, Bound)
        return Bound(self.most + other.most, self.strict or other.strict)

    def is_below(self, other: Bound) -> bool:
        return (self.most, not self.strict) < (other.most, not other.strict)


NONE = Bound(math.inf, False)


@dataclass(frozen=True, slots=True)
class Differences:
    """All that a condition says of columns, which go by their places, when some of their values are unknown: the
    closure P* of the paper. `classes` has the first of those that are equal.

    Comparisons of numbers are bounds of differences, left - right <= bound; what follows from them is found like
    shortest paths. So (5, ?, 3) is not possible where the first is less than the second and that less than the third.
    """

    classes: tuple[int, ...]
    bounds: Mapping[tuple[int, int], Bound]
    texts: Mapping[int, str]
    unequal: tuple[tuple[int, int | str], ...]
    satisfiable: bool


def differences(columns: Sequence[str], where: Expression | None) -> Differences:
    parts = [] if where is None else list(where.parts) if isinstance(where, And) else [where]
    classes = list(range(len(columns)))
    bounds: dict[tuple[int, int], Bound] = {}
    texts: dict[int, str] = {}
    unequal: list[tuple[int, int | str]] = []
    consistent = True
    compared: list[tuple[int, str, int | str | float, float]] = []
    for part in parts:
        if not isinstance(part, Comparison):
            raise UnsupportedError(
                "columns are compared, and the comparisons joined by `and`", span=part.span, hint="paid <= sent + 4"
            )
        left = _column(part.left, columns)
        right = _column(part.right, columns) if isinstance(part.right, PathExpression) else part.right
        if isinstance(part.right, PathExpression) and part.op == "=" and not part.offset:
            assert isinstance(right, int)
            first, second = sorted((classes[left], classes[right]))
            classes = [first if each == second else each for each in classes]
        else:
            compared.append((left, part.op, right if not isinstance(part.right, float) else part.right, part.offset))
    for left, op, right, offset in compared:
        column = classes[left]
        if isinstance(right, str):
            if op == "=":
                consistent = consistent and texts.setdefault(column, right) == right
            else:
                unequal.append((column, right))
        elif op == "!=" and isinstance(right, int):
            unequal.append((column, classes[right]))
            consistent = consistent and column != classes[right]
        elif op == "!=":
            raise UnsupportedError("a column is not compared with a number by !=", hint="compare with < or >")
        else:
            other, most = (classes[right], offset) if isinstance(right, int) else (ZERO, right)
            _bound(bounds, column, op, other, most)
    _close(bounds, [ZERO, *sorted(set(classes))])
    consistent = consistent and not any(
        low == high and (bound.most < 0 or (bound.most == 0 and bound.strict)) for (low, high), bound in bounds.items()
    )
    return Differences(tuple(classes), bounds, texts, tuple(unequal), consistent)


def _column(path: PathExpression, columns: Sequence[str]) -> int:
    name = path.steps[0].name if len(path.steps) == 1 and not path.absolute else str(path)
    if name not in columns:
        raise UnknownNameError(f"there is no column {name!r}", span=path.span, hint=did_you_mean(name, columns))
    return columns.index(name)


def _bound(bounds: dict[tuple[int, int], Bound], left: int, op: str, right: int, most: float) -> None:
    if op in ("<", "<=", "="):
        _tighten(bounds, (left, right), Bound(most, op == "<"))
    if op in (">", ">=", "="):
        _tighten(bounds, (right, left), Bound(-most, op == ">"))


def _tighten(bounds: dict[tuple[int, int], Bound], pair: tuple[int, int], bound: Bound) -> None:
    if bound.is_below(bounds.get(pair, NONE)):
        bounds[pair] = bound


def _close(bounds: dict[tuple[int, int], Bound], nodes: Sequence[int]) -> None:
    for middle in nodes:
        for left in nodes:
            for right in nodes:
                if (left, middle) in bounds and (middle, right) in bounds:
                    _tighten(bounds, (left, right), bounds[left, middle] + bounds[middle, right])


def compile_tuples(
    name: str,
    document: str,
    path: PathExpression,
    columns: Mapping[str, PathExpression],
    where: Expression | None,
) -> Compiled:
    """Views for a query with columns.

    `NAME(node, ...)` are the tuples, and `NAME_possible(node, ..., stream)` those that may still come, with NULL for
    what is not known; the stream is empty unless it may bring the node itself.
    """
    if len(columns) > MOST_COLUMNS:
        raise UnsupportedError(f"a query has at most {MOST_COLUMNS} columns", hint="ask two queries, and join them")
    if path.steps[-1].kind != "element":
        raise UnsupportedError("columns are below an element", span=path.steps[-1].span)
    context = Context(Rules(name), document)
    names, rules = Names(name), context.rules
    main = MainPath(context, path)
    branches = tuple(value_branch(context, main.end, column) for column in columns.values())
    known = differences(list(columns), where)
    selected: dict[Truth, str] = {}
    found: dict[Truth, list[Values]] = {}
    for mode in (Truth.TRUE, Truth.MAYBE):
        body, sources = main.selected(mode)
        selected[mode] = rules.fresh("selected")
        rules.add(f"{selected[mode]}(n)", *body)
        main.stages[len(main.branches) - 1, mode] = selected[mode]
        for source in sources:
            rules.add(f"{names.source}(s, x, f)", *source)
        found[mode] = [values(branch, mode) for branch in branches]
    head = [f"c{at}" for at in range(len(columns))]
    every = tuple(range(len(columns)))
    _declare(rules, name, names, list(columns))
    if not known.satisfiable:
        # No tuple is possible, and the relations are there and empty.
        body = _tuple(selected[Truth.TRUE], found[Truth.TRUE], every, known)
        rules.add(f"{name}(n, {', '.join(head)})", *body, "1 = 2")
        rules.add(_possible_head(names, every, ()), f"{names.source}(n, _, f)", "1 = 2")
        return Compiled(context, main, branches)
    rules.add(f"{name}(n, {', '.join(head)})", *_tuple(selected[Truth.TRUE], found[Truth.TRUE], every, known))
    for size in range(len(columns) + 1):
        for some in combinations(every, size):
            body = _tuple(selected[Truth.MAYBE], found[Truth.MAYBE], some, known)
            if size == len(columns):
                body.append(f"!{name}(n, {', '.join(head)})")
            rules.add(_possible_head(names, every, some), *body, 'f = ""')
    rules.add(_possible_head(names, every, ()), f"{names.source}(n, _, f)")
    return Compiled(context, main, branches)


def _declare(rules: Rules, name: str, names: Names, columns: Sequence[str]) -> None:
    words = [name_word(column) for column in columns]
    typed = ", ".join(f"{word}: symbol" for word in words)
    nullable = ", ".join(f"{word}: symbol nullable" for word in words)
    rules.lines.append(f".decl {name}(node: number, {typed})")
    rules.lines.append(f".decl {names.possible}(node: number, {nullable}, stream: symbol)")


def _possible_head(names: Names, columns: Sequence[int], some: Sequence[int]) -> str:
    terms = [f"c{column}" if column in some else "null::STRING" for column in columns]
    return f"{names.possible}(n, {', '.join(terms)}, f)"


def _tuple(selected: str, found: Sequence[Values], some: Sequence[int], known: Differences) -> list[str]:
    """Literals for the tuples in which some columns have values, and the others may get any."""
    body = [f"{selected}(n)"]
    for column, each in enumerate(found):
        if column in some:
            body.append(f"{each.known}(n, c{column}, k{column})")
        else:
            body.append(f"{each.unknown}(n)")
    of_class: dict[int, int] = {}
    for column in some:
        first = of_class.setdefault(known.classes[column], column)
        if first != column:
            body.append(f"c{first} = c{column}")
    for each_class, column in of_class.items():
        if each_class in known.texts:
            body.append(f"c{column} = {datalog_string(known.texts[each_class])}")
    for left, right in known.unequal:
        if left in of_class and (isinstance(right, str) or right in of_class):
            other = datalog_string(right) if isinstance(right, str) else f"c{of_class[right]}"
            body.append(f"c{of_class[left]} != {other}")
    for (low, high), bound in known.bounds.items():
        if low == high or any(each != ZERO and each not in of_class for each in (low, high)):
            continue
        less, more = ["0.0" if each == ZERO else f"k{of_class[each]}" for each in (low, high)]
        body.append(f"{less} {'<' if bound.strict else '<='} {more} + {float_literal(float(bound.most))}")
    return body
