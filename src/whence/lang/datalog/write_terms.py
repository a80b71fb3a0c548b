"""Terms as text, with no more parentheses than needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from whence.lang.datalog import words
from whence.lang.datalog.intrinsics import INTRINSICS, REFUSED
from whence.lang.datalog.operators import COMPARING, INFIX, MINUS, NOT
from whence.model.rules import COMPARISONS
from whence.model.terms import Aggregate, Call, Cast, Constant, Skolem, Term, Variable, Wildcard, children

# What is weaker than a sum stands in parentheses, except directly within parentheses.
SUM = 5
_WHOLE = 9


class _Written(NamedTuple):
    """A text, and how strongly it holds together."""

    text: str
    strength: int = _WHOLE

    def at_least(self, strength: int = SUM) -> str:
        return self.text if self.strength >= strength else f"({self.text})"


def term_text(term: Term, at_least: int = SUM) -> str:
    """The term, in parentheses if it holds together less strongly than asked for."""
    outside_first: list[Term] = []
    todo = [term]
    while todo:
        here = todo.pop()
        outside_first.append(here)
        todo.extend(children(here))
    # By a loop, since terms that come from SQL can be deeper than Python's stack.
    done: list[_Written] = []
    for here in reversed(outside_first):
        first = len(done) - len(children(here))
        arguments = done[first:]
        del done[first:]
        done.append(_written(here, arguments))
    return done[0].at_least(at_least)


def called(function: str, arguments: Sequence[Term]) -> str:
    """A call that is certainly one: `@f(x)` where a plain `f(x)` could mean something else."""
    return _called(function, ", ".join(term_text(argument) for argument in arguments))


def _called(function: str, arguments: str) -> str:
    return f"@{words.name(function) if function.islower() else words.quoted_name(function)}({arguments})"


def _written(term: Term, arguments: Sequence[_Written]) -> _Written:
    match term:
        case Variable(name=name):
            return _Written(words.name(name))
        case Wildcard():
            return _Written("_")
        case Constant(value=value, type=of):
            text = words.constant(value, of)
            return _Written(text, MINUS.strength if text.startswith("-") else _WHOLE)
        case Cast(type=target):
            return _Written(f"as({arguments[0].at_least()}, {target})")
        case Skolem(function=function):
            return _Written(f"#{words.name(function)}({_listed(arguments)})")
        case Aggregate():
            return _Written(_aggregate(term, arguments))
        case Call():
            return _operation(term, arguments) or _Written(_call(term, arguments))


def _operation(term: Call, arguments: Sequence[_Written]) -> _Written | None:
    """A call that is written with an operator, or None for any other."""
    function = term.function
    match arguments:
        case [left, right] if function in INFIX:
            sign, operator = INFIX[function]
            strength = operator.strength
            on_left = left.at_least(strength + 1 if operator.right else strength)
            return _Written(f"{on_left} {sign} {right.at_least(strength + 1)}", strength)
        case [left, right] if function in COMPARISONS or function == "<=>":
            return _Written(f"{left.at_least()} {function} {right.at_least()}", COMPARING)
        case [operand] if function == "-":
            # A minus before a number would be taken for the number's own.
            text = f"({operand.text})" if operand.text[0].isdigit() else operand.at_least(MINUS.strength)
            return _Written(f"-{text}", MINUS.strength)
        case [operand] if function == "not":
            return _Written(f"not {operand.at_least(NOT.strength)}", NOT.strength)
    return None


def _call(term: Call, arguments: Sequence[_Written]) -> str:
    function, listed = term.function, _listed(arguments)
    match term:
        case Call(function="array"):
            return f"[{listed}]"
        case Call(function="contains", arguments=(_, _)):
            return f"contains({_listed(arguments[::-1])})"
        case Call(function="if", arguments=(_, _, Call(function="if", arguments=(_, _, _)))):
            # The last argument is a list of branches itself, and ends with the same parenthesis.
            return f"if({_listed(arguments[:2])}, {arguments[2].text.removeprefix('if(')}"
    plain = words.name(function) == function and function.islower()
    if not plain or function in INTRINSICS or function in REFUSED or (function == "if" and len(arguments) > 3):
        return _called(function, listed)
    return f"{function}({listed})"


def _aggregate(term: Aggregate, arguments: Sequence[_Written]) -> str:
    if not arguments:
        return f"{term.function}<*>"
    argument = arguments[0].at_least()
    if term.distinct:
        # A minus after the word would be taken for a difference.
        argument = f"distinct ({argument})" if argument.startswith("-") else f"distinct {argument}"
    return f"{term.function}<{argument}>"


def _listed(arguments: Sequence[_Written]) -> str:
    return ", ".join(argument.at_least() for argument in arguments)
