"""The compiled proof forest under programs of its shape, with little room, so that it grows and is packed all the time.

After every commit, and every commit that failed, it agrees with the reference engine.
"""

from __future__ import annotations

import datetime
from random import Random

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from tests.engines.local.forest_programs import COSTS, SETS, TABLES, TEMPTING, PlainPrograms
from tests.engines.local.machine_actions import Action, Changes, Delete, Insert, Row, Rules
from tests.engines.local.machine_steps import PHASES, SEEDS, TAKEN, runs
from tests.engines.local.machine_twins import Twins
from whence.database.database import Database
from whence.engines.local.engine import LocalEngine
from whence.model.schema import Column
from whence.model.types import DATE, STRING
from whence.model.updates import Commit
from whence.session.session import Session

STEPS_PER_RUN = 40
COMPILED = ("recursive: a compiled proof forest", "not recursive: joined in a compiled forest, above another one")


def picky(x: int | None) -> int | None:
    if x == 13:
        raise ValueError("13")
    return x


def started(engine: LocalEngine) -> Twins:
    twins = Twins({"auto": Database(Session(engine))})
    for twin in twins.all:
        twin.db.function("picky", picky, returns="INT")
        twin.db.execute(TABLES)
        twin.db.rules(SETS)
    return twins


@pytest.fixture
def little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whence.engines.local.forest.room._SMALLEST", 2)
    monkeypatch.setattr("whence.engines.local.forest.maintainer._WORTH_PACKING", 2)
    monkeypatch.setattr("whence.engines.local.forest.maintainer._WORTH_FORGETTING", 5)
    monkeypatch.setattr("whence.engines.local.forest.function_values.AT_ONCE", 2)


