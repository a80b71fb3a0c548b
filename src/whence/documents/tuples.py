"""Queries whose answers are tuples of values: columns below a node, with a condition between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from whence.algebra.semiring import Truth
from whence.documents.compile import Compiled, MainPath, Names
from whence.documents.conditions import Context, Values, float_literal, value_branch, values
from whence.documents.differences import ZERO, Differences, differences
from whence.documents.places import Rules
from whence.documents.xpath.syntax import Expression, PathExpression
from whence.errors import UnsupportedError
from whence.lang.datalog.write import name_word
from whence.model.types.strings import datalog_string

# Each of them is known or unknown in what is possible, so that there are 2 to the power of this many rules.
MOST_COLUMNS = 6


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
