"""What a table says of its columns beside their types: values for those that are left out, and comments.

They are properties of the table, since those are kept wherever definitions are.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from whence.model.schema import Column, Relation
from whence.model.types import Value

_DEFAULT = "default."
_COMMENT = "comment."
COMMENT = "comment"


def default_property(column: Column, value: Value) -> tuple[str, str]:
    return f"{_DEFAULT}{column.name}", json.dumps(None if value is None else column.type.to_json(value))


def comment_property(column: Column, text: str) -> tuple[str, str]:
    return f"{_COMMENT}{column.name}", text


def defaults(relation: Relation) -> Mapping[str, Value]:
    """The values of columns that are left out, by name; columns without one are not there."""
    types = {column.name: column.type for column in relation.columns}
    found: dict[str, Value] = {}
    for key, text in relation.properties:
        name = key.removeprefix(_DEFAULT)
        if key.startswith(_DEFAULT) and name in types:
            value = json.loads(text)
            found[name] = None if value is None else types[name].from_json(value)
    return found


def comments(relation: Relation) -> Mapping[str, str]:
    """What was said of columns, by name."""
    return {key.removeprefix(_COMMENT): text for key, text in relation.properties if key.startswith(_COMMENT)}


def comment(relation: Relation) -> str:
    """What was said of the table."""
    return dict(relation.properties).get(COMMENT, "")


def is_said_of_columns(key: str) -> bool:
    """Whether a property is a default or a comment, and none that a user gives as a property."""
    return key == COMMENT or key.startswith((_DEFAULT, _COMMENT))


def renamed_properties(relation: Relation, renamed: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The properties of a table whose columns have other names, by the old ones; what is not there is gone."""
    found: list[tuple[str, str]] = []
    for key, text in relation.properties:
        prefix = next((each for each in (_DEFAULT, _COMMENT) if key.startswith(each)), None)
        if prefix is None:
            found.append((key, text))
        elif key.removeprefix(prefix) in renamed:
            found.append((prefix + renamed[key.removeprefix(prefix)], text))
    return tuple(sorted(found))
