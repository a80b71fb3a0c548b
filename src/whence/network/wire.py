"""Between nodes and links: sections become bytes and bytes sections, and both are checked and counted."""

from __future__ import annotations

from collections.abc import Sequence

from whence.model.types import Value
from whence.network.errors import LinkError
from whence.network.links import Links, Parcel
from whence.network.messages import Message, Section, decode, encode
from whence.network.placing import Placing
from whence.network.traffic import LinkTraffic, Traffic
from whence.network.values import DamagedError


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
    def nodes(self) -> int:
        return len(self._placing)

    def name(self, number: int) -> Value:
        return self._placing.name(number)

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
                f"{self.link(overdue.sender, overdue.receiver)} did not deliver it in {self._links.patience:,} rounds",
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
