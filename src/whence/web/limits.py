"""How much one request may ask for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """`body` in bytes, `rows` of an answer, `seconds` for one, and how many are worked on `at_once`.

    `steps` of a proof are sent at a time, and the last `proofs` can be opened further. So many `commits` are
    remembered, and so many `listeners` hear of the next ones.
    """

    body: int = 1_000_000
    rows: int = 1_000
    seconds: float = 10.0
    at_once: int = 16
    steps: int = 200
    proofs: int = 64
    commits: int = 200
    listeners: int = 100


DEFAULT_LIMITS = Limits()
