"""Orders of many customers as a stream of Spark: what each service tells, in files of JSON."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

TEMPLATE = "<order><?stream bank?><?stream post?></order>"
QUERY = "/order[payment][delivery/@at <= payment/@at + 4]"


def events(orders: int, seed: int = 1) -> list[tuple[str, str, str | None]]:
    """Payments, deliveries and ends of streams, in the order of their times; some never come."""
    chance = random.Random(seed)  # noqa: S311 - no secrets here
    timed: list[tuple[float, str, str, str | None]] = []
    for number in range(orders):
        key, at = str(number), chance.uniform(0, 1000)
        timed.append((at, key, "bank", f'<payment at="{at:.2f}"/>'))
        if chance.random() < 0.8:
            sent = at + chance.uniform(0, 6)
            timed.append((sent, key, "post", f'<delivery at="{sent:.2f}"/>'))
        if chance.random() < 0.5:
            timed.extend((at + 8, key, stream, None) for stream in ("bank", "post"))
    return [(key, stream, fragment) for _, key, stream, fragment in sorted(timed, key=lambda each: each[0])]


def expected(told: list[tuple[str, str, str | None]]) -> dict[str, str]:
    """The verdicts, from the events as they are: no documents, no views."""
    paid: dict[str, float] = {}
    sent: dict[str, float] = {}
    ended: dict[str, set[str]] = {}
    for key, stream, fragment in told:
        if fragment is None:
            ended.setdefault(key, set()).add(stream)
        else:
            (paid if stream == "bank" else sent)[key] = float(fragment.split('"')[1])
    found = {}
    for key in {key for key, _, _ in told}:
        if key in paid and key in sent and sent[key] <= paid[key] + 4:
            found[key] = "true"
        else:
            # Whatever has come, a further payment or delivery may still fit, from either stream.
            found[key] = "never" if len(ended.get(key, ())) == 2 else "not yet"
    return found


def write(told: list[tuple[str, str, str | None]], directory: Path, batches: int) -> None:
    """One file for each micro-batch."""
    size = -(-len(told) // batches)
    for number in range(batches):
        rows = told[number * size : (number + 1) * size]
        lines = [json.dumps(dict(zip(("key", "stream", "fragment"), row, strict=True))) for row in rows]
        path = directory / f"{number:05}.json"
        path.write_text("\n".join(lines))
        # Spark takes files in the order of their times, which are equal for files that are written at once.
        os.utime(path, (number, number))
