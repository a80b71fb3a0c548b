"""`/metrics`: what a database has done and holds, as Prometheus reads it."""

from __future__ import annotations

from collections.abc import Iterator

from fastapi import APIRouter
from fastapi.responses import Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from whence.database.database import Database
from whence.database.overview import Overview
from whence.session.feeds import CommitTotals
from whence.web.requests import Workers

# What commits add up to, in words. Other metrics of an engine are those of the last commit.
_SUMMED = {
    "rows_in": "Rows that came to tables and left them.",
    "rows_out": "Rows that came to views and left them.",
    "expired": "Rows that left, or were turned away, because of their time to live.",
    "evicted": "Rows that left a window for newer ones.",
}


class DatabaseCollector(Collector):
    """What a database is at this moment."""

    def __init__(self, overview: Overview, totals: CommitTotals) -> None:
        self._overview = overview
        self._totals = totals

    def collect(self) -> Iterator[Metric]:
        yield GaugeMetricFamily("whence_version", "The version of the latest commit.", self._overview.version)
        rows = GaugeMetricFamily(
            "whence_relation_rows", "Rows of a table or view; an estimate where that is not exact.", labels=_LABELS
        )
        waiting = GaugeMetricFamily(
            "whence_relation_waiting", "Whether a view waits for a function that is not registered.", labels=_LABELS
        )
        for each in self._overview.relations:
            labels = (each.relation.name, "view" if each.is_view else "table")
            waiting.add_metric(labels, each.waits is not None)
            if each.size is not None:
                rows.add_metric(labels, each.size)
        yield rows
        yield waiting
        totals = self._totals
        yield CounterMetricFamily("whence_commits", "Commits of this process.", totals.commits)
        yield CounterMetricFamily("whence_commit_seconds", "The time that these took together.", totals.seconds)
        for name, words in _SUMMED.items():
            yield CounterMetricFamily(f"whence_{name}", words, totals.summed[name])
        last = GaugeMetricFamily("whence_last_commit", "Metrics of the latest commit of this process.", labels=["name"])
        for name, value in totals.last.items():
            last.add_metric([name], value)
        yield last


_LABELS = ("relation", "kind")


def metrics_routes(db: Database, workers: Workers) -> APIRouter:
    router = APIRouter()

    @router.get("/metrics")
    async def metrics() -> Response:
        def text() -> bytes:
            registry = CollectorRegistry()
            # Memory and processor time of this process, under the names that others have for them.
            ProcessCollector(registry=registry)
            registry.register(DatabaseCollector(db.overview(), db.totals))
            return generate_latest(registry)

        return Response(await workers.run(text), media_type=CONTENT_TYPE_LATEST)

    return router
