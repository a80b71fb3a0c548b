"""From syntax to terms: constants, variables, calls, and conditions within parentheses."""

from __future__ import annotations

from collections.abc import Callable

from lark import Token

from whence.errors import ParseError, UnknownNameError, UnsupportedError, did_you_mean
from whence.lang.datalog import literals, syntax
from whence.lang.datalog.functions import ARITHMETIC, CONNECTIVES, Minus, Operator, arrange, intrinsic
from whence.lang.datalog.literals import Places, check_depth, deeper
from whence.lang.datalog.pieces import Alternatives, BodyAggregate, RangePiece
from whence.lang.datalog.records import BRACKETS, BRANCH, NIL
from whence.lang.datalog.schema import BUILT_IN, Types
from whence.lang.datalog.syntax import Formula, Node
from whence.model.lambdas import closed
from whence.model.span import Span
from whence.model.terms import (
    AGGREGATES,
    Aggregate,
    Call,
    Cast,
    Constant,
    Frame,
    Lambda,
    Skolem,
    SortKey,
    Term,
    Unnest,
    Variable,
    Wildcard,
    Window,
)
from whence.model.types import BOOLEAN, INT, NULL, STRING, MapType, RecordType, StructType, Type, Value
from whence.model.types.records import ONLY

_SIGNS = ("OPERATOR", "STAR", "MINUS", "NEGATIVE")
# Soufflé's names for whence's aggregates; the others are called the same.
_SYNONYMS = {"mean": "avg"}


