"""Views computed by Spark from nothing, with the state to maintain them from."""

from __future__ import annotations

import math
import subprocess
import sysconfig
from decimal import Decimal
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark.sql.functions as F
import pytest
from pyspark.sql import DataFrame, SparkSession

import whence
from tests.engines.local.counting_programs import Generator, random_value
from tests.engines.local.recursive_driver import analysis_of
from tests.engines.spark.views_driver import check_views, counts_of
from whence.analysis.analyze import Analysis, analyze
from whence.engines.reference.evaluate import NO_FUNCTIONS
from whence.engines.spark.exact_sums import double_totals
from whence.engines.spark.views import derive
from whence.lang.sql.parse import parse_sql
from whence.model.program import Catalog, CreateTable, CreateView, Program
from whence.model.rules import Rule
from whence.model.schema import Relation
from whence.model.types import Row

TPCH = Path(__file__).parents[2] / "tpch"
QUERIES = ("q01", "q03", "q05", "q10")


@pytest.mark.parametrize("seed", [1, 2, 3, 5, 8, 13])
def test_random_programs(spark: SparkSession, seed: int) -> None:
    chance = Random(seed)
    analysis = Generator(chance).program()
    base: dict[str, dict[Row, int]] = {}
    for name in ("a", "b", "c", "d"):
        relation = analysis.relations[name]
        rows = [tuple(random_value(chance, column) for column in relation.columns) for _ in range(chance.randint(0, 6))]
        base[name] = {row: 1 if relation.distinct else chance.randint(1, 3) for row in rows}
    check_views(spark, analysis, base)


def test_values_can_be_owed(spark: SparkSession) -> None:
    """A bag with negative counts under aggregates: values that cancel out, groups that have only those."""
    analysis = analysis_of(
        """
        .decl more(g: INT, x: DOUBLE nullable) bag
        .decl less(g: INT, x: DOUBLE nullable) bag
        .decl rest(g: INT, x: DOUBLE nullable) bag
        rest(g, x) :- more(g, x).
        -rest(g, x) :- less(g, x).
        v(g, sum<x>, avg<x>, min<x>, max<x>, count<x>, count<distinct x>, sum<distinct x>, count<*>) :- rest(g, x).
        total(count<*>, sum<x>) :- rest(_, x).
        there(g) :- more(g, _), !rest(g, 0.1).
        """
    )
    more: dict[Row, int] = {(1, 0.1): 3, (1, 2.0): 1, (2, 1.0): 1, (3, None): 2, (4, 1.0): 1, (5, 0.5): 1}
    less: dict[Row, int] = {(1, 0.1): 1, (2, 1.0): 2, (3, 7.0): 2, (4, 1.0): 1, (5, None): 1, (6, 0.1): 1}
    check_views(spark, analysis, {"more": more, "less": less})


def test_sums_are_exact(spark: SparkSession) -> None:
    chance = Random(3)
    values = [math.ldexp(chance.uniform(-1, 1), chance.randint(-1074, 1000)) for _ in range(1000)]
    values += [math.ldexp(1.0, power) for power in range(-1074, 1024)]
    values += [-math.nextafter(math.ldexp(1.0, power), 0.0) for power in range(-1000, 1024, 4)]
    values += [5e-324, -5e-324, 0.0, 1.7976931348623157e308]
    frame = spark.createDataFrame(pa.table({"k0": [number % 2 for number in range(len(values))], "x": values}))
    (both,) = double_totals(frame, [], F.col("x"), None).collect()
    units = sum(int(value.as_integer_ratio()[0]) * 2**1074 // value.as_integer_ratio()[1] for value in values)
    assert int(both.total) == units
    tripled = double_totals(frame, ["k0"], F.col("x"), F.lit(3).cast("bigint")).collect()
    assert sum(int(group.total) for group in tripled) == 3 * units


def test_groups_and_sums_of_all_types(spark: SparkSession) -> None:
    analysis = analysis_of(
        """
        .decl s(g: STRING nullable, i: INT nullable, d: DECIMAL(38,4), x: DOUBLE nullable)
        .decl t(g: STRING nullable, d: DECIMAL(38,30), p: DECIMAL(6,2)) bag
        linear(g, sum<i>, avg<i>, sum<d>, avg<d>, sum<x>, avg<x>, count<i>, count<*>) :- s(g, i, d, x).
        extreme(min<x>, g, max<i>, max<d>) :- s(g, i, d, x).
        nothing(sum<x>, min<i>, count<i>, avg<distinct i>) :- s(_, i, _, x), i > 100.
        bag(g, sum<d>, avg<p>, max<g>, sum<distinct d>) :- t(g, d, p).
        """
    )
    decimals = (Decimal("1.5000"), Decimal("-0.0001"), Decimal("9" * 30 + ".1234"))
    s: dict[Row, int] = {
        (group, number if number % 3 else None, decimals[number % 3], 0.1 * number if number % 4 else None): 1
        for group in ("a", None, "b")
        for number in range(8)
    }
    fine = (Decimal("1." + "0" * 29 + "1"), Decimal("-3." + "5" * 30))
    t: dict[Row, int] = {("a", fine[0], Decimal("0.05")): 3, ("a", fine[1], Decimal("1.00")): 1}
    check_views(spark, analysis, {"s": s, "t": t})


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pa.Table]:
    directory = tmp_path_factory.mktemp("tpch")
    generator = Path(sysconfig.get_path("scripts")) / "tpchgen-cli"
    subprocess.run([generator, "parquet", "--scale-factor=0.01", f"--output-dir={directory}", "--quiet"], check=True)
    return {path.stem: pq.read_table(path) for path in sorted(directory.glob("*.parquet"))}


def program(script: str) -> Analysis:
    relations: list[Relation] = []
    rules: list[Rule] = []
    for statement in parse_sql(script, Catalog()):
        match statement:
            case CreateTable(relation=relation):
                relations.append(relation)
            case CreateView(definition=definition):
                relations += definition.relations
                rules += definition.rules
    return analyze(Program(tuple(relations), tuple(rules)))


def table_frame(spark: SparkSession, relation: Relation, table: pa.Table) -> DataFrame:
    fields = [pa.field(f"c{number}", column.type.arrow()) for number, column in enumerate(relation.columns)]
    cast = pa.schema(
        [pa.field(column.name, field.type) for column, field in zip(relation.columns, fields, strict=True)]
    )
    return spark.createDataFrame(table.cast(cast).rename_columns([field.name for field in fields]))


def test_tpch(spark: SparkSession, tables: dict[str, pa.Table]) -> None:
    """Four queries of TPC-H, each as the local engine has it."""
    script = "\n".join((TPCH / f"{name}.sql").read_text() for name in ("schema", *QUERIES))
    database = whence.connect()
    for statement in script.split(";"):
        if statement.strip():
            database.execute(statement)
    for name, rows in tables.items():
        database.insert(name, rows)
    analysis = program(script)
    frames = {name: table_frame(spark, analysis.relations[name], rows) for name, rows in tables.items()}
    for component in analysis.components:
        if component.rules:
            (name,) = component.relations
            frames[name] = derive(component, analysis.relations, NO_FUNCTIONS, frames).frame
    for name in QUERIES:
        rows = counts_of(analysis.relations[name], frames[name])
        assert rows and set(rows.values()) == {1}
        assert set(map(repr, rows)) == set(map(repr, database.rows(name)))
    database.close()
