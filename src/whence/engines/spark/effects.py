"""What follows from a change, before anything of it has happened."""

from __future__ import annotations

from dataclasses import dataclass, field

from whence.engines.spark.followed import Followed
from whence.engines.spark.frames import FrameDelta
from whence.engines.spark.registry import Appended, Changed, StateChange
from whence.model.updates import Delta, Update


@dataclass
class Effects:
    """What readers see, and what changes in the states."""

    seen: dict[str, Delta] = field(default_factory=dict)
    states: dict[str, StateChange] = field(default_factory=dict)

    def add(self, followed: Followed) -> None:
        self.seen.update((name, delta) for name, delta in followed.seen.items() if delta)
        self.states.update(followed.states)


def of_tables(update: Update) -> Effects:
    """What an update does to the tables themselves."""
    effects = Effects({name: delta for name, delta in update.deltas.items() if delta})
    for name, delta in effects.seen.items():
        effects.states[name] = Appended(delta.frame, delta.rows) if isinstance(delta, FrameDelta) else Changed(delta)
    return effects
