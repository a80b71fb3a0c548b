"""The row that an atom stands for, once its variables have values."""

from __future__ import annotations

from collections.abc import Callable
from types import EllipsisType
from typing import TypeAlias

from whence.engines.reference.terms import Scope, conversion
from whence.errors import EvaluationError
from whence.explain.proofs.words import Pattern
from whence.model.rules import Atom
from whence.model.schema import Column
from whence.model.terms import Term, Variable, variables
from whence.model.types import Row, Value

Environment: TypeAlias = "dict[str, Value]"


class Cells:
    """The columns of an atom as a row of its relation."""

    def __init__(self, atom: Atom, scope: Scope) -> None:
        self.relation = atom.relation
        columns = scope.relations[atom.relation].columns
        self._columns = columns
        self._values = [_cell(term, column, scope) for term, column in zip(atom.terms, columns, strict=True)]
        self._names = [frozenset(variable.name for variable in variables(term)) for term in atom.terms]
        self.names = frozenset(names_in(atom))
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


def names_in(atom: Atom) -> set[str]:
    return {variable.name for term in atom.terms for variable in variables(term)}
