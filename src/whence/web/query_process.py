"""Queries in processes of their own: they take only so much memory, and end when their time is over."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import duckdb
import pyarrow as pa

import whence
from whence.errors import EvaluationError, WhenceError
from whence.session.query import PreparedQuery, too_long
from whence.web.cells import RequestLimits
from whence.web.query_child import OUT_OF_MEMORY, Task

_OUT_OF_MEMORY: dict[str, object] = {"error": OUT_OF_MEMORY, "message": ""}
_COMMAND = (sys.executable, "-P", "-m", "whence.web.query_child")


class QueryProcesses:
    """Runs queries, each alone in a process. One process is kept for the next query, as a start takes a while."""

    def __init__(self, limits: RequestLimits) -> None:
        self._limits = limits
        self._lock = threading.Lock()
        self._idle: subprocess.Popen[bytes] | None = None
        self._closed = False

    def run(self, query: PreparedQuery, seconds: float, until: float) -> dict[str, object]:
        """The answer as JSON has it. `seconds` are what the user is told, and end at `until`."""
        process = self._take()
        timer = threading.Timer(max(until - time.monotonic(), 0.0), process.kill)
        timer.daemon = True
        timer.start()
        answer: dict[str, object] = _OUT_OF_MEMORY
        try:
            # Without a word it ends when it is killed: by the timer, or by a system that has no memory left.
            answer = json.loads(self._exchange(process, query) or json.dumps(_OUT_OF_MEMORY))
        finally:
            timer.cancel()
            is_late = time.monotonic() >= until
            self._give_back(process, is_well=not is_late and answer.get("error") != OUT_OF_MEMORY)
        if is_late:
            raise too_long(seconds)
        if "error" in answer:
            raise _error(str(answer["error"]), str(answer["message"]), query)
        return answer

    def close(self) -> None:
        """Nothing stays behind."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, None
        if idle is not None:
            _end(idle)

    def _take(self) -> subprocess.Popen[bytes]:
        with self._lock:
            idle, self._idle = self._idle, None
        return idle if idle is not None and idle.poll() is None else _start()

    def _exchange(self, process: subprocess.Popen[bytes], query: PreparedQuery) -> bytes:
        """Nothing is answered before all is read, unless the process ends."""
        assert process.stdin is not None
        assert process.stdout is not None
        # If it ends meanwhile, maybe it has said why.
        with suppress(BrokenPipeError):
            process.stdin.write(self._written(query))
            process.stdin.flush()
        return process.stdout.readline()

    def _give_back(self, process: subprocess.Popen[bytes], *, is_well: bool) -> None:
        with self._lock:
            if is_well and self._idle is None and not self._closed:
                self._idle = process
                return
        _end(process)

    def _written(self, query: PreparedQuery) -> bytes:
        sink = pa.BufferOutputStream()
        for table in query.tables.values():
            with pa.ipc.new_stream(sink, table.schema) as stream:
                stream.write_table(table)
        tables = sink.getvalue()
        task = Task(query.sql, list(query.tables), tables.size, asdict(self._limits))
        return b"".join((task.line(), memoryview(tables)))


def _start() -> subprocess.Popen[bytes]:
    # This package and what it needs is found where this process found it.
    here = str(Path(whence.__file__).parent.parent)
    path = os.pathsep.join([here, *(each for each in sys.path if each)])
    return subprocess.Popen(  # noqa: S603 - this package's own command
        _COMMAND,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": path},
        # Ctrl-C in a terminal is for the page, which then ends this one.
        start_new_session=True,
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            # It may not have read all of what was written to it.
            with suppress(BrokenPipeError):
                stream.close()
    process.wait()


def _error(kind: str, message: str, query: PreparedQuery) -> WhenceError:
    if kind == "TooWide":
        return EvaluationError(message)
    return query.in_our_words(getattr(duckdb, kind, duckdb.Error)(message))
