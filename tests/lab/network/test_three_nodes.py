"""The example of three nodes in "Recursive Computation of Regions and Connectivity in Networks", section 3.2."""

from __future__ import annotations

from pathlib import Path

import pytest

from whence.algebra.provenance import Antichain
from whence.analysis.analyze import analyze
from whence.lab.network import Links, Network
from whence.lab.network.messages import DerivedRows, decode
from whence.lab.network.network import NetworkEngine
from whence.lab.network.options import Options
from whence.lab.network.provenance.absorption import SupportSets
from whence.lab.network.wire import Parcel
from whence.lang.datalog.parse import parse_datalog
from whence.model.types import Row
from whence.model.updates import Update

DATALOG = """
.decl link(src: symbol, dst: symbol)
reachable(x, y) :- link(x, y).
reachable(x, y) :- link(x, z), reachable(z, y).
"""
SQL = """
CREATE TABLE link(src STRING NOT NULL, dst STRING NOT NULL, PRIMARY KEY (src, dst));
CREATE MATERIALIZED VIEW reachable AS WITH RECURSIVE reachable(src, dst) AS (
  SELECT src, dst FROM link UNION SELECT link.src, reachable.dst FROM link, reachable WHERE link.dst = reachable.src
) SELECT * FROM reachable;
"""
LINKS = [("A", "B"), ("B", "C"), ("C", "A"), ("C", "B")]
EVERYTHING = {(x, y) for x in "ABC" for y in "ABC"}
GOLDEN = Path(__file__).parent / "figure2.txt"


@pytest.mark.parametrize("program", [DATALOG, SQL], ids=["datalog", "sql"])
@pytest.mark.parametrize(
    ("provenance", "ship", "form", "shipped"),
    [
        ("none", "direct", "diagrams", 16),
        ("absorption", "direct", "diagrams", 20),
        ("absorption", "direct", "supports", 20),
        ("absorption", "lazy", "diagrams", 16),
        ("absorption", "lazy", "supports", 16),
    ],
)
def test_shipped_tuples(program: str, provenance: str, ship: str, form: str, shipped: int) -> None:
    network = Network(program, provenance=provenance, ship=ship, form=form)
    assert network.insert("link", LINKS).tuples == shipped
    assert network.rows("reachable") == EVERYTHING


def test_dred_ships_as_much_again_for_one_link() -> None:
    network = Network(DATALOG, provenance="none", ship="direct")
    network.insert("link", LINKS)
    traffic = network.delete("link", [("C", "B")])
    # 7 deletions, that of the link among them, and the 9 derivations over the other three links.
    assert traffic.tuples == 16
    assert network.rows("reachable") == EVERYTHING


@pytest.mark.parametrize("form", ["diagrams", "supports"])
@pytest.mark.parametrize("ship", ["direct", "eager"])
def test_absorption_needs_two_messages_and_loses_no_tuple(ship: str, form: str) -> None:
    network = Network(DATALOG, provenance="absorption", ship=ship, form=form)
    network.insert("link", LINKS)
    traffic = network.delete("link", [("C", "B")])
    assert (traffic.messages, set(traffic.links)) == (2, {("C", "A"), ("C", "B")})
    assert network.rows("reachable") == EVERYTHING


def test_lazy_absorption_ships_what_it_kept_when_it_is_needed() -> None:
    network = Network(DATALOG, provenance="absorption", ship="lazy")
    network.insert("link", LINKS)
    traffic = network.delete("link", [("C", "B")])
    # The two messages, and the second derivation of (B, B), which leads to two more.
    assert traffic.tuples == 5
    assert network.rows("reachable") == EVERYTHING


def test_derivation_steps() -> None:
    """Figure 2, step by step. In the printed one, the last line of step 3 has a node and a provenance that it cannot
    have: (C, B) comes from B, where it was derived from link(C, B) and the second derivation of (B, B).
    """
    engine = NetworkEngine(Options(provenance="absorption", ship="direct", form="supports"), steps := Steps())
    engine.define(analyze(parse_datalog(DATALOG)), {}, Update())
    steps.engine = engine
    engine.apply(Update({"link": dict.fromkeys(LINKS, 1)}))
    steps.table([])
    assert "\n\n".join(steps.tables) + "\n" == GOLDEN.read_text()


class Steps(Links):
    """Writes down what every node has at the beginning of a round, and what arrives in it."""

    engine: NetworkEngine

    def __init__(self) -> None:
        super().__init__()
        self.tables: list[str] = []

    def tick(self) -> list[Parcel]:
        arrived = super().tick()
        if any(isinstance(section, DerivedRows) for parcel in arrived for section in decode(parcel.data).sections):
            self.table(arrived)
        return arrived

    def table(self, arrived: list[Parcel]) -> None:
        lines = [f"derivation step {len(self.tables) + 1}"]
        known: dict[Row, Antichain[int]] = {}
        for node in self.engine.world.nodes:
            for part in self.engine.world.recursive_parts(node):
                rows = part.notes.rows()
                tuples = [part.rows.tuples[number][1] for number in rows]
                known |= dict(zip(tuples, part.notes.of(rows), strict=True))
        lines += [self.line(row, str(row[0]), known[row]) for row in sorted(known)]
        shipped: list[str] = []
        for parcel in arrived:
            at, to = (self.name(number) for number in (parcel.sender, parcel.receiver))
            for section in decode(parcel.data).sections:
                assert isinstance(section, DerivedRows)
                annotations = SupportSets().read(section.annotations, len(section.rows))
                pairs = zip(section.rows, annotations, strict=True)
                shipped += [self.line(row, f"{at} -> {to}", annotation) for row, annotation in pairs]
        self.tables.append("\n".join([*lines, *sorted(shipped)]))

    def name(self, number: int) -> str:
        return str(self.engine.placing.name(number))

    def line(self, row: Row, place: str, annotation: Antichain[int]) -> str:
        names = {}
        for number, link in enumerate(LINKS):
            for node in self.engine.world.nodes.values():
                if link in node.held("link").ids:
                    names[node.held("link").ids[link]] = f"p{number + 1}"
        supports = sorted(
            (sorted(names[leaf] for leaf in support) for support in annotation), key=lambda s: (len(s), s)
        )
        return f"({row[0]}, {row[1]})  {place:<6}  {' or '.join(' and '.join(support) for support in supports)}"
