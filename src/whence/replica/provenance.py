"""What a row rests on, in terms of base rows of all sites: Table 2 of the paper for any relation that is known here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from whence.algebra.causal import PSemiring
from whence.algebra.derivations import evaluate
from whence.algebra.provenance import Antichain
from whence.explain.hypothetical.what_if import WhatIf
from whence.explain.proofs.proof import Proof
from whence.model.types import Row
from whence.replica.knowledge import Knowledge, Length
from whence.replica.presence import Derivation
from whence.replica.rows import Id


class BaseRow(NamedTuple):
    """A row that others rest on: the table or `site:view` that it belongs to, its text, and what became of it."""

    space: str
    text: str
    length: int
    site: str
    update: int = 0
    """The last update of it, by its number at the site."""

    def __str__(self) -> str:
        what = "inserted" if self.length % 2 else "deleted"
        return f"{self.space}{self.text}, {what} at {self.site}"


def base_row(length: Length) -> BaseRow:
    return BaseRow(length.space, length.text, length.length, length.dot.site, length.dot.number)


def supports(knowledge: Knowledge, root: Id) -> Antichain[Id]:
    """The minimal sets of base rows each of which is enough for a row, whether they are there now or not.

    Rows whose absence is needed are left out.
    """
    semiring: PSemiring[Id] = PSemiring()
    return evaluate(_under(knowledge, root), semiring, semiring.variable, [root])[root]


def _under(knowledge: Knowledge, root: Id) -> Mapping[Id, Sequence[Sequence[Id]]]:
    of: dict[Id, list[Derivation]] = {}
    for derivation in knowledge.told:
        of.setdefault(derivation.head, []).append(derivation)
    found: dict[Id, list[Sequence[Id]]] = {}
    todo = [root]
    while todo:
        node = todo.pop()
        if node in of and node not in found:
            found[node] = [derivation.needs for derivation in of[node]]
            todo += _all_needs(of[node])
    return found


def _all_needs(derivations: Iterable[Derivation]) -> list[Id]:
    return [need for derivation in derivations for need in derivation.needs]


@dataclass(frozen=True, slots=True)
class Origin:
    """A row of a table that an answer rests on, and the rows of all sites that are enough for it; a shared row is
    enough for itself.
    """

    relation: str
    row: Row
    rests_on: tuple[BaseRow, ...]

    def __str__(self) -> str:
        told = "; ".join(f"update {each.update} of {each.site}, {each.space}{each.text}" for each in self.rests_on)
        return f"{self.relation}{self.row}: {told or 'of this site alone'}"


def base_facts(answer: Proof | WhatIf, tables: Iterable[str]) -> list[tuple[str, Row]]:
    """The rows of tables that a proof ends at, or that would change."""
    if isinstance(answer, WhatIf):
        known = set(tables)
        return [(name, row) for name, changes in answer.changes.items() if name in known for row in changes]
    steps = (step for root in answer.roots for step in root.walk() if step.kind == "base")
    return list(dict.fromkeys((step.fact[0], _row(step.fact[1])) for step in steps))


def _row(pattern: Iterable[object]) -> Row:
    return tuple(pattern)  # type: ignore[arg-type]
