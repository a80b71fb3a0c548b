"""Queries, run in a process of their own: whatever they take, the process that has the database keeps its memory.

It is started by `whence.web.query_process`, which writes the query and the tables it reads, and reads the answer.
DuckDB's own limit leaves out what functions make of text and lists (`repeat`, `range`), so the process has one, too.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import BinaryIO

import duckdb
import pyarrow as pa

from whence.errors import EvaluationError
from whence.session.isolation import ISOLATION, SETTINGS, plain
from whence.web.cells import Cells, RequestLimits

# Rows that are fetched at a time, so that an answer ends as soon as it is full.
_BATCH = 100
THREADS = 2
OUT_OF_MEMORY = duckdb.OutOfMemoryException.__name__


@dataclass(frozen=True, slots=True)
class Task:
    """What comes before the tables: the query, their names, how many bytes they have, and the limits."""

    sql: str
    tables: list[str]
    size: int
    limits: dict[str, float]

    def line(self) -> bytes:
        return json.dumps(asdict(self)).encode() + b"\n"


def main() -> None:
    """One answer in a line for each query, until there are no more, or one has run out of memory."""
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    while line := requests.readline():
        answer = _answer(Task(**json.loads(line)), requests)
        answers.write(json.dumps(answer, ensure_ascii=True, allow_nan=False).encode() + b"\n")
        answers.flush()
        if answer.get("error") == OUT_OF_MEMORY:
            break


def _answer(task: Task, requests: BinaryIO) -> dict[str, object]:
    limits = RequestLimits(**task.limits)  # type: ignore[arg-type]  # numbers, as they were before they were written
    # What it reads comes twice: as it arrives, and as DuckDB has it.
    _limit_memory(limits.memory + 2 * task.size)
    try:
        with duckdb.connect(":memory:", config=_settings(limits)) as connection:
            for name in task.tables:
                connection.register(name, pa.ipc.open_stream(requests).read_all())
            connection.execute(SETTINGS)
            return _run(connection.sql(task.sql), limits)
    except duckdb.Error as error:
        return {"error": type(error).__name__, "message": str(error)}
    except EvaluationError as error:
        return {"error": "TooWide", "message": error.message}
    except MemoryError:
        return {"error": OUT_OF_MEMORY, "message": ""}


def _run(query: duckdb.DuckDBPyRelation, limits: RequestLimits) -> dict[str, object]:
    types = query.types
    reader = query.limit(limits.rows + 1).to_arrow_reader(_BATCH)
    cells = Cells(limits)
    rows = cells.rows(_rows(reader, types))
    return {
        "columns": [
            {"name": field.name, "type": str(field.type)} for field in plain(reader.schema.empty_table(), types).schema
        ],
        "rows": rows[: limits.rows],
        "more": cells.full or len(rows) > limits.rows,
        "full": cells.full,
        "shortened": cells.shortened,
    }


def _rows(reader: pa.RecordBatchReader, types: Sequence[object]) -> Iterator[tuple[object, ...]]:
    for batch in reader:
        table = plain(pa.Table.from_batches([batch]), types)
        for number in range(table.num_rows):
            yield tuple([column[number].as_py() for column in table.columns])


def _settings(limits: RequestLimits) -> dict[str, str | bool | int | float | list[str]]:
    return {
        **ISOLATION,
        "memory_limit": f"{limits.memory // 2}B",
        "max_temp_directory_size": "0B",
        "threads": THREADS,
    }


def _limit_memory(size: int) -> None:
    try:
        import resource
    except ModuleNotFoundError:
        # Windows has none; DuckDB's own limit is there still.
        return
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (size if most == resource.RLIM_INFINITY else min(size, most), most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    main()
