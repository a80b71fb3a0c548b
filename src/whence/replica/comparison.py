"""Two sites that have lost count of each other compare summaries, prefix by prefix, and tell what differs.

Who asks keeps the list of what is still to be compared; who answers keeps nothing. An answer counts for the question
that it answers, so that one which is late, or comes twice, changes nothing. What changes meanwhile has numbers after
the one at which comparing began, and is asked for by number afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import uuid4

from whence.replica.knowledge import Key
from whence.replica.messages import Query, Split
from whence.replica.summary import BRANCHES, PLACE_DIGITS, Part, Summaries, Total

FEW = 16  # what is told at once, instead of being compared further
QUERIES = 2_000  # in one message: their answers stay under a megabyte
# What takes fewer bytes than comparing would.
WORTH_COMPARING = 500

_DIGITS = "0123456789abcdef"


class Comparison:
    """What a site has still to compare with another, whose numbers up to `ends` it will have then."""

    def __init__(self, interest: str, ends: int) -> None:
        self.interest = interest
        self.ends = ends
        self._name = uuid4().hex[:12]
        self._step = 0
        self._todo: list[Query] = []

    @property
    def round(self) -> str:
        """Names the question that is open."""
        return f"{self._name}.{self._step}"

    @property
    def queries(self) -> list[Query]:
        return self._todo[:QUERIES]

    def take(self, summaries: Summaries, splits: Sequence[Split], answered: int) -> bool:
        """An answer to the open question, whose items are known already; whether that was all."""
        self._step += 1
        self._todo = self._todo[answered:]
        for split in splits:
            prefixes = _below(split.prefix)
            ours = summaries.totals(split.part, prefixes)
            for prefix, mine, theirs in zip(prefixes, ours, split.totals, strict=True):
                if theirs.pieces and mine != theirs:
                    is_leaf = mine.pieces <= FEW or len(prefix) == PLACE_DIGITS
                    prints = tuple(summaries.prints(split.part, prefix)) if is_leaf else None
                    self._todo.append(Query(split.part, prefix, mine, prints))
        return not self._todo


def first_splits(summaries: Summaries, parts: Sequence[Part]) -> list[Split]:
    """Where comparing begins."""
    return [_split(summaries, part, "") for part in parts if summaries.total(part, "").pieces]


def answer(summaries: Summaries, queries: Sequence[Query], most: int) -> tuple[dict[Key, None], list[Split], int]:
    """What the other site lacks, where to look further, and how many of the questions this answers.

    It has at most so many pieces of knowledge, except where one question alone needs more.
    """
    found: dict[Key, None] = {}
    splits: list[Split] = []
    for at, query in enumerate(queries):
        part, prefix = query.part, query.prefix
        ours = summaries.total(part, prefix)
        if ours == query.total or not ours.pieces:
            continue
        can_split = len(prefix) < PLACE_DIGITS
        if can_split and (ours.pieces > FEW if query.prints is None else ours.pieces > most + len(query.prints)):
            splits.append(_split(summaries, part, prefix))
            continue
        known = set(query.prints or ())
        missing = [key for mark, key in summaries.prints(part, prefix).items() if mark not in known]
        if found and len(found) + len(missing) > most:
            return found, splits, at
        found.update(dict.fromkeys(missing))
    return found, splits, len(queries)


def _split(summaries: Summaries, part: Part, prefix: str) -> Split:
    totals: tuple[Total, ...] = tuple(summaries.totals(part, _below(prefix)))
    return Split(part, prefix, totals)


def _below(prefix: str) -> list[str]:
    return [prefix + digit for digit in _DIGITS[:BRANCHES]]
