"""What could come next: questions, relations, columns, and the words of SQL."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.shortcuts import CompleteStyle

from whence.cli.shell import DIRECTIVES, InputKind, is_complete, kind_of
from whence.cli.shell_questions import QUESTIONS
from whence.model.types import TYPES

if TYPE_CHECKING:
    from prompt_toolkit.input import Input
    from prompt_toolkit.output import Output

    from whence.database.database import Database
    from whence.model.program import Catalog

KEYWORDS = (
    *"SELECT FROM WHERE GROUP BY ORDER HAVING LIMIT JOIN LEFT RIGHT FULL OUTER INNER CROSS ON USING AS AND OR NOT "
    "EXISTS IN BETWEEN LIKE IS NULL DISTINCT UNION ALL EXCEPT INTERSECT WITH RECURSIVE CASE WHEN THEN ELSE END CAST "
    "CREATE TABLE VIEW MATERIALIZED DROP INSERT INTO VALUES UPDATE SET DELETE PRIMARY KEY "
    "COUNT SUM MIN MAX AVG".split(),
    *map(str, TYPES),
    "DECIMAL",
    "ARRAY",
)

# The word that is being typed; a point separates a relation from its column.
_WORD = re.compile(r"(?:(?P<owner>\w+)\.)?(?P<word>\.?\w*)$")
# Questions whose first word is a table or view.
_ABOUT_A_ROW = {word for word, question in QUESTIONS.items() if question.usage.startswith(("VIEW", "TABLE"))}


def completions(text: str, catalog: Catalog) -> tuple[str, list[str]]:
    """The end of the text that could be completed, and the words that it could become, in a good order."""
    if kind_of(text) is InputKind.QUESTION and text.lstrip().startswith("."):
        return _in_question(text.lstrip(), catalog)
    found = _WORD.search(text)
    assert found is not None
    word, relation = found["word"], found["owner"]
    if relation is not None:
        columns = (each.column_names for name, each in catalog.relations.items() if name.lower() == relation.lower())
        return word, _starting(word, next(columns, ()))
    names = list(catalog.relations)
    if kind_of(text[: found.start()]) is InputKind.DATALOG:
        return word, _starting(word, names)
    everything = (*names, *(name for each in catalog.relations.values() for name in each.column_names), *KEYWORDS)
    return word, _starting(word, dict.fromkeys(everything)) if word else names


def _in_question(text: str, catalog: Catalog) -> tuple[str, list[str]]:
    words = text.split(" ")
    if len(words) == 1:
        return text, _starting(text, (*QUESTIONS, ".quit", *sorted(DIRECTIVES)))
    question, word = words[0].lower(), words[-1]
    before = [each.lower() for each in words[1:-1] if each]
    if question == ".whatif":
        verbs = ("insert", "delete")
        tables = [name for name in catalog.relations if name not in catalog.views]
        return word, _starting(word, tables if before and before[-1] in verbs else verbs)
    if question == ".impact":
        return word, _starting(word, (name for name in catalog.relations if name not in catalog.views and not before))
    if question in _ABOUT_A_ROW and not before:
        return word, _starting(word, catalog.relations)
    if question == ".at" and len(before) == 1:
        return word, _starting(word, catalog.relations)
    return word, []


def _starting(word: str, known: Iterable[str]) -> list[str]:
    return list(_matching(word.lower(), known))


def _matching(word: str, known: Iterable[str]) -> Iterator[str]:
    return (each for each in known if each.lower().startswith(word))


PROMPT = "whence> "
CONTINUED = "   ...> "


def prompted(db: Database, source: Input | None = None, target: Output | None = None) -> Iterator[str]:
    """What is typed at a prompt, until the end of input. Ctrl-C gives up what was typed so far."""
    session: PromptSession[str] = PromptSession(
        PROMPT,
        multiline=True,
        prompt_continuation=CONTINUED,
        completer=_Completer(db),
        complete_style=CompleteStyle.READLINE_LIKE,
        history=_history(),
        key_bindings=_keys(),
        input=source,
        output=target,
    )
    while True:
        try:
            yield session.prompt()
        except KeyboardInterrupt:
            continue
        except EOFError:
            return


class _Completer(Completer):
    def __init__(self, db: Database) -> None:
        self._db = db

    def get_completions(
        self,
        document: Document,
        complete_event: CompleteEvent,  # noqa: ARG002 - whether Tab was pressed does not matter
    ) -> Iterable[Completion]:
        word, found = completions(document.text_before_cursor, self._db.catalog())
        return (Completion(each, start_position=-len(word)) for each in found)


def _keys() -> KeyBindings:
    """Enter runs what is complete, and begins a new line where it is not."""
    keys = KeyBindings()

    @keys.add("enter")
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if is_complete(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    return keys


def _history() -> History:
    """Kept where the user's state is kept; where that cannot be written, only as long as the shell runs."""
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    file = Path(home) / "whence" / "history"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch(mode=0o600)
    except OSError:
        return InMemoryHistory()
    return FileHistory(str(file))
