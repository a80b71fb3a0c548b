"""All bindings that satisfy a rule's body, as a DataFrame with a row for each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_, mul

import pyspark.sql.functions as F
from pyspark.sql import Column, DataFrame, SparkSession

from whence.analysis.typed_rules import TypedRule
from whence.engines.spark.expressions import ColumnTerms
from whence.engines.spark.types import column_names
from whence.functions.types import Typed
from whence.incremental.plan import Compute, Filter, Flip, Missing, Pattern, Plan, Probe
from whence.incremental.planner import make_plan
from whence.model.program import Functions
from whence.model.schema import Relation
from whence.model.terms import Call, Cast, Term, Variable
from whence.model.types import Type
from whence.planning.statistics import UNCOUNTED, Statistics


@dataclass(frozen=True, slots=True)
class Bindings:
    """The frame has a column for each variable, and those that the atoms' frames had beside c0, c1, ...: what was `n`
    in the frame of literal 2 is `a2_n` here.
    """

    frame: DataFrame
    terms: ColumnTerms

    def column(self, term: Term, target: Type | None = None) -> Column:
        """The term's value for every binding, converted to `target` where that is another type."""
        return self.terms.column(term, target)


@dataclass(frozen=True, slots=True)
class CountedBindings:
    """Bindings of a rule, by its number in a view, and how often each counts."""

    rule: int
    found: Bindings
    copies: Column


def product_of_counts(atoms: Iterable[int], sign: int) -> Column:
    """How often a binding counts, by the counts of the rows of these atoms in it."""
    return reduce(mul, [F.col(f"a{number}_n") for number in atoms], F.lit(sign).cast("bigint"))


@dataclass(frozen=True)
class JoinStart:
    """Where joins begin, and how they go on.

    `first` is an atom, whose frame should be the smallest, or a negation: then `given` are rows that came or went, and
    only bindings which one of them stands against are found. Or `given` has values for the variables `bound`, in
    columns of that order. Without `statistics` joins go by keys and by what links atoms, in the order of the text.
    Before an atom in `settled` is joined, `settle` may make another frame of the bindings so far. What a join yields
    goes through `counted`.
    """

    first: int | None = None
    bound: Sequence[str] = ()
    given: DataFrame | None = None
    statistics: Statistics = UNCOUNTED
    settled: Collection[int] = ()
    settle: Callable[[DataFrame], DataFrame] = lambda frame: frame
    counted: Callable[[DataFrame], DataFrame] = lambda frame: frame


ANYWHERE = JoinStart()


def bindings(
    rule: TypedRule,
    atoms: Mapping[int, DataFrame],
    negations: Mapping[int, DataFrame],
    functions: Functions,
    start: JoinStart = ANYWHERE,
) -> Bindings:
    """The bindings that satisfy the body of a rule where its literals, by number, read these frames.

    A frame has the relation's columns as c0, c1, ...; that of a negation has the rows that count as present. A body
    without any frame is evaluated in the active session.
    """
    plan = make_plan(rule, start.statistics, start.first, start.bound)
    session = next((frame.sparkSession for frame in (*atoms.values(), *negations.values())), None)
    joining = _Joining(plan, rule.relations, functions, session or SparkSession.active())
    if start.bound and start.given is not None:
        joining.begin(start.given)
    for step in plan.steps:
        match step:
            case Probe():
                is_join = joining.has_begun
                if is_join and step.literal in start.settled:
                    joining.frame = start.settle(joining.frame)
                joining.probe(step, atoms[step.literal])
                if is_join:
                    joining.frame = start.counted(joining.frame)
            case Missing():
                joining.missing(step, negations[step.literal])
            case Flip():
                assert start.given is not None, "who starts from a negation says what changed"
                joining.flip(step, start.given, negations[step.literal])
            case Compute(term=term):
                joining.compute(term)
            case Filter(condition=condition):
                joining.keep(condition)
    return Bindings(joining.frame, joining.terms)


