"""Three services over HTTP, as they would be elsewhere: a shop, a bank and a post, with made-up data."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self
from urllib.parse import parse_qs, urlsplit

# Between so many rounds an order is paid and delivered, if it is.
ROUNDS = 4


class Services:
    """`/shop?round=3` has the orders of a round; `/bank?order=7&round=3` what the bank says of one, and so the post.

    An empty answer is nothing new, and 410 Gone that nothing more will come.
    """

    def __init__(self, orders: int, seed: int = 1) -> None:
        chance = random.Random(seed)  # noqa: S311 - no secrets here
        self.comes = {order: order // 3 for order in range(orders)}
        self.paid = {order: self._later(chance, 0.85) for order in range(orders)}
        self.sent = {order: self._later(chance, 0.75) for order in range(orders)}
        handler = type("Handler", (_Handler,), {"answer": staticmethod(self._answer)})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _later(self, chance: random.Random, likely: float) -> int | None:
        return chance.randrange(ROUNDS) if chance.random() < likely else None

    def _answer(self, service: str, order: int, at: int) -> tuple[int, str]:
        if service == "shop":
            come = [each for each, when in self.comes.items() if when == at]
            if not come and at > max(self.comes.values(), default=0):
                return 410, ""
            return 200, "".join(
                f'<order id="{each}"><bill><?stream bank-{each}?></bill>'
                f"<delivery><?stream post-{each}?></delivery></order>"
                for each in come
            )
        when = (self.paid if service == "bank" else self.sent).get(order)
        age = at - self.comes[order]
        if age > ROUNDS:
            return 410, ""
        told = f'<payment round="{at}"/>' if service == "bank" else f"<at>{at}</at>"
        return 200, told if when == age else ""


class _Handler(BaseHTTPRequestHandler):
    answer: Callable[[str, int, int], tuple[int, str]]

    def do_GET(self) -> None:
        asked = urlsplit(self.path)
        values = parse_qs(asked.query)
        status, text = self.answer(asked.path.strip("/"), int(values.get("order", ["0"])[0]), int(values["round"][0]))
        self.send_response(status)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None:
        """Nobody wants to read it."""
