"""Atoms of rules whose variables have values: the row that one stands for, and the rows that fit it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import EllipsisType
from typing import TypeAlias

from whence.analysis.typed_rules import Computed, Conversion, Scope, conversion
from whence.errors import EvaluationError
from whence.explain.proofs.text import Pattern
from whence.model.rules import Atom
from whence.model.schema import Column
from whence.model.terms import Term, Variable, Wildcard, variable_names
from whence.model.types import Row, Value

Environment: TypeAlias = "dict[str, Value]"


class AtomCells:
    """The columns of an atom as a row of its relation."""

    def __init__(self, atom: Atom, scope: Scope) -> None:
        self.relation = atom.relation
        columns = scope.relations[atom.relation].columns
        self._columns = columns
        self._values = [_cell(term, column, scope) for term, column in zip(atom.terms, columns, strict=True)]
        self._names = [frozenset(variable_names([term])) for term in atom.terms]
        self.names = frozenset(variable_names(atom.terms))
        self._places = {term.name: at for at, term in enumerate(atom.terms) if isinstance(term, Variable)}

    def position_of(self, name: str) -> int | None:
        """The column that is this variable."""
        return self._places.get(name)

    def positions_of(self, names: frozenset[str]) -> frozenset[int]:
        """The columns that hold some of these variables."""
        return frozenset(at for at, found in enumerate(self._names) if found & names)

    def pattern(self, values: Environment) -> Pattern:
        return tuple(
            cell(values) if names <= values.keys() else ...
            for names, cell in zip(self._names, self._values, strict=True)
        )

    def row(self, values: Environment) -> Row | None:
        """None if some value does not fit its column."""
        found: list[Value] = []
        for column, cell in zip(self._columns, self._values, strict=True):
            try:
                value = cell(values)
            except EvaluationError:
                return None
            if value is ... or (value is None and not column.nullable):
                return None
            found.append(value)
        return tuple(found)


def _cell(term: Term, column: Column, scope: Scope) -> Callable[[Environment], Value | EllipsisType]:
    """The value of a term as the column holds it, or `...` where it cannot hold it."""
    plain, fitted = scope.compute(term), scope.compute(term, column.type)
    back = conversion(column.type, scope.type_of(term))
    if back is None:
        return fitted

    def cell(values: Environment) -> Value | EllipsisType:
        value = fitted(values)
        return value if back(value) == plain(values) else ...

    return cell


# The rows that hold a key at some positions.
Find: TypeAlias = Callable[[tuple[int, ...], Row], Iterable[Row]]


@dataclass(frozen=True, slots=True)
class Lookup:
    """Rows are found by the columns at `positions`, whose values are known before. `binds` are the columns that give
    variables their values, and `checks` compare the others: variables that the atom repeats, and columns whose values
    must be widened before they compare.
    """

    positions: tuple[int, ...]
    values: tuple[Computed, ...]
    binds: tuple[tuple[int, str, Conversion | None], ...]
    checks: tuple[tuple[int, Computed, Conversion | None], ...]

    def extend(self, values: Environment, find: Find) -> Iterator[Environment]:
        """The values after every row that fits."""
        for row in find(self.positions, tuple([value(values) for value in self.values])):
            extended = dict(values)
            for position, name, convert in self.binds:
                extended[name] = row[position] if convert is None else convert(row[position])
            if all(
                value(extended) == (row[position] if convert is None else convert(row[position]))
                for position, value, convert in self.checks
            ):
                yield extended


def lookup(atom: Atom, bound: frozenset[str], scope: Scope) -> Lookup:
    """For an atom of a rule, where the variables in `bound` have values."""
    known: dict[int, Computed] = {}
    binds: dict[str, tuple[int, str, Conversion | None]] = {}
    checks: list[tuple[int, Computed, Conversion | None]] = []
    for position, (term, column) in enumerate(zip(atom.terms, scope.relations[atom.relation].columns, strict=True)):
        if isinstance(term, Wildcard):
            continue
        if isinstance(term, Variable) and term.name not in bound and term.name not in binds:
            binds[term.name] = (position, term.name, conversion(column.type, scope.types[term.name].type))
            continue
        is_known = variable_names([term]) <= bound
        key = scope.compute_for(term, column.type) if is_known else None
        if key is not None:
            known[position] = key
        else:
            checks.append((position, scope.compute(term), conversion(column.type, scope.type_of(term))))
    return Lookup(tuple(known), tuple(known.values()), tuple(binds.values()), tuple(checks))


def only(row: Row) -> Find:
    """Finds this row alone."""
    return lambda positions, key: (row,) if tuple([row[at] for at in positions]) == key else ()
