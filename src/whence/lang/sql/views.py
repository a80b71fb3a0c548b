"""CREATE VIEW, and the queries inside INSERT and DELETE: one lowering each."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from whence.errors import TypeMismatchError, UnsupportedError
from whence.lang.sql.block import Block
from whence.lang.sql.grammar import DIALECT
from whence.lang.sql.known import KnownRelations
from whence.lang.sql.lowering import Lowering
from whence.lang.sql.positions import span_of
from whence.lang.sql.query import draft_parts
from whence.lang.sql.tables import table_name
from whence.lang.sql.window_bounds import push_bounds
from whence.model.program import CreateView, Program
from whence.model.rules import Atom, Literal, Negation, Rule
from whence.model.span import SourceText, Span
from whence.model.terms import Variable
from whence.model.types import NULL, Type, has_null


def create_view(node: exp.Create, known: KnownRelations, source: SourceText, span: Span) -> CreateView:
    """The view's relation and rules, auxiliary ones first."""
    target = node.this.this if isinstance(node.this, exp.Schema) else node.this
    name = table_name(target, source)
    materialized = keeps_derivations = False
    for part in node.args["properties"].expressions if node.args.get("properties") else ():
        if _keeps_derivations(part):
            keeps_derivations = True
            continue
        if not isinstance(part, exp.MaterializedProperty):
            text = "TBLPROPERTIES" if type(part) is exp.Property else part.sql(DIALECT) or part.key
            raise UnsupportedError(
                f"{text} is not supported in CREATE VIEW", span=span_of(part, source) or span_of(target, source)
            )
        materialized = True
    if node.expression is None:
        raise UnsupportedError("CREATE VIEW needs AS SELECT ...", span=span_of(target, source))
    columns = node.this.expressions if isinstance(node.this, exp.Schema) else []
    if isinstance(node.this, exp.Schema) and not columns:
        raise UnsupportedError("the list of columns is empty", span=span_of(target, source), hint="leave it out")
    for column in columns:
        if not isinstance(column, exp.Identifier):
            raise UnsupportedError("columns of a view are given by their names alone", span=span_of(column, source))
    if node.args.get("replace") and node.args.get("exists"):
        raise UnsupportedError("OR REPLACE and IF NOT EXISTS exclude each other", span=span_of(target, source))
    lowering = start(name, known, source)
    define(lowering, node.expression, [c.name for c in columns], span_of(target, source))
    check_types(lowering)
    return CreateView(
        name,
        lowering.program(),
        replace=bool(node.args.get("replace")),
        if_not_exists=bool(node.args.get("exists")),
        materialized=materialized,
        keeps_derivations=keeps_derivations,
        notices=tuple(dict.fromkeys(lowering.notices)),
        span=span,
    )


def _keeps_derivations(part: exp.Expr) -> bool:
    """Whether it is the property 'derivations' = 'kept'."""
    if type(part) is not exp.Property or not isinstance(part.this, exp.Expr):
        return False
    return part.this.name.lower() == "derivations" and part.args["value"].name.lower() == "kept"


def check_types(lowering: Lowering) -> None:
    """A column that is always NULL has no type that could be stored, or that another view could compute with."""
    for relation in lowering.made.values():
        for column in relation.columns:
            if has_null(column.type):
                raise TypeMismatchError(
                    f"the type of column {column.name!r} cannot be told: it is {_always(column.type)}",
                    span=column.span,
                    hint="give the NULL a type: CAST(NULL AS STRING)",
                )


def _always(kind: Type) -> str:
    return "always NULL" if kind == NULL else "an array without any value"


def start(view: str, known: KnownRelations, source: SourceText) -> Lowering:
    return Lowering(view, source, known, draft_parts)


def define(lowering: Lowering, query: exp.Expr, columns: list[str], span: Span | None) -> None:
    """Lower the query into the relation that the lowering is for."""
    top = Block.top({})
    drafts, distinct = draft_parts(lowering, query, top)
    drafts[0] = drafts[0].renamed(columns, span)
    lowering.emit(lowering.view, drafts, distinct=distinct, span=span)
    push_bounds(lowering)
    while (copied := _copied(lowering)) is not None:
        _take_place(lowering, copied)


def _copied(lowering: Lowering) -> str | None:
    """The auxiliary relation that the view merely repeats, column by column."""
    rules = [rule for rule in lowering.rules if rule.head.relation == lowering.view]
    match rules:
        case [Rule(head=head, body=(Atom() as atom,))] if head.terms == atom.terms:
            plain = all(isinstance(t, Variable) for t in head.terms) and len(set(head.terms)) == len(head.terms)
            other = lowering.made.get(atom.relation)
            if plain and other is not None and other.name != lowering.view:
                view = lowering.made[lowering.view]
                return other.name if other.distinct or not view.distinct else None
    return None


def _take_place(lowering: Lowering, old: str) -> None:
    """The auxiliary relation becomes the view itself, so that its rules speak of the view."""
    view, relation = lowering.made.pop(lowering.view), lowering.made.pop(old)
    columns = tuple(replace(c, name=n) for c, n in zip(relation.columns, view.column_names, strict=True))
    lowering.made[lowering.view] = replace(relation, name=lowering.view, columns=columns, span=view.span)
    lowering.rules = [rule for rule in lowering.rules if rule.head.relation != lowering.view]

    def atom(a: Atom) -> Atom:
        return replace(a, relation=lowering.view) if a.relation == old else a

    def literal(item: Literal) -> Literal:
        match item:
            case Atom():
                return atom(item)
            case Negation():
                return replace(item, atom=atom(item.atom))
        return item

    lowering.rules = [
        Rule(atom(r.head), tuple(literal(x) for x in r.body), r.sign, span=r.span) for r in lowering.rules
    ]


def lower_query(name: str, query: exp.Expr, known: KnownRelations, source: SourceText) -> Program:
    """A query that is not kept, as a program whose last relation holds its rows."""
    lowering = start(name, known, source)
    define(lowering, query, [], span_of(query, source))
    return lowering.program()
