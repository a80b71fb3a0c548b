"""The proof of a row as it was, for an engine whose tables cannot be changed for a moment.

What a change of tables would do to every relation is foreseen. Over that, the rules are followed backwards as always;
derivations that the engine keeps are those of now, and are not looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from whence.analysis.components import Component
from whence.engines.evidence import Contents, Derivation, Evidence, Rows, T
from whence.engines.local.store import Store
from whence.explain.proofs.backwards import Backwards
from whence.explain.proofs.limits import Limits
from whence.explain.proofs.proof import Proof
from whence.explain.proofs.prover import prove
from whence.explain.proofs.reasons import Fact
from whence.explain.proofs.steps import Steps
from whence.explain.weighing.weighing import Weighing
from whence.incremental.keyed import Key
from whence.model.types import Row
from whence.model.updates import Delta, totals

# So many rows may differ between then and now.
MOST_ROWS = 500_000


def proof_supposing(evidence: Evidence, changes: Mapping[str, Delta], fact: Fact) -> str | None:
    """The proof of a row with these changes of relations, as text; None if it is not there, or they are too many."""
    if sum(sum(totals(delta)) for delta in changes.values()) > MOST_ROWS:
        return None
    backwards = Backwards(Supposed(evidence, changes))
    if backwards.evidence.gather(lambda: backwards.count(fact)) <= 0:
        return None
    reasons = prove(backwards, [fact], Limits())
    roots = Steps(reasons, backwards).roots([fact])
    return str(Proof(fact[0], roots, (fact,), reasons, lambda: Weighing(backwards, fact)))


class Supposed:
    """What an engine knows, with changes that have not happened."""

    def __init__(self, evidence: Evidence, changes: Mapping[str, Delta]) -> None:
        self._evidence = evidence
        self._changes = {name: Store(dict(delta.items())) for name, delta in changes.items()}
        self.analysis = evidence.analysis
        self.functions = evidence.functions

    def contents(self, relation: str) -> Contents:
        contents, change = self._evidence.contents(relation), self._changes.get(relation)
        return contents if change is None else _Changed(contents, change)

    def size(self, relation: str) -> int:
        return self._evidence.size(relation)

    def live(self, relation: str, row: Row) -> Sequence[Derivation]:  # noqa: ARG002 - those of now
        return ()

    def stored(self, relation: str, row: Row) -> None:  # noqa: ARG002
        return None

    def bases(self, facts: Sequence[Fact]) -> Sequence[None]:
        return [None] * len(facts)

    def dependents_within(self, component: Component, below: Mapping[str, Rows]) -> None:  # noqa: ARG002
        return None

    def gather(self, look: Callable[[], T]) -> T:
        return self._evidence.gather(look)


class _Changed:
    def __init__(self, contents: Contents, change: Store) -> None:
        self._contents = contents
        self._change = change

    def matching(self, positions: tuple[int, ...], key: Key) -> Mapping[Row, int]:
        found, changed = self._contents.matching(positions, key), self._change.matching(positions, key)
        if not changed:
            return found
        counts = dict(found)
        for row, change in changed.items():
            count = counts.pop(row, 0) + change
            if count:
                counts[row] = count
        return counts

    def count(self, row: Row) -> int:
        return self._contents.count(row) + self._change.counts.get(row, 0)
