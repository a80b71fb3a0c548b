"""Nothing in the text is passed over: a part of a node that is not read is refused by name."""

from __future__ import annotations

import re
from itertools import pairwise

from sqlglot import exp

from whence.errors import ArityError, ParseError, UnsupportedError
from whence.lang.sql.lowering import Lowering
from whence.lang.sql.positions import span_of
from whence.model.span import SourceText, Span

_QUERY = "this expression with_ order limit offset"
# What is read of each kind of node, beside the expressions, which say so themselves. The parser may set more.
_READ: dict[type[exp.Expr], str] = {
    exp.Create: "this kind expression exists properties replace",
    exp.Schema: "this expressions",
    exp.Properties: "expressions",
    exp.Property: "this value",
    exp.PartitionedByProperty: "this",
    exp.SchemaCommentProperty: "this",
    exp.MaterializedProperty: "",
    exp.ColumnDef: "this kind constraints",
    # The name of a constraint is for ALTER TABLE, which is refused.
    exp.ColumnConstraint: "this kind",
    exp.Constraint: "this expressions",
    exp.NotNullColumnConstraint: "allow_null",
    exp.PrimaryKeyColumnConstraint: "",
    exp.CommentColumnConstraint: "this",
    exp.DefaultColumnConstraint: "this",
    exp.CheckColumnConstraint: "this",
    exp.UniqueColumnConstraint: "this",
    exp.Reference: "this",
    exp.ForeignKey: "expressions reference",
    exp.PrimaryKey: "expressions include",
    exp.IndexParameters: "",
    exp.DataType: "this expressions nested",
    exp.DataTypeParam: "this",
    exp.Identifier: "this quoted",
    exp.Drop: "kind tables exists materialized cascade",
    exp.Insert: "this expression overwrite",
    exp.Copy: "this kind files params credentials",
    exp.CopyParameter: "this expression expressions",
    exp.Credentials: "",
    exp.Delete: "this where",
    exp.Merge: "this using on whens",
    exp.Whens: "expressions",
    exp.When: "matched source condition then",
    exp.TruncateTable: "expressions partition",
    exp.Update: "this expressions from_ where",
    exp.With: "expressions recursive",
    exp.CTE: "this alias",
    exp.TableAlias: "this columns",
    exp.Select: (
        "expressions from_ joins where group having qualify windows laterals distinct hint with_ order limit offset"
    ),
    exp.Lateral: "this view outer alias ordinality",
    exp.Window: "this partition_by order spec alias over",
    exp.WindowSpec: "kind start start_side end end_side exclude",
    exp.Qualify: "this",
    exp.Limit: "expression",
    exp.Offset: "expression",
    exp.Union: f"{_QUERY} distinct",
    exp.Intersect: f"{_QUERY} distinct",
    exp.Except: f"{_QUERY} distinct",
    exp.Subquery: "this alias with_ joins order limit offset pivots",
    exp.Pivot: (
        "expressions fields unpivot include_nulls alias columns default_on_null identify_pivot_strings "
        "prefixed_pivot_columns pivot_column_naming value_columns_first"
    ),
    exp.PivotAlias: "this alias",
    exp.Values: "expressions alias order limit offset",
    exp.From: "this",
    exp.Table: "this alias joins pivots",
    exp.Join: "this on using side kind method",
    exp.Where: "this",
    exp.Group: "expressions rollup cube grouping_sets all",
    exp.Rollup: "expressions",
    exp.Cube: "expressions",
    exp.GroupingSets: "expressions",
    exp.Hint: "expressions",
    exp.Having: "this",
    exp.Order: "expressions",
    exp.Ordered: "this desc nulls_first",
    exp.Star: "except_ replace",
    exp.Alias: "this alias",
    exp.Filter: "this expression",
    exp.Distinct: "expressions",
    exp.Tuple: "expressions",
    exp.Interval: "this unit",
}
# Where only a name can stand, and the parser takes more: `t @v1`.
_NAME_PARTS: dict[type[exp.Expr], tuple[str, ...]] = {
    exp.TableAlias: ("this", "columns"),
    exp.Alias: ("alias",),
    exp.ColumnDef: ("this",),
    exp.Join: ("using",),
    exp.PrimaryKey: ("expressions",),
    exp.Column: ("this", "table"),
}
_NO_ALIAS = frozenset(
    "ANTI CROSS EXCEPT FULL INNER INTERSECT JOIN LATERAL LEFT MINUS NATURAL ON RIGHT SEMI UNION USING".split()
)
# What ends with a comma, or with the start of a query in parentheses that has a WITH of its own; then comments only.
_COMMENTS = r"(?:\s|--[^\n]*\n|/\*.*?\*/)*"
_BETWEEN = re.compile(rf"(?:,|\({_COMMENTS}WITH(?:{_COMMENTS}RECURSIVE)?){_COMMENTS}\Z", re.DOTALL | re.IGNORECASE)
PARTS = {kind: frozenset(parts.split()) for kind, parts in _READ.items()}

