"""`db.what_if` and `db.impact`: what would follow from a change, and what depends on a row of a table."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whence.errors import DataError, UnknownNameError, did_you_mean
from whence.explain.hypothetical.contents import DatabaseContents
from whence.explain.hypothetical.dependents import dependents
from whence.explain.proofs.backwards import Backwards
from whence.explain.proofs.text import Pattern, amount, fact_text, json_row
from whence.model.schema import Relation
from whence.model.types import Row
from whence.model.updates import Delta, Version, totals
from whence.session.changes import Change, Delete
from whence.session.contents import in_order, row_order
from whence.session.feeds import feed_table
from whence.session.journal import Entry
from whence.session.lifetimes import wall_clock
from whence.session.session import Session

if TYPE_CHECKING:
    import pyarrow as pa

# So many rows of a relation are written out; of more, the first.
ROWS_SHOWN = 10


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
        yield f"  {'+' if delta[row] > 0 else '-'} {fact_text('', row)}{f' x {copies}' if copies > 1 else ''}"
    if len(rows) > ROWS_SHOWN:
        yield f"    ... and {amount(len(rows) - ROWS_SHOWN, 'more row')}"


def json_changes(relation: Relation, delta: Delta) -> list[dict[str, object]]:
    order = row_order(relation)
    return [{"row": json_row(row), "count": delta[row]} for row in sorted(delta, key=order)]


def json_facts(facts: Iterable[tuple[str, Row]], relations: Mapping[str, Relation]) -> list[dict[str, object]]:
    return [{"relation": name, "row": json_row(row)} for name, row in ordered(facts, relations)]


def ordered(facts: Iterable[tuple[str, Row]], relations: Mapping[str, Relation]) -> list[tuple[str, Row]]:
    """By relation, and in each in the order of its rows."""
    orders = {name: row_order(relation) for name, relation in relations.items()}
    return sorted(facts, key=lambda each: (each[0], orders[each[0]](each[1])))


@dataclass(frozen=True)
class WhatIf:
    """What would change, in tables and in views: how often each row would come or go. Nothing of it has happened.

    `version` and `timestamp` are those that a commit would have had at the time of the question.
    """

    changes: Mapping[str, Mapping[Row, int]]
    relations: Mapping[str, Relation]
    version: Version
    timestamp: datetime.datetime

    def table(self, relation: str) -> pa.Table:
        """The changes of one relation in the shape of `db.changes`."""
        found = next((each for name, each in self.relations.items() if name.lower() == relation.lower()), None)
        if found is None:
            raise UnknownNameError(f"there is no relation {relation!r}", hint=did_you_mean(relation, self.relations))
        delta = self.changes.get(found.name)
        entries = [] if delta is None else [Entry(self.version, self.timestamp, delta)]
        return feed_table(found, entries)

    def json(self) -> dict[str, object]:
        return {"changes": {name: json_changes(self.relations[name], delta) for name, delta in self.changes.items()}}

    def __str__(self) -> str:
        if not self.changes:
            return "nothing would change"
        parts = (change_lines(self.relations[name], delta) for name, delta in self.changes.items())
        return "\n\n".join("\n".join(lines) for lines in parts)

    __repr__ = __str__


def what_if(session: Session, changed: Sequence[Change]) -> WhatIf:
    """What would follow from changes that are made one after the other, in one commit."""
    session.expect(changed)
    draft = session.draft()
    for change in changed:
        change.add_to(draft)
    seen = session.foresee(draft.update)
    # Some changes are read where the engine works, and only as long as it does.
    found = {name: dict(delta.items()) for name, delta in seen.items()}
    relations = session.definitions.visible
    tables_first = sorted(found, key=lambda name: (name in session.definitions.views, [*relations].index(name)))
    return WhatIf({name: found[name] for name in tables_first}, relations, Version(session.version + 1), wall_clock())


# Views that the engine cannot follow by itself are followed row by row: so many steps in each, and so long in all.
IMPACT_STEPS = 100_000
IMPACT_SECONDS = 10.0


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
    contents = DatabaseContents(backwards.evidence)
    counts = contents.like(table.name, row)
    found = in_order([*counts], table)
    if not found:
        raise DataError(f"{fact_text(table.name, row)} is not there, and nothing depends on it")
    copies = [each for each in found for _ in range(counts[each])]
    changes = what_if(session, [Delete(table, copies, ignore_missing=False)]).changes
    definitions = session.definitions
    depend, partial = dependents(contents, backwards, table.name, found, steps=IMPACT_STEPS, seconds=IMPACT_SECONDS)
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
    found = {name: [row for row, count in changes.get(name, {}).items() if count * sign > 0] for name in views}
    return {name: in_order(rows, relations[name]) for name, rows in found.items() if rows}
