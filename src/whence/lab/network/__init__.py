"""Logical nodes that exchange batches: ship operators and provenance, with every tuple and byte counted."""

from whence.lab.network.network import Network
from whence.lab.network.plan.placements import Best
from whence.lab.network.wire import LinkError, Links, LinkTraffic, Traffic

__all__ = ["Best", "LinkError", "LinkTraffic", "Links", "Network", "Traffic"]
