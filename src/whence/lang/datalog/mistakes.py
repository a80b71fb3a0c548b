"""What is wrong with a text that does not parse, in a person's words: what was found, what was expected, and why.

The slips that people make are known, and they are told what to write instead.
"""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TypeAlias

from lark import Token, Tree, UnexpectedInput, UnexpectedToken

from whence.errors import ParseError, UnsupportedError, WhenceError, did_you_mean
from whence.model.span import SourceText, Span
from whence.model.terms import AGGREGATES

_WORDS = {
    "RPAR": "')'",
    "RSQB": "']'",
    "RBRACE": "'}'",
    "GT": "'>'",
    "LPAR": "'('",
    "LBRACE": "'{'",
    "COMMA": "','",
    "SEMICOLON": "';'",
    "_IF": "':-'",
    "_ARROW": "'->'",
    "DOT": "'.'",
    "_COLON": "':'",
    "EQUALS": "'='",
    "SUBTYPE": "'<:'",
    "LT": "'<'",
    "STRING": "a string",
    "NUMBER": "a number",
    "NAME": "a name",
}
# After a value these are always possible, and a reader who forgot a ')' does not look for them.
_CONTINUE_A_TERM = frozenset(
    ("OPERATOR", "STAR", "MINUS", "CMP", "LT", "GT", "AND", "OR", "_COLON", "_OF_TYPE", "LPAR", "SEMICOLON")
)
_START_A_TERM = frozenset(
    ("NAME", "NUMBER", "FLOAT", "STRING", "LPAR", "LSQB", "AT", "HASH", "AS", "TYPED", "MINUS", "BANG", "NOT")
)
_START_A_STATEMENT = ("DECL", "ALIAS", "DIRECTIVE")
_LAST_WORD = re.compile(r'(?:[\w?$.]*[\w?$]|"[^"\n]*"|`[^`\n]*`|:-|\S)\Z')
_FOUND = re.compile(r'[\w?$]+|"[^"\n]*"|:-|:=|\S')


def mistake(unexpected: UnexpectedInput, source: SourceText) -> WhenceError:
    """The error for a text that the parser refused."""
    parser = unexpected.interactive_parser
    accepted: AbstractSet[str] = parser.accepts()  # type: ignore[no-untyped-call]
    previous = max((_end(value) for value in parser.parser_state.value_stack[-2:]), default=0)
    token = unexpected.token if isinstance(unexpected, UnexpectedToken) else None
    ended = token is not None and token.type == "$END"
    start = unexpected.pos_in_stream
    if ended or start is None:
        start = previous
    found = "" if ended else _found(source.text, start, token)
    problem = _Problem(source.text, start, previous, found, "" if token is None else token.type, accepted)

    for notice in (_unclosed(problem), _unsupported(problem)):
        if notice is not None:
            kind, message, first, last, hint = notice
            return kind(message, span=Span(source, first, last), hint=hint)
    if _statement_lacks_its_dot(problem, ended=ended):
        return ParseError(
            "expected '.' at the end of this rule",
            span=Span(source, previous, previous + 1),
            hint=_hint_for(problem) or "every fact and every rule ends with '.'",
        )
    what = "the end of the text" if ended else f"'{found}'"
    before = _LAST_WORD.search(source.text, max(0, previous - 80), previous)
    after = "" if before is None or _at_start(accepted) else f" after {_quoted(before[0])}"
    return ParseError(
        f"expected {_listed(_expected(accepted))}{after}, found {what}",
        span=Span(source, start, start + max(1, len(found))),
        hint=_hint_for(problem),
    )


def refusal(token: Token, source: SourceText) -> WhenceError:
    """The error for a word of Soufflé's that whence does not have, or for an unknown one."""
    assert token.start_pos is not None
    assert token.end_pos is not None
    span = Span(source, token.start_pos, token.end_pos)
    if token.type == "AGGREGATED":
        return ParseError(
            "expected an aggregate before ':'", span=span, hint="like n = count : { ... } or s = sum x : { ... }"
        )
    if token.type == "SUBSUMED":
        return ParseError("between two heads stands '<='", span=span, hint="like a(x, c) <= a(x, d) :- d < c.")
    why = _OTHER_DIRECTIVES.get(token)
    if why is not None:
        return UnsupportedError(f"whence does not have Soufflé's {token!s}", span=span, hint=why)
    known = [".decl", ".type", ".input", ".output", ".printsize"]
    hint = did_you_mean(token, known) or f"the directives are {', '.join(known)}"
    return ParseError(f"there is no directive {token!s}", span=span, hint=hint)


