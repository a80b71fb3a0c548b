"""What went over the links in consequence of one change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeAlias

from whence.model.types import Value

# The names of the node that sends and of the one that receives.
Link: TypeAlias = tuple[Value, Value]


@dataclass(frozen=True, slots=True)
class LinkTraffic:
    messages: int = 0
    tuples: int = 0
    bytes: int = 0

    def __add__(self, other: LinkTraffic) -> LinkTraffic:
        return LinkTraffic(self.messages + other.messages, self.tuples + other.tuples, self.bytes + other.bytes)


@dataclass(frozen=True, slots=True)
class Traffic:
    """By link and in total. `rounds` is how often nodes worked on what had arrived until nothing more came."""

    links: Mapping[Link, LinkTraffic] = field(default_factory=lambda: MappingProxyType({}))
    rounds: int = 0

    @property
    def total(self) -> LinkTraffic:
        return sum(self.links.values(), LinkTraffic())

    @property
    def messages(self) -> int:
        return self.total.messages

    @property
    def tuples(self) -> int:
        """Changes of tuples that were shipped, inserts and deletes alike."""
        return self.total.tuples

    @property
    def bytes(self) -> int:
        return self.total.bytes

    def __add__(self, other: Traffic) -> Traffic:
        links = dict(self.links)
        for link, traffic in other.links.items():
            links[link] = links.get(link, LinkTraffic()) + traffic
        return Traffic(links, self.rounds + other.rounds)
