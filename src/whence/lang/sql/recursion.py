"""WITH RECURSIVE: common table expressions that read themselves or each other.

Written with UNION, a recursive relation is a set, and its rules are its branches; `levels` has UNION ALL. Where the
branches that recurse aggregate with min or max, the aggregate ranges over all branches together: `path(x, y, min<c>)`
is the cheapest of the direct links and of the longer paths. Its other columns are then the groups.

The branches that do not recurse give the columns their types, as in Spark, and the others have to fit them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from sqlglot import exp

from whence.errors import StratificationError, TypeMismatchError, UnsupportedError
from whence.functions.types import fits, infer
from whence.lang.sql.block import Block
from whence.lang.sql.finish import reaches
from whence.lang.sql.levels import LeveledCte, is_union_all
from whence.lang.sql.lowering import Lowered, Lowering, Output, QueryDraft
from whence.lang.sql.recursion_types import RawParts, tables_of
from whence.model import types
from whence.model.schema import Column, Relation
from whence.model.span import Span
from whence.model.terms import Aggregate

LowerPlain: TypeAlias = Callable[[Lowering, exp.CTE, Mapping[str, str], Block], Lowered]


def lower_recursive(
    lowering: Lowering, with_: exp.With, ctes: Mapping[str, str], outer: Block, plain: LowerPlain, raw: RawParts
) -> Mapping[str, str]:
    """Every expression of the WITH as a relation, those that depend on each other together."""
    members = {cte.alias.lower(): cte for cte in with_.expressions}
    reads = {name: [n for n in members if n in tables_of(cte.this)] for name, cte in members.items()}
    for group in _groups(reads):
        if len(group) == 1 and group[0] not in reads[group[0]]:
            cte = members[group[0]]
            ctes = {**ctes, cte.alias.lower(): plain(lowering, cte, ctes, outer).relation.name}
        elif len(group) == 1 and is_union_all(members[group[0]].this):
            ctes = LeveledCte(lowering, members[group[0]], outer, raw).lower(ctes)
        else:
            ctes = _Group(lowering, [members[n] for n in group], outer, raw).lower(ctes)
    return ctes


class _Group:
    """Expressions that read each other: first their types are found, and then their rules with those types."""

    def __init__(self, lowering: Lowering, members: Sequence[exp.CTE], outer: Block, raw: RawParts) -> None:
        self.lowering = lowering
        self.members = members
        self.outer = outer
        self.raw = raw
        self.aliases = {cte.alias.lower() for cte in members}

    def lower(self, ctes: Mapping[str, str]) -> Mapping[str, str]:
        lowering = self.lowering
        names: dict[str, exp.CTE] = {}
        for cte in self.members:
            name = lowering.fresh_name(cte.alias)
            columns = tuple(Column(c, types.NULL, nullable=False) for c in self._column_names(cte, ctes))
            lowering.made[name] = Relation(name, columns, distinct=True, span=lowering.span(cte.args["alias"]))
            names[name] = cte
            ctes = {**ctes, cte.alias.lower(): name}
        before = lowering.mark()
        shapes = self._started(names, ctes)
        while True:
            lowering.back_to(before)
            lowering.made.update(shapes)
            for name, cte in names.items():
                self._emit(cte, cte.this, name, ctes, shapes[name])
            found = {name: lowering.made[name] for name in names}
            if found == shapes:
                self._make_sets(set(found), since=len(before.rules))
                return ctes
            # The types are the same, but a column that can be NULL here may be read by a branch before.
            shapes = found

    def _started(self, names: Mapping[str, exp.CTE], ctes: Mapping[str, str]) -> dict[str, Relation]:
        """The members with the types of those branches that read no member whose types are not known yet."""
        lowering = self.lowering
        before = lowering.mark()
        shapes: dict[str, Relation] = {}
        while len(shapes) < len(names):
            unknown = {cte.alias.lower() for name, cte in names.items() if name not in shapes}
            found: dict[str, Relation] = {}
            for name, cte in names.items():
                start = _without_readers(cte.this, unknown)
                if name not in shapes and start is not None:
                    lowering.back_to(before)
                    lowering.made.update(shapes)
                    self._emit(cte, start, name, ctes)
                    found[name] = lowering.made[name]
            if not found:
                cte = next(cte for name, cte in names.items() if name not in shapes)
                raise TypeMismatchError(
                    f"every branch of {cte.alias!r} reads itself, so that its columns have no types",
                    span=lowering.span(cte.args["alias"]),
                    hint="a recursive query needs a branch that does not read itself",
                )
            shapes |= found
        for name, cte in names.items():
            self._check_types(cte, shapes[name])
        return shapes

    def _emit(
        self, cte: exp.CTE, query: exp.Expr, name: str, ctes: Mapping[str, str], shape: Relation | None = None
    ) -> None:
        """The rules of a member; where it has a shape already, they have to fit it."""
        self._refuse_union_all(query)
        self._refuse_optional(query)
        branches = self.raw(self.lowering, query, Block(self.outer.numbers, None, ctes), ctes)
        drafts = self._merge_aggregates(branches)
        drafts[0] = _renamed(self.lowering, cte, drafts[0])
        if shape is not None:
            self._check_fit(cte, drafts, shape)
        self.lowering.emit(name, drafts, distinct=True, span=self.lowering.span(cte.args["alias"]))

    def _check_fit(self, cte: exp.CTE, drafts: Sequence[QueryDraft], shape: Relation) -> None:
        for draft in drafts:
            environment = draft.block.final_environment(self.lowering.relation)
            for output, column in zip(draft.outputs, shape.columns, strict=False):
                type_ = infer(output.term, environment, self.lowering.signatures).type
                if not fits(type_, column.type):
                    raise TypeMismatchError(
                        f"column {column.name!r} of {cte.alias!r} starts as {column.type}, and becomes {type_} here",
                        span=output.span,
                        related=[("it starts here", column.span)],
                        hint=f"CAST this to {column.type}, or the column where it starts to a type that is wide enough",
                    )

    def _column_names(self, cte: exp.CTE, ctes: Mapping[str, str]) -> list[str]:
        given = [c.name for c in cte.args["alias"].args.get("columns") or ()]
        if given:
            return given
        first = cte.this
        while isinstance(first, exp.SetOperation | exp.Subquery | exp.Paren):
            first = first.this
        before = self.lowering.mark()
        if tables_of(first) & self.aliases:
            raise UnsupportedError(
                f"the columns of {cte.alias!r} cannot be told from its first branch, which is recursive",
                span=self.lowering.span(cte.args["alias"]),
                hint=f"name them: {cte.alias}(a, b, ...) AS (...)",
            )
        draft = self.raw(self.lowering, first, Block(self.outer.numbers, None, ctes), ctes)[0][1]
        self.lowering.back_to(before)
        return [o.name for o in draft.outputs]

    def _refuse_union_all(self, query: exp.Expr) -> None:
        while isinstance(query, exp.Subquery | exp.Paren):
            query = query.this
        if isinstance(query, exp.Union):
            if not query.args.get("distinct"):
                raise UnsupportedError(
                    "UNION ALL in queries that read each other is not supported",
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

    def _merge_aggregates(self, branches: list[tuple[exp.Expr, QueryDraft]]) -> list[QueryDraft]:
        recursive = [d for query, d in branches if tables_of(query) & self.aliases and d.aggregated]
        if not recursive:
            return [self.lowering.project(d, "grouped") if d.aggregated else d for _, d in branches]
        functions = {
            at: o.term.function for d in recursive for at, o in enumerate(d.outputs) if isinstance(o.term, Aggregate)
        }
        return [self._aggregated(draft, functions) for _, draft in branches]

    def _aggregated(self, draft: QueryDraft, functions: Mapping[int, str]) -> QueryDraft:
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

    def _check_types(self, cte: exp.CTE, relation: Relation) -> None:
        for column in relation.columns:
            if column.type == types.NULL:
                raise TypeMismatchError(
                    f"column {column.name!r} of {cte.alias!r} has no type: it starts as NULL",
                    span=column.span or relation.span,
                    hint="CAST the NULL to the type that the column will have",
                )

    def _make_sets(self, members: set[str], since: int) -> None:
        """What lies on a cycle with the members is a set as well: counting derivations around a cycle has no end."""
        reads: dict[str, set[str]] = {}
        for rule in self.lowering.rules[since:]:
            reads.setdefault(rule.head.relation, set()).update(rule.reads)
        for name in reads:
            if (
                name not in members
                and reaches(reads, name, members)
                and any(reaches(reads, m, {name}) for m in members)
            ):
                self.lowering.made[name] = replace(self.lowering.made[name], distinct=True)


def _renamed(lowering: Lowering, cte: exp.CTE, draft: QueryDraft) -> QueryDraft:
    alias = cte.args["alias"]
    names = [c.name for c in alias.args.get("columns") or ()]
    span: Span | None = lowering.span(alias)
    return draft.renamed(names, span)


def _without_readers(query: exp.Expr, names: set[str]) -> exp.Expr | None:
    """The query without those branches that read one of the names, or None where every branch does."""
    if not isinstance(query, exp.Union | exp.Subquery | exp.Paren):
        return None if tables_of(query) & names else query
    with_ = query.args.get("with_")
    inner = {cte.alias.lower(): tables_of(cte.this) for cte in with_.expressions} if with_ else {}
    names = names | {alias for alias in inner if reaches(inner, alias, names)}
    sides = [query.this, query.expression] if isinstance(query, exp.Union) else [query.this]
    kept = [side for side in (_without_readers(side, names) for side in sides) if side is not None]
    if not kept:
        return None
    whole = query.copy()
    if with_:
        whole.args["with_"].set("expressions", [cte for cte in with_.expressions if cte.alias.lower() not in names])
    if len(kept) < len(sides):
        return exp.Subquery(this=kept[0].copy(), with_=whole.args.get("with_"))
    for place, side in zip(("this", "expression"), kept, strict=False):
        whole.set(place, side.copy())
    return whole


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
