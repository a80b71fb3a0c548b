"""The slips that people make, and what to tell them."""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TypeAlias

from whence.errors import ParseError, UnsupportedError
from whence.model.terms import AGGREGATES


@dataclass(frozen=True, slots=True)
class Problem:
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
Notice: TypeAlias = tuple[type[ParseError] | type[UnsupportedError], str, int, int, str | None]

OTHER_DIRECTIVES = {
    ".functor": "register a Python function with db.function(...) and call it as @f(x)",
    ".lattice": "min<x> and max<x> in a rule's head keep the best value of a group",
    ".number_type": "write .type T <: number",
    ".symbol_type": "write .type T <: symbol",
}

_RULE_FORM = "a rule is written head :- body."
# What the text says at the place, and one character before it.
_AT_PLACE = (
    (re.compile(r":=|<-|←|⟵|<=\s*\w+\("), _RULE_FORM),
    (re.compile(r"&&?|∧"), "write ',' between the parts of a body"),
    (re.compile(r"\|\|?|∨"), "write ';' between alternatives"),
    (re.compile(r"~|\\\+|¬|−"), "negation is written !atom"),
    (re.compile(r"'"), 'strings are written in double quotes: "..."'),
    (re.compile(r"[≤≥≠]"), "comparisons are written <= >= !="),
    (re.compile(r"%"), "a comment starts with // or stands between /* and */"),
    (re.compile(r"--"), "a comment starts with // or stands between /* and */"),
)
_BEFORE_PLACE = (
    (re.compile(r"--"), "a comment starts with // or stands between /* and */"),
    (re.compile(r"=<"), "'at most' is written <="),
    (re.compile(r"=>"), "'at least' is written >="),
    (re.compile(r"<>"), "'not equal' is written !="),
    (re.compile(r"<-"), _RULE_FORM),
)
_SQL = re.compile(r"(?:\A|[.;\s])(select|create|insert|delete|update|drop|with|alter|merge)\Z", re.IGNORECASE)
_QUALIFIER = re.compile(r"\b(bag|key|partition|ttl|window|property)\s*(?:\([^()]*\)?)?\Z")
_AGGREGATED = re.compile(r"[^.;{}\n]*:\s*\{")


def unclosed(problem: Problem) -> Notice | None:
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


def unsupported(problem: Problem) -> Notice | None:
    """What Soufflé has at this place and whence does not."""
    start = problem.start
    if problem.text.startswith("#", start) and "DECL" in problem.accepted:
        word = re.compile(r"#\w*").match(problem.text, start)
        assert word is not None
        hint = "known are #include, #define, #undef, #ifdef, #ifndef, #else and #endif, in db.rules(...)"
        return UnsupportedError, f"{word[0]} means nothing here", start, word.end(), hint
    return None


def hint_for(problem: Problem) -> str | None:
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


def _hint_for_comparison(problem: Problem) -> str:
    if problem.before.endswith(AGGREGATES) and problem.kind == "LT":
        return "min<x> stands in a rule's head; in a body write y = min x : { ... }"
    if "DOT" in problem.accepted:
        return "compare two values at a time: a < b, b < c"
    return "a comparison as a value stands in parentheses: (x < y)"
