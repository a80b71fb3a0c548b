"""Random FROM clauses: tables, derived tables and every kind of join."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tests.random.expressions import KINDS, Expressions, Ref
from tests.random.outputs import Output

if TYPE_CHECKING:
    from tests.random.queries import Queries

KINDS_OF_JOIN = (
    *(
        "JOIN",
        "JOIN",
        "INNER JOIN",
        "LEFT JOIN",
        "LEFT JOIN",
        "LEFT OUTER JOIN",
        "RIGHT JOIN",
        "FULL JOIN",
        "FULL OUTER JOIN",
    ),
    *("LEFT SEMI JOIN", "LEFT ANTI JOIN"),
)


@dataclass(frozen=True)
class Visible:
    """A column in scope. `merged`: USING has put it together with one on the left, whose name stands for both."""

    alias: str
    name: str
    kind: str
    plain: bool
    merged: bool = False


@dataclass
class Scope:
    text: str
    columns: list[Visible] = field(default_factory=list)
    # Columns of USING, which can be read without saying of which table.
    shared: set[str] = field(default_factory=set)

    def refs(self) -> list[Ref]:
        qualified = [Ref(f"{c.alias}.{c.name}", c.kind, c.plain) for c in self.columns]
        own = [c.name for c in self.columns if not c.merged]
        return qualified + [
            Ref(c.name, c.kind) for c in self.columns if c.name in self.shared and own.count(c.name) == 1
        ]

    def shared_first(self) -> bool:
        """Whether `*` means one order: Spark puts the columns of USING first, DuckDB leaves them where they are."""
        return self.shared == {c.name for c in self.columns[: len(self.shared)]}

    def star_of_one(self) -> tuple[str, list[Output]]:
        """`t.*` for the first table."""
        alias = self.columns[0].alias
        own = [c for c in self.columns if c.alias == alias]
        return f"{alias}.*", [Output(c.name, c.kind, c.plain and c.name not in self.shared) for c in own]

    def star(self) -> list[Output]:
        return [Output(c.name, c.kind, c.plain and c.name not in self.shared) for c in self.columns if not c.merged]


class Joins:
    """What one SELECT reads."""

    def __init__(self, queries: Queries, depth: int, outer: Sequence[Ref]) -> None:
        self.queries = queries
        self.rng = queries.rng
        self.depth = depth
        self.outer = outer

    def from_clause(self) -> Scope:
        scope = self.source()
        for _ in range(self.rng.choice((0, 0, 0, 1, 1, 1, 2, 2, 3))):
            self.join(scope)
        return scope

    # Sources

    def source(self) -> Scope:
        chance = self.rng.random()
        if self.depth > 0 and chance < 0.15:
            return self.derived()
        if self.depth > 0 and chance < 0.2:
            inner = self.source()
            self.join(inner)
            return replace(inner, text=f"({inner.text})")
        name = self.rng.choice(list(self.queries.sources))
        alias = self.queries.fresh("a")
        found = [Visible(alias, o.name, o.kind, o.plain) for o in self.queries.sources[name]]
        return Scope(f"{name}{self.rng.choice((' ', ' AS '))}{alias}", found)

    def derived(self) -> Scope:
        # Now and then the derived table of a correlated subquery looks outside too.
        query = self.queries.query(self.depth - 1, outer=self.outer if self.rng.random() < 0.2 else ())
        alias = self.queries.fresh("q")
        outputs, columns = query.outputs, ""
        if self.rng.random() < 0.3:
            outputs = [replace(o, name=f"z{at}") for at, o in enumerate(outputs)]
            columns = f"({', '.join(o.name for o in outputs)})"
        return Scope(f"({query.text}) AS {alias}{columns}", [Visible(alias, o.name, o.kind, False) for o in outputs])

    # Joins

    def join(self, scope: Scope) -> None:
        right = self.source()
        chance = self.rng.random()
        if chance < 0.12:
            separator = self.rng.choice((" CROSS JOIN ", ", "))
            if separator == ", " and " JOIN " in scope.text:
                separator = " CROSS JOIN "
            scope.text += f"{separator}{right.text}"
            self._add(scope, right)
            return
        kind = self.rng.choice(KINDS_OF_JOIN)
        using = self._using(scope, right)
        if using and chance < 0.4:
            natural = "SEMI" not in kind and "ANTI" not in kind and using == self._common(scope, right)
            if natural and self.rng.random() < 0.5:
                scope.text += f" NATURAL {kind} {right.text}"
            else:
                using = using[: self.rng.randint(1, len(using))]
                scope.text += f" {kind} {right.text} USING ({', '.join(using)})"
            if "SEMI" not in kind and "ANTI" not in kind:
                merged = [replace(c, merged=c.merged or c.name in using) for c in right.columns]
                self._add(scope, replace(right, columns=merged))
                scope.shared |= set(using)
            return
        scope.text += f" {kind} {right.text} ON {self._condition(scope, right)}"
        if "SEMI" not in kind and "ANTI" not in kind:
            self._add(scope, right)

    def _add(self, scope: Scope, right: Scope) -> None:
        scope.columns.extend(right.columns)
        scope.shared |= right.shared

    def _common(self, left: Scope, right: Scope) -> list[str]:
        theirs = {c.name for c in right.columns}
        return [c.name for c in left.columns if c.name in theirs and not c.merged]

    def _using(self, left: Scope, right: Scope) -> list[str]:
        """Columns by which both sides can be joined, none of them twice on a side."""
        if left.shared or right.shared:
            return []
        kinds = [{c.name: c.kind for c in side.columns} for side in (left, right)]
        once = [n for n in kinds[0] if all([c.name for c in s.columns].count(n) == 1 for s in (left, right))]
        return [n for n in once if kinds[0][n] == kinds[1][n] and kinds[0][n] in KINDS]

    def _condition(self, left: Scope, right: Scope) -> str:
        # An unqualified name that is shared on one side may be another column's on the other.
        mine, theirs = ([ref for ref in side.refs() if "." in ref.text] for side in (left, right))
        pairs = [(a, b) for a in mine for b in theirs if a.kind == b.kind and a.kind in KINDS]
        parts = []
        if pairs and self.rng.random() < 0.8:
            a, b = self.rng.choice(pairs)
            parts.append(f"{a.text} {self.rng.choice(('=', '=', '=', '=', '<', '<=>'))} {b.text}")
        if not parts or self.rng.random() < 0.25:
            parts.append(Expressions(self.rng, [*mine, *theirs]).condition(1))
        return " AND ".join(parts)
