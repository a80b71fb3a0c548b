"""A deterministic world of sites: an unreliable network, partitions, crashes, and one database that knows everything.

`python -m tests.replica.simulation --runs 100000 --first 7` searches longer; a seed repeats a run.
"""

from __future__ import annotations

import argparse
import random
import sys
from dataclasses import dataclass, field
from pathlib import Path

import whence
from whence.model.types import Row
from whence.replica.site import Site

TABLES = {"r": 2, "s": 2, "u": 1}
DECLARATIONS = "".join(
    f".decl {name}({', '.join(f'{column}: number' for column in 'ab'[:arity])})\n" for name, arity in TABLES.items()
)
# What sites compute over tables that they share, or over what they follow: `{0}` and `{1}` are relations of two
# columns.
VIEWS = {
    "project": "v(a) :- {0}(a, _).",
    "select": "v(a, b) :- {0}(a, b), a < b.",
    "join": "v(a, c) :- {0}(a, b), {1}(b, c).",
    "union": "v(a, b) :- {0}(a, b). v(a, b) :- {1}(b, a).",
    "closure": "v(a, b) :- {0}(a, b). v(a, c) :- {0}(a, b), v(b, c).",
    "nonlinear": "v(a, b) :- {0}(a, b). v(a, c) :- v(a, b), v(b, c).",
    "negation": "v(a, b) :- {0}(a, b), !{1}(a, b).",
    "absence": "v(a) :- {0}(a, _), !{1}(a, _).",
    "count": "v(a, count<b>) :- {0}(a, b).",
    "least": "v(a, min<b>) :- {0}(a, b).",
    "above": "w(a, b) :- {0}(a, b). w(a, c) :- {0}(a, b), w(b, c). v(a) :- w(a, a). v(a) :- {1}(a, _), !w(a, a).",
    "constant": "v(a, 1) :- {0}(a, 2), {1}(_, a).",
}
MONOTONE = ("project", "select", "join", "union", "closure", "nonlinear", "constant")


@dataclass
class World:
    """With a directory, sites are closed now and then, and opened again from what they have written down."""

    chance: random.Random
    sites: dict[str, Site] = field(default_factory=dict)
    # By site, the definitions of its views; and which relation it follows under a name, with the view's definition.
    texts: dict[str, list[str]] = field(default_factory=dict)
    # Messages under way: to whom, and the bytes.
    network: list[tuple[str, bytes]] = field(default_factory=list)
    neighbours: list[tuple[str, str]] = field(default_factory=list)
    directory: Path | None = None

    def build(self, kinds: tuple[str, ...]) -> None:
        chance = self.chance
        for number in range(chance.randint(2, 3)):
            self._share(f"base{number}")
        bases = list(self.sites)
        self.neighbours += [(one, other) for one in bases for other in bases if one < other]
        for number in range(chance.randint(1, 3)):
            name = f"edge{number}"
            kind = chance.choice(kinds)
            if chance.random() < 0.5:
                # A view of a base, followed by an edge; of two bases that define the same, under one name.
                view = VIEWS[kind].format(*chance.sample(("r", "s"), 2)).replace("w(", f"w{number}(")
                several = chance.random() < 0.5
                site = self.sites[name] = self._site(name)
                self.texts[name] = [view.replace("v(", "followed(")]
                for base in bases[: 2 if several else 1]:
                    self.sites[base].rules(view.replace("v(", f"v{number}("))
                    site.follow(base, f"v{number}", name="followed")
                    self.neighbours.append((name, base))
            else:
                # Tables that are followed, with a view over them, which another edge follows.
                site = self.sites[name] = self._site(name)
                base = chance.choice(bases)
                for table in TABLES:
                    site.follow(base, table)
                self.neighbours.append((name, base))
                site.exchange(self.sites[base])
                view = VIEWS[kind].format(*chance.sample(("r", "s"), 2))
                site.rules(view)
                self.texts[name] = [view]
                above = self.sites[f"far{number}"] = self._site(f"far{number}")
                above.follow(name, "v", name="followed")
                self.neighbours.append((above.name, name))
                self.texts[above.name] = [view.replace("v(", "followed(")]

    def _share(self, name: str) -> None:
        site = self.sites[name] = self._site(name)
        site.rules(DECLARATIONS)
        for table in TABLES:
            site.share(table)
        self.texts[name] = []

    def step(self) -> None:
        chance = self.chance
        what = chance.random()
        if what < 0.45:
            self._change(chance.choice([name for name in self.sites if name.startswith("base")]))
        elif what < 0.7:
            one, other = chance.choice(self.neighbours)
            if chance.random() < 0.5:
                one, other = other, one
            self.network.append((other, self.sites[one].ask(other)))
        elif what < 0.97 and self.network:
            self._deliver()
        elif self.directory is not None:
            name = chance.choice(list(self.sites))
            self.sites[name].close()
            self.sites[name] = self._site(name)

    def _site(self, name: str) -> Site:
        return whence.site(name, None if self.directory is None else self.directory / name)

    def _change(self, name: str) -> None:
        chance, site = self.chance, self.sites[name]
        with site.batch() as batch:
            for _ in range(chance.randint(1, 3)):
                table = chance.choice(list(TABLES))
                row = tuple(chance.randint(0, 3) for _ in range(TABLES[table]))
                if chance.random() < 0.55:
                    batch.insert(table, [row])
                else:
                    batch.delete(table, [row], missing="ignore")

    def _deliver(self) -> None:
        """One of the messages arrives, in any order; some are lost, some arrive again later."""
        at = self.chance.randrange(len(self.network))
        to, data = self.network[at]
        if self.chance.random() < 0.7:
            self.network.pop(at)
        if self.chance.random() < 0.8:
            sender = _sender(data)
            answer = self.sites[to].handle(data)
            if answer is not None:
                self.network.append((sender, answer))

    def settle(self) -> None:
        """The network heals: all meet often enough for everything to have come everywhere."""
        for _ in range(3):
            for one, other in self.neighbours:
                self.sites[one].exchange(self.sites[other])

    def check(self) -> None:
        bases = [site for name, site in self.sites.items() if name.startswith("base")]
        for table in TABLES:
            assert len({frozenset(site.rows(table)) for site in bases}) == 1, f"{table} differs between bases"
        for name, site in self.sites.items():
            self._check_views(name, site, {table: bases[0].rows(table) for table in TABLES})

    def _check_views(self, name: str, site: Site, tables: dict[str, set[Row]]) -> None:
        for text in self.texts[name]:
            whole = whence.connect(engine="reference")
            whole.rules(DECLARATIONS)
            for table, rows in tables.items():
                whole.insert(table, rows)
            whole.rules(text)
            relation = "followed" if "followed(" in text else "v"
            assert site.rows(relation) == whole.rows(relation), f"{relation} of {name}: {text}"


def _sender(data: bytes) -> str:
    from whence.replica.messages import unpack

    return unpack(data).head.site


def run(seed: int, steps: int = 40, kinds: tuple[str, ...] = tuple(VIEWS), directory: Path | None = None) -> World:
    world = World(random.Random(seed), directory=directory)
    world.build(kinds)
    for _ in range(steps):
        world.step()
    world.settle()
    world.check()
    return world


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--steps", type=int, default=40)
    options = parser.parse_args()
    for seed in range(options.first, options.first + options.runs):
        try:
            run(seed, options.steps)
        except BaseException:
            sys.stderr.write(f"seed {seed}\n")
            raise
    sys.stdout.write(f"{options.runs} runs from seed {options.first} converge\n")


if __name__ == "__main__":
    main()
