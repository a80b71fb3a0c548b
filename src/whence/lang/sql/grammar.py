"""The grammar: Spark SQL as sqlglot reads it, with operators and names as Spark itself reads them."""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.generators.spark import SparkGenerator
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from whence.deadline import check
from whence.lang.sql.pipes import PipeParser
from whence.lang.sql.positions import note_last_word

# Calls that are not just a list of arguments: CAST(x AS INT), EXTRACT(YEAR FROM d).
_OWN_SYNTAX = frozenset("CAST TRY_CAST CEIL FLOOR EXTRACT OVERLAY POSITION SUBSTR SUBSTRING TRIM".split())

Made = TypeVar("Made", bound=exp.Expr)
# What the parser says of a dot, and what does not follow NOT.
_DOT = "Required keyword"
_NOT_AFTER_NOT = {TokenType.IS, TokenType.NULL}
# What sqlglot knows as words of other systems.
_NO_KEYWORDS = ("ISNULL", "NOTNULL")
# Words that begin a statement, or stand in one that is no query, and are names in a query.
_NAMES = {
    TokenType.ALTER,
    TokenType.DROP,
    TokenType.GRANT,
    TokenType.INSERT,
    TokenType.REVOKE,
    TokenType.ROLLBACK,
    TokenType.SERDE_PROPERTIES,
    TokenType.UNCACHE,
}


_BIT_OPERATORS = (TokenType.PIPE, TokenType.CARET, TokenType.AMP)
_PARAMETER = "whence_parameter"


def place_of_parameter(node: exp.Expr) -> int:
    place: int = node.meta.get(_PARAMETER, 0)
    return place


class Plus(exp.Unary):
    """A plus sign before a value."""


class OperatorParser(PipeParser):
    """Spark's operators as Spark binds them, and its names.

    It stops at the caller's deadline: some texts make it try a place again and again.
    """

    # || binds as + and - do, and comparisons bind alike, all from the left.
    TERM: ClassVar[dict[Any, Any]] = {**SparkParser.TERM, TokenType.DPIPE: exp.DPipe}
    COMPARISON: ClassVar[dict[Any, Any]] = {**SparkParser.COMPARISON, **SparkParser.EQUALITY}
    ID_VAR_TOKENS: ClassVar[set[Any]] = SparkParser.ID_VAR_TOKENS | _NAMES
    ALIAS_TOKENS: ClassVar[set[Any]] = SparkParser.ALIAS_TOKENS | _NAMES
    TABLE_ALIAS_TOKENS: ClassVar[set[Any]] = SparkParser.TABLE_ALIAS_TOKENS | _NAMES

    def _parse_primary(self) -> exp.Expr | None:
        is_text = self._curr.token_type is TokenType.STRING and self._next.token_type is TokenType.STRING
        return self._parse_texts() if is_text else super()._parse_primary()

    def _parse_texts(self) -> exp.Expr:
        """'a' 'b' is one text, and 'it''s' has a quote in it."""
        text, first = self._curr.text, self._curr
        self._advance()
        while self._curr.token_type is TokenType.STRING:
            quote = self.sql[self._prev.end]
            if self._curr.start == self._prev.end + 1 and self.sql[self._curr.start] == quote:
                text += quote
            text += self._curr.text
            self._advance()
        return self.expression(exp.Literal.string(text), first)

    def _parse_placeholder(self) -> exp.Expr | None:
        """A parameter knows its place in the text."""
        node = super()._parse_placeholder()
        if node is not None:
            node.meta[_PARAMETER] = self._prev.start
        return node

    def _parse_bitwise(self) -> exp.Expr | None:
        """A value, comparisons included: what stands on either side of BETWEEN, LIKE and the like."""
        this = self._parse_bits()
        while self._match_set(self.COMPARISON):
            kind, comments = self.COMPARISON[self._prev.token_type], self._prev_comments
            this = self._build_predicate(kind, this, self._parse_bits(), comments=comments)
        return this

    def _parse_bits(self, level: int = 0) -> exp.Expr | None:
        """| binds less than ^, ^ less than &, and & less than the shifts."""
        if level == len(_BIT_OPERATORS):
            return self._parse_shift()
        this = self._parse_bits(level + 1)
        while self._match(_BIT_OPERATORS[level]):
            kind = self.BITWISE[_BIT_OPERATORS[level]]
            this = self.expression(kind(this=this, expression=self._parse_bits(level + 1)))
        return this

    def _parse_shift(self) -> exp.Expr | None:
        this = self._parse_term()
        while True:
            together = self._curr.end + 1 == self._next.start
            if together and self._match_pair(TokenType.LT, TokenType.LT):
                this = self.expression(exp.BitwiseLeftShift(this=this, expression=self._parse_term()))
            elif together and self._match_pair(TokenType.GT, TokenType.GT):
                this = self.expression(exp.BitwiseRightShift(this=this, expression=self._parse_term()))
            else:
                return this

    def _parse_equality(self, parse_is: bool = True) -> exp.Expr | None:
        """A value and at most one of BETWEEN, IN, LIKE, IS after it."""
        value = self._parse_bitwise()
        if not parse_is or value is None:
            return value
        whole = self._parse_range(value, parse_is=True)
        predicates, part = 0, whole
        while part is not None and part is not value:
            predicates += not isinstance(part, exp.Not | exp.Escape | exp.Paren)
            part = part.this
        if predicates > 1:
            self.raise_error("Invalid expression", self._prev)
        if predicates and self._match_set(self.COMPARISON):
            self.raise_error("Invalid expression", self._prev)
        return whole

    def _advance(self, times: int = 1) -> None:
        check()
        super()._advance(times)


