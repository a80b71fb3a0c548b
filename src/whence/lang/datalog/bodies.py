"""From the syntax of a body to alternatives of literals: `;` written out, `!` pushed inwards."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import reduce

from lark import Token

from whence.errors import ParseError
from whence.functions.builtin import BUILTINS
from whence.lang.datalog import syntax
from whence.lang.datalog.functions import INTRINSICS, REFUSED
from whence.lang.datalog.literals import EXPANSION_LIMIT, Places, check_depth, deeper, is_quoted
from whence.lang.datalog.pieces import Alternatives, NegatedGroup, Piece, Pieces
from whence.lang.datalog.schema import Types
from whence.lang.datalog.syntax import Formula, Node
from whence.lang.datalog.terms import TermBuilder
from whence.model.rules import COMPARISONS, Atom, Comparison, Condition, Negation
from whence.model.span import Span
from whence.model.terms import Call, Term, Variable

# In SQL's logic as well: where one is unknown, so is the other.
_OPPOSITE = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


class Bodies:
    """Makes the body of one rule."""

    def __init__(
        self,
        places: Places,
        types: Types,
        relations: frozenset[str],
        taken: Callable[[str], bool],
        elsewhere: frozenset[str] = frozenset(),
    ) -> None:
        self._places = places
        self._relations = relations
        self._elsewhere = elsewhere
        self.terms = TermBuilder(places, types, self._inner, taken)

    def alternatives(self, formula: Formula, around: Node) -> Alternatives:
        return self._alternatives(formula, 0, self._places.span(around), grouped=False)

    def _inner(self, formula: Formula, nesting: int) -> Alternatives:
        """The body of an aggregate."""
        span = self._places.between(formula[0][0], formula[-1][-1])
        return self._alternatives(formula, nesting, span, grouped=False)

    def _alternatives(self, formula: Formula, nesting: int, span: Span, *, grouped: bool) -> Alternatives:
        found: list[Pieces] = []
        for conjunction in formula:
            lowered = (self._literal(node, nesting, grouped=grouped) for node in conjunction)
            found.extend(self._product(lowered, span))
            self._check_number(len(found), span)
        return tuple(found)

    def _product(self, factors: Iterable[Alternatives], span: Span) -> Alternatives:
        """One of each, in every combination."""
        products: list[list[Piece]] = [[]]
        for alternatives in factors:
            if len(alternatives) == 1:
                for pieces in products:
                    pieces.extend(alternatives[0])
            else:
                self._check_number(len(products) * len(alternatives), span)
                products = [[*left, *right] for left in products for right in alternatives]
        return tuple(tuple(pieces) for pieces in products)

    def _check_number(self, rules: int, span: Span) -> None:
        if rules > EXPANSION_LIMIT:
            raise ParseError(
                f"this stands for more than {EXPANSION_LIMIT} rules once its ';' are written out",
                span=span,
                hint="give each group in parentheses a relation of its own",
            )

    def _literal(self, node: Node, nesting: int, *, grouped: bool) -> Alternatives:
        match node:
            case syntax.GroupNode(formula=formula):
                span = self._places.span(node)
                return self._alternatives(formula, deeper(nesting, span), span, grouped=True)
            case syntax.NegationNode(mark=Token(type="BANG"), operand=operand):
                span = self._places.span(node)
                return self._negated(operand, deeper(nesting, span), span)
            case syntax.NegationNode(mark=mark, operand=syntax.CallNode() as call) if self._is_atom(call):
                raise ParseError(
                    "'not' negates conditions; a relation is negated with '!'",
                    span=self._places.span(mark),
                    hint=f"write !{call.name!s}(...)",
                )
            case syntax.Connected(parts=[_, Token() as word, *_]) if not grouped:
                raise ParseError(
                    f"conditions joined by '{word!s}' need parentheses around them",
                    span=self._places.span(word),
                    hint="or separate them by " + ("','" if word == "and" else "';'"),
                )
            case Token(type="NAME") if not grouped and str(node) in self._relations:
                raise ParseError(
                    f"{node!s} is a relation and needs its arguments",
                    span=self._places.span(node),
                    hint=f"write {node!s}(...)",
                )
        return (self._plain(node, nesting),)

    def _plain(self, node: Node, nesting: int) -> Pieces:
        """An atom, a comparison or a condition, after the aggregates in it."""
        literal: Piece
        span = self._places.span(node)
        match node:
            case syntax.CallNode() if self._is_atom(node):
                literal = self._atom(node, nesting)
            case syntax.ComparisonNode(left=syntax.CallNode() as left, right=syntax.CallNode() as right) if (
                str(left.name) == str(right.name) == "ord" and len(left.arguments) == len(right.arguments) == 1
            ):
                # Soufflé's order of values is its own; ours is that of the values.
                inner = replace(node, left=left.arguments[0], right=right.arguments[0])
                return self._plain(inner, nesting)
            case syntax.ComparisonNode(left=left, op=op, right=right):
                equated = self._equated_aggregate(node, nesting)
                if equated:
                    return equated
                sides = (self.terms.term(left, nesting), self.terms.term(right, nesting))
                literal = _compared(self.terms.comparing(op), sides, span)
            case _:
                literal = Condition(self.terms.truth(node, nesting), span=span)
        return (*self.terms.take_aggregates(), literal)

    def _equated_aggregate(self, node: syntax.ComparisonNode, nesting: int) -> Pieces:
        """`n = count : { ... }` needs no variable beside n."""
        for side, other in ((node.left, node.right), (node.right, node.left)):
            if node.op == "=" and isinstance(side, syntax.AggregateNode) and isinstance(other, Token):
                result = self.terms.fresh_variable(other) if other == "_" else self.terms.term(other, nesting)
                if isinstance(result, Variable):
                    self.terms.aggregate(side, result, nesting)
                    return self.terms.take_aggregates()
        return ()

    def _atom(self, node: syntax.CallNode, nesting: int) -> Atom:
        span = self._places.span(node)
        nesting = deeper(nesting, span)
        terms = tuple([self.terms.term(argument, nesting) for argument in node.arguments])
        return Atom(self._places.name(node.name), terms, span=span)

    def _is_atom(self, node: syntax.CallNode) -> bool:
        """Known relations come first, then functions; what is neither may be a relation of the database."""
        name = str(node.name)
        if name.startswith("$"):
            return False
        if is_quoted(node.name) or name in self._relations or name in self._elsewhere:
            return True
        return not any(name.lower() in functions for functions in (BUILTINS, INTRINSICS, REFUSED))

    def _negated(self, node: Node, nesting: int, span: Span) -> Alternatives:
        """Not the node; the span is that of the whole negation."""
        match node:
            case syntax.GroupNode(formula=[[only]]):
                return self._negated(only, deeper(nesting, span), span)
            case syntax.GroupNode(formula=formula):
                nesting = deeper(nesting, span)
                # Not (a or b) is not a, and not b.
                return self._product((self._negated_conjunction(each, nesting) for each in formula), span)
            case syntax.NegationNode(operand=operand):
                return self._literal(operand, deeper(nesting, span), grouped=True)
        (*aggregates, literal) = self._plain(node, nesting)
        match literal:
            case Atom():
                negated: Piece = Negation(literal, span=span)
            case Comparison(op=op, left=left, right=right):
                negated = Comparison(_OPPOSITE[op], left, right, span=span)
            case Condition(term=term):
                negated = Condition(_checked(Call("not", (term,), span=span)), span=span)
            case _:
                return ((NegatedGroup(((*aggregates, literal),), span),),)
        return ((*aggregates, negated),)

    def _negated_conjunction(self, conjunction: list[Node], nesting: int) -> Alternatives:
        if len(conjunction) == 1:
            return self._negated(conjunction[0], nesting, self._places.span(conjunction[0]))
        span = self._places.between(conjunction[0], conjunction[-1])
        alternatives = self._alternatives([conjunction], nesting, span, grouped=True)
        terms = [_as_term(piece) for pieces in alternatives for piece in pieces]
        conditions = [term for term in terms if term is not None]
        if len(alternatives) == 1 and len(conditions) == len(terms):
            whole = reduce(lambda left, right: Call("and", (left, right), span=span), conditions)
            return ((Condition(_checked(Call("not", (whole,), span=span)), span=span),),)
        return ((NegatedGroup(alternatives, span),),)


def _compared(op: str, sides: tuple[Term, Term], span: Span) -> Comparison | Condition:
    if op in COMPARISONS:
        return Comparison(op, *sides, span=span)
    return Condition(Call(op, sides, span=span), span=span)


def _as_term(piece: Piece) -> Term | None:
    """The truth of a literal as a term, where it does not depend on a relation."""
    match piece:
        case Comparison(op=op, left=left, right=right):
            return Call(op, (left, right), span=piece.span)
        case Condition(term=term):
            return term
    return None


def _checked(term: Term) -> Term:
    check_depth(term)
    return term
