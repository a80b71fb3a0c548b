"""Sites at a broker that loses messages, repeats them and changes their order."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

import whence
from whence.replica.mqtt import MqttSite, Received
from whence.replica.site import Site

NAMES = ("base", "phone", "drone")


@dataclass
class Message:
    topic: str
    payload: bytes


@dataclass
class Broker:
    chance: random.Random
    is_reliable: bool = False
    waiting: list[Message] = field(default_factory=list)
    clients: dict[str, Client] = field(default_factory=dict)

    def deliver(self) -> None:
        while self.waiting:
            at = 0 if self.is_reliable else self.chance.randrange(len(self.waiting))
            message = self.waiting.pop(at)
            if not self.is_reliable and self.chance.random() < 0.2:
                continue
            if not self.is_reliable and self.chance.random() < 0.2:
                self.waiting.append(message)
            client = self.clients.get(message.topic)
            if client is not None and client.on_message is not None:
                client.on_message(client, None, message)


class Client:
    """As paho's, as far as it is used."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self.on_message: Callable[[Any, Any, Received], None] | None = None

    def publish(self, topic: str, payload: bytes, qos: int) -> None:
        assert qos == 1
        self._broker.waiting.append(Message(topic, payload))

    def subscribe(self, topic: str, qos: int) -> None:
        assert qos == 1
        self._broker.clients[topic] = self


def sharing(name: str) -> Site:
    site = whence.site(name)
    site.execute("CREATE TABLE seen(person STRING, place STRING, PRIMARY KEY (person, place))")
    site.share("seen")
    site.introduce(*(each for each in NAMES if each != name))
    return site


@pytest.mark.parametrize("seed", range(6))
def test_sites_agree_over_a_broker(seed: int) -> None:
    chance = random.Random(seed)
    broker = Broker(chance)
    sites = [sharing(name) for name in NAMES]
    at_broker = [MqttSite(site, Client(broker)) for site in sites]
    for number in range(12):
        chance.choice(sites).insert("seen", [(f"person {number}", chance.choice("abc"))])
        chance.choice(at_broker).ask(*chance.sample(NAMES, 2))
        if chance.random() < 0.5:
            broker.deliver()
    broker.is_reliable = True
    for _ in range(2):
        for site, each in zip(sites, at_broker, strict=True):
            each.ask(*(name for name in NAMES if name != site.name))
            broker.deliver()
    assert len(sites[0].rows("seen")) == 12
    assert sites[0].rows("seen") == sites[1].rows("seen") == sites[2].rows("seen")


def test_what_is_no_message_or_from_a_stranger_is_refused_and_the_loop_goes_on() -> None:
    broker = Broker(random.Random(1), is_reliable=True)
    base, stranger = sharing("base"), whence.site("stranger")
    at_broker = MqttSite(base, Client(broker))
    broker.waiting.append(Message("whence/sites/base", b"nothing"))
    MqttSite(stranger, Client(broker)).ask("base")
    broker.deliver()
    assert list(at_broker.refused) == [
        "this is not a message of a site of whence",
        "'stranger' has not been introduced to 'base'",
    ]
