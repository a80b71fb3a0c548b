"""How a site stands, for people to read."""

from __future__ import annotations

from dataclasses import dataclass

from whence.algebra.causal import is_present


@dataclass(frozen=True)
class PeerStatus:
    """A site that was met: which of its numbers are known, how many of ours it lacks at most, what it follows."""

    known: int
    behind: int
    follows: list[str]


@dataclass(frozen=True)
class Status:
    """Rows of shared and followed tables (None for one that was not met yet), who takes part, and what is kept.

    `lengths` are rows that are known, `gone` those among them that are only remembered as deleted.
    """

    site: str
    shared: dict[str, int]
    followed: dict[str, int | None]
    members: list[str]
    peers: dict[str, PeerStatus]
    lengths: int
    gone: int
    derivations: int

    def __str__(self) -> str:
        lines = [
            f"site {self.site}, with {', '.join(each for each in self.members if each != self.site) or 'no other'}"
        ]
        lines += [f"  shares {name}: {rows:,} rows" for name, rows in self.shared.items()]
        for name, rows in self.followed.items():
            lines.append(f"  follows {name}: {'not met yet' if rows is None else f'{rows:,} rows'}")
        for name, peer in self.peers.items():
            follows = f", follows {', '.join(peer.follows)}" if peer.follows else ""
            lines.append(f"  {name}: at most {peer.behind:,} changes behind{follows}")
        lines.append(
            f"  knows {self.lengths:,} rows, {self.gone:,} of them deleted, and {self.derivations:,} derivations"
        )
        return "\n".join(lines)


@dataclass(frozen=True)
class History:
    """What became of a row of a shared table: how often it came and went, by which site last, and who knows that.

    `known_by` is what this site has heard of; others may know it, too.
    """

    length: int
    site: str
    update: int
    known_by: list[str]

    @property
    def is_present(self) -> bool:
        return is_present(self.length)

    def __str__(self) -> str:
        times = f"inserted {(self.length + 1) // 2} times, deleted {self.length // 2} times"
        what = "inserted" if self.is_present else "deleted"
        return f"{times}; last {what} by {self.site}, as its update {self.update}; known by {', '.join(self.known_by)}"
