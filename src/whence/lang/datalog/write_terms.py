"""Terms as text, with no more parentheses than needed."""

from __future__ import annotations

from whence.lang.datalog import words
from whence.lang.datalog.intrinsics import INTRINSICS, REFUSED
from whence.lang.datalog.operators import COMPARING, INFIX, MINUS, NOT
from whence.model.rules import COMPARISONS
from whence.model.terms import Aggregate, Call, Cast, Constant, Skolem, Term, Variable, Wildcard

# How strongly a text holds together: what is weaker than a sum stands in parentheses, except in parentheses.
SUM = 5
_WHOLE = 9


def term_text(term: Term, at_least: int = SUM) -> str:
    """The term, in parentheses if it holds together less strongly than asked for."""
    text, strength = _written(term)
    return text if strength >= at_least else f"({text})"


def called(function: str, arguments: tuple[Term, ...]) -> str:
    """A call that is certainly one: `@f(x)` where a plain `f(x)` could mean something else."""
    return f"@{words.name(function) if function.islower() else words.quoted_name(function)}({_listed(arguments)})"


def _written(term: Term) -> tuple[str, int]:
    match term:
        case Variable(name=name):
            return words.name(name), _WHOLE
        case Wildcard():
            return "_", _WHOLE
        case Constant(value=value, type=of):
            text = words.constant(value, of)
            return text, MINUS.strength if text.startswith("-") else _WHOLE
        case Cast(term=inner, type=target):
            return f"as({term_text(inner)}, {target})", _WHOLE
        case Skolem(function=function, arguments=arguments):
            return f"#{words.name(function)}({_listed(arguments)})", _WHOLE
        case Aggregate():
            return _aggregate(term), _WHOLE
        case Call():
            return _call(term)


def _call(term: Call) -> tuple[str, int]:
    function, arguments = term.function, term.arguments
    match function, arguments:
        case _, (left, right) if function in INFIX:
            sign, operator = INFIX[function]
            strength = operator.strength
            on_left = term_text(left, strength + 1 if operator.right else strength)
            return f"{on_left} {sign} {term_text(right, strength + 1)}", strength
        case _, (left, right) if function in COMPARISONS or function == "<=>":
            return f"{term_text(left)} {function} {term_text(right)}", COMPARING
        case "-", (operand,):
            # A minus before a number would be taken for the number's own.
            number = isinstance(operand, Constant) and not term_text(operand).startswith(("-", '"', "n"))
            return f"-{f'({term_text(operand)})' if number else term_text(operand, MINUS.strength)}", MINUS.strength
        case "not", (operand,):
            return f"not {term_text(operand, NOT.strength)}", NOT.strength
        case "array", _:
            return f"[{_listed(arguments)}]", _WHOLE
        case "contains", (text, needle):
            return f"contains({_listed((needle, text))})", _WHOLE
    plain = words.name(function) == function and function.islower()
    if not plain or function in INTRINSICS or function in REFUSED:
        return called(function, arguments), _WHOLE
    return f"{function}({_listed(arguments)})", _WHOLE


def _aggregate(term: Aggregate) -> str:
    if term.argument is None:
        return f"{term.function}<*>"
    argument = term_text(term.argument)
    if term.distinct:
        # A minus after the word would be taken for a difference.
        argument = f"distinct ({argument})" if argument.startswith("-") else f"distinct {argument}"
    return f"{term.function}<{argument}>"


def _listed(arguments: tuple[Term, ...]) -> str:
    return ", ".join(term_text(argument) for argument in arguments)
