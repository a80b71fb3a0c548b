"""Rows of a table that somebody else would have to keep a second time, such as those that a change brought."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

    from whence.columns.table import ColumnTable


class RowRange:
    """The rows of these numbers, whether they are still there or not. Before they get others, they are copied."""

    def __init__(self, table: ColumnTable, first: int, end: int) -> None:
        self._table: ColumnTable | None = table
        self._numbers = first, end
        self._copy: list[pa.Array] = []

    def arrow(self) -> list[pa.Array]:
        if self._table is None:
            return self._copy
        columns = zip(self._table.encodings, self._table.columns(np.arange(*self._numbers)), strict=True)
        return [encoding.to_arrow(column) for encoding, column in columns]

    def detach(self) -> None:
        """The table is about to give its rows other numbers."""
        self._copy, self._table = self.arrow(), None
