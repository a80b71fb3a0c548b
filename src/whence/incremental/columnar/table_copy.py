"""A view that is another relation with its columns in another order, or with constants beside them.

    s'(x, y, 7) :- s(y, x).

Different rows stay different, so that nothing has to be looked up to add them up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from whence.analysis.typed_rules import TypedRule
from whence.columns.encoding import INTEGER, Array
from whence.columns.table import ColumnTable
from whence.incremental.columnar.store import ColumnStore
from whence.model.rules import Atom
from whence.model.terms import Constant, Variable


class TableCopy(NamedTuple):
    """Of every column, which one of the relation it is, or the number that all rows hold."""

    relation: str
    terms: tuple[int | Array, ...]
    times: int


def table_copy(rules: Sequence[TypedRule], stores: Mapping[str, ColumnStore], table: ColumnTable) -> TableCopy | None:
    """What an empty table becomes by these rules, if it becomes a copy."""
    if len(rules) != 1 or table.size:
        return None
    rule = rules[0].rule
    if len(rule.body) != 1 or (table.is_set and rule.sign < 0):
        return None
    (atom,) = rule.body
    names = _variables(atom) if isinstance(atom, Atom) else None
    if names is None or not isinstance(atom, Atom):
        return None
    source = stores[atom.relation].table
    terms: list[int | Array] = []
    for at, term in enumerate(rule.head.terms):
        column = rules[0].relations[rule.head.relation].columns[at]
        if isinstance(term, Variable):
            place = names.index(term.name)
            if table.encodings[at] != source.encodings[place]:
                return None
            terms.append(place)
        elif isinstance(term, Constant) and term.type == column.type:
            terms.append(table.encodings[at].encode([term.value]).view(INTEGER)[0])
        else:
            return None
    if not set(range(len(names))).issubset(each for each in terms if isinstance(each, int)):
        return None
    return TableCopy(atom.relation, tuple(terms), rule.sign)


def _variables(atom: Atom) -> list[str] | None:
    """Of an atom that has a different one in every place."""
    names = [term.name for term in atom.terms if isinstance(term, Variable)]
    return names if len(set(names)) == len(atom.terms) else None
