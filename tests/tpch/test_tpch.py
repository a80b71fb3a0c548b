"""The 22 queries of TPC-H as views, against DuckDB over the same data.

The queries are those of the specification with its validation parameters, without ORDER BY and LIMIT: the rows of a
view have no order.
"""

from __future__ import annotations

import subprocess
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlglot

import whence

HERE = Path(__file__).parent
SCHEMA = (HERE / "schema.sql").read_text()
QUERIES = {path.stem: path.read_text() for path in sorted(HERE.glob("q??.sql"))}

# With so little data, the validation parameters of two queries select nothing. With these they select something.
OTHER_PARAMETERS = {"q08": ("'BRAZIL'", "'PERU'"), "q17": ("'Brand#23'", "'Brand#13'")}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pa.Table]:
    directory = tmp_path_factory.mktemp("tpch")
    generator = Path(sysconfig.get_path("scripts")) / "tpchgen-cli"
    subprocess.run(
        [generator, "parquet", "--scale-factor=0.01", f"--output-dir={directory}", "--quiet"],
        check=True,
    )
    return {path.stem: pq.read_table(path) for path in sorted(directory.glob("*.parquet"))}


@dataclass(frozen=True)
class Pair:
    """A whence database and a DuckDB database with the same tables."""

    ours: whence.Database
    theirs: duckdb.DuckDBPyConnection

    def load(self, data: dict[str, pa.Table]) -> None:
        self.ours.execute(SCHEMA)
        for name, rows in data.items():
            self.ours.insert(name, rows)
            self.theirs.register(name, rows)

    def check(self, name: str, text: str) -> None:
        """The view holds what DuckDB answers to its query now."""
        query = sqlglot.parse_one(text, read="spark").expression
        expected = self.theirs.sql(query.sql(dialect="duckdb")).to_arrow_table()
        assert_same(self.ours.table(name), expected)

    def close(self) -> None:
        self.ours.close()
        self.theirs.close()


@pytest.fixture(scope="module")
def pair(data: dict[str, pa.Table]) -> Iterator[Pair]:
    pair = Pair(whence.connect(), duckdb.connect())
    pair.load(data)
    yield pair
    pair.close()


def assert_same(ours: pa.Table, theirs: pa.Table) -> None:
    """The same rows equally often; numbers alike as far as both types can tell."""
    assert ours.column_names == theirs.column_names
    assert ours.num_rows == theirs.num_rows
    rounded = [index for index, field in enumerate(theirs.schema) if pa.types.is_floating(field.type)]
    for our_row, their_row in zip(ordered(ours, rounded), ordered(theirs, rounded), strict=True):
        for index, (mine, yours) in enumerate(zip(our_row, their_row, strict=True)):
            assert alike(mine, yours) if index in rounded else mine == yours, (our_row, their_row)


def ordered(table: pa.Table, rounded: list[int]) -> list[tuple[object, ...]]:
    """The rows, sorted by their exact columns first, so that equal rows stand side by side."""
    exact = [index for index in range(table.num_columns) if index not in rounded]
    columns = [column.to_pylist() for column in table.columns]
    return sorted(zip(*columns, strict=True), key=lambda row: [(row[i] is None, row[i]) for i in (*exact, *rounded)])


def alike(ours: object, theirs: object) -> bool:
    """In DuckDB `avg` and `/` make a DOUBLE of DECIMAL; in Spark, and here, a DECIMAL that is rounded at its scale."""
    if not isinstance(ours, Decimal) or not isinstance(theirs, float):
        return ours is None and theirs is None
    exponent = ours.as_tuple().exponent
    assert isinstance(exponent, int)
    half_a_unit = Decimal(5).scaleb(exponent - 1)
    return abs(ours - Decimal(theirs)) <= half_a_unit + abs(ours) * Decimal("1e-12")


def test_every_query_is_there() -> None:
    assert list(QUERIES) == [f"q{number:02}" for number in range(1, 23)]


@pytest.mark.parametrize("name", QUERIES)
def test_a_view_answers_as_duckdb_does(pair: Pair, name: str) -> None:
    pair.ours.execute(QUERIES[name])
    pair.check(name, QUERIES[name])
    assert pair.ours.rows(name)


@pytest.mark.parametrize("name", OTHER_PARAMETERS)
def test_other_parameters_select_rows(pair: Pair, name: str) -> None:
    text = QUERIES[name].replace(*OTHER_PARAMETERS[name]).replace(f"VIEW {name} AS", f"VIEW {name}_other AS")
    pair.ours.execute(text)
    pair.check(f"{name}_other", text)
    assert all(row[-1] for row in pair.ours.rows(f"{name}_other"))


def test_all_views_follow_a_refresh(data: dict[str, pa.Table]) -> None:
    """As the refresh functions of TPC-H do: new orders come with their items, old ones go with theirs."""

    def orders(keys: str) -> dict[str, pa.Table]:
        """The orders, and their items, whose keys are such."""
        return {
            "orders": duckdb.from_arrow(data["orders"]).filter(f"o_orderkey {keys}").to_arrow_table(),
            "lineitem": duckdb.from_arrow(data["lineitem"]).filter(f"l_orderkey {keys}").to_arrow_table(),
        }

    pair = Pair(whence.connect(), duckdb.connect())
    pair.load(data | orders("% 8 <> 1"))
    for text in QUERIES.values():
        pair.ours.execute(text)
    coming, going = orders("% 8 = 1"), orders("% 8 = 2")
    with pair.ours.batch() as batch:
        for name in coming:
            batch.insert(name, coming[name])
            batch.delete(name, going[name])
    for name, rows in orders("% 8 <> 2").items():
        pair.theirs.register(name, rows)
    for name, text in QUERIES.items():
        pair.check(name, text)
    pair.close()
