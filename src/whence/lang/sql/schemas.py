"""`sales.orders`: a schema is the first part of a name, and needs no making.

A relation is called `sales.orders`, dot included; in a query it goes by its last part, as in Spark.
"""

from __future__ import annotations

from sqlglot import exp

from whence.errors import UnsupportedError
from whence.lang.sql.positions import span_of
from whence.model.program import NoChange
from whence.model.span import SourceText, Span

# What names without a schema are in.
DEFAULT = "default"
# What Spark reads files by: SELECT * FROM parquet.`file`.
_FORMATS = ("parquet", "csv", "json", "orc", "text", "avro", "binaryfile", "delta")
# Under this key, a table that was written with a schema remembers it.
WRITTEN_SCHEMA = "schema"
# Where a table gets the last part of its name for an alias.
_READ = (exp.From, exp.Join, exp.Update, exp.Delete, exp.Merge)


def join_names(tree: exp.Expr, source: SourceText) -> None:
    """Make one name of a schema and a table, in place."""
    local = {query.alias.lower() for query in tree.find_all(exp.CTE)}
    there: set[tuple[str, str]] = set()
    for table in list(tree.find_all(exp.Table)):
        schema = table.args.get("db")
        if schema is None or not isinstance(table.this, exp.Identifier):
            continue
        if table.args.get("catalog") is not None:
            raise UnsupportedError("a catalog name is not supported", span=span_of(table, source))
        last = table.name
        is_default = schema.name.lower() == DEFAULT
        name = last if is_default else f"{schema.name}.{last}"
        if name.lower() in local:
            # What has a schema is never a query of WITH, and one name would be both.
            raise UnsupportedError(
                f"{name!r} is a query of WITH here as well",
                span=span_of(table, source),
                hint="give that query another name",
            )
        there.add((schema.name.lower(), last.lower()))
        table.meta[WRITTEN_SCHEMA] = schema.name
        table.set("db", None)
        if is_default:
            continue
        joined = exp.Identifier(this=name, quoted=True)
        joined.meta.update(table.this.meta)
        table.set("this", joined)
        if isinstance(table.parent, _READ) and table.args.get("alias") is None:
            alias = exp.Identifier(this=last, quoted=True)
            alias.meta.update(joined.meta)
            table.set("alias", exp.TableAlias(this=alias))
    for column in tree.find_all(exp.Column):
        schema = column.args.get("db")
        if schema is not None and (schema.name.lower(), column.table.lower()) in there:
            column.set("db", None)


def refuse_files(tree: exp.Expr, source: SourceText) -> None:
    """In statements. Queries, which read nothing but relations, say that there is none of this name."""
    for table in tree.find_all(exp.Table):
        if table.db.lower() in _FORMATS and isinstance(table.this, exp.Identifier):
            raise UnsupportedError(
                "a file in place of a table is not supported",
                span=span_of(table, source),
                hint="COPY its rows into a table",
            )


def schema_statement(tree: exp.Create | exp.Drop, span: Span) -> NoChange:
    """CREATE SCHEMA and DROP SCHEMA."""
    target = tree.this if isinstance(tree, exp.Create) else tree.args["tables"][0]
    name = target.args["db"].name if isinstance(target, exp.Table) and target.args.get("db") else target.name
    what = "needs no making" if isinstance(tree, exp.Create) else "is gone with the last of its relations"
    return NoChange(f"the schema {name!r} is the first part of names, and {what}", span=span)
