"""Matching a rule: a trigger tuple binds registers, then each further atom is probed through an index.

All that a match under way consists of lies in arrays, so that a kernel can stop in the middle, be given more room, and
go on.
"""

from __future__ import annotations

import numpy as np

from whence.columns.compiled import called, inlined
from whence.engines.local.forest.layout import (
    ABSENCE_TEST,
    ABSENCES,
    ABSENT,
    ADD,
    ALIVE,
    ARITY,
    BIND,
    BODY_LENGTH,
    CANDIDATES,
    COLUMNS,
    DEPTH,
    EQUAL,
    GONE,
    GREATER,
    HEAD_RELATION,
    HEAD_TERMS,
    IGNORE,
    IN_RANGE,
    INDEX_LINK,
    INDEX_WIDTH,
    KEY,
    LESS,
    LESS_EQUAL,
    LONGEST,
    MATCH_REGISTERS,
    MATCHED,
    MISSING,
    NOT_NULL,
    NOTHING,
    NULL_ID,
    OVERFLOWN,
    PLAN,
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
    STEP_FUNCTION,
    STEP_INDEX,
    STEP_TERMS,
    STEP_TEST,
    STEP_TESTS,
    SUBTRACT,
    SUM,
    TEST_LEFT,
    TEST_OPERATOR,
    TEST_RIGHT,
    TRIGGER,
    UNEQUAL,
    USABLE,
    WIDEST,
    Array,
    ForestArrays,
    RuleTables,
)
from whence.engines.local.forest.tuples import find, find_key, find_or_add, note


@inlined
def fits(nodes: Array, node: int, table: Array, at: int, terms: int, columns: int, work: Array) -> bool:
    """Match a tuple's columns against the terms in row `at` of a table, from field `terms` on, binding registers."""
    for column in range(columns):
        kind = table[at, terms + 2 * column]
        if kind != IGNORE:
            argument = table[at, terms + 2 * column + 1]
            value = nodes[node, COLUMNS + column]
            if kind == BIND:
                work[REGISTERS, argument] = value
            elif (work[REGISTERS, argument] if kind == REGISTER else argument) != value:
                return False
    return True


@inlined
def compares(operator: int, left: int, tests: Array, first: int, count: int, numbers: Array, work: Array) -> bool:
    """Whether a number compares with the sum of the operands that stand in the tests from `first` on.

    A sum that is no INT compares with nothing, and is remembered.
    """
    total = np.int64(0)
    for at in range(first, first + count):
        argument = tests[at, TEST_LEFT + 1]
        value = numbers[work[REGISTERS, argument] if tests[at, TEST_LEFT] == REGISTER else argument]
        step = tests[at, TEST_OPERATOR]
        if step == ADD:
            total += value
        elif step == SUBTRACT:
            total -= value
        else:
            total *= value
        if total < -(2**31) or total >= 2**31:
            work[OVERFLOWN, 0] = 1
            return False
    if operator == IN_RANGE:
        return True
    if operator == EQUAL:
        return bool(left == total)
    if operator == UNEQUAL:
        return bool(left != total)
    if operator == LESS:
        return bool(left < total)
    if operator == LESS_EQUAL:
        return bool(left <= total)
    return bool(left > total if operator == GREATER else left >= total)


@inlined
def _make_key(tests: Array, test: int, work: Array) -> int:
    """The key whose absence is tested, in the working memory; returns how many columns it has."""
    count = tests[test, TEST_RIGHT + 1]
    for part in range(count):
        argument = tests[test + 1 + part, TEST_LEFT + 1]
        is_register = tests[test + 1 + part, TEST_LEFT] == REGISTER
        work[KEY, part] = work[REGISTERS, argument] if is_register else argument
    return count


@called
def is_absent(nodes: Array, slots: Array, tests: Array, test: int, work: Array) -> bool:
    """Whether no row has the key that is tested. An absence that waits to be joined itself finds the match then."""
    columns = _make_key(tests, test, work)
    node = find(nodes, slots, tests[test, TEST_LEFT + 1], work, KEY, 0, columns)
    return bool(node == NOTHING or nodes[node, STATUS] & USABLE == ALIVE)


