"""The questions of the page, each answered by the database's own words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict

from whence.database import Database
from whence.model.schema import Relation
from whence.model.types import Row
from whence.model.updates import Delta, totals
from whence.web.limits import Limits
from whence.web.problems import RefusedError
from whence.web.proofs import Sending, Shelf
from whence.web.values import plain_row, read_row, read_values
from whence.web.working import Workers

# Left for the answer to be written, out of the time that a question has.
_MARGIN = 0.8


class Question(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class AboutRow(Question):
    """A row: in the order of the columns, or by their names. Null is any value."""

    relation: str
    row: list[object] | dict[str, object]


class AboutCommit(AboutRow):
    """What a commit did to a row, of which every column is given."""

    version: int


class AboutChanges(Question):
    """Rows by the name of their table."""

    insert: dict[str, list[list[object] | dict[str, object]]] = {}
    delete: dict[str, list[list[object] | dict[str, object]]] = {}


class Sql(Question):
    sql: str


def asking(db: Database, workers: Workers, limits: Limits, *, allow_changes: bool) -> APIRouter:
    router = APIRouter(prefix="/api")
    _about_proofs(router, db, workers, limits)
    _about_changes(router, db, workers, limits, allow_changes=allow_changes)

    @router.post("/query")
    async def query(question: Sql) -> dict[str, object]:
        timeout = limits.seconds * _MARGIN
        table = await workers.run(lambda: db.query(question.sql, limit=limits.rows + 1, timeout=timeout))
        rows = table.slice(0, limits.rows)
        columns = [column.to_pylist() for column in rows.columns]
        return {
            "columns": [{"name": field.name, "type": str(field.type)} for field in table.schema],
            "rows": [plain_row(row) for row in zip(*columns, strict=True)],
            "more": table.num_rows > limits.rows,
        }

    return router


def _about_proofs(router: APIRouter, db: Database, workers: Workers, limits: Limits) -> None:
    shelf = Shelf(limits)

    @router.post("/why")
    async def why(question: AboutRow) -> dict[str, object]:
        def answer() -> dict[str, object]:
            relation = db.relation(question.relation)
            proof = db.why(relation.name, _asked(question.row, relation))
            sending = Sending(limits)
            return {
                "proof": shelf.put(proof),
                "relation": proof.relation,
                "complete": proof.complete,
                "roots": [sending.step(step) for step in proof.roots],
                "text": proof.text(),
            }

        return await workers.run(answer)

    @router.get("/proofs/{name}/step")
    async def step(name: str, label: str, start: Annotated[int, Query(ge=0)] = 0) -> dict[str, object]:
        def answer() -> dict[str, object]:
            found = shelf.get(name).step(label)
            return Sending(limits).step(found, start=start)

        return await workers.run(answer)

    @router.get("/proofs/{name}/as/{form}")
    async def written(name: str, form: Literal["text", "svg", "dot"]) -> Response:
        proof = shelf.get(name)
        if form == "svg":
            return Response(await workers.run(proof.svg), media_type="image/svg+xml")
        text = await workers.run(proof.text if form == "text" else proof.dot)
        return Response(text, media_type="text/plain; charset=utf-8")

    @router.get("/proofs/{name}/supports")
    async def supports(name: str, count: Annotated[int, Query(alias="limit", ge=1, le=100)] = 10) -> dict[str, object]:
        found = await workers.run(lambda: shelf.get(name).supports(limit=count))
        return {"supports": [_facts(support) for support in found]}

    @router.post("/critical")
    async def critical(question: AboutRow) -> dict[str, object]:
        def answer() -> dict[str, object]:
            relation = db.relation(question.relation)
            return {"rows": _facts(db.critical(relation.name, _asked(question.row, relation)))}

        return await workers.run(answer)

    @router.post("/why-not")
    async def why_not(question: AboutRow) -> dict[str, object]:
        def answer() -> dict[str, object]:
            relation = db.relation(question.relation)
            found = db.why_not(relation.name, _asked(question.row, relation))
            missing = None if found.missing is None else _facts(found.missing)
            return {"relation": relation.name, "text": str(found), "missing": missing}

        return await workers.run(answer)

    @router.post("/history")
    async def history(question: AboutCommit) -> dict[str, object]:
        def answer() -> dict[str, object]:
            relation = db.relation(question.relation)
            # By name, because in a list null would be any value.
            row = dict(zip(relation.column_names, read_row(question.row, relation), strict=True))
            found = db.why(relation.name, row, version=question.version)
            causes = [
                {"relation": name, "row": plain_row(cause), "count": n} for (name, cause), n in found.causes.items()
            ]
            return {"relation": relation.name, "came": found.came, "causes": causes, "text": str(found)}

        return await workers.run(answer)


def _about_changes(router: APIRouter, db: Database, workers: Workers, limits: Limits, *, allow_changes: bool) -> None:
    @router.post("/what-if")
    async def what_if(question: AboutChanges) -> dict[str, object]:
        def answer() -> dict[str, object]:
            found = db.what_if(insert=_rows(question.insert, db), delete=_rows(question.delete, db))
            return {"relations": [_changed(name, delta, limits) for name, delta in found.changes.items()]}

        return await workers.run(answer)

    @router.post("/impact")
    async def impact(question: AboutRow) -> dict[str, object]:
        def answer() -> dict[str, object]:
            relation = db.relation(question.relation)
            found = db.impact(relation.name, _asked(question.row, relation))
            vanish = [
                {"relation": name, "count": len(rows), "rows": [plain_row(row) for row in rows[: limits.rows]]}
                for name, rows in found.vanish.items()
            ]
            depend = [
                {"relation": name, "count": count, "more": name in found.partial}
                for name, count in found.depend.items()
            ]
            return {"relation": relation.name, "text": str(found), "vanish": vanish, "depend": depend}

        return await workers.run(answer)

    @router.post("/changes")
    async def change(question: AboutChanges) -> dict[str, object]:
        if not allow_changes:
            raise RefusedError(403, "this page only reads", "`whence serve --allow-changes` lets it change rows")

        def answer() -> dict[str, object]:
            with db.batch() as batch:
                for name, rows in _rows(question.delete, db).items():
                    batch.delete(name, rows)
                for name, rows in _rows(question.insert, db).items():
                    batch.insert(name, rows)
            return {"version": db.version}

        return await workers.run(answer)


def _asked(row: list[object] | dict[str, object], relation: Relation) -> object:
    """A row as questions have it: in a list null is any value, and by name only what is mentioned matters."""
    return read_row(row, relation) if isinstance(row, list) else read_values(row, relation)


def _rows(
    given: Mapping[str, list[list[object] | dict[str, object]]], db: Database
) -> dict[str, list[tuple[object, ...]]]:
    return {name: [read_row(row, db.relation(name)) for row in rows] for name, rows in given.items()}


def _changed(name: str, delta: Delta, limits: Limits) -> dict[str, object]:
    inserted, deleted = totals(delta)
    rows = [{"row": plain_row(row), "count": count} for row, count in islice(delta.items(), limits.rows)]
    return {"relation": name, "inserted": inserted, "deleted": deleted, "rows": rows, "more": len(delta) > len(rows)}


def _facts(facts: Iterable[tuple[str, Row]]) -> list[dict[str, object]]:
    found: list[dict[str, object]] = [{"relation": relation, "row": plain_row(row)} for relation, row in facts]
    return sorted(found, key=str)
