"""What streams can bring, by their types: which nodes may stand in which, from a DTD or written down."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn, Self
from xml.parsers import expat

from whence.documents.nodes import ATTRIBUTE, TEXT, Path
from whence.errors import DataError, ParseError

# Of expat's model of an element's content: its kind, how often it may stand, its name, and what is within it.
_ANY = expat.model.XML_CTYPE_ANY
_MIXED = expat.model.XML_CTYPE_MIXED


@dataclass(frozen=True)
class Schema:
    """`children` has for an element what may stand in it: names, "@id" for attributes, "text()". Elements that it does
    not have may hold anything. `streams` has the outermost nodes that a stream brings; others bring anything.

    How often and in which order something stands is not part of it: data arrives in any order.
    """

    children: Mapping[str, Collection[str]] = field(default_factory=dict)
    streams: Mapping[str, Collection[str]] = field(default_factory=dict)

    @classmethod
    def dtd(cls, text: str, streams: Mapping[str, Collection[str]] | None = None) -> Self:
        """From the declarations of a DTD: `<!ELEMENT payment (amount)> <!ATTLIST payment by CDATA #IMPLIED>`."""
        children: dict[str, set[str]] = {}
        anything: set[str] = set()

        def element(name: str, model: tuple[Any, ...]) -> None:
            if model[0] == _ANY:
                anything.add(name)
            found = children.setdefault(name, set())
            found.update(_names(model))
            if model[0] == _MIXED:
                found.add(TEXT)

        def attribute(name: str, label: str, *_: object) -> None:
            children.setdefault(name, set()).add(ATTRIBUTE + label)

        def entity(name: str, *_: object) -> NoReturn:
            raise DataError(f"the DTD declares an entity, {name!r}, and entities are not read")

        parser = expat.ParserCreate()
        parser.ElementDeclHandler = element
        parser.AttlistDeclHandler = attribute
        parser.EntityDeclHandler = entity
        try:
            parser.Parse(f"<!DOCTYPE schema [{text}]><schema/>", True)
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code)
            raise ParseError(f"the DTD is malformed at line {error.lineno}, column {error.offset}: {reason}") from None
        return cls({name: found for name, found in children.items() if name not in anything}, streams or {})

    def inside(self, label: str) -> frozenset[str] | None:
        """What may stand in an element; None for anything."""
        return frozenset(self.children[label]) if label in self.children else None

    def brought(self, stream: str) -> frozenset[str] | None:
        """What the stream may bring, outermost; None for anything."""
        return frozenset(self.streams[stream]) if stream in self.streams else None

    def below(self, labels: frozenset[str]) -> frozenset[str] | None:
        """All that may stand in the elements, at any depth; None for anything."""
        found, todo = set(labels), list(labels)
        while todo:
            label = todo.pop()
            inner = frozenset() if label.startswith((ATTRIBUTE, TEXT)) else self.inside(label)
            if inner is None:
                return None
            todo += inner - found
            found |= inner
        return frozenset(found)

    def check(self, stream: str, place: Path, paths: Iterable[Path]) -> None:
        """Refuse what a stream brought if it is not of its type: verdicts rely on it."""
        for path in paths:
            is_outermost = path.above is place
            allowed = self.brought(stream) if is_outermost else self.inside(path.above.label)
            if allowed is not None and path.label not in allowed:
                where = f"the stream {stream!r}" if is_outermost else f"<{path.above.label}>"
                raise DataError(
                    f"{where} brings {path.label}, and its type has {', '.join(sorted(allowed)) or 'nothing'}",
                    hint="nothing of the fragment is taken; verdicts would not be certain with it",
                )


UNTYPED = Schema()


def _names(model: tuple[Any, ...]) -> Iterable[str]:
    if model[2] is not None:
        yield model[2]
    for inner in model[3]:
        yield from _names(inner)
