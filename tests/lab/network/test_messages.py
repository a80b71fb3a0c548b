"""Messages as bytes: what is written is read, and nothing else is taken for a message."""

from __future__ import annotations

import datetime
import decimal
import struct
import zlib
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence.lab.network.messages import (
    HEADER,
    CountChanges,
    Deleted,
    DerivedRows,
    FinishedRows,
    Message,
    Struck,
    decode,
    encode,
)
from whence.lab.network.values import DamagedError, ValueReader, ValueWriter
from whence.model.types import Value

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(),
    st.decimals(allow_nan=False, allow_infinity=False),
    st.dates(),
    st.datetimes(),
)
VALUES: st.SearchStrategy[Value] = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3).map(tuple))
ROWS = st.lists(VALUES, max_size=3).map(tuple)
NUMBERS = st.integers(0, 2**63)
SECTIONS = st.one_of(
    st.builds(FinishedRows, st.text(), st.lists(st.tuples(NUMBERS, ROWS, st.integers()), max_size=3)),
    st.builds(Struck, st.lists(NUMBERS, max_size=3)),
    st.builds(CountChanges, st.text(), st.lists(st.tuples(ROWS, st.integers()), max_size=3)),
    st.builds(DerivedRows, st.text(), st.lists(ROWS, max_size=3), st.binary()),
    st.builds(Deleted, st.text(), st.lists(ROWS, max_size=3)),
)
MESSAGES = st.builds(
    Message,
    st.integers(0, 2**32 - 1),
    st.integers(0, 2**32 - 1),
    st.integers(0, 2**64 - 1),
    st.lists(SECTIONS, max_size=3).map(tuple),
)


def same_type(left: Value, right: Value) -> bool:
    if isinstance(left, tuple) and isinstance(right, tuple):
        return all(same_type(a, b) for a, b in zip(left, right, strict=True))
    return type(left) is type(right)


@given(VALUES)
def test_a_value_comes_back_as_it_was(value: Value) -> None:
    writer = ValueWriter()
    writer.value(value)
    reader = ValueReader(bytes(writer.data))
    back = reader.value()
    assert back == value
    assert same_type(value, back)
    assert reader.is_done


@given(MESSAGES)
def test_a_message_comes_back_as_it_was(message: Message) -> None:
    assert decode(encode(message)) == message


@given(MESSAGES, st.data())
def test_a_truncated_message_is_refused(message: Message, data: st.DataObject) -> None:
    whole = encode(message)
    with pytest.raises(DamagedError):
        decode(whole[: data.draw(st.integers(0, len(whole) - 1))])


@given(MESSAGES, st.data())
def test_one_wrong_bit_is_enough_to_be_refused(message: Message, data: st.DataObject) -> None:
    damaged = bytearray(encode(message))
    bit = data.draw(st.integers(0, 8 * len(damaged) - 1))
    damaged[bit // 8] ^= 1 << bit % 8
    with pytest.raises(DamagedError):
        decode(bytes(damaged))


@given(st.binary(max_size=60), st.integers(0, 3))
def test_sections_of_nonsense_are_refused_or_read_but_never_break(body: bytes, sections: int) -> None:
    header = HEADER.pack(b"WNET", 1, sections, 0, 1, 0, len(body))
    with suppress(DamagedError):
        decode(header + struct.pack("<I", zlib.crc32(body, zlib.crc32(header))) + body)


def test_the_format_is_what_the_documentation_says() -> None:
    message = Message(2, 1, 7, (Struck([3, 300]), CountChanges("seen", [(("a", None, -1), -2)])))
    assert encode(message)[HEADER.size + 4 :] == bytes(
        [2, 2, 3, 0xAC, 0x02, 3, 4, *b"seen", 1, 3, 5, 1, *b"a", 0, 3, 1, 3]
    )


@pytest.mark.parametrize(
    ("value", "data"),
    [
        (True, [2]),
        (0.5, [4, 0, 0, 0, 0, 0, 0, 0xE0, 0x3F]),
        (decimal.Decimal("1.50"), [6, 4, *b"1.50"]),
        (datetime.date(1, 1, 2), [7, 2]),
        (datetime.datetime(1970, 1, 1, 0, 0, 0, 5), [8, 10]),
        ((1, ("x",)), [9, 2, 3, 2, 9, 1, 5, 1, *b"x"]),
    ],
)
def test_values_as_bytes(value: Any, data: list[int]) -> None:
    writer = ValueWriter()
    writer.value(value)
    assert list(writer.data) == data
