"""MinShip, lazy: what is kept goes out only when what was sent is gone."""

from __future__ import annotations

from typing import TypeVar

from whence.network.shipping.buffering import Buffering

A = TypeVar("A")


class Lazy(Buffering[A]):
    """Nothing to add: this is all that a row's node must know for the row to be there."""