def _statement_lacks_its_dot(problem: _Problem, *, ended: bool) -> bool:
    if "DOT" not in problem.accepted:
        return False
    on_new_line = "\n" in problem.text[problem.previous : problem.start]
    # A line that is indented rather goes on with the rule, and lacks a comma.
    indented = problem.text[problem.start - 1 : problem.start] in (" ", "\t")
    return ended or problem.kind in _START_A_STATEMENT or (on_new_line and not indented)


def _expected(accepted: AbstractSet[str]) -> list[str]:
    if _at_start(accepted):
        return ["a fact", "a rule", "a directive such as .decl"]
    if {"NUMBER", "STRING"} <= accepted:
        what = "an atom or a condition" if "BANG" in accepted else "a term"
        return [what, *(_WORDS[each] for each in _WORDS if each in accepted - _START_A_TERM - _CONTINUE_A_TERM)]
    narrow = accepted - _CONTINUE_A_TERM or accepted
    return [_WORDS[each] for each in _WORDS if each in narrow] or ["an operator"]


def _at_start(accepted: AbstractSet[str]) -> bool:
    return "DECL" in accepted


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _quoted(word: str) -> str:
    return word if word[0] in "\"`'" else f"'{word}'"


def _found(text: str, start: int, token: Token | None) -> str:
    """The word at the place, as the parser read it where it could."""
    word = _FOUND.match(text, start) if token is None else None
    return str(token if word is None else word[0]).partition("\n")[0][:40]


def _end(value: object) -> int:
    """Where the text of something on the parser's stack ends."""
    if isinstance(value, Token):
        return value.end_pos or 0
    if isinstance(value, Tree):
        return _end(value.children)
    if isinstance(value, list | tuple):
        return max((_end(each) for each in value[-2:]), default=0)
    end = getattr(value, "end", 0)
    return end if isinstance(end, int) else 0


@dataclass(frozen=True, slots=True)
class _Problem:
    """A place where the parser did not get further: the word found there, and the end of the word before it."""

    text: str
    start: int
    previous: int
    found: str
    kind: str
    accepted: AbstractSet[str]

    @property
    def before(self) -> str:
        """What precedes the place, up to a line's length."""
        return self.text[max(0, self.previous - 120) : self.previous]


# The error, its message, its place and a hint.
_Notice: TypeAlias = tuple[type[ParseError] | type[UnsupportedError], str, int, int, str | None]

_OTHER_DIRECTIVES = {
    ".functor": "register a Python function with db.function(...) and call it as @f(x)",
    ".lattice": "min<x> and max<x> in a rule's head keep the best value of a group",
    ".number_type": "write .type T <: number",
    ".symbol_type": "write .type T <: symbol",
}

_RULE_FORM = "a rule is written head :- body."
_COMMENT_FORM = "a comment starts with // or stands between /* and */"
# What the text says at the place, and one character before it.
_AT_PLACE = (
    (re.compile(r":=|<-|←|⟵|<=\s*\w+\("), _RULE_FORM),
    (re.compile(r"&&?|∧"), "write ',' between the parts of a body"),
    (re.compile(r"\|\|?|∨"), "write ';' between alternatives"),
    (re.compile(r"~|\\\+|¬|−"), "negation is written !atom"),
    (re.compile(r"'"), 'strings are written in double quotes: "..."'),
    (re.compile(r"[≤≥≠]"), "comparisons are written <= >= !="),
    (re.compile(r"%"), _COMMENT_FORM),
    (re.compile(r"--"), _COMMENT_FORM),
)
_BEFORE_PLACE = (
    (re.compile(r"--"), _COMMENT_FORM),
    (re.compile(r"=<"), "'at most' is written <="),
    (re.compile(r"=>"), "'at least' is written >="),
    (re.compile(r"<>"), "'not equal' is written !="),
    (re.compile(r"<-"), _RULE_FORM),
)
_SQL = re.compile(r"(?:\A|[.;\s])(select|create|insert|delete|update|drop|with|alter|merge)\Z", re.IGNORECASE)
_QUALIFIER = re.compile(r"\b(bag|key|partition|ttl|window|property)\s*(?:\([^()]*\)?)?\Z")
_AGGREGATED = re.compile(r"[^.;{}\n]*:\s*\{")


