"""Random SQL programs: tables, and views over them and over each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from tests.random.expressions import kind_of
from tests.random.outputs import Output
from tests.random.queries import Queries
from tests.random.tables import Table, random_tables


@dataclass(frozen=True)
class View:
    """`duckdb`: the query in other words, where DuckDB means something else by the same ones."""

    name: str
    query: str
    duckdb: str | None = None


@dataclass(frozen=True)
class SqlProgram:
    seed: int
    tables: Sequence[Table]
    views: Sequence[View]

    @property
    def script(self) -> str:
        return "".join(f"{t.create()};\n" for t in self.tables) + "".join(
            f"CREATE VIEW {v.name} AS {v.query};\n" for v in self.views
        )


def random_program(seed: int) -> SqlProgram:
    rng = Random(seed)
    tables = random_tables(rng)
    builder = _Builder(rng, {t.name: t for t in tables})
    views = [builder.view(f"v{number}") for number in range(rng.choice((1, 1, 2)))]
    return SqlProgram(seed, tables, views)


@dataclass
class _Builder:
    rng: Random
    tables: Mapping[str, Table]
    views: dict[str, Sequence[Output]] = field(default_factory=dict)

    def view(self, name: str) -> View:
        sources: dict[str, Sequence[Output]] = {
            t.name: [Output(c.name, kind_of(c.type), plain=True) for c in t.columns] for t in self.tables.values()
        }
        keys = {t.name: t.key for t in self.tables.values()}
        queries = Queries(self.rng, {**sources, **self.views}, keys)
        deep = self.rng.choice((1, 2, 2, 3))
        query = queries.recursive() if self.rng.random() < 0.12 else queries.query(deep)
        self.views[name] = query.outputs
        return View(name, query.text, query.duckdb)
