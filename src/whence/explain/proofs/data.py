"""A proof as plain data that JSON can carry."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

from whence.explain.proofs.proof import Step


def step_data(root: Step, depth: int) -> dict[str, Any]:
    """A step and those below it, to a depth."""
    data = _one(root)
    todo = [(root, data, depth)]
    while todo:
        step, here, left = todo.pop()
        here["cut"] = step.kind == "open" or step.is_partial or (left == 0 and bool(step.children))
        for child in step.children if left else ():
            below = _one(child)
            here["children"].append(below)
            todo.append((child, below, left - 1))
    return data


def _one(step: Step) -> dict[str, Any]:
    return {
        "label": step.label,
        "relation": step.relation,
        "row": [plain(value) for value in step.row],
        "kind": step.kind,
        "rule": step.rule,
        "place": step.place,
        "count": step.count,
        "again": None if step.again_at is None else step.again_at.label,
        "children": [],
        "cut": False,
    }


def plain(value: object) -> Any:
    """A value as JSON has it: decimals and times as text, and any value, of an absent row, as None."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case tuple():
            return [plain(part) for part in value]
        case decimal.Decimal():
            return format(value, "f")
        case datetime.datetime():
            return value.isoformat(sep=" ")
        case datetime.date():
            return value.isoformat()
    return None
