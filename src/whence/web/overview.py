"""What the page shows before a question is asked: relations, rows, definitions, and commits."""

from __future__ import annotations

import json
from typing import Annotated

from fastapi import APIRouter, Header, Query
from fastapi.responses import Response

from whence.database.database import Database
from whence.database.overview import MOST_ROWS, Glance
from whence.web.cells import Cells, RequestLimits, shortened
from whence.web.feed import Events, PageFeed
from whence.web.requests import RefusedRequestError, Workers, read_values

# A page of rows unless the page asks for more.
_PAGE = 100


def overview_routes(
    db: Database, feed: PageFeed, workers: Workers, limits: RequestLimits, *, title: str, allow_changes: bool
) -> APIRouter:
    router = APIRouter(prefix="/api")

    @router.get("/database")
    async def database() -> Response:
        overview = await workers.run(db.overview)
        commits = await feed.recent()
        return await workers.answer(
            lambda: {
                "title": title,
                "version": overview.version,
                "allow_changes": allow_changes,
                "notices": db.notices,
                "relations": [_glance(each) for each in overview.relations],
                # Commits since the rows were counted come as events.
                "commits": [news.content for news in commits if news.version <= overview.version],
            }
        )

    @router.get("/relation")
    @workers.route
    def relation(name: str) -> dict[str, object]:
        return {
            "definition": shortened(db.definition(name), limits),
            "plan": shortened(str(db.explain(name)), limits),
        }

    @router.get("/rows")
    @workers.route
    def rows(
        relation: str,
        where: str = "{}",
        offset: Annotated[int, Query(ge=0, le=MOST_ROWS)] = 0,
        limit: Annotated[int, Query(ge=1, le=MOST_ROWS)] = _PAGE,
    ) -> dict[str, object]:
        wanted = _where(where)
        limit = min(limit, limits.rows)
        page = db.page(relation, read_values(wanted, db.relation(relation)), offset=offset, limit=limit + 1)
        cells = Cells(limits)
        rows = cells.rows(page, limit)
        return {"rows": rows, "more": len(page) > len(rows), "shortened": cells.shortened}

    @router.get("/events")
    async def events(since: int | None = None, last_event_id: Annotated[str | None, Header()] = None) -> Events:
        if last_event_id is not None and last_event_id.isdecimal():
            since = int(last_event_id)
        return Events(feed, since)

    return router


def _where(text: str) -> dict[str, object]:
    try:
        wanted = json.loads(text)
    except (ValueError, RecursionError):
        raise RefusedRequestError(400, "where is not JSON", 'write {"column": value}') from None
    if not isinstance(wanted, dict):
        raise RefusedRequestError(400, "where is an object of columns and their values", 'write {"column": value}')
    return wanted


def _glance(glance: Glance) -> dict[str, object]:
    relation = glance.relation
    return {
        "name": relation.name,
        "kind": "view" if glance.is_view else "table",
        "columns": [{"name": c.name, "type": str(c.type), "nullable": c.nullable} for c in relation.columns],
        "key": relation.key,
        "is_set": relation.distinct,
        "reads": glance.reads,
        "absent": sorted(glance.absent),
        "is_recursive": glance.is_recursive,
        "size": glance.size,
        "exact": glance.exact,
        "waits": glance.waits,
    }
