"""Random SQL queries: blocks, set operations, common table expressions and recursion."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from random import Random

from tests.random.expressions import KINDS, Expressions, Ref
from tests.random.joins import Joins, Scope
from tests.random.outputs import Output, Query

# Kinds that compare the same in both systems, so that rows can be grouped by them, or be made distinct.
EXACT = (*KINDS, "REAL")
_COLUMN = re.compile(r"[a-z]\w*\.\w+")


@dataclass(frozen=True)
class Demand:
    """What a query must give: columns of these kinds, or any; `exact`: all of a kind that compares the same."""

    kinds: Sequence[str] | None = None
    exact: bool = False


ANY = Demand()


class Queries:
    """The sources are what FROM can name; the outer references what a correlated subquery can use."""

    def __init__(self, rng: Random, sources: Mapping[str, Sequence[Output]], keys: Mapping[str, Sequence[str]]) -> None:
        self.rng = rng
        self.sources = dict(sources)
        self.keys = keys
        self.numbers = count(1)

    def fresh(self, letter: str) -> str:
        return f"{letter}{next(self.numbers)}"

    # Whole queries

    def query(self, depth: int, demand: Demand = ANY, outer: Sequence[Ref] = ()) -> Query:
        chance = self.rng.random()
        if depth > 1 and chance < 0.12:
            with self.common_tables(depth - 1) as definitions:
                inner = self.query(depth - 1, demand, outer)
            rest = inner.text if inner.bare else f"({inner.text})"
            return replace(inner, text=f"WITH {definitions} {rest}")
        if depth > 0 and chance < 0.27:
            return self.set_operation(depth - 1, demand, outer)
        if chance < 0.29 and not outer:
            return self.values(demand)
        return self.select(depth, demand, outer)

    @contextmanager
    def common_tables(self, depth: int) -> Iterator[str]:
        """The text after WITH; what it defines can be read inside."""
        before = dict(self.sources)
        texts = []
        for _ in range(self.rng.choice((1, 1, 2))):
            name = self.fresh("w")
            query = self.query(depth)
            outputs, columns = query.outputs, ""
            if self.rng.random() < 0.4:
                outputs = [replace(o, name=f"y{at}") for at, o in enumerate(outputs)]
                columns = f"({', '.join(o.name for o in outputs)})"
            texts.append(f"{name}{columns} AS ({query.text})")
            self.sources[name] = outputs
        yield ", ".join(texts)
        self.sources = before

    def set_operation(self, depth: int, demand: Demand, outer: Sequence[Ref]) -> Query:
        operator = self.rng.choice(("UNION", "UNION ALL", "UNION ALL", "INTERSECT", "EXCEPT"))
        inner = replace(demand, exact=demand.exact or operator != "UNION ALL")
        left = self.query(depth, inner, outer)
        right = self.query(depth, replace(inner, kinds=[o.kind for o in left.outputs]), outer)
        # Without parentheses the operators' precedence decides, and the left one comes first among equals.
        left_text = left.text if left.bare and self.rng.random() < 0.5 else f"({left.text})"
        right_text = right.text if right.bare and not right.combined else f"({right.text})"
        outputs = [replace(o, plain=False) for o in left.outputs]
        return Query(f"{left_text} {operator} {right_text}", outputs, combined=True)

    def values(self, demand: Demand) -> Query:
        kinds = demand.kinds or [self.rng.choice(KINDS) for _ in range(self.rng.randint(1, 3))]
        if any(kind in ("REAL", "ROUGH") for kind in kinds):
            return self.select(0, demand, ())
        constants = Expressions(self.rng, ())
        rows = [f"({', '.join(constants.constant(k) for k in kinds)})" for _ in range(self.rng.randint(1, 3))]
        names = [f"c{at}" for at in range(len(kinds))]
        text = f"SELECT * FROM (VALUES {', '.join(rows)}) AS {self.fresh('u')}({', '.join(names)})"
        return Query(text, [Output(n, k) for n, k in zip(names, kinds, strict=True)])

    # Blocks

    def select(self, depth: int, demand: Demand, outer: Sequence[Ref]) -> Query:
        scope = Joins(self, depth, outer).from_clause()
        if demand.kinds is None and self.rng.random() < 0.08:
            star, outputs = self.rng.choice([("*", scope.star()), scope.star_of_one()])
            once = len({o.name for o in outputs}) == len(outputs)
            if once and scope.shared_first() and all(o.kind in EXACT or not demand.exact for o in outputs):
                return Query(f"SELECT {star} FROM {scope.text}{self.where(scope, depth, outer)}", outputs)
        where = self.where(scope, depth, outer)
        if self.rng.random() < 0.3:
            return self.grouped(scope, where, depth, demand, outer)
        distinct = self.rng.random() < 0.15
        expressions = Expressions(self.rng, [*scope.refs(), *self.some(outer)], self.subquery)
        outputs, items = [], []
        for at, kind in enumerate(self.kinds(demand, expressions.scope, exact=distinct)):
            item = expressions.make(kind, min(depth, 2) if self.rng.random() < 0.5 else 0)
            items.append(f"{item} AS c{at}")
            outputs.append(Output(f"c{at}", kind))
        return Query(f"SELECT {'DISTINCT ' if distinct else ''}{', '.join(items)} FROM {scope.text}{where}", outputs)

    def where(self, scope: Scope, depth: int, outer: Sequence[Ref]) -> str:
        if self.rng.random() < (0.2 if outer else 0.6):
            return ""
        expressions = Expressions(self.rng, [*scope.refs(), *outer], self.subquery)
        parts = [expressions.condition(min(depth, 2) + 1)]
        inner = [ref for ref in scope.refs() if ref.kind in KINDS]
        pairs = [(a, b) for a in inner for b in outer if a.kind == b.kind]
        if pairs and self.rng.random() < 0.7:
            mine, theirs = self.rng.choice(pairs)
            parts.append(f"{mine.text} {self.rng.choice(('=', '=', '=', '<', '<=>'))} {theirs.text}")
            parts = parts[self.rng.choice((0, 1)) :]
        return " WHERE " + " AND ".join(parts)

    def kinds(self, demand: Demand, scope: Sequence[Ref], *, exact: bool = False) -> list[str]:
        if demand.kinds is not None:
            return [self.narrower(kind) for kind in demand.kinds]
        here = [ref.kind for ref in scope] or ["INT"]
        anything = (*KINDS, "REAL", "ROUGH")
        chosen = [self.rng.choice(here if self.rng.random() < 0.8 else anything) for _ in range(self.rng.randint(1, 3))]
        return [k if k in EXACT else "DECIMAL" for k in chosen] if exact or demand.exact else chosen

    def narrower(self, kind: str) -> str:
        """Now and then a type that widens to the one on the other side."""
        return "INT" if kind in ("DECIMAL", "DOUBLE") and self.rng.random() < 0.1 else kind

    def some(self, outer: Sequence[Ref]) -> Sequence[Ref]:
        return outer if self.rng.random() < 0.2 else ()

    # Groups

    def grouped(self, scope: Scope, where: str, depth: int, demand: Demand, outer: Sequence[Ref]) -> Query:
        expressions = Expressions(self.rng, scope.refs())
        groups: list[Ref] = []
        for _ in range(self.rng.choice((0, 1, 1, 1, 2))):
            columns = [ref for ref in scope.refs() if ref.kind in EXACT]
            if columns and self.rng.random() < 0.7:
                groups.append(self.rng.choice(columns))
            elif columns:
                column = self.rng.choice(columns)
                made = Expressions(self.rng, [column]).make(column.kind, 1)
                if column.text in made:
                    groups.append(Ref(f"({made})", column.kind))
        folds = [self.fold(expressions) for _ in range(self.rng.randint(1, 3))]
        if groups and self.rng.random() < 0.1:
            folds = []
        after = Expressions(self.rng, [*groups, *folds], self.subquery_after_groups)
        having = f" HAVING {after.condition(min(depth, 1) + 1)}" if self.rng.random() < 0.25 else ""
        wanted = self.kinds(demand, after.scope)
        items = [after.make(kind, self.rng.choice((0, 0, 1))) for kind in wanted]
        if demand.kinds is None and self.rng.random() < 0.6:
            items = [ref.text for ref in after.scope]
            wanted = [ref.kind for ref in after.scope]
        if demand.exact and demand.kinds is None and not all(kind in EXACT for kind in wanted):
            items, wanted = ["count(*)"], ["INT"]
        distinct = "DISTINCT " if self.rng.random() < 0.05 and all(kind in EXACT for kind in wanted) else ""
        outputs = [Output(f"c{at}", kind) for at, kind in enumerate(wanted)]
        names = [self.name_group(ref.text, items, scope) for ref in dict.fromkeys(groups)]
        group_by = f" GROUP BY {', '.join(names)}" if names else ""
        select = ", ".join(f"{item} AS c{at}" for at, item in enumerate(items))
        return Query(f"SELECT {distinct}{select} FROM {scope.text}{where}{group_by}{having}", outputs)

    def name_group(self, text: str, items: Sequence[str], scope: Scope) -> str:
        """By its text, its alias or its number in the list."""
        if text not in items or self.rng.random() < 0.5:
            return text
        at = items.index(text)
        # A column by the name of the alias would come first.
        alias = f"c{at}"
        names = [] if any(c.name == alias for c in scope.columns) else [alias]
        return self.rng.choice([*names, str(at + 1)])

    def fold(self, expressions: Expressions, kind: str | None = None) -> Ref:
        """An aggregate, of the kind if one is given."""
        rng = self.rng
        choices = {
            "INT": ("count", "count", "star", "sum", "min", "max"),
            "DECIMAL": ("sum", "min", "max"),
            "DOUBLE": ("sum", "min", "max"),
            "REAL": ("avg",),
            "ROUGH": ("avg",),
        }
        if kind is None:
            kind = rng.choice(("INT", "INT", expressions.comparable(), "REAL", "ROUGH"))
        function = rng.choice(choices.get(kind, ("min", "max")))
        of = kind
        if function == "count":
            of = rng.choice([ref.kind for ref in expressions.scope if ref.kind != "ROUGH"] or ["INT"])
        elif function == "avg":
            of = "DECIMAL" if kind == "ROUGH" else rng.choice(("INT", "INT", "DOUBLE"))
        filtered = f" FILTER (WHERE {expressions.condition(1)})" if rng.random() < 0.15 else ""
        if function == "star":
            return Ref(f"count(*){filtered}", "INT")
        distinct = "DISTINCT " if rng.random() < 0.2 else ""
        text = f"{function}({distinct}{expressions.make(of, rng.choice((0, 0, 1)))}){filtered}"
        if function == "sum" and kind == "DECIMAL":
            # In DuckDB it has 38 digits; beside a DECIMAL with more of them after the point those would be cut off.
            text = f"CAST({text} AS DECIMAL(18,3))"
        return Ref(text, kind)

    # Subqueries

    def subquery_after_groups(self, around: Expressions, kind: str, depth: int) -> str | None:
        groups = [ref for ref in around.scope if _COLUMN.fullmatch(ref.text)]
        return self.subquery(Expressions(self.rng, groups), kind, depth)

    def subquery(self, around: Expressions, kind: str, depth: int) -> str | None:
        # Only qualified names: others could be taken for a column of the subquery.
        outer = [ref for ref in around.scope if _COLUMN.fullmatch(ref.text) and ref.kind != "ROUGH"]
        outer = [replace(ref, plain=False) for ref in outer] if self.rng.random() < 0.75 else []
        depth = min(depth, 1)
        negated = self.rng.choice(("", "NOT "))
        chance = self.rng.random()
        if kind == "BOOLEAN" and chance < 0.4:
            return f"({negated}EXISTS ({self.plain_select(depth, ANY, outer).text}))"
        if kind == "BOOLEAN" and chance < 0.45:
            return self.row_in(around, depth)
        if kind == "BOOLEAN" and chance < 0.9:
            of = around.comparable(rare=False)
            left = Expressions(self.rng, around.scope).make(of, min(depth, 1))
            right = self.plain_select(depth, Demand((of,), exact=True), outer)
            return f"({left} {negated}IN ({right.text}))"
        if kind == "ROUGH":
            return None
        return self.lookup(kind, outer) or self.folded(kind, depth, outer)

    def row_in(self, around: Expressions, depth: int) -> str:
        """Several values at once. DuckDB does not do it with correlation, nor whence NOT IN where there are NULLs."""
        kinds = [around.comparable(rare=False) for _ in range(2)]
        left = ", ".join(Expressions(self.rng, around.scope).make(kind, 0) for kind in kinds)
        return f"(({left}) IN ({self.plain_select(depth, Demand(kinds, exact=True), ()).text}))"

    def plain_select(self, depth: int, demand: Demand, outer: Sequence[Ref]) -> Query:
        """Anything without correlation; with it mostly a block that is neither grouped nor combined."""
        if not outer or self.rng.random() < 0.3:
            return self.query(depth, demand, outer)
        scope = Joins(self, depth, outer).from_clause()
        where = self.where(scope, depth, outer)
        expressions = Expressions(self.rng, scope.refs())
        kinds = self.kinds(demand, scope.refs())
        items = [f"{expressions.make(kind, 0)} AS c{at}" for at, kind in enumerate(kinds)]
        outputs = [Output(f"c{at}", kind) for at, kind in enumerate(kinds)]
        return Query(f"SELECT {', '.join(items)} FROM {scope.text}{where}", outputs)

    def folded(self, kind: str, depth: int, outer: Sequence[Ref]) -> str:
        """A subquery that aggregates has one row."""
        scope = Joins(self, depth, outer).from_clause()
        where = self.where(scope, depth, outer)
        expressions = Expressions(self.rng, scope.refs())
        fold = self.fold(expressions, kind)
        text = fold.text
        if self.rng.random() < 0.3:
            text = f"coalesce({text}, {Expressions(self.rng, ()).leaf(kind)})"
        return f"(SELECT {text} FROM {scope.text}{where})"

    def lookup(self, kind: str, outer: Sequence[Ref]) -> str | None:
        """A subquery that fixes a key has one row at most."""
        for table, key in self.keys.items():
            columns = {o.name: o.kind for o in self.sources[table]}
            found = [name for name, of in columns.items() if of == kind]
            partners = [[ref.text for ref in outer if ref.kind == columns[name]] for name in key]
            if key and found and all(partners) and self.rng.random() < 0.5:
                alias = self.fresh("a")
                fixed = (f"{alias}.{n} = {self.rng.choice(p)}" for n, p in zip(key, partners, strict=True))
                return f"(SELECT {alias}.{self.rng.choice(found)} FROM {table} {alias} WHERE {' AND '.join(fixed)})"
        return None

    # Recursion

    def recursive(self) -> Query:
        """A closure over two columns of one kind, read by a query of its own."""
        scope = Joins(self, 0, ()).from_clause()
        kinds = {ref.kind for ref in scope.refs()} & set(KINDS)
        kind = self.rng.choice(sorted(kinds)) if kinds else "INT"
        # DuckDB takes the first branch's type for all of it, so both branches say the same.
        cast = {"INT": "BIGINT", "DECIMAL": "DECIMAL(18,3)"}.get(kind, kind)
        name, edge = self.fresh("r"), self.fresh("w")
        pair = [f"CAST({Expressions(self.rng, scope.refs()).leaf(kind)} AS {cast}) AS {n}" for n in ("p", "q")]
        edges = f"{edge} AS (SELECT {', '.join(pair)} FROM {scope.text}{self.where(scope, 1, ())})"
        refs = [Ref("w.p", kind), Ref("w.q", kind), Ref("r.x", kind), Ref("r.y", kind)]
        extra = f" AND ({Expressions(self.rng, refs).condition(1)})" if self.rng.random() < 0.3 else ""
        start = f"SELECT p, q FROM {edge}"
        step = f"SELECT r.x, w.q FROM {name} r JOIN {edge} w ON r.y = w.p{extra}"
        shape = self.rng.choice(("right", "left", "twice", "nonlinear", "count"))
        other = None
        if shape == "left":
            step = f"SELECT w.p, r.y FROM {edge} w, {name} r WHERE w.q = r.x{extra}"
        elif shape == "twice":
            step = f"({step} UNION SELECT r.y, r.x FROM {name} r WHERE r.x IS NOT NULL)"
        elif shape == "nonlinear":
            # DuckDB joins only what the last round found with itself, and so misses rows.
            other = f"SELECT r.x, w.q FROM {name} r JOIN {edge} w ON r.y = w.p"
            step = f"SELECT r.x, w.y AS q FROM {name} r JOIN {name} w ON r.y = w.x"
        elif shape == "count" and kind == "INT":
            step = f"SELECT r.x, r.y + 1 FROM {name} r WHERE r.y < 4 AND r.y > -4"
        self.sources[name] = [Output("x", kind), Output("y", kind)]
        rest = self.select(1, ANY, ())

        def whole(step: str) -> str:
            return f"WITH RECURSIVE {edges}, {name}(x, y) AS ({start} UNION {step}) {rest.text}"

        return Query(whole(step), rest.outputs, duckdb=None if other is None else whole(other))
