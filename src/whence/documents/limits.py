"""How much one text may bring: a few bytes of XML or JSON can unfold to more than a machine holds."""

from __future__ import annotations

from dataclasses import dataclass

from whence.errors import DataError


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one document or fragment. What goes beyond is refused, and nothing of that tree is taken."""

    depth: int = 256
    """Elements within elements, from the document's root on."""

    nodes: int = 10_000_000
    """Elements, attributes and texts."""

    paths: int = 100_000
    """Different paths of labels in the whole document: the part of the state that is not rows of columns."""

    text: int = 100_000_000
    """Characters of one text or attribute."""


DEFAULT_LIMITS = Limits()


class LimitError(DataError):
    """More than a document may have."""

    def __init__(self, what: str, most: int, option: str) -> None:
        super().__init__(
            f"{what}, and {most:,} is the limit",
            hint=f"if it is meant, give the document more: limits=Limits({option}=...)",
        )
