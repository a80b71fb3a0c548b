"""Programs with slips: words dropped, doubled, swapped, misspelt, quoted, and pieces of other programs between them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, reduce
from random import Random

from tests.lang.mutants.grafts import grafted
from tests.lang.mutants.texts import Text, all_texts, drawn
from whence.analysis.analyze import analyze
from whence.errors import WhenceError
from whence.lang.datalog.parse import parse_datalog
from whence.lang.sql.parse import parse_sql
from whence.model.program import Catalog

_WORDS = re.compile(
    r"--[^\n]*|'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`|\d+(?:\.\d+)?|\w+|:-|[<>!=]=|<>|<=>|\s+|."
)
# What Spark can say, and a program of ours has no reason to.
_SPARK = """LATERAL VIEW explode(x) QUALIFY WINDOW TABLESAMPLE (10 PERCENT) PIVOT UNPIVOT OFFSET 1 LIMIT 1 FETCH FIRST
    SORT BY CLUSTER BY DISTRIBUTE BY ROLLUP CUBE GROUPING SETS ALL ANY SOME EXCEPT MINUS INTERSECT UNION BY NAME SEMI
    ANTI NATURAL CROSS FULL OUTER USING STRAIGHT ORDER BY 1 DESC NULLS FIRST OVER () PARTITION BY HAVING FILTER (WHERE
    true) WITHIN GROUP INTERVAL 1 DAY AT TIME ZONE COLLATE ESCAPE '/' SIMILAR TO RLIKE ILIKE IS DISTINCT FROM IN NOT
    EXISTS TEMPORARY GLOBAL OR REPLACE IF COMMENT 'x' TBLPROPERTIES ('a' = 'b') LOCATION DEFAULT 1 CHECK UNIQUE
    FOREIGN KEY REFERENCES GENERATED ALWAYS AS IDENTITY FOR UPDATE VERSION AS OF TIMESTAMP AS OF . , ; ( ) [ 1 ] : ::
    -> => || && | & ^ ~ ! ? @ # $ % * + - / <=> == <> := { } MAP STRUCT ARRAY <INT> CASE WHEN THEN ELSE END CAST
    TRY_CAST EXTRACT RECURSIVE MATERIALIZED VALUES SELECT DISTINCT AS FROM WHERE GROUP JOIN ON WITH count(*) max(
    current_date NULL TRUE 1e400 1L 99999999999999999999 0x1F x'1F' r'a' '' `` "" // % /* */ -- .decl .input .output
    key( ttl("1 day") min< count : { } !""".split()


def mutants(seed: int) -> Callable[[int], Text]:
    """The mutant of each number; the same for the same seed."""
    texts = all_texts()

    def made(number: int) -> Text:
        random = Random(f"{seed}/{number}")
        text = drawn(texts, random)
        # A slip in what is refused already is mostly passed over for the first one.
        while random.random() < 0.8 and not _is_sound(text):
            text = drawn(texts, random)
        if text.language == "sql" and random.random() < 0.5:
            grafts = range(random.choice((1, 1, 2, 3)))
            return replace(text, text=reduce(lambda program, _: grafted(program, random), grafts, text.text))
        words = _split(text.text)
        for _ in range(random.choice((1, 1, 1, 1, 2))):
            words = random.choice(_SLIPS)(words, random)
        return replace(text, text="".join(words))

    return made


@cache
def _is_sound(text: Text) -> bool:
    try:
        if text.language == "sql":
            parse_sql(";\n".join(filter(None, (text.tables, text.text))), Catalog())
        else:
            analyze(parse_datalog(f"{text.tables}\n{text.text}"))
    except WhenceError:
        return False
    return True


@cache
def _split(text: str) -> Sequence[str]:
    return tuple(_WORDS.findall(text))


def _places(words: Sequence[str]) -> list[int]:
    return [at for at, word in enumerate(words) if word.strip()] or [0]


def _at(words: Sequence[str], random: Random, change: Callable[[str], str]) -> Sequence[str]:
    at = random.choice(_places(words))
    return [*words[:at], *(change(word) for word in words[at : at + 1] if word), *words[at + 1 :]]


def _drop(words: Sequence[str], random: Random) -> Sequence[str]:
    return _at(words, random, lambda _: "")


def _rename(words: Sequence[str], random: Random) -> Sequence[str]:
    """One of the words instead of another."""
    return _at(words, random, lambda _: words[random.choice(_places(words))])


def _double(words: Sequence[str], random: Random) -> Sequence[str]:
    return _at(words, random, lambda word: f"{word} {word}")


def _misspell(words: Sequence[str], random: Random) -> Sequence[str]:
    def change(word: str) -> str:
        at = random.randrange(len(word))
        return random.choice((word[:at] + word[at + 1 :], word[:at] + word[at] + word[at:], word[::-1]))

    return _at(words, random, change)


def _letter_case(words: Sequence[str], random: Random) -> Sequence[str]:
    return _at(words, random, random.choice((str.upper, str.lower, str.swapcase, str.title)))


def _quote(words: Sequence[str], random: Random) -> Sequence[str]:
    quote = random.choice("'\"`()[]{}")
    close = {"(": ")", "[": "]", "{": "}"}.get(quote, quote)
    return _at(words, random, lambda word: f"{quote}{word}{close}")


def _swap(words: Sequence[str], random: Random) -> Sequence[str]:
    places = _places(words)
    first = random.randrange(len(places))
    a, b = places[first], random.choice((places[(first + 1) % len(places)], random.choice(places)))
    swapped = list(words)
    if swapped:
        swapped[a], swapped[b] = swapped[b], swapped[a]
    return swapped


def _move(words: Sequence[str], random: Random) -> Sequence[str]:
    """A clause to another place."""
    places = _places(words)
    start = random.choice(places)
    end = start + random.randint(1, 12)
    piece, rest = words[start:end], [*words[:start], *words[end:]]
    at = random.choice(_places(rest))
    return [*rest[:at], " ", *piece, " ", *rest[at:]]


def _splice(words: Sequence[str], random: Random) -> Sequence[str]:
    """A piece of another program, or a word of Spark's, between two words or instead of one."""
    if random.random() < 0.5:
        start = random.randrange(len(_SPARK))
        piece: Sequence[str] = [f"{word} " for word in _SPARK[start : start + random.randint(1, 3)]]
    else:
        other = _split(drawn(all_texts(), random).text)
        start = random.choice(_places(other))
        piece = other[start : start + random.randint(1, 14)]
    at = random.choice(_places(words))
    return [*words[:at], " ", *piece, " ", *words[at + random.randint(0, 1) :]]


_SLIPS = (_drop, _rename, _rename, _double, _misspell, _letter_case, _quote, _swap, _move, _splice, _splice, _splice)
