"""What a component knows of its tuples: facts, groups with a best value, and the derivations between them."""

from __future__ import annotations

from typing import TypeAlias

from whence.engines.local.recursive.bests import Rank
from whence.engines.local.recursive.matching import Matcher
from whence.model.types import Row


class Fact:
    """A tuple, of the component or of a relation below it.

    `live` is the derivation that it was propagated with, `derivations` are those on record, by key, and `users` the
    recorded derivations that it is in the body of. `depth` tells how many steps of the running commit led to it.
    """

    __slots__ = ("alive", "depth", "derivations", "live", "relation", "row", "users")

    def __init__(self, relation: str, row: Row, alive: bool) -> None:
        self.relation = relation
        self.row = row
        self.alive = alive
        self.live: Derivation | None = None
        self.derivations: dict[tuple[object, ...], Derivation] = {}
        self.users: dict[Derivation, None] = {}
        self.depth = 0


class Group:
    """The rows of an aggregated relation that share their group terms, of which only the best one is a fact.

    `chosen` holds per aggregate the derivation with the best value; `waiting` tells that they have changed since
    `fact` was made from them.
    """

    __slots__ = ("chosen", "depth", "derivations", "fact", "key", "relation", "waiting")

    def __init__(self, relation: str, key: Row, aggregates: int) -> None:
        self.relation = relation
        self.key = key
        self.chosen: list[Derivation | None] = [None] * aggregates
        self.fact: Fact | None = None
        self.derivations: dict[tuple[object, ...], Derivation] = {}
        self.waiting = False
        self.depth = 0

    @property
    def alive(self) -> bool:
        return self.fact is not None and self.fact.alive

    def has_best(self, ranks: tuple[Rank, ...]) -> bool:
        """Whether one of these is as good as the chosen one."""
        return any(
            chosen is not None and rank == chosen.ranks[at]
            for at, (rank, chosen) in enumerate(zip(ranks, self.chosen, strict=True))
        )


class Derivation:
    """One way to satisfy a rule's body: the facts in it, in the order of the text.

    `live` counts for how many values the head rests on it: more than one is possible where a head has several
    aggregates.
    """

    __slots__ = ("body", "head", "key", "live", "ranks", "rule", "values")

    def __init__(self, rule: Matcher, head: Head, body: tuple[Fact, ...], values: Row, ranks: tuple[Rank, ...]) -> None:
        self.rule = rule
        self.head = head
        self.body = body
        self.key = (rule.number, *body)
        self.values = values
        self.ranks = ranks
        self.live = 0

    @property
    def holds(self) -> bool:
        """Whether the whole body is there."""
        for fact in self.body:  # noqa: SIM110 - a generator costs too much here
            if not fact.alive:
                return False
        return True


Head: TypeAlias = Fact | Group
