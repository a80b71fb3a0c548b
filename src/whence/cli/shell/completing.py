"""What could come next: questions, relations, columns, and the words of SQL."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from whence.cli.shell.inputs import DIRECTIVES, Kind, kind_of
from whence.cli.shell.questions import QUESTIONS

if TYPE_CHECKING:
    from whence.model.catalog import Catalog

KEYWORDS = tuple(
    "SELECT FROM WHERE GROUP BY ORDER HAVING LIMIT JOIN LEFT RIGHT FULL OUTER INNER CROSS ON USING AS AND OR NOT "
    "EXISTS IN BETWEEN LIKE IS NULL DISTINCT UNION ALL EXCEPT INTERSECT WITH RECURSIVE CASE WHEN THEN ELSE END CAST "
    "CREATE TABLE VIEW MATERIALIZED DROP INSERT INTO VALUES DELETE PRIMARY KEY STRING INT BIGINT DOUBLE DECIMAL "
    "BOOLEAN DATE TIMESTAMP COUNT SUM MIN MAX AVG".split()
)

# The word that is being typed; a point separates a relation from its column.
_WORD = re.compile(r"(?:(?P<owner>\w+)\.)?(?P<word>\.?\w*)$")
# Questions whose first word is a table or view.
_ABOUT_A_ROW = {word for word, question in QUESTIONS.items() if question.usage.startswith(("VIEW", "TABLE"))}


def completions(text: str, catalog: Catalog) -> tuple[str, list[str]]:
    """The end of the text that could be completed, and the words that it could become, in a good order."""
    if kind_of(text) is Kind.QUESTION and text.lstrip().startswith("."):
        return _in_question(text.lstrip(), catalog)
    found = _WORD.search(text)
    assert found is not None
    word, relation = found["word"], found["owner"]
    if relation is not None:
        columns = (each.column_names for name, each in catalog.relations.items() if name.lower() == relation.lower())
        return word, _starting(word, next(columns, ()))
    names = list(catalog.relations)
    if kind_of(text[: found.start()]) is Kind.DATALOG:
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
