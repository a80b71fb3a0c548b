"""The plans of `incremental/` in words."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from whence.explain.routes import Route, condition_text, equalities, literal_names
from whence.incremental.body import Body
from whence.incremental.delta import relation_of
from whence.incremental.plan import Compute, Filter, Flip, Missing, Pattern, Plan, Probe
from whence.incremental.planner import make_plan
from whence.lang.datalog.write_terms import term_text
from whence.model.rules import Negation, Rule
from whence.model.schema import Relation
from whence.model.terms import Term, Variable

# A plan's own name for a column of a literal, as text shows it.
_COLUMN = re.compile(r"`#(\d+)\.(\d+)`")


class PlannedRule:
    """A rule's routes, as it would be planned now."""

    def __init__(self, body: Body, relations: Mapping[str, Relation], size: Callable[[str], int]) -> None:
        self._body = body
        self._rule: Rule = body.rule
        self._relations = relations
        self._size = size
        self._names = literal_names(self._rule)

    def forwards(self) -> list[Route]:
        """One route for each literal that can change."""
        routes = []
        for number, literal in enumerate(self._rule.body):
            if relation_of(literal) is not None:
                plan = make_plan(self._body, self._size, number)
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
            if isinstance(term, Variable) and self._body.types[term.name].type == column.type
        )
        plan = make_plan(self._body, self._size, None, list(bound))
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
        return _COLUMN.sub(self._column, condition_text(term) if not isinstance(term, Variable) else term_text(term))

    def _column(self, found: re.Match[str]) -> str:
        literal, position = map(int, found.groups())
        relation = relation_of(self._rule.body[literal])
        assert relation is not None
        return f"{self._names[literal]}.{self._relations[relation].columns[position].name}"
