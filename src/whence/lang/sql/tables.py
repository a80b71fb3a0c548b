"""CREATE TABLE: columns, keys, partitioning, and table properties that whence understands."""

from __future__ import annotations

import re
from typing import TypeAlias

from sqlglot import exp

from whence.errors import DuplicateNameError, UnknownNameError, UnsupportedError, did_you_mean
from whence.functions.comparison import check_comparable
from whence.lang.sql.grammar import DIALECT
from whence.lang.sql.literals import to_microseconds, to_number_of_rows, to_type
from whence.lang.sql.positions import span_of
from whence.model.program import CreateTable
from whence.model.schema import Column, Relation, RowWindow, TimeToLive
from whence.model.span import SourceText, Span

# Values by name, with their places.
Properties: TypeAlias = dict[str, tuple[str, Span | None]]

PROPERTIES = (
    *("ttl", "ttl_column", "window_rows", "window_partition"),
    *("source", "format", "sep", "header", "quote", "nullvalue", "mode"),
)
# Between the names of columns in a property: a comma that is not within backquotes.
_NAMES = re.compile(r",(?=(?:[^`]*`[^`]*`)*[^`]*\Z)")


def create_table(node: exp.Create, source: SourceText, span: Span) -> CreateTable:
    """The table's schema. A key makes it a set, and its columns NOT NULL."""
    schema = node.this
    if node.args.get("replace"):
        raise UnsupportedError(
            "CREATE OR REPLACE TABLE is not supported", span=span_of(schema, source), hint="DROP it first"
        )
    if node.expression is not None or not isinstance(schema, exp.Schema):
        raise UnsupportedError(
            "CREATE TABLE needs a list of columns",
            span=span_of(schema, source) or span,
            hint="for a table that follows a query use CREATE MATERIALIZED VIEW ... AS SELECT ...",
        )
    name = table_name(schema.this, source)
    columns: list[Column] = []
    keys: list[list[exp.Expr]] = []
    for part in schema.expressions:
        match part:
            case exp.ColumnDef():
                column, is_key = column_of(part, source)
                _check_new(column, columns)
                columns.append(column)
                keys.extend([[part.this]] if is_key else [])
            case exp.PrimaryKey() | exp.Constraint(expressions=[exp.PrimaryKey()]):
                named = part.expressions[0] if isinstance(part, exp.Constraint) else part
                keys.append([e.find(exp.Identifier) or e for e in named.expressions])
            case (
                exp.ForeignKey()
                | exp.CheckColumnConstraint()
                | exp.UniqueColumnConstraint()
                | exp.Constraint(
                    expressions=[exp.ForeignKey() | exp.CheckColumnConstraint() | exp.UniqueColumnConstraint()]
                )
            ):
                # See table_parts.
                continue
            case exp.Identifier():
                raise UnsupportedError(
                    f"column {part.name!r} has no type", span=span_of(part, source), hint=f"write {part.name} STRING"
                )
            case _:
                raise UnsupportedError(
                    f"{part.sql(DIALECT)} is not supported in CREATE TABLE", span=span_of(part, source)
                )
    if not columns:
        raise UnsupportedError("a table needs a column", span=span_of(schema, source))
    key_names = _key(keys, columns, source)
    for column in columns:
        if column.name in key_names:
            check_comparable(column.type, "part of a key", column.span)
    columns = [Column(c.name, c.type, c.nullable and c.name not in key_names, span=c.span) for c in columns]
    properties, partition = _properties(node, columns, source)
    ttl = _time_to_live(properties, columns)
    window = _window(properties, columns)
    rest = tuple((k, v) for k, (v, _) in sorted(properties.items()))
    relation = Relation(
        name,
        tuple(columns),
        distinct=bool(key_names),
        key=key_names,
        partition=partition,
        ttl=ttl,
        window=window,
        properties=rest,
        span=span_of(schema.this, source),
    )
    return CreateTable(relation, bool(node.args.get("exists")), span=span)


def _key(keys: list[list[exp.Expr]], columns: list[Column], source: SourceText) -> tuple[str, ...]:
    if len(keys) > 1:
        raise UnsupportedError(
            "a table has one PRIMARY KEY",
            span=span_of(keys[1][0], source),
            related=[("the other one is here", span_of(keys[0][0], source))],
            hint="a key of several columns is written at the end of the list: PRIMARY KEY (a, b)",
        )
    return tuple(_known(name, columns, source) for name in (keys[0] if keys else ()))


def _time_to_live(properties: Properties, columns: list[Column]) -> TimeToLive | None:
    """What `ttl` and `ttl_column` say, which are taken out."""
    column = properties.pop("ttl_column", None)
    if "ttl" not in properties:
        if column is not None:
            raise UnsupportedError("ttl_column needs a ttl", span=column[1], hint="add 'ttl' = '10 minutes'")
        return None
    name = None if column is None else _find(column[0], columns, column[1])
    return TimeToLive(to_microseconds(*properties.pop("ttl")), name)


