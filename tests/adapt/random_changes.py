"""Random programs, random edits of several of their views at once, and random rows that change with them.

After every step all relations must be what they are in a new database on the reference engine, which gets the same
definitions and the same rows, counts included, and go on to be that when rows change afterwards: then what is kept
beside the rows was right, too. Now and then that database reads all texts again, so that definitions are right as well.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from random import Random
from unittest.mock import patch

from whence.database.database import Database
from whence.engines.local import engine as local
from whence.engines.reference.engine import ReferenceEngine
from whence.errors import UnknownNameError, WhenceError
from whence.model.types import Row
from whence.model.updates import Commit, Delta, Update, totals
from whence.rewriting.adaptation import Adaptation, Derived
from whence.rewriting.costs import PlanCosts
from whence.rewriting.search import SearchLimits
from whence.rewriting.signed_union import SignedUnion
from whence.session.definitions import Definitions
from whence.session.session import Session

TABLES = {"r": ["a", "b"], "s": ["b", "c"], "t": ["a", "c"]}
VALUES = (1, 2, 3, 4, None)
# Of a union; the search for a plan is about as long as that of four rules.
MOST_PARTS = 3


class Program:
    """Tables and views as SQL, each view by its parts."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.columns: dict[str, list[str]] = {name: list(columns) for name, columns in TABLES.items()}
        self.views: dict[str, tuple[str, list[str]]] = {}
        self.levels: dict[str, int] = dict.fromkeys(TABLES, -1)
        self.made = 0
        # How often a view has groups, where nine others have none.
        self.grouped = random.choice((1, 1, 9))

    def tables(self) -> list[str]:
        return [
            "CREATE TABLE r(a INT, b INT)",
            "CREATE TABLE s(b INT, c INT)",
            "CREATE TABLE t(a INT NOT NULL, c INT, PRIMARY KEY (a))",
        ]

    def readable(self, level: int) -> list[str]:
        return [name for name, at in self.levels.items() if at < level]

    def select(self, level: int, width: int) -> str:
        random = self.random
        sources = [random.choice(self.readable(level)) for _ in range(random.choice((1, 1, 2, 2, 3)))]
        named = [f"{source} q{at}" for at, source in enumerate(sources)]
        places = [f"q{at}.{column}" for at, source in enumerate(sources) for column in self.columns[source]]
        conditions = [
            f"{random.choice([f'q{at}.{column}' for column in self.columns[sources[at]]])} = "
            f"{random.choice([f'q{at - 1}.{column}' for column in self.columns[sources[at - 1]]])}"
            for at in range(1, len(sources))
        ]
        if random.random() < 0.3:
            op = random.choice(("=", "<", "<>", ">="))
            conditions.append(f"{random.choice(places)} {op} {random.choice((1, 2, 3))}")
        if random.random() < 0.1:
            inner = random.choice(self.readable(level))
            column = random.choice(self.columns[inner])
            conditions.append(f"NOT EXISTS (SELECT * FROM {inner} z WHERE z.{column} = {random.choice(places)})")
        names = "xyz"[:width]
        given = [random.choice(places) if random.random() < 0.9 else str(random.choice((1, 2))) for _ in names]
        listed = ", ".join(f"{term} AS {name}" for term, name in zip(given, names, strict=True))
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        return f"{listed} FROM {', '.join(named)}{where}"

    def parts(self, level: int) -> tuple[str, list[str], list[str]]:
        random = self.random
        width = random.choice((1, 2, 2, 3))
        names = list("xyz"[:width])
        kind = random.choices(("ALL", "DISTINCT", "GROUP"), (6, 3, self.grouped))[0]
        if kind == "GROUP":
            return "ALL", [self.grouping(random.choice(self.readable(level)))], ["x", "y"]
        return kind, [self.select(level, width) for _ in range(random.choice((1, 1, 2, 3)))], names

    def grouping(self, inner: str) -> str:
        """The rows of a relation, or some of them, in groups."""
        random = self.random
        group, value = (random.choice(self.columns[inner]) for _ in range(2))
        function = random.choice(("count(*)", "count(*)", f"sum(q.{value})", f"max(q.{value})", f"count(q.{value})"))
        where = f" WHERE q.{value} > {random.choice((1, 2))}" if random.random() < 0.3 else ""
        return f"q.{group} AS x, {function} AS y FROM {inner} q{where} GROUP BY q.{group}"

    def text(self, name: str) -> str:
        kind, parts = self.views[name]
        union = " UNION ALL " if kind == "ALL" else " UNION "
        distinct = "DISTINCT " if kind == "DISTINCT" else ""
        return f"CREATE OR REPLACE VIEW {name} AS " + union.join(f"SELECT {distinct}{part}" for part in parts)

    def add_view(self) -> str:
        name = f"v{self.made}"
        level = self.made
        self.made += 1
        kind, parts, columns = self.parts(level)
        self.views[name] = kind, parts
        self.columns[name] = columns
        self.levels[name] = level
        return name

    def edit(self, name: str) -> None:
        """Another definition: other rules, one more, one less, or a set for a bag."""
        random = self.random
        kind, parts = self.views[name]
        level, width = self.levels[name], len(self.columns[name])
        is_grouped = "GROUP BY" in parts[0]
        choice = random.random()
        if is_grouped and choice < 0.7:
            parts = [self.grouping(parts[0].partition(" FROM ")[2].split()[0])]
        elif choice < 0.25 or is_grouped:
            kind, parts, self.columns[name] = self.parts(level)
        elif choice < 0.55 and len(parts) < MOST_PARTS:
            parts = [*parts, self.select(level, width)]
        elif choice < 0.75 and len(parts) > 1:
            parts = random.sample(parts, len(parts) - 1)
        elif choice < 0.85:
            kind = "ALL" if kind == "DISTINCT" else "DISTINCT"
        elif choice < 0.95 and width > 1:
            # One column less: the last one, in every part.
            parts = [_without_last(part) for part in parts]
            self.columns[name] = self.columns[name][:-1]
        else:
            at = random.randrange(len(parts))
            parts = [*parts[:at], self.select(level, width), *parts[at + 1 :]]
        self.views[name] = kind, parts

    def row(self, table: str) -> Row:
        random = self.random
        row = [random.choice(VALUES) for _ in self.columns[table]]
        if table == "t":
            row[0] = random.randrange(12)
        return tuple(row)


