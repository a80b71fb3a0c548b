"""What the page shows before anybody asks: relations, rows, definitions, and what happens."""

from __future__ import annotations

import json
from typing import Annotated

from fastapi import APIRouter, Header, Query
from fastapi.responses import StreamingResponse

from whence.database import Database
from whence.model.schema import Column
from whence.questions.looking import Glance
from whence.web.feed import Feed
from whence.web.limits import Limits
from whence.web.problems import RefusedError
from whence.web.values import plain_row, read_values
from whence.web.working import Workers

# A page of rows unless the page asks for more.
_PAGE = 100


def looking(
    db: Database, feed: Feed, workers: Workers, limits: Limits, *, title: str, allow_changes: bool
) -> APIRouter:
    router = APIRouter(prefix="/api")

    @router.get("/database")
    async def database() -> dict[str, object]:
        overview = await workers.run(db.overview)
        commits = await feed.recent()
        return {
            "title": title,
            "version": overview.version,
            "allow_changes": allow_changes,
            "notices": db.notices,
            "relations": [_glance(each) for each in overview.relations],
            # What happened since the rows were counted comes as news.
            "commits": [news.content for news in commits if news.version <= overview.version],
        }

    @router.get("/relation")
    async def relation(name: str) -> dict[str, object]:
        definition = await workers.run(lambda: db.definition(name))
        plan = await workers.run(lambda: db.explain(name))
        return {"definition": definition, "plan": plan}

    @router.get("/rows")
    async def rows(
        relation: str,
        where: str = "{}",
        offset: Annotated[int, Query(ge=0)] = 0,
        limit: Annotated[int, Query(ge=1)] = _PAGE,
    ) -> dict[str, object]:
        wanted = _where(where)
        limit = min(limit, limits.rows)

        def found() -> dict[str, object]:
            page = db.page(relation, read_values(wanted, db.relation(relation)), offset=offset, limit=limit + 1)
            return {"rows": [plain_row(row) for row in page[:limit]], "more": len(page) > limit}

        return await workers.run(found)

    @router.get("/events")
    async def events(
        since: int | None = None, last_event_id: Annotated[str | None, Header()] = None
    ) -> StreamingResponse:
        if last_event_id is not None and last_event_id.isdecimal():
            since = int(last_event_id)
        feed.check_room()
        return StreamingResponse(feed.events(since), media_type="text/event-stream")

    return router


def _where(text: str) -> dict[str, object]:
    try:
        wanted = json.loads(text)
    except (ValueError, RecursionError):
        raise RefusedError(400, "where is not JSON", 'write {"column": value}') from None
    if not isinstance(wanted, dict):
        raise RefusedError(400, "where is an object of columns and their values", 'write {"column": value}')
    return wanted


def _glance(glance: Glance) -> dict[str, object]:
    relation = glance.relation
    return {
        "name": relation.name,
        "kind": "view" if glance.is_view else "table",
        "columns": [_column(column) for column in relation.columns],
        "key": relation.key,
        "is_set": relation.distinct,
        "reads": glance.reads,
        "absent": sorted(glance.absent),
        "is_recursive": glance.is_recursive,
        "size": glance.size,
        "exact": glance.exact,
        "waits": glance.waits,
    }


def _column(column: Column) -> dict[str, object]:
    return {"name": column.name, "type": str(column.type), "nullable": column.nullable}
