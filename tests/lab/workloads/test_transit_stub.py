from __future__ import annotations

from collections import Counter

import pytest

from whence.lab.workloads.transit_stub import SPARSE, TransitStub, transit_stub_links


def reached_from(start: int, links: list[tuple[int, int, int]]) -> set[int]:
    targets: dict[int, list[int]] = {}
    for source, target, _ in links:
        targets.setdefault(source, []).append(target)
    seen, todo = {start}, [start]
    while todo:
        new = set(targets[todo.pop()]) - seen
        seen |= new
        todo += new
    return seen


def test_the_default_is_the_network_of_the_papers() -> None:
    network = TransitStub()
    links = transit_stub_links(network)
    assert network.nodes == 100
    assert len(links) == 400
    assert {source for source, _, _ in links} == set(range(100))


@pytest.mark.parametrize(
    ("network", "nodes", "directed"),
    [
        (TransitStub(links_per_node=SPARSE), 100, 200),
        (TransitStub.of_size(1_000, links_per_node=3.0), 1_000, 3_000),
        (TransitStub.of_size(250), 250, 1_000),
        (TransitStub.of_size(60), 50, 200),
        (TransitStub(transit_nodes=1), 25, 100),
        (TransitStub(transit_nodes=2, nodes_per_stub=4, stubs_per_transit_node=2, links_per_node=3.0), 18, 54),
    ],
    ids=str,
)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_any_size_is_connected_and_has_the_links_it_should(
    network: TransitStub, nodes: int, directed: int, seed: int
) -> None:
    links = transit_stub_links(TransitStub(**{**fields(network), "seed": seed}))
    assert network.nodes == nodes
    assert len({(source, target) for source, target, _ in links}) == len(links) == directed
    assert reached_from(0, links) == set(range(nodes))


def fields(network: TransitStub) -> dict[str, int]:
    return {name: getattr(network, name) for name in TransitStub.__slots__}


def test_every_link_goes_both_ways_at_one_latency() -> None:
    links = transit_stub_links(TransitStub.of_size(200))
    assert {(target, source, latency) for source, target, latency in links} == set(links)
    assert all(source != target for source, target, _ in links)


def test_latencies_say_what_a_link_joins() -> None:
    network = TransitStub.of_size(200)

    def stub(node: int) -> int | None:
        return (node - network.transit_nodes) // network.nodes_per_stub if node >= network.transit_nodes else None

    into_stubs: Counter[int | None] = Counter()
    for source, target, latency in transit_stub_links(network):
        here, there = stub(source), stub(target)
        if here is None and there is None:
            assert latency == 50
        elif here is None or there is None:
            assert latency == 10
            into_stubs[there] += here is None
        else:
            assert latency == 2
            assert here == there
    del into_stubs[None]
    assert set(into_stubs.values()) == {1}
    assert len(into_stubs) == network.transit_nodes * network.stubs_per_transit_node


def test_the_seed_decides() -> None:
    assert transit_stub_links(TransitStub(seed=7)) == transit_stub_links(TransitStub(seed=7))
    assert transit_stub_links(TransitStub(seed=7)) != transit_stub_links(TransitStub(seed=8))


@pytest.mark.parametrize("links_per_node", [1.0, 30.0])
def test_more_or_fewer_links_than_can_be_are_refused(links_per_node: float) -> None:
    with pytest.raises(ValueError, match="a network of 100 nodes has from 99 to 354 links, not"):
        transit_stub_links(TransitStub(links_per_node=links_per_node))
