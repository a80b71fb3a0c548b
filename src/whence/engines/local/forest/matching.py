"""Matching a rule: a trigger tuple binds registers, then each further atom is probed through an index.

All that a match under way consists of lies in arrays, so that a kernel can stop in the middle, be given more room, and
go on.
"""

from __future__ import annotations

import numba as nb

from whence.engines.local.forest.layout import (
    ALIVE,
    ARITY,
    BIND,
    CANDIDATES,
    COLUMNS,
    EQUAL,
    GREATER,
    HEAD_RELATION,
    HEAD_TERMS,
    IGNORE,
    INDEX_LINK,
    INDEX_WIDTH,
    KEY,
    LESS,
    LESS_EQUAL,
    MATCHED,
    NOT_NULL,
    NOTHING,
    NULL_ID,
    PLAN_ATOM,
    PLAN_STEP,
    PLAN_STEPS,
    PLAN_TERMS,
    PLAN_TEST,
    PLAN_TESTS,
    REGISTER,
    REGISTERS,
    ROW,
    STATUS,
    STEP_ATOM,
    STEP_INDEX,
    STEP_TERMS,
    STEP_TEST,
    STEP_TESTS,
    TEST_LEFT,
    TEST_OPERATOR,
    TEST_RIGHT,
    UNEQUAL,
    USABLE,
    WIDEST,
    Array,
    Forest,
    Rules,
)
from whence.engines.local.forest.tuples import find_key

# Entries of a match: its plan, how many steps have a candidate, the trigger's node.
PLAN, DEPTH, TRIGGER = range(3)


@nb.njit(cache=True, inline="always")
def fits(node: Array, terms: Array, columns: int, registers: Array) -> bool:
    """Match a tuple's columns against terms, binding registers."""
    for column in range(columns):
        kind = terms[2 * column]
        if kind != IGNORE:
            argument = terms[2 * column + 1]
            value = node[COLUMNS + column]
            if kind == BIND:
                registers[argument] = value
            elif (registers[argument] if kind == REGISTER else argument) != value:
                return False
    return True


@nb.njit(cache=True)
def passes(tests: Array, first: int, count: int, numbers: Array, registers: Array) -> bool:
    """Whether all tests are true; nothing compared with NULL is."""
    for number in range(first, first + count):
        test = tests[number]
        left, right = test[TEST_LEFT + 1], test[TEST_RIGHT + 1]
        if test[TEST_LEFT] == REGISTER:
            left = registers[left]
        if test[TEST_RIGHT] == REGISTER:
            right = registers[right]
        operator = test[TEST_OPERATOR]
        if left == NULL_ID or right == NULL_ID:
            return False
        if operator == EQUAL:
            holds = left == right
        elif operator == UNEQUAL:
            holds = left != right
        elif operator == NOT_NULL:
            holds = True
        else:
            a, b = numbers[left], numbers[right]
            if operator == LESS:
                holds = a < b
            elif operator == LESS_EQUAL:
                holds = a <= b
            elif operator == GREATER:
                holds = a > b
            else:
                holds = a >= b
        if not holds:
            return False
    return True


@nb.njit(cache=True)
def probe(forest: Forest, rules: Rules, step: Array, depth: int, work: Array) -> None:
    """The first candidate for a step."""
    index = rules.indexes[step[STEP_INDEX]]
    keys = step[STEP_TERMS + 2 * rules.shape[WIDEST] :]
    key = work[KEY]
    for part in range(index[INDEX_WIDTH]):
        argument = keys[2 * part + 1]
        key[part] = work[REGISTERS, argument] if keys[2 * part] == REGISTER else argument
    state = forest.index_state[step[STEP_INDEX]]
    node, _ = find_key(forest.nodes, forest.index_slots, state, index, key)
    work[CANDIDATES, depth] = node


@nb.njit(cache=True)
def begin(forest: Forest, rules: Rules, plan: int, node: int, match: Array, work: Array) -> bool:
    """Bind a plan's trigger; False where it does not fit, and there is nothing to match."""
    the_plan = rules.plans[plan]
    if not fits(forest.nodes[node], the_plan[PLAN_TERMS:], rules.shape[WIDEST], work[REGISTERS]):
        return False
    if not passes(rules.tests, the_plan[PLAN_TEST], the_plan[PLAN_TESTS], rules.numbers, work[REGISTERS]):
        return False
    match[PLAN], match[DEPTH], match[TRIGGER] = plan, 0, node
    if the_plan[PLAN_ATOM] != NOTHING:
        work[MATCHED, the_plan[PLAN_ATOM]] = node
    if the_plan[PLAN_STEPS] > 0:
        probe(forest, rules, rules.steps[the_plan[PLAN_STEP]], 0, work)
    return True


@nb.njit(cache=True)
def advance(forest: Forest, rules: Rules, match: Array, work: Array) -> bool:
    """Go on to the next match; False when there is none left. The first call finds the first match."""
    plan = rules.plans[match[PLAN]]
    steps = plan[PLAN_STEPS]
    depth = match[DEPTH]
    if steps == 0:
        # The trigger alone is the match, once.
        match[DEPTH] = 1
        return depth == 0
    if depth == steps:
        depth -= 1
    nodes, columns, trigger_atom = forest.nodes, rules.shape[WIDEST], plan[PLAN_ATOM]
    while depth >= 0:
        candidate = work[CANDIDATES, depth]
        if candidate == NOTHING:
            depth -= 1
            continue
        step = rules.steps[plan[PLAN_STEP] + depth]
        node = nodes[candidate]
        work[CANDIDATES, depth] = node[rules.indexes[step[STEP_INDEX], INDEX_LINK]]
        atom = step[STEP_ATOM]
        # A tuple that stands twice in a body triggers the match once, from the first of its places.
        if node[STATUS] & USABLE != ALIVE or (candidate == match[TRIGGER] and atom < trigger_atom):
            continue
        if not fits(node, step[STEP_TERMS:], columns, work[REGISTERS]):
            continue
        if step[STEP_TESTS] and not passes(
            rules.tests, step[STEP_TEST], step[STEP_TESTS], rules.numbers, work[REGISTERS]
        ):
            continue
        work[MATCHED, atom] = candidate
        depth += 1
        if depth == steps:
            match[DEPTH] = depth
            return True
        probe(forest, rules, rules.steps[plan[PLAN_STEP] + depth], depth, work)
    match[DEPTH] = 0
    return False


@nb.njit(cache=True, inline="always")
def make_head(rules: Rules, rule: int, work: Array) -> int:
    """The head's columns for the current match, in the working memory; returns its relation."""
    head = rules.heads[rule]
    relation = head[HEAD_RELATION]
    for column in range(rules.relations[relation, ARITY]):
        argument = head[HEAD_TERMS + 2 * column + 1]
        is_register = head[HEAD_TERMS + 2 * column] == REGISTER
        work[ROW, column] = work[REGISTERS, argument] if is_register else argument
    return relation
