"""XPath text to syntax. What is outside of the subset is refused by its name, at its place."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn

from whence.documents.xpath.syntax import ANY_NAME, And, Axis, Comparison, Expression, Kind, Or, PathExpression, Step
from whence.errors import ParseError, UnsupportedError
from whence.model.span import SourceText, Span

_TOKEN = re.compile(
    r"""(?P<space>\s+)
    | (?P<text>"[^"]*"|'[^']*')
    | (?P<number>\d+(?:\.\d*)?|\.\d+)
    | (?P<sign>//|::|\.\.|!=|<=|>=|[/\[\]()@.*=<>|,+$-])
    | (?P<name>[^\W\d][\w.-]*(?::[^\W\d][\w.-]*)?)""",
    re.VERBOSE,
)
_COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
_TURNED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_NOT_MONOTONE = "what holds now could cease to hold when more arrives, so there would be no verdict"
_FUNCTIONS = {
    "not": _NOT_MONOTONE,
    "count": _NOT_MONOTONE,
    "last": "the order of nodes does not count while they arrive",
    "position": "the order of nodes does not count while they arrive",
}
_AXES = {"child": "child", "descendant": "descendant", "attribute": "child"}
# More within each other are a mistake or an attack.
MOST_NESTED = 50


@dataclass(frozen=True, slots=True)
class Token:
    """`kind` is "text", "number", "sign", "name", or "end" after the last."""

    kind: str
    word: str
    span: Span


def tokens(source: SourceText) -> list[Token]:
    text, at = source.text, 0
    found: list[Token] = []
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            quote = text[at] in "\"'"
            raise ParseError(
                "a text has no end" if quote else f"{text[at]!r} means nothing in XPath",
                span=Span(source, at, at + 1),
                hint="close it with the same quote" if quote else None,
            )
        kind = str(match.lastgroup)
        if kind != "space":
            found.append(Token(kind, match[0], Span(source, at, match.end())))
        at = match.end()
    found.append(Token("end", "", Span(source, len(text), len(text))))
    return found


def parse_query(text: str, name: str = "<xpath>") -> PathExpression:
    """A whole query: a path from the root."""
    parser = _Parser(SourceText(name, text))
    found = parser.path()
    parser.end()
    if not found.absolute:
        raise ParseError(
            "a query is a path from the root", span=found.span, hint=f"begin with / or //: /{text.strip()}"
        )
    if not found.steps:
        raise ParseError("the query names no node", span=found.span, hint="write /order or //order")
    return found


def parse_relative(text: str, name: str = "<column>") -> PathExpression:
    """A path from a node that is known: a column of a result."""
    parser = _Parser(SourceText(name, text))
    found = parser.path()
    parser.end()
    if found.absolute or found.document is not None:
        raise ParseError("a column is a path from the answer", span=found.span, hint="leave the first / out")
    return found


def parse_condition(text: str, name: str = "<where>") -> Expression:
    """Comparisons of columns, which stand there by their names."""
    parser = _Parser(SourceText(name, text))
    found = parser.expression()
    parser.end()
    return found


class _Parser:
    def __init__(self, source: SourceText) -> None:
        self._tokens = tokens(source)
        self._at = 0
        self._depth = 0

    @property
    def _here(self) -> Token:
        return self._tokens[self._at]

    @property
    def _after(self) -> str:
        return self._tokens[min(self._at + 1, len(self._tokens) - 1)].word

    def _take(self, *words: str) -> Token | None:
        if self._here.kind in ("sign", "name") and self._here.word in words:
            self._at += 1
            return self._tokens[self._at - 1]
        return None

    def _expect(self, word: str, why: str) -> Token:
        found = self._take(word)
        if found is None:
            self._wrong(f"{why}, and {self._shown()} stands here")
        return found

    def _shown(self) -> str:
        return "the end" if self._here.kind == "end" else repr(self._here.word)

    def _wrong(self, message: str, hint: str | None = None) -> NoReturn:
        raise ParseError(message, span=self._here.span, hint=hint)

    def _refuse(self, what: str, reason: str, span: Span | None = None) -> NoReturn:
        raise UnsupportedError(f"{what} is not part of queries here", span=span or self._here.span, hint=reason)

    def _spanned(self, start: Span) -> Span:
        return Span(start.source, start.start, max(start.end, self._tokens[max(self._at - 1, 0)].span.end))

    def end(self) -> None:
        if self._here.word == "|":
            self._refuse("a union with |", "ask two queries, or say `or` in a predicate")
        if self._here.kind != "end":
            self._wrong(f"the query should end here, and {self._shown()} follows")

    def path(self) -> PathExpression:
        start = self._here.span
        document = None
        if self._here.word in ("doc", "document") and self._after == "(":
            document = self._document()
        steps: list[Step] = []
        first = self._take("/", "//")
        if document is not None and first is None:
            self._wrong("a path into another document goes on with / or //")
        if first is None and self._here.word == "." and self._take("."):
            if self._here.word not in ("/", "//"):
                return PathExpression((), span=self._spanned(start))
            separator = self._take("/", "//")
            assert separator is not None
            steps.append(self._step(separator.word))
        elif first is not None and first.word == "/" and not self._starts_step():
            return PathExpression((), True, document, span=self._spanned(start))
        else:
            steps.append(self._step(first.word if first else "/"))
        while (separator := self._take("/", "//")) is not None:
            if steps[-1].kind != "element":
                self._wrong(f"nothing lies below {steps[-1].label}")
            if self._take("."):
                if separator.word == "//":
                    self._refuse("//.", "write //* for all elements below")
                continue
            steps.append(self._step(separator.word))
        return PathExpression(tuple(steps), first is not None, document, span=self._spanned(start))

    def _document(self) -> str:
        self._at += 2
        if self._here.kind != "text":
            self._wrong('doc(...) takes the name of a document, as in doc("payments")')
        name = self._here.word[1:-1]
        self._at += 1
        self._expect(")", "doc(...) ends with )")
        return name

    def _starts_step(self) -> bool:
        return self._here.kind == "name" or self._here.word in ("@", "*", ".", "..")

    def _step(self, separator: str) -> Step:
        start = self._here.span
        axis: Axis = "descendant" if separator == "//" else "child"
        if self._here.word == "..":
            self._refuse("the parent axis `..`", "write the condition as a predicate of the parent: a[b]/c")
        if self._here.word == "$":
            self._refuse("a variable", "write the value itself into the query")
        kind: Kind = "element"
        if self._after == "::":
            name = self._here.word
            if name not in _AXES:
                self._refuse(f"the axis {name}::", "there are child, descendant and attribute, as /, // and @")
            if name == "descendant":
                axis = "descendant"
            kind = "attribute" if name == "attribute" else "element"
            self._at += 2
        if self._take("@"):
            kind = "attribute"
        step = self._name(axis, kind, start)
        predicates = []
        while self._take("["):
            predicates.append(self.expression())
            self._expect("]", "a predicate ends with ]")
        return Step(step.axis, step.kind, step.name, tuple(predicates), span=self._spanned(start))

    def _name(self, axis: Axis, kind: Kind, start: Span) -> Step:
        token = self._here
        if token.word == "*" and token.kind == "sign":
            self._at += 1
            if kind == "attribute":
                self._refuse("@*", "name the attribute", token.span)
            return Step(axis, kind, ANY_NAME)
        if token.kind != "name":
            self._wrong(f"a step names a node, as in /order or /*, and {self._shown()} stands here")
        if self._after == "(":
            if token.word == "text" and kind == "element":
                self._at += 2
                self._expect(")", "text() takes nothing")
                return Step(axis, "text", "")
            self._function(token)
        self._at += 1
        return Step(axis, kind, token.word, span=start)

    def _function(self, token: Token) -> NoReturn:
        reason = _FUNCTIONS.get(token.word, "there are text() and doc(...), and no other functions")
        self._refuse(f"{token.word}()", reason, token.span)

    def expression(self) -> Expression:
        self._depth += 1
        if self._depth > MOST_NESTED:
            self._wrong(f"predicates are nested more than {MOST_NESTED} deep")
        found = self._or()
        self._depth -= 1
        return found

    def _or(self) -> Expression:
        start, parts = self._here.span, [self._and()]
        while self._take("or"):
            parts.append(self._and())
        return parts[0] if len(parts) == 1 else Or(tuple(parts), span=self._spanned(start))

    def _and(self) -> Expression:
        start, parts = self._here.span, [self._single()]
        while self._take("and"):
            parts.append(self._single())
        return parts[0] if len(parts) == 1 else And(tuple(parts), span=self._spanned(start))

    def _single(self) -> Expression:
        start = self._here.span
        if self._take("("):
            found = self.expression()
            self._expect(")", "a group ends with )")
            return found
        left, left_offset = self._operand()
        if self._here.word in _COMPARISONS and self._here.kind == "sign":
            op = self._here.word
            self._at += 1
            right, right_offset = self._operand()
            return self._comparison(left, op, right, right_offset - left_offset, start)
        if not isinstance(left, PathExpression) or left_offset:
            if isinstance(left, float) and not left_offset:
                self._refuse("a position", "the order of nodes does not count while they arrive", start)
            raise ParseError("a predicate is a path or a comparison", span=self._spanned(start))
        if not left.steps:
            raise ParseError("this holds of every node", span=left.span, hint='compare it: [. = "text"]')
        return left

    def _operand(self) -> tuple[PathExpression | str | float, float]:
        """A path or a constant, and what is added to it."""
        token = self._here
        found: PathExpression | str | float
        if token.kind == "text":
            self._at += 1
            found = token.word[1:-1]
        elif token.kind == "number" or (token.word == "-" and self._tokens[self._at + 1].kind == "number"):
            found = self._number()
        else:
            found = self.path()
        offset = 0.0
        while (sign := self._take("+", "-")) is not None:
            if self._here.kind != "number":
                self._refuse("a sum of anything but a number", "compare two paths with a distance: a <= b + 4")
            offset += self._number() * (1 if sign.word == "+" else -1)
        if offset and isinstance(found, str):
            raise ParseError("nothing can be added to a text", span=token.span)
        return (found + offset, 0.0) if isinstance(found, float) else (found, offset)

    def _number(self) -> float:
        sign = -1.0 if self._take("-") else 1.0
        self._at += 1
        return sign * float(self._tokens[self._at - 1].word)

    def _comparison(
        self, left: PathExpression | str | float, op: str, right: PathExpression | str | float, offset: float, at: Span
    ) -> Comparison:
        span = self._spanned(at)
        if not isinstance(left, PathExpression):
            left, right, op, offset = right, left, _TURNED[op], -offset
        if not isinstance(left, PathExpression):
            raise ParseError("two constants are compared", span=span, hint="one side has to be a path")
        if isinstance(right, str) and op not in ("=", "!="):
            raise ParseError(
                f"{op} compares numbers, and {right!r} is a text", span=span, hint="write the number without quotes"
            )
        if isinstance(right, float):
            right, offset = right + offset, 0.0
        if offset and op == "!=":
            self._refuse("!= between sums", "compare with < or >", span)
        return Comparison(left, op, right, offset, span=span)
