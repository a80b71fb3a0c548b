"""Queries: SELECT, UNION, INTERSECT, EXCEPT, VALUES and WITH, each down to drafts of rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from whence.errors import ArityError, DuplicateNameError, TypeMismatchError, UnsupportedError
from whence.functions.comparison import check_comparable
from whence.functions.types import Typed
from whence.functions.widening import common_in_place
from whence.lang.sql.block import Block
from whence.lang.sql.expressions import translate
from whence.lang.sql.grouping_sets import by_sets
from whence.lang.sql.limits import Tail
from whence.lang.sql.literals import cast
from whence.lang.sql.lowering import Lowered, Lowering, Output, QueryDraft
from whence.lang.sql.order_by import check_outputs
from whence.lang.sql.recursion import lower_recursive
from whence.lang.sql.select import draft_select
from whence.lang.sql.windows import numbered_copies
from whence.model.rules import Atom
from whence.model.terms import Variable


def draft_parts(lowering: Lowering, query: exp.Expr, outer: Block) -> tuple[list[QueryDraft], bool]:
    """The drafts whose rows together are the query's, and whether duplicates among them go."""
    return _whole(lowering, query, outer, outer.ctes)


def _whole(lowering: Lowering, query: exp.Expr, outer: Block, ctes: Mapping[str, str]) -> tuple[list[QueryDraft], bool]:
    drafts = _parts(lowering, query, outer, ctes, distinct=False, top=True)
    if len(drafts) == 1:
        return drafts, drafts[0].distinct
    distinct = _is_distinct(query)
    return [_plain(lowering, d, keep=distinct) for d in drafts], distinct


def raw_parts(
    lowering: Lowering, query: exp.Expr, outer: Block, ctes: Mapping[str, str]
) -> list[tuple[exp.Expr, QueryDraft]]:
    """The branches of a recursive query, each with its text; aggregates are left as they are."""
    inner, inside, orders, tails = _enter(lowering, query, outer, ctes)
    if tails:
        raise UnsupportedError(
            "LIMIT is not supported in a recursion",
            span=lowering.span(tails[0].node),
            hint="limit what is read from it",
        )
    if orders and not isinstance(inner, exp.Union):
        raise UnsupportedError(
            "ORDER BY is not supported in a recursion", span=lowering.span(orders[0]), hint="its rows have no order"
        )
    if not isinstance(inner, exp.Union):
        return [(inner, d) for d in _parts(lowering, query, outer, ctes, distinct=True, top=True)]
    branches = [p for side in (inner.this, inner.expression) for p in raw_parts(lowering, side, outer, inside)]
    check_outputs(lowering, orders, branches[0][1])
    return branches


def _parts(
    lowering: Lowering, query: exp.Expr, outer: Block, ctes: Mapping[str, str], *, distinct: bool, top: bool
) -> list[QueryDraft]:
    """`distinct`: duplicates go later anyway. `top`: the only part, which may stay aggregated or distinct."""
    query, ctes, orders, tails = _enter(lowering, query, outer, ctes)
    if tails:
        # All rows count that are there before some are left out.
        distinct, top = False, True
    sets = by_sets(lowering, query) if isinstance(query, exp.Select) else None
    if sets is not None:
        query = sets
    if isinstance(query, exp.Select):
        own = tails.pop() if tails and tails[-1].node.parent is query else None
        draft = draft_select(lowering, query, Block(outer.numbers, outer, ctes), orders, own)
        _check_set(lowering, query, [draft])
        draft = _shortened(lowering, draft, tails)
        return [draft if top or (distinct and not draft.aggregated) else _plain(lowering, draft, keep=distinct)]
    drafts = _combined(lowering, query, outer, ctes, distinct=distinct, top=top)
    _check_set(lowering, query, drafts)
    check_outputs(lowering, orders, drafts[0])
    if not tails:
        return drafts
    is_distinct = _is_distinct(query)
    whole = drafts[0] if len(drafts) == 1 else lowering.join_parts(drafts, is_distinct, "union")
    return [_shortened(lowering, whole, tails)]


def _shortened(lowering: Lowering, draft: QueryDraft, tails: Sequence[Tail]) -> QueryDraft:
    """The draft with the rows that LIMIT and OFFSET leave, the innermost first."""
    for tail in reversed(tails):
        draft = tail.applied_outside(lowering, _plain(lowering, draft, keep=True))
    return draft


