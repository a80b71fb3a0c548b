"""Orders, payments and deliveries arrive from three services; a page shows what is waiting for what.

    python examples/orders/run.py [--orders 24] [--page orders.html] [--keep-all]

Each order has a subscription at the bank and one at the post. As soon as one of them cannot change any answer, it is
closed: whence says which.
"""

from __future__ import annotations

import argparse
import html
import sys
import urllib.error
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from rich.console import Console
from services import Services  # beside this file

from whence.documents import Document, Query


class Watch:
    """The document of all orders, its query, and what became of each subscription."""

    def __init__(self, address: str, closes: bool) -> None:
        self._address = address
        self._closes = closes
        self.doc = Document.xml("<orders><?stream shop?></orders>", name="orders")
        self.served: Query = self.doc.query(
            "/orders/order[bill/payment][delivery/at]", select={"id": "@id"}, name="served"
        )
        self.ready: Query = self.doc.query("/orders/order[bill/payment][delivery/at]", name="ready")
        self.requests = 0
        self.closed: list[str] = []
        self.ended: list[str] = []

    def round(self, number: int) -> None:
        """Ask every service that is still subscribed to."""
        for stream in self.doc.streams:
            service, _, order = stream.partition("-")
            self.requests += 1
            url = f"{self._address}/{service}?round={number}&order={order or 0}"
            try:
                with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310 - our own services
                    text = answer.read().decode()
            except urllib.error.HTTPError as error:
                if error.code != 410:
                    raise
                self.doc.end(stream)
                self.ended.append(stream)
                continue
            if text:
                self.doc.add(stream, text)
        if self._closes:
            self.closed += self.doc.collect()

    def page(self, number: int) -> str:
        served = sorted((row[0] for row in self.served.answers), key=int)
        waiting = [each for each in self.ready.why_not() if each.streams and each.path != "/orders"]
        rows = "".join(
            f"<tr><td>{streams.split('-')[-1]}</td><td>{LACKING.get(wanted, wanted)}</td><td>{streams}</td></tr>"
            for wanted, streams in ((html.escape(each.wanted), ", ".join(each.streams)) for each in waiting)
        )
        return PAGE.format(
            round=number,
            status=self.ready.status,
            served=", ".join(served) or "none yet",
            waiting=rows or '<tr><td colspan="3">nothing</td></tr>',
            closed=", ".join(self.closed) or "none",
            ended=", ".join(self.ended) or "none",
            open=", ".join(self.doc.streams) or "none",
            requests=self.requests,
        )


LACKING = {"payment": "a payment", "at": "a delivery"}
PAGE = """<!doctype html><meta charset="utf-8"><title>Orders</title>
<style>
  body {{ font: 15px/1.5 system-ui, sans-serif; max-width: 60em; margin: 1em auto; padding: 0 1em; color: #1d2733 }}
  table {{ border-collapse: collapse }} td, th {{ padding: .2em 1.2em .2em 0; text-align: left }}
  th {{ border-bottom: 1px solid #8a97a8 }} h2 {{ margin: 1.4em 0 .3em; font-size: 1.1em }} p {{ margin: .2em 0 }}
</style>
<h1>Orders, round {round}</h1>
<p>{requests} requests so far.</p>
<h2>Paid and delivered</h2><p>{served}</p>
<h2>What is waiting for what</h2>
<table><tr><th>order</th><th>lacks</th><th>which may come from</th></tr>{waiting}</table>
<h2>Subscriptions that were closed, because they are useless</h2><p>{closed}</p>
<h2>Subscriptions that ended by themselves</h2><p>{ended}</p>
<h2>Subscriptions that are open</h2><p>{open}</p>
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--orders", type=int, default=24)
    parser.add_argument("--page", type=Path, default=Path("orders.html"), help="written anew in every round")
    parser.add_argument("--keep-all", action="store_true", help="close no subscription, to compare the requests")
    parser.add_argument("--rounds", type=int, default=100, help="stop after so many, at the latest")
    given = parser.parse_args()
    console = Console(highlight=False)
    with Services(given.orders) as services:
        watch = Watch(services.address, closes=not given.keep_all)
        for number in range(given.rounds):
            watch.round(number)
            given.page.write_text(watch.page(number))
            console.print(
                f"round {number}: {len(watch.served.answers)} served, {len(watch.doc.streams)} subscriptions open, "
                f"{len(watch.closed)} closed as useless, {len(watch.ended)} ended"
            )
            if watch.ready.final:
                break
    console.print(f"{watch.requests} requests. The page is {given.page}.")


if __name__ == "__main__":
    main()
