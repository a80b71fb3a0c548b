"""Plans in words: routes through a rule's body, and what is looked up on each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from whence.analysis.components import Component
from whence.analysis.typed_rules import TypedRule
from whence.analysis.typing import condition_term
from whence.engines.local.forest import layout
from whence.engines.local.forest.program import Compiled, compile_component
from whence.engines.local.forest.values import Interner
from whence.incremental.plan import Compute, Filter, Flip, Missing, Pattern, Plan, Probe, relation_of
from whence.incremental.planner import make_plan
from whence.lang.datalog.write import term_text
from whence.model.program import Functions
from whence.model.rules import Atom, Comparison, Condition, Literal, Negation, Rule, literal_terms
from whence.model.schema import Relation
from whence.model.terms import Term, Variable, Wildcard, variable_names
from whence.planning.statistics import Statistics


@dataclass(slots=True)
class Route:
    """`lookups` are the columns that rows are looked up by, as (relation, columns): each takes an index."""

    start: str
    steps: list[str] = field(default_factory=list)
    lookups: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)

    def look_up(self, name: str, relation: Relation, keys: Mapping[int, str]) -> None:
        """The next step: the rows of a relation that hold these values at the positions, or all of them."""
        if not keys:
            self.steps.append(f"go through {name}")
            return
        columns = tuple(relation.columns[position].name for position in keys)
        self.steps.append(f"look up {name} by {equalities(columns, tuple(keys.values()))}")
        self.lookups.append((relation.name, columns))

    def lines(self) -> Iterator[str]:
        yield self.start + ("" if self.steps else ": nothing more to do")
        yield from (f"  {step}" for step in self.steps)


def equalities(columns: tuple[str, ...], values: tuple[str, ...]) -> str:
    """`src and dst = z`: a column alone is like a variable of its own name."""
    pairs = zip(columns, values, strict=True)
    return " and ".join(column if column == value else f"{column} = {value}" for column, value in pairs)


def literal_names(rule: Rule) -> list[str]:
    """What to call each literal of a body: by its relation, and by a number where that stands there twice."""
    relations = [relation_of(literal) or "" for literal in rule.body]
    uses, seen = Counter(relations), Counter[str]()
    names = []
    for relation in relations:
        seen[relation] += 1
        names.append(f"{relation} ({seen[relation]})" if uses[relation] > 1 else relation)
    return names


# A plan's own name for a column of a literal, as text shows it.
_COLUMN = re.compile(r"`#(\d+)\.(\d+)`")


class RoutedRule:
    """A rule's routes, as it would be planned now."""

    def __init__(self, typed: TypedRule, statistics: Statistics) -> None:
        self._typed = typed
        self._rule: Rule = typed.rule
        self._relations = typed.relations
        self._statistics = statistics
        self._names = literal_names(self._rule)

    def forwards(self) -> list[Route]:
        """One route for each literal that can change."""
        routes = []
        for number, literal in enumerate(self._rule.body):
            if relation_of(literal) is not None:
                plan = make_plan(self._typed, self._statistics, number)
                name = self._names[number]
                start = f"when {name} changes"
                if isinstance(literal, Negation):
                    start = f"when the first {name} that fits comes, or the last one goes"
                routes.append(self._route(start, plan, skip=1))
        return routes

    def backwards(self) -> Route:
        """From the head's values to the bodies that give them."""
        columns = self._relations[self._rule.head.relation].columns
        bound = dict.fromkeys(
            term.name
            for term, column in zip(self._rule.head.terms, columns, strict=True)
            if isinstance(term, Variable) and self._typed.types[term.name].type == column.type
        )
        plan = make_plan(self._typed, self._statistics, None, list(bound))
        return self._route(f"to derive {self._rule.head.relation} again", plan, skip=0)

    def _route(self, start: str, plan: Plan, skip: int) -> Route:
        route = Route(start)
        for step in plan.steps[skip:]:
            match step:
                case Probe(literal=literal, relation=relation, positions=positions, keys=keys):
                    values = [self._text(key) for key in keys]
                    found = dict(zip(positions, values, strict=True))
                    route.look_up(self._names[literal], self._relations[relation], found)
                case Missing(literal=literal, pattern=pattern, keys=keys):
                    route.steps.append(f"keep if {self._names[literal]} has none{self._with(pattern, keys, route)}")
                case Compute(term=term):
                    route.steps.append(f"compute {self._text(term)}")
                case Filter(condition=condition):
                    route.steps.append(f"keep if {self._text(condition)}")
                case Flip():
                    raise AssertionError("only ever the first step")
        return route

    def _with(self, pattern: Pattern, keys: tuple[Term, ...], route: Route) -> str:
        columns = self._relations[pattern.relation].columns
        as_stored = tuple(columns[position].name for position in pattern.positions)
        widened = tuple(columns[position].name for position, _ in pattern.widened)
        if as_stored:
            route.lookups.append((pattern.relation, as_stored))
        return f" with {equalities(as_stored + widened, tuple(map(self._text, keys)))}" if keys else ""

    def _text(self, term: Term) -> str:
        return _COLUMN.sub(self._column, term_text(term) if isinstance(term, Variable) else term_text(term, 0))

    def _column(self, found: re.Match[str]) -> str:
        literal, position = map(int, found.groups())
        relation = relation_of(self._rule.body[literal])
        assert relation is not None
        return f"{self._names[literal]}.{self._relations[relation].columns[position].name}"


