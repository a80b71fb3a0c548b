"""The links: bytes arrive after a while, and on each link in the order in which they were sent."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from whence.errors import WhenceError
from whence.lab.network.messages import Message, Section, decode, encode
from whence.lab.network.node import Placing
from whence.lab.network.values import DamagedError
from whence.model.types import Value

# A message that takes longer than this is lost; no delay worth simulating is longer.
DEADLINE_ROUNDS = 10_000


class LinkError(WhenceError):
    """A message that cannot be read, has no node to go to, or does not arrive."""


class Parcel(NamedTuple):
    sender: int
    receiver: int
    due: float
    data: bytes


class Links:
    """A message takes one round, and up to `delay` more, drawn at random from `seed`."""

    def __init__(self, delay: int = 0, seed: int = 0) -> None:
        self.delay = delay
        self.now = 0
        self._chance = Random(seed)  # noqa: S311 - chance is not a secret here
        self._queues: dict[tuple[int, int], deque[Parcel]] = {}

    @property
    def is_busy(self) -> bool:
        return any(self._queues.values())

    def send(self, sender: int, receiver: int, data: bytes) -> None:
        queue = self._queues.setdefault((sender, receiver), deque())
        due = self.now + 1 + self.extra_delay(sender, receiver)
        queue.append(Parcel(sender, receiver, max(due, queue[-1].due) if queue else due, data))

    def extra_delay(self, sender: int, receiver: int) -> float:  # noqa: ARG002 - links may differ
        return self._chance.randint(0, self.delay) if self.delay else 0

    def tick(self) -> list[Parcel]:
        """One more round: what arrives in it."""
        self.now += 1
        arrived: list[Parcel] = []
        for queue in self._queues.values():
            while queue and queue[0].due <= self.now:
                arrived.append(queue.popleft())
        return arrived

    def overdue(self) -> Parcel | None:
        """A message that will not arrive before the deadline."""
        waiting = (queue[0] for queue in self._queues.values() if queue)
        return next((parcel for parcel in waiting if parcel.due > self.now + DEADLINE_ROUNDS), None)

    def clear(self) -> None:
        """Forget what is under way."""
        self._queues.clear()


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


class Wire:
    def __init__(self, links: Links, placing: Placing) -> None:
        self._links = links
        self._placing = placing
        self._sent: dict[tuple[int, int], int] = {}
        self._received: dict[tuple[int, int], int] = {}
        self._traffic: dict[tuple[int, int], LinkTraffic] = {}
        self.rounds = 0

    @property
    def is_busy(self) -> bool:
        return self._links.is_busy

    @property
    def slowest(self) -> int:
        """How many rounds a message can take."""
        return 1 + self._links.delay

    def start(self) -> None:
        """A change begins: nothing is under way, and nothing is counted yet."""
        self._links.clear()
        for counted in (self._sent, self._received, self._traffic):
            counted.clear()
        self.rounds = 0

    def traffic(self) -> Traffic:
        """What the change has cost so far."""
        name = self._placing.name
        return Traffic({(name(a), name(b)): traffic for (a, b), traffic in self._traffic.items()}, self.rounds)

    def post(self, sender: int, receiver: int, sections: Sequence[Section]) -> None:
        link = (sender, receiver)
        number = self._sent.get(link, 0)
        message = Message(sender, receiver, number, tuple(sections))
        data = encode(message)
        self._sent[link] = number + 1
        cost = LinkTraffic(1, message.tuples, len(data))
        self._traffic[link] = self._traffic.get(link, LinkTraffic()) + cost
        self._links.send(sender, receiver, data)

    def tick(self) -> list[tuple[int, int, Sequence[Section]]]:
        """The messages of one more round: who sent them, who receives them, and what is in them."""
        self.rounds += 1
        overdue = self._links.overdue()
        if overdue is not None:
            raise LinkError(
                f"node {self._name(overdue.receiver)} waits for a message of {len(overdue.data)} bytes, and the link "
                f"{self.link(overdue.sender, overdue.receiver)} did not deliver it in {DEADLINE_ROUNDS:,} rounds",
                hint="nothing has changed on any node; try again when the link works",
            )
        return [self._open(parcel) for parcel in self._links.tick()]

    def link(self, sender: int, receiver: int) -> str:
        return f"{self._name(sender)} -> {self._name(receiver)}"

    def unreadable(self, sender: int, receiver: int, reason: DamagedError) -> LinkError:
        return LinkError(
            f"node {self._name(receiver)} cannot read a message from the link {self.link(sender, receiver)}: {reason}",
            hint="nothing has changed on any node",
        )

    def _open(self, parcel: Parcel) -> tuple[int, int, Sequence[Section]]:
        if parcel.receiver >= len(self._placing):
            raise LinkError(f"there is no node {parcel.receiver} at the end of a link from {self._name(parcel.sender)}")
        try:
            message = decode(parcel.data)
            self._check(parcel, message)
        except DamagedError as reason:
            raise self.unreadable(parcel.sender, parcel.receiver, reason) from None
        return message.sender, message.receiver, message.sections

    def _check(self, parcel: Parcel, message: Message) -> None:
        link = (parcel.sender, parcel.receiver)
        if (message.sender, message.receiver) != link:
            for number in (message.sender, message.receiver):
                if number >= len(self._placing):
                    raise DamagedError(f"it is about a node {number}, which does not exist")
            raise DamagedError(f"it belongs to the link {self.link(message.sender, message.receiver)}")
        expected = self._received.get(link, 0)
        if message.number != expected:
            raise DamagedError(f"it is message {message.number}, and message {expected} comes next")
        self._received[link] = expected + 1

    def _name(self, number: int) -> str:
        return repr(self._placing.name(number)) if number < len(self._placing) else str(number)