class ForestMachine(RuleBasedStateMachine):
    nodes = 5
    read: tuple[str, ...] = ("d", "e", "f", "g", "s")
    compiled = True
    first = 30

    def __init__(self) -> None:
        super().__init__()
        self.engine = LocalEngine()
        self.twins = started(self.engine)
        self.tables = {name: self.twins.db.catalog().relations[name].columns for name in self.read}

    def act(self, action: Action) -> Commit | None:
        TAKEN["of compiled forests"] += 1
        return self.twins.act(action)

    def program(self, rng: Random) -> str:
        text, own = PlainPrograms(rng, self.nodes).program()
        # Above the forest, so that a commit can fail after the forest has followed it.
        checks = [f"checked_{name}(picky({x})) :- {name}({t})." for name, (x, t) in map(self.numbers, own.items())]
        joined = [
            f"joined_{name}({x}, picky(y)) :- {name}({t}), f({x}, y)."
            f"joined_{name}({x}, {x}) :- {name}({t}), e(_, {x})."
            f"least_{name}({x}, min<y>) :- {name}({t}), f({x}, y), {name}({t}), y < {x} + 2."
            for name, (x, t) in map(self.numbers, own.items())
        ]
        return f"{text}\n{''.join(rng.choice((checks, joined)))}"

    @staticmethod
    def numbers(relation: tuple[str, tuple[str, ...]]) -> tuple[str, tuple[str, str]]:
        name, kinds = relation
        at = kinds.index("INT")
        return name, ("x", ", ".join("x" if i == at else "_" for i in range(len(kinds))))

    @initialize(rng=SEEDS)
    def define(self, rng: Random) -> None:
        self.commit(self.inserts(rng, self.first))
        self.act(Rules(self.program(rng)))
        views = self.twins.db.catalog().views
        assert views, "the program was refused"
        if self.compiled:
            chosen = [self.engine.choice(name) for name in views]
            assert all(choice and (choice.strategy == "counting" or choice.reason in COMPILED) for choice in chosen)

    # Rows

    def value(self, rng: Random, column: Column) -> object:
        if column.nullable and rng.random() < 0.2:
            return None
        if column.type == STRING:
            return rng.choice("ab")
        if column.type == DATE:
            return datetime.date(2026, 1, rng.randint(1, 3))
        return rng.randrange(self.nodes)

    def inserts(self, rng: Random, count: int) -> list[Insert | Delete]:
        names = [rng.choice(self.read) for _ in range(count)]
        return [Insert(name, (tuple(self.value(rng, c) for c in self.tables[name]),)) for name in names]

    def deletes(self, rng: Random, count: int) -> list[Insert | Delete]:
        found: list[Insert | Delete] = []
        for _ in range(count):
            name = rng.choice(self.read)
            rows: list[Row] = sorted(self.twins.db.rows(name), key=repr)
            if rows:
                found.append(Delete(name, (rng.choice(rows),)))
        return found

    def commit(self, changes: list[Insert | Delete]) -> None:
        self.act(Changes(tuple(changes)))

    # Steps

    @rule(rng=SEEDS)
    def insert(self, rng: Random) -> None:
        self.commit(self.inserts(rng, rng.choice((1, 4, 12))))

    @rule(rng=SEEDS)
    def delete(self, rng: Random) -> None:
        self.commit(self.deletes(rng, rng.choice((1, 1, 4))))

    @rule(rng=SEEDS)
    def both(self, rng: Random) -> None:
        changes = self.deletes(rng, rng.choice((1, 3))) + self.inserts(rng, rng.choice((2, 6)))
        self.commit(rng.sample(changes, len(changes)))

    @rule(rng=SEEDS)
    def empty(self, rng: Random) -> None:
        """A whole table at once, and most of it back, at once or later."""
        name = rng.choice(self.read)
        rows: list[Row] = sorted(self.twins.db.rows(name), key=repr)
        back = Insert(name, tuple(rng.sample(rows, len(rows) * 3 // 4)))
        if rng.random() < 0.5:
            self.commit([Delete(name, tuple(rows)), back])
        else:
            self.commit([Delete(name, tuple(rows))])
            self.commit([back])

    @rule(rng=SEEDS)
    def fail(self, rng: Random) -> None:
        name = rng.choice([name for name in self.read if name not in ("d", "s")])
        row = tuple(13 if column.name == "a" else self.value(rng, column) for column in self.tables[name])
        self.commit([*self.deletes(rng, 2), *self.inserts(rng, 2), Insert(name, (row,))])

    def teardown(self) -> None:
        self.twins.check_everything()


class CostMachine(ForestMachine):
    templates: tuple[str, ...] = COSTS
    read = ("e", "f", "start", "w", "w", "w")

    def program(self, rng: Random) -> str:
        text = rng.choice(self.templates).format(n=rng.randrange(3))
        arity = text.split("<")[0].count(",") + 1
        return f"{text} checked(picky(x)) :- best(x{', _' * (arity - 1)})."


class TemptingMachine(CostMachine):
    templates = TEMPTING
    compiled = False


@pytest.mark.usefixtures("little_room")
@pytest.mark.parametrize(("machine", "share"), [(ForestMachine, 0.35), (CostMachine, 0.2), (TemptingMachine, 0.05)])
def test_the_forest_follows(machine: type[ForestMachine], share: float) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=runs(share, STEPS_PER_RUN),
            stateful_step_count=STEPS_PER_RUN,
            suppress_health_check=list(HealthCheck),
            phases=PHASES,
        ),
    )


@pytest.mark.parametrize(
    "rules",
    [
        "p(x, y, 0) :- f(x, y). p(x, y, 0) :- f(x, z), p(z, y, 0).",
        "p(x, y, 0) :- f(x, y). p(x, y, 0) :- p(x, z, _), p(z, y, _).",
        "p(x, y, 0) :- f(x, y). q(x, y) :- p(x, z, _), f(z, y). p(x, y, 1) :- q(x, z), f(z, y), x != y.",
        "p(x, y, min<c>) :- w(x, y, c). p(x, y, min<c + d>) :- w(x, z, c), p(z, y, d).",
    ],
)
def test_thousands_of_nodes(rules: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The arrays are as large as they are for users, and too small in the middle of walks."""
    monkeypatch.setattr("whence.engines.local.forest.maintainer._WORTH_PACKING", 500)
    rng = Random(rules)
    twins = started(LocalEngine())
    twins.act(Rules(f"{rules} checked(picky(x)) :- p(x, _, _)."))
    most = 0
    for step in range(12):
        TAKEN["of large forests"] += 1
        twins.act(Changes(tuple(large_change(rng, twins, step))))
        most = max(most, len(twins.db.rows("p")))
    assert most > 1_500
    twins.check_everything()


def large_change(rng: Random, twins: Twins, step: int) -> list[Insert | Delete]:
    """Much comes at first; then much goes and comes, and now and then nothing of it happens."""
    changes: list[Insert | Delete] = []
    if step % 2:
        for name in ("f", "w"):
            rows: list[Row] = sorted(twins.db.rows(name), key=repr)
            changes.append(Delete(name, tuple(rng.sample(rows, min(len(rows), rng.choice((1, 5, 60)))))))
    for _ in range(rng.choice((5, 50)) if step else 110):
        x, y = rng.randrange(20, 62), rng.randrange(20, 62)
        changes += [Insert("f", ((x, y),)), Insert("w", ((x, y, rng.randrange(9)),))]
    if step % 5 == 4:
        changes += [Insert("f", ((13, 13),)), Insert("w", ((13, 13, 0),))]
    return changes
