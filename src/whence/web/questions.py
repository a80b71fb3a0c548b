"""The questions of the page, each answered by the database's own words."""

from __future__ import annotations

import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import APIRouter, Query
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict

from whence.database.database import Database
from whence.database.overview import MOST_ROWS
from whence.explain.proofs.proof import Proof, ProofStep
from whence.explain.proofs.text import heading
from whence.model.schema import Relation
from whence.model.types import Row
from whence.model.updates import Delta, totals
from whence.session.query import PreparedQuery
from whence.web.cells import Cells, RequestLimits, shortened
from whence.web.query_process import QueryProcesses
from whence.web.requests import RefusedRequestError, Workers, read_row, read_values

if TYPE_CHECKING:
    import pyarrow as pa

# Left for the answer to be written, out of the time that a question has.
_MARGIN = 0.8


class PageQuestion(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class AboutRow(PageQuestion):
    """A row: in the order of the columns, or by their names. Null is any value."""

    relation: str
    row: list[object] | dict[str, object]


class AboutCommit(AboutRow):
    """What a commit did to a row, of which every column is given."""

    version: int


class AboutChanges(PageQuestion):
    """Rows by the name of their table."""

    insert: dict[str, list[list[object] | dict[str, object]]] = {}
    delete: dict[str, list[list[object] | dict[str, object]]] = {}


class Sql(PageQuestion):
    sql: str


def question_routes(
    db: Database, workers: Workers, processes: QueryProcesses, limits: RequestLimits, *, allow_changes: bool
) -> APIRouter:
    router = APIRouter(prefix="/api")
    _about_proofs(router, db, workers, limits)
    _about_changes(router, db, workers, limits, allow_changes=allow_changes)

    @router.post("/query")
    @workers.route
    def query(question: Sql) -> Mapping[str, object]:
        if len(question.sql) > limits.sql:
            raise RefusedRequestError(
                413, f"the query is longer than {limits.sql:,} characters", "ask in smaller parts"
            )
        timeout = limits.seconds * _MARGIN
        until = time.monotonic() + timeout
        prepared = db.prepare_query(question.sql)
        if isinstance(prepared, PreparedQuery):
            return processes.run(prepared, timeout, until)
        return _table(prepared.run(limits.rows + 1, timeout), limits)

    return router


def _about_proofs(router: APIRouter, db: Database, workers: Workers, limits: RequestLimits) -> None:
    shelf = Shelf(limits)

    @router.post("/why")
    @workers.route
    def why(question: AboutRow) -> dict[str, object]:
        relation = db.relation(question.relation)
        proof = db.why(relation.name, _asked(question.row, relation))
        sending = Sending(limits)
        return {
            "proof": shelf.put(proof),
            "relation": proof.relation,
            "complete": proof.complete,
            "roots": [sending.step(step) for step in proof.roots],
            "text": shortened(proof.text(), limits),
        }

    @router.get("/proofs/{name}/step")
    @workers.route
    def step(name: str, label: str, start: Annotated[int, Query(ge=0, le=MOST_ROWS)] = 0) -> dict[str, object]:
        found = shelf.get(name).step(label)
        return Sending(limits).step(found, start=start)

    @router.get("/proofs/{name}/as/{form}")
    async def written(name: str, form: Literal["text", "svg", "dot"]) -> Response:
        proof = shelf.get(name)
        if form == "svg":
            return Response(await workers.run(proof.svg), media_type="image/svg+xml")
        text = await workers.run(proof.text if form == "text" else proof.dot)
        return Response(text, media_type="text/plain; charset=utf-8")

    @router.get("/proofs/{name}/supports")
    @workers.route
    def supports(name: str, count: Annotated[int, Query(alias="limit", ge=1, le=100)] = 10) -> dict[str, object]:
        cells = Cells(limits)
        return {"supports": [_facts(support, cells) for support in shelf.get(name).supports(limit=count)]}

    @router.post("/critical")
    @workers.route
    def critical(question: AboutRow) -> dict[str, object]:
        relation = db.relation(question.relation)
        return {"rows": _facts(db.critical(relation.name, _asked(question.row, relation)), Cells(limits))}

    @router.post("/why-not")
    @workers.route
    def why_not(question: AboutRow) -> dict[str, object]:
        relation = db.relation(question.relation)
        found = db.why_not(relation.name, _asked(question.row, relation))
        missing = None if found.missing is None else _facts(found.missing, Cells(limits))
        return {"relation": relation.name, "text": shortened(str(found), limits), "missing": missing}

    @router.post("/history")
    @workers.route
    def history(question: AboutCommit) -> dict[str, object]:
        relation = db.relation(question.relation)
        # By name, because in a list null would be any value.
        row = dict(zip(relation.column_names, read_row(question.row, relation), strict=True))
        found = db.why(relation.name, row, version=question.version)
        cells = Cells(limits)
        causes = [{"relation": name, "row": cells.row(cause), "count": n} for (name, cause), n in found.causes.items()]
        text = shortened(str(found), limits)
        return {"relation": relation.name, "came": found.came, "causes": causes, "text": text}


def _about_changes(
    router: APIRouter, db: Database, workers: Workers, limits: RequestLimits, *, allow_changes: bool
) -> None:
    @router.post("/what-if")
    @workers.route
    def what_if(question: AboutChanges) -> dict[str, object]:
        found = db.what_if(insert=_rows(question.insert, db), delete=_rows(question.delete, db))
        cells = Cells(limits)
        return {"relations": [_changed(name, delta, cells, limits) for name, delta in found.changes.items()]}

    @router.post("/impact")
    @workers.route
    def impact(question: AboutRow) -> dict[str, object]:
        relation = db.relation(question.relation)
        found = db.impact(relation.name, _asked(question.row, relation))
        cells = Cells(limits)
        vanish = [
            {"relation": name, "count": len(rows), "rows": cells.rows(rows, limits.rows)}
            for name, rows in found.vanish.items()
        ]
        depend = [
            {"relation": name, "count": count, "more": name in found.partial} for name, count in found.depend.items()
        ]
        text = shortened(str(found), limits)
        return {"relation": relation.name, "text": text, "vanish": vanish, "depend": depend}

    @router.post("/changes")
    @workers.route
    def change(question: AboutChanges) -> dict[str, object]:
        if not allow_changes:
            raise RefusedRequestError(403, "this page only reads", "`whence serve --allow-changes` lets it change rows")
        with db.batch() as batch:
            for name, rows in _rows(question.delete, db).items():
                batch.delete(name, rows)
            for name, rows in _rows(question.insert, db).items():
                batch.insert(name, rows)
        return {"version": db.version}


def _asked(row: list[object] | dict[str, object], relation: Relation) -> object:
    """A row as questions have it: in a list null is any value, and by name only what is mentioned matters."""
    return read_row(row, relation) if isinstance(row, list) else read_values(row, relation)


def _rows(
    given: Mapping[str, list[list[object] | dict[str, object]]], db: Database
) -> dict[str, list[tuple[object, ...]]]:
    return {name: [read_row(row, db.relation(name)) for row in rows] for name, rows in given.items()}


def _changed(name: str, delta: Delta, cells: Cells, limits: RequestLimits) -> dict[str, object]:
    inserted, deleted = totals(delta)
    changes = list(islice(delta.items(), limits.rows))
    shown = cells.rows(row for row, _ in changes)
    rows = [{"row": row, "count": count} for row, (_, count) in zip(shown, changes, strict=False)]
    return {"relation": name, "inserted": inserted, "deleted": deleted, "rows": rows, "more": len(delta) > len(rows)}


def _facts(facts: Iterable[tuple[str, Row]], cells: Cells) -> list[dict[str, object]]:
    found: list[dict[str, object]] = [{"relation": relation, "row": cells.row(row)} for relation, row in facts]
    return sorted(found, key=str)


def _table(table: pa.Table, limits: RequestLimits) -> dict[str, object]:
    """An answer that came whole, from a cluster."""
    cells = Cells(limits)
    number = table.num_rows
    rows = cells.rows((tuple([column[at].as_py() for column in table.columns]) for at in range(number)), limits.rows)
    return {
        "columns": [{"name": field.name, "type": str(field.type)} for field in table.schema],
        "rows": rows,
        "more": number > len(rows),
        "full": cells.full,
        "shortened": cells.shortened,
    }


# Steps below the one that was asked for, and children of one step, that are sent along.
_DEPTH = 3
_CHILDREN = 50


class Shelf:
    """The proofs that were asked for last, by a name that cannot be guessed."""

    def __init__(self, limits: RequestLimits) -> None:
        self._most = limits.proofs
        self._proofs: OrderedDict[str, Proof] = OrderedDict()
        self._lock = threading.Lock()

    def put(self, proof: Proof) -> str:
        name = secrets.token_urlsafe(12)
        with self._lock:
            self._proofs[name] = proof
            while len(self._proofs) > self._most:
                self._proofs.popitem(last=False)
        return name

    def get(self, name: str) -> Proof:
        with self._lock:
            if name not in self._proofs:
                raise RefusedRequestError(404, "this proof is not kept any more", "ask for it again")
            self._proofs.move_to_end(name)
            return self._proofs[name]


class Sending:
    """Steps as JSON, no more of them than one answer takes."""

    def __init__(self, limits: RequestLimits) -> None:
        self._left = limits.steps

    def step(self, step: ProofStep, depth: int = _DEPTH, start: int = 0) -> dict[str, object]:
        """A step and what is below it. Where `children` is null there are some, to be asked for."""
        self._left -= 1
        sent: dict[str, object] = {
            "label": step.label,
            "title": heading(step),
            "kind": step.kind,
            "rule": step.rule,
            "place": step.place,
            "again": None if step.again_at is None else step.again_at.label,
            "all": len(step.children),
            "partial": step.is_partial,
        }
        if step.children and (depth == 0 or self._left <= 0):
            return {**sent, "children": None}
        shown = step.children[start : start + _CHILDREN]
        return {**sent, "start": start, "children": [self.step(child, depth - 1) for child in shown]}