@inlined
def passes(forest: ForestArrays, rules: RuleTables, first: int, count: int, work: Array) -> bool:
    """Whether all tests are true; nothing compared with NULL is."""
    tests, numbers = rules.tests, rules.numbers
    test = first - 1
    while test < first + count - 1:
        test += 1
        left, right = tests[test, TEST_LEFT + 1], tests[test, TEST_RIGHT + 1]
        if tests[test, TEST_LEFT] == REGISTER:
            left = work[REGISTERS, left]
        if tests[test, TEST_RIGHT] == REGISTER:
            right = work[REGISTERS, right]
        operator = tests[test, TEST_OPERATOR]
        if operator == ABSENT:
            if not is_absent(forest.nodes, forest.slots, tests, test, work):
                return False
            test += right
            continue
        if tests[test, TEST_RIGHT] == SUM:
            if left == NULL_ID or not compares(operator, numbers[left], tests, test + 1, right, numbers, work):
                return False
            test += right
            continue
        if left == NULL_ID or right == NULL_ID:
            return False
        if operator == EQUAL:
            holds = left == right
        elif operator == UNEQUAL:
            holds = left != right
        elif operator == NOT_NULL:
            holds = True
        elif operator == LESS:
            holds = numbers[left] < numbers[right]
        elif operator == LESS_EQUAL:
            holds = numbers[left] <= numbers[right]
        elif operator == GREATER:
            holds = numbers[left] > numbers[right]
        else:
            holds = numbers[left] >= numbers[right]
        if not holds:
            return False
    return True


@inlined
def probe(forest: ForestArrays, rules: RuleTables, step: int, depth: int, work: Array) -> None:
    """The first candidate for a step."""
    steps, indexes = rules.steps, rules.indexes
    index = steps[step, STEP_INDEX]
    keys = STEP_TERMS + 2 * rules.shape[WIDEST]
    for part in range(indexes[index, INDEX_WIDTH]):
        argument = steps[step, keys + 2 * part + 1]
        is_register = steps[step, keys + 2 * part] == REGISTER
        work[KEY, part] = work[REGISTERS, argument] if is_register else argument
    node, _ = find_key(forest.nodes, forest.index_slots, forest.index_state, indexes, index, work)
    work[CANDIDATES, depth] = MISSING if node == NOTHING and steps[step, STEP_FUNCTION] != NOTHING else node


@inlined
def begin(forest: ForestArrays, rules: RuleTables, plan: int, node: int, match: Array, work: Array) -> bool:
    """Bind a plan's trigger; False where it does not fit, and there is nothing to match."""
    plans = rules.plans
    if not fits(forest.nodes, node, plans, plan, PLAN_TERMS, rules.shape[WIDEST], work):
        return False
    count = plans[plan, PLAN_TESTS]
    if count and not passes(forest, rules, plans[plan, PLAN_TEST], count, work):
        return False
    match[PLAN], match[DEPTH], match[TRIGGER] = plan, 0, node
    if plans[plan, PLAN_ATOM] != NOTHING:
        work[MATCHED, plans[plan, PLAN_ATOM]] = node
    if plans[plan, PLAN_STEPS] > 0:
        probe(forest, rules, plans[plan, PLAN_STEP], 0, work)
    return True


@inlined
def advance(forest: ForestArrays, rules: RuleTables, match: Array, count: int, work: Array) -> bool:
    """Go on to the next match of the first `count` steps, or to the first one; False when there is none left.

    It stops as well where a function has no value yet. Then fewer steps are matched.
    """
    nodes, plans, steps, indexes = forest.nodes, rules.plans, rules.steps, rules.indexes
    plan = match[PLAN]
    depth = match[DEPTH]
    if count == 0:
        # The trigger alone is the match, once.
        match[DEPTH] = 1
        return depth == 0
    if depth == count:
        depth -= 1
    first_step, trigger_atom = plans[plan, PLAN_STEP], plans[plan, PLAN_ATOM]
    while depth >= 0:
        candidate = work[CANDIDATES, depth]
        if candidate < 0:
            if candidate == MISSING:
                work[CANDIDATES, depth] = NOTHING
                match[DEPTH] = depth
                return True
            depth -= 1
            continue
        step = first_step + depth
        work[CANDIDATES, depth] = nodes[candidate, indexes[steps[step, STEP_INDEX], INDEX_LINK]]
        atom = steps[step, STEP_ATOM]
        # A tuple that stands twice in a body triggers the match once, from the first of its places.
        if nodes[candidate, STATUS] & USABLE != ALIVE or (candidate == match[TRIGGER] and atom < trigger_atom):
            continue
        if not fits(nodes, candidate, steps, step, STEP_TERMS, rules.shape[WIDEST], work):
            continue
        number = steps[step, STEP_TESTS]
        if number and not passes(forest, rules, steps[step, STEP_TEST], number, work):
            continue
        work[MATCHED, atom] = candidate
        depth += 1
        if depth == count:
            match[DEPTH] = depth
            return True
        probe(forest, rules, first_step + depth, depth, work)
    match[DEPTH] = 0
    return False


