"""`db.impact`: what depends on a row of a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from whence.errors import DataError
from whence.explain.changes.contents import Contents
from whence.explain.changes.dependents import dependents
from whence.explain.changes.what_if import what_if
from whence.explain.changes.wording import change_lines, json_row
from whence.explain.proofs.backwards import Backwards
from whence.explain.proofs.words import Pattern, fact_text
from whence.explain.wording import amount
from whence.model.schema import Relation
from whence.model.types import Row
from whence.session.batch import Delete
from whence.session.session import Session
from whence.session.sorting import in_order

# Views that the engine cannot follow by itself are followed row by row: so many steps in each, and so long in all.
STEPS = 100_000
SECONDS = 10.0


@dataclass(frozen=True)
class Impact:
    """What would happen without some rows of a table, all copies of them.

    `vanish` has the rows that views would lose, in their order, and `appear` those that they would gain: where a rule
    says `not`, and new values of aggregates. `depend` is how many rows of each view have a derivation in which one of
    the rows takes part, whether or not they have others, which would keep them; of the views in `partial` there may be
    more.
    """

    relation: str
    rows: tuple[Row, ...]
    vanish: Mapping[str, list[Row]]
    appear: Mapping[str, list[Row]]
    depend: Mapping[str, int]
    partial: tuple[str, ...]
    relations: Mapping[str, Relation]

    @property
    def complete(self) -> bool:
        """Whether all rows that depend on the rows were counted."""
        return not self.partial

    def json(self) -> dict[str, object]:
        return {
            "relation": self.relation,
            "rows": [json_row(row) for row in self.rows],
            "vanish": {name: [json_row(row) for row in rows] for name, rows in self.vanish.items()},
            "appear": {name: [json_row(row) for row in rows] for name, rows in self.appear.items()},
            "depend": dict(self.depend),
            "partial": list(self.partial),
            "complete": self.complete,
        }

    def __str__(self) -> str:
        return "\n".join(self._lines())

    __repr__ = __str__

    def _lines(self) -> Iterator[str]:
        first = fact_text(self.relation, self.rows[0])
        it = "it" if len(self.rows) == 1 else "them"
        yield first if len(self.rows) == 1 else f"{first} and {amount(len(self.rows) - 1, 'more row')}"
        if not self.depend and not self.vanish and not self.appear:
            yield f"nothing depends on {it}"
            return
        yield ""
        changed = [name for name in self.relations if name in self.vanish or name in self.appear]
        yield f"without {it}" if changed else f"without {it} nothing would change: there are other derivations"
        for name in changed:
            delta = dict.fromkeys(self.vanish.get(name, ()), -1) | dict.fromkeys(self.appear.get(name, ()), 1)
            yield from (f"  {line}" for line in change_lines(self.relations[name], delta))
        if self.depend:
            yield ""
            yield f"derived by way of {it}, and perhaps in other ways, too"
        for name, number in self.depend.items():
            yield f"  {name}: {'at least ' if name in self.partial else ''}{amount(number, 'row')}"


def impact(session: Session, backwards: Backwards, table: Relation, row: Pattern) -> Impact:
    """Raises where no row matches."""
    contents = Contents(backwards.evidence)
    wanted = {at: value for at, value in enumerate(row) if value is not ...}
    counts = contents.matching(table.name, tuple(wanted), tuple(wanted.values()))
    found = in_order([*counts], table)
    if not found:
        raise DataError(f"{fact_text(table.name, row)} is not there, and nothing depends on it")
    copies = [each for each in found for _ in range(counts[each])]
    changes = what_if(session, [Delete(table, copies, ignore_missing=False)]).changes
    definitions = session.definitions
    depend, partial = dependents(contents, backwards, table.name, found, steps=STEPS, seconds=SECONDS)
    views = [name for name in definitions.visible if name in definitions.views]
    return Impact(
        relation=table.name,
        rows=tuple(found),
        vanish=_rows(changes, views, -1, definitions.relations),
        appear=_rows(changes, views, 1, definitions.relations),
        depend={name: len(depend.get(name, ())) for name in views if name in depend or name in partial},
        partial=tuple(name for name in views if name in partial),
        relations=definitions.visible,
    )


def _rows(
    changes: Mapping[str, Mapping[Row, int]], views: list[str], sign: int, relations: Mapping[str, Relation]
) -> dict[str, list[Row]]:
    found = {}
    for name in views:
        rows = [row for row, count in changes.get(name, {}).items() if count * sign > 0]
        if rows:
            found[name] = in_order(rows, relations[name])
    return found
