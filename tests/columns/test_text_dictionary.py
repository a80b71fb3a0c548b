"""Texts have numbers as in a dictionary of Python's, in whatever form they come and go."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence.columns import text_dictionary
from whence.columns.text_dictionary import NULL, TextDictionary

# Few, so that they come again; of one byte and of several, long ones and none at all.
WORDS = st.sampled_from(["", "a", "b", "ab", "ba", "ü", "漢", "🙂", "\x00", "a\x00", "x" * 3_000]) | st.text(max_size=3)
LISTS = st.lists(st.none() | WORDS, max_size=40)


def expected(known: dict[str, int], texts: list[str | None]) -> list[int]:
    return [NULL if text is None else known.setdefault(text, len(known)) for text in texts]


@given(st.lists(st.tuples(LISTS, st.booleans()), max_size=6))
def test_as_a_dictionary(lists: list[tuple[list[str | None], bool]]) -> None:
    dictionary, known = TextDictionary(), dict[str, int]()
    for texts, is_arrow in lists:
        numbers = expected(known, texts)
        if is_arrow:
            assert dictionary.from_arrow(pa.array(texts, pa.string())).tolist() == numbers
        else:
            assert dictionary.numbers(texts) == numbers
        assert [dictionary.number(text) for text in texts] == numbers
        assert dictionary.texts(np.array(numbers, np.int64)) == texts
        column = dictionary.to_arrow(np.array(numbers, np.int64))
        column.validate(full=True)
        assert column.to_pylist() == texts
    assert len(dictionary) == len(known)


def test_many() -> None:
    """So many that there is more room made several times, and that few of them are recent."""
    dictionary, known = TextDictionary(), dict[str, int]()
    for start in range(0, 200_000, 50_000):
        texts: list[Any] = [f"text {at % 77_777}" for at in range(start, start + 60_000)]
        assert dictionary.from_arrow(pa.array(texts)).tolist() == expected(known, texts)
    for start in range(0, 70_000, 1_000):
        texts = [f"new {at}" for at in range(start, start + 1_000)]
        assert dictionary.numbers(texts) == expected(known, texts)
    assert dictionary.texts(np.arange(len(known))) == list(known)


def test_parts_of_columns() -> None:
    """Offsets that begin in the middle, and bytes that lie anywhere, as in a file that was read."""
    texts = ["one", None, "two", "three", None, "one"]
    column = pa.array(texts)
    valid, offsets, data = column.buffers()
    shifted = pa.py_buffer(memoryview(b"?" + offsets.to_pybytes())[1:])
    for given_, start in ((column.slice(2, 3), 2), (pa.Array.from_buffers(pa.string(), 6, [valid, shifted, data]), 0)):
        numbers = TextDictionary().from_arrow(given_).tolist()
        assert numbers == expected({}, texts[start : start + len(given_)])


def test_more_than_a_column_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_dictionary, "MOST_BYTES", 10)
    dictionary = TextDictionary()
    texts: list[Any] = ["four", None, "four", "a text that is too long for anything", "", "five", "four"]
    column = dictionary.to_arrow(np.array(dictionary.numbers(texts)))
    assert column.num_chunks > 1
    assert column.to_pylist() == texts
