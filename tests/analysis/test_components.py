from __future__ import annotations

from whence.analysis.analyze import analyze
from whence.analysis.components import Component
from whence.lang.datalog.parse import parse_datalog

LINK = ".decl link(src: STRING, dst: STRING, cost: INT)\n"


def component(rules: str, relation: str) -> Component:
    parts = analyze(parse_datalog(LINK + rules)).components
    return next(part for part in parts if relation in part.relations)


def test_a_base_table_is_a_component_without_rules() -> None:
    link = component("", "link")
    assert link == Component(("link",), (), recursive=False, linear=True, monotone=True, aggregated=frozenset())


def test_linear_recursion() -> None:
    part = component("r(x, y) :- link(x, y, _). r(x, y) :- link(x, z, _), r(z, y).", "r")
    assert (part.recursive, part.linear, part.monotone, part.reasons) == (True, True, True, ())


def test_recursion_that_uses_itself_twice_is_not_linear() -> None:
    part = component("r(x, y) :- link(x, y, _). r(x, y) :- r(x, z), r(z, y).", "r")
    assert part.recursive
    assert not part.linear
    assert part.reasons == ("a rule for 'r' joins 'r' and 'r'",)


def test_mutual_recursion_is_one_component() -> None:
    rules = (
        "odd(x, y) :- link(x, y, _). odd(x, y) :- even(x, z), link(z, y, _). even(x, y) :- odd(x, z), link(z, y, _)."
    )
    part = component(rules, "odd")
    assert part.relations == ("odd", "even")
    assert len(part.rules) == 3
    assert part.recursive
    assert part.linear


def test_joining_another_component_twice_is_linear() -> None:
    rules = "r(x, y) :- link(x, y, _). r(x, y) :- r(x, z), link(z, w, _), link(w, y, _). s(x) :- r(x, y), r(y, x)."
    assert component(rules, "r").linear
    assert component(rules, "s").linear


def test_what_keeps_a_component_from_being_monotone() -> None:
    assert component("p(x) :- link(x, _, _), !link(_, x, _).", "p").reasons == ("'p' negates 'link'",)
    assert component("p(x) :- link(x, _, _). -p(x) :- link(_, x, _).", "p").reasons == (
        "a rule takes rows away from 'p'",
    )
    counted = component("p(x, count<y>) :- link(x, y, _).", "p")
    assert (counted.monotone, counted.reasons) == (False, ("'p' has count",))
    assert counted.aggregated == {"p"}


def test_min_and_max_only_improve() -> None:
    part = component("p(x, min<c>, max<c>) :- link(x, _, c).", "p")
    assert part.monotone
    assert part.aggregated == {"p"}
