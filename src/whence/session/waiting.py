"""Views that wait for a function: Python code cannot be stored, so a database that is opened again has to be given it
again. Until then the views that call it have no rows, and the tables below them stand still.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from whence.analysis.analyze import Analysis
from whence.engines.engine import Engine, Function, Functions
from whence.errors import Hint, StateError, Way
from whence.model.program import Program, Signature
from whence.model.rules import Rule
from whence.model.schema import owner
from whence.model.types import Row
from whence.model.updates import Delta, Update
from whence.session.definitions import calls, reads


class _Missing:
    """Stands for a function that is known by its signature only."""

    def __call__(self, *_: object) -> object:
        raise AssertionError("views that call a missing function are not evaluated")


def missing_function(signature: Signature) -> Function:
    return Function(signature, _Missing())


def is_missing(function: Function) -> bool:
    return isinstance(function.python, _Missing)


class Lack(NamedTuple):
    """Why a view waits: what it calls, itself or through a view it reads."""

    view: str
    function: Signature


class WaitingEngine:
    """An engine that leaves out the views that wait, and refuses what would concern them."""

    def __init__(self, engine: Engine, analysis: Analysis, functions: Functions) -> None:
        """The engine has the rows of the tables already."""
        self.engine = engine
        self.waiting: Mapping[str, Lack] = {}
        self._tables: Mapping[str, Lack] = {}
        self._analysis = analysis
        self.define(analysis, functions, Update())

    def define(self, analysis: Analysis, functions: Functions, update: Update) -> Mapping[str, Delta]:
        waiting = _waiting(analysis, functions)
        self._check_definitions(analysis, {**self.waiting, **waiting})
        _check(update.deltas, self._tables)
        kept = analysis if not waiting else _without(analysis, waiting)
        deltas = self.engine.define(kept, functions, update)
        self.waiting, self._tables, self._analysis = waiting, _tables_under(analysis, waiting), analysis
        return deltas

    def apply(self, update: Update) -> Mapping[str, Delta]:
        _check(update.deltas, self._tables)
        return self.engine.apply(update)

    def foresee(self, update: Update) -> Mapping[str, Delta]:
        _check(update.deltas, self._tables)
        return self.engine.foresee(update)

    def counts(self, relation: str) -> Mapping[Row, int]:
        _check((relation,), self.waiting)
        return self.engine.counts(relation)

    def metrics(self) -> Mapping[str, int | float]:
        return self.engine.metrics()

    def _check_definitions(self, analysis: Analysis, concerned: Mapping[str, Lack]) -> None:
        """Views that wait may be dropped. What a new or another definition changes could not be told."""
        before, after = _rules(self._analysis, concerned), _rules(analysis, concerned)
        changed = (name for name in concerned if name in analysis.relations and before[name] != after[name])
        _check(changed, concerned)


def without_waiting(analysis: Analysis, functions: Functions) -> Analysis:
    """What can be computed with the functions that are there."""
    return _without(analysis, _waiting(analysis, functions))


def _check(names: Iterable[str], lacking: Mapping[str, Lack]) -> None:
    for name in names:
        if name in lacking:
            view, function = lacking[name]
            raise StateError(
                f"view {view!r} calls function {function.name!r}, which has to be registered again "
                f"before {owner(name)!r} can be used",
                hint=Hint("{} does that", (_registering(function),)),
            )


def _registering(function: Signature) -> Way:
    return Way("function", f'db.function("{function.name}", ..., returns="{function.returns}")')


def _waiting(analysis: Analysis, functions: Functions) -> dict[str, Lack]:
    """The relations that cannot be computed."""
    missing = {name: function.signature for name, function in functions.items() if is_missing(function)}
    waiting: dict[str, Lack] = {}
    for component in analysis.components:
        for rule in component.rules:
            called = sorted(calls(rule) & missing.keys())
            lacks = [Lack(owner(rule.head.relation), missing[name]) for name in called]
            lacks += [waiting[name] for name in reads(rule) if name in waiting]
            if lacks:
                waiting.update(dict.fromkeys(component.relations, lacks[0]))
                break
    return waiting


def _without(analysis: Analysis, waiting: Mapping[str, Lack]) -> Analysis:
    relations = {name: relation for name, relation in analysis.relations.items() if name not in waiting}
    rules = tuple(rule for rule in analysis.program.rules if rule.head.relation not in waiting)
    components = tuple(each for each in analysis.components if waiting.keys().isdisjoint(each.relations))
    return Analysis(Program(tuple(relations.values()), rules), relations, components)


def _tables_under(analysis: Analysis, waiting: Mapping[str, Lack]) -> dict[str, Lack]:
    """The base tables that views which wait read, directly or through other views."""
    under = dict(waiting)
    for component in reversed(analysis.components):
        lacks = [under[name] for name in component.relations if name in under]
        for rule in component.rules if lacks else ():
            for name in reads(rule):
                under.setdefault(name, lacks[0])
    views = {rule.head.relation for rule in analysis.program.rules}
    return {name: lack for name, lack in under.items() if name not in views}


def _rules(analysis: Analysis, names: Iterable[str]) -> dict[str, list[Rule]]:
    rules: dict[str, list[Rule]] = {name: [] for name in names}
    for rule in analysis.program.rules:
        if rule.head.relation in rules:
            rules[rule.head.relation].append(rule)
    return rules