_CLAUSES = ("from_", "where", "group", "having", "order")
_NAMES = {
    "from_": "FROM",
    "group": "GROUP BY",
    "order": "ORDER BY",
    "sample": "TABLESAMPLE",
    "when": "time travel",
    "version": "time travel",
    "system_time": "time travel",
    "db": "a name of three parts",
    "catalog": "a catalog name",
    "sort": "SORT BY",
    "cluster": "CLUSTER BY",
    "distribute": "DISTRIBUTE BY",
    "totals": "WITH TOTALS",
    "key_expressions": "USING KEY",
    "search": "SEARCH or CYCLE",
    "cycle": "SEARCH or CYCLE",
    "with_": "WITH in this place",
    "by_name": "BY NAME",
    "field": "IN without parentheses",
    "kind": "SELECT AS STRUCT or VALUE",
    "hints": "a hint",
    "on": "DISTINCT ON",
    "options": "an option of the key",
    "desc": "an order of the key",
    "locks": "FOR UPDATE",
    "materialized": "MATERIALIZED in WITH",
    "expressions": "a list in this place",
    "position": "a position in this place",
    "this": "ORDER BY in a call",
    "zone": "AT TIME ZONE",
    "decimals": "a number of decimals in this function",
    "source": "TABLE in this place",
    "tables": "DELETE without FROM",
}
_NO_ORDER = "a view has no order"
_RECURSION = "the recursion is a set of rows, and ends when nothing new comes"
_HINTS = {
    "sort": _NO_ORDER,
    "cluster": _NO_ORDER,
    "db": "a database has one list of names; use a plain one",
    "catalog": "a database has one list of names; use a plain one",
    "partition": "write the value into the rows themselves",
    "key_expressions": _RECURSION,
    "search": _RECURSION,
    "cycle": _RECURSION,
    "by_name": "name the columns in the order in which they are wanted",
    "field": "write IN (SELECT ... FROM ...) or IN (a, b)",
    "kind": "name the columns",
    "tables": "write DELETE FROM name WHERE ...",
    "where": "INSERT OVERWRITE replaces all rows; DELETE those that are to go, and INSERT",
    "source": "write SELECT * FROM name",
    "using": "write WHERE ... IN (SELECT ... FROM ...)",
    "with_": "write it directly before the SELECT that reads it",
}


def refuse_unread(tree: exp.Expr, source: SourceText) -> None:
    """Refuse the first part of the statement that is there and not read, or that is needed and not there."""
    for node in tree.walk():
        if any(node.args.get(part) is None for part in node.required_args):
            raise ArityError("something is missing here", span=span_of(node, source))
        if (read := PARTS.get(type(node))) is not None:
            _refuse(node, read, source)
        if isinstance(node, exp.Func | exp.In) and not isinstance(node, exp.Exists):
            _check_arguments(node, source)
        if isinstance(node, exp.With):
            _check_between(node, source)
        if isinstance(node, exp.Select):
            _check_clauses(node, source)
        elif isinstance(node, exp.Identifier):
            _check_name(node, source)
        elif isinstance(node, exp.TableAlias) and isinstance(node.this, exp.Identifier):
            _check_alias(node.this, source)
        for part in _NAME_PARTS.get(type(node), ()):
            given = node.args.get(part)
            for name in given if isinstance(given, list) else [given]:
                if isinstance(name, exp.Literal) and name.is_string:
                    raise _text_as_name(name, span_of(name, source))
                if name is not None and not isinstance(name, exp.Identifier | exp.Star):
                    raise UnsupportedError("this cannot be a name", span=span_of(name, source))