def _combined(
    lowering: Lowering, query: exp.Expr, outer: Block, ctes: Mapping[str, str], *, distinct: bool, top: bool
) -> list[QueryDraft]:
    """The drafts of a query that is no SELECT."""
    match query:
        case exp.Union():
            here = _is_distinct(query)
            if here and not distinct and not top:
                return [lowering.join_parts(*_whole(lowering, query, outer, ctes), "union")]
            sides = (query.this, query.expression)
            return [
                d for side in sides for d in _parts(lowering, side, outer, ctes, distinct=distinct or here, top=False)
            ]
        case exp.Intersect() | exp.Except():
            draft = _difference(lowering, query, outer, ctes)
            return [draft if top or distinct else _plain(lowering, draft)]
        case exp.Values():
            return _values(lowering, query, outer, ctes)
    raise UnsupportedError(f"{query.key.upper()} cannot be used as a query", span=lowering.span(query))


def _enter(
    lowering: Lowering, query: exp.Expr, outer: Block, ctes: Mapping[str, str]
) -> tuple[exp.Expr, Mapping[str, str], list[exp.Order], list[Tail]]:
    """Past parentheses and WITH, with what each ORDER BY on the way says, and those with LIMIT apart from others."""
    orders: list[exp.Order] = []
    tails: list[Tail] = []
    while True:
        with_ = query.args.get("with_")
        if with_ is not None:
            ctes = lower_with(lowering, with_, ctes, outer)
        tail = Tail.of(lowering, query)
        if tail is not None:
            tails.append(tail)
        elif (order := query.args.get("order")) is not None:
            lowering.notices.append(f"ORDER BY in {lowering.view!r} is ignored: a view has no order")
            orders.append(order)
        if not isinstance(query, exp.Subquery | exp.Paren):
            return query, ctes, orders, tails
        if query.args.get("alias") is not None or query.args.get("joins"):
            raise UnsupportedError(
                "a query in this place has neither an alias nor joins",
                span=lowering.span(query),
                hint="write SELECT ... FROM (...) AS name",
            )
        query = query.this


def _is_distinct(query: exp.Expr) -> bool:
    while isinstance(query, exp.Subquery | exp.Paren):
        query = query.this
    return bool(query.args.get("distinct"))


def _check_set(lowering: Lowering, query: exp.Expr, drafts: Sequence[QueryDraft]) -> None:
    """Raises where rows are told apart that cannot be."""
    if _is_distinct(query) or isinstance(query, exp.Intersect | exp.Except):
        for draft in drafts:
            for output in draft.outputs:
                kind = lowering.typed(output.term, draft.block).type
                check_comparable(kind, "told apart by DISTINCT, UNION and the like", output.span)


def _plain(lowering: Lowering, draft: QueryDraft, *, keep: bool = False) -> QueryDraft:
    """A draft that can stand beside others: without aggregates, and (unless kept) without a DISTINCT of its own."""
    if draft.when_empty is not None and draft.block.free:
        return lowering.completed(draft)
    if draft.aggregated or (draft.distinct and not keep):
        return lowering.project(draft, "grouped" if draft.aggregated else "distinct")
    return draft


def _difference(lowering: Lowering, query: exp.SetOperation, outer: Block, ctes: Mapping[str, str]) -> QueryDraft:
    """INTERSECT keeps the left rows that stand on the right as well, EXCEPT those that do not; NULL equals NULL."""
    name, span = query.key.upper(), lowering.span(query)
    is_set = bool(query.args.get("distinct"))
    lefts = _parts(lowering, query.this, outer, ctes, distinct=is_set, top=False)
    left = lefts[0] if len(lefts) == 1 else lowering.join_parts(lefts, distinct=is_set, hint="union")
    rights = _parts(lowering, query.expression, outer, ctes, distinct=is_set, top=False)
    right = lowering.emit(lowering.fresh_name(name.lower()), rights, distinct=is_set, span=span)
    width = len(left.outputs)
    if not is_set and width == len(right.columns):
        # Copies have numbers, so that as many of them meet as there are on both sides.
        left, right = _with_numbers(lowering, left, right, name)
    if len(left.outputs) != len(right.columns):
        raise ArityError(
            f"{name} needs the same number of columns on both sides: {len(left.outputs)} and {len(right.columns)}",
            span=span,
        )
    outputs = [
        _aligned(lowering, left.block, o, Typed(c.type, c.nullable), name)
        for o, c in zip(left.outputs, right.columns, strict=True)
    ]
    block = left.block
    if isinstance(query, exp.Except):
        outside = [block.import_variable(Variable(n)) for n in right.free]
        block.negations.append(Atom(right.relation.name, (*outside, *(o.term for o in outputs)), span=span))
    else:
        for output, term in zip(outputs, lowering.read(block, right, span), strict=True):
            block.identify(term, output.term, span)
    return QueryDraft(block, outputs[:width], distinct=is_set, span=left.span)


