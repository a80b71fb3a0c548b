"""The plans of a compiled forest in words, read from the tables that its kernels run on."""

from __future__ import annotations

from collections.abc import Mapping

from whence.analysis.components import Component
from whence.analysis.safety import literal_variables
from whence.analysis.typing import condition_term
from whence.engines.engine import Functions
from whence.engines.local.forest import layout
from whence.engines.local.forest.compiling import Compiled, compile_component
from whence.engines.local.forest.interning import Interner
from whence.explain.routes import Route, condition_text, literal_names
from whence.lang.datalog.write_terms import term_text
from whence.model.rules import Atom, Comparison, Condition, Rule
from whence.model.schema import Relation
from whence.model.terms import variables


def compiled_routes(
    component: Component, relations: Mapping[str, Relation], functions: Functions, *, keep_spares: bool
) -> dict[int, list[Route]]:
    """The routes of each rule, by its place in the component."""
    compiled = compile_component(component, relations, functions, Interner(), keep_spares=keep_spares)
    reader = _Tables(compiled, component, relations)
    found: dict[int, list[Route]] = {number: [] for number in range(len(component.rules))}
    triggers = compiled.rules.plans[:, layout.PLAN_ATOM]
    # In the order of the text, and backwards last.
    for plan in sorted(range(len(triggers)), key=lambda at: (triggers[at] == layout.NOTHING, triggers[at])):
        number = int(compiled.rules.plans[plan, layout.PLAN_RULE])
        found[number].append(reader.route(plan, component.rules[number]))
    return found


class _Tables:
    def __init__(self, compiled: Compiled, component: Component, relations: Mapping[str, Relation]) -> None:
        self._compiled = compiled
        self._rules = compiled.rules
        self._component = component
        self._relations = relations

    def route(self, plan: int, rule: Rule) -> Route:
        atoms = [at for at, literal in enumerate(rule.body) if isinstance(literal, Atom)]
        names = literal_names(rule)
        trigger = int(self._rules.plans[plan, layout.PLAN_ATOM])
        waiting = [literal for literal in rule.body if isinstance(literal, Comparison | Condition)]
        if trigger == layout.NOTHING:
            route = Route(f"to derive {rule.head.relation} again")
            bound = {variable.name for term in rule.head.terms for variable in variables(term)}
        else:
            route = Route(f"when {names[atoms[trigger]]} changes")
            bound = {variable.name for variable in literal_variables(rule.body[atoms[trigger]])}
        self._keep(route, waiting, bound)
        first = int(self._rules.plans[plan, layout.PLAN_STEP])
        for step in range(first, first + int(self._rules.plans[plan, layout.PLAN_STEPS])):
            if self._rules.steps[step, layout.STEP_FUNCTION] != layout.NOTHING:
                continue
            literal = atoms[int(self._rules.steps[step, layout.STEP_ATOM])]
            atom = rule.body[literal]
            assert isinstance(atom, Atom)
            positions = self._positions(int(self._rules.steps[step, layout.STEP_INDEX]), atom.relation)
            keys = {position: term_text(atom.terms[position]) for position in positions}
            route.look_up(names[literal], self._relations[atom.relation], keys)
            bound |= {variable.name for variable in literal_variables(atom)}
            self._keep(route, waiting, bound)
        return route

    def _positions(self, index: int, relation: str) -> list[int]:
        """The columns of a relation that an index is on. A cost is no column there."""
        width = int(self._rules.indexes[index, layout.INDEX_WIDTH])
        columns = self._rules.indexes[index, layout.INDEX_COLUMNS : layout.INDEX_COLUMNS + width]
        return [self._compiled.positions[relation][int(column)] for column in columns]

    def _keep(self, route: Route, waiting: list[Comparison | Condition], bound: set[str]) -> None:
        """Conditions are tested as soon as their variables have values."""
        for literal in list(waiting):
            if all(variable.name in bound for variable in literal_variables(literal)):
                route.steps.append(f"keep if {condition_text(condition_term(literal))}")
                waiting.remove(literal)
