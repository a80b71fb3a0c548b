"""What a commit cost a component, and where it was done."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from whence.model.updates import Delta, totals


@dataclass
class Work:
    """`tries` were made in the driver; `on_cluster` is why the component was derived anew there, if it was."""

    rows_in: int = 0
    rows_out: int = 0
    elapsed: float = 0.0
    tries: int = 0
    on_cluster: str | None = None

    @contextmanager
    def measured(self, inputs: Iterable[Delta]) -> Iterator[None]:
        self.rows_in = sum(sum(totals(delta)) for delta in inputs)
        started = time.perf_counter()
        yield
        self.elapsed = time.perf_counter() - started
