"""FROM and JOIN: tables become atoms, outer joins relations of their own.

a LEFT JOIN b ON c    is    join(a, b)    :- a, b, c.
                            join(a, NULL) :- a, !(b, c).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from sqlglot import exp

from whence.errors import DuplicateNameError, UnknownNameError, UnsupportedError, did_you_mean
from whence.lang.sql.block import Block, ColumnEntry, find_column
from whence.lang.sql.conditions import add_condition
from whence.lang.sql.explode import Generator, add_elements
from whence.lang.sql.lowering import HIDDEN_LEVEL, Lowered, Lowering, Output, QueryDraft
from whence.lang.sql.pivots import without_pivots
from whence.lang.sql.ranges import is_range, range_values
from whence.lang.sql.subqueries import semi_join
from whence.model.span import Span
from whence.model.terms import Call, Constant, Term, Variable

_KINDS = {
    *(("", kind) for kind in ("", "INNER", "CROSS", "SEMI", "ANTI")),
    *((side, kind) for side in ("LEFT", "RIGHT", "FULL") for kind in ("", "OUTER")),
    ("LEFT", "SEMI"),
    ("LEFT", "ANTI"),
}


def add_from(lowering: Lowering, block: Block, select: exp.Select) -> None:
    """Everything that the SELECT reads, in the block and its scope."""
    start = select.args.get("from_")
    if start is None:
        return
    reader = _Reader(lowering, needed_columns(select))
    reader.add(block, start.this, select.args.get("joins") or [])
    for lateral in select.args.get("laterals") or ():
        reader.add_lateral(block, lateral)


def needed_columns(select: exp.Select) -> set[str] | None:
    """The column names that occur anywhere in the SELECT; None where a * asks for all."""
    names: set[str] = set()
    for node in select.walk():
        if isinstance(node, exp.Star) and not _is_count(node.parent):
            return None
        if isinstance(node, exp.Column):
            # Which of them is the column, and which are tables and fields, is not known yet.
            names.update(part.name.lower() for part in node.parts)
        if isinstance(node, exp.Join):
            names.update(i.name.lower() for i in node.args.get("using") or ())
            if node.args.get("method") == "NATURAL":
                return None
    return names


def _is_count(node: exp.Expr | None) -> bool:
    """Whether a * in this call stands for no columns."""
    return isinstance(node, exp.Anonymous) and node.name.lower() == "count" and len(node.expressions) == 1


class _Reader:
    def __init__(self, lowering: Lowering, needed: set[str] | None) -> None:
        self.lowering = lowering
        self.needed = needed

    def add(self, block: Block, first: exp.Expr, joins: Sequence[exp.Join]) -> None:
        self.add_source(block, first)
        for join in joins:
            self.add_join(block, join)

    # Sources

    def add_source(self, block: Block, node: exp.Expr) -> None:
        """One table, view, derived table, VALUES list or parenthesized join."""
        span = self.lowering.span(node)
        inner = node.this if isinstance(node, exp.Subquery) else None
        match node:
            case exp.Table() | exp.Subquery() if node.args.get("pivots"):
                self.add_source(block, without_pivots(self.lowering, node, lambda each: self._columns(block, each)))
                for join in node.args.get("joins") or ():
                    self.add_join(block, join)
            case exp.Table() if (generator := Generator.of(node.this)) is not None and not block.scope:
                self.add_elements(block, generator, node, outer=False)
            case exp.Table() if is_range(node):
                self.add_source(block, range_values(self.lowering, node))
            case exp.Lateral():
                self.add_lateral(block, node)
            case exp.Table() if not isinstance(node.this, exp.Identifier) or not node.name:
                what = f"{node.this.name}(...)" if isinstance(node.this, exp.Anonymous) else "this"
                raise UnsupportedError(
                    f"{what} is no table or view", span=span, hint="FROM takes tables, views, queries and VALUES"
                )
            case exp.Table():
                relation = self.lowering.find(node.name, block.ctes, self.lowering.span(node.this))
                self.add_scope(block, Lowered(relation, ()), node.alias_or_name, node, span)
                for join in node.args.get("joins") or ():
                    self.add_join(block, join)
            case exp.Subquery() if isinstance(inner, exp.Table | exp.Subquery) and not node.alias:
                self.add(block, inner, node.args.get("joins") or [])
            case exp.Subquery() if isinstance(inner, exp.Table):
                raise UnsupportedError("an alias of a join in parentheses is not supported", span=span)
            case exp.Subquery() | exp.Values():
                query = node.this if isinstance(node, exp.Subquery) else node
                # The outer one of two aliases counts.
                while isinstance(query, exp.Subquery) and query.alias and not query.args.get("joins"):
                    query = query.this
                around = block.child(opaque=True)
                drafts, distinct = self.lowering.parts(self.lowering, query, around)
                hint = node.alias or "derived"
                if len(drafts) == 1 and drafts[0].block.free:
                    lowered = self.lowering.complete(drafts[0], hint, drafts[0].when_empty)
                else:
                    lowered = self.lowering.emit(self.lowering.fresh_name(hint), drafts, distinct=distinct, span=span)
                self.lowering.note_single(lowered, drafts)
                self.add_scope(block, self._pass_through(around, lowered), node.alias or None, node, span)
                for join in node.args.get("joins") or ():
                    self.add_join(block, join)
            case _:
                raise UnsupportedError(f"{node.key.upper()} in FROM is not supported", span=span)

    def _columns(self, block: Block, source: exp.Expr) -> list[str]:
        """What a source has; nothing of it stays."""
        before, sibling = self.lowering.mark(), block.sibling()
        _Reader(self.lowering, None).add_source(sibling, source)
        self.lowering.back_to(before)
        return [entry.column for entry in sibling.scope]

    def add_lateral(self, block: Block, node: exp.Lateral) -> None:
        """What is computed for each row that the block has so far: elements of an array, or a query."""
        generator = Generator.of(node.this)
        if generator is not None:
            self.add_elements(block, generator, node, outer=bool(node.args.get("outer")))
            return
        span = self.lowering.span(node)
        drafts, distinct = self.lowering.parts(self.lowering, self._lateral_query(node), block)
        if len(drafts) == 1 and drafts[0].block.free:
            lowered = self.lowering.complete(drafts[0], "lateral", drafts[0].when_empty)
        else:
            lowered = self.lowering.emit(self.lowering.fresh_name("lateral"), drafts, distinct=distinct, span=span)
        self._add_lateral_scope(block, lowered, node)

    def add_outer_lateral(self, block: Block, node: exp.Lateral, on: exp.Expr | None) -> None:
        """The same, with NULLs where it has no row that the condition lets pass."""
        if Generator.of(node.this) is not None and (on is None or on == exp.Boolean(this=True)):
            self.add_lateral(block, exp.Lateral(**{**node.args, "outer": True}))
            return
        alias = node.args.get("alias") or node.this.args.get("alias")
        inner = exp.Subquery(this=self._lateral_query(node), alias=None if alias is None else alias.copy())
        whole = exp.select("*").from_(inner, copy=False)
        if on is not None:
            whole = whole.where(on.copy(), copy=False)
        draft = self.lowering.draft(whole, block)
        nothing = [Constant(None, self.lowering.typed(o.term, draft.block).type) for o in draft.outputs]
        draft = self.lowering.project(draft, "lateral") if draft.aggregated else draft
        lowered = self.lowering.complete(draft, "lateral", nothing, single=False)
        self._add_lateral_scope(block, lowered, node)

    def _lateral_query(self, node: exp.Lateral) -> exp.Expr:
        inner = node.this
        if isinstance(inner, exp.Subquery):
            query: exp.Expr = inner.this
            return query
        table = exp.Table(this=inner, alias=None if node.args.get("alias") is None else node.args["alias"].copy())
        if not is_range(table) and Generator.of(inner) is None:
            raise UnsupportedError(
                "LATERAL takes a query, or explode and the like", span=self.lowering.span(node) or None
            )
        return exp.select("*").from_(table, copy=False)

    def _add_lateral_scope(self, block: Block, lowered: Lowered, node: exp.Lateral) -> None:
        alias = node.args.get("alias") or node.this.args.get("alias")
        named = alias.this.name if alias is not None and alias.this is not None else None
        self.add_scope(block, lowered, named, node if node.args.get("alias") else node.this, self.lowering.span(node))

    def add_elements(self, block: Block, generator: Generator, node: exp.Expr, *, outer: bool) -> None:
        alias = node.args.get("alias")
        given = [each.name for each in alias.args.get("columns") or ()] if alias is not None else []
        table = alias.this.name if alias is not None and alias.this is not None else None
        names = generator.names(self.lowering, block, given, self.lowering.span(node))
        add_elements(self.lowering, block, generator, table, names, self.needed, outer=outer)

    def _pass_through(self, around: Block, lowered: Lowered) -> Lowered:
        """What the derived table took from outside, in terms of the block that it stands in."""
        back = {mine: theirs for theirs, mine in around.free.items()}
        return Lowered(lowered.relation, tuple(back[around.root(name)] for name in lowered.free))

    def add_scope(self, block: Block, lowered: Lowered, alias: str | None, node: exp.Expr, span: Span | None) -> None:
        labels = self.lowering.labels.get(lowered.relation.name) or tuple(c.name for c in lowered.columns)
        names = [n for n, c in zip(labels, lowered.columns, strict=True) if c.name != HIDDEN_LEVEL]
        alias_node = node.args.get("alias")
        renamed = (
            [i.name for i in alias_node.args.get("columns") or ()] if isinstance(alias_node, exp.TableAlias) else []
        )
        if renamed and len(renamed) != len(names):
            raise UnknownNameError(f"{alias!r} has {len(names)} columns, not {len(renamed)}", span=span)
        terms = self.lowering.read_in_place(block, lowered, span)[len(lowered.columns) - len(names) :]
        block.scope.extend(ColumnEntry(alias, name, term) for name, term in zip(renamed or names, terms, strict=True))

    # Joins

    def add_join(self, block: Block, join: exp.Join) -> None:
        lowering, span = self.lowering, self.lowering.span(join)
        side, kind = (join.side or "").upper(), (join.kind or "").upper()
        if (side, kind) not in _KINDS or (join.method or "").upper() not in ("", "NATURAL"):
            words = " ".join(filter(None, (join.method, side, kind)))
            raise UnsupportedError(f"{words.removesuffix(' JOIN')} JOIN is not supported", span=span)
        if join.method and (join.args.get("on") is not None or join.args.get("using")):
            raise UnsupportedError("a NATURAL JOIN has no condition of its own", span=span, hint="leave NATURAL out")
        if join.method and kind in ("SEMI", "ANTI", "CROSS"):
            raise UnsupportedError(
                f"NATURAL {kind} JOIN is not supported", span=span, hint="name the columns: USING (...)"
            )
        if join.args.get("using") == []:
            raise UnsupportedError("USING needs a column", span=span, hint="a join of all pairs is a CROSS JOIN")
        if isinstance(join.this, exp.Lateral):
            if side not in ("", "LEFT") or kind in ("SEMI", "ANTI") or join.args.get("using") or join.method:
                raise UnsupportedError("this kind of JOIN LATERAL is not supported", span=span, hint="use LEFT JOIN")
            if side:
                self.add_outer_lateral(block, join.this, join.args.get("on"))
                return
            self.add_lateral(block, join.this)
            if join.args.get("on") is not None:
                add_condition(lowering, block, join.args["on"], "ON")
            return
        right = block.sibling()
        self.add_source(right, join.this)
        using = self._using(block, right, join)
        on = join.args.get("on")
        if kind in ("SEMI", "ANTI"):
            self._check_names(on, [*block.scope, *right.scope])
            inner = block.child()
            outside = {block.import_variable(Variable(theirs)).name: mine for theirs, mine in right.free.items()}
            right.free = {}
            self._adopt(inner, right)
            inner.free = outside
            self._apply(inner, block, inner, on, using)
            semi_join(lowering, block, inner, span, negated=kind == "ANTI")
        elif side:
            self._outer_join(block, right, side, on, using, span)
        else:
            entries = list(block.scope)
            self._adopt(block, right)
            self._merge(block, entries, using, lambda left, _: left)
            for left, right_term in self._pairs(entries, right.scope, using):
                block.equate(left, right_term, span)
            if on is not None:
                add_condition(lowering, block, on, "ON")

    def _check_names(self, on: exp.Expr | None, scope: Sequence[ColumnEntry]) -> None:
        """A name in ON may be a column of one side only, although the sides of a semi join are read apart."""
        if on is None:
            return
        here = on.find_ancestor(exp.Query)
        for column in on.find_all(exp.Column):
            if column.find_ancestor(exp.Query) is here:
                find_column(scope, column.table or None, column.name, self.lowering.span(column))

    def _using(self, left: Block, right: Block, join: exp.Join) -> list[str]:
        names = [i.name for i in join.args.get("using") or ()]
        if len({name.lower() for name in names}) < len(names):
            raise DuplicateNameError("a column comes twice in USING", span=self.lowering.span(join.args["using"][0]))
        if (join.method or "").upper() == "NATURAL":
            theirs = {e.column.lower() for e in right.scope}
            names = [e.column for e in left.scope if not e.merged and e.column.lower() in theirs]
        for name in names:
            for side in (left, right):
                if sum(e.column.lower() == name.lower() and not e.merged for e in side.scope) > 1:
                    raise UnknownNameError(
                        f"column {name!r} is ambiguous: one side has it twice", span=self.lowering.span(join)
                    )
                if not any(e.column.lower() == name.lower() for e in side.scope):
                    raise UnknownNameError(
                        f"both sides of USING need a column {name!r}",
                        span=self.lowering.span(join),
                        hint=did_you_mean(name, [e.column for e in side.scope]),
                    )
        return names

    def _pairs(
        self, left: Sequence[ColumnEntry], right: Sequence[ColumnEntry], using: Sequence[str]
    ) -> list[tuple[Term, Term]]:
        def find(entries: Sequence[ColumnEntry], name: str) -> Term:
            return next(e.term for e in entries if e.column.lower() == name.lower() and not e.merged)

        return [(find(left, name), find(right, name)) for name in using]

    def _adopt(self, block: Block, other: Block) -> None:
        """Take in what another block of the same surroundings has collected."""
        block.types.update(other.types)
        block.atoms.extend(other.atoms)
        block.negations.extend(other.negations)
        block.conditions.extend(other.conditions)
        block.scope.extend(other.scope)
        block.adopt_unions(other)

    def _apply(self, target: Block, left: Block, right: Block, on: exp.Expr | None, using: Sequence[str]) -> None:
        """The join condition in a block where the right side is local and the left side lies around it."""
        for theirs, mine in self._pairs(left.scope, right.scope, using):
            target.equate(mine, target.import_term(theirs), None)
        if on is not None:
            add_condition(self.lowering, target, on, "ON")

    def _merge(
        self, block: Block, left: Sequence[ColumnEntry], using: Sequence[str], value: Callable[[Term, Term], Term]
    ) -> None:
        """One column for both sides of USING, before all others; each side's own goes by the table's name only."""
        names = {n.lower() for n in using}
        pairs = self._pairs(left, block.scope[len(left) :], using)
        merged = [ColumnEntry(None, name, value(*pair)) for name, pair in zip(using, pairs, strict=True)]
        rest = [e for e in block.scope if e.table is not None or e.column.lower() not in names]
        block.scope = [*merged, *(replace(e, merged=e.merged or e.column.lower() in names) for e in rest)]

    def _outer_join(
        self, block: Block, right: Block, side: str, on: exp.Expr | None, using: Sequence[str], span: Span | None
    ) -> None:
        sides = (self._single(block, "left", span), self._single(right, "right", span))
        kept = self._kept([e for _, entries in sides for e in entries])

        both = block.sibling()
        mine, theirs = (self._start(both, side_, span) for side_ in sides)
        for a, b in self._pairs(mine, theirs, using):
            both.equate(a, b, span)
        if on is not None:
            add_condition(self.lowering, both, on, "ON")
        drafts = [QueryDraft(both, self._outputs(both.scope), span=span)]
        for keep, own, lost in (("LEFT", sides[0], sides[1]), ("RIGHT", sides[1], sides[0])):
            if side in (keep, "FULL"):
                drafts.append(self._unmatched(block.sibling(), own, lost, on, using, span, reverse=keep == "RIGHT"))
        joined = self.lowering.emit(self.lowering.fresh_name("join"), drafts, distinct=False, span=span)
        block.clear()
        terms = self.lowering.read(block, joined, span)
        block.scope = [ColumnEntry(e.table, e.column, t, e.merged) for e, t in zip(kept, terms, strict=True)]
        chosen: dict[str, Callable[[Term, Term], Term]] = {
            "LEFT": lambda a, _: a,
            "RIGHT": lambda _, b: b,
            "FULL": lambda a, b: Call("coalesce", (a, b)),
        }
        from_left = sum(any(e is k for k in kept) for e in sides[0][1])
        self._merge(block, block.scope[:from_left], using, chosen[side])

    def _unmatched(
        self,
        block: Block,
        own: tuple[Lowered, list[ColumnEntry]],
        lost: tuple[Lowered, list[ColumnEntry]],
        on: exp.Expr | None,
        using: Sequence[str],
        span: Span | None,
        *,
        reverse: bool,
    ) -> QueryDraft:
        """Rows of one side without a match on the other, whose columns are NULL."""
        present = self._start(block, own, span)
        inner = block.child()
        outside = tuple(block.import_variable(Variable(name)).name for name in lost[0].free)
        self._start(inner, (Lowered(lost[0].relation, outside), lost[1]), span)
        self._apply(inner, block, inner, on, using)
        semi_join(self.lowering, block, inner, span, negated=True)
        absent = [
            ColumnEntry(e.table, e.column, Constant(None, c.type), e.merged)
            for e, c in zip(lost[1], lost[0].columns, strict=True)
        ]
        return QueryDraft(block, self._outputs([*absent, *present] if reverse else [*present, *absent]), span=span)

    def _start(self, block: Block, side: tuple[Lowered, list[ColumnEntry]], span: Span | None) -> list[ColumnEntry]:
        """One side of the join in a block."""
        lowered, entries = side
        terms = self.lowering.read(block, lowered, span)
        found = [ColumnEntry(e.table, e.column, t, e.merged) for e, t in zip(entries, terms, strict=True)]
        block.scope.extend(found)
        return found

    def _kept(self, entries: Sequence[ColumnEntry]) -> list[ColumnEntry]:
        """The columns that the query goes on to use, and at least one, so that there is something to count."""
        used = [e for e in entries if self.needed is None or e.column.lower() in self.needed]
        return used or list(entries[:1])

    def _outputs(self, entries: Sequence[ColumnEntry]) -> list[Output]:
        return [Output(e.column, e.term, given=False) for e in self._kept(entries)]

    def _single(self, block: Block, hint: str, span: Span | None) -> tuple[Lowered, list[ColumnEntry]]:
        """The block's rows as one relation, with what its columns are called."""
        atom = block.only_atom()
        if atom is not None and [e.term for e in block.scope] == list(atom.terms):
            return Lowered(self.lowering.relation(atom.relation), ()), list(block.scope)
        entries = self._kept(block.scope)
        draft = QueryDraft(block, self._outputs(entries), span=span)
        return self.lowering.emit(self.lowering.fresh_name(hint), [draft], distinct=False, span=span), entries
