"""Ship operators: which of the derivations that a node finds it tells the row's node of, and when."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from typing import Generic, TypeVar

from whence.incremental.recursive.journal import UndoLog
from whence.lab.network.held import Numbering
from whence.lab.network.messages import Outbox
from whence.lab.network.provenance.annotations import MORE, NEW, Annotations
from whence.lab.network.values import ValueWriter
from whence.model.types import Row

A = TypeVar("A")


class Ship(ABC, Generic[A]):
    """Relations go by the name that they have where rows are sent, which leads to the node that a row is sent to."""

    @abstractmethod
    def offer(self, relation: str, rows: Sequence[Row], annotations: Sequence[A]) -> None:
        """There are new derivations of rows."""

    @abstractmethod
    def retract(self, relation: str, rows: Sequence[Row], last: bool) -> None:
        """A derivation of rows is gone, perhaps the last one; for annotations that do not say which."""

    def settle(self) -> None:
        """All that a round of work brings has been offered."""

    def strike(self, ids: Collection[int]) -> None:
        """These leaves are gone. All nodes are told, so only what replaces them is to be sent."""

    def start_over(self, relations: Collection[str]) -> None:
        """Rows of these relations may be gone where they were sent, and have to be sent again."""

    def flush(self) -> bool:
        """Nothing more is coming: send what should not wait any longer, and tell whether there was any."""
        return False

    def write(self, writer: ValueWriter) -> None:
        """All that is kept, to see how much it is."""


class Direct(Ship[A]):
    def __init__(self, outbox: Outbox[A]) -> None:
        self._outbox = outbox

    def offer(self, relation: str, rows: Sequence[Row], annotations: Sequence[A]) -> None:
        self._outbox.derived(relation, rows, annotations)

    def retract(self, relation: str, rows: Sequence[Row], last: bool) -> None:  # noqa: ARG002 - nothing is remembered
        self._outbox.deleted(relation, rows)


class Lazy(Ship[A]):
    """The first derivation of a row is all that its node must know for the row to be there: others are kept."""

    def __init__(self, annotations: Annotations[A], outbox: Outbox[A], journal: UndoLog) -> None:
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

    def retract(self, relation: str, rows: Sequence[Row], last: bool) -> None:
        targets = self._targets.numbers(relation, rows)
        sent = [(row, target) for row, target in zip(rows, targets, strict=True) if target in self._sent]
        self._outbox.deleted(relation, [row for row, _ in sent])
        if last:
            self._sent.drop([target for _, target in sent])

    def strike(self, ids: Collection[int]) -> None:
        gone = self._sent.strike(ids)
        self._kept.strike(ids)
        self._send_kept([target for target in gone if target in self._kept])

    def start_over(self, relations: Collection[str]) -> None:
        tuples = self._targets.tuples
        self._sent.drop([target for target in self._sent.rows() if tuples[target][0] in relations])

    def write(self, writer: ValueWriter) -> None:
        for table in (self._sent, self._kept):
            targets = table.rows()
            writer.rows(self._targets.tuples[target][1] for target in targets)
            writer.block(self._annotations.write(table.of(targets)))

    def _send_kept(self, targets: Sequence[int]) -> None:
        annotations = self._kept.of(targets)
        self._kept.drop(targets)
        self._sent.add(targets, annotations)
        for target, annotation in zip(targets, annotations, strict=True):
            relation, row = self._targets.tuples[target]
            self._outbox.derived(relation, [row], [annotation])


class Eager(Lazy[A]):
    """What is kept is sent as well, merged, whenever there is a window of it."""

    def __init__(self, annotations: Annotations[A], outbox: Outbox[A], journal: UndoLog, window: int) -> None:
        super().__init__(annotations, outbox, journal)
        self._window = window

    def offer(self, relation: str, rows: Sequence[Row], annotations: Sequence[A]) -> None:
        start = 0
        while start < len(rows):
            # So many fill the window at most.
            end = start + self._window - len(self._kept.rows())
            super().offer(relation, rows[start:end], annotations[start:end])
            if len(self._kept.rows()) >= self._window:
                self.flush()
            start = end

    def flush(self) -> bool:
        kept = self._kept.rows()
        self._send_kept(kept)
        return bool(kept)