def _window(properties: Properties, columns: list[Column]) -> RowWindow | None:
    """What `window_rows` and `window_partition` say, which are taken out."""
    names, place = properties.pop("window_partition", ("", None))
    if "window_rows" not in properties:
        if place is not None:
            raise UnsupportedError("window_partition needs window_rows", span=place, hint="add 'window_rows' = '100'")
        return None
    partition = tuple(_find(_unquoted(name.strip()), columns, place) for name in _NAMES.split(names)) if place else ()
    return RowWindow(to_number_of_rows(*properties.pop("window_rows")), partition)


def _unquoted(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") and name.endswith("`") else name


def table_name(node: exp.Expr, source: SourceText) -> str:
    if not isinstance(node, exp.Table) or node.args.get("db") is not None:
        raise UnsupportedError(
            "a name with a schema is not supported", span=span_of(node, source), hint="use a plain name"
        )
    if not isinstance(node.this, exp.Identifier):
        raise UnsupportedError("this cannot be a name", span=span_of(node, source))
    if "$" in node.name:
        raise UnsupportedError("names with $ are kept for whence's own relations", span=span_of(node, source))
    return node.name


def column_of(node: exp.ColumnDef, source: SourceText) -> tuple[Column, bool]:
    """A column as a table declares it, and whether it is the key."""
    span = span_of(node.this, source)
    if node.args.get("kind") is None:
        raise UnsupportedError(f"column {node.name!r} has no type", span=span, hint=f"write {node.name} STRING")
    nullable, is_key = True, False
    # What other systems say of a column, such as IN, stands there without a kind.
    kinds = [getattr(each, "kind", each) for each in node.args.get("constraints") or ()]
    if len({type(kind) for kind in kinds}) < len(kinds):
        raise DuplicateNameError(f"column {node.name!r} has the same kind of constraint twice", span=span)
    for kind in kinds:
        match kind:
            case exp.NotNullColumnConstraint():
                nullable = bool(kind.args.get("allow_null"))
            case exp.PrimaryKeyColumnConstraint():
                is_key = True
            case (
                exp.CommentColumnConstraint()
                | exp.DefaultColumnConstraint()
                | exp.CheckColumnConstraint()
                | exp.UniqueColumnConstraint()
                | exp.Reference()
            ):
                # See table_parts.
                continue
            case other:
                raise UnsupportedError(f"{other.sql(DIALECT) or other.key.upper()} is not supported", span=span)
    return Column(node.name, to_type(node.args["kind"], span, is_column=True), nullable, span=span), is_key


def _check_new(column: Column, columns: list[Column]) -> None:
    for other in columns:
        if other.name.lower() == column.name.lower():
            raise DuplicateNameError(
                f"two columns are named {column.name!r}", span=column.span, related=[("the other one", other.span)]
            )


def _known(node: exp.Expr, columns: list[Column], source: SourceText) -> str:
    return _find(node.name, columns, span_of(node, source))


def _find(name: str, columns: list[Column], span: Span | None) -> str:
    for column in columns:
        if column.name.lower() == name.lower():
            return column.name
    raise UnknownNameError(f"unknown column {name!r}", span=span, hint=did_you_mean(name, [c.name for c in columns]))


def _properties(node: exp.Create, columns: list[Column], source: SourceText) -> tuple[Properties, str | None]:
    found: Properties = {}
    partition = None
    for part in node.args["properties"].expressions if node.args.get("properties") else ():
        span = span_of(part, source)
        match part:
            case exp.PartitionedByProperty() if partition is not None:
                raise DuplicateNameError("PARTITIONED BY comes twice", span=span)
            case exp.PartitionedByProperty():
                names = part.this.expressions
                if len(names) != 1 or not isinstance(names[0], exp.Identifier):
                    raise UnsupportedError("a table is partitioned by one of its columns", span=span)
                partition = _known(names[0], columns, source)
            case exp.Property() if type(part) is exp.Property:
                name = part.this.name if isinstance(part.this, exp.Expr) else str(part.this)
                value = part.args["value"]
                if name.lower() not in PROPERTIES:
                    raise UnsupportedError(
                        f"unknown table property {name!r}",
                        span=span,
                        hint=did_you_mean(name, PROPERTIES) or f"table properties are {', '.join(PROPERTIES)}",
                    )
                if name.lower() in found:
                    raise DuplicateNameError(f"the property {name!r} comes twice", span=span)
                found[name.lower()] = (value.name, span_of(value, source) or span)
            case exp.SchemaCommentProperty():
                pass
            case _:
                text = part.sql(DIALECT) or part.key
                raise UnsupportedError(
                    f"{text} is not supported in CREATE TABLE", span=span or span_of(node.this, source)
                )
    return found, partition
