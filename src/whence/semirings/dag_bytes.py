"""Diagrams as bytes: one DAG per batch, variables by tuple id, for any process to read.

All numbers are little-endian. References and the order of nodes are as in `dag`; a variable is an index into the table
of ids, which is in the diagram's order from the top.

    4 bytes          "WDAG"
    4 × uint32       format version (1), number of variables v, of nodes n, of roots r
    v × int64        tuple ids
    n × uint32       variable of each node
    n × uint32       high of each node
    n × uint32       low of each node
    r × uint32       roots

A batch of annotations that share nodes costs each node once, 12 bytes, and 4 bytes per annotation.
"""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

from whence.errors import StateError
from whence.semirings.dag import FIRST_NODE, Dag, Node

MAGIC = b"WDAG"
VERSION = 1
HEADER = struct.Struct("<4s4I")


def write_dag(dag: Dag) -> bytes:
    variables = dag.variables()
    index = {variable: i for i, variable in enumerate(variables)}
    return b"".join(
        (
            HEADER.pack(MAGIC, VERSION, len(variables), len(dag.nodes), len(dag.roots)),
            np.array(variables, "<i8").tobytes(),
            np.array([index[node.variable] for node in dag.nodes], "<u4").tobytes(),
            np.array([node.high for node in dag.nodes], "<u4").tobytes(),
            np.array([node.low for node in dag.nodes], "<u4").tobytes(),
            np.array(dag.roots, "<u4").tobytes(),
        )
    )


def read_dag(data: bytes) -> Dag:
    """The DAG that was written, or a StateError where the bytes are not one."""
    if len(data) < HEADER.size or not data.startswith(MAGIC):
        raise _unreadable("they do not begin as such")
    _, version, variables, nodes, roots = HEADER.unpack_from(data)
    if version != VERSION:
        raise _unreadable(f"they are in format {version}, and this whence reads format {VERSION}")
    expected = HEADER.size + 8 * variables + 4 * (3 * nodes + roots)
    if len(data) != expected:
        raise _unreadable(f"they should be {expected} bytes and are {len(data)}")

    ids = np.frombuffer(data, "<i8", variables, HEADER.size)
    if len(np.unique(ids)) < variables:
        raise _unreadable("a variable is there twice")
    numbers = np.frombuffer(data, "<u4", 3 * nodes + roots, HEADER.size + 8 * variables).astype(np.int64)
    variable, high, low = numbers[: 3 * nodes].reshape(3, nodes)
    root = numbers[3 * nodes :]
    _check(variable, high, low, root, variables)
    named = map(Node, ids[variable].tolist(), high.tolist(), low.tolist())
    return Dag(tuple(named), tuple(root.tolist()))


def _check(
    variable: NDArray[np.int64],
    high: NDArray[np.int64],
    low: NDArray[np.int64],
    root: NDArray[np.int64],
    variables: int,
) -> None:
    nodes = len(variable)
    own = np.arange(nodes) + FIRST_NODE
    if np.any(high >= own) or np.any(low >= own) or np.any(root >= nodes + FIRST_NODE):
        raise _unreadable("a node refers to one that does not come before it")
    # Below every node, the constants included: then "deeper than its parent" is one comparison.
    depth = np.concatenate((np.full(FIRST_NODE, variables), variable))
    if np.any(variable >= np.minimum(depth[high], depth[low])) or np.any(np.diff(variable) > 0):
        raise _unreadable("a variable is out of order")


def _unreadable(reason: str) -> StateError:
    return StateError(f"these bytes are not stored provenance: {reason}")
