"""Diagrams leave a manager as plain data and as bytes, and come back in another one."""

from __future__ import annotations

import struct
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence.errors import StateError
from whence.semirings.bdd import Bdd, Diagram
from whence.semirings.dag import Dag, Node
from whence.semirings.dag_bytes import HEADER, read_dag, write_dag

# Tuple ids are whatever the engine numbers tuples with.
IDS = [-(2**63), -1, 0, 7, 2**40, 2**63 - 1]
Family: TypeAlias = list[frozenset[int]]
FAMILIES = st.lists(st.frozensets(st.sampled_from(IDS), max_size=4), max_size=5)


def diagram(bdd: Bdd, family: Family) -> Diagram:
    total = bdd.zero
    for support in family:
        product = bdd.one
        for variable in sorted(support):
            product = bdd.times(product, bdd.variable(variable))
        total = bdd.plus(total, product)
    return total


@given(st.lists(FAMILIES, max_size=5), st.permutations(IDS), st.permutations(IDS))
def test_bytes_are_read_back_in_any_order(families: list[Family], here: list[int], there: list[int]) -> None:
    sender, receiver = Bdd(here), Bdd(there)
    dag = sender.dag([diagram(sender, family) for family in families])
    data = write_dag(dag)
    assert read_dag(data) == dag
    assert receiver.load(read_dag(data)) == [diagram(receiver, family) for family in families]
    assert sender.load(dag) == [diagram(sender, family) for family in families]


@given(FAMILIES)
def test_an_unknown_variable_is_made_on_reading(family: Family) -> None:
    sender, receiver = Bdd(), Bdd([7])
    dag = sender.dag([diagram(sender, family)])
    [loaded] = receiver.load(dag)
    assert receiver.minimal_supports(loaded) == sender.minimal_supports(diagram(sender, family))
    assert set(receiver.order) == {7, *dag.variables()}


def test_annotations_of_a_batch_share_their_nodes() -> None:
    bdd = Bdd(range(4))
    tail = bdd.times(bdd.variable(2), bdd.variable(3))
    batch = [bdd.times(bdd.variable(1), tail), bdd.times(bdd.variable(0), tail), tail, bdd.one, bdd.zero]
    dag = bdd.dag(batch)
    assert len(dag.nodes) == 4
    assert len(write_dag(dag)) == HEADER.size + 4 * 8 + 4 * 12 + 5 * 4


def test_the_format_is_what_it_says() -> None:
    dag = Dag((Node(11, 1, 0), Node(5, 2, 0)), (3, 1))
    written = struct.pack("<4s4I 2q 2I 2I 2I 2I", b"WDAG", 1, 2, 2, 2, 5, 11, 1, 0, 1, 2, 0, 0, 3, 1)
    assert write_dag(dag) == written
    assert read_dag(written) == dag


GOOD = write_dag(Dag((Node(11, 1, 0), Node(5, 2, 0)), (3, 1)))


def changed(offset: int, number: int) -> bytes:
    return GOOD[:offset] + struct.pack("<I", number) + GOOD[offset + 4 :]


NODES = HEADER.size + 2 * 8
# The variables of two nodes, the upper one first.
SWAPPED = struct.pack("<2I", 0, 1)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "do not begin"),
        (b"PAR1" + GOOD[4:], "do not begin"),
        (changed(4, 2), "format 2, and this whence reads format 1"),
        (GOOD[:-1], r"should be \d+ bytes and are"),
        (GOOD + b"!", r"should be \d+ bytes and are"),
        (changed(NODES, 0), "out of order"),
        (changed(NODES, 9), "out of order"),
        (write_dag(Dag((Node(11, 1, 0), Node(5, 1, 0)), ())).replace(b"\1\0\0\0\0\0\0\0", SWAPPED), "out of order"),
        (GOOD[: HEADER.size + 8] + GOOD[HEADER.size : HEADER.size + 8] + GOOD[NODES:], "there twice"),
        (changed(NODES + 8, 2), "does not come before it"),
        (changed(NODES + 20, 3), "does not come before it"),
        (changed(len(GOOD) - 4, 4), "does not come before it"),
    ],
)
def test_bytes_that_are_no_diagram_are_refused(data: bytes, reason: str) -> None:
    with pytest.raises(StateError, match=f"not stored provenance: .*{reason}"):
        read_dag(data)


@given(st.binary(max_size=80) | st.binary(max_size=60).map(lambda tail: GOOD[:20] + tail))
def test_no_bytes_break_the_reader(data: bytes) -> None:
    try:
        dag = read_dag(data)
    except StateError:
        return
    assert read_dag(write_dag(dag)) == dag