@inlined
def postpone(match: Array, work: Array, waiting: Array, at: int) -> None:
    """Write an incomplete match down."""
    waiting[at, PLAN], waiting[at, DEPTH], waiting[at, TRIGGER] = match[PLAN], match[DEPTH], match[TRIGGER]
    memory = work.shape[1]
    for place in range(memory):
        waiting[at, MATCH_REGISTERS + place] = work[REGISTERS, place]
        waiting[at, MATCH_REGISTERS + memory + place] = work[MATCHED, place]


@inlined
def take_up(forest: ForestArrays, rules: RuleTables, waiting: Array, at: int, match: Array, work: Array) -> None:
    """Let a match go on with the value that it has been waiting for, and with that one only."""
    match[PLAN], match[DEPTH], match[TRIGGER] = waiting[at, PLAN], waiting[at, DEPTH], waiting[at, TRIGGER]
    memory = work.shape[1]
    for place in range(memory):
        work[REGISTERS, place] = waiting[at, MATCH_REGISTERS + place]
        work[MATCHED, place] = waiting[at, MATCH_REGISTERS + memory + place]
    depth = match[DEPTH]
    for before in range(depth):
        work[CANDIDATES, before] = NOTHING
    step = rules.plans[match[PLAN], PLAN_STEP] + depth
    probe(forest, rules, step, depth, work)


@inlined
def is_complete(plans: Array, match: Array) -> bool:
    """Whether all atoms are matched, and not only those before a function without a value."""
    return match[DEPTH] >= plans[match[PLAN], PLAN_STEPS]


@inlined
def next_known(forest: ForestArrays, rules: RuleTables, match: Array, work: Array) -> bool:
    """Go on to the next complete match: enough for derivations that were found before, and so have all their values."""
    count = rules.plans[match[PLAN], PLAN_STEPS]
    while advance(forest, rules, match, count, work):
        if match[DEPTH] >= count:
            return True
    return False


@inlined
def make_head(heads: Array, relations: Array, rule: int, work: Array) -> int:
    """The head's columns for the current match, in the working memory; returns its relation."""
    relation = heads[rule, HEAD_RELATION]
    for column in range(relations[relation, ARITY]):
        argument = heads[rule, HEAD_TERMS + 2 * column + 1]
        is_register = heads[rule, HEAD_TERMS + 2 * column] == REGISTER
        work[ROW, column] = work[REGISTERS, argument] if is_register else argument
    return relation


@called
def match_absences(
    nodes: Array, slots: Array, counters: Array, tests: Array, heads: Array, rule: int, work: Array
) -> None:
    """The nodes of the keys whose absence the current match of a rule rests on. There must be room."""
    count, test = heads[rule, ABSENCES], heads[rule, ABSENCE_TEST]
    first = heads[rule, BODY_LENGTH] - count
    for at in range(count):
        columns = _make_key(tests, test, work)
        node = find_or_add(nodes, slots, counters, tests[test, TEST_LEFT + 1], work, KEY, 0, columns)
        if not nodes[node, STATUS] & ALIVE:
            nodes[node, STATUS] |= ALIVE
            counters[GONE] -= 1
        work[MATCHED, first + at] = node
        test += columns + 1


@inlined
def note_match(forest: ForestArrays, rules: RuleTables, rule: int, head: int, work: Array) -> int:
    """Record the current match of a rule, with the absences that it rests on. There must be room."""
    nodes, counters, heads = forest.nodes, forest.counters, rules.heads
    if heads[rule, ABSENCES]:
        match_absences(nodes, forest.slots, counters, rules.tests, heads, rule, work)
    length, longest = heads[rule, BODY_LENGTH], rules.shape[LONGEST]
    return note(nodes, forest.derivations, counters, longest, rule, length, head, work)
