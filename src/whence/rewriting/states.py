"""Names for a relation at the two ends of a step, as the paper writes them.

`gene` is what the relation holds before, `gene'` what it will hold, and `Δgene` the difference. A set view has, beside
the rows that its readers see, a count of derivations for each: `gene$derivations` is the bag of those.
"""

from __future__ import annotations

import re

from whence.model.schema import AUXILIARY_MARK

_AFTER = "'"
_CHANGE = "Δ"
_DERIVATIONS = f"{AUXILIARY_MARK}derivations"
# Names that are quoted where rules are written, and need not be in a plan.
_QUOTED = re.compile(r"`(Δ?[^\W\d][\w$]*'?)`")


def after(relation: str) -> str:
    return relation + _AFTER


def change(relation: str) -> str:
    return _CHANGE + relation


def derivations(relation: str) -> str:
    return relation + _DERIVATIONS


def is_after(state: str) -> bool:
    return state.endswith(_AFTER)


def is_change(state: str) -> bool:
    return state.startswith(_CHANGE)


def is_derivations(state: str) -> bool:
    return state.endswith(_DERIVATIONS)


def relation_of(state: str) -> str:
    """The relation that a name is a state of."""
    return state.removeprefix(_CHANGE).removesuffix(_AFTER).removesuffix(_DERIVATIONS)


def is_ambiguous(relation: str) -> bool:
    """Whether a relation is called like a state of another one."""
    return relation_of(relation) != relation


def as_written(line: str) -> str:
    """A line of a plan, with the names of states as they are."""
    return _QUOTED.sub(r"\1", line)
