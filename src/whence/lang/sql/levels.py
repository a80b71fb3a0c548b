"""WITH RECURSIVE ... UNION ALL: a bag that grows level by level, as in Spark.

    w$levels(0, n) :- start(n).
    w$levels(level + 1, m) :- w$levels(level, n), step(n, m).
    w(n) :- w$levels(_, n).

The level is a column that only the rules see.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from whence.errors import TypeMismatchError, UnsupportedError
from whence.functions.types import fits, infer
from whence.lang.sql.block import Block
from whence.lang.sql.lowering import HIDDEN_LEVEL, Lowered, Lowering, Output, QueryDraft
from whence.lang.sql.recursion_types import RawParts, tables_of
from whence.model import types
from whence.model.schema import Relation
from whence.model.terms import Call, Constant, Term, Variable


def is_union_all(query: exp.Expr) -> bool:
    """Whether branches of a query are put together with UNION ALL."""
    while isinstance(query, exp.Subquery | exp.Paren):
        query = query.this
    if not isinstance(query, exp.Union):
        return False
    return not query.args.get("distinct") or is_union_all(query.this) or is_union_all(query.expression)


class LeveledCte:
    """One expression that reads itself."""

    def __init__(self, lowering: Lowering, cte: exp.CTE, outer: Block, raw: RawParts) -> None:
        self._lowering = lowering
        self._cte = cte
        self._alias = cte.alias.lower()
        self._outer = outer
        self._raw = raw

    def lower(self, ctes: Mapping[str, str]) -> Mapping[str, str]:
        lowering = self._lowering
        branches = list(self._branches(self._cte.this))
        starts = [branch for branch in branches if self._alias not in tables_of(branch)]
        if not starts:
            raise TypeMismatchError(
                f"every branch of {self._cte.alias!r} reads itself, so that it has no start",
                span=lowering.span(self._cte.args["alias"]),
                hint="a recursive query needs a branch that does not read itself",
            )
        name = lowering.fresh_name(f"{self._cte.alias}_levels")
        before = lowering.mark()
        self._emit(name, starts, {**ctes})
        shape = lowering.made[name]
        while True:
            lowering.back_to(before)
            lowering.made[name] = shape
            self._emit(name, branches, {**ctes, self._alias: name}, shape)
            found = lowering.made[name]
            if found == shape:
                break
            # The types are the same, but a column that can be NULL in a later branch is read by it.
            shape = found
        return {**ctes, self._alias: self._without_level(shape).relation.name}

    def _branches(self, query: exp.Expr) -> Sequence[exp.Expr]:
        while isinstance(query, exp.Subquery | exp.Paren) and not query.args.get("with_"):
            query = query.this
        if not isinstance(query, exp.Union) or query.args.get("with_"):
            return [query]
        if query.args.get("distinct"):
            raise UnsupportedError(
                "UNION and UNION ALL in one recursion are not supported",
                span=self._lowering.span(query.expression),
                hint="a UNION ends when nothing new comes, a UNION ALL counts all ways",
            )
        return [*self._branches(query.this), *self._branches(query.expression)]

    def _emit(
        self, name: str, branches: Sequence[exp.Expr], ctes: Mapping[str, str], shape: Relation | None = None
    ) -> None:
        lowering = self._lowering
        drafts: list[QueryDraft] = []
        for branch in branches:
            since = len(lowering.rules)
            ((_, draft),) = self._raw(lowering, branch, Block(self._outer.numbers, None, ctes), ctes)
            reads_itself = shape is not None and self._alias in tables_of(branch)
            if reads_itself:
                level = self._next_level(name, branch, draft, since)
            else:
                level = Constant(0, types.INT)
                if draft.aggregated or draft.distinct:
                    draft = lowering.project(draft, "grouped")
            if shape is not None:
                self._check_fit(draft, shape)
            hidden = Output(HIDDEN_LEVEL, level, given=False)
            names = [c.name for c in self._cte.args["alias"].args.get("columns") or ()]
            if not drafts:
                draft = draft.renamed(names, lowering.span(self._cte.args["alias"]))
            drafts.append(replace(draft, outputs=[hidden, *draft.outputs], distinct=False))
        lowering.emit(name, drafts, distinct=False, span=lowering.span(self._cte.args["alias"]))

    def _next_level(self, name: str, branch: exp.Expr, draft: QueryDraft, since: int) -> Term:
        own = [atom for atom in draft.block.atoms if atom.relation == name]
        elsewhere = any(name in rule.reads for rule in self._lowering.rules[since:])
        if len(own) != 1 or elsewhere or draft.aggregated or draft.distinct:
            raise UnsupportedError(
                f"with UNION ALL a branch reads {self._cte.alias!r} once, in its FROM, without grouping or DISTINCT",
                span=self._lowering.span(branch),
                hint="join it directly; with UNION a recursion may read itself several times",
            )
        level = own[0].terms[0]
        assert isinstance(level, Variable)
        return Call("+", (level, Constant(1, types.INT)))

    def _check_fit(self, draft: QueryDraft, shape: Relation) -> None:
        environment = draft.block.final_environment(self._lowering.relation)
        for output, column in zip(draft.outputs, shape.columns[1:], strict=False):
            kind = infer(output.term, environment, self._lowering.signatures).type
            if not fits(kind, column.type):
                raise TypeMismatchError(
                    f"column {column.name!r} of {self._cte.alias!r} starts as {column.type}, and becomes {kind} here",
                    span=output.span,
                    related=[("it starts here", column.span)],
                    hint=f"CAST this to {column.type}, or the column where it starts to a type that is wide enough",
                )

    def _without_level(self, levels: Relation) -> Lowered:
        lowering = self._lowering
        block = Block(self._outer.numbers, None, {})
        terms = lowering.read(block, Lowered(levels, ()), levels.span)
        outputs = [Output(c.name, t) for c, t in zip(levels.columns[1:], terms[1:], strict=True)]
        name = lowering.fresh_name(self._cte.alias)
        return lowering.emit(name, [QueryDraft(block, outputs, span=levels.span)], distinct=False, span=levels.span)
