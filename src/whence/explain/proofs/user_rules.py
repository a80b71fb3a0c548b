"""What an engine knows of rows, in the rules that the user wrote.

Where a recursion computes only what it is asked for, its rules ask whether a row is. That is no reason for a row:
proofs, and all that is made of them, leave it out. The rows that are there suffice for that, since a row that is asked
for follows from such rows alone. Who looks for rows that are not there has to look at all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from whence.analysis.analyze import Analysis, analyze
from whence.analysis.components import Component
from whence.engines.engine import Contents, Dependents, Derivation, Engine, Evidence, Readable, Rows, T
from whence.engines.local.evidence import LocalEvidence
from whence.incremental.store import Store
from whence.model.graphs import reached
from whence.model.program import Program
from whence.model.rules import Atom
from whence.model.types import Row
from whence.planning.statistics import Statistics
from whence.rewriting.magic_sets import is_magic, is_version, without_guards


def in_user_rules(evidence: Evidence) -> Evidence:
    """The evidence itself, where no recursion is asked for rows."""
    return UserRules(evidence) if any(map(is_magic, evidence.analysis.relations)) else evidence


class UserRules(Evidence):
    """`analysis` has the rules without what they ask, and that of `asked` with it."""

    def __init__(self, evidence: Evidence) -> None:
        self.asked = evidence
        self.functions = evidence.functions
        signatures = {name: function.signature for name, function in evidence.functions.items()}
        self.analysis, self._written = without_guards(evidence.analysis, signatures)

    def contents(self, relation: str) -> Contents:
        return self.asked.contents(relation)

    def lookup(self, relation: str) -> Literal["index", "scan", "fetch"]:
        return self.asked.lookup(relation)

    @property
    def statistics(self) -> Statistics:
        return self.asked.statistics

    def live(self, relation: str, row: Row) -> Sequence[Derivation]:
        return [self._in_words(each) for each in self.asked.live(relation, row)]

    def stored(self, relation: str, row: Row) -> Sequence[Derivation] | None:
        found = self.asked.stored(relation, row)
        return None if found is None else [self._in_words(each) for each in found]

    def bases(self, facts: Sequence[tuple[str, Row]]) -> Sequence[Mapping[str, Readable] | None]:
        return self.asked.bases(facts)

    def dependents_within(self, component: Component, below: Mapping[str, Rows]) -> Dependents | None:
        # The engine would follow what is asked for as well, where that is part of the recursion.
        parts = (each.relations for each in self.asked.analysis.components)
        whole = next(each for each in parts if component.relations[0] in each)
        return None if any(map(is_magic, whole)) else self.asked.dependents_within(component, below)

    def gather(self, look: Callable[[], T]) -> T:
        return self.asked.gather(look)

    def _in_words(self, derivation: Derivation) -> Derivation:
        rule = self._written.get(id(derivation.rule))
        return derivation if rule is None else Derivation(rule, _without_asking(derivation))


def _without_asking(derivation: Derivation) -> tuple[Row, ...]:
    atoms = (each for each in derivation.rule.body if isinstance(each, Atom))
    return tuple([row for atom, row in zip(atoms, derivation.body, strict=True) if not is_magic(atom.relation)])


class WholeRelations(UserRules):
    """A recursion that has some of its rows is computed whole, when it is first looked at."""

    def __init__(self, evidence: UserRules, engine: Engine) -> None:
        super().__init__(evidence.asked)
        self._engine = engine
        self._whole: dict[str, Contents] = {}

    def contents(self, relation: str) -> Contents:
        if not is_version(relation):
            return super().contents(relation)
        if relation not in self._whole:
            counts = self._engine.evaluate(self._program(relation), self.functions, relation)
            stores = {relation: Store(counts)}
            self._whole[relation] = LocalEvidence(self.analysis, self.functions, stores, {}).contents(relation)
        return self._whole[relation]

    def _program(self, relation: str) -> Analysis:
        """The rules of a recursion, and of those below it that have some of their rows, over all else as it is."""
        parts = {name: each for each in self.analysis.components for name in each.relations if is_version(name)}

        def reads(name: str) -> tuple[str, ...]:
            return parts[name].reads + parts[name].relations if name in parts else ()

        needed = {*reached({relation}, reads)}
        relations = tuple(self.analysis.relations[name] for name in needed)
        rules = tuple(rule for rule in self.analysis.program.rules if rule.head.relation in needed & parts.keys())
        signatures = {name: function.signature for name, function in self.functions.items()}
        return analyze(Program(relations, rules), signatures)
