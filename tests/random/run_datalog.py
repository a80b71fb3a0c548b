"""A random Datalog program in whence, in DuckDB and by the book."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from tests.random import datalog_oracle
from tests.random.compare import DisagreementError
from tests.random.datalog_model import DatalogProgram, Group
from tests.random.datalog_sql import SQL_TYPES, create_view
from tests.random.duck import Duck, duck
from tests.random.run import compare
from whence.analysis.analyze import analyze
from whence.engines.reference.evaluate import evaluate
from whence.lang.datalog.parse import parse_datalog
from whence.lang.datalog.write import to_datalog
from whence.model.types import Row


def check_datalog(program: DatalogProgram) -> None:
    """DisagreementError, or whence's own error, where something is wrong."""
    parsed = parse_datalog(program.text)
    text = to_datalog(parsed)
    if parse_datalog(text) != parsed:
        raise DisagreementError(f"written and read again this is another program:\n{text}")
    ours = evaluate(analyze(parsed), {table.name: Counter(table.rows) for table in program.tables})
    meant = datalog_oracle.contents(program)
    for group in program.groups:
        for relation in group.relations:
            compare(relation, ours[relation], Counter(meant[relation]).elements())
    compare_with_duckdb(program, ours, meant)


def compare_with_duckdb(
    program: DatalogProgram, ours: Mapping[str, Mapping[Row, int]], meant: Mapping[str, Mapping[Row, int]]
) -> None:
    database = duck()
    database.load(program.tables)
    for group in program.groups:
        if group.recursion in ("", "linear"):
            database.create(create_view(program, group))
            (relation,) = group.relations
            compare(relation, ours[relation], database.rows(relation))
        else:
            _hand_over(program, group, meant, database)


def _hand_over(program: DatalogProgram, group: Group, meant: Mapping[str, Mapping[Row, int]], database: Duck) -> None:
    """What DuckDB's recursion cannot compute it gets as a table, for the groups above."""
    for relation in group.relations:
        columns = ", ".join(f"c{at} {SQL_TYPES[kind]}" for at, kind in enumerate(program.kinds[relation]))
        database.create(f"CREATE TABLE {relation}({columns})")
        database.fill(relation, meant[relation])


def shown_datalog(program: DatalogProgram) -> str:
    rows = "".join(f"{table.name}: {list(table.rows)}\n" for table in program.tables)
    return f"seed {program.seed}:\n{program.text}{rows}"
