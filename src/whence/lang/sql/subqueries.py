"""EXISTS, IN and scalar subqueries become atoms over relations of their own.

A correlated subquery turns into a relation with the outer values it uses as its first columns. Where nothing inside
binds such a value, the values that the outer block can have are added as a `domain` relation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from whence.errors import ArityError, TypeMismatchError
from whence.functions.comparison import check_comparable
from whence.lang.sql.block import Block, rename
from whence.lang.sql.lowering import Lowered, Lowering, Output, QueryDraft
from whence.model import types
from whence.model.rules import Atom
from whence.model.span import Span
from whence.model.terms import Aggregate, Call, Constant, Term, Variable, Wildcard, variable_names

TRUE = Constant(True, types.BOOLEAN)
FALSE = Constant(False, types.BOOLEAN)
UNKNOWN = Constant(None, types.BOOLEAN)


# As conditions of a block


def exists(lowering: Lowering, block: Block, query: exp.Expr, span: Span | None, *, negated: bool) -> None:
    """Keep what has (or has no) row in the query."""
    draft = lowering.draft(query, block)
    if draft.when_empty is None:
        semi_join(lowering, block, _read_back(lowering, draft).block, span, negated=negated)
    elif negated:
        # An aggregate without GROUP BY has a row whatever it is over.
        block.conditions.append(FALSE)


def member(lowering: Lowering, block: Block, row: Sequence[Term], query: exp.Expr, span: Span | None) -> None:
    """Keep what is IN the query."""
    draft = _reader(lowering, block, query, row, span)
    semi_join(lowering, block, _matching(lowering, row, draft, span), span, negated=False)


def not_member(lowering: Lowering, block: Block, row: Sequence[Term], query: exp.Expr, span: Span | None) -> None:
    """Keep what is NOT IN the query, which with a NULL on either side is nothing that can be told."""
    draft = _reader(lowering, block, query, row, span)
    if not _nullable(lowering, block, row, draft):
        semi_join(lowering, block, _matching(lowering, row, draft, span), span, negated=True)
        return
    values = lowering.emit(lowering.fresh_name("in"), [draft], distinct=True, span=span)
    doubtful = lowering.emit(
        lowering.fresh_name("not_in"), _equal_or_unknown(block, lowering, row, values, span), distinct=True, span=span
    )
    block.negations.append(_call(doubtful, span))


def semi_join(lowering: Lowering, block: Block, inner: Block, span: Span | None, *, negated: bool) -> None:
    """Keep what the inner block (a child of the block) has, or has not, a match for."""
    atom = _plain_atom(lowering, block, inner) if negated else None
    if atom is None:
        atom = _call(_set_of(lowering, inner, "absent" if negated else "exists", span), span)
    (block.negations if negated else block.atoms).append(atom)


# As values


def scalar(lowering: Lowering, block: Block, query: exp.Expr, *, strict: bool) -> Term:
    """The one value of a subquery, NULL where it has no row."""
    span = lowering.span(query)
    draft = lowering.draft(query, block)
    _check_columns(draft, 1, span)
    if not draft.single:
        draft = _counted(lowering, draft, span)
    output = draft.outputs[0]
    fallback = (
        draft.when_empty[0] if draft.when_empty else Constant(None, lowering.typed(output.term, draft.block).type)
    )
    if strict and isinstance(fallback, Constant) and fallback.value is None:
        # Without a value the row is left out anyway.
        found = lowering.emit(lowering.fresh_name("scalar"), [draft], distinct=False, span=span)
        return lowering.read_in_place(block, found, span)[0]
    always = draft.when_empty is not None and not draft.block.free
    completed = lowering.complete(draft, "scalar", None if always else (fallback,))
    return lowering.read_in_place(block, completed, span)[0]


def _counted(lowering: Lowering, draft: QueryDraft, span: Span | None) -> QueryDraft:
    """A query that could have several rows. It is an error of the rows that come if it has, as in Spark."""
    rows = lowering.project(draft, "rows")
    value = rows.outputs[0].term
    check_comparable(lowering.typed(value, rows.block).type, "the value of a subquery that could have several", span)
    counted = [Output("value", Aggregate("min", value, span=span)), Output("rows", Aggregate("count", None, span=span))]
    grouped = lowering.project(QueryDraft(rows.block, counted, span=span), "counted")
    only = Call("only_value", tuple(output.term for output in grouped.outputs), span=span)
    return QueryDraft(grouped.block, [replace(draft.outputs[0], term=only)], span=span, single=True)


def exists_mark(lowering: Lowering, block: Block, query: exp.Expr, span: Span | None) -> Term:
    """Whether the query has a row, as a value."""
    draft = lowering.draft(query, block)
    if draft.when_empty is not None:
        return TRUE
    found = _set_of(lowering, _read_back(lowering, draft).block, "exists", span)
    return _truth_mark(lowering, block, found, span)


def in_mark(lowering: Lowering, block: Block, row: Sequence[Term], query: exp.Expr, span: Span | None) -> Term:
    """Whether the row is IN the query, as a value: TRUE, FALSE, or NULL where a NULL leaves it open."""
    draft = _reader(lowering, block, query, row, span)
    if not _nullable(lowering, block, row, draft):
        equal = _set_of(lowering, _matching(lowering, row, draft, span), "in", span)
        return _truth_mark(lowering, block, equal, span)
    values = lowering.emit(lowering.fresh_name("values"), [draft], distinct=True, span=span)
    drafts = _equal_or_unknown(block, lowering, row, values, span)
    doubtful = lowering.emit(lowering.fresh_name("not_in"), drafts, distinct=True, span=span)
    equal = lowering.emit(
        lowering.fresh_name("in"), [_equal(block, lowering, row, values, span)], distinct=True, span=span
    )
    yes, no, open_ = block.child(), block.child(), block.child()
    yes.atoms.append(_import_call(yes, equal, span))
    no.negations.append(_import_call(no, doubtful, span))
    open_.atoms.append(_import_call(open_, doubtful, span))
    open_.negations.append(_import_call(open_, equal, span))
    return _mark(lowering, block, [(yes, TRUE), (no, FALSE), (open_, UNKNOWN)], span)


# Parts


def _reader(lowering: Lowering, block: Block, query: exp.Expr, row: Sequence[Term], span: Span | None) -> QueryDraft:
    """The query, which has as many columns as the row, as a draft whose block holds all of it."""
    draft = lowering.draft(query, block)
    _check_columns(draft, len(row), span)
    if any(isinstance(term, Constant) and term.type == types.NULL for term in row):
        raise TypeMismatchError("NULL is neither in a query nor not in it", span=span, hint="use EXISTS")
    if draft.when_empty is not None and draft.block.free:
        return lowering.completed(draft)
    return _read_back(lowering, draft)


def _read_back(lowering: Lowering, draft: QueryDraft) -> QueryDraft:
    return lowering.project(draft, "grouped") if draft.aggregated else draft


def _matching(lowering: Lowering, row: Sequence[Term], draft: QueryDraft, span: Span | None) -> Block:
    inner = draft.block
    for output, term in zip(draft.outputs, row, strict=True):
        wanted = inner.import_term(term)
        lowering.typed(Call("=", (wanted, output.term), span=span), inner)
        inner.equate(output.term, wanted, span)
    return inner


def _equal(block: Block, lowering: Lowering, row: Sequence[Term], values: Lowered, span: Span | None) -> QueryDraft:
    inner = block.child()
    for value, term in zip(lowering.read(inner, values, span), row, strict=True):
        inner.equate(value, inner.import_term(term), span)
    return QueryDraft(inner, [])


def _equal_or_unknown(
    block: Block, lowering: Lowering, row: Sequence[Term], values: Lowered, span: Span | None
) -> list[QueryDraft]:
    """What may not be called NOT IN: equal to a value; not NULL beside a NULL value; NULL beside any value."""
    if len(row) != 1:
        return [_perhaps_equal(block, lowering, row, values, span)]
    beside_null, null = block.child(), block.child()
    beside_null.import_term(row[0])
    value = lowering.read(beside_null, values, span)[0]
    beside_null.conditions.append(Call("isnull", (value,)))
    null.conditions.append(Call("isnull", (null.import_term(row[0]),)))
    lowering.read(null, values, span)
    return [_equal(block, lowering, row, values, span), QueryDraft(beside_null, []), QueryDraft(null, [])]


def _perhaps_equal(
    block: Block, lowering: Lowering, row: Sequence[Term], values: Lowered, span: Span | None
) -> QueryDraft:
    """Rows of several values that are equal, or would be if their NULLs were."""
    inner = block.child()
    for value, term in zip(lowering.read(inner, values, span), row, strict=True):
        mine = inner.import_term(term)
        equal = Call("=", (mine, value), span=span)
        open_ = (Call("isnull", (mine,)), Call("isnull", (value,)))
        lowering.typed(equal, inner)
        inner.conditions.append(Call("or", (*open_, equal), span=span))
    return QueryDraft(inner, [])


def _nullable(lowering: Lowering, block: Block, row: Sequence[Term], draft: QueryDraft) -> bool:
    return any(lowering.typed(term, block).nullable for term in row) or any(
        lowering.typed(o.term, draft.block).nullable for o in draft.outputs
    )


def _mark(lowering: Lowering, block: Block, cases: list[tuple[Block, Constant]], span: Span | None) -> Term:
    drafts = [QueryDraft(inner, [Output("mark", value)]) for inner, value in cases]
    marks = lowering.emit(lowering.fresh_name("mark"), drafts, distinct=True, span=span)
    return lowering.read_in_place(block, marks, span)[0]


def _truth_mark(lowering: Lowering, block: Block, found: Lowered, span: Span | None) -> Term:
    """TRUE where the relation has a row for the outer values, FALSE elsewhere."""
    yes, no = block.child(), block.child()
    yes.atoms.append(_import_call(yes, found, span))
    no.negations.append(_import_call(no, found, span))
    return _mark(lowering, block, [(yes, TRUE), (no, FALSE)], span)


def _set_of(lowering: Lowering, inner: Block, hint: str, span: Span | None) -> Lowered:
    """The outer values for which the inner block has a row."""
    return lowering.emit(lowering.fresh_name(hint), [QueryDraft(inner, [], span=span)], distinct=True, span=span)


def _call(lowered: Lowered, span: Span | None) -> Atom:
    """An atom in the outer block: its own variables, anything for the rest."""
    terms = [Variable(name) for name in lowered.free]
    return Atom(lowered.relation.name, (*terms, *(Wildcard() for _ in lowered.columns)), span=span)


def _import_call(block: Block, lowered: Lowered, span: Span | None) -> Atom:
    atom = _call(lowered, span)
    return Atom(atom.relation, tuple(block.import_term(t) for t in atom.terms), span=span)


def _check_columns(draft: QueryDraft, wanted: int, span: Span | None) -> None:
    if len(draft.outputs) != wanted:
        raise ArityError(f"this subquery has {len(draft.outputs)} columns where {wanted} can be used", span=span)


def _plain_atom(lowering: Lowering, outer: Block, inner: Block) -> Atom | None:
    """The inner block as a single atom over the outer block's terms, where it is no more than that."""
    if len(inner.atoms) != 1 or inner.negations:
        return None
    atom = inner.atoms[0]
    never_null = {inner.root(mine) for name, mine in inner.free.items() if not outer.typed(name).nullable}
    never_null |= inner.never_null_in_atoms(lowering.relation)
    if not set(inner.must_not_be_null()) <= never_null or len({*map(inner.root, inner.free.values())}) < len(
        inner.free
    ):
        return None
    names = [inner.root(t.name) if isinstance(t, Variable) else None for t in atom.terms]
    theirs: dict[str, Term] = {inner.root(mine): Variable(name) for name, mine in inner.free.items()}
    given: dict[str, Term] = {}
    for condition in inner.conditions:
        match inner.resolve_term(condition):
            case Call(function="<=>", arguments=(left, right)):
                column, value = (left, right) if isinstance(left, Variable) and left.name in names else (right, left)
            case _:
                return None
        if (
            not isinstance(column, Variable)
            or column.name in given
            or column.name in theirs
            or not variable_names([value]) <= theirs.keys()
        ):
            return None
        if names.count(column.name) != 1:
            return None
        given[column.name] = rename(value, lambda v: theirs[v.name])
    terms: list[Term] = []
    for term, name in zip(atom.terms, names, strict=True):
        if name is None:
            terms.append(term)
        elif name in theirs or name in given:
            terms.append(theirs.get(name) or given[name])
        elif names.count(name) == 1:
            terms.append(Wildcard())
        else:
            return None
    return Atom(atom.relation, tuple(terms), span=atom.span)
