"""What can be a site, and what it can share."""

from __future__ import annotations

import re

from whence.errors import UnsupportedError
from whence.model.schema import Relation

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")


def check_name(name: object) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise UnsupportedError(
            f"{name!r} is no name of a site", hint="a letter, and then letters, digits, dots, dashes or underscores"
        )
    return name


def check_shareable(relation: Relation) -> None:
    """A replica tells rows by what is in them, so that it cannot have a row twice."""
    if not relation.distinct and not relation.key:
        raise UnsupportedError(
            f"{relation.name!r} can have several copies of a row, and replicas cannot",
            hint="give it a PRIMARY KEY, or declare it in Datalog",
        )
    if relation.window is not None or (relation.ttl is not None and relation.ttl.column is None):
        raise UnsupportedError(
            f"rows of {relation.name!r} leave by themselves, at each site at another time",
            hint="a time to live that counts from a column is the same everywhere: 'ttl_column'",
        )
