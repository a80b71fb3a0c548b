from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import whence
from benchmarks.tpch import Refresh, order_stream, refresh_stream, tpch_tables

SCHEMA = (Path(__file__).parent / "schema.sql").read_text()


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tpch")


@pytest.fixture(scope="module")
def tables(directory: Path) -> dict[str, pa.Table]:
    return tpch_tables(0.001, directory)


def rows_of(table: pa.Table) -> set[tuple[object, ...]]:
    return {tuple(row.values()) for row in table.to_pylist()}


def test_all_tables_are_there_at_their_scale(tables: dict[str, pa.Table]) -> None:
    assert sorted(tables) == "customer lineitem nation orders part partsupp region supplier".split()
    assert tables["orders"].num_rows == 1_500
    assert 5_500 < tables["lineitem"].num_rows < 6_500


def test_tables_are_made_once(tables: dict[str, pa.Table], directory: Path) -> None:
    (directory / "region.parquet").unlink()
    assert sorted(tpch_tables(0.001, directory)) == sorted(tables.keys() - {"region"})


@pytest.mark.parametrize(("rows", "orders"), [(1, 0), (5, 1), (100, 20)])
def test_a_commit_changes_so_many_rows(tables: dict[str, pa.Table], rows: int, orders: int) -> None:
    commits = refresh_stream(tables, Refresh(commits=4, rows=rows))
    assert len(commits) == 4
    for commit in commits:
        assert {table: len(changed) for table, changed in commit.deleted.items()} == {
            table: len(changed) for table, changed in commit.inserted.items()
        }
        assert len(commit.deleted.get("orders", [])) == orders
        assert len(commit.deleted["lineitem"]) == rows - orders


def test_rows_leave_and_come_back_changed_under_their_keys(tables: dict[str, pa.Table]) -> None:
    there = {name: rows_of(tables[name]) for name in ("orders", "lineitem")}
    keys = {"orders": (0,), "lineitem": (0, 3)}
    for commit in refresh_stream(tables, Refresh(commits=5, rows=50)):
        for name, deleted in commit.deleted.items():
            for before, after in zip(deleted, commit.inserted[name], strict=True):
                assert before in there[name] and after not in there[name]
                assert [before[index] for index in keys[name]] == [after[index] for index in keys[name]]
            there[name] -= set(deleted)
            there[name] |= set(commit.inserted[name])


def test_a_database_takes_the_stream(tables: dict[str, pa.Table]) -> None:
    with whence.connect() as db:
        db.execute(SCHEMA)
        for name in ("orders", "lineitem"):
            db.insert(name, tables[name])
        for commit in refresh_stream(tables, Refresh(commits=2, rows=10)):
            with db.batch() as batch:
                for name in commit.deleted:
                    batch.delete(name, commit.deleted[name])
                    batch.insert(name, commit.inserted[name])
        assert db.table("lineitem").num_rows == tables["lineitem"].num_rows


def test_the_seed_decides(tables: dict[str, pa.Table]) -> None:
    first, again, other = (refresh_stream(tables, Refresh(commits=2, rows=10, seed=seed)) for seed in (7, 7, 8))
    assert first == again
    assert first != other


def test_more_changes_than_rows_are_refused(tables: dict[str, pa.Table]) -> None:
    with pytest.raises(ValueError, match="2000 rows are to change, and the table has 1500"):
        refresh_stream(tables, Refresh(commits=100, rows=100))


def test_orders_change_with_all_of_their_items(tables: dict[str, pa.Table]) -> None:
    there = rows_of(tables["lineitem"])
    changed = []
    for commit in order_stream(tables, commits=3, orders=20):
        keys = [row[0] for row in commit.deleted["orders"]]
        assert [row[0] for row in commit.inserted["orders"]] == keys
        assert set(commit.deleted["lineitem"]) == {row for row in there if row[0] in keys}
        assert [(row[0], row[3]) for row in commit.inserted["lineitem"]] == [
            (row[0], row[3]) for row in commit.deleted["lineitem"]
        ]
        changed += keys
    assert len(set(changed)) == 60