def _without_last(part: str) -> str:
    listed, _, rest = part.partition(" FROM ")
    return f"{', '.join(listed.split(', ')[:-1])} FROM {rest}"


class Oracle:
    """The rows of tables as the test has changed them, and what follows from them on the reference engine."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self.rows: dict[str, Counter[Row]] = {table: Counter() for table in TABLES}

    def change(self, changed: Iterable[tuple[str, str, list[Row]]]) -> None:
        """Rows come and go."""
        for table, kind, rows in changed:
            (self.rows[table].update if kind == "insert" else self.rows[table].subtract)(rows)

    def _definitions(self) -> Definitions:
        """As a new database reads them from the texts."""
        session = Session(ReferenceEngine())
        db = Database(session)
        for statement in self._program.tables():
            db.execute(statement)
        for name in sorted(self._program.views, key=lambda each: self._program.levels[each]):
            db.execute(self._program.text(name))
        return session.definitions

    def check(self, session: Session, *, reads_texts: bool) -> None:
        definitions = self._definitions() if reads_texts else session.definitions
        engine = ReferenceEngine()
        rows = {table: {row: count for row, count in held.items() if count} for table, held in self.rows.items()}
        engine.define(definitions.analysis, {}, Update(rows))
        for name in (*TABLES, *self._program.views):
            found = {row: count for row, count in session.engine.counts(name).items() if count}
            assert found == dict(engine.counts(name)), name


def _kinds(plan: Adaptation | None) -> Iterator[str]:
    """What kinds of plans there were, to see that all kinds are tried."""
    for step in () if plan is None else plan.steps:
        if isinstance(step, Derived):
            yield "kept rows" if step.keeps_rows else "all rows" if step.is_change else "other columns"
            yield "old views" if step.old_views else "no old views"
            if any(rule.sign < 0 for rule in step.rules):
                yield "remainder"
            if any(read.endswith("$derivations") for rule in step.rules for read in rule.reads):
                yield "derivations"
        else:
            yield type(step).__name__


def changes(program: Program, oracle: Oracle) -> list[tuple[str, str, list[Row]]]:
    """Rows to be inserted and deleted."""
    random = program.random
    found = []
    for table in TABLES:
        if random.random() < 0.6:
            held = list(oracle.rows[table].elements())
            gone = random.sample(sorted(held, key=repr), min(len(held), random.choice((0, 1, 2))))
            keys = {row[0] for row in held}
            come = [program.row(table) for _ in range(random.choice((0, 1, 3)))]
            if table == "t":
                come = list({row[0]: row for row in come if row[0] not in keys}.values())
            found += [(table, "delete", gone)] if gone else []
            found += [(table, "insert", come)] if come else []
    return found


def run(seed: int, steps: int, *, in_columns: bool, views: int = 4, rows: int = 8) -> Counter[str]:
    """So many steps from one program on the local engine. Answers what was done, and how often."""
    with patch.object(local, "ROWS_IN_COLUMNS", 0 if in_columns else local.ROWS_IN_COLUMNS):
        session = Session(local.LocalEngine())
    return run_in(Database(session), session, seed, steps, views=views, rows=rows)


def run_in(
    db: Database, session: Session, seed: int, steps: int, *, views: int = 4, rows: int = 8, once: bool = False
) -> Counter[str]:
    """The same in a new database, of which this is the session. Where a look at a relation is a job, a step is checked
    `once`, when rows have changed after definitions.
    """
    random = Random(seed)
    if seed % 4 < 3:
        # Costs that say nothing, so that any plan may be the cheapest: all of them mean the same.
        known: dict[SignedUnion, float] = {}
        with patch.object(PlanCosts, "of", lambda _, plan, __=None: known.setdefault(plan, random.random())):
            return _run(db, session, random, steps, views=views, rows=rows, once=once)
    return _run(db, session, random, steps, views=views, rows=rows, once=once)


def _run(
    db: Database, session: Session, random: Random, steps: int, *, views: int, rows: int, once: bool
) -> Counter[str]:
    program = Program(random)
    session.keeps_derivations = random.random() < 0.25
    for statement in program.tables():
        db.execute(statement)
    oracle = Oracle(program)
    for table in TABLES:
        made = [program.row(table) for _ in range(rows)]
        made = list({row[0]: row for row in made}.values()) if table == "t" else made
        db.insert(table, made)
        oracle.change([(table, "insert", made)])
    for _ in range(views):
        db.execute(program.text(program.add_view()))
    if not once:
        oracle.check(session, reads_texts=True)
    done: Counter[str] = Counter()
    session.planner.limits = SearchLimits(least_seconds=0.003)
    for _ in range(steps):
        _step(db, session, program, oracle, done, once=once)
    oracle.check(session, reads_texts=True)
    return done


def _step(db: Database, session: Session, program: Program, oracle: Oracle, done: Counter[str], *, once: bool) -> None:
    """Other definitions, and then other rows."""
    random = program.random
    saved = dict(program.views), dict(program.columns), dict(program.levels)
    chosen = random.sample(list(program.views), random.choice((1, 1, 2, 3)))
    changed = changes(program, oracle) if random.random() < 0.6 else []
    try:
        with db.redefine() as change:
            for name in sorted(chosen, key=lambda each: program.levels[each]):
                program.edit(name)
                change.execute(program.text(name))
            for table, kind, each in changed:
                getattr(change, kind)(table, each)
            foreseen = change.preview(rows=True).rows if random.random() < 0.2 else None
        done.update(_kinds(change.plan))
        done["steps"] += 1
        oracle.change(changed)
        if foreseen is not None:
            _check_preview(change.commit, foreseen)
    except WhenceError as error:
        # What the others do not understand any more.
        if "in use by" not in str(error) and not isinstance(error, UnknownNameError):
            raise
        program.views, program.columns, program.levels = saved
    if not once:
        oracle.check(session, reads_texts=random.random() < 0.05)
    changed = changes(program, oracle)
    with db.batch() as batch:
        for table, kind, each in changed:
            getattr(batch, kind)(table, each)
    oracle.change(changed)
    oracle.check(session, reads_texts=False)


def _check_preview(commit: Commit | None, foreseen: Mapping[str, Delta]) -> None:
    """The rows that came and went are those that were to."""
    assert commit is not None
    sums = {name: totals(delta) for name, delta in foreseen.items()}
    assert {name: came for name, (came, _) in sums.items() if came} == dict(commit.inserted)
    assert {name: went for name, (_, went) in sums.items() if went} == dict(commit.deleted)


def main() -> None:
    first, last = int(sys.argv[1]), int(sys.argv[2])
    total: Counter[str] = Counter()
    for seed in range(first, last):
        try:
            total += run(seed, 20, in_columns=seed % 2 == 1)
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise
    sys.stdout.write(f"{dict(total)}\n")


if __name__ == "__main__":
    main()
