"""From the grammar's matches to syntax nodes: one method per grammar rule, named like it."""

from __future__ import annotations

from typing import Any

from lark import Token, Transformer

from whence.lang.datalog import syntax
from whence.lang.datalog.syntax import Formula, Node, first, last


class RefusedError(Exception):
    """A word of Soufflé's that whence knows and does not have."""

    def __init__(self, token: Token) -> None:
        super().__init__(str(token))
        self.token = token


class Builder(Transformer[Token, Any]):
    """Called by the parser while it reads; what a method gets are the parts of its rule, punctuation left out."""

    def start(self, statements: list[syntax.Statement]) -> list[syntax.Statement]:
        return statements

    def clause(self, parts: list[Any]) -> syntax.Clause:
        heads, body, dot = parts
        return syntax.Clause(heads, body, heads[0].start, last(dot))

    def heads(self, heads: list[syntax.Head]) -> list[syntax.Head]:
        return heads

    def head(self, parts: list[Any]) -> syntax.Head:
        minus, name, arguments, close = parts
        return syntax.Head(1 if minus is None else -1, name, arguments or [], first(minus or name), last(close))

    def head_arguments(self, arguments: list[Node]) -> list[Node]:
        return arguments

    def head_aggregate(self, parts: list[Any]) -> syntax.HeadAggregate:
        function, *distinct, argument, close = parts
        counts_all = isinstance(argument, Token) and argument.type == "STAR"
        return syntax.HeadAggregate(
            function, any(distinct), None if counts_all else argument, first(function), last(close)
        )

    def formula(self, alternatives: Formula) -> Formula:
        return alternatives

    def conjunction(self, literals: list[Node]) -> list[Node]:
        return literals

    def connected(self, parts: list[Node]) -> syntax.Connected:
        return syntax.Connected(parts, first(parts[0]), last(parts[-1]))

    def comparison(self, parts: list[Any]) -> syntax.Comparison:
        left, op, right = parts
        return syntax.Comparison(left, op, right, first(left), last(right))

    def negation(self, parts: list[Any]) -> syntax.Negation:
        mark, operand = parts
        return syntax.Negation(mark, operand, first(mark), last(operand))

    def aggregate(self, parts: list[Any]) -> syntax.Aggregate:
        function, argument, *body = parts
        return syntax.Aggregate(function, argument, _braced(body), first(function), last(body[-1]))

    def called_aggregate(self, parts: list[Any]) -> syntax.Aggregate:
        """`sum(x) : { ... }`, where the parentheses belong to the argument."""
        called, *body = parts
        operand, *rest = called.parts if isinstance(called, syntax.Chain) else [called]
        if not isinstance(operand, syntax.Call) or len(operand.arguments) != 1:
            raise RefusedError(Token("AGGREGATED", "", first(called), end_pos=last(called)))
        inner = syntax.Group([operand.arguments], last(operand.name), operand.end)
        argument: Node = syntax.Chain([inner, *rest], inner.start, last(called)) if rest else inner
        return syntax.Aggregate(operand.name, argument, _braced(body), operand.start, last(body[-1]))

    def chain(self, parts: list[Node]) -> syntax.Chain:
        return syntax.Chain(parts, first(parts[0]), last(parts[-1]))

    def call(self, parts: list[Any]) -> syntax.Call:
        name, arguments, close = parts
        return syntax.Call(name, arguments or [], name.start_pos, close.end_pos)

    def arguments(self, arguments: list[Node]) -> list[Node]:
        return arguments

    def registered(self, parts: list[Any]) -> syntax.Registered:
        mark, call = parts
        return syntax.Registered(call, first(mark), call.end)

    def skolem(self, parts: list[Any]) -> syntax.Skolem:
        mark, call = parts
        return syntax.Skolem(call, first(mark), call.end)

    def cast(self, parts: list[Any]) -> syntax.Cast:
        word, operand, type_name, close = parts
        return syntax.Cast(operand, type_name, first(word), last(close))

    def array(self, parts: list[Any]) -> syntax.Array:
        opening, items, close = parts
        return syntax.Array(items or [], first(opening), last(close))

    def group(self, parts: list[Any]) -> syntax.Group:
        opening, formula, close = parts
        return syntax.Group(formula, first(opening), last(close))

    def typed(self, parts: list[Any]) -> syntax.Typed:
        word, text = parts
        return syntax.Typed(word, text, first(word), last(text))

    def ascribed(self, parts: list[Any]) -> syntax.Ascribed:
        operand, type_name = parts
        return syntax.Ascribed(operand, type_name, first(operand), type_name.end)

    def declaration(self, parts: list[Any]) -> syntax.Declaration:
        word, names, columns, close, *qualifiers = parts
        nodes = [syntax.Qualifier(q, [], first(q), last(q)) if isinstance(q, Token) else q for q in qualifiers]
        return syntax.Declaration(names, columns or [], nodes, first(word), nodes[-1].end if nodes else last(close))

    def names(self, names: list[Token]) -> list[Token]:
        return names

    def columns(self, columns: list[syntax.Column]) -> list[syntax.Column]:
        return columns

    def column(self, parts: list[Any]) -> syntax.Column:
        name, type_name, nullable = parts
        return syntax.Column(name, type_name, nullable is not None, first(name), last(nullable or type_name))

    def qualifier(self, parts: list[Any]) -> syntax.Qualifier:
        word, *arguments, close = parts
        return syntax.Qualifier(word, [a for a in arguments if a is not None], first(word), last(close))

    def alias(self, parts: list[Any]) -> syntax.Alias:
        word, name, _, *members = parts
        return syntax.Alias(name, members, first(word), last(members[-1]))

    def type(self, parts: list[Token]) -> syntax.TypeName:
        return syntax.TypeName(parts[0], [], None, first(parts[0]), last(parts[0]))

    def decimal_type(self, parts: list[Any]) -> syntax.TypeName:
        name, precision, scale, close = parts
        numbers = [precision] if scale is None else [precision, scale]
        return syntax.TypeName(name, numbers, None, first(name), last(close))

    def array_type(self, parts: list[Any]) -> syntax.TypeName:
        name, element, close = parts
        return syntax.TypeName(name, [], element, first(name), last(close))

    def directive(self, parts: list[Any]) -> syntax.Directive:
        word, *targets = parts
        return syntax.Directive(word, targets, first(word), last(targets[-1]))

    def target(self, parts: list[Any]) -> syntax.Target:
        name, parameters, close = parts
        return syntax.Target(name, parameters or [], first(name), last(close or name))

    def parameters(self, parameters: list[tuple[Token, Token]]) -> list[tuple[Token, Token]]:
        return parameters

    def parameter(self, parts: list[Token]) -> tuple[Token, Token]:
        return parts[0], parts[-1]

    # Methods named like terminals are called as soon as the word is read, whatever may follow it.

    def OTHER_DIRECTIVE(self, token: Token) -> Token:  # noqa: N802
        raise RefusedError(token)

    def OTHER_QUALIFIER(self, token: Token) -> Token:  # noqa: N802
        raise RefusedError(token)


def _braced(body: list[Any]) -> Formula:
    """The body of an aggregate: a formula and its brace, or an atom on its own."""
    return [[body[0]]] if len(body) == 1 else body[0]