def compiled_routes(
    component: Component,
    relations: Mapping[str, Relation],
    functions: Functions,
    statistics: Statistics,
    *,
    keep_spares: bool,
) -> dict[int, list[Route]]:
    """The routes of each rule, by its place in the component."""
    compiled = compile_component(component, relations, functions, Interner(), statistics, keep_spares=keep_spares)
    reader = _Tables(compiled, relations)
    found: dict[int, list[Route]] = {number: [] for number in range(len(component.rules))}
    triggers = compiled.rules.plans[:, layout.PLAN_ATOM]
    # In the order of the text, and backwards last.
    for plan in sorted(range(len(triggers)), key=lambda at: (triggers[at] == layout.NOTHING, triggers[at])):
        number = int(compiled.rules.plans[plan, layout.PLAN_RULE])
        if compiled.lengths[number] or triggers[plan] != 0:
            # Only rules without atoms begin from nothing, and nothing changes there.
            found[number].append(reader.route(plan, component.rules[number], number))
    return found


class _Tables:
    def __init__(self, compiled: Compiled, relations: Mapping[str, Relation]) -> None:
        self._compiled = compiled
        self._rules = compiled.rules
        self._relations = relations

    def route(self, plan: int, rule: Rule, number: int) -> Route:
        """A plan of the rule with this number."""
        atoms = [at for at, literal in enumerate(rule.body) if isinstance(literal, Atom)]
        absences = [at for at, literal in enumerate(rule.body) if isinstance(literal, Negation)]
        first_absence = int(self._rules.heads[number, layout.BODY_LENGTH]) - len(absences)
        names = literal_names(rule)
        trigger = int(self._rules.plans[plan, layout.PLAN_ATOM])
        waiting = {at: literal for at, literal in enumerate(rule.body) if at not in atoms}
        if trigger == layout.NOTHING:
            route = Route(f"to derive {rule.head.relation} again")
            bound = variable_names(rule.head.terms)
        elif trigger >= first_absence:
            literal = absences[trigger - first_absence]
            route = Route(f"when the first {names[literal]} that fits comes, or the last one goes")
            bound = variable_names(literal_terms(waiting.pop(literal)))
        else:
            route = Route(f"when {names[atoms[trigger]]} changes")
            bound = variable_names(literal_terms(rule.body[atoms[trigger]]))
        self._keep(route, waiting, bound, names)
        first = int(self._rules.plans[plan, layout.PLAN_STEP])
        for step in range(first, first + int(self._rules.plans[plan, layout.PLAN_STEPS])):
            if self._rules.steps[step, layout.STEP_FUNCTION] != layout.NOTHING or not atoms:
                continue
            literal = atoms[int(self._rules.steps[step, layout.STEP_ATOM])]
            atom = rule.body[literal]
            assert isinstance(atom, Atom)
            positions = self._positions(int(self._rules.steps[step, layout.STEP_INDEX]), atom.relation)
            keys = {position: term_text(atom.terms[position]) for position in positions}
            route.look_up(names[literal], self._relations[atom.relation], keys)
            bound |= variable_names(atom.terms)
            self._keep(route, waiting, bound, names)
        return route

    def _positions(self, index: int, relation: str) -> list[int]:
        """The columns of a relation that an index is on. A cost is no column there."""
        width = int(self._rules.indexes[index, layout.INDEX_WIDTH])
        columns = self._rules.indexes[index, layout.INDEX_COLUMNS : layout.INDEX_COLUMNS + width]
        return [self._compiled.positions[relation][int(column)] for column in columns]

    def _keep(self, route: Route, waiting: dict[int, Literal], bound: set[str], names: Sequence[str]) -> None:
        """Conditions are tested as soon as their variables have values, and after them absences."""
        ready = [at for at, literal in waiting.items() if variable_names(literal_terms(literal)) <= bound]
        for at in sorted(ready, key=lambda at: isinstance(waiting[at], Negation)):
            literal = waiting.pop(at)
            match literal:
                case Negation(atom=Atom(relation=relation, terms=terms)):
                    named = zip(self._relations[relation].columns, terms, strict=True)
                    asked = {column.name: term_text(term) for column, term in named if not isinstance(term, Wildcard)}
                    key = f" with {equalities(tuple(asked), tuple(asked.values()))}" if asked else ""
                    route.steps.append(f"keep if {names[at]} has none{key}")
                case Comparison() | Condition():
                    route.steps.append(f"keep if {term_text(condition_term(literal), 0)}")
