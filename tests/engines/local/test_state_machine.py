"""Random programs over random changes, in every strategy at once: after every step all agree with the reference engine.

A step is a commit, or the attempt of one. WHENCE_STEPS=100000 runs that many.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from random import Random

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from tests.engines.local.machine_actions import Action, Advance, Changes, Delete, Insert, Row, Rules, Sql
from tests.engines.local.machine_steps import PHASES, SEEDS, TAKEN, runs
from tests.engines.local.machine_twins import LARGE, SMALL, Twins, local_databases
from tests.engines.local.machine_views import SETS, TABLES, ViewMaker
from whence.database.database import Database
from whence.model.schema import Column
from whence.model.types import DATE, DOUBLE, STRING, TIMESTAMP
from whence.model.updates import Commit

START = datetime.datetime(2026, 1, 1)
STEPS_PER_RUN = 50
MOST_VIEWS = 7


def picky(x: int | None) -> int | None:
    if x is not None and x >= 7:
        raise ValueError("too large")
    return x


def twist(x: int | None) -> int | None:
    return None if x is None else (x * 3 + 1) % 4


def started(twins: Twins) -> Twins:
    for twin in twins.all:
        twin.db.function("picky", picky, returns="INT")
        twin.db.function("twist", twist, returns="INT")
        twin.db.execute(TABLES)
        twin.db.rules(SETS)
        twin.db.advance(START)
    return twins


class Machine(RuleBasedStateMachine):
    strategies: tuple[str, ...] = SMALL
    nodes = 3

    def __init__(self) -> None:
        super().__init__()
        self.twins = started(Twins(self.databases()))
        self.minute = 0
        self.made = 0
        self.tables = frozenset(self.twins.db.catalog().relations)

    def databases(self) -> Mapping[str, Database]:
        """Those that are compared with the reference engine."""
        return local_databases(self.strategies)

    def act(self, action: Action) -> Commit | None:
        TAKEN["of every strategy"] += 1
        return self.twins.act(action)

    # Rows

    def value(self, rng: Random, column: Column) -> object:
        if column.nullable and rng.random() < 0.15:
            return None
        match column.type:
            case type_ if type_ == STRING:
                return rng.choice("ab")
            case type_ if type_ == DATE:
                return datetime.date(2026, 1, rng.randint(1, 3))
            case type_ if type_ == DOUBLE:
                return rng.choice((0.1, 0.2, 0.5, 2.0**53, -0.1))
            case type_ if type_ == TIMESTAMP:
                return START + datetime.timedelta(minutes=self.minute + rng.randint(-2, 2))
        return rng.randint(7, 9) if rng.random() < 0.02 else rng.randrange(self.nodes)

    def row(self, rng: Random, table: str) -> Row:
        return tuple(self.value(rng, column) for column in self.twins.db.catalog().relations[table].columns)

    def present(self, rng: Random, table: str) -> tuple[Row, ...]:
        """A row that is there, if there is one."""
        rows = sorted(self.twins.db.rows(table), key=repr)
        return (rng.choice(rows),) if rows else ()

    def changes(self, rng: Random, count: int) -> list[Insert | Delete]:
        """Inserts and deletes of one batch. Tables lose more the fuller they are."""
        found: list[Insert | Delete] = []
        for _ in range(count):
            table = rng.choice(sorted(self.tables))
            there = self.twins.db.table(table).num_rows
            chance = rng.random()
            if chance < there / 14:
                found.append(Delete(table, self.present(rng, table)))
            elif chance > 0.95:
                again = self.present(rng, table)
                found += [Delete(table, again), Insert(table, again)]
            elif self.twins.db.catalog().relations[table].key and chance > 0.4:
                old = self.present(rng, table)
                new = tuple((row[0], *self.row(rng, table)[1:]) for row in old)
                found += [Delete(table, old), Insert(table, new)]
            else:
                found.append(Insert(table, (self.row(rng, table),) * rng.choice((1, 1, 1, 2))))
        return found

    def commit(self, changes: Sequence[Insert | Delete]) -> None:
        self.act(Changes(tuple(changes)))

    # Definitions

    def views(self) -> list[str]:
        return sorted(self.twins.db.catalog().views)

    def maker(self, rng: Random) -> ViewMaker:
        return ViewMaker(rng, self.twins.db.catalog().relations, self.tables)

    def execute(self, sql: str) -> None:
        self.act(Sql(sql))

    def new_view(self, rng: Random) -> None:
        self.made += 1
        if len(self.views()) >= MOST_VIEWS:
            self.execute(f"DROP VIEW {rng.choice(self.views())}")
        elif rng.random() < 0.5:
            self.execute(f"CREATE VIEW v{self.made} AS {self.maker(rng).select()}")
        else:
            self.act(Rules(self.maker(rng).rules(f"r{self.made}")))

    @initialize(rng=SEEDS)
    def begin(self, rng: Random) -> None:
        walked = ("link", "edge", "weight", "seen")
        self.commit([Insert(table, (self.row(rng, table),)) for table in walked for _ in range(self.nodes + 1)])
        self.commit(self.changes(rng, 12))
        self.execute(f"CREATE VIEW v0 AS {self.maker(rng).computed()}")
        self.new_view(rng)
        self.new_view(rng)

    @rule(rng=SEEDS)
    def redefine(self, rng: Random) -> None:
        chance = rng.random()
        if chance < 0.5:
            self.new_view(rng)
        elif chance < 0.8:
            names = [name for name in self.views() if name.startswith("v")] or ["v0"]
            self.execute(f"CREATE OR REPLACE VIEW {rng.choice(names)} AS {self.maker(rng).select()}")
        else:
            self.execute(f"DROP VIEW IF EXISTS {rng.choice(self.views() or ['v0'])}")

    # Changes

    @rule(rng=SEEDS)
    def change(self, rng: Random) -> None:
        self.commit(self.changes(rng, 1))

    @rule(rng=SEEDS)
    def change_much(self, rng: Random) -> None:
        self.commit(self.changes(rng, rng.randint(2, 8)))

    @rule(rng=SEEDS)
    def change_nodes(self, rng: Random) -> None:
        """The tables that recursion walks along."""
        table = rng.choice(("link", "edge", "weight", "seen"))
        gone = [Delete(table, self.present(rng, table)) for _ in range(rng.randint(0, 2))]
        self.commit([*gone, Insert(table, tuple(self.row(rng, table) for _ in range(rng.randint(0, 3))))])

    @rule(rng=SEEDS)
    def change_by_statement(self, rng: Random) -> None:
        if self.twins.db.table("edge").num_rows < 12 and rng.random() < 0.5:
            source = self.maker(rng).relation()
            node = f"CAST(coalesce({ViewMaker.ints(source)[0]}, 0) % {self.nodes} AS INT)"
            query = f"SELECT DISTINCT {node}, {node} FROM {source.name}"
            self.execute(f"INSERT INTO edge {query}")
        elif rng.random() < 0.5:
            table = rng.choice(("link", "edge", "weight"))
            self.execute(f"DELETE FROM {table} WHERE dst = {rng.randrange(self.nodes)}")
        else:
            self.commit(self.changes(rng, 4))

    @rule(minutes=st.integers(0, 3))
    def advance(self, minutes: int) -> None:
        self.minute += minutes
        moment = START + datetime.timedelta(minutes=self.minute)
        if self.act(Advance(moment)) is None:
            self.minute -= minutes

    @rule(rng=SEEDS)
    def fail(self, rng: Random) -> None:
        """A change with a row that some views cannot take, behind others that they can."""
        table = rng.choice(("link", "edge", "weight", "owner", "seen", "beat"))
        columns = self.twins.db.catalog().relations[table].columns
        bad = tuple(rng.randint(7, 9) if c.type.name == "INT" else None for c in columns)
        self.commit([*self.changes(rng, 3), Insert(table, (bad,))])
        if bad in self.twins.db.rows(table):
            self.commit([Delete(table, (bad,))])

    def teardown(self) -> None:
        self.twins.check_everything()


class SmallMachine(Machine):
    """Few nodes, so that every strategy can follow."""


class LargeMachine(Machine):
    strategies = LARGE
    nodes = 6


@pytest.mark.parametrize(("machine", "share"), [(SmallMachine, 0.2), (LargeMachine, 0.2)])
def test_every_strategy_follows(machine: type[Machine], share: float) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=runs(share, STEPS_PER_RUN),
            stateful_step_count=STEPS_PER_RUN,
            suppress_health_check=list(HealthCheck),
            phases=PHASES,
        ),
    )
