"""The laboratory as its users see it."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import Any, TypeAlias

import pytest

from whence.errors import DataError, TypeMismatchError, UnknownNameError, UnsupportedError
from whence.lab.network import Best, Links, Network
from whence.lab.workloads.transit_stub import TransitStub, transit_stub_links

REACHABLE = """
.decl link(src: number, dst: number)
reachable(x, y) :- link(x, y).
reachable(x, y) :- link(x, z), reachable(z, y).
"""
PATHS = """
.decl link(src: symbol, dst: symbol, cost: number)
.decl path(src: symbol, dst: symbol, via: symbol, cost: number, hops: number)
path(x, y, cat(x, cat(".", y)), c, 1) :- link(x, y, c).
path(x, y, cat(x, cat(".", p)), c + d, n + 1) :- link(x, z, c), path(z, y, p, d, n).
cheapest(x, y, min<c>) :- path(x, y, _, c, _).
fewest(x, y, min<n>) :- path(x, y, _, _, n).
"""
Path: TypeAlias = tuple[str, str, str, int, int]


def all_paths(links: dict[tuple[str, str], int], most: int) -> set[Path]:
    """Every path of at most so many links, cycles included."""
    ways = [[x, y] for x, y in links]
    found: list[list[str]] = []
    for _ in range(most):
        found += ways
        ways = [[*way, y] for way in ways for x, y in links if x == way[-1]]
    return {(way[0], way[-1], ".".join(way), sum(links[pair] for pair in pairwise(way)), len(way) - 1) for way in found}


def best_paths(links: dict[tuple[str, str], int], by_hops: bool) -> set[Path]:
    paths = all_paths(links, 5)
    kept: set[Path] = set()
    for x, y in {path[:2] for path in paths}:
        group = [path for path in paths if path[:2] == (x, y)]
        kept |= {path for path in group if path[3] == min(each[3] for each in group)}
        if by_hops:
            kept |= {path for path in group if path[4] == min(each[4] for each in group)}
    return kept


@pytest.mark.parametrize("ship", ["direct", "eager", "lazy"])
@pytest.mark.parametrize("provenance", ["relative", "absorption"])
@pytest.mark.parametrize("by_hops", [False, True])
def test_aggregate_selection(provenance: str, ship: str, by_hops: bool) -> None:
    chance = Random(3)
    best = Best(("src", "dst"), min=("cost", "hops") if by_hops else ("cost",))
    network = Network(PATHS, 3, provenance=provenance, ship=ship, best={"path": best}, links=Links(4, 1))
    links: dict[tuple[str, str], int] = {}
    for _ in range(14):
        pair = chance.choice("ABCD"), chance.choice("ABCD")
        if pair in links:
            network.delete("link", [(*pair, links.pop(pair))])
        else:
            links[pair] = chance.randint(1, 9)
            network.insert("link", [(*pair, links[pair])])
        expected = best_paths(links, by_hops)
        assert network.rows("path") == expected
        costs = {(x, y, min(path[3] for path in expected if path[:2] == (x, y))) for x, y, *_ in expected}
        assert network.rows("cheapest") == costs


def test_a_selection_needs_provenance() -> None:
    with pytest.raises(UnsupportedError, match="cannot be selected"):
        Network(PATHS, provenance="none", best={"path": Best(("src", "dst"), min=("cost",))})


def test_expiry_is_deletion() -> None:
    network = Network("""
        CREATE TABLE link(src STRING, dst STRING, at TIMESTAMP)
            TBLPROPERTIES ('ttl' = '10 minutes', 'ttl_column' = 'at');
        CREATE MATERIALIZED VIEW reachable AS WITH RECURSIVE reachable(src, dst) AS (
            SELECT src, dst FROM link
            UNION SELECT link.src, reachable.dst FROM link JOIN reachable ON link.dst = reachable.src
        ) SELECT * FROM reachable;
    """)
    network.insert("link", [("a", "b", "2026-01-01 12:00:00"), ("b", "c", "2026-01-01 12:05:00")])
    assert network.rows("reachable") == {("a", "b"), ("b", "c"), ("a", "c")}
    traffic = network.advance("2026-01-01 12:10:00")
    assert network.rows("reachable") == {("b", "c")}
    assert traffic.tuples > 0


def test_traffic_adds_up() -> None:
    network = Network(REACHABLE, 4)
    links = [(a, b) for a, b, _ in transit_stub_links(TransitStub.of_size(25))]
    first, second = network.insert("link", links[::2]), network.insert("link", links[1::2])
    both = first + second
    assert both.bytes == sum(each.bytes for each in both.links.values()) == first.bytes + second.bytes
    assert both.rounds == first.rounds + second.rounds
    assert set(network.state_bytes()) == {0, 1, 2, 3}
    assert network.provenance_bytes() > 0
    assert len(network.rows("reachable")) == 625


def test_a_change_that_is_refused_ships_nothing() -> None:
    network = Network(REACHABLE, 2)
    with pytest.raises(DataError):
        network.delete("link", [(1, 2)])
    assert network.rows("reachable") == set()


def test_functions_and_one_node() -> None:
    network = Network(".decl a(x: number) v(twice(x)) :- a(x).", 1, functions={"twice": (lambda x: 2 * x, "INT")})
    assert network.insert("a", [(4,)]).messages == 0
    assert network.rows("v") == {(8,)}


@pytest.mark.parametrize("option", ["provenance", "ship", "form", "order"])
def test_unknown_options(option: str) -> None:
    options: dict[str, Any] = {option: "other"}
    with pytest.raises(UnsupportedError, match=r"there is no .* 'other'"):
        Network(REACHABLE, **options)


def test_names_that_do_not_exist() -> None:
    with pytest.raises(UnknownNameError, match="no relation 'reach'"):
        Network(REACHABLE, partition={"reach": "x"})
    with pytest.raises(UnknownNameError, match="no relation 'reach'"):
        Network(REACHABLE, best={"reach": Best(("x",), min=("y",))})


def test_numbers_that_make_no_sense() -> None:
    with pytest.raises(TypeMismatchError, match="how many nodes"):
        Network(REACHABLE, 0)
    with pytest.raises(UnsupportedError, match="window"):
        Network(REACHABLE, window=0)


def test_deleting_links_of_a_network() -> None:
    """Lazy absorption ships a small part of what DRed does, and relative provenance lies between; inserting, no
    provenance is cheapest and lazy absorption comes next.
    """
    links = [(a, b) for a, b, _ in transit_stub_links(TransitStub.of_size(25))]
    Random(1).shuffle(links)
    inserted: dict[str, int] = {}
    deleted: dict[str, int] = {}
    for provenance, ship in (("none", "direct"), ("relative", "lazy"), ("absorption", "lazy")):
        network = Network(REACHABLE, 12, provenance=provenance, ship=ship, order="depth-first")
        inserted[provenance] = network.insert("link", links).bytes
        deleted[provenance] = sum(network.delete("link", [link]).bytes for link in links[:6])
    assert inserted["none"] < inserted["absorption"] < inserted["relative"]
    assert deleted["absorption"] < deleted["relative"] < deleted["none"]
    assert 10 * deleted["absorption"] < deleted["none"]
