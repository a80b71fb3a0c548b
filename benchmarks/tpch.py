"""TPC-H: its eight tables at any scale, and streams of commits that change orders and items, or orders with theirs."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import pyarrow as pa

Row: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Refresh:
    """A stream of commits, each of which changes so many rows."""

    commits: int
    rows: int
    seed: int = 1


@dataclass(frozen=True, slots=True)
class RowUpdate:
    """One commit: by table, the rows as they were and the same rows as they are now."""

    deleted: Mapping[str, list[Row]]
    inserted: Mapping[str, list[Row]]

    def taken_back(self) -> RowUpdate:
        """The commit that undoes this one."""
        return RowUpdate(deleted=self.inserted, inserted=self.deleted)


def tpch_tables(scale: float, directory: Path) -> dict[str, pa.Table]:
    """The eight tables by name. They are made in `directory` by tpchgen-cli, unless they are there already."""
    import pyarrow.parquet as pq

    if not (directory / "complete").exists():
        directory.mkdir(parents=True, exist_ok=True)
        subprocess.run(  # noqa: S603 - a program of this environment, with numbers and a directory for arguments
            [_generator(), "parquet", f"--scale-factor={scale}", f"--output-dir={directory}", "--quiet", "--overwrite"],
            check=True,
        )
        (directory / "complete").touch()
    return {path.stem: pq.read_table(path) for path in sorted(directory.glob("*.parquet"))}


def refresh_stream(tables: Mapping[str, pa.Table], refresh: Refresh) -> list[RowUpdate]:
    """Commits over `orders` and `lineitem` that can be applied one after the other.

    A row changes by leaving and coming back with other values and the same key. One row in five is an order, as in
    the data. No row changes twice.
    """
    rng = Random(refresh.seed)  # noqa: S311 - chance is not a secret here
    orders_per_commit = refresh.rows // 5
    orders = _draw(tables["orders"], orders_per_commit * refresh.commits, _other_order, rng)
    items = _draw(tables["lineitem"], (refresh.rows - orders_per_commit) * refresh.commits, _other_item, rng)
    commits = []
    for commit in range(refresh.commits):
        drawn = {"orders": orders[commit :: refresh.commits], "lineitem": items[commit :: refresh.commits]}
        changed = {table: rows for table, rows in drawn.items() if rows}
        commits.append(
            RowUpdate(
                deleted={table: [before for before, _ in rows] for table, rows in changed.items()},
                inserted={table: [after for _, after in rows] for table, rows in changed.items()},
            )
        )
    return commits


def order_stream(tables: Mapping[str, pa.Table], *, commits: int, orders: int, seed: int = 1) -> list[RowUpdate]:
    """Commits that can be applied one after the other: each changes so many orders, and all of their items.

    No order changes twice.
    """
    rng = Random(seed)  # noqa: S311 - chance is not a secret here
    drawn = _draw(tables["orders"], orders * commits, _other_order, rng)
    items = tables["lineitem"]
    # The items of an order stand together.
    keys = items["l_orderkey"].to_numpy()
    stream = []
    for commit in range(commits):
        changed = drawn[commit::commits]
        rows = []
        for before, _ in changed:
            start, stop = keys.searchsorted(before[0], "left"), keys.searchsorted(before[0], "right")
            rows.extend(items.slice(start, stop - start).to_pylist())
        stream.append(
            RowUpdate(
                deleted={
                    "orders": [before for before, _ in changed],
                    "lineitem": [tuple(row.values()) for row in rows],
                },
                inserted={
                    "orders": [after for _, after in changed],
                    "lineitem": [tuple((row | _other_item(row, rng)).values()) for row in rows],
                },
            )
        )
    return stream


def _generator() -> str:
    beside_python = Path(sysconfig.get_path("scripts")) / "tpchgen-cli"
    found = str(beside_python) if beside_python.exists() else shutil.which("tpchgen-cli")
    if found is None:
        raise FileNotFoundError("tpchgen-cli is not installed: pip install 'whence[dev]'")
    return found


def _draw(
    table: pa.Table, count: int, change: Callable[[dict[str, Any], Random], dict[str, Any]], rng: Random
) -> list[tuple[Row, Row]]:
    """Rows as they are and as they become, no row twice."""
    if count > table.num_rows:
        raise ValueError(f"{count} rows are to change, and the table has {table.num_rows}")
    # One by one: Arrow takes slices of every type of column, and picks rows out of some.
    rows = [table.slice(index, 1).to_pylist()[0] for index in rng.sample(range(table.num_rows), count)]
    return [(tuple(row.values()), tuple((row | change(row, rng)).values())) for row in rows]


def _other_order(order: dict[str, Any], rng: Random) -> dict[str, Any]:
    return {"o_orderdate": order["o_orderdate"] + timedelta(days=rng.randint(1, 30))}


def _other_item(item: dict[str, Any], rng: Random) -> dict[str, Any]:
    """Another quantity at the same price per piece, and another discount."""
    quantity = item["l_quantity"] % 50 + 1
    price = (item["l_extendedprice"] / item["l_quantity"] * quantity).quantize(Decimal("0.01"))
    return {"l_quantity": quantity, "l_extendedprice": price, "l_discount": Decimal(rng.randint(0, 10)).scaleb(-2)}
