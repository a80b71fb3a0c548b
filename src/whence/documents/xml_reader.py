"""XML by events: what a text brings, node by node. Entities are refused, and nothing is loaded from anywhere."""

from __future__ import annotations

import re
from typing import NoReturn
from xml.parsers import expat

from whence.documents.nodes import ATTRIBUTE, TEXT, Arrival, LimitError, Limits, Path, PathRows, Paths, StreamNode
from whence.errors import DataError

# The target of the processing instruction that stands for a stream: `<?stream payments?>`.
STREAM = "stream"
# And of that for a call, which returns once.
CALL = "call"
NAME = re.compile(r"[^\W\d][\w.-]*")
# Fragments may have several trees, and XML wants one: they are read as if they stood within this.
_WRAPPER = "<fragment>"


def stream_names(text: str) -> list[str]:
    """The streams of a text that has been read before."""
    return re.findall(rf"<\?{STREAM}\s+({NAME.pattern})\s*\?>", text)


class XmlReader:
    """Reads texts into an arrival. Where one is malformed, the trees before the place stay in the arrival."""

    def __init__(self, paths: Paths, limits: Limits, arrival: Arrival) -> None:
        self._paths = paths
        self._limits = limits
        self.arrival = arrival
        self.trees = 0
        """How many trees and texts the last fragment had, outermost."""

    def document(self, text: str | bytes) -> None:
        """One element, at the root."""
        self._read(text, 0, self._paths.root, is_fragment=False)

    def fragment(self, text: str | bytes, place: StreamNode) -> None:
        """Elements and texts, beside the node of a stream."""
        self._read(text, place.parent, place.path, is_fragment=True)

    def _read(self, text: str | bytes, parent: int, path: Path, *, is_fragment: bool) -> None:
        arrival = self.arrival
        parser = expat.ParserCreate()
        events = _Events(parser, arrival, self._limits, parent, path, is_fragment)
        whole = arrival.mark()
        is_over = False
        try:
            if is_fragment:
                parser.Parse(_WRAPPER.encode() if isinstance(text, bytes) else _WRAPPER, False)
            parser.Parse(text, not is_fragment)
            is_over = True
            if is_fragment:
                parser.Parse(b"</fragment>" if isinstance(text, bytes) else "</fragment>", True)
        except expat.ExpatError as error:
            arrival.cut(events.good if is_fragment else whole)
            reason = expat.ErrorString(error.code) or "not well-formed"
            if is_over and len(events.nodes) > 1:
                reason = "the fragment ends within an element"
            raise _malformed(reason, error.lineno, error.offset, is_fragment, text) from None
        except DataError as error:
            arrival.cut(events.good if is_fragment else whole)
            line, column = parser.CurrentLineNumber, parser.CurrentColumnNumber
            place = _place(line, column, is_fragment)
            raise DataError(f"{error.message}, at {place}", hint=error.hint) from None
        finally:
            self.trees = events.trees


def _place(line: int, column: int, is_fragment: bool) -> str:
    shift = len(_WRAPPER) if is_fragment and line == 1 else 0
    return f"line {line}, column {max(1, column - shift + 1)}"


def _malformed(reason: str, line: int, column: int, is_fragment: bool, text: str | bytes) -> DataError:
    what = "fragment" if is_fragment else "document"
    lines = (text if isinstance(text, str) else text.decode(errors="replace")).split("\n")
    excerpt = lines[line - 1] if line <= len(lines) else ""
    at = max(0, column - (len(_WRAPPER) if is_fragment and line == 1 else 0))
    near = excerpt[max(0, at - 20) : at + 20].strip()
    return DataError(
        f"the XML of the {what} is malformed at {_place(line, column, is_fragment)}: {reason}"
        + (f", near {near!r}" if near else ""),
        hint="what came before the tree with the mistake is kept" if is_fragment else None,
    )


class _Events:
    """What expat calls, for one text.

    The three calls that come for every node are functions with all that they use at hand: to look it up in an object
    each time takes as long as the parser does.
    """

    def __init__(
        self,
        parser: expat.XMLParserType,
        arrival: Arrival,
        limits: Limits,
        parent: int,
        path: Path,
        is_fragment: bool,
    ) -> None:
        self._arrival = arrival
        self.nodes = [parent]
        self._places = [arrival.at(path)]
        self.good = arrival.mark()
        self.trees = 0
        parser.buffer_text = True
        parser.ordered_attributes = True
        parser.ProcessingInstructionHandler = self._instruction
        parser.EntityDeclHandler = self._entity
        parser.SkippedEntityHandler = self._skipped
        self._attach(parser, limits, is_fragment)

    def _attach(self, parser: expat.XMLParserType, limits: Limits, is_fragment: bool) -> None:
        arrival, nodes, places, below = self._arrival, self.nodes, self._places, self._arrival.below
        last, longest = arrival.next + limits.nodes, limits.text
        skip_first = is_fragment

        def start(tag: str, attributes: list[str]) -> None:
            nonlocal skip_first
            if skip_first:
                skip_first = False
                return
            above = places[-1]
            rows = above.children.get(tag) or below(above, tag)
            node = arrival.next
            arrival.next = node + 1
            if rows.wanted:
                rows.add_node(node)
                rows.add_parent(nodes[-1])
            nodes.append(node)
            places.append(rows)
            if attributes:
                for at in range(0, len(attributes), 2):
                    label = ATTRIBUTE + attributes[at]
                    value(rows.children.get(label) or below(rows, label, "attribute"), node, attributes[at + 1])
            if node > last:
                raise LimitError("one text brings too many nodes", limits.nodes, "nodes")

        def end(_: str) -> None:
            nodes.pop()
            places.pop()
            if len(places) == 1:
                self.good = arrival.mark()
                self.trees += 1

        def text(characters: str) -> None:
            if not characters.isspace():
                above = places[-1]
                value(above.children.get(TEXT) or below(above, TEXT, "text"), nodes[-1], characters)
                if len(places) == 1:
                    self.good = arrival.mark()
                    self.trees += 1

        def value(rows: PathRows, parent: int, characters: str) -> None:
            node = arrival.next
            arrival.next = node + 1
            if rows.wanted:
                if len(characters) > longest:
                    raise LimitError("a text is too long", longest, "text")
                rows.add_node(node)
                rows.add_parent(parent)
                rows.add_value(characters)

        parser.StartElementHandler = start
        parser.EndElementHandler = end
        parser.CharacterDataHandler = text

    def _instruction(self, target: str, data: str) -> None:
        if target not in (STREAM, CALL):
            return
        name = data.strip()
        if not NAME.fullmatch(name):
            raise DataError(
                f"a {target} needs a name, and this one has {data!r}",
                hint=f"write <?{target} payments?>, with one word",
            )
        above = self._places[-1].path
        if above.parent is None:
            raise DataError(
                f"the {target} {name!r} stands outside of the document's element", hint="put it inside of an element"
            )
        arrival = self._arrival
        arrival.streams.append(StreamNode(arrival.next, self.nodes[-1], above, name, is_call=target == CALL))
        arrival.next += 1
        if len(self._places) == 1:
            self.good = arrival.mark()
            self.trees += 1

    def _entity(self, name: str, *_: object) -> NoReturn:
        raise DataError(
            f"the document declares an entity, {name!r}, and entities are not read",
            hint="write the text itself in its place",
        )

    def _skipped(self, name: str, _: bool) -> NoReturn:
        raise DataError(
            f"the entity &{name}; is not declared here, and nothing is loaded from outside",
            hint="write the text itself in its place",
        )
