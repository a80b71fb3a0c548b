"""What is wrong with a text that does not parse, in a person's words: what was found, what was expected, and why."""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet

from lark import Token, Tree, UnexpectedInput, UnexpectedToken

from whence.errors import ParseError, UnsupportedError, WhenceError, did_you_mean
from whence.lang.datalog.hints import OTHER_DIRECTIVES, Problem, hint_for, unclosed, unsupported
from whence.model.span import SourceText, Span

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
    problem = Problem(source.text, start, previous, found, "" if token is None else token.type, accepted)

    for notice in (unclosed(problem), unsupported(problem)):
        if notice is not None:
            kind, message, first, last, hint = notice
            return kind(message, span=Span(source, first, last), hint=hint)
    if _statement_lacks_its_dot(problem, ended=ended):
        return ParseError(
            "expected '.' at the end of this rule",
            span=Span(source, previous, previous + 1),
            hint=hint_for(problem) or "every fact and every rule ends with '.'",
        )
    what = "the end of the text" if ended else f"'{found}'"
    before = _LAST_WORD.search(source.text, max(0, previous - 80), previous)
    after = "" if before is None or _at_start(accepted) else f" after {_quoted(before[0])}"
    return ParseError(
        f"expected {_listed(_expected(accepted))}{after}, found {what}",
        span=Span(source, start, start + max(1, len(found))),
        hint=hint_for(problem),
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
    why = OTHER_DIRECTIVES.get(token)
    if why is not None:
        return UnsupportedError(f"whence does not have Soufflé's {token!s}", span=span, hint=why)
    known = [".decl", ".type", ".input", ".output", ".printsize"]
    hint = did_you_mean(token, known) or f"the directives are {', '.join(known)}"
    return ParseError(f"there is no directive {token!s}", span=span, hint=hint)


def _statement_lacks_its_dot(problem: Problem, *, ended: bool) -> bool:
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
