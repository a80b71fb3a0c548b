"""SQL text to statements of the model."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from whence.errors import DuplicateNameError, UnknownNameError, UnsupportedError, did_you_mean
from whence.lang.sql.changes import delete, insert
from whence.lang.sql.dialect import statements
from whence.lang.sql.positions import span_of
from whence.lang.sql.tables import create_table, table_name
from whence.lang.sql.views import create_view
from whence.model.catalog import Catalog
from whence.model.schema import is_auxiliary, owner
from whence.model.span import Source, Span
from whence.model.statements import CreateTable, CreateView, Drop, Statement


def parse_sql(text: str, catalog: Catalog, name: str = "<sql>") -> tuple[Statement, ...]:
    """All statements of the text, each resolved against the catalog as the ones before it leave it."""
    source = Source(name, text)
    known = _Known(catalog)
    found: list[Statement] = []
    for tree, span in statements(source):
        statement = _statement(tree, known.catalog, source, span)
        known.apply(statement)
        found.append(statement)
    return tuple(found)


def _statement(tree: exp.Expr, catalog: Catalog, source: Source, span: Span) -> Statement:
    match tree:
        case exp.Create(kind="TABLE"):
            return create_table(tree, source, span)
        case exp.Create(kind="VIEW"):
            return create_view(tree, catalog, source, span)
        case exp.Drop(kind="TABLE" | "VIEW"):
            return _drop(tree, source, span)
        case exp.Insert():
            return insert(tree, catalog, source, span)
        case exp.Delete():
            return delete(tree, catalog, source, span)
        case exp.Query():
            raise UnsupportedError(
                "a query on its own is not a statement here", span=_first_word(span), hint="use db.query(...), or CREATE VIEW ... AS it"
            )
    raise UnsupportedError(
        f"whence does not know the statement {tree.key.upper()}",
        span=_first_word(span),
        hint="supported: CREATE TABLE, CREATE [MATERIALIZED] VIEW, DROP, INSERT, DELETE",
    )


def _first_word(span: Span) -> Span:
    return replace(span, end=span.start + len(span.text.split(None, 1)[0]))


def _drop(tree: exp.Drop, source: Source, span: Span) -> Drop:
    tables = tree.args["tables"]
    if len(tables) != 1 or tree.args.get("cascade"):
        raise UnsupportedError("DROP takes one name, without CASCADE", span=span)
    name = table_name(tables[0], source)
    return Drop(tree.args["kind"], name, bool(tree.args.get("exists")), span=span_of(tables[0], source))


class _Known:
    """The catalog while a script goes on, with what the script itself has defined."""

    def __init__(self, catalog: Catalog) -> None:
        self.relations = dict(catalog.relations)
        self.views = set(catalog.views)
        self.catalog = Catalog(self.relations, self.views, catalog.functions)  # type: ignore[arg-type]

    def apply(self, statement: Statement) -> None:
        match statement:
            case CreateTable(relation=relation):
                if not self._taken(relation.name, statement.if_not_exists, relation.span, None):
                    self.relations[relation.name] = relation
            case CreateView(name=name):
                view = statement.definition.relations[-1]
                if not self._taken(name, statement.if_not_exists, view.span, statement if statement.replace else None):
                    for relation in statement.definition.relations:
                        self.relations[relation.name] = relation
                        self.views.add(relation.name)
            case Drop():
                self._drop(statement)

    def _taken(self, name: str, accept: bool, span: Span | None, replacement: CreateView | None) -> bool:
        old = self._find(name)
        if old is None or accept:
            return old is not None
        if replacement is not None and old in self.views:
            self._forget(old)
            return False
        what = "view" if old in self.views else "table"
        raise DuplicateNameError(
            f"there is a {what} named {old!r} already",
            span=span,
            related=[("it was defined here", self.relations[old].span)],
            hint="DROP it first" + (", or CREATE OR REPLACE VIEW" if what == "view" else ""),
        )

    def _drop(self, statement: Drop) -> None:
        old = self._find(statement.name)
        if old is None:
            if statement.if_exists:
                return
            shown = [n for n in self.relations if not is_auxiliary(n)]
            raise UnknownNameError(
                f"unknown table or view {statement.name!r}", span=statement.span, hint=did_you_mean(statement.name, shown)
            )
        is_view = old in self.views
        if is_view != (statement.kind == "VIEW"):
            what = "view" if is_view else "table"
            raise UnknownNameError(f"{old!r} is a {what}", span=statement.span, hint=f"use DROP {what.upper()}")
        self._forget(old)

    def _forget(self, name: str) -> None:
        for relation in [n for n in self.relations if owner(n) == name]:
            del self.relations[relation]
            self.views.discard(relation)

    def _find(self, name: str) -> str | None:
        return next((n for n in self.relations if n.lower() == name.lower()), None)

