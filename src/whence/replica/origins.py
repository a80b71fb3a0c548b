"""Which site and which update each row of an answer rests on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from whence.explain.hypothetical.what_if import WhatIf
from whence.explain.proofs.proof import Proof
from whence.model.types import Row
from whence.replica.provenance import BaseRow


@dataclass(frozen=True, slots=True)
class Origin:
    """A row of a table, and the rows of all sites that are enough for it; a shared row is enough for itself."""

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
