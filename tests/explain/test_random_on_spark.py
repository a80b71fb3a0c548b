"""Questions to a database on Spark: random rows, and the answers compared with what trying everything gives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import whence
from tests.explain.hypothetical.programs import RULES, TABLES, by_table, facts, program
from tests.explain.proofs.helpers import check, check_all, exactly, session
from tests.explain.provenance.brute import World
from whence.engines.spark.pages import Paging
from whence.model.types import Row
from whence.spark import journal
from whence.spark.database import SparkDatabase

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Facts = frozenset[tuple[str, Row]]
FEW = 2


@pytest.fixture(scope="module")
def db(spark: SparkSession) -> Iterator[whence.Database]:
    with whence.connect(spark) as db:
        db.rules(program())
        yield db


def rows_of(db: whence.Database) -> Facts:
    return frozenset((name, row) for name in ("edge", "mark") for row in db.rows(name))


def change(db: whence.Database, after: Facts) -> None:
    before = rows_of(db)
    with db.batch() as batch:
        for name, rows in by_table(before - after).items():
            batch.delete(name, rows)
        for name, rows in by_table(after - before).items():
            batch.insert(name, rows)


@settings(max_examples=10, suppress_health_check=[HealthCheck.too_slow])
@given(rows=facts, data=st.data())
def test_what_rows_rest_on(db: whence.Database, rows: Facts, data: st.DataObject) -> None:
    change(db, rows)
    check_all(db, RULES)
    tables = {name: dict.fromkeys(db.rows(name), 1) for name in ("edge", "mark")}
    world = World(session(db).definitions.analysis, tables, {})
    for view in RULES:
        for row in sorted(db.rows(view))[:FEW]:
            asked = exactly(db, view, row)
            proof = db.why(view, asked)
            supports = proof.supports(all=True)
            assert supports.complete
            if proof._weigh().cone.is_exact:  # noqa: SLF001 - elsewhere supports are those of now
                assert set(supports) == world.minimal_supports((view, row))
            assert db.critical(view, asked) == world.critical((view, row))
            uncertain = data.draw(st.lists(st.sampled_from(world.facts), unique=True, max_size=3))
            chances: dict[str, dict[object, float]] = {}
            for name, each in uncertain:
                chances.setdefault(name, {})[each] = 0.25
            found = db.probability(view, asked, chances)
            assert found.exact
            assert found.value == pytest.approx(world.probability((view, row), dict.fromkeys(uncertain, 0.25)))


@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
@given(before=facts, after=facts)
def test_what_would_happen_is_what_happens(db: whence.Database, before: Facts, after: Facts) -> None:
    change(db, before)
    views = {view: db.rows(view) for view in RULES}
    foreseen = db.what_if(insert=by_table(after - before), delete=by_table(before - after)).changes
    assert {view: db.rows(view) for view in RULES} == views
    change(db, after)
    for view, rows in views.items():
        now = db.rows(view)
        assert foreseen.get(view, {}) == {**dict.fromkeys(now - rows, 1), **dict.fromkeys(rows - now, -1)}
    back = db.what_if(insert=by_table(before - after), delete=by_table(after - before)).changes
    assert back == {name: {row: -count for row, count in delta.items()} for name, delta in foreseen.items()}


def test_rows_that_are_on_the_cluster(spark: SparkSession) -> None:
    """The same answers as elsewhere, although not a row of any relation is in memory at first."""
    edges = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "b")]
    text = TABLES + "\n".join((*RULES["even"], *RULES["free"]))
    local = whence.connect()
    with (
        mock.patch.object(journal, "SMALL_OVERLAY", 0),
        SparkDatabase(spark, None, paging=Paging(whole=0, mapped=0)) as db,
    ):
        for each in (local, db):
            each.rules(text)
            change(each, frozenset([*(("edge", row) for row in edges), ("mark", ("a",))]))
        proof = db.why("free", ("b", "b"))
        check(db, proof)
        assert set(proof.supports(all=True)) == set(local.why("free", ("b", "b")).supports(all=True))
        assert db.critical("even", ("a", "a")) == local.critical("even", ("a", "a"))
        chances = {"edge": {("a", "b"): 0.5, ("c", "b"): 0.25}}
        assert db.probability("even", ("a", "a"), chances) == local.probability("even", ("a", "a"), chances)
        go, come = {"edge": [("a", "b")]}, {"mark": [("b",)]}
        assert db.what_if(delete=go, insert=come).changes == local.what_if(delete=go, insert=come).changes
        assert db.impact("edge", ("b", "c")).json() == local.impact("edge", ("b", "c")).json()
