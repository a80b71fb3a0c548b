"""Links that fail: the error names node and link, and nothing has happened on any node."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.lab.network.test_three_nodes import DATALOG, LINKS
from whence.lab.network import LinkError, Links, Network
from whence.lab.network.messages import Message, Struck, encode
from whence.lab.network.wire import Parcel


class Failing(Links):
    """Does something to the messages of one link, the first `spared` aside."""

    def __init__(self, damage: Callable[[bytes], bytes]) -> None:
        super().__init__()
        self.damage = damage
        self.spared: int | None = None

    def tick(self) -> list[Parcel]:
        return [self.touched(parcel) for parcel in super().tick()]

    def touched(self, parcel: Parcel) -> Parcel:
        if self.spared is None:
            return parcel
        self.spared -= 1
        if self.spared >= 0:
            return parcel
        return parcel._replace(data=self.damage(parcel.data))


class Stuck(Links):
    stuck = False

    def extra_delay(self, sender: int, receiver: int) -> float:
        return float("inf") if self.stuck else super().extra_delay(sender, receiver)


def flipped(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


DAMAGES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "truncated": (lambda data: data[:-3], "should have"),
    "corrupt": (flipped, "checksum"),
    "empty": (lambda _: b"", "header"),
    "not a message": (lambda data: b"x" * len(data), "begin"),
    "from the future": (lambda data: data[:4] + b"\x02\x00" + data[6:], "format 2"),
    "of an unknown node": (lambda _: encode(Message(77, 0, 0, ())), "node 77, which does not exist"),
    "of another link": (lambda _: encode(Message(1, 1, 0, ())), "belongs to the link"),
}


@pytest.mark.parametrize("provenance", ["none", "relative", "absorption"])
@pytest.mark.parametrize("damage", list(DAMAGES))
@pytest.mark.parametrize("spared", [0, 1])
def test_damaged_messages(provenance: str, damage: str, spared: int) -> None:
    change, said = DAMAGES[damage]
    links = Failing(change)
    network = Network(DATALOG, provenance=provenance, ship="direct", links=links)
    network.insert("link", LINKS[:2])
    before = network.rows("link"), network.rows("reachable"), network.state_bytes()
    links.spared = spared
    with pytest.raises(LinkError, match=said) as caught:
        network.insert("link", LINKS[2:])
    assert "link '" in str(caught.value)
    assert "node '" in str(caught.value)
    assert (network.rows("link"), network.rows("reachable"), network.state_bytes()) == before
    links.spared = None
    network.insert("link", LINKS[2:])
    network.delete("link", LINKS[:1])
    twin = Network(DATALOG, provenance=provenance, ship="direct")
    twin.insert("link", LINKS[1:])
    assert network.rows("reachable") == twin.rows("reachable")


@pytest.mark.parametrize("provenance", ["none", "absorption"])
def test_a_delete_that_fails_has_not_happened(provenance: str) -> None:
    links = Failing(flipped)
    network = Network(DATALOG, provenance=provenance, links=links)
    network.insert("link", LINKS)
    before = network.rows("link"), network.rows("reachable"), network.state_bytes()
    for spared in range(4):
        links.spared = spared
        with pytest.raises(LinkError):
            network.delete("link", [("C", "B")])
        links.spared = None
        assert (network.rows("link"), network.rows("reachable"), network.state_bytes()) == before
    network.delete("link", [("C", "B")])
    network.delete("link", [("B", "C")])
    assert network.rows("reachable") == {("A", "B"), ("C", "A"), ("C", "B")}


def test_a_link_that_delays_for_ever() -> None:
    links = Stuck()
    network = Network(DATALOG, links=links)
    network.insert("link", LINKS[:3])
    before = network.rows("reachable")
    links.stuck = True
    with pytest.raises(LinkError, match=r"node 'B' waits .* 'C' -> 'B' did not deliver"):
        network.insert("link", LINKS[3:])
    assert network.rows("reachable") == before
    links.stuck = False
    network.insert("link", LINKS[3:])
    assert network.rows("link") == set(LINKS)


def test_a_message_that_is_out_of_order() -> None:
    class Reversing(Links):
        def tick(self) -> list[Parcel]:
            return [
                parcel._replace(data=encode(Message(parcel.sender, parcel.receiver, 5, (Struck([1]),))))
                for parcel in super().tick()
            ]

    network = Network(DATALOG, links=Reversing())
    with pytest.raises(LinkError, match="it is message 5, and message 0 comes next"):
        network.insert("link", LINKS)
    assert network.rows("link") == set()