def _with_numbers(lowering: Lowering, left: QueryDraft, right: Lowered, name: str) -> tuple[QueryDraft, Lowered]:
    """Both sides of an EXCEPT ALL or INTERSECT ALL with a number behind each row, from 1 for its first copy."""
    outputs = [
        _aligned(lowering, left.block, o, Typed(c.type, c.nullable), name)
        for o, c in zip(left.outputs, right.columns, strict=True)
    ]
    rows = lowering.emit(lowering.fresh_name("rows"), [replace(left, outputs=outputs)], distinct=False, span=left.span)
    numbered = numbered_copies(lowering, rows)
    block = left.block.sibling()
    *terms, number = lowering.read(block, numbered, left.span)
    named = [replace(o, term=t) for o, t in zip(outputs, terms, strict=True)]
    return QueryDraft(block, [*named, Output("copy", number, given=False)]), numbered_copies(lowering, right)


def _aligned(lowering: Lowering, block: Block, output: Output, other: Typed, name: str) -> Output:
    mine = lowering.typed(output.term, block)
    both = common_in_place((mine.type, other.type))
    if both is None:
        raise TypeMismatchError(
            f"{name} of {mine.type} and {other.type} in column {output.name!r}",
            span=output.span,
            hint="CAST one of them",
        )
    return output if both == mine.type else replace(output, term=cast(output.term, both, output.span))


def _values(lowering: Lowering, query: exp.Values, outer: Block, ctes: Mapping[str, str]) -> list[QueryDraft]:
    drafts = []
    for row in query.expressions:
        block = Block(outer.numbers, outer, ctes)
        cells = row.expressions if isinstance(row, exp.Tuple) else [row]
        outputs = [Output(f"col{i + 1}", translate(lowering, block, c), lowering.span(c)) for i, c in enumerate(cells)]
        drafts.append(QueryDraft(block, outputs, span=lowering.span(row), single=len(query.expressions) == 1))
    return drafts


# WITH


def lower_with(lowering: Lowering, with_: exp.With, ctes: Mapping[str, str], outer: Block) -> Mapping[str, str]:
    """Each common table expression becomes a relation; the names by which the query may read them."""
    named: dict[str, exp.CTE] = {}
    for cte in with_.expressions:
        if (other := named.setdefault(cte.alias.lower(), cte)) is not cte:
            raise DuplicateNameError(
                f"WITH has two queries named {cte.alias!r}",
                span=lowering.span(cte.args["alias"]),
                related=[("the other one", lowering.span(other.args["alias"]))],
            )
    if with_.args.get("recursive"):
        return lower_recursive(lowering, with_, ctes, outer, lower_cte, raw_parts)
    for cte in with_.expressions:
        ctes = {**ctes, cte.alias.lower(): lower_cte(lowering, cte, ctes, outer).relation.name}
    return ctes


def lower_cte(lowering: Lowering, cte: exp.CTE, ctes: Mapping[str, str], outer: Block) -> Lowered:
    apart = Block(outer.numbers, None, ctes)
    drafts, distinct = draft_parts(lowering, cte.this, apart)
    names = [c.name for c in cte.args["alias"].args.get("columns") or ()]
    drafts[0] = drafts[0].renamed(names, lowering.span(cte.args["alias"]))
    lowered = lowering.emit(
        lowering.fresh_name(cte.alias), drafts, distinct=distinct, span=lowering.span(cte.args["alias"])
    )
    lowering.note_single(lowered, drafts)
    return lowered
