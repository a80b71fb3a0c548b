"""Rows and changes as answers write them."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping

from whence.explain.wording import amount
from whence.functions.text import shown
from whence.model.schema import Relation
from whence.model.types import Row
from whence.model.updates import Delta, totals
from whence.session.sorting import row_order

# So many rows of a relation are written out; of more, the first.
ROWS_SHOWN = 10


def stored(relation: str, row: Row) -> str:
    """`link('a', 'b')`, of a row that is or was there."""
    return f"{relation}({', '.join(map(shown, row))})"


def change_lines(relation: Relation, delta: Delta) -> Iterator[str]:
    """`reachable: 2 rows go, 1 row comes`, and a line for each row, those that go first."""
    come, go = totals(delta)
    parts = [f"{amount(go, 'row')} go{'es' if go == 1 else ''}"] if go else []
    parts += [f"{amount(come, 'row')} come{'s' if come == 1 else ''}"] if come else []
    yield f"{relation.name}: {', '.join(parts)}"
    order = row_order(relation)
    rows = sorted(delta, key=lambda row: (delta[row] > 0, order(row)))
    for row in rows[:ROWS_SHOWN]:
        copies = abs(delta[row])
        yield f"  {'+' if delta[row] > 0 else '-'} {stored('', row)}{f' x {copies}' if copies > 1 else ''}"
    if len(rows) > ROWS_SHOWN:
        yield f"    ... and {amount(len(rows) - ROWS_SHOWN, 'more row')}"


def plain(value: object) -> object:
    """A value as JSON has it. Decimals keep their digits, and times their form, as strings."""
    match value:
        case None | str() | int() | float():
            return value
        case tuple():
            return [plain(each) for each in value]
        case datetime.datetime():
            return value.isoformat(" ")
    return str(value)


def json_row(row: Row) -> list[object]:
    return [plain(value) for value in row]


def json_changes(relation: Relation, delta: Delta) -> list[dict[str, object]]:
    order = row_order(relation)
    return [{"row": json_row(row), "count": delta[row]} for row in sorted(delta, key=order)]


def json_facts(facts: Iterable[tuple[str, Row]], relations: Mapping[str, Relation]) -> list[dict[str, object]]:
    return [{"relation": name, "row": json_row(row)} for name, row in ordered(facts, relations)]


def ordered(facts: Iterable[tuple[str, Row]], relations: Mapping[str, Relation]) -> list[tuple[str, Row]]:
    """By relation, and in each in the order of its rows."""
    orders = {name: row_order(relation) for name, relation in relations.items()}
    return sorted(facts, key=lambda each: (each[0], orders[each[0]](each[1])))
