"""The best values of groups, found in pages of heaps, against all of them sorted."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from whence.engines.spark import group_values, ordered_index
from whence.engines.spark.decoded_segment import Hashes, decoded_table
from whence.engines.spark.group_values import ValueOrder, _best_values
from whence.model.schema import Column, Relation
from whence.model.types import BIGINT, BOOLEAN, DATE, DOUBLE, STRING, DecimalType, Type

VALUES: dict[Type, Callable[[int], Any]] = {
    BIGINT: lambda number: number - 7,
    DOUBLE: lambda number: (number - 7) / 4,
    STRING: lambda number: "aé\U0001f600zß"[number % 5] * (number % 4),
    DATE: lambda number: datetime.date(2026, 1, 1) + datetime.timedelta(number),
    DecimalType(20, 2): lambda number: Decimal(number * 10**15 - 7) / 100,
    BOOLEAN: lambda number: number % 2 == 0,
}


def same_hash(columns: Sequence[pa.Array]) -> Hashes:
    return np.zeros(len(columns[0]), np.uint64)


@pytest.mark.parametrize("seed", range(60))
def test_pages_have_the_best_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    chance = Random(seed)
    kind = chance.choice(list(VALUES))
    function = chance.choice(("min", "max"))
    width = chance.choice((0, 1, 2))
    monkeypatch.setattr(group_values, "BEST_AT_ONCE", chance.choice((1, 3, 1000)))
    monkeypatch.setattr(ordered_index, "RUN", chance.choice((4, 1 << 22)))
    if chance.random() < 0.3:
        for module in (group_values, ordered_index):
            monkeypatch.setattr(module, "hash_rows", same_hash)
    columns = tuple(Column(f"k{at}", BIGINT) for at in range(width))
    relation = Relation("values", (*columns, Column(f"k{width}", kind, nullable=False)))
    groups = [(None, 1)[:width], (2, None)[:width], (3, 3)[:width]]
    heaps = []
    there: list[tuple[Any, ...]] = []
    for _ in range(chance.randint(1, 3)):
        rows = {(*chance.choice(groups), VALUES[kind](chance.randrange(20))) for _ in range(chance.randint(0, 30))}
        names = [f"c{at}" for at in range(width + 1)]
        types = [pa.int64()] * width + [kind.arrow()]
        listed = list(zip(*rows, strict=True)) or [()] * (width + 1)
        table = pa.table([pa.array(each, of) for each, of in zip(listed, types, strict=True)], names)
        heaps.append(decoded_table(table, tmp_path if chance.random() < 0.5 else None))
        there += rows
    order = ValueOrder(function, kind)
    for key in groups:
        expected = sorted({row[-1] for row in there if row[:-1] == key}, key=order.of)
        found: list[Any] = []
        after, are_all = None, False
        while not are_all:
            page = _best_values(heaps, relation, key, order, after)
            assert page.values or page.are_all
            found += page.values
            after, are_all = (page.values[-1] if page.values else after), page.are_all
        assert found == expected
