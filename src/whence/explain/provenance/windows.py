"""What cannot be asked of rows above a window function.

A row of a window rests on its own row below, which is what `why` shows; its number rests on all rows that were counted
before it, and on the absence of others. No set of base rows suffices for it, and questions for such sets are refused.
"""

from __future__ import annotations

from collections.abc import Iterable

from whence.errors import Hint, NextStep, UnsupportedError
from whence.explain.proofs.backwards import Backwards
from whence.model.schema import owner

_WHAT_IF = Hint("{} tells what a change would do", (NextStep("what_if", "db.what_if"),))


def refuse_windows(backwards: Backwards, relations: Iterable[str]) -> None:
    """Raises if one of these relations, or what it reads, has window functions."""
    seen: set[str] = set()
    todo = list(relations)
    while todo:
        name = todo.pop()
        component = backwards.component[name]
        if component.windowed or component.unnested:
            what = "a window function or LIMIT" if component.windowed else "the elements of an array"
            raise UnsupportedError(
                f"this cannot be told of rows above {what}, which {owner(name)!r} has",
                span=component.rules[0].span,
                hint=_WHAT_IF,
            )
        new = {*component.relations, *component.reads} - seen
        seen |= new
        todo.extend(new)


def refuse_windows_above(backwards: Backwards, table: str) -> None:
    """Raises if a relation with window functions follows from the table."""
    above = {table}
    for component in dict.fromkeys(backwards.component.values()):
        if not above.isdisjoint(component.reads):
            above.update(component.relations)
            if component.windowed or component.unnested:
                refuse_windows(backwards, component.relations)
