"""Diagrams held for rows, by the numbers of the rows: kernels.

Rows that hold the same diagram are a list, so that a branch tells which rows it matters to. What a row held before the
change under way is kept until that is over.
"""

from __future__ import annotations

from whence.engines.local.forest.kernels import inlined, kernel
from whence.network.diagrams.layout import FALSE, FIRST_BRANCH, NONE, OR, Array, Branches, Long
from whence.network.diagrams.operations import combined
from whence.network.provenance.annotations import MORE, NEW, SAME

# The columns of a row.
DIAGRAM, BEFORE, NEXT, PREVIOUS, WIDTH = range(5)


@inlined
def hold(held: Array, first: Array, changed: Array, counts: Long, row: int, diagram: int) -> None:
    """A row holds another diagram from now on."""
    before = held[row, DIAGRAM]
    if held[row, BEFORE] == NONE:
        held[row, BEFORE] = before
        changed[counts[0]] = row
        counts[0] += 1
    if before >= FIRST_BRANCH:
        following, previous = held[row, NEXT], held[row, PREVIOUS]
        if previous == NONE:
            first[before] = following
        else:
            held[previous, NEXT] = following
        if following != NONE:
            held[following, PREVIOUS] = previous
    held[row, DIAGRAM] = diagram
    link(held, first, row)


@inlined
def link(held: Array, first: Array, row: int) -> None:
    diagram = held[row, DIAGRAM]
    if diagram >= FIRST_BRANCH:
        following = first[diagram]
        held[row, NEXT] = following
        held[row, PREVIOUS] = NONE
        first[diagram] = row
        if following != NONE:
            held[following, PREVIOUS] = row


@kernel
def add(
    branches: Branches,
    held: Array,
    first: Array,
    changed: Array,
    counts: Long,
    rows: Array,
    diagrams: Array,
    keeps_first: bool,
    effects: Array,
    start: int,
) -> int:
    """Add diagrams to what rows hold, or only to those that hold none; and what that changes, or would have changed.

    How far there was room for, from `start`.
    """
    for at in range(start, len(rows)):
        row = rows[at]
        before = held[row, DIAGRAM]
        total = combined(branches, OR, before, diagrams[at])
        if total == NONE:
            return at
        effects[at] = SAME if total == before else NEW if before == FALSE else MORE
        if total != before and (before == FALSE or not keeps_first):
            hold(held, first, changed, counts, row, total)
    return len(rows)


@kernel
def put(held: Array, first: Array, changed: Array, counts: Long, rows: Array, diagrams: Array) -> None:
    for at in range(len(rows)):
        hold(held, first, changed, counts, rows[at], diagrams[at])


@kernel
def replace(held: Array, first: Array, changed: Array, counts: Long, listed: Array, memo: Array, gone: Array) -> int:
    """Whoever holds a listed diagram gets what the memo has in its place. How many hold nothing then, and are gone."""
    end = 0
    for at in range(len(listed)):
        row = first[listed[at]]
        while row != NONE:
            following = held[row, NEXT]
            hold(held, first, changed, counts, row, memo[listed[at]])
            if memo[listed[at]] == FALSE:
                gone[end] = row
                end += 1
            row = following
    return end


@kernel
def link_again(held: Array, first: Array) -> None:
    """Make all lists anew."""
    for at in range(len(first)):
        first[at] = NONE
    for row in range(len(held)):
        link(held, first, row)
