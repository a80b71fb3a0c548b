"""Rows as lines of JSON that Spark reads back as they were, whatever time zone its session has."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable, Mapping
from decimal import Decimal


def json_lines(records: Iterable[Mapping[str, object]]) -> bytes:
    return "".join(json.dumps(_plain(record), ensure_ascii=False) + "\n" for record in records).encode()


def _plain(value: object) -> object:
    match value:
        case Mapping():
            return {name: _plain(each) for name, each in value.items()}
        case list() | tuple():
            return [_plain(each) for each in value]
        case datetime.datetime():
            utc = value if value.tzinfo is None else value.astimezone(datetime.UTC).replace(tzinfo=None)
            return f"{utc.isoformat()}Z"
        case datetime.date():
            return value.isoformat()
        case Decimal():
            # A number would lose its digits in most readers.
            return str(value)
    return value
