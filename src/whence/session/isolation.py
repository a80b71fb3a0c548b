"""DuckDB as queries see it, in this process and in the page's: without files, without zones, with Spark's sums."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from whence.errors import EvaluationError
from whence.sources.rows import zoneless

if TYPE_CHECKING:
    import pyarrow as pa

# The query sees the tables it is given and nothing else: no files, no network, no variables of this process.
ISOLATION: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "python_enable_replacements": "false",
}
# A TIMESTAMP has no zone, whichever the process is in. DuckDB takes this setting only once it runs, and the lock last.
SETTINGS = "SET TimeZone = 'UTC'; SET lock_configuration = true"


def plain(table: pa.Table, types: Sequence[object]) -> pa.Table:
    """Without zones, and sums of integers as BIGINT, which they are in Spark; DuckDB computes them in 128 bits.

    `types` are those that DuckDB gives the columns.
    """
    import pyarrow as pa

    for position, kind in enumerate(types):
        if str(kind) == "HUGEINT":
            name = table.column_names[position]
            try:
                column = table.column(position).cast(pa.int64())
            except pa.ArrowInvalid:
                raise EvaluationError(f"column {name!r} does not fit BIGINT") from None
            table = table.set_column(position, name, column)
    return zoneless(table)