class _Joining:
    """The frame so far, and in which of its columns the variables are."""

    def __init__(
        self, plan: Plan, relations: Mapping[str, Relation], functions: Functions, session: SparkSession
    ) -> None:
        self._relations = relations
        self._types = dict(plan.types)
        self._names = {slot: name for name, slot in plan.slots.items()}
        self._slot = 0
        self._columns: dict[str, str] = {}
        self._made = 0
        self.terms = ColumnTerms(self._columns, self._types, functions)
        # Before any step, there is one way to satisfy nothing at all.
        self._nothing = self.frame = session.range(1, numPartitions=1).select()

    @property
    def has_begun(self) -> bool:
        return self.frame is not self._nothing

    def begin(self, given: DataFrame) -> None:
        """With values for the first variables, in the order of the columns."""
        self.frame = given.toDF(*(self._new_column(self._next_variable()) for _ in given.columns))

    def probe(self, step: Probe, frame: DataFrame) -> None:
        """Every binding with the rows under its keys."""
        relation = self._relations[step.relation]
        sides = [self._column_of(relation, position) for position in step.positions]
        bound = [(self._next_variable(), position) for position in step.binds]
        self._slot += step.counted
        right = frame.select(
            *self._sources(sides),
            *(F.col(f"c{position}").alias(self._new_column(name)) for name, position in bound),
            *(
                F.col(name).alias(f"a{step.literal}_{name}")
                for name in frame.columns
                if name not in column_names(relation.arity)
            ),
        )
        conditions = list(self._equal(step.keys, sides))
        if not self.has_begun:
            self.frame = right.where(_all(conditions)) if conditions else right
        elif conditions:
            self.frame = self.frame.join(right, _all(conditions))
        else:
            self.frame = self.frame.crossJoin(right)
        self._forget(sides)

    def missing(self, step: Missing, frame: DataFrame) -> None:
        """The bindings under whose keys there is no row."""
        columns, sides = self._asked(step.pattern)
        keys = [self._in_column(key) for key in step.keys]
        right = frame.select(*self._sources(columns))
        if columns:
            self.frame = self.frame.join(right, _all(list(self._equal(keys, sides))), "left_anti")
        else:
            self.frame = self.frame.join(right.limit(1), F.lit(True), "left_anti")
        self._forget(columns)

    def flip(self, step: Flip, flipped: DataFrame, present: DataFrame) -> None:
        """The keys of rows that came or went, as far as no row is present under them."""
        columns, sides = self._asked(step.pattern)
        asked = flipped.select(*self._sources(columns))
        values = [self.terms.column(side) for side in sides]
        keys = [Variable(self._next_variable()) for _ in sides]
        named = [value.alias(self._new_column(key.name)) for key, value in zip(keys, values, strict=True)]
        self.frame = asked.select(*named).distinct() if named else asked.limit(1)
        for column in columns:
            del self._columns[column.name]
        self.missing(Missing(step.literal, step.pattern, tuple(keys)), present)

    def compute(self, term: Term) -> None:
        self._define(self._next_variable(), term)

    def keep(self, condition: Term) -> None:
        self.frame = self.frame.where(self.terms.column(condition))

    def _next_variable(self) -> str:
        """The name of the variable that the next slot holds."""
        self._slot += 1
        return self._names[self._slot - 1]

    def _define(self, name: str, term: Term) -> None:
        value = self.terms.column(term)
        self.frame = self.frame.withColumn(self._new_column(name), value)

    def _new_column(self, variable: str) -> str:
        # Names of variables may differ in upper and lower case only, which Spark does not tell apart.
        self._columns[variable] = f"v{self._made}"
        self._made += 1
        return self._columns[variable]

    def _column_of(self, relation: Relation, position: int) -> Variable:
        """A column of the frame that is about to be joined, as a variable that conditions can use."""
        column = relation.columns[position]
        variable = Variable(f"#{position}")
        self._types[variable.name] = Typed(column.type, column.nullable)
        self._new_column(variable.name)
        return variable

    def _asked(self, pattern: Pattern) -> tuple[list[Variable], list[Term]]:
        """The columns that a pattern asks for, and the values which keys are compared with."""
        relation = self._relations[pattern.relation]
        columns = [
            self._column_of(relation, position)
            for position in (*pattern.positions, *(position for position, _ in pattern.widened))
        ]
        sides: list[Term] = list(columns)
        for number, (_, kind) in enumerate(pattern.widened, start=len(pattern.positions)):
            sides[number] = Cast(columns[number], kind)
        return columns, sides

    def _sources(self, columns: Sequence[Variable]) -> Iterator[Column]:
        for variable in columns:
            yield F.col(f"c{variable.name[1:]}").alias(self._columns[variable.name])

    def _forget(self, columns: Sequence[Variable]) -> None:
        self.frame = self.frame.drop(*(self._columns.pop(variable.name) for variable in columns))

    def _in_column(self, key: Term) -> Term:
        """A key as a variable: Spark takes no Python in the condition of an anti join."""
        if isinstance(key, Variable):
            return key
        variable = Variable(f"#key.{self._made}")
        self._types[variable.name] = self.terms.typed(key)
        self._define(variable.name, key)
        return variable

    def _equal(self, keys: Sequence[Term], sides: Sequence[Term]) -> Iterator[Column]:
        """NULL is the same as NULL. But where one side cannot be NULL, it is the plain `=` that Spark joins best by."""
        for key, side in zip(keys, sides, strict=True):
            can_be_null = self.terms.typed(key).nullable and self.terms.typed(side).nullable
            yield self.terms.column(Call("<=>" if can_be_null else "=", (key, side)))


def _all(conditions: Sequence[Column]) -> Column:
    return reduce(and_, conditions)
