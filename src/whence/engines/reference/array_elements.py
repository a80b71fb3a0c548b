"""A view with a row for each element of an array, naively."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whence.engines.reference.body import Table
from whence.model.rules import Atom, Rule
from whence.model.terms import Unnest
from whence.model.types import Row, Value


def unnested(rule: Rule, tables: Mapping[str, Table]) -> dict[Row, int]:
    (atom,) = rule.body
    assert isinstance(atom, Atom)
    unnests = [term for term in rule.head.terms if isinstance(term, Unnest)]
    column = atom.terms.index(unnests[0].argument)
    found: dict[Row, int] = {}
    for row, count in tables[atom.relation].counts.items():
        array: Any = row[column]
        pairs: list[tuple[Value, Value]] = list(enumerate(array or ()))
        if not pairs and unnests[0].outer:
            pairs = [(None, None)]
        for position, element in pairs:
            whole = (*row, *(position if each.part == "position" else element for each in unnests))
            found[whole] = found.get(whole, 0) + count
    return {row: count for row, count in found.items() if count}
