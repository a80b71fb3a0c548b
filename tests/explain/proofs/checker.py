"""A checker of proofs: every step is looked at again, from the text of the rules and the rows.

It shares nothing with what finds proofs. It knows what a rule says, and compares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from whence.analysis.analyze import Analysis
from whence.analysis.order import order_body
from whence.analysis.typing import body_types, condition_term
from whence.errors import WhenceError
from whence.functions.aggregates import aggregate_type, count_rows, fold
from whence.functions.evaluate import compile_term, convert
from whence.functions.types import Typed, common_type, infer
from whence.model.program import Functions
from whence.model.rules import Atom, Comparison, Condition, Negation, Rule
from whence.model.schema import Relation
from whence.model.terms import Aggregate, Term, Variable, Wildcard, variables
from whence.model.types import NULL, Row, Type, Value

Fact: TypeAlias = tuple[str, Row]
# A use of a rule: the rule, and the rows of its positive atoms.
RuleBody: TypeAlias = tuple[Rule, tuple[Row, ...]]
Contents: TypeAlias = Callable[[str], Mapping[Row, int]]


class FalseStepError(WhenceError):
    """A step of a proof does not hold."""


class Checker:
    """Knows a program and the rows of its relations."""

    def __init__(self, analysis: Analysis, functions: Functions, contents: Contents) -> None:
        self.relations = analysis.relations
        self._signatures = {name: function.signature for name, function in functions.items()}
        self._python = {name: function.python for name, function in functions.items()}
        self.contents = contents
        self._rules: dict[str, list[Rule]] = {}
        self._improving: set[str] = set()
        for component in analysis.components:
            for rule in component.rules:
                self._rules.setdefault(rule.head.relation, []).append(rule)
            if component.recursive and component.aggregated:
                self._improving.update(component.relations)

    def check(self, roots: Sequence[Fact], steps: Mapping[Fact, tuple[str, int, Sequence[RuleBody]]]) -> None:
        """Raises FalseStepError for the first step that does not hold.

        `steps` has for every row the kind of its reason, how often the row is there, and the uses of rules.
        """
        for fact in roots:
            if self.contents(fact[0]).get(fact[1], 0) <= 0:
                raise FalseStepError(f"{fact} is proved, and not there")
        for fact in _from_below(roots, steps):
            self._check_step(fact, *steps[fact])

    def _check_step(self, fact: Fact, kind: str, count: int, derivations: Sequence[RuleBody]) -> None:
        relation, row = fact
        schema = self.relations[relation]
        there = self.contents(relation).get(row, 0)
        # In a recursion, a proof may go through a min or max that a better one has replaced since.
        if relation not in self._improving and there != count:
            raise FalseStepError(f"{fact} is there {there} times, not {count} times")
        if kind == "base":
            if relation in self._rules or derivations or there <= 0:
                raise FalseStepError(f"{fact} is no base row")
            return
        for rule, _ in derivations:
            if all(rule is not known for known in self._rules.get(relation, ())):
                raise FalseStepError(f"{fact} is proved by a rule of another relation")
        if len({(id(rule), body) for rule, body in derivations}) < len(derivations):
            raise FalseStepError(f"{fact} has the same derivation twice")
        uses = [_Use(self, rule, body) for rule, body in derivations]
        match kind:
            case "rule":
                if len(uses) != 1 or uses[0].rule.sign < 0 or uses[0].head() != row:
                    raise FalseStepError(f"{fact} does not follow from its step")
            case "sum":
                if any(use.head() != row for use in uses):
                    raise FalseStepError(f"{fact} does not follow from its steps")
                total = sum(use.weight() for use in uses)
                if (total <= 0 < there) if schema.distinct else (total != there):
                    raise FalseStepError(f"{fact} is there {there} times, and its steps give {total}")
            case "aggregate":
                self._check_aggregate(fact, schema, uses)
            case _:
                raise FalseStepError(f"{fact} has no proof")

    def _check_aggregate(self, fact: Fact, schema: Relation, uses: Sequence[_Use]) -> None:
        row = fact[1]
        first = self._rules[fact[0]][0]
        for use in uses:
            plain = use.head()
            if any(plain[at] != row[at] for at in range(len(row)) if at not in first.aggregates):
                raise FalseStepError(f"{fact} has a member of another group")
        if not uses and len(first.aggregates) < len(first.head.terms):
            raise FalseStepError(f"{fact} has no members")
        functions = [term.function for term in first.head.terms if isinstance(term, Aggregate)]
        for position in first.aggregates:
            values = [(use.argument(position, self._argument_type(fact[0], position)), use.weight()) for use in uses]
            aggregate = first.head.terms[position]
            assert isinstance(aggregate, Aggregate)
            if all(name in ("min", "max") for name in functions) and not any(weight < 0 for _, weight in values):
                # Some member must have the value. That none is better is what being in the view means.
                found = [value for value, _ in values]
                if row[position] not in found and (uses or row[position] is not None):
                    raise FalseStepError(f"{fact} has no member with the value {row[position]!r}")
                continue
            given = self._argument_type(fact[0], position)
            kind = aggregate_type(aggregate.function, given, None)
            result = (
                count_rows(weight for _, weight in values)
                if given is None
                else fold(aggregate.function, aggregate.distinct, values, kind)
            )
            if _converted(result, kind, schema.columns[position].type) != row[position]:
                raise FalseStepError(f"the members of {fact} give {result!r}")

    def _argument_type(self, relation: str, position: int) -> Type | None:
        """The type in which the arguments of all rules meet."""
        given = []
        for rule in self._rules[relation]:
            term = rule.head.terms[position]
            assert isinstance(term, Aggregate)
            if term.argument is not None:
                given.append(infer(term.argument, self.types(rule), self._signatures).type)
        return common_type(given) if given else None

    def types(self, rule: Rule) -> Mapping[str, Typed]:
        return body_types(order_body(rule), self.relations, self._signatures)

    def value(self, term: Term, types: Mapping[str, Typed], values: Mapping[str, Value]) -> tuple[Value, Type]:
        evaluate = compile_term(term, types, self._signatures, self._python)
        return evaluate(values), infer(term, types, self._signatures).type


class _Use:
    """One use of a rule, whose every literal holds, or it is not made."""

    def __init__(self, checker: Checker, rule: Rule, body: tuple[Row, ...]) -> None:
        self.rule = rule
        self._checker = checker
        self._types = checker.types(rule)
        self._values: dict[str, Value] = {}
        self._body = body
        atoms = [literal for literal in rule.body if isinstance(literal, Atom)]
        if len(atoms) != len(body):
            raise FalseStepError(
                f"a rule of {rule.head.relation} has {len(atoms)} atoms, and {len(body)} rows are given"
            )
        self._atoms = atoms
        computed = [each for atom, row in zip(atoms, body, strict=True) for each in self._match(atom, row)]
        compared = self._define()
        for term, value in computed:
            if not self._is_same(term, value):
                self._fail(f"{value!r} is another value than its rule computes")
        for condition in compared:
            if checker.value(condition, self._types, self._values)[0] is not True:
                self._fail("a condition is not true")
        for literal in rule.body:
            if isinstance(literal, Negation):
                self._check_absent(literal.atom)

    def head(self) -> Row:
        """The row it gives; None for aggregates."""
        columns = self._checker.relations[self.rule.head.relation].columns
        return tuple(
            None
            if isinstance(term, Aggregate)
            else _converted(*self._checker.value(term, self._types, self._values), column.type)
            for term, column in zip(self.rule.head.terms, columns, strict=True)
        )

    def argument(self, position: int, kind: Type | None) -> Value:
        term = self.rule.head.terms[position]
        assert isinstance(term, Aggregate)
        if term.argument is None or kind is None:
            return None
        return _converted(*self._checker.value(term.argument, self._types, self._values), kind)

    def weight(self) -> int:
        weight = self.rule.sign
        for atom, row in zip(self._atoms, self._body, strict=True):
            if not self._checker.relations[atom.relation].distinct:
                weight *= self._checker.contents(atom.relation).get(row, 0)
        return weight

    def _match(self, atom: Atom, row: Row) -> Iterator[tuple[Term, tuple[Value, Type]]]:
        """Give variables their values, and return what is compared once all have one."""
        columns = self._checker.relations[atom.relation].columns
        if len(row) != len(columns):
            self._fail(f"{row} is no row of {atom.relation}")
        for term, value, column in zip(atom.terms, row, columns, strict=True):
            if isinstance(term, Wildcard):
                continue
            if isinstance(term, Variable) and term.name not in self._values:
                self._values[term.name] = _converted(value, column.type, self._types[term.name].type)
            else:
                yield term, (value, column.type)

    def _define(self) -> list[Term]:
        """Give values to what an `=` defines, and return the conditions that are left."""
        waiting = [literal for literal in self.rule.body if isinstance(literal, Comparison | Condition)]
        compared: list[Term] = []
        while waiting:
            left: list[Comparison | Condition] = []
            for literal in waiting:
                term = condition_term(literal)
                missing = {variable.name for variable in variables(term)} - self._values.keys()
                definition = _definition(literal, missing)
                if not missing:
                    compared.append(term)
                elif definition is not None:
                    name, value = definition
                    found, kind = self._checker.value(value, self._types, self._values)
                    self._values[name] = _converted(found, kind, self._types[name].type)
                else:
                    left.append(literal)
            if len(left) == len(waiting):
                self._fail("a variable has no value")
            waiting = left
        return compared

    def _is_same(self, term: Term, value: tuple[Value, Type]) -> bool:
        """Values in atoms are compared as they are, NULL with NULL, in a type that holds both."""
        found, kind = self._checker.value(term, self._types, self._values)
        meeting = common_type([kind, value[1]]) or kind
        return _converted(found, kind, meeting) == _converted(*value, meeting)

    def _check_absent(self, atom: Atom) -> None:
        columns = self._checker.relations[atom.relation].columns
        for row, count in self._checker.contents(atom.relation).items():
            if count > 0 and all(
                isinstance(term, Wildcard) or self._is_same(term, (value, column.type))
                for term, value, column in zip(atom.terms, row, columns, strict=True)
            ):
                self._fail(f"{atom.relation}{row} is there, and the rule negates it")

    def _fail(self, why: str) -> None:
        raise FalseStepError(f"a use of a rule for {self.rule.head.relation} does not hold: {why}", span=self.rule.span)


def _definition(literal: Comparison | Condition, missing: set[str]) -> tuple[str, Term] | None:
    if not isinstance(literal, Comparison) or literal.op != "=" or len(missing) != 1:
        return None
    for one, other in ((literal.left, literal.right), (literal.right, literal.left)):
        if isinstance(one, Variable) and one.name in missing and all(v.name not in missing for v in variables(other)):
            return one.name, other
    return None


def _converted(value: Value, source: Type, target: Type) -> Value:
    return value if value is None or source in (target, NULL) else convert(value, source, target)


def _from_below(roots: Sequence[Fact], steps: Mapping[Fact, tuple[str, int, Sequence[RuleBody]]]) -> Iterator[Fact]:
    """All rows of a proof, each after those it rests on; raises where one rests on itself."""
    state: dict[Fact, bool] = {}
    for root in roots:
        path = [(root, _rests_on(root, steps))] if root not in state else []
        while path:
            here, needs = path[-1]
            if here not in state:
                state[here] = False
            for need in needs:
                if state.get(need) is False:
                    raise FalseStepError(f"{need} is proved by itself")
                if need not in state:
                    path.append((need, _rests_on(need, steps)))
                    break
            else:
                path.pop()
                state[here] = True
                yield here


def _rests_on(fact: Fact, steps: Mapping[Fact, tuple[str, int, Sequence[RuleBody]]]) -> Iterator[Fact]:
    if fact not in steps:
        raise FalseStepError(f"{fact} has no step")
    for rule, body in steps[fact][2]:
        relations = [literal.relation for literal in rule.body if isinstance(literal, Atom)]
        yield from zip(relations, body, strict=False)
