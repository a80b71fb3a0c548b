"""What a front end needs to know about the database that a text is for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from whence.model.program import Signature
from whence.model.schema import Relation


@dataclass(frozen=True, slots=True)
class Catalog:
    """Relations by name, the names of those that are views, and registered functions by lower-case name."""

    relations: Mapping[str, Relation] = field(default_factory=dict)
    views: frozenset[str] = frozenset()
    functions: Mapping[str, Signature] = field(default_factory=dict)