class TermBuilder:
    """Makes the terms of one rule, and collects the aggregates that stand among them."""

    def __init__(
        self, places: Places, types: Types, inner: Callable[[Formula, int], Alternatives], taken: Callable[[str], bool]
    ) -> None:
        self._places = places
        self._types = types
        # How to lower the body of an aggregate, and whether a name is in use in this rule.
        self._inner = inner
        self._taken = taken
        self._fresh = 0
        self._aggregates: list[BodyAggregate | RangePiece] = []

    def take_aggregates(self) -> tuple[BodyAggregate | RangePiece, ...]:
        """The aggregates met since the last time."""
        taken, self._aggregates = self._aggregates, []
        return tuple(taken)

    def term(self, node: Node, nesting: int) -> Term:
        term = self._term(node, nesting)
        check_depth(term)
        return term

    def truth(self, node: Node, nesting: int) -> Term:
        """The node as a Boolean term."""
        term = self._truth(node, nesting)
        check_depth(term)
        return term

    def _term(self, node: Node, nesting: int) -> Term:
        match node:
            case Token():
                return self._leaf(node)
            case syntax.CallNode():
                return self._call(node, nesting)
            case syntax.ChainNode():
                return self._chain(node, nesting)
            case syntax.GroupNode():
                return self._group(node, nesting)
            case syntax.Registered(call=call):
                arguments = self._arguments(call.arguments, nesting, node)
                return closed(self._function(call.name), arguments, self._places.span(node))
            case syntax.SkolemNode(call=call):
                arguments = self._arguments(call.arguments, nesting, node)
                return Skolem(self._places.name(call.name), arguments, span=self._places.span(node))
            case syntax.Array(items=items):
                return Call(BRACKETS, self._arguments(items, nesting, node), span=self._places.span(node))
            case syntax.CastNode(operand=operand, type=type_name):
                inner = self._term(operand, deeper(nesting, self._places.span(node)))
                return Cast(inner, self._types.type(type_name), span=self._places.span(node))
            case syntax.TypedNode(word=word, text=text):
                if word.upper() == "DECIMAL":
                    return literals.typed_decimal(self._places.string(text), self._places.span(node))
                return literals.typed(BUILT_IN[word.upper()], self._places.string(text), self._places.span(node))
            case syntax.FunctionNode(parameters=parameters, body=body):
                inside = self._truth(body, deeper(nesting, self._places.span(node)))
                names = tuple(map(self._places.name, parameters))
                return Lambda(names, (), inside, span=self._places.span(node))
            case syntax.Ascribed():
                return self._ascribed(node, nesting)
            case syntax.HeadAggregateNode():
                return self._head_aggregate(node, nesting)
            case syntax.HeadWindowNode():
                return self._head_window(node, nesting)
            case syntax.HeadUnnestNode(outer=outer, call=syntax.CallNode(name=name, arguments=[array])):
                return Unnest(str(name), self._term(array, nesting), outer, span=self._places.span(node))
            case syntax.AggregateNode():
                return self.aggregate(node, self.fresh_variable(node), nesting)
        return self._truth(node, nesting)

    def _leaf(self, token: Token) -> Term:
        span = self._places.span(token)
        if token.startswith("$"):
            return Call(BRANCH + token[1:], (), span=span)
        if token.type == "NUMBER":
            return literals.integer(token, span)
        if token.type == "FLOAT":
            return literals.double(token, span)
        if token.type == "STRING":
            return Constant(self._places.string(token), STRING, span=span)
        name = self._places.name(token)
        if literals.is_quoted(token):
            return Variable(name, span=span)
        if name == "_":
            return Wildcard(span=span)
        match name if name == "NULL" else name.lower():
            case "true" | "false" as word:
                return Constant(word == "true", BOOLEAN, span=span)
            case "null":
                return Constant(None, NULL, span=span)
            case "nil":
                return Call(NIL, (), span=span)
        return Variable(name, span=span)

    def _arguments(self, nodes: list[Node], nesting: int, around: Node) -> tuple[Term, ...]:
        nesting = deeper(nesting, self._places.span(around))
        return tuple([self._term(node, nesting) for node in nodes])

    def _function(self, name: Token) -> str:
        """Functions are called in any case, unless the name is quoted."""
        text = self._places.name(name)
        return text if literals.is_quoted(name) else text.lower()

    def _call(self, node: syntax.CallNode, nesting: int) -> Term:
        arguments = self._arguments(node.arguments, nesting, node)
        span = self._places.span(node)
        if node.name.startswith("$"):
            return Call(BRANCH + node.name[1:], arguments, span=span)
        function = self._function(node.name)
        if literals.is_quoted(node.name):
            return Call(function, arguments, span=span)
        if function == "if":
            return _branches(arguments, span)
        if function == "range" and 2 <= len(arguments) <= 3:
            return self._range(arguments, node)
        if any(isinstance(each, Lambda) for each in arguments):
            return closed(function, arguments, span)
        return intrinsic(function, arguments, span) or Call(function, arguments, span=span)

    def _range(self, arguments: tuple[Term, ...], node: syntax.CallNode) -> Variable:
        """Keeps the range for later, as an aggregate; the rule sees the variable that holds its values."""
        span = self._places.span(node)
        start, end, *step = arguments
        one, back = (Constant(value, INT, span=span) for value in (1, -1))
        each = step[0] if step else Call("if", (Call("<=", (start, end), span=span), one, back), span=span)
        result = self.fresh_variable(node)
        self._aggregates.append(RangePiece(result, start, end, each, span))
        return result

    def _chain(self, node: syntax.ChainNode, nesting: int) -> Term:
        arranged: list[Term | Operator | Minus] = []
        signs: list[Token] = []
        for index, part in enumerate(node.parts):
            if isinstance(part, Token) and part.type in _SIGNS:
                if arranged and not signs and not isinstance(arranged[-1], Operator):
                    arranged.append(ARITHMETIC[part])
                else:
                    signs.append(part)
                continue
            # The minus of a literal belongs to it, as in -2147483648, but -2 ^ 2 is -(2 ^ 2).
            literal = isinstance(part, Token) and part.type in ("NUMBER", "FLOAT")
            minus = bool(signs) and signs[-1] == "-"
            folded = signs.pop() if minus and literal and node.parts[index + 1 : index + 2] != ["^"] else None
            arranged.extend(Minus(self._places.span(sign), str(sign)) for sign in signs)
            signs.clear()
            arranged.append(self._term(part, nesting) if folded is None else self._negative(folded, part))
        return arrange(arranged)

    def _negative(self, sign: Token, number: Node) -> Term:
        assert isinstance(number, Token)
        read = literals.integer if number.type == "NUMBER" else literals.double
        return read(number, self._places.between(sign, number), negative=True)

    def _group(self, node: syntax.GroupNode, nesting: int) -> Term:
        nesting = deeper(nesting, self._places.span(node))
        if len(node.formula) > 1 or len(node.formula[0]) > 1:
            second = node.formula[1][0] if len(node.formula) > 1 else node.formula[0][1]
            sign, word = (";", "or") if len(node.formula) > 1 else (",", "and")
            raise ParseError(
                f"a value cannot have {sign!r} in its parentheses",
                span=self._places.span(second),
                hint=f"between conditions write the word {word!r}",
            )
        return self._truth(node.formula[0][0], nesting)

    def _truth(self, node: Node, nesting: int) -> Term:
        span = self._places.span(node)
        match node:
            case syntax.Connected(parts=parts):
                arranged: list[Term | Operator | Minus] = [
                    CONNECTIVES[part]
                    if isinstance(part, Token) and part.type in ("AND", "OR")
                    else self._truth(part, nesting)
                    for part in parts
                ]
                return arrange(arranged)
            case syntax.NegationNode(operand=operand):
                return Call("not", (self._truth(operand, deeper(nesting, span)),), span=span)
            case syntax.ComparisonNode(left=left, op=op, right=right):
                sides = (self._term(left, nesting), self._term(right, nesting))
                return Call(self.comparing(op), sides, span=span)
        return self._term(node, nesting)

    def comparing(self, op: Token) -> str:
        if op == "==":
            raise ParseError(
                "'==' is no comparison", span=self._places.span(op), hint="equality is written with one '='"
            )
        return str(op)

    def _ascribed(self, node: syntax.Ascribed, nesting: int) -> Constant:
        target, span = self._types.type(node.type), self._places.span(node)
        constant = self._typed_constant(node.operand, target, nesting)
        if constant is None:
            raise ParseError(
                f"'::' gives a constant its type, and this is no constant that fits {target}",
                span=span,
                hint=f"to convert a value write as(..., {target})",
            )
        return Constant(constant.value, target, span=span)

    def _typed_constant(self, node: Node, target: Type, nesting: int) -> Constant | None:
        if isinstance(target, RecordType):
            return self._record_constant(node, target, nesting)
        if isinstance(node, syntax.Array) and isinstance(target, MapType):
            entries = self._typed_constant(node, target.entries, nesting)
            return None if entries is None else Constant(entries.value, target)
        if isinstance(node, syntax.Array):
            kinds = target.inner if isinstance(target, StructType) else target.inner * len(node.items)
            if not target.inner or len(kinds) != len(node.items):
                return None
            inner = deeper(nesting, self._places.span(node))
            items = [self._typed_constant(item, kind, inner) for item, kind in zip(node.items, kinds, strict=True)]
            values: tuple[Value, ...] = tuple(item.value for item in items if item is not None)
            return Constant(values, target) if len(values) == len(items) else None
        term = self._term(node, nesting)
        return literals.ascribed(term, target) if isinstance(term, Constant) else None

    def _record_constant(self, node: Node, target: RecordType, nesting: int) -> Constant | None:
        branch, items = ONLY, list[Node]()
        match node:
            case Token() if node in ("nil", "null"):
                return Constant(target.nil if node == "nil" and target.has_nil else None, target)
            case Token() | syntax.CallNode(name=Token()):
                name = node if isinstance(node, Token) else node.name
                branch, items = name[1:], [] if isinstance(node, Token) else node.arguments
            case syntax.Array():
                items = node.items
        fields = target.branches.get(branch, ())
        if len(fields) != len(items) or (target.has_nil and not items):
            return None
        inner = deeper(nesting, self._places.span(node))
        found = [self._typed_constant(item, kind, inner) for item, (_, kind) in zip(items, fields, strict=True)]
        values = [each.value for each in found if each is not None and each.value is not None]
        own: list[Value] = [branch] if branch else []
        return Constant(target.make((*own, *values)), target) if len(values) == len(items) else None

    def _head_aggregate(self, node: syntax.HeadAggregateNode, nesting: int) -> Aggregate:
        function = self._aggregate_function(node.function)
        span = self._places.span(node)
        if node.argument is None:
            if function != "count":
                raise ParseError(f"{function} needs something to work on", span=span, hint="only count<*> takes a '*'")
            return Aggregate(function, None, span=span)
        return Aggregate(function, self._term(node.argument, deeper(nesting, span)), node.distinct, span=span)

    def _head_window(self, node: syntax.HeadWindowNode, nesting: int) -> Window:
        span = self._places.span(node)
        nesting = deeper(nesting, span)
        order = []
        for key in node.order:
            words = " ".join(str(word) for word in key.words)
            descending = words.startswith("desc")
            nulls_last = words.endswith("last") or (descending and not words.endswith("first"))
            order.append(SortKey(self._term(key.term, nesting), descending, nulls_last))
        frame: Frame | None = None
        within: tuple[int, int | None] | None = None
        for part in node.parts:
            start, end = (self._bound(each, nesting) for each in (part.start_bound, part.end_bound))
            if str(part.word) != "within":
                frame = Frame(str(part.word), start, end)
            else:
                first, last = (None if b is None or type(b.value) is not int else b.value for b in (start, end))
                within = (first or 1, last)
        return Window(
            self._function(node.call.name),
            tuple(self._term(each, nesting) for each in node.call.arguments),
            tuple(self._term(each, nesting) for each in node.partition),
            tuple(order),
            frame,
            within,
            span=span,
        )

    def _bound(self, node: Node | None, nesting: int) -> Constant | None:
        if node is None:
            return None
        bound = self._term(node, nesting)
        if isinstance(bound, Constant):
            return bound
        raise ParseError("a window begins and ends at a number, or at *", span=self._places.span(node))

    def _aggregate_function(self, name: Token) -> str:
        function = self._function(name)
        function = _SYNONYMS.get(function, function)
        if function not in AGGREGATES:
            hint = did_you_mean(function, AGGREGATES) or f"the aggregates are {', '.join(AGGREGATES)}"
            raise UnknownNameError(f"there is no aggregate {name!s}", span=self._places.span(name), hint=hint)
        return function

    def aggregate(self, node: syntax.AggregateNode, result: Variable, nesting: int) -> Variable:
        """Keeps the aggregate for later; the rule sees the variable that holds its result."""
        function, span = self._aggregate_function(node.function), self._places.span(node)
        nesting = deeper(nesting, span)
        if function == "count" and node.argument is not None:
            raise ParseError(
                "count : { ... } counts rows and takes no argument",
                span=self._places.span(node.argument),
                hint="count<distinct x> in a rule's head counts values",
            )
        if function != "count" and node.argument is None:
            raise ParseError(
                f"{node.function} needs something to work on",
                span=self._places.span(node.function),
                hint=f"like {node.function} x : {{ ... }}",
            )
        outside = self.take_aggregates()
        argument = None if node.argument is None else self.term(node.argument, nesting)
        if self._aggregates:
            raise UnsupportedError("an aggregate in the argument of an aggregate", span=self._aggregates[0].span)
        alternatives = self._inner(node.body, nesting)
        self._aggregates = [*outside, BodyAggregate(result, function, argument, alternatives, span)]
        return result

    def fresh_variable(self, node: Node) -> Variable:
        name = None
        while name is None or self._taken(name):
            self._fresh += 1
            name = f"agg${self._fresh}"
        return Variable(name, span=self._places.span(node))


def _branches(arguments: tuple[Term, ...], span: Span) -> Call:
    """`if(a, x, b, y, z)`: if a then x, else if b then y, else z."""
    while len(arguments) > 3 and len(arguments) % 2 == 1:
        arguments = (*arguments[:-3], Call("if", arguments[-3:], span=span))
    return Call("if", arguments, span=span)
