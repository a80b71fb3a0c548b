"""CHECK, UNIQUE and REFERENCES: each is a query for the rows that break it, which has to have none after a commit.

    CREATE TABLE orders(id INT, customer INT REFERENCES customer(id), amount INT CHECK (amount > 0))

    orders$check_1:      SELECT amount FROM orders WHERE NOT (amount > 0)
    orders$references_1: SELECT customer FROM orders o WHERE customer IS NOT NULL
                         AND NOT EXISTS (SELECT * FROM customer c WHERE c.id = o.customer)

So constraints are kept like views: in columns where tables are, on a cluster where they are there, and at the cost of
what changes. The queries have just the columns that a constraint speaks of, and others may come and go.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from whence.errors import ArityError, DuplicateNameError, UnknownNameError, UnsupportedError, did_you_mean
from whence.lang.sql.known import KnownRelations
from whence.lang.sql.positions import span_of
from whence.lang.sql.views import lower_query
from whence.model.program import Program
from whence.model.rules import Rule
from whence.model.schema import AUXILIARY_MARK, Relation
from whence.model.span import SourceText, Span


@dataclass(frozen=True)
class Constraint:
    """A part of CREATE TABLE that says something of rows; `columns` are those that it stands at, if any."""

    node: exp.Expr
    columns: Sequence[exp.Expr]
    name: str | None = None
    kind: str = "check"


def constraint_of(node: exp.Expr, columns: Sequence[exp.Expr] = (), name: str | None = None) -> Constraint | None:
    """None for anything else."""
    match node:
        case exp.Constraint(expressions=[inner]):
            return constraint_of(inner, columns, node.name)
        case exp.CheckColumnConstraint():
            return Constraint(node, columns, name)
        case exp.UniqueColumnConstraint():
            listed = node.this.expressions if isinstance(node.this, exp.Schema) else columns
            return Constraint(node, listed, name)
        case exp.Reference():
            return Constraint(node, columns, name)
        case exp.ForeignKey():
            return Constraint(node.args["reference"], node.expressions, name)
    return None


def length_limit(column: exp.ColumnDef, most: int) -> Constraint:
    """VARCHAR(n) is a text of at most n characters."""
    length = exp.Anonymous(this="length", expressions=[_column(column.this)])
    too_long = exp.LTE(this=length, expression=exp.Literal.number(most))
    return Constraint(exp.CheckColumnConstraint(this=too_long), [column.this], kind="length")


def constraint_program(
    relation: Relation, constraints: Sequence[Constraint], known: KnownRelations, source: SourceText
) -> Program:
    """Relations for rows that break a constraint, with their rules."""
    relations: list[Relation] = []
    rules: list[Rule] = []
    known = known.extended(relation)
    taken: set[str] = set()
    for constraint in constraints:
        kind, query, place = _query(relation, constraint, known, source)
        name = _fresh(kind, constraint, taken, place)
        program = lower_query(f"{relation.name}{AUXILIARY_MARK}{name}", query, known, source)
        *others, last = program.relations
        relations += (*others, replace(last, span=place))
        rules += program.rules
    return Program(tuple(relations), tuple(rules))


def _fresh(kind: str, constraint: Constraint, taken: set[str], place: Span | None) -> str:
    if constraint.name is not None:
        name = f"{kind}_{constraint.name.lower()}"
        if name in taken:
            raise DuplicateNameError(f"two constraints are named {constraint.name!r}", span=place)
    else:
        name = next(name for number in range(1, len(taken) + 2) if (name := f"{kind}_{number}") not in taken)
    taken.add(name)
    return name


def _query(
    relation: Relation, constraint: Constraint, known: KnownRelations, source: SourceText
) -> tuple[str, exp.Select, Span | None]:
    node = constraint.node
    names = [_known(each, relation, source) for each in constraint.columns]
    whole = _whole_place(node, constraint.columns, source)
    if isinstance(node, exp.CheckColumnConstraint):
        for inner in node.this.find_all(exp.Query):
            raise UnsupportedError("CHECK looks at the row alone, and takes no query", span=span_of(inner, source))
        read = list(dict.fromkeys(column.name.lower() for column in node.this.find_all(exp.Column)))
        if not read:
            raise UnsupportedError("CHECK needs a column to look at", span=whole)
        cells = [column.name for column in relation.columns if column.name.lower() in read]
        broken = exp.Not(this=exp.Paren(this=node.this.copy()))
        return constraint.kind, _select(relation, cells or list(relation.column_names[:1]), [broken]), whole
    there = [_is_there(_column(name)) for name in names]
    if isinstance(node, exp.UniqueColumnConstraint):
        select = _select(relation, names, there)
        select.set("group", exp.Group(expressions=[_column(name) for name in names]))
        several = exp.GT(this=exp.Anonymous(this="count", expressions=[exp.Star()]), expression=exp.Literal.number(1))
        select.set("having", exp.Having(this=several))
        return "unique", select, whole
    return "references", _without_parent(relation, node, names, there, known, source), whole


def _without_parent(
    relation: Relation,
    node: exp.Expr,
    names: Sequence[str],
    there: Sequence[exp.Expr],
    known: KnownRelations,
    source: SourceText,
) -> exp.Select:
    target = node.this.this if isinstance(node.this, exp.Schema) else node.this
    place = span_of(target, source)
    parent = known.find(target.name)
    if parent is None:
        raise UnknownNameError(
            f"unknown table {target.name!r}", span=place, hint=did_you_mean(target.name, known.names())
        )
    if known.is_view(parent):
        raise UnsupportedError(f"{parent.name!r} is a view, and rows refer to those of a table", span=place)
    given = node.this.expressions if isinstance(node.this, exp.Schema) else ()
    others = [_known(each, parent, source) for each in given] or list(parent.key)
    if not others:
        raise UnsupportedError(
            f"{parent.name!r} has no key", span=place, hint=f"name the columns: REFERENCES {parent.name}(...)"
        )
    if len(others) != len(names):
        raise ArityError(f"{len(names)} columns refer to {len(others)}", span=place)
    pairs: list[exp.Expr] = [
        exp.EQ(this=_column(theirs, "parent"), expression=_column(mine, "child"))
        for mine, theirs in zip(names, others, strict=True)
    ]
    matching = exp.Select(expressions=[exp.Star()], from_=_from(parent, "parent"))
    matching.set("where", exp.Where(this=exp.and_(*pairs, copy=False)))
    missing = exp.Not(this=exp.Exists(this=matching))
    return _select(relation, names, [*there, missing], "child")


def _select(
    relation: Relation, names: Sequence[str], conditions: Sequence[exp.Expr], alias: str | None = None
) -> exp.Select:
    select = exp.Select(expressions=[_column(name) for name in names], from_=_from(relation, alias))
    select.set("where", exp.Where(this=exp.and_(*conditions, copy=False)))
    return select


def _from(relation: Relation, alias: str | None) -> exp.From:
    table = exp.Table(this=exp.to_identifier(relation.name, quoted=True))
    if alias is not None:
        table.set("alias", exp.TableAlias(this=exp.to_identifier(alias)))
    return exp.From(this=table)


def _column(name: exp.Expr | str, table: str | None = None) -> exp.Column:
    plain = name if isinstance(name, str) else name.name
    return exp.column(exp.to_identifier(plain, quoted=True), table=table)


def _is_there(column: exp.Column) -> exp.Expr:
    return exp.Not(this=exp.Is(this=column, expression=exp.Null()))


def _known(node: exp.Expr, relation: Relation, source: SourceText) -> str:
    for column in relation.columns:
        if column.name.lower() == node.name.lower():
            return column.name
    raise UnknownNameError(
        f"{relation.name!r} has no column {node.name!r}",
        span=span_of(node, source),
        hint=did_you_mean(node.name, relation.column_names),
    )


def _whole_place(node: exp.Expr, columns: Sequence[exp.Expr], source: SourceText) -> Span | None:
    """From the first word that has a place to the last."""
    places = list(_places((*columns, node), source))
    if not places:
        return None
    return replace(places[0], start=min(each.start for each in places), end=max(each.end for each in places))


def _places(nodes: Sequence[exp.Expr], source: SourceText) -> Iterator[Span]:
    for node in nodes:
        for part in node.walk():
            place = span_of(part, source)
            if place is not None:
                yield place
