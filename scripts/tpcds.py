"""How many of the 99 queries of TPC-DS whence keeps as views, with DuckDB's answers while rows come and go.

    python -m scripts.tpcds                 all queries, over the smallest data
    python -m scripts.tpcds 6 72 --steps 3  some of them, and more changes

Data and texts come from DuckDB's extension for it, which is made for one version of DuckDB and so has an environment of
its own, in `.bench/`. Queries are rewritten from DuckDB's dialect into Spark's.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import sqlglot
from sqlglot import exp

import whence

Row: TypeAlias = "tuple[Any, ...]"

HERE = Path(__file__).parents[1] / ".bench" / "tpcds"
DATA = HERE / "data"
REQUIREMENTS = ("duckdb==1.5.5", "duckdb-extension-tpcds==1.5.5")
SCALE = 0.01
# The tables of events: their rows come and go.
FACTS = "store_sales store_returns catalog_sales catalog_returns web_sales web_returns inventory".split()
CHANGED = 0.02
GENERATE = """
import json, pathlib, sys
import duckdb, duckdb_extension_tpcds

data, scale = pathlib.Path(sys.argv[1]), float(sys.argv[2])
(extension,) = pathlib.Path(duckdb_extension_tpcds.__file__).parent.rglob("*.duckdb_extension")
db = duckdb.connect(config={"allow_unsigned_extensions": "true"})
db.execute(f"LOAD '{extension}'")
db.execute(f"CALL dsdgen(sf={scale})")
for (name,) in db.execute("SELECT table_name FROM information_schema.tables").fetchall():
    db.execute(f"COPY {name} TO '{data / name}.parquet' (FORMAT parquet)")
queries = db.execute("SELECT query_nr, query FROM tpcds_queries() ORDER BY query_nr").fetchall()
(data / "queries.json").write_text(json.dumps(dict(queries)))
"""
TYPES = {pa.int32(): "INT", pa.int64(): "BIGINT", pa.string(): "STRING", pa.date32(): "DATE", pa.float64(): "DOUBLE"}


def generate() -> None:
    """The data and the texts, once."""
    if (DATA / "queries.json").exists():
        return
    DATA.mkdir(parents=True, exist_ok=True)
    python = HERE / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", str(HERE)], check=True)  # noqa: S603 - this Python
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", *REQUIREMENTS], check=True)  # noqa: S603
    subprocess.run([str(python), "-c", GENERATE, str(DATA), str(SCALE)], check=True)  # noqa: S603


def type_of(arrow: pa.DataType) -> str:
    return f"DECIMAL({arrow.precision}, {arrow.scale})" if pa.types.is_decimal(arrow) else TYPES[arrow]


class Comparison:
    """The same tables in whence and in DuckDB, and views of queries in whence."""

    def __init__(self, tables: Mapping[str, pa.Table], queries: Mapping[str, str]) -> None:
        self.ours, self.theirs = whence.connect(), duckdb.connect()
        self.queries = queries
        self.refused: dict[str, str] = {}
        self.wrong: dict[str, str] = {}
        self._pick = random.Random(1)  # noqa: S311 - chance is not a secret here
        self._tables = dict(tables)
        self._gone = {name: table.slice(0, 0) for name, table in tables.items()}
        for name, table in tables.items():
            columns = ", ".join(f"{field.name} {type_of(field.type)}" for field in table.schema)
            self.ours.execute(f"CREATE TABLE {name}({columns})")
            self.ours.insert(name, table)
            self._tell(name)

    def define(self) -> None:
        for number, query in self.queries.items():
            started = time.perf_counter()
            text = sqlglot.transpile(query, read="duckdb", write="spark")[0]
            try:
                self.ours.execute(f"CREATE VIEW q{number} AS {text}")
            except whence.WhenceError as error:
                self.refused[number] = error.message
            seconds = time.perf_counter() - started
            if seconds > 1:
                sys.stderr.write(f"query {number} took {seconds:.1f} s to define\n")

    def change(self) -> None:
        """Some rows of each table of events leave, and those that left before come back, in one commit."""
        with self.ours.batch() as batch:
            for name in FACTS:
                table, back = self._tables[name], self._gone[name]
                places = list(range(table.num_rows))
                self._pick.shuffle(places)
                count = int(len(places) * CHANGED)
                gone = self._gone[name] = table.take(places[:count])
                batch.delete(name, gone)
                batch.insert(name, back)
                self._tables[name] = pa.concat_tables([table.take(places[count:]), back])
        for name in FACTS:
            self._tell(name)

    def check(self, when: str) -> None:
        for number, query in self.queries.items():
            if number in self.refused or number in self.wrong:
                continue
            ours = [tuple(row.values()) for row in self.ours.table(f"q{number}").to_pylist()]
            theirs = self.theirs.execute(with_ties_in_order(query)).fetchall()
            if not same_rows(ours, theirs):
                self.wrong[number] = f"{when}: {len(ours)} rows, and in DuckDB {len(theirs)}"

    def _tell(self, name: str) -> None:
        self.theirs.register("rows", self._tables[name])
        self.theirs.execute(f"CREATE OR REPLACE TABLE {name} AS FROM rows")
        self.theirs.unregister("rows")


def with_ties_in_order(query: str) -> str:
    """With rows that ORDER BY does not tell apart in the order of their columns, as whence has them under LIMIT."""
    parsed = sqlglot.parse_one(query, read="duckdb")
    if not isinstance(parsed, exp.Query) or parsed.args.get("limit") is None:
        return query
    order = parsed.args.get("order") or exp.Order(expressions=[])
    for place in range(1, len(parsed.selects) + 1):
        order.append("expressions", exp.Ordered(this=exp.Literal.number(place), nulls_first=True))
    parsed.set("order", order)
    return parsed.sql("duckdb")


def same_rows(ours: Sequence[Row], theirs: Sequence[Row]) -> bool:
    """Whether rows are the same, whatever their order, but for digits: DuckDB divides decimals as DOUBLEs, Spark and
    whence round them to so many digits.
    """
    return len(ours) == len(theirs) and all(map(_same_row, sorted(ours, key=_order), sorted(theirs, key=_order)))


def _same_row(ours: Row, theirs: Row) -> bool:
    return all(
        math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-4) if _is_number(one) and _is_number(other) else one == other
        for one, other in zip(ours, theirs, strict=True)
    )


def _order(row: Row) -> tuple[Sequence[str], Sequence[float]]:
    """What is no number first: that is the same to the letter."""
    others = [repr(value) for value in row if not _is_number(value)]
    return others, [float(value) for value in row if _is_number(value)]


def _is_number(value: object) -> bool:
    return isinstance(value, Decimal | float | int)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("query", nargs="*", help="its number; all of them unless given")
    parser.add_argument("--steps", type=int, default=2, help="how often rows change")
    options = parser.parse_args()
    generate()
    every: dict[str, str] = json.loads((DATA / "queries.json").read_text())
    queries = {number: every[number].strip().rstrip(";") for number in options.query or every}
    compared = Comparison({path.stem: pq.read_table(path) for path in sorted(DATA.glob("*.parquet"))}, queries)
    compared.define()
    compared.check("at first")
    for step in range(options.steps):
        compared.change()
        compared.check(f"after change {step + 1}")
    for what, found in (("refused", compared.refused), ("wrong", compared.wrong)):
        for number, why in found.items():
            sys.stdout.write(f"query {number} is {what}: {why}\n")
    right = len(queries) - len(compared.refused) - len(compared.wrong)
    sys.stdout.write(f"{right} of {len(queries)} queries are right, under {options.steps} changes\n")


if __name__ == "__main__":
    main()
