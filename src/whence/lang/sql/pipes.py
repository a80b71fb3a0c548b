"""`FROM t |> WHERE x > 1 |> SELECT y`: each operator is a query around what stands before it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import TokenType

# What a SELECT may have and still be only a list of tables with a condition.
_TABLES = {"expressions", "from_", "joins", "laterals", "where"}
_SETS = ("ROLLUP", "CUBE", "GROUPING")
# Each operator has one clause.
_TAILS = {TokenType.ORDER_BY, TokenType.LIMIT, TokenType.OFFSET, TokenType.SORT_BY, TokenType.WHERE}


class PipeParser(SparkParser):
    """Spark's operators after `|>`, and TABLE t, which is SELECT * FROM t."""

    SUPPORTS_TABLE_QUERY = True
    PIPES: ClassVar[dict[str, Callable[[PipeParser, exp.Expr], exp.Expr]]] = {
        "AGGREGATE": lambda self, query: self._piped_aggregate(query),
        "AS": lambda self, query: self._piped_alias(query),
        "DROP": lambda self, query: self._piped_drop(query),
        "EXTEND": lambda self, query: self._piped_extend(query),
        "LIMIT": lambda self, query: self._piped_limit(query),
        "OFFSET": lambda self, query: self._piped_limit(query),
        "ORDER BY": lambda self, query: self._piped_order(query),
        "PIVOT": lambda self, query: self._piped_pivot(query),
        "UNPIVOT": lambda self, query: self._piped_pivot(query),
        "SELECT": lambda self, query: self._piped_select(query),
        "SET": lambda self, query: self._piped_set(query),
        "WHERE": lambda self, query: self._piped_where(query),
    }

    def _parse_select(self, *args: Any, **options: Any) -> Any:
        """VALUES may be piped as well."""
        query = super()._parse_select(*args, **options)
        piped = options.get("consume_pipe", True) and self._match(TokenType.PIPE_GT, advance=False)
        return self._parse_pipe_syntax_query(query) if piped and isinstance(query, exp.Values) else query

    def _parse_pipe_syntax_query(self, query: Any) -> Any:
        while self._match(TokenType.PIPE_GT):
            word = self._curr.text.upper()
            parse = self.PIPES.get(word)
            query = parse(self, query) if parse is not None else self._piped_combination(query, word)
            if self._curr.token_type in _TAILS:
                self.raise_error("Expecting |>", self._curr)
        return query

    def _piped_combination(self, query: exp.Expr, word: str) -> exp.Expr:
        """UNION and the like, or a join."""
        operand = query if isinstance(query, exp.Query) and not _has_tail(query) else _around(query)
        made = self.parse_set_operation(this=operand)
        if made is not None:
            return made
        source = _around(query) if query.args.get("where") is not None else _tables(query)
        join = self._parse_join()
        if join is not None:
            return source.join(join, copy=False)
        self.raise_error(f"Expecting an operator after |>, and there is {word}", self._curr)
        return source

    def _piped_where(self, query: exp.Expr) -> exp.Expr:
        self._advance()
        condition = self._parse_disjunction()
        source = _tables(query)
        return source.where(condition, copy=False)

    def _piped_select(self, query: exp.Expr) -> exp.Expr:
        select = self._parse_select(consume_pipe=False)
        if not isinstance(select, exp.Select) or select.args.get("from_") is not None:
            self.raise_error("Invalid expression", self._prev)
        source = _tables(query)
        before = {part: source.args.get(part) for part in ("from_", "joins", "laterals", "where")}
        own = {part: value for part, value in select.args.items() if value or part not in before}
        # In the order in which the clauses are written.
        return exp.Select(**{"expressions": own.pop("expressions"), **before, **own})

    def _piped_extend(self, query: exp.Expr) -> exp.Expr:
        self._advance()
        source = _tables(query)
        source.set("expressions", [exp.Star(), *self._parse_csv(self._parse_expression)])
        return source

    def _piped_set(self, query: exp.Expr) -> exp.Expr:
        """One after the other: a value may use the columns that were set before."""
        self._advance()
        while True:
            name = self._parse_id_var()
            if name is None or not self._match(TokenType.EQ):
                self.raise_error("Expecting =", self._curr or self._prev)
            value = exp.Alias(this=self._parse_disjunction(), alias=name)
            query = _tables(query)
            query.set("expressions", [exp.Star(replace=[value])])
            if not self._match(TokenType.COMMA):
                return query

    def _piped_drop(self, query: exp.Expr) -> exp.Expr:
        self._advance()
        source = _tables(query)
        dropped = [exp.to_identifier(each.name, quoted=True) for each in self._parse_csv(self._parse_column)]
        source.set("expressions", [exp.Star(except_=dropped)])
        return source

    def _piped_alias(self, query: exp.Expr) -> exp.Expr:
        self._advance()
        alias = exp.TableAlias(this=self._parse_id_var())
        inner = query.this if isinstance(query, exp.Subquery) and query.is_wrapper else query
        return exp.select("*").from_(exp.Subquery(this=inner, alias=alias), copy=False)

    def _piped_order(self, query: exp.Expr) -> exp.Expr:
        source = _around(query)
        source.set("order", self._parse_order())
        return source

    def _piped_limit(self, query: exp.Expr) -> exp.Expr:
        """What was just put in order is cut off there, and not after another look at it."""
        is_ordered = isinstance(query, exp.Select) and query.args.get("order") is not None
        cut = any(query.args.get(part) is not None for part in ("limit", "offset"))
        if is_ordered and cut:
            self.raise_error("Expecting no second LIMIT or OFFSET of rows in order", self._curr)
        source = query if is_ordered else _around(query)
        limit, offset = self._parse_limit(), self._parse_offset()
        if limit is not None:
            source.set("limit", limit)
        if offset is not None:
            source.set("offset", offset)
        return source

    def _piped_pivot(self, query: exp.Expr) -> exp.Expr:
        source = _around(query)
        pivots = self._parse_pivots()
        if not pivots:
            self.raise_error("Invalid expression", self._curr)
        source.args["from_"].this.set("pivots", pivots)
        return source

    def _piped_aggregate(self, query: exp.Expr) -> exp.Expr:
        """The groups come first, and then what is computed of them."""
        self._advance()
        source = _tables(query)
        is_grouped = self._match(TokenType.GROUP_BY, advance=False)
        computed = [] if is_grouped else self._parse_csv(self._parse_expression)
        if any(each.find(exp.Anonymous, exp.Func) is None for each in computed):
            self.raise_error("Expecting an aggregate", self._prev)
        if not self._match(TokenType.GROUP_BY, advance=False):
            source.set("expressions", computed)
            return source
        self._advance()
        if self._curr.text.upper() in _SETS:
            self.raise_error("Expecting columns to group by", self._curr)
        keys = [self._input_column(query, key) for key in self._parse_csv(self._parse_expression)]
        source.set("expressions", [*keys, *computed])
        source.set("group", exp.Group(expressions=[key.unalias().copy() for key in keys]))
        return source

    def _input_column(self, query: exp.Expr, key: exp.Expr) -> exp.Expr:
        """A number is that of a column before the operator."""
        if not (isinstance(key, exp.Literal) and key.is_int):
            return key
        listed = query.expressions if isinstance(query, exp.Select) else []
        place = int(key.name)
        if any(each.is_star for each in listed) or not 1 <= place <= len(listed) or not listed[place - 1].output_name:
            self.raise_error("Expecting the name of a column", self._prev)
        return exp.column(exp.to_identifier(listed[place - 1].output_name, quoted=True))


def _tables(query: exp.Expr) -> exp.Select:
    """The query as SELECT * FROM something, to which more can be said."""
    has_more = not isinstance(query, exp.Select) or query.expressions != [exp.Star()]
    others = {part for part, value in query.args.items() if value} - _TABLES
    return _around(query) if has_more or others else query  # type: ignore[return-value]


def _around(query: exp.Expr) -> exp.Select:
    """A query around the query. Its columns can still be called by the name of the one table that it reads."""
    if isinstance(query, exp.Subquery) and not query.is_wrapper:
        return exp.select("*").from_(query, copy=False)
    if isinstance(query, exp.Values) and query.args.get("alias") is not None:
        return exp.select("*").from_(query, copy=False)
    inner = query.this if isinstance(query, exp.Subquery) else query
    from_ = query.args.get("from_") if isinstance(query, exp.Select) and not query.args.get("joins") else None
    name = from_.this.alias_or_name if from_ is not None else ""
    alias = exp.TableAlias(this=exp.to_identifier(name, quoted=True)) if name else None
    return exp.select("*").from_(exp.Subquery(this=inner, alias=alias), copy=False)


def _has_tail(query: exp.Expr) -> bool:
    return any(query.args.get(part) is not None for part in ("order", "limit", "offset"))
