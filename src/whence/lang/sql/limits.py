"""What comes after the columns of a SELECT are known: windows, QUALIFY, ORDER BY with LIMIT and OFFSET."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from whence.errors import UnknownNameError, UnsupportedError
from whence.lang.sql.block import Block, ColumnEntry
from whence.lang.sql.conditions import add_condition
from whence.lang.sql.expressions import translate
from whence.lang.sql.lowering import Lowering, QueryDraft
from whence.lang.sql.order_by import with_aliases, written_out
from whence.lang.sql.window_calls import sort_key
from whence.lang.sql.windows import limited, window_nodes, with_windows
from whence.model.terms import Constant, SortKey, Term


class Later:
    """What a SELECT asks of its rows when they are grouped: by which keys to order them, and QUALIFY."""

    def __init__(self, select: exp.Select, tail: Tail | None, items: Sequence[exp.Expr]) -> None:
        self._select = select
        self.is_limited = tail is not None
        keys = [] if tail is None else tail.keys(items)
        qualify = select.args.get("qualify")
        self._qualify: exp.Expr | None = None if qualify is None else qualify.this
        self.nodes = [*keys, *([] if self._qualify is None else [self._qualify])]

    def windowed(self, lowering: Lowering, block: Block, items: Sequence[exp.Expr], starred: Sequence[Term]) -> Block:
        """A block that knows the windows of the select list, with the rows that QUALIFY lets pass.

        Without windows it is the same block.
        """
        condition = None if self._qualify is None else with_aliases(self._qualify, items, block)
        nodes = [*items, *self.nodes, *([] if condition is None else [condition])]
        if not any(map(window_nodes, nodes)):
            if condition is not None:
                raise UnsupportedError(
                    "QUALIFY needs a window function", span=lowering.span(condition), hint="write WHERE or HAVING"
                )
            return block
        after = with_windows(lowering, block, self._select, [n.unalias() for n in nodes if not n.is_star], starred)
        if condition is not None:
            add_condition(lowering, after, condition, "QUALIFY")
        return after


@dataclass(frozen=True)
class Tail:
    """`ORDER BY ... LIMIT n OFFSET m` of a query that leaves rows out."""

    order: exp.Order | None
    first: int
    last: int | None
    node: exp.Expr

    @classmethod
    def of(cls, lowering: Lowering, query: exp.Expr) -> Tail | None:
        """None if all rows stay."""
        limit, offset = query.args.get("limit"), query.args.get("offset")
        most = None if limit is None else _number(lowering, limit)
        skipped = 0 if offset is None else _number(lowering, offset) or 0
        if most is None and not skipped:
            return None
        last = None if most is None else skipped + most
        place: exp.Expr = limit if limit is not None else query.args["offset"]
        return cls(query.args.get("order"), skipped + 1, last, place)

    def keys(self, items: Sequence[exp.Expr]) -> list[exp.Expr]:
        """What is ordered by, in the words of the rows before the select list; numbers of columns aside."""
        ordered = self.order.expressions if self.order is not None else ()
        return [written_out(each.this, items) for each in ordered if not _is_place(each.this)]

    def applied(self, lowering: Lowering, draft: QueryDraft, later: Later) -> QueryDraft:
        """The draft of a SELECT with the rows that stay."""
        keys = iter(later.nodes)
        found: list[SortKey] = []
        for ordered in self.order.expressions if self.order is not None else ():
            if _is_place(ordered.this):
                term = _column(lowering, draft, ordered.this)
            else:
                node = next(keys)
                if node.find(exp.Query) is not None:
                    raise UnsupportedError("a subquery in ORDER BY is not supported", span=lowering.span(ordered))
                term = translate(lowering, draft.block, node)
                lowering.typed(term, draft.block)
            if not isinstance(term, Constant):
                found.append(sort_key(term, ordered))
        return limited(lowering, draft, found, self.first, self.last, draft.span or lowering.span(self.node))

    def applied_outside(self, lowering: Lowering, draft: QueryDraft) -> QueryDraft:
        """The draft of any other query, which is ordered by its columns only."""
        names = draft.block.sibling()
        for output in draft.outputs:
            typed = lowering.typed(output.term, draft.block)
            names.scope.append(ColumnEntry(None, output.name, names.fresh(output.name, typed)))
        places = {entry.term: output.term for entry, output in zip(names.scope, draft.outputs, strict=True)}
        found: list[SortKey] = []
        for ordered in self.order.expressions if self.order is not None else ():
            if _is_place(ordered.this):
                found.append(sort_key(_column(lowering, draft, ordered.this), ordered))
                continue
            term = translate(lowering, names, ordered.this)
            if term not in places:
                raise UnsupportedError(
                    "with LIMIT, this query is ordered by its columns", span=lowering.span(ordered.this)
                )
            if not isinstance(places[term], Constant):
                found.append(sort_key(places[term], ordered))
        return limited(lowering, draft, found, self.first, self.last, draft.span or lowering.span(self.node))


def _is_place(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and node.is_int


def _column(lowering: Lowering, draft: QueryDraft, place: exp.Expr) -> Term:
    if not 1 <= int(place.name) <= len(draft.outputs):
        raise UnknownNameError(f"there is no column number {place.name} in the select list", span=lowering.span(place))
    return draft.outputs[int(place.name) - 1].term


def _number(lowering: Lowering, clause: exp.Expr) -> int | None:
    """How many rows; None for ALL."""
    value = clause.expression.unnest()
    if isinstance(value, exp.Var | exp.All) or (isinstance(value, exp.Column) and value.name.upper() == "ALL"):
        return None
    if isinstance(value, exp.Literal) and value.is_int:
        return int(value.name)
    raise UnsupportedError(
        f"{clause.key.upper()} takes a number of rows", span=lowering.span(clause), hint="write for example LIMIT 10"
    )
