"""CREATE TABLE written and read again, and what its properties say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence.lang.sql.parse import parse_sql
from whence.lang.sql.write import to_sql
from whence.model.program import Catalog, CreateTable
from whence.model.schema import Column, Relation, RowWindow, TimeToLive
from whence.model.types import INT, STRING, TIMESTAMP

NAMES = ["a", "order", "two words", "a,b", "back`tick", "x.y", "`", "ä"]


@st.composite
def tables(draw: st.DrawFn) -> Relation:
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, unique=True))
    some = st.lists(st.sampled_from(names), max_size=3, unique=True).map(tuple)
    key = draw(some)
    columns = tuple(
        Column(name, draw(st.sampled_from([INT, STRING, TIMESTAMP])), draw(st.booleans()) and name not in key)
        for name in names
    )
    return Relation(
        "t",
        columns,
        distinct=bool(key),
        key=key,
        partition=draw(st.none() | st.sampled_from(names)),
        ttl=draw(st.none() | st.builds(TimeToLive, st.integers(1, 10**15), st.none() | st.sampled_from(names))),
        window=draw(st.none() | st.builds(RowWindow, st.integers(0, 10**18 - 1), some)),
        properties=draw(st.sampled_from([(), (("source", "t.csv"),)])),
    )


@given(tables())
def test_a_table_is_read_as_it_was_written(table: Relation) -> None:
    statement = CreateTable(table)
    assert parse_sql(to_sql([statement]), Catalog()) == (statement,)


def test_a_window() -> None:
    text = """CREATE TABLE reading(sensor STRING, `the room` STRING, value INT)
        TBLPROPERTIES ('window_rows' = ' 100 ', 'window_partition' = 'SENSOR,`the room`')"""
    (statement,) = parse_sql(text, Catalog())
    assert isinstance(statement, CreateTable)
    assert statement.relation.window == RowWindow(100, ("sensor", "the room"))


def test_a_key_with_a_name() -> None:
    (statement,) = parse_sql("CREATE TABLE t(a INT, b INT, c INT, CONSTRAINT t_key PRIMARY KEY (a, B))", Catalog())
    assert isinstance(statement, CreateTable)
    assert statement.relation.key == ("a", "b")
    assert [column.nullable for column in statement.relation.columns] == [False, False, True]


@pytest.mark.parametrize("name", ["STRING", "TEXT", "VARCHAR", "character varying"])
def test_names_of_text(name: str) -> None:
    (statement,) = parse_sql(f"CREATE TABLE t(a {name})", Catalog())
    assert isinstance(statement, CreateTable)
    assert statement.relation.columns == (Column("a", STRING, nullable=True),)
