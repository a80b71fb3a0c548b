"""Logical nodes that exchange batches: ship operators and provenance, with every tuple and byte counted."""

from whence.network.errors import LinkError
from whence.network.links import Links
from whence.network.network import Network
from whence.network.plan.selections import Best
from whence.network.traffic import LinkTraffic, Traffic

__all__ = ["Best", "LinkError", "LinkTraffic", "Links", "Network", "Traffic"]
