"""Constant operands of conditions, computed once instead of for every row: DATE "1998-12-01" minus 90 days."""

from __future__ import annotations

from collections.abc import Mapping

from whence.errors import EvaluationError
from whence.functions.builtin import BUILTINS
from whence.functions.evaluate import compile_term
from whence.functions.typing import infer
from whence.model.program import Signature
from whence.model.rules import COMPARISONS
from whence.model.terms import Call, Cast, Constant, Term, children, walk
from whence.model.types import STRING

COMPARING = (*COMPARISONS, "<=>", "in")


def with_constants_computed(condition: Term, signatures: Mapping[str, Signature]) -> Term:
    """The condition with the constant operands of its comparisons computed.

    Other constant terms stay: the type of arithmetic can depend on how a constant is written.
    """
    done: dict[int, Term] = {}
    # From the inside out, without recursion: a generated condition can be deeper than Python's stack.
    for part in reversed(list(walk(condition))):
        done[id(part)] = part
        if isinstance(part, Call):
            arguments = [done[id(argument)] for argument in part.arguments]
            if part.function in COMPARING:
                arguments = [_computed(argument, signatures) for argument in arguments]
            done[id(part)] = Call(part.function, tuple(arguments), span=part.span)
    return done[id(condition)]


def _computed(term: Term, signatures: Mapping[str, Signature]) -> Term:
    if not children(term) or not all(map(_is_constant, walk(term))):
        return term
    kind = infer(term, {}, signatures).type
    if kind == STRING:
        # A constant text would be read as a date where it is compared with one; a computed text is not.
        return term
    try:
        value = compile_term(term, {}, signatures, {})({})
    except EvaluationError:
        # It is an error of the rows that need it.
        return term
    return Constant(value, kind, span=term.span)


def _is_constant(part: Term) -> bool:
    return isinstance(part, Constant | Cast) or (isinstance(part, Call) and part.function in BUILTINS)
