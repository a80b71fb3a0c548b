"""Messages over a broker of MQTT: each site listens to a topic of its own, and answers to those of others.

The client is one of paho-mqtt, or anything like it that is connected; whence brings none. A broker may lose messages,
repeat them and change their order, which sites bear: what is not the next part changes nothing, and is asked for again.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from whence.errors import WhenceError
from whence.replica.messages import MOST_BYTES, unpack
from whence.replica.offers import check_name
from whence.replica.site import Site

logger = logging.getLogger("whence")

TOPIC = "whence/sites"
AT_LEAST_ONCE = 1
MOST_REFUSED = 100  # reasons that are kept for whoever looks


class Received(Protocol):
    """A message as clients hand it over."""

    topic: str
    payload: bytes


class Client(Protocol):
    """What is used of a client: paho's has it."""

    on_message: Callable[[Any, Any, Received], None] | None

    def publish(self, topic: str, payload: bytes, qos: int) -> object: ...

    def subscribe(self, topic: str, qos: int) -> object: ...


class MqttSite:
    """A site at a broker. It answers as long as the client runs; `ask` brings it up to date."""

    def __init__(self, site: Site, client: Client, *, topic: str = TOPIC) -> None:
        """The client calls back from a thread of its own or not, as it likes."""
        self._site = site
        self._client = client
        self._topic = topic
        self.refused: deque[str] = deque(maxlen=MOST_REFUSED)
        """Why messages were not taken, the last ones."""

        client.on_message = self._received
        client.subscribe(f"{topic}/{site.name}", AT_LEAST_ONCE)

    def ask(self, *sites: str) -> None:
        """Ask sites for what is new there. The answers come when they come."""
        for each in sites:
            self._send(check_name(each), self._site.ask(each))

    def _send(self, to: str, data: bytes) -> None:
        self._client.publish(f"{self._topic}/{to}", data, AT_LEAST_ONCE)

    def _received(self, _client: object, _data: object, message: Received) -> None:
        data = bytes(message.payload)
        try:
            if len(data) > MOST_BYTES:
                raise WhenceError(f"it has more than {MOST_BYTES:,} bytes")
            answer = self._site.handle(data, from_anybody=False)
            if answer is not None:
                self._send(check_name(unpack(data).head.site), answer)
        except WhenceError as error:
            # Whoever calls is the client's loop, which is to go on.
            logger.warning("%s refuses a message: %s", self._site.name, error.message)
            self.refused.append(error.message)
