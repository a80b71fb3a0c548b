"""How much nodes hold, in bytes of a message."""

from __future__ import annotations

from whence.network.values import Writer
from whence.network.world import World


def state_size(world: World, number: int) -> int:
    writer = Writer()
    node = world.nodes.get(number)
    if node is None:
        return 0
    for held in node.all_held.values():
        writer.rows(held.store.counts)
    for part in world.recursive_parts(number):
        for copy in part.shared.own_copies:
            writer.rows(part.own[copy].counts)
        writer.block(node.annotations.write(part.notes.of(part.notes.rows())))
        part.ship.write(writer)
    return len(writer.data)


def provenance_size(world: World) -> float:
    """Per row at home; what annotations on a node have in common is there once."""
    rows, size = 0, 0
    for number in world.nodes:
        for part in world.recursive_parts(number):
            home = [row for row in part.notes.rows() if part.rows.tuples[row][0] in part.shared.copies]
            rows += len(home)
            size += len(part.node.annotations.write(part.notes.of(home)))
    return size / rows if rows else 0.0
