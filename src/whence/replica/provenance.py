"""What a row rests on, in terms of base rows of all sites: Table 2 of the paper for any relation that is known here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from whence.algebra.causal import PSemiring
from whence.algebra.derivations import evaluate
from whence.algebra.provenance import Antichain
from whence.explain.hypothetical.what_if import WhatIf
from whence.explain.hypothetical.why_not import WhyNot
from whence.explain.proofs.proof import Proof
from whence.model.graphs import reached
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
    return BaseRow(length.space, length.text, length.length, length.site, length.update)


def supports(knowledge: Knowledge, root: Id) -> Antichain[Id]:
    """The minimal sets of base rows each of which is enough for a row, whether they are there now or not.

    Rows whose absence is needed are left out.
    """
    return supports_of(knowledge, [root])[root]


def supports_of(knowledge: Knowledge, roots: Iterable[Id]) -> dict[Id, Antichain[Id]]:
    """Those of many rows."""
    roots, semiring = list(roots), PSemiring[Id]()
    found = evaluate(_under(knowledge, roots), semiring, semiring.variable, roots)
    return {root: found[root] for root in roots}


def changed_heads(knowledge: Knowledge, space: str, changed: Iterable[Id]) -> list[Id]:
    """The rows of a space whose supports may be others since more is known of these."""
    users: dict[Id, list[Id]] = {}
    for derivation in knowledge.told:
        for need in derivation.needs:
            users.setdefault(need, []).append(derivation.head)
    found = reached(changed, lambda node: users.get(node, ()))
    wanted = {derivation.head for derivation, told in knowledge.told.items() if told.space == space}
    return [node for node in found if node in wanted]


def _under(knowledge: Knowledge, roots: Sequence[Id]) -> Mapping[Id, Sequence[Sequence[Id]]]:
    of: dict[Id, list[Derivation]] = {}
    for derivation in knowledge.told:
        of.setdefault(derivation.head, []).append(derivation)
    found: dict[Id, list[Sequence[Id]]] = {}
    todo = list(roots)
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
    enough for itself. One that is missing may have been deleted by somebody.
    """

    relation: str
    row: Row
    rests_on: tuple[BaseRow, ...]
    is_shared: bool = False

    def __str__(self) -> str:
        told = "; ".join(map(_update, self.rests_on))
        nobody = "nobody is remembered to have had it" if self.is_shared else "of this site alone"
        return f"{self.relation}{self.row}: {told or nobody}"


def _update(row: BaseRow) -> str:
    went = "" if row.length % 2 else ", which deleted it"
    return f"update {row.update} of {row.site}, {row.space}{row.text}{went}"


def base_facts(answer: Proof | WhyNot | WhatIf, tables: Iterable[str]) -> list[tuple[str, Row]]:
    """The rows of tables that a proof ends at, that are missing for one, or that would change."""
    if isinstance(answer, WhyNot):
        sets = [answer.missing or (), *answer.others, answer.instead or ()]
        return list(dict.fromkeys(fact for each in sets for fact in sorted(each, key=repr)))
    if isinstance(answer, WhatIf):
        known = set(tables)
        return [(name, row) for name, changes in answer.changes.items() if name in known for row in changes]
    steps = (step for root in answer.roots for step in root.walk() if step.kind == "base")
    return list(dict.fromkeys((step.fact[0], _row(step.fact[1])) for step in steps))


def _row(pattern: Iterable[object]) -> Row:
    return tuple(pattern)  # type: ignore[arg-type]
