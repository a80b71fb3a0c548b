"""The questions of the shell: a point, a word, and what the question is about."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from whence.cli.targets import read_question, read_row, relation_of
from whence.errors import DataError, ParseError, UnknownNameError, did_you_mean

if TYPE_CHECKING:
    from whence.database.database import Database
    from whence.model.types import Row


@dataclass(frozen=True)
class ShellQuestion:
    """`usage` is what follows the word, `words` what it does."""

    usage: str
    words: str
    answer: Callable[[Database, Sequence[str]], object]


def ask(db: Database, line: str) -> object:
    """The answer to a line like `.why reachable a c`. It is something to be written, or None."""
    word, *texts = _split(line)
    question = QUESTIONS.get(word.lower())
    if question is None:
        raise UnknownNameError(
            f"there is no question {word!r}", hint=did_you_mean(word, QUESTIONS) or ".help tells what there is"
        )
    return question.answer(db, texts)


def _split(line: str) -> list[str]:
    # Quotes stay, so that '_' is not any value; they hold blanks together.
    lexer = shlex.shlex(line.strip(), posix=False, punctuation_chars=False)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError:
        raise ParseError("a quote is not closed") from None


def _row(db: Database, texts: Sequence[str]) -> tuple[str, Row]:
    if not texts:
        raise DataError("a table or view is missing", hint="write its name, and a value for each column")
    relation = relation_of(db, texts[0])
    return relation.name, read_question(texts[1:], relation)


def _about_row(ask: Callable[[Database], Callable[[str, Row], object]]) -> Callable[[Database, Sequence[str]], object]:
    """A question about one row, which the database answers."""
    return lambda db, texts: ask(db)(*_row(db, texts))


def _at(db: Database, texts: Sequence[str]) -> object:
    if not texts or not texts[0].isdecimal():
        raise DataError("a version is missing", hint="write .at VERSION VIEW VALUE ...")
    return db.why(*_row(db, texts[1:]), version=int(texts[0]))


def _what_if(db: Database, texts: Sequence[str]) -> object:
    changes: dict[str, dict[str, list[Row]]] = {"insert": {}, "delete": {}}
    waiting = list(texts)
    while waiting:
        verb = waiting.pop(0).lower()
        if verb not in changes or not waiting:
            raise ParseError("what to do with which row?", hint="write .whatif insert TABLE VALUE ... delete TABLE ...")
        relation = relation_of(db, waiting.pop(0))
        values, waiting = waiting[: relation.arity], waiting[relation.arity :]
        changes[verb].setdefault(relation.name, []).append(read_row(values, relation))
    return db.what_if(insert=changes["insert"], delete=changes["delete"])


def _explain(db: Database, texts: Sequence[str]) -> object:
    if len(texts) != 1:
        raise DataError("explain is about one view", hint="write .explain VIEW")
    return db.explain(texts[0])


def _changes(db: Database, texts: Sequence[str]) -> object:
    from whence.cli.changes import change_lines

    if not 1 <= len(texts) <= 2 or not all(text.isdecimal() for text in texts[1:]):
        raise DataError("changes are those of one view", hint="write .changes VIEW, or .changes VIEW VERSION")
    relation = relation_of(db, texts[0])
    since = int(texts[1]) if len(texts) == 2 else None
    return "\n".join(change_lines(relation, db.changes(relation.name, since))) or "no changes"


def _tables(db: Database, _: Sequence[str]) -> object:
    catalog = db.catalog()
    lines = [
        f"{'view ' if name in catalog.views else 'table'}  {name}("
        f"{', '.join(f'{column.name} {column.type}' for column in relation.columns)})"
        for name, relation in catalog.relations.items()
    ]
    return "\n".join(lines) or "there is nothing yet: CREATE TABLE ..., or a rule"


def _read(db: Database, texts: Sequence[str]) -> object:
    from whence.cli.run import SUFFIXES, FileError, load, read_source

    if len(texts) != 1:
        raise DataError("read takes one file", hint="write .read network.sql, or .read network.dl")
    path = Path(texts[0].strip("'\""))
    if path.suffix not in SUFFIXES:
        raise FileError(f"a program is a .sql or .dl file, not {str(path)!r}")
    load(db, read_source(path))
    return _tables(db, ())


def _help(_: Database, __: Sequence[str]) -> object:
    width = max(len(f"{word} {question.usage}") for word, question in QUESTIONS.items())
    lines = [f"  {f'{word} {question.usage}':<{width}}  {question.words}" for word, question in QUESTIONS.items()]
    return "\n".join((*_ABOUT, *lines, f"  {'.quit':<{width}}  leave; so does Ctrl-D"))


_ABOUT = (
    "SQL ends in `;` and may take several lines; Datalog ends in `.`, and rules run after an empty line",
    "in questions _ is any value, and 'quotes' hold blanks together",
    "",
)

QUESTIONS = {
    ".why": ShellQuestion("VIEW VALUE ...", "a proof that a row is there", _about_row(lambda db: db.why)),
    ".whynot": ShellQuestion(
        "VIEW VALUE ...", "why a row is not there, and what would produce it", _about_row(lambda db: db.why_not)
    ),
    ".whatif": ShellQuestion(
        "insert|delete TABLE VALUE ...", "what would change; several may follow each other", _what_if
    ),
    ".impact": ShellQuestion("TABLE VALUE ...", "what depends on a row of a table", _about_row(lambda db: db.impact)),
    ".at": ShellQuestion("VERSION VIEW VALUE ...", "what made a row come or go, up to a version", _at),
    ".removed": ShellQuestion("VIEW VALUE ...", "what removed a row", _about_row(lambda db: db.what_removed)),
    ".explain": ShellQuestion("VIEW", "how a view is kept up to date", _explain),
    ".changes": ShellQuestion("VIEW [VERSION]", "what commits changed, after a version", _changes),
    ".tables": ShellQuestion("", "the tables and views that there are", _tables),
    ".read": ShellQuestion("FILE", "run a .sql or .dl file", _read),
    ".help": ShellQuestion("", "this", _help),
}
