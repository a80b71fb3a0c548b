"""Constraints of tables: what breaks one is told with the rows that do, and the commit does not happen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice

from whence.errors import DataError
from whence.model.rules import Negation, Rule
from whence.model.schema import AUXILIARY_MARK, Relation, owner
from whence.model.terms import Aggregate
from whence.model.types import Row, Value
from whence.model.updates import Delta, Update
from whence.session.definitions import Definitions
from whence.sources.rows import row_text

KINDS = ("check", "length", "unique", "references")


def constraint_kind(relation: str) -> str | None:
    """What the rows of a hidden relation of a table break; None for any other relation."""
    table, mark, name = relation.partition(AUXILIARY_MARK)
    kind, line, _ = name.partition("_")
    return kind if table and mark and line and kind in KINDS and AUXILIARY_MARK not in name else None


def check_constraints(
    deltas: Mapping[str, Delta], update: Update, definitions: Definitions, counts: Callable[[str], Mapping[Row, int]]
) -> None:
    """Raises for the first constraint that a commit broke; `counts` has the rows as they are after it."""
    hidden = definitions.auxiliary
    for name, delta in deltas.items():
        kind = constraint_kind(name) if name in hidden else None
        if kind is None or owner(name) in definitions.views:
            continue
        broken = next((row for row, count in delta.items() if count > 0), None)
        if broken is not None:
            raise _Violation(name, broken, update, definitions, counts).error(kind)


class _Violation:
    def __init__(
        self,
        name: str,
        values: Row,
        update: Update,
        definitions: Definitions,
        counts: Callable[[str], Mapping[Row, int]],
    ) -> None:
        self.constraint = definitions.relations[name]
        self.table = definitions.relations[owner(name)]
        self.values = values
        self.update = update
        self.definitions = definitions
        self.counts = counts

    def error(self, kind: str) -> DataError:
        places = self._places(self.constraint.name)
        columns = [self.table.column_names[at] for at in places]
        rows = list(islice(self._rows(places), 2))
        row = row_text(rows[0]) if rows else row_text(self.values)
        name = repr(self.table.name)
        if kind == "check":
            said = self.constraint.span
            told = [("the condition is here", said)] if said is not None else []
            return DataError(f"a row of {name} does not pass its CHECK: {row}", related=told)
        if kind == "length":
            return DataError(f"a row of {name} has more characters in {_listed(columns)} than its VARCHAR: {row}")
        if kind == "unique":
            other = rows[1] if len(rows) > 1 else rows[0] if rows else self.values
            return DataError(
                f"two rows of {name} have the same {_listed(columns)}, which is UNIQUE: {row}",
                related=[(f"the other row is {row_text(other)}", None)],
                hint="delete that row first; in the same batch the two make an update",
            )
        parent = self._parent()
        gone = next(self._gone(parent), None) if parent is not None else None
        known = "another table" if parent is None else repr(parent.name)
        related = [] if gone is None else [(f"the row that it refers to went: {row_text(gone)}", None)]
        return DataError(
            f"a row of {name} refers by {_listed(columns)} to no row of {known}: {row}",
            related=related,
            hint="in one batch both can come, or both can go",
        )

    def _places(self, name: str) -> list[int]:
        """Where the table has the columns of a relation that is computed from it, whatever they are called by now."""
        rule = next(self._rules(name))
        for atom in rule.body_atoms:
            if owner(atom.relation) == self.table.name:
                below = None if atom.relation == self.table.name else self._places(atom.relation)
                found = {term: at for at, term in enumerate(atom.terms)}
                if all(term in found for term in rule.head.terms if not isinstance(term, Aggregate)):
                    places = [found[term] for term in rule.head.terms if not isinstance(term, Aggregate)]
                    return places if below is None else [below[at] for at in places]
        return []

    def _rows(self, places: Sequence[int]) -> Iterator[Row]:
        """The rows with the values that break the constraint, those first that came now, with their copies."""
        name = self.table.name
        coming = {row for row, count in self.update.deltas.get(name, {}).items() if count > 0}
        fitting = (row for row in coming if self._fits(row, places))
        there = self.counts(name)
        for row in fitting:
            yield from [row] * max(1, there.get(row, 1))
        for row, count in there.items():
            if row not in coming and self._fits(row, places):
                yield from [row] * count

    def _fits(self, row: Row, places: Sequence[int]) -> bool:
        return len(places) == len(self.values) and all(
            _same(row[at], value) for at, value in zip(places, self.values, strict=True)
        )

    def _parent(self) -> Relation | None:
        """The table that rows refer to."""
        return next(
            (
                self.definitions.relations[name]
                for rule in self._rules(self.constraint.name)
                for name in self._tables_of(rule)
            ),
            None,
        )

    def _rules(self, name: str) -> Iterator[Rule]:
        return (rule for rule in self.definitions.rules if rule.head.relation == name)

    def _tables_of(self, rule: Rule) -> Iterator[str]:
        for literal in rule.body:
            if isinstance(literal, Negation):
                name = literal.atom.relation
                if AUXILIARY_MARK not in name:
                    yield name
                else:
                    yield from (read for inner in self._rules(name) for read in inner.reads)

    def _gone(self, parent: Relation) -> Iterator[Row]:
        """Rows of the table that others refer to, which went and had the values that are missing."""
        for row, count in self.update.deltas.get(parent.name, {}).items():
            if count < 0 and all(any(_same(cell, value) for cell in row) for value in self.values):
                yield row


def _same(left: Value, right: Value) -> bool:
    return left is right or left == right


def _listed(columns: Sequence[str]) -> str:
    return ", ".join(columns)