def _unclosed(problem: _Problem) -> _Notice | None:
    """A comment, string or quoted name without an end."""
    text, start = problem.text, problem.start
    for place in (start, start - 1):
        if text.startswith("/*", max(0, place)):
            return ParseError, "this comment is not closed", place, place + 2, "a comment ends with */"
    line_end = text.find("\n", start)
    rest = text[start : len(text) if line_end < 0 else line_end]
    if rest.startswith('"') and problem.kind == "":
        return (
            ParseError,
            "this string is not closed",
            start,
            start + len(rest),
            'a string ends with " on the same line',
        )
    if rest.startswith("`") and problem.kind == "":
        return ParseError, "this quoted name is not closed", start, start + len(rest), "a quoted name ends with `"
    return None


def _unsupported(problem: _Problem) -> _Notice | None:
    """What Soufflé has at this place and whence does not."""
    start = problem.start
    if problem.text.startswith("#", start) and "DECL" in problem.accepted:
        word = re.compile(r"#\w*").match(problem.text, start)
        assert word is not None
        hint = "known are #include, #define, #undef, #ifdef, #ifndef, #else and #endif, in db.rules(...)"
        return UnsupportedError, f"{word[0]} means nothing here", start, word.end(), hint
    return None


def _hint_for(problem: _Problem) -> str | None:
    """What to do about it, where the slip is a known one."""
    before, accepted = problem.before, problem.accepted
    if _SQL.search(before) and ("LPAR" in accepted or "DOT" in accepted):
        return "this looks like SQL: run it with execute(), and rules with rules()"
    if before.endswith(("NOT", "Not")):
        return "negation is written !atom"
    for pattern, hint in _AT_PLACE:
        if pattern.match(problem.text, problem.start):
            return hint
    for pattern, hint in _BEFORE_PLACE:
        if problem.start > 0 and pattern.match(problem.text, problem.start - 1):
            return hint
    if before.endswith('"') and problem.start == problem.previous:
        return 'a string ends at the first "; inside it write \\"'
    if "GT" in accepted and "OPERATOR" in accepted and "COMMA" not in accepted:
        return "in a head, name<...> is an aggregate; a comparison stands in parentheses: (x < y)"
    if problem.kind in ("LT", "GT", "CMP", "EQUALS") and {"COMMA", "RPAR"} & accepted:
        return _hint_for_comparison(problem)
    if problem.kind == "_IF" and "DOT" in accepted:
        return "does the rule before this one end with '.'?"
    if problem.kind == "STRING" and "NAME" in accepted and "NUMBER" not in accepted:
        return 'parameters have names, as in filename="links.csv"'
    if _AGGREGATED.match(problem.text, problem.start):
        return "the aggregates with a body in braces are count, sum, min, max and mean"
    qualifier = _QUALIFIER.search(before)
    if qualifier is not None and not {"OPERATOR", "_IF"} & accepted:
        word = qualifier[1]
        return f"after .decl, {word} is a qualifier; a relation of that name is written `{word}`(...)"
    return None


def _hint_for_comparison(problem: _Problem) -> str:
    if problem.before.endswith(AGGREGATES) and problem.kind == "LT":
        return "min<x> stands in a rule's head; in a body write y = min x : { ... }"
    if "DOT" in problem.accepted:
        return "compare two values at a time: a < b, b < c"
    return "a comparison as a value stands in parentheses: (x < y)"