class ZonelessSpark(Spark):
    """Spark SQL in which TIMESTAMP has no zone, so that it can be told from the types that have one."""

    class Tokenizer(Spark.Tokenizer):
        KEYWORDS: ClassVar[dict[str, Any]] = {
            **{word: kind for word, kind in Spark.Tokenizer.KEYWORDS.items() if word not in _NO_KEYWORDS},
            "TIMESTAMP": TokenType.TIMESTAMP,
        }

    class Generator(SparkGenerator):
        TYPE_MAPPING: ClassVar[dict[Any, str]] = {
            **SparkGenerator.TYPE_MAPPING,
            exp.DataType.Type.TIMESTAMP: "TIMESTAMP",
            exp.DataType.Type.TIMESTAMPTZ: "TIMESTAMP WITH TIME ZONE",
        }
        TRANSFORMS: ClassVar[dict[Any, Any]] = {
            **SparkGenerator.TRANSFORMS,
            Plus: lambda self, plus: f"+{self.sql(plus, 'this')}",
        }


class SparkSql(ZonelessSpark):
    """Spark SQL with functions left by the name that the user typed, and CAST as strict as Spark 4's."""

    class Parser(OperatorParser):
        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
            name: parser for name, parser in SparkParser.FUNCTION_PARSERS.items() if name in _OWN_SYNTAX
        }
        NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
            name: parser for name, parser in SparkParser.NO_PAREN_FUNCTION_PARSERS.items() if name != "TRANSFORM"
        }
        STRICT_CAST = True
        UNARY_PARSERS: ClassVar[dict[Any, Any]] = {
            **SparkParser.UNARY_PARSERS,
            TokenType.PLUS: lambda self: self.expression(Plus(this=self._parse_unary())),
        }

        def _parse_table_parts(self, *args: Any, **options: Any) -> Any:
            """A name begins with no dot, and no star follows it."""
            if self._curr.token_type is TokenType.DOT:
                self.raise_error(_DOT, self._curr)
            made = super()._parse_table_parts(*args, **options)
            if self._curr.token_type is TokenType.STAR:
                self.raise_error("Invalid expression", self._curr)
            return made

        def _parse_key_value_property(self, *args: Any, **options: Any) -> Any:
            """A name in a property ends with no dot, and is not empty."""
            first = self._index
            try:
                return super()._parse_key_value_property(*args, **options)
            except ValueError:
                read = self._tokens[first : self._index]
                self.raise_error(_DOT, next((each for each in read if each.token_type is TokenType.DOT), self._prev))

        def _parse_primary(self) -> exp.Expr | None:
            """.5 is a number, and neither . 5 nor .5.5 is."""
            dot, digits = self._curr, self._next
            is_number = dot.token_type is TokenType.DOT and digits.token_type is TokenType.NUMBER
            if is_number and (dot.end + 1 < digits.start or "." in digits.text):
                self.raise_error(_DOT, dot)
            return super()._parse_primary()

        def _parse_range(self, this: exp.Expr | None = None, parse_is: bool = False) -> exp.Expr | None:
            """NOT stands before IN, LIKE and the like, but within IS NOT NULL."""
            this = this or self._parse_bitwise()
            is_before = self._curr.token_type is TokenType.NOT and self._next.token_type in _NOT_AFTER_NOT
            if is_before:
                self.raise_error("Invalid expression", self._curr)
            return super()._parse_range(this, parse_is)

        def _parse_between(self, this: exp.Expr | None) -> exp.Between:
            """AND may not be missing."""
            low = self._parse_bitwise()
            if not self._match(TokenType.AND):
                self.raise_error("Expecting AND", self._curr or self._prev)
            return self.expression(exp.Between(this=this, low=low, high=self._parse_bitwise()))

        def _parse_update_assignment(self) -> exp.Expr | None:
            """In SET the first = assigns; all that follows is the value."""
            column = self._parse_column()
            if not self._match(TokenType.EQ):
                self.raise_error("Expecting =", self._curr or self._prev)
            return self.expression(exp.EQ(this=column, expression=self._parse_disjunction()))

        def _parse_when_matched(self) -> exp.Whens:
            """What a MERGE does, with all words that Spark asks for."""
            whens = []
            while self._match(TokenType.WHEN):
                is_matched = not self._match(TokenType.NOT)
                self._expect("MATCHED")
                by_source = False
                if not is_matched and self._match_text_seq("BY") and not self._match_text_seq("TARGET"):
                    self._expect("SOURCE")
                    by_source = True
                condition = self._parse_disjunction() if self._match(TokenType.AND) else None
                self._expect("THEN")
                then = self._parse_merge_action()
                when = exp.When(matched=is_matched, source=by_source, condition=condition, then=then)
                whens.append(self.expression(when))
            if not whens:
                self.raise_error("Expecting WHEN", self._curr or self._prev)
            return self.expression(exp.Whens(expressions=whens))

        def _parse_merge_action(self) -> exp.Expr:
            if self._match(TokenType.DELETE):
                return self.expression(exp.Var(this="DELETE"))
            if self._match(TokenType.UPDATE):
                self._expect("SET")
                is_star = self._match(TokenType.STAR)
                star: list[exp.Expr] = [self.expression(exp.Star())] if is_star else []
                return self.expression(exp.Update(expressions=star or self._parse_csv(self._parse_update_assignment)))
            self._expect("INSERT")
            if self._match(TokenType.STAR):
                return self.expression(exp.Insert(this=self.expression(exp.Star())))
            columns = exp.Tuple(expressions=self._parse_wrapped_csv(self._parse_column))
            self._expect("VALUES")
            values = exp.Tuple(expressions=self._parse_wrapped_csv(self._parse_disjunction))
            return self.expression(exp.Insert(this=columns, expression=values))

        def _expect(self, word: str) -> None:
            if not self._match_text_seq(word):
                self.raise_error(f"Expecting {word}", self._curr or self._prev)

        def _parse_as_command(self, start: Token) -> exp.Command:
            """What is left of a CREATE TABLE or VIEW is an error with a place, and no command of some other system."""
            words = self._tokens[: self._index]
            if any(word.token_type in (TokenType.TABLE, TokenType.VIEW) for word in words):
                self.raise_error("Invalid expression / Unexpected token", self._curr or self._prev)
            return super()._parse_as_command(start)

        def expression(self, instance: Made, token: Token | None = None, comments: list[str] | None = None) -> Made:
            made = super().expression(instance, token, comments)
            # DISTINCT is no part of the list that a SELECT is shown by.
            if "start" not in made.meta and not isinstance(made, exp.Distinct):
                note_last_word(made, self._prev.start, self._prev.end + 1)
            return made


DIALECT = SparkSql()
