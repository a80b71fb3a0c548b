"""MERGE INTO: a query for each WHEN, which tells what becomes of which rows, and all of them as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from whence.errors import ArityError, DuplicateNameError, ParseError, UnknownNameError, UnsupportedError, did_you_mean
from whence.lang.sql.assignments import (
    as_stored,
    assigned,
    change_columns,
    changed_column,
    check_no_aggregate,
    name_of,
    own_column,
    place_of_all,
)
from whence.lang.sql.known import KnownRelations
from whence.lang.sql.positions import span_of
from whence.lang.sql.targets import check_left_out, default_node, is_default, target_table
from whence.lang.sql.views import lower_query, start
from whence.model.program import ChangeRows, RowAction
from whence.model.schema import Column, Relation, defaults
from whence.model.span import SourceText, Span

# What each kind of WHEN is about, as messages call it.
_MATCHED, _NOT_MATCHED, _NOT_IN_SOURCE = "WHEN MATCHED", "WHEN NOT MATCHED", "WHEN NOT MATCHED BY SOURCE"


def merge(node: exp.Merge, known: KnownRelations, source: SourceText, span: Span) -> ChangeRows:
    return _Merge(node, known, source).statement(span)


class _Merge:
    def __init__(self, node: exp.Merge, known: KnownRelations, source: SourceText) -> None:
        self.node, self.known, self.source = node, known, source
        self.relation: Relation = target_table(node.this, known, source)
        self.target = name_of(node.this)
        self.using = node.args["using"]
        if not isinstance(node.args.get("on"), exp.Expr):
            raise ParseError(
                "MERGE needs ON", span=span_of(self.using, source), hint="write ON target.key = source.key"
            )
        if not isinstance(self.using, exp.Table | exp.Subquery):
            raise UnsupportedError("MERGE takes a table, a view or a query", span=span_of(self.using, source))
        if not self.using.alias_or_name:
            raise UnsupportedError(
                "the query of a MERGE needs a name", span=span_of(self.using, source), hint="write (SELECT ...) AS s"
            )

    def statement(self, span: Span) -> ChangeRows:
        whens = self.node.args["whens"].expressions
        self._check_last(whens)
        selects, actions = [], []
        for number, when in enumerate(whens):
            kind, values = self._action(when)
            guard = self._guard(when, whens[:number])
            lowering = start("merge", self.known, self.source)
            checked = lower_query("merge", self._select(when, number, values, guard), self.known, self.source)
            stored = as_stored(lowering, checked, values, self.relation)
            selects.append(self._select(when, number, stored, guard))
            actions.append(RowAction(kind, span=_place(when, self.source)))
        rows: exp.Expr = selects[0]
        for select in selects[1:]:
            rows = exp.Union(this=rows, expression=select, distinct=False)
        matched = [when for when in whens if _kind(when) is _MATCHED]
        # However often a row is to be deleted, it is deleted.
        repeats = len(matched) == 1 and _deletes_all(matched[0])
        query = lower_query("merge", rows, self.known, self.source)
        return ChangeRows(self.relation.name, query, tuple(actions), repeats, span=span)

    def _select(
        self, when: exp.When, number: int, values: Mapping[Column, exp.Expr], guard: exp.Expr | None
    ) -> exp.Select:
        """The rows that a WHEN is about, and what becomes of them."""
        kind, columns = _kind(when), self.relation.columns
        own = [own_column(column, self.target) for column in columns]
        old: Sequence[exp.Expr | None] = [None] * len(columns) if kind is _NOT_MATCHED else own
        new: Sequence[exp.Expr | None] = [None] * len(columns)
        if isinstance(when.args["then"], exp.Insert):
            new = [values.get(column) for column in columns]
        elif isinstance(when.args["then"], exp.Update):
            new = [values.get(column, kept) for column, kept in zip(columns, own, strict=True)]
        tables = [self.node.this.copy(), self.using.copy()]
        if kind is _NOT_MATCHED:
            tables.reverse()
        how = {} if kind is _MATCHED else {"side": "LEFT", "kind": "ANTI"}
        return exp.Select(
            expressions=change_columns(number, old, new, self.relation),
            from_=exp.From(this=tables[0]),
            joins=[exp.Join(this=tables[1], on=self.node.args["on"].copy(), **how)],
            where=None if guard is None else exp.Where(this=guard.copy()),
        )

    def _action(self, when: exp.When) -> tuple[str, Mapping[Column, exp.Expr]]:
        """What is done, and the values of the columns of the row that comes."""
        kind, then = _kind(when), when.args["then"]
        place = span_of(then, self.source) or span_of(when, self.source)
        match then:
            case exp.Insert() if kind is _NOT_MATCHED:
                return "insert", self._inserted(then)
            case exp.Update(expressions=[exp.Star() as star]) if kind is _MATCHED:
                return "update", self._by_name(span_of(star, self.source) or place)
            case exp.Update() if kind is not _NOT_MATCHED:
                return "update", assigned(then.expressions, self.relation, self.target, self.source)
            case exp.Var() if kind is not _NOT_MATCHED:
                return "delete", {}
        allowed = "INSERT" if kind is _NOT_MATCHED else "UPDATE SET ... or DELETE"
        raise UnsupportedError(f"{kind} takes {allowed}", span=place)

    def _inserted(self, then: exp.Insert) -> Mapping[Column, exp.Expr]:
        place = span_of(then, self.source)
        if isinstance(then.this, exp.Star):
            return self._by_name(place)
        names, cells = then.this.expressions, then.expression.expressions
        if len(names) != len(cells):
            counted = f"{len(cells)} value{'' if len(cells) == 1 else 's'}"
            raise ArityError(f"INSERT takes {len(names)}, one for each column, and has {counted}", span=place)
        values: dict[Column, exp.Expr] = {}
        for name, cell in zip(names, cells, strict=True):
            column = changed_column(name, self.relation, self.target, self.source)
            if column in values:
                raise DuplicateNameError(f"column {name.name!r} comes twice", span=span_of(name, self.source))
            check_no_aggregate(cell, self.source)
            values[column] = default_node(self.relation, column) if is_default(cell) else cell
        check_left_out(self.relation, list(values), place)
        for column in self.relation.columns:
            if column not in values and column.name in defaults(self.relation):
                values[column] = default_node(self.relation, column)
        return values

    def _by_name(self, place: Span | None) -> Mapping[Column, exp.Expr]:
        """What * means: every column has the value of the source's column of that name."""
        rows = exp.Select(expressions=[exp.Star()], from_=exp.From(this=self.using.copy()))
        there = lower_query("merge", rows, self.known, self.source).relations[-1].column_names
        known = {name.lower(): name for name in there}
        values: dict[Column, exp.Expr] = {}
        for column in self.relation.columns:
            if column.name.lower() not in known:
                raise UnknownNameError(
                    f"* takes every column of {self.relation.name!r} from the source, which has no {column.name!r}",
                    span=place,
                    hint=did_you_mean(column.name, there) or "name the columns and their values",
                )
            name = exp.to_identifier(known[column.name.lower()], quoted=True)
            values[column] = exp.column(name, exp.to_identifier(name_of(self.using), quoted=True))
        return values

    def _guard(self, when: exp.When, before: Sequence[exp.When]) -> exp.Expr | None:
        """The condition of a WHEN, and that none of its kind before it takes the row."""
        parts: list[exp.Expr] = []
        for other in before:
            if _kind(other) is _kind(when):
                is_true = exp.Anonymous(this="coalesce", expressions=[other.args["condition"].copy(), exp.false()])
                parts.append(exp.Not(this=is_true))
        if when.args.get("condition") is not None:
            check_no_aggregate(when.args["condition"], self.source)
            parts.append(exp.Paren(this=when.args["condition"].copy()))
        guard: exp.Expr | None = None
        for part in parts:
            guard = part if guard is None else exp.And(this=guard, expression=part)
        return guard

    def _check_last(self, whens: Sequence[exp.When]) -> None:
        for number, when in enumerate(whens):
            later = [other for other in whens[number + 1 :] if _kind(other) is _kind(when)]
            if later and when.args.get("condition") is None:
                raise ParseError(
                    f"only the last {_kind(when)} may be without a condition",
                    span=_place(later[0], self.source),
                    hint=f"write {_kind(when)} AND ... THEN before it",
                )


def _kind(when: exp.When) -> str:
    if when.args.get("matched"):
        return _MATCHED
    return _NOT_IN_SOURCE if when.args.get("source") else _NOT_MATCHED


def _deletes_all(when: exp.When) -> bool:
    return isinstance(when.args["then"], exp.Var) and when.args.get("condition") is None


def _place(when: exp.When, source: SourceText) -> Span | None:
    """Where it says what is to be done, or where the WHEN is, if that has no place."""
    then = when.args["then"]
    items = then.expressions if isinstance(then, exp.Update) else []
    return place_of_all(items, source) or span_of(then, source) or span_of(when, source)
