"""The prompt: lines with completion and a history, one text after the other."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.shortcuts import CompleteStyle

from whence.cli.shell.completing import completions
from whence.cli.shell.inputs import is_complete

if TYPE_CHECKING:
    from prompt_toolkit.input import Input
    from prompt_toolkit.output import Output

    from whence.database import Database

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