def _check_clauses(select: exp.Select, source: SourceText) -> None:
    """The parser takes clauses in any order, and no columns."""
    if not select.expressions:
        raise ParseError("SELECT needs a column", span=span_of(select, source), hint="name columns, or write *")
    if select.args.get("joins") and select.args.get("from_") is None:
        raise ParseError("JOIN needs a FROM before it", span=span_of(select.args["joins"][0], source))
    there = [clause for clause, value in select.args.items() if clause in _CLAUSES and value is not None]
    for first, second in pairwise(there):
        if _CLAUSES.index(first) > _CLAUSES.index(second):
            names = [_NAMES.get(clause, clause.upper()) for clause in (second, first)]
            raise ParseError(f"{names[0]} belongs before {names[1]}", span=span_of(select.args[second], source))


def _check_between(with_: exp.With, source: SourceText) -> None:
    """The parser takes WITH, RECURSIVE or AS before each query of a WITH, and Spark only a comma.

    It makes one WITH of two where the second is in parentheses.
    """
    for before, after in pairwise(span_of(cte, source) for cte in with_.expressions):
        if before is not None and after is not None and not _BETWEEN.search(source.text[before.end : after.start]):
            raise ParseError("queries of a WITH have a comma between them", span=after)


def _check_arguments(call: exp.Expr, source: SourceText) -> None:
    """The parser takes a query for an argument as it stands, and Spark only in parentheses."""
    for argument in call.iter_expressions():
        if isinstance(argument, exp.Select | exp.SetOperation) and argument is not call.args.get("query"):
            raise ParseError(
                "a query among arguments needs parentheses of its own",
                span=span_of(argument, source),
                hint="write f((SELECT ...))",
            )


def _check_name(name: exp.Identifier, source: SourceText) -> None:
    """The parser takes a text for a name, as other systems do, and in some places any word at all."""
    span = span_of(name, source)
    if not name.name:
        raise ParseError("a name cannot be empty", span=span)
    if span is not None and re.match(r"\w?['\"]", span.text):
        raise _text_as_name(name, span)
    if not name.args.get("quoted") and not re.fullmatch(r"[\w$]*[^\W\d][\w$]*", name.name):
        raise ParseError(f"{name.name!r} cannot be a name", span=span, hint=f"write `{name.name}`")


def _check_alias(name: exp.Identifier, source: SourceText) -> None:
    """Words of joins and the like are columns where they must be, but no tables."""
    if name.name.upper() in _NO_ALIAS and not name.args.get("quoted"):
        raise ParseError(
            f"{name.name!r} cannot be a name here", span=span_of(name, source), hint=f"write `{name.name}`"
        )


def _text_as_name(name: exp.Expr, span: Span | None) -> ParseError:
    text = span.text if span is not None else repr(name.name)
    return ParseError(f"{text} is a text, and no name", span=span, hint=f"write `{name.name}`")


def refuse_extras(lowering: Lowering, node: exp.Expr, *handled: str) -> None:
    """Refuse the first part of the node that is present and not among those handled."""
    _refuse(node, handled, lowering.source)


def _refuse(node: exp.Expr, read: frozenset[str] | tuple[str, ...], source: SourceText) -> None:
    for name, value in node.args.items():
        if name in read or value is None or value is False or value == []:
            continue
        inner = value[0] if isinstance(value, list) else value
        has_place = isinstance(inner, exp.Expr) and not isinstance(inner, exp.Hint)
        place = span_of(inner if has_place else node, source) or span_of(node, source)
        what = (
            "REPLACE WHERE"
            if isinstance(node, exp.Insert) and name == "where"
            else _NAMES.get(name, name.replace("_", " ").strip().upper())
        )
        raise UnsupportedError(f"{what} is not supported", span=place, hint=_HINTS.get(name))
