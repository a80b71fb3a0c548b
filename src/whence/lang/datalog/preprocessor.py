"""What Soufflé leaves to a preprocessor: `#include`, `#define`, `#undef`, `#ifdef`, `#ifndef`, `#else`, `#endif`.

Lines stay where they are, except behind an included file; messages count the lines of the whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from whence.errors import ParseError, UnsupportedError
from whence.model.span import SourceText, Span

DEEPEST = 20  # files in files; more of them include each other
LONGEST = 10_000_000  # characters; macros that hold each other twice grow without end
_DIRECTIVE = re.compile(
    r"[ \t]*(?:#[ \t]*(include|define|undef|ifdef|ifndef|else|endif)|\.(include|once))\b[ \t]*([^\n]*)"
)
_WORDS = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*[\s\S]*?\*/|[A-Za-z_]\w*')
_MACRO = re.compile(r"([A-Za-z_]\w*)(?:\(([^()]*)\))?(?:[ \t]+(.*))?\Z")
_QUOTED = re.compile(r'"([^"]+)"[ \t]*\Z')


def needs_preprocessor(text: str) -> bool:
    return any(map(_DIRECTIVE.match, text.splitlines()))


def preprocessed(text: str, name: str, folder: Path) -> str:
    """The text with its directives carried out. Files are included from below the folder only."""
    return _Preprocessor(folder).expanded(text, name, 0) if needs_preprocessor(text) else text


@dataclass(frozen=True, slots=True)
class _Macro:
    parameters: tuple[str, ...] | None
    body: str


class _Preprocessor:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._macros: dict[str, _Macro] = {}
        self._once: set[Path] = set()

    def expanded(self, text: str, name: str, depth: int, path: Path | None = None) -> str:
        return "\n".join(self._lines(SourceText(name, text, is_datalog=True), depth, path))

    def _lines(self, source: SourceText, depth: int, path: Path | None) -> Iterator[str]:
        # For each open condition, whether its lines count.
        conditions: list[bool] = []
        start, span = 0, Span(source, 0, 0)
        for line in source.text.split("\n"):
            span = Span(source, start, start + len(line))
            start += len(line) + 1
            found = _DIRECTIVE.match(line)
            if found is None:
                yield self._replaced(line, span, 0) if all(conditions) else ""
                continue
            word, rest = found[1] or found[2], found[3].partition("//")[0].strip()
            yield self._directive(word, rest, conditions, span, depth, path)
        if conditions:
            raise ParseError("an #ifdef is not closed", span=span, hint="it ends with #endif")

    def _directive(
        self, word: str, rest: str, conditions: list[bool], span: Span, depth: int, path: Path | None
    ) -> str:
        if word in ("ifdef", "ifndef"):
            conditions.append((rest in self._macros) == (word == "ifdef"))
        elif word in ("else", "endif") and not conditions:
            raise ParseError(f"#{word} without #ifdef", span=span)
        elif word == "else":
            conditions[-1] = not conditions[-1]
        elif word == "endif":
            conditions.pop()
        elif not all(conditions):
            return ""
        elif word == "include":
            return self._included(rest, span, depth)
        elif word == "once":
            if path is not None:
                self._once.add(path)
        elif word == "undef":
            self._macros.pop(rest, None)
        else:
            self._define(rest, span)
        return ""

    def _included(self, rest: str, span: Span, depth: int) -> str:
        named = _QUOTED.match(rest)
        if named is None:
            raise ParseError("#include names a file in quotes", span=span, hint='like #include "types.dl"')
        if depth >= DEEPEST:
            raise ParseError(f"files are included more than {DEEPEST} deep", span=span)
        folder = self._folder.resolve()
        path = (folder / named[1]).resolve()
        if not path.is_relative_to(folder):
            raise UnsupportedError(
                f"{named[1]} is not below {self._folder}",
                span=span,
                hint="only files below the program's folder are read",
            )
        if path in self._once:
            return ""
        if not path.is_file():
            raise ParseError(f"there is no file {named[1]} in {self._folder}", span=span)
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ParseError(f"{named[1]} cannot be read: {error}", span=span) from None
        return self.expanded(text, named[1], depth + 1, path)

    def _define(self, rest: str, span: Span) -> None:
        found = _MACRO.match(rest)
        if found is None:
            raise ParseError("#define names what it defines", span=span, hint="like #define LIMIT 10")
        name, parameters, body = found.groups()
        listed = None if parameters is None else tuple(each.strip() for each in parameters.split(",") if each.strip())
        self._macros[name] = _Macro(listed, body or "")

    def _replaced(self, text: str, span: Span, nesting: int) -> str:
        """With macros written out, outside of strings and comments."""
        if not self._macros:
            return text
        if nesting > DEEPEST or len(text) > LONGEST:
            raise ParseError("this macro stands for itself", span=span)
        parts: list[str] = []
        end = 0
        for found in _WORDS.finditer(text):
            macro = self._macros.get(found[0])
            if macro is None or found.start() < end:
                continue
            after, body = found.end(), macro.body
            if macro.parameters is not None:
                arguments, after = _arguments(text, found.end())
                if arguments is None:
                    continue
                if len(arguments) != len(macro.parameters):
                    raise ParseError(f"{found[0]} takes {len(macro.parameters)} arguments", span=span)
                given = dict(zip(macro.parameters, arguments, strict=True))
                body = _WORDS.sub(lambda word, given=given: given.get(word[0], word[0]), body)  # type: ignore[misc]
            parts += [text[end : found.start()], self._replaced(body, span, nesting + 1)]
            end = after
        return "".join((*parts, text[end:]))


def _arguments(text: str, start: int) -> tuple[list[str] | None, int]:
    """What stands in the parentheses at a place, and where they end; None if there are none."""
    opening = re.compile(r"\s*\(").match(text, start)
    if opening is None:
        return None, start
    depth, arguments, begin = 0, list[str](), opening.end()
    for found in re.compile(r'"(?:[^"\\]|\\.)*"|[()\[\],]').finditer(text, opening.end()):
        sign = found[0]
        if sign in "([":
            depth += 1
        elif depth and sign in ")]":
            depth -= 1
        elif not depth and sign in ",)":
            arguments.append(text[begin : found.start()].strip())
            begin = found.end()
            if sign == ")":
                return ([] if arguments == [""] else arguments), begin
    return None, start
