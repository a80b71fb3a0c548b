"""What Spark's own parser and analyzer say of the views of a SQL program."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException
from sqlglot import exp

from tests.lang.mutants.texts import Text
from whence.lang.sql.dialect import statements
from whence.lang.sql.tables import create_table, table_name
from whence.model.schema import Relation
from whence.model.span import SourceText
from whence.model.types import TIMESTAMP, Type

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CREATE = re.compile(r"\s*create(\s+or\s+replace)?(\s+materialized)?\s+view(\s+if\s+not\s+exists)?", re.IGNORECASE)


def refusal(spark: SparkSession, program: Text) -> str | None:
    """What Spark says of the first view that it refuses; None where it accepts all of them."""
    source = SourceText("<sql>", ";\n".join(text for text in (program.tables, program.text) if text))
    made: list[str] = []
    try:
        for tree, span in statements(source):
            if not isinstance(tree, exp.Create):
                continue
            target = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
            made.append(table_name(target, source))
            if tree.args["kind"] == "TABLE":
                spark.sql(_empty(create_table(tree, source, span).relation))
            else:
                spark.sql(temporary(span.text))
    except PySparkException as error:
        return str(error).strip().partition("\n")[0]
    finally:
        for name in made:
            spark.catalog.dropTempView(name)
    return None


def temporary(create_view: str) -> str:
    """The statement for a view that Spark keeps nothing of."""
    return _CREATE.sub("CREATE OR REPLACE TEMPORARY VIEW", create_view, count=1)


def _empty(relation: Relation) -> str:
    columns = ", ".join(f"CAST(NULL AS {_type(c.type)}) AS `{c.name}`" for c in relation.columns)
    return f"CREATE OR REPLACE TEMPORARY VIEW `{relation.name}` AS SELECT {columns}"


def _type(type_: Type) -> str:
    return "TIMESTAMP_NTZ" if type_ == TIMESTAMP else str(type_)
