"""Casts that SQL leaves out, written into terms: '1' + 2 is CAST('1' AS BIGINT) + 2."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from whence.errors import WhenceError
from whence.functions.builtin import BUILTINS
from whence.functions.implicit import implicit_casts
from whence.functions.lambdas import with_lambdas
from whence.functions.types import Typed, infer
from whence.functions.widening import common_type
from whence.lang.sql.literals import cast
from whence.model.program import Signature
from whence.model.terms import Aggregate, Call, Cast, Lambda, Skolem, Term
from whence.model.types import NULL, Type


def coerced(term: Term, types: Mapping[str, Typed], signatures: Mapping[str, Signature]) -> Term:
    """The term, with casts where its types do not go together without. It stays as it is where casts do not help."""
    try:
        infer(term, types, signatures)
    except WhenceError:
        try:
            return _Coercion(types, signatures).of(term)[0]
        except WhenceError:
            return term
    return term


class _Coercion:
    def __init__(self, types: Mapping[str, Typed], signatures: Mapping[str, Signature]) -> None:
        self._types = types
        self._signatures = signatures

    def of(self, term: Term) -> tuple[Term, Type]:
        """The term with its casts, and its type."""
        match term:
            case Call():
                return self._call(term)
            case Cast():
                inner, _ = self.of(term.term)
                return Cast(inner, term.type, span=term.span), term.type
            case Skolem() | Aggregate():
                pass
        return term, infer(term, self._types, self._signatures).type

    def _call(self, call: Call) -> tuple[Term, Type]:
        parts = [self.of(argument) for argument in call.arguments]
        arguments, kinds = [part for part, _ in parts], [kind for _, kind in parts]
        if any(isinstance(argument, Lambda) for argument in arguments):
            arguments = list(with_lambdas(replace(call, arguments=tuple(arguments)), tuple(kinds), _coerced_body))
        if call.function in BUILTINS:
            with implicit_casts():
                resolved = BUILTINS[call.function].resolve(
                    Call(call.function, tuple(arguments), span=call.span), tuple(kinds)
                )
            arguments = [
                _as(argument, kind, wanted)
                for argument, kind, wanted in zip(arguments, kinds, resolved.arguments, strict=True)
            ]
        made = Call(call.function, tuple(arguments), span=call.span)
        return made, infer(made, self._types, self._signatures).type


def _coerced_body(term: Lambda, types: Mapping[str, Typed]) -> Lambda:
    return replace(term, body=_Coercion(types, {}).of(term.body)[0])


def _as(argument: Term, given: Type, wanted: Type) -> Term:
    """What rules widen by themselves stays as it is."""
    if wanted in (given, NULL) or given == NULL or common_type((given, wanted)) == wanted:
        return argument
    return cast(argument, wanted, argument.span)
