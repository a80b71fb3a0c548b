"""Terms, constants and names as SQL text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from sqlglot.tokens import Tokenizer

from whence.errors import UnsupportedError
from whence.model import types
from whence.model.lambdas import opened
from whence.model.terms import Aggregate, Call, Cast, Constant, Lambda, Skolem, Term, Variable

# How tightly an operator binds; operands that bind less tightly get parentheses.
_LEVELS = {
    "or": 1,
    "and": 2,
    "not": 3,
    "=": 4,
    "!=": 4,
    "<": 4,
    "<=": 4,
    ">": 4,
    ">=": 4,
    "<=>": 4,
    "+": 6,
    "-": 6,
    "*": 7,
    "/": 7,
    "div": 7,
    "%": 7,
}
_PREDICATE = 4
_PRIMARY = 9
# What SQL calls a function that has another name here.
_NAMES = {"%": "mod", "array_sort_with": "array_sort"}
_SPELLED = {"and": "AND", "or": "OR", "div": "DIV"}
_MICROSECONDS_PER = {"HOUR": 3_600_000_000, "MINUTE": 60_000_000, "SECOND": 1_000_000, "MICROSECOND": 1}


def name_sql(name: str) -> str:
    """A name, quoted where it has to be."""
    plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) and name.upper() not in Tokenizer.KEYWORDS
    return name if plain else "`" + name.replace("`", "``") + "`"


def term_sql(term: Term, variables: Mapping[str, str], level: int = 0) -> str:
    """The term as SQL; `variables` says how each variable is written. Parentheses where `level` binds tighter."""

    def sub(child: Term, at: int) -> str:
        return term_sql(child, variables, at)

    match term:
        case Variable(name=name):
            return variables[name]
        case Constant(value=value, type=type_):
            return type_.sql_constant(value)
        case Cast(term=inner, type=type_):
            return f"CAST({sub(inner, 0)} AS {type_})"
        case Aggregate(function=function, argument=argument, distinct=distinct):
            inside = "*" if argument is None else sub(argument, 0)
            return f"{function}({'DISTINCT ' if distinct else ''}{inside})"
        case Lambda(parameters=parameters, body=body):
            names = {name: name_sql(name) for name in parameters}
            text = term_sql(body, {**variables, **names})
            return f"({', '.join(names.values())}) -> {text}" if names else text
        case Call(function=function):
            own, text = _call(function, opened(term), sub)
            return f"({text})" if own < level else text
        case Skolem(function=function):
            raise UnsupportedError(f"the invented value #{function}(...) cannot be written in SQL", span=term.span)
    raise UnsupportedError("this term cannot be written in SQL", span=term.span)


def _call(function: str, arguments: tuple[Term, ...], sub: Callable[[Term, int], str]) -> tuple[int, str]:
    """How tightly the text binds, and the text."""
    level = _LEVELS.get(function, _PRIMARY)
    match function, arguments:
        case "not", (inner,):
            return level, f"NOT {sub(inner, level + 1)}"
        case "extract_second", (inner,):
            return _PRIMARY, f"EXTRACT(SECOND FROM {sub(inner, 0)})"
        case "+", (inner,):
            return 8, f"+ {sub(inner, _PRIMARY)}"
        case "-", (inner,):
            # A constant in parentheses is not read as a negative constant.
            return 8, f"- ({sub(inner, 0)})" if isinstance(inner, Constant) else f"- {sub(inner, _PRIMARY)}"
        case _, (left, right) if function in _LEVELS:
            # Comparisons do not chain; everything else groups to the left.
            tight = level + 1 if level == _PREDICATE else level
            return level, f"{sub(left, tight)} {_SPELLED.get(function, function)} {sub(right, level + 1)}"
        case "isnull", (inner,):
            return _PREDICATE, f"{sub(inner, _PREDICATE + 1)} IS NULL"
        case "isnotnull", (inner,):
            return _PREDICATE, f"{sub(inner, _PREDICATE + 1)} IS NOT NULL"
        case "in", (value, *members):
            return _PREDICATE, f"{sub(value, _PREDICATE + 1)} IN ({', '.join(sub(m, 0) for m in members)})"
        case "like", (value, pattern, *escape):
            last = f" ESCAPE {sub(escape[0], _PRIMARY)}" if escape else ""
            return _PREDICATE, f"{sub(value, _PREDICATE + 1)} LIKE {sub(pattern, _PREDICATE + 1)}{last}"
        case "if", (_, _, _):
            return _PRIMARY, _case(Call("if", arguments), sub)
        case "add_interval", (
            date,
            Constant(value=int() as months),
            Constant(value=int() as days),
            Constant(value=int() as rest),
        ):
            interval = _interval(months, days, rest)
            if interval is not None:
                return 6, f"{sub(date, 6)} + {interval}"
    return _PRIMARY, f"{_NAMES.get(function, function)}({', '.join(sub(a, 0) for a in arguments)})"


def _case(term: Term, sub: Callable[[Term, int], str]) -> str:
    parts = ["CASE"]
    while isinstance(term, Call) and term.function == "if":
        condition, then, term = term.arguments
        parts.append(f"WHEN {sub(condition, 0)} THEN {sub(then, 0)}")
    if not (isinstance(term, Constant) and term.type == types.NULL):
        parts.append(f"ELSE {sub(term, 0)}")
    return " ".join([*parts, "END"])


def _interval(months: int, days: int, microseconds: int) -> str | None:
    """An INTERVAL literal, where one unit is enough."""
    if sum(bool(part) for part in (months, days, microseconds)) > 1:
        return None
    if months:
        return f"INTERVAL '{months}' MONTH"
    if microseconds:
        unit, size = next((u, s) for u, s in _MICROSECONDS_PER.items() if microseconds % s == 0)
        return f"INTERVAL '{microseconds // size}' {unit}"
    return f"INTERVAL '{days}' DAY"
