"""COPY name FROM 'file', and COPY name or (query) TO 'file', with options in parentheses."""

from __future__ import annotations

from sqlglot import exp

from whence.errors import UnsupportedError
from whence.lang.sql.known import KnownRelations
from whence.lang.sql.positions import span_of
from whence.lang.sql.targets import target_table
from whence.lang.sql.write_terms import name_sql
from whence.model.file_options import file_options
from whence.model.program import CopyFrom, CopyTo
from whence.model.span import SourceText, Span


def copy(node: exp.Copy, known: KnownRelations, source: SourceText, span: Span) -> CopyFrom | CopyTo:
    files = node.args.get("files") or []
    if len(files) != 1 or not isinstance(files[0], exp.Literal) or not files[0].is_string:
        raise UnsupportedError("COPY takes one file, as a text", span=span, hint="write COPY t TO 'rows.csv'")
    path = files[0].name
    options = tuple(_option(each, source) for each in node.args.get("params") or ())
    try:
        file_options(dict(options))
    except UnsupportedError as error:
        raise UnsupportedError(error.message, span=span, hint=error.hint) from None
    if node.args.get("kind"):
        return CopyFrom(target_table(node.this, known, source).name, path, options, span=span)
    query = node.this.this if isinstance(node.this, exp.Subquery) else node.this
    if isinstance(query, exp.Table):
        relation = known.find(query.name)
        text = f"SELECT * FROM {name_sql(query.name if relation is None else relation.name)}"
    else:
        file = span_of(files[0], source)
        assert file is not None, "a text has a place"
        # As it was written, since the places of its words are told in it.
        text = source.text[source.text.index("(", span.start) + 1 : source.text.rindex(")", span.start, file.start)]
    return CopyTo(text, path, options, span=span)


def _option(node: exp.Expr, source: SourceText) -> tuple[str, str]:
    value = node.args.get("expression")
    if value is None:
        raise UnsupportedError("an option has a value", span=span_of(node, source), hint="write HEADER true")
    text = str(value.this).lower() if isinstance(value, exp.Boolean) else value.name
    return node.name.lower(), text
