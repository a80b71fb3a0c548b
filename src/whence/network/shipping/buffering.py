"""MinShip: the first derivation of a row is sent at once, further ones are kept and merged.

Each row that was sent has `sent`, what its node knows from here, and perhaps `kept`, what it does not know. When the
last of `sent` is struck, what is kept goes out in its place. Subclasses say when it goes out before that.

The operator printed in the literature sends a deletion whenever it has something in its place, and sends it first. Here
everyone hears of a struck leaf from the node where it was, so that nothing but the replacement is sent.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Generic, TypeVar

from whence.engines.local.recursive.journal import Journal
from whence.model.types import Row
from whence.network.numbering import Numbering
from whence.network.outbox import Outbox
from whence.network.provenance.annotations import MORE, NEW, Annotations
from whence.network.values import Writer

A = TypeVar("A")


class Buffering(Generic[A]):
    def __init__(self, annotations: Annotations[A], outbox: Outbox[A], journal: Journal) -> None:
        self._annotations = annotations
        self._outbox = outbox
        self._targets = Numbering()
        self._sent = annotations.table(journal)
        self._kept = annotations.table(journal)

    def offer(self, relation: str, rows: Sequence[Row], annotations: Sequence[A]) -> None:
        targets = self._targets.numbers(relation, rows)
        effects = self._sent.add(targets, annotations, keeps_first=True)
        first = [at for at, effect in enumerate(effects) if effect == NEW]
        self._outbox.derived(relation, [rows[at] for at in first], [annotations[at] for at in first])
        more = [at for at, effect in enumerate(effects) if effect == MORE]
        self._kept.add([targets[at] for at in more], [annotations[at] for at in more])

    def settle(self) -> None:
        """What is sent has been sent."""

    def retract(self, relation: str, rows: Sequence[Row], last: bool) -> None:
        targets = self._targets.numbers(relation, rows)
        sent = [(row, target) for row, target in zip(rows, targets, strict=True) if target in self._sent]
        self._outbox.deleted(relation, [row for row, _ in sent])
        if last:
            self._sent.drop([target for _, target in sent])

    def strike(self, ids: Collection[int]) -> None:
        gone = self._sent.strike(ids)
        self._kept.strike(ids)
        replaced = [target for target in gone if target in self._kept]
        annotations = self._kept.of(replaced)
        self._kept.drop(replaced)
        self._sent.add(replaced, annotations)
        self._send(replaced, annotations)

    def start_over(self, relations: Collection[str]) -> None:
        tuples = self._targets.tuples
        self._sent.drop([target for target in self._sent.rows() if tuples[target][0] in relations])

    def flush(self) -> bool:
        return False

    def write(self, writer: Writer) -> None:
        for table in (self._sent, self._kept):
            targets = table.rows()
            writer.rows(self._targets.tuples[target][1] for target in targets)
            writer.block(self._annotations.write(table.of(targets)))

    def _send(self, targets: Sequence[int], annotations: Sequence[A]) -> None:
        for target, annotation in zip(targets, annotations, strict=True):
            relation, row = self._targets.tuples[target]
            self._outbox.derived(relation, [row], [annotation])
