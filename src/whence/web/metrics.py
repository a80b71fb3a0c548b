"""`/metrics`: what a monitoring system such as Prometheus asks for, in its text format."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Iterator

from fastapi import APIRouter
from fastapi.responses import Response

from whence.database.database import Database
from whence.database.overview import Overview
from whence.web.requests import Workers

CONTENT = "text/plain; version=0.0.4; charset=utf-8"
# Of what getrusage gives: kilobytes on Linux, bytes on a Mac.
_MEMORY_UNIT = 1 if sys.platform == "darwin" else 1024


def metric_routes(db: Database, workers: Workers) -> APIRouter:
    router = APIRouter()

    @router.get("/metrics")
    async def metrics() -> Response:
        overview = await workers.run(db.overview)
        return Response(metrics_text(overview, len(db.notices)), media_type=CONTENT)

    return router


def metrics_text(overview: Overview, notices: int) -> str:
    return "".join(f"{line}\n" for line in _lines(overview, notices))


def _lines(overview: Overview, notices: int) -> Iterator[str]:
    yield from _metric("whence_commits_total", "counter", "Commits so far: the version of the database.")
    yield f"whence_commits_total {overview.version}"
    yield from _metric("whence_rows", "gauge", "Rows of a table or view, copies included.")
    for each in overview.relations:
        if each.size is not None:
            kind = "view" if each.is_view else "table"
            yield f'whence_rows{{relation="{_label(each.relation.name)}",kind="{kind}"}} {each.size}'
    yield from _metric("whence_views_waiting", "gauge", "Views that wait for a function, and have no rows meanwhile.")
    yield f"whence_views_waiting {sum(each.waits is not None for each in overview.relations)}"
    yield from _metric("whence_notices", "gauge", "What is worth knowing about the definitions, and no error.")
    yield f"whence_notices {notices}"
    used = resource.getrusage(resource.RUSAGE_SELF)
    yield from _metric("process_cpu_seconds_total", "counter", "Processor time of the process.")
    yield f"process_cpu_seconds_total {time.process_time():.3f}"
    yield from _metric("process_max_resident_memory_bytes", "gauge", "The most memory that the process has had.")
    yield f"process_max_resident_memory_bytes {used.ru_maxrss * _MEMORY_UNIT}"


def _metric(name: str, kind: str, text: str) -> Iterator[str]:
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} {kind}"


def _label(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
