"""Folds and unfolds of random unions give what the query gives, over random rows with positive and negative counts."""

from __future__ import annotations

from collections import Counter
from itertools import product
from random import Random

import pytest

from whence.model.rules import Atom, Comparison, Literal
from whence.model.terms import Constant, Term, Variable
from whence.model.types import INT
from whence.rewriting.conjunction import conjunction
from whence.rewriting.fold import ViewFolds, folds
from whence.rewriting.search import SearchLimits, cheapest_plan
from whence.rewriting.signed_union import NOTHING, SignedUnion, one
from whence.rewriting.states import after, change
from whence.rewriting.telescope import telescoped
from whence.rewriting.unfold import unfold

ARITY = {"r": 2, "s": 1, "t": 2}
VALUES = (1, 2, 3)
Rows = dict[str, dict[tuple[int, ...], int]]


def value(term: Term, binding: dict[str, int]) -> int:
    if isinstance(term, Variable):
        return binding[term.name]
    assert isinstance(term, Constant) and isinstance(term.value, int)
    return term.value


def evaluated(query: SignedUnion, rows: Rows) -> dict[tuple[int, ...], int]:
    """By trying every value for every variable."""
    total: Counter[tuple[int, ...]] = Counter()
    for each, times in query:
        names = sorted({term.name for atom in each.atoms for term in atom.terms if isinstance(term, Variable)})
        for values in product(VALUES, repeat=len(names)):
            binding = dict(zip(names, values, strict=True))
            count = times
            for literal in each.body:
                if isinstance(literal, Atom):
                    count *= rows[literal.relation].get(tuple(value(term, binding) for term in literal.terms), 0)
                else:
                    assert isinstance(literal, Comparison) and literal.op == "<"
                    count *= value(literal.left, binding) < value(literal.right, binding)
            total[tuple(value(term, binding) for term in each.head)] += count
    return {row: count for row, count in total.items() if count}


def random_union(random: Random, arity: int, most: int) -> SignedUnion:
    total = NOTHING
    for _ in range(random.randint(1, most)):
        names = [Variable(name) for name in "xyz"[: random.randint(1, 3)]]
        body: list[Literal] = []
        for _ in range(random.randint(1, 3)):
            relation = random.choice("rst")
            body.append(Atom(relation, tuple(random_term(random, names) for _ in range(ARITY[relation]))))
        bound = [term for atom in body if isinstance(atom, Atom) for term in atom.terms if isinstance(term, Variable)]
        if not bound:
            continue
        if random.random() < 0.2:
            body.append(Comparison("<", random.choice(bound), Constant(random.choice(VALUES), INT)))
        head = tuple(random.choice(bound) for _ in range(arity))
        total += one(conjunction(head, body), random.choice((1, 1, 1, -1)))
    return total


def random_term(random: Random, names: list[Variable]) -> Term:
    return Constant(random.choice(VALUES), INT) if random.random() < 0.15 else random.choice(names)


@pytest.mark.parametrize("seed", range(10))
def test_folds_mean_the_same(seed: int) -> None:
    random = Random(seed)
    for _ in range(10):
        view = random_union(random, 2, 3)
        query = random_union(random, 1, 2)
        # Something of the view is in the query, so that there is something to be folded.
        query += unfold(one(conjunction((Variable("x"),), [Atom("v", (Variable("x"), Variable("y")))])), {"v": view})
        rows: Rows = {
            name: {row: random.choice((1, 1, 2, -1)) for row in product(VALUES, repeat=arity) if random.random() < 0.5}
            for name, arity in ARITY.items()
        }
        rows["v"] = evaluated(view, rows)
        expected = evaluated(query, rows)
        for folded in folds(query, "v", view):
            assert evaluated(folded, rows) == expected
            assert unfold(folded, {"v": view}) == query


@pytest.mark.parametrize("seed", range(90))
def test_whatever_plan_is_found_means_the_same(seed: int) -> None:
    """20 searches each, over two views and relations that change, with costs that say nothing."""
    random = Random(seed)
    for _ in range(20):
        first, second = random_union(random, 2, 3), random_union(random, 2, 2)
        query = _over_changed(random_union(random, 1, 2), random)
        query += unfold(one(conjunction((Variable("x"),), [Atom("v", (Variable("x"), Variable("y")))])), {"v": first})
        rows: Rows = {
            name: {row: random.choice((1, 2)) for row in product(VALUES, repeat=arity) if random.random() < 0.4}
            for name, arity in ARITY.items()
        }
        for name, arity in ARITY.items():
            row = tuple(random.choice(VALUES) for _ in range(arity))
            rows[change(name)] = {row: random.choice((-1, 1))}
            rows[after(name)] = {
                each: rows[name].get(each, 0) + rows[change(name)].get(each, 0)
                for each in {*rows[name], *rows[change(name)]}
            }
        rows["v"], rows["w"] = evaluated(first, rows), evaluated(second, rows)
        changed = {after(name): name for name in ARITY}
        costs: dict[SignedUnion, float] = {}
        limits = SearchLimits(per_step=3, per_view=2, queue=6)
        views = ViewFolds()
        views.add("v", first)
        views.add("w", second)
        found = cheapest_plan(
            query,
            [telescoped(query, changed)],
            views,
            lambda plan: costs.setdefault(plan, random.random()),  # noqa: B023 - used at once
            limits=limits,
        )
        assert evaluated(found.plan, rows) == evaluated(query, rows)


def _over_changed(query: SignedUnion, random: Random) -> SignedUnion:
    """The same over what some of the tables will be."""
    total = NOTHING
    for each, times in query:
        body = [
            Atom(after(literal.relation), literal.terms)
            if isinstance(literal, Atom) and random.random() < 0.5
            else literal
            for literal in each.body
        ]
        total += one(conjunction(each.head, body), times)
    return total
