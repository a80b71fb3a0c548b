"""JSON by events. A member is a node with the member's name, an array is its name once for each of its values.

{"order": {"id": 7, "item": ["pen", "ink"]}}    is the tree of
<order><id>7</id><item>pen</item><item>ink</item></order>
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from io import BytesIO
from typing import Any

from whence.documents.nodes import ANYTHING, TEXT, Arrival, LimitError, Limits, Path, Paths, StreamNode
from whence.documents.xml_reader import NAME
from whence.errors import DataError, UnsupportedError

# The member that stands for a stream: {"$stream": "payments"}.
STREAM = "$stream"
# And that for a call, which returns once.
CALL = "$call"
# The values of an array that has no name of its own, because it stands in another array or at the root.
ITEM = "item"

# A DOUBLE has no more before or after its point.
MOST_DIGITS = 310

Event = tuple[str, object]


class JsonReader:
    """Reads texts into an arrival. Where one is malformed, the values before the place stay in the arrival."""

    def __init__(self, paths: Paths, limits: Limits, arrival: Arrival) -> None:
        self._paths = paths
        self._limits = limits
        self.arrival = arrival
        self._last = 0
        self.trees = 0
        """How many values the last fragment had."""

    def document(self, text: str | bytes) -> None:
        """One object or array: its members are below the root."""
        self._read(text, StreamNode(0, 0, self._paths.root, ""), is_fragment=False)

    def fragment(self, text: str | bytes, place: StreamNode) -> None:
        """Values one after the other. A stream in an array brings values of the array, one elsewhere brings members."""
        self._read(text, place, is_fragment=True)

    def _read(self, text: str | bytes, place: StreamNode, *, is_fragment: bool) -> None:
        arrival = self.arrival
        self._last = arrival.next + self._limits.nodes
        good = arrival.mark()
        self.trees = 0
        data = text.encode() if isinstance(text, str) else text
        ijson = _ijson()
        events = ijson.basic_parse(BytesIO(data), multiple_values=is_fragment)
        try:
            for event in events:
                self._tree(event, events, place)
                self.trees += 1
                good = arrival.mark()
        except (ijson.JSONError, UnicodeDecodeError):
            arrival.cut(good)
            raise _malformed(data, is_fragment) from None
        except (DataError, UnsupportedError):
            arrival.cut(good)
            raise
        except RecursionError:
            arrival.cut(good)
            raise LimitError("values are nested too deeply", self._limits.depth, "depth") from None

    def _tree(self, event: Event, events: Iterator[Event], place: StreamNode) -> None:
        if place.label != ANYTHING:
            self._labelled(event, events, place.parent, place.path, place.label)
        elif event[0] == "start_map":
            self._members(events, place.parent, place.path)
        elif event[0] == "start_array":
            self._array(events, place.parent, place.path, ITEM)
        else:
            self._scalar(event[1], place.parent, place.path)

    def _labelled(self, event: Event, events: Iterator[Event], parent: int, above: Path, label: str) -> None:
        """A value with a name: a node, or for an array a node for each of its values."""
        kind, value = event
        if kind == "start_array":
            self._array(events, parent, above, label)
            return
        path = above.children.get(label) or self._paths.below(above, label)
        arrival = self.arrival
        node = arrival.next
        arrival.next = node + 1
        if node >= self._last:
            raise LimitError("one text brings too many nodes", self._limits.nodes, "nodes")
        if path.wanted:
            rows = arrival.at(path)
            rows.add_node(node)
            rows.add_parent(parent)
        if kind == "start_map":
            self._members(events, node, path)
        else:
            self._scalar(value, node, path)

    def _members(self, events: Iterator[Event], node: int, path: Path) -> None:
        for kind, value in events:
            if kind == "end_map":
                return
            self._member(str(value), next(events), events, node, path)

    def _member(self, name: str, event: Event, events: Iterator[Event], node: int, path: Path) -> None:
        if name == CALL:
            raise UnsupportedError(
                f"the call {event[1]!r} is no value of an array", hint='write {"member": [{"$call": "name"}]}'
            )
        if name == STREAM:
            self._stream(event[1], node, path, ANYTHING, name)
        elif not name:
            raise DataError(f"a member of {path} has no name", hint="queries find members by their names")
        else:
            self._labelled(event, events, node, path, name)

    def _array(self, events: Iterator[Event], parent: int, above: Path, label: str) -> None:
        for event in events:
            if event[0] == "end_array":
                return
            if event[0] == "start_array":
                # An array in an array is a node of its own, with unnamed values.
                self._nested(events, parent, above, label)
            elif event[0] == "start_map":
                self._array_object(events, parent, above, label)
            else:
                self._labelled(event, events, parent, above, label)

    def _nested(self, events: Iterator[Event], parent: int, above: Path, label: str) -> None:
        node = self.arrival.next
        self._labelled(("null", None), events, parent, above, label)
        self._array(events, node, self._paths.below(above, label), ITEM)

    def _array_object(self, events: Iterator[Event], parent: int, above: Path, label: str) -> None:
        """An object in an array. If it is a stream, it stands for more values of the array."""
        first = next(events)
        if first in (("map_key", STREAM), ("map_key", CALL)):
            self._stream(next(events)[1], parent, above, label, str(first[1]))
            if next(events)[0] != "end_map":
                raise DataError(
                    f'{{"{first[1]}": ...}} stands for values of the array {label!r}, and has other members as well',
                    hint="write the stream as an object of its own",
                )
            return
        node = self.arrival.next
        self._labelled(("null", None), events, parent, above, label)
        path = self._paths.below(above, label)
        if first[0] != "end_map":
            self._member(str(first[1]), next(events), events, node, path)
            self._members(events, node, path)

    def _scalar(self, value: object, parent: int, above: Path) -> None:
        if value is None:
            return
        text = scalar_text(value)
        if len(text) > self._limits.text:
            raise LimitError("a text is too long", self._limits.text, "text")
        path = above.children.get(TEXT) or self._paths.below(above, TEXT, "text")
        arrival = self.arrival
        if path.wanted:
            rows = arrival.at(path)
            rows.add_node(arrival.next)
            rows.add_parent(parent)
            rows.add_value(text)
        arrival.next += 1

    def _stream(self, name: object, parent: int, path: Path, label: str, member: str) -> None:
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise DataError(
                f"a {member.removeprefix('$')} needs a name, and this one has {name!r}",
                hint=f'write {{"{member}": "payments"}}, with one word',
            )
        arrival = self.arrival
        arrival.streams.append(StreamNode(arrival.next, parent, path, name, label, is_call=member == CALL))
        arrival.next += 1


def _ijson() -> Any:
    """The parser, which only documents in JSON need."""
    try:
        import ijson
    except ImportError:
        raise UnsupportedError("documents in JSON need ijson", hint="pip install 'whence[documents]'") from None
    return ijson


def scalar_text(value: object) -> str:
    """A JSON value as the text of a node: numbers in plain digits, so that equal ones are equal texts."""
    match value:
        case bool():
            return "true" if value else "false"
        # Beyond that a few characters could be millions of digits.
        case Decimal() if abs(value.adjusted()) <= MOST_DIGITS:
            text = format(value, "f")
            return (text.rstrip("0").rstrip(".") or "0") if "." in text else text
    return str(value)


def _malformed(data: bytes, is_fragment: bool) -> DataError:
    what = "fragment" if is_fragment else "document"
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        reason = "it is not UTF-8"
    else:
        line, column, reason = _mistake(text)
    return DataError(
        f"the JSON of the {what} is malformed at line {line}, column {column}: {reason}",
        hint="the values before the mistake are kept" if is_fragment else None,
    )


def _mistake(text: str) -> tuple[int, int, str]:
    """Where and what: events know neither, so the text is read once more, by a parser that does."""
    decoder = json.JSONDecoder()
    at = 0
    try:
        while (rest := text[at:].lstrip()) != "":
            at = len(text) - len(rest)
            _, at = decoder.raw_decode(text, at)
    except json.JSONDecodeError as error:
        return error.lineno, error.colno, error.msg.lower()
    except RecursionError:
        return 1, 1, "values are nested too deeply"
    return text.count("\n") + 1, len(text) - text.rfind("\n"), "the text ends too early, or goes on after the value"
