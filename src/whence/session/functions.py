"""Python functions that a user registers for SQL and rules, and the views that wait for one.

Python code cannot be stored, so a database that is opened again has to be given its functions again. Until then the
views that call one have no rows, and the tables below them stand still.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from whence.analysis.analyze import Analysis
from whence.errors import DuplicateNameError, Hint, NextStep, StateError, TypeMismatchError
from whence.functions.builtin import BUILTINS
from whence.model.program import Function, Functions, Program, Signature
from whence.model.rules import Rule
from whence.model.schema import owner
from whence.model.terms import AGGREGATES
from whence.model.types import Type
from whence.model.updates import Update

if TYPE_CHECKING:
    from whence.session.definitions import Definitions


def _missing(*_: object) -> object:
    """Stands for a function that is known by its signature only."""
    raise AssertionError("views that call a missing function are not evaluated")


def missing_function(signature: Signature) -> Function:
    return Function(signature, _missing)


def is_missing(function: Function) -> bool:
    return function.python is _missing


class MissingFunctions(NamedTuple):
    """Why a view waits: what it calls, itself or through a view it reads."""

    view: str
    function: Signature


class WaitingViews:
    """The views of a program that cannot be computed yet, and what is refused because of them. Mostly there are none.

    `computable` is the program without them, which is what an engine gets.
    """

    def __init__(self, analysis: Analysis, functions: Functions) -> None:
        self._analysis = analysis
        self.views = _waiting(analysis, functions)
        self._tables = _tables_under(analysis, self.views) if self.views else {}
        self.computable = _without(analysis, self.views) if self.views else analysis

    def check_reading(self, relation: str) -> None:
        """A view that waits says what it waits for."""
        _check((relation,), self.views)

    def check_change(self, update: Update) -> None:
        """The tables below stand still."""
        _check(update.deltas, self._tables)

    def check_definitions(self, after: WaitingViews) -> None:
        """Views that wait may be dropped. What a new or another definition changes could not be told."""
        concerned = {**self.views, **after.views}
        if concerned:
            old, new = _rules(self._analysis, concerned), _rules(after._analysis, concerned)
            changed = (name for name in concerned if name in after._analysis.relations and old[name] != new[name])
            _check(changed, concerned)


def _check(names: Iterable[str], lacking: Mapping[str, MissingFunctions]) -> None:
    for name in names:
        if name in lacking:
            view, function = lacking[name]
            registering = f'db.function("{function.name}", ..., returns="{function.returns}")'
            raise StateError(
                f"view {view!r} calls function {function.name!r}, which has to be registered again "
                f"before {owner(name)!r} can be used",
                hint=Hint("{} does that", (NextStep("function", registering),)),
            )


def _waiting(analysis: Analysis, functions: Functions) -> dict[str, MissingFunctions]:
    """The relations that cannot be computed."""
    missing = {name: function.signature for name, function in functions.items() if is_missing(function)}
    waiting: dict[str, MissingFunctions] = {}
    for component in analysis.components if missing else ():
        for rule in component.rules:
            called = sorted(rule.calls & missing.keys())
            lacks = [MissingFunctions(owner(rule.head.relation), missing[name]) for name in called]
            lacks += [waiting[name] for name in rule.reads if name in waiting]
            if lacks:
                waiting.update(dict.fromkeys(component.relations, lacks[0]))
                break
    return waiting


def _without(analysis: Analysis, waiting: Mapping[str, MissingFunctions]) -> Analysis:
    relations = {name: relation for name, relation in analysis.relations.items() if name not in waiting}
    rules = tuple(rule for rule in analysis.program.rules if rule.head.relation not in waiting)
    components = tuple(each for each in analysis.components if waiting.keys().isdisjoint(each.relations))
    return Analysis(Program(tuple(relations.values()), rules), relations, components)


def _tables_under(analysis: Analysis, waiting: Mapping[str, MissingFunctions]) -> dict[str, MissingFunctions]:
    """The base tables that views which wait read, directly or through other views."""
    under = dict(waiting)
    for component in reversed(analysis.components):
        lacks = [under[name] for name in component.relations if name in under]
        for rule in component.rules if lacks else ():
            for name in rule.reads:
                under.setdefault(name, lacks[0])
    views = {rule.head.relation for rule in analysis.program.rules}
    return {name: lack for name, lack in under.items() if name not in views}


def _rules(analysis: Analysis, names: Iterable[str]) -> dict[str, list[Rule]]:
    rules: dict[str, list[Rule]] = {name: [] for name in names}
    for rule in analysis.program.rules:
        if rule.head.relation in rules:
            rules[rule.head.relation].append(rule)
    return rules


def with_function(
    definitions: Definitions, name: object, function: Callable[..., object], returns: str | Type
) -> Definitions:
    """The definitions with one more function, or with another one under a name that no view calls."""
    if not isinstance(name, str) or not name.isidentifier():
        raise TypeMismatchError(f"the name of a function is a word, not {name!r}")
    if not callable(function):
        raise TypeMismatchError(f"{name!r} needs something that can be called, not a {type(function).__name__}")
    folded = name.lower()
    if folded in BUILTINS or folded in AGGREGATES:
        raise DuplicateNameError(f"{name!r} is a built-in function", hint="give yours another name")
    signature = Signature(folded, parse_type(returns))
    callers = definitions.calling(folded)
    if callers and is_missing(definitions.functions[folded]):
        _check_return(definitions.functions[folded].signature, signature, callers)
    elif callers:
        raise StateError(
            f"function {name!r} is in use by {', '.join(map(repr, callers))}",
            hint="drop what uses it first, or give the new function another name",
        )
    return replace(definitions, functions={**definitions.functions, folded: Function(signature, function)})


def _check_return(known: Signature, given: Signature, callers: list[str]) -> None:
    """A function comes back to views that were made for what it returns."""
    if given != known:
        raise StateError(
            f"function {known.name!r} returns {known.returns} where {', '.join(map(repr, callers))} call it, "
            f"and not {given.returns}",
            hint=f"register it with returns={known.returns.name!r}, or drop those views first",
        )


def parse_type(written: str | Type) -> Type:
    """A type by its Spark name."""
    if isinstance(written, Type):
        return written
    if not isinstance(written, str):
        raise TypeMismatchError(f"a type is written like 'BIGINT' or 'ARRAY<STRING>', not {written!r}")
    # The parser takes a while to load, and a program in Datalog does without.
    import sqlglot

    from whence.lang.sql.grammar import DIALECT
    from whence.lang.sql.literals import to_type

    try:
        return to_type(sqlglot.parse_one(written, read=DIALECT, into=sqlglot.exp.DataType), None)
    except sqlglot.errors.SqlglotError:
        raise TypeMismatchError(f"{written!r} is not a type", hint="write for example 'BIGINT'") from None
