"""WITH RECURSIVE: common table expressions that read themselves or each other.

A recursive relation is a set: it is written with UNION, and its rules are its branches. Where the branches that
recurse aggregate with min or max, the aggregate ranges over all branches together: `path(x, y, min<c>)` is the
cheapest of the direct links and of the longer ways. Its other columns are then the groups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from sqlglot import exp

from whence.errors import StratificationError, TypeMismatchError, UnsupportedError
from whence.lang.sql.block import Block
from whence.lang.sql.column_lists import renamed
from whence.lang.sql.lowering import Draft, Lowered, Lowering, Output
from whence.lang.sql.order import reaches
from whence.model import types
from whence.model.rules import Atom, Negation
from whence.model.schema import Column, Relation
from whence.model.span import Span
from whence.model.terms import Aggregate

LowerPlain: TypeAlias = Callable[[Lowering, exp.CTE, Mapping[str, str], Block], Lowered]
RawParts: TypeAlias = Callable[[Lowering, exp.Expr, Block, Mapping[str, str]], list[tuple[exp.Expr, Draft]]]

# Types settle after a few rounds; only DECIMAL precision creeps up, to its limit of 38.
_MAX_ROUNDS = 60


def lower_recursive(
    lowering: Lowering, with_: exp.With, ctes: Mapping[str, str], outer: Block, plain: LowerPlain, raw: RawParts
) -> Mapping[str, str]:
    """Every expression of the WITH as a relation, those that depend on each other together."""
    members = {cte.alias.lower(): cte for cte in with_.expressions}
    reads = {name: [n for n in members if n in _tables(cte.this)] for name, cte in members.items()}
    for group in _groups(reads):
        if len(group) == 1 and group[0] not in reads[group[0]]:
            cte = members[group[0]]
            ctes = {**ctes, cte.alias: plain(lowering, cte, ctes, outer).relation.name}
        else:
            ctes = _Group(lowering, [members[n] for n in group], outer, raw).lower(ctes)
    return ctes


class _Group:
    """Expressions that read each other, lowered again and again until the types of their columns settle."""

    def __init__(self, lowering: Lowering, members: Sequence[exp.CTE], outer: Block, raw: RawParts) -> None:
        self.lowering = lowering
        self.members = members
        self.outer = outer
        self.raw = raw
        self.aliases = {cte.alias.lower() for cte in members}

    def lower(self, ctes: Mapping[str, str]) -> Mapping[str, str]:
        lowering = self.lowering
        before = dict(lowering.made), list(lowering.rules), list(lowering.notices)
        shapes: dict[str, Relation] = {}
        for cte in self.members:
            name = lowering.fresh_name(cte.alias)
            span = lowering.span(cte.args["alias"])
            columns = tuple(Column(c, types.NULL, nullable=False) for c in self._column_names(cte, ctes))
            shapes[name] = lowering.made[name] = Relation(name, columns, distinct=True, span=span)
            ctes = {**ctes, cte.alias: name}
        for _ in range(_MAX_ROUNDS):
            lowering.made, lowering.rules, lowering.notices = dict(before[0]) | shapes, list(before[1]), list(before[2])
            for cte, name in zip(self.members, shapes, strict=True):
                self._emit(cte, name, ctes)
            found = {name: lowering.made[name] for name in shapes}
            if found == shapes:
                self._check_types(found)
                self._make_sets(set(found), since=len(before[1]))
                return ctes
            shapes = found
        raise TypeMismatchError(
            "the column types of this recursive query do not settle",
            span=lowering.span(self.members[0].args["alias"]),
            hint="CAST the growing column",
        )

    def _emit(self, cte: exp.CTE, name: str, ctes: Mapping[str, str]) -> None:
        self._refuse_union_all(cte.this)
        self._refuse_optional(cte.this)
        branches = self.raw(self.lowering, cte.this, Block(self.outer.numbers, None, ctes), ctes)
        drafts = self._merge_aggregates(branches)
        drafts[0] = _renamed(self.lowering, cte, drafts[0])
        self.lowering.emit(name, drafts, distinct=True, span=self.lowering.span(cte.args["alias"]))

    def _column_names(self, cte: exp.CTE, ctes: Mapping[str, str]) -> list[str]:
        given = [c.name for c in cte.args["alias"].args.get("columns") or ()]
        if given:
            return given
        first = cte.this
        while isinstance(first, exp.SetOperation | exp.Subquery | exp.Paren):
            first = first.this
        saved = dict(self.lowering.made), list(self.lowering.rules), list(self.lowering.notices)
        if _tables(first) & self.aliases:
            raise UnsupportedError(
                f"the columns of {cte.alias!r} cannot be told from its first branch, which is recursive",
                span=self.lowering.span(cte.args["alias"]),
                hint=f"name them: {cte.alias}(a, b, ...) AS (...)",
            )
        draft = self.raw(self.lowering, first, Block(self.outer.numbers, None, ctes), ctes)[0][1]
        self.lowering.made, self.lowering.rules, self.lowering.notices = saved
        return [o.name for o in draft.outputs]

    def _refuse_union_all(self, query: exp.Expr) -> None:
        while isinstance(query, exp.Subquery | exp.Paren):
            query = query.this
        if isinstance(query, exp.Union):
            if not query.args.get("distinct"):
                raise UnsupportedError(
                    "UNION ALL in a recursive query is not supported",
                    span=self.lowering.span(query.expression),
                    hint="use UNION: the recursion then ends when nothing new comes, on cycles too",
                )
            self._refuse_union_all(query.this)
            self._refuse_union_all(query.expression)

    def _refuse_optional(self, query: exp.Expr) -> None:
        for side, table in _optional(query):
            if table.name.lower() in self.aliases:
                raise StratificationError(
                    f"{table.name!r} is recursive, so it cannot stand on the optional side of a {side} JOIN: which "
                    "rows have no match is only known when the recursion is over",
                    span=self.lowering.span(table),
                    hint=f"use JOIN here, and the {side} JOIN in a query that reads {table.name!r} from outside",
                )

    def _merge_aggregates(self, branches: list[tuple[exp.Expr, Draft]]) -> list[Draft]:
        recursive = [d for query, d in branches if _tables(query) & self.aliases and d.aggregated]
        if not recursive:
            return [self.lowering.project(d, "grouped") if d.aggregated else d for _, d in branches]
        functions = {
            at: o.term.function for d in recursive for at, o in enumerate(d.outputs) if isinstance(o.term, Aggregate)
        }
        return [self._aggregated(draft, functions) for _, draft in branches]

    def _aggregated(self, draft: Draft, functions: Mapping[int, str]) -> Draft:
        """The branch with an aggregate wherever the recursive branches have one."""
        outputs: list[Output] = []
        for at, output in enumerate(draft.outputs):
            term = output.term
            if isinstance(term, Aggregate):
                if functions.get(at) != term.function:
                    raise UnsupportedError(
                        "the branches of a recursive query must agree in their aggregates", span=output.span
                    )
            elif at in functions:
                term = Aggregate(functions[at], term, span=output.span)
            outputs.append(replace(output, term=term))
        return replace(draft, outputs=outputs)

    def _check_types(self, found: Mapping[str, Relation]) -> None:
        for cte, relation in zip(self.members, found.values(), strict=True):
            for column in relation.columns:
                if column.type == types.NULL:
                    raise TypeMismatchError(
                        f"column {column.name!r} of {cte.alias!r} has no type",
                        span=column.span or relation.span,
                        hint="a recursive query needs a branch that does not read itself",
                    )

    def _make_sets(self, members: set[str], since: int) -> None:
        """What lies on a cycle with the members is a set as well: counting ways around a cycle has no end."""
        reads: dict[str, set[str]] = {}
        for rule in self.lowering.rules[since:]:
            used = {
                a.relation if isinstance(a, Atom) else a.atom.relation
                for a in rule.body
                if isinstance(a, Atom | Negation)
            }
            reads.setdefault(rule.head.relation, set()).update(used)
        for name in reads:
            if (
                name not in members
                and reaches(reads, name, members)
                and any(reaches(reads, m, {name}) for m in members)
            ):
                self.lowering.made[name] = replace(self.lowering.made[name], distinct=True)


def _renamed(lowering: Lowering, cte: exp.CTE, draft: Draft) -> Draft:
    alias = cte.args["alias"]
    names = [c.name for c in alias.args.get("columns") or ()]
    span: Span | None = lowering.span(alias)
    return renamed(draft, names, span)


def _tables(query: exp.Expr) -> set[str]:
    return {table.name.lower() for table in query.find_all(exp.Table)}


def _optional(query: exp.Expr) -> Iterator[tuple[str, exp.Table]]:
    """The tables that an outer join takes NULL for where it finds no match, each with the side that it keeps."""
    for node in query.find_all(exp.Select, exp.Subquery, exp.Table):
        first = node.args.get("from_") if isinstance(node, exp.Select) else node.this
        before = [node] if isinstance(node, exp.Table) else list(first.find_all(exp.Table)) if first else []
        for join in node.args.get("joins") or ():
            joined = list(join.this.find_all(exp.Table))
            optional = {"LEFT": joined, "RIGHT": before, "FULL": [*before, *joined]}.get((join.side or "").upper(), [])
            yield from ((join.side.upper(), table) for table in optional)
            before = [*before, *joined]


def _groups(reads: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Names that reach each other together, what is read before what reads it, in the order of the text."""
    closure = {name: {other for other in reads if reaches(reads, name, {other})} for name in reads}
    groups: list[list[str]] = []
    placed: set[str] = set()
    while len(placed) < len(reads):
        for name in reads:
            group = [n for n in reads if n == name or (n in closure[name] and name in closure[n])]
            if name not in placed and closure[name] <= placed | set(group):
                groups.append(group)
                placed.update(group)
                break
    return groups
