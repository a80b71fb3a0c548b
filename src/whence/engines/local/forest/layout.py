"""How a proof forest lies in memory, and where a change stands that a kernel follows: arrays of integers.

A tuple is a node: one row of `nodes`, with its relation, its columns (interned values), and the heads of two lists: the
derivations that derive it and those that use it. A derivation is one row of `derivations`: head, rule, body nodes, and
the links of the lists that it is in. Nodes that are gone stay where they are, not alive, until the forest is packed.
The rules, too, are tables of integers, so that one set of compiled kernels serves every program.

A kernel cannot make room, nor compute values. It stops for that, and goes on where it was when it is called again.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from whence.columns.compiled import inlined

Array: TypeAlias = np.ndarray[Any, Any]

NOTHING = -1
# Instead of a candidate: a function has not been computed for these arguments yet.
MISSING = -2
# The interned NULL.
NULL_ID = 0

# Fields of a node. After COLUMNS come its values, after those the next node with the same key, per index.
STATUS, RELATION, LIVE, FIRST, USES, COLUMNS = range(6)

# A node can also stand for the absence of a key that a rule negates: it is alive while no row has the key. Instead of a
# live derivation it has the number of rows that do, or NOTHING. A key without a node is absent, and has one as soon as
# a derivation rests on that.
ROWS_WITH_KEY = LIVE

# Bits of a node's status.
ALIVE = 1
# Alive, and still to be joined with what is there: no join sees it before that.
PENDING = 2
# Lost its live derivation in the deletion under way.
DEAD = 4
INDEXED = 8
# Its value from before the change under way is noted.
NOTED = 16
# What says whether a join may use a node: it must be ALIVE of these, and nothing else.
USABLE = ALIVE | PENDING | DEAD

# Fields of a derivation. After BODY comes one node per body atom, after those the next use of that node.
HEAD, RULE, NEXT_OF_HEAD, BODY = range(4)

# Fields of a list of the dead: a node, its live derivation before. Those that are gone in the end stand in a column of
# their own, from the first row on.
DEAD_NODE, LIVE_BEFORE, GONE_NODE = range(3)

# Fields of a row that enters from below: its relation, whether it comes or goes. After ENTERING come its values.
ENTERING_RELATION, COMES, ENTERING = range(3)

# Entries of `counters`. LOST derivations and GONE nodes, which are not alive, are counted among the others until the
# forest is packed. CHEAPENED tells whether a derivation ever gave its head a better cost than a tuple that it
# rests on had: then the order of costs is not the order in which tuples rest on each other.
NODES, DERIVATIONS, LOST, GONE, CHEAPENED = range(5)

# Fields of an index's state: where its slots begin, how many they are less one, how many are taken.
START, MASK, KEYS = range(3)


class ForestArrays(NamedTuple):
    nodes: Array  # int32 [node, field]
    best: Array  # int64 or float64 [node]: the cost that a tuple has, where costs are
    slots: Array  # int32: all nodes, by the hash of relation and columns, and marked with bits of it
    index_slots: Array  # int32: the newest node per key, all indexes one after the other
    index_state: Array  # int64 [index, field]
    derivations: Array  # int32 [derivation, field]
    counters: Array  # int64


# Kinds of terms. A term is a pair: its kind, and a register or an interned constant. In tests also SUM, and how many
# operands follow in rows of their own: an operation, and a term.
IGNORE, BIND, REGISTER, CONSTANT, SUM = range(5)

# A plan is a way to match a rule: a trigger (a body atom, or NOTHING for the head, to match backwards), then one step
# per other atom. PLAN_LOOP tells whether the last step is a look-up in a relation, after which there is nothing to
# test; PLAN_RECURS, whether an atom other than the trigger is of the component itself. After PLAN_TERMS come the
# trigger's terms.
PLAN_RULE, PLAN_ATOM, PLAN_STEP, PLAN_STEPS, PLAN_TEST, PLAN_TESTS, PLAN_LOOP, PLAN_RECURS, PLAN_TERMS = range(9)

# Fields of a step. STEP_FUNCTION is the relation of the function that it looks up, or NOTHING. After STEP_TERMS come
# what the atom's columns must be, then where the key's parts come from.
STEP_ATOM, STEP_INDEX, STEP_TEST, STEP_TESTS, STEP_FUNCTION, STEP_TERMS = range(6)

# Fields of a test: its operator and two terms.
TEST_OPERATOR, TEST_LEFT, TEST_RIGHT = 0, 1, 3
EQUAL, UNEQUAL, LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, NOT_NULL, IN_RANGE, ABSENT = range(9)
# ABSENT has the relation of a negated atom on its left, and on its right how many terms of a key follow in rows of
# their own, each as a left one.

# Fields of a rule's head. STORED tells whether every derivation is kept, or only live ones. BODY_LENGTH counts what a
# derivation rests on: the atoms, the functions whose values are costs, and at last the absences, whose tests are given.
# Then the head's terms.
HEAD_RELATION, STORED, BODY_LENGTH, ABSENCE_TEST, ABSENCES, HEAD_TERMS = range(6)

# Fields of a relation: how many columns make a tuple what it is; the plans that its tuples trigger; the plans that
# derive its tuples again; its indexes; and 1 where a smaller cost is better, -1 where a larger is, 0 without costs.
# FIXED is the same for a relation that is read from below, if its costs are no part of what a tuple is. NEGATED tells
# whether its nodes are absences.
ARITY, FORWARD, FORWARDS, BACKWARD, BACKWARDS, INDEX, INDEXES, SIGN, FIXED, NEGATED = range(10)

# Fields of an index: the field of a node that links it, and how many columns its key has, and which.
INDEX_LINK, INDEX_WIDTH, INDEX_COLUMNS = range(3)

# Operations of computed costs, in postfix. NULL_COST is the constant that stands for NULL: with its sign turned or not,
# it is NULL, and multiplied by the SIGN of a relation the worst cost of all.
NULL_COST = 0
END, PUSH_BEST, PUSH_CONSTANT, ADD, SUBTRACT, MULTIPLY, LEAST, GREATEST, REQUIRE_LESS, REQUIRE_LESS_EQUAL = range(10)
# What comes of them: a cost, none since something is not as required, or a number that the head's column cannot hold.
IS_COST, NO_COST, TOO_LARGE = range(3)


class RuleTables(NamedTuple):
    plans: Array  # int32 [plan, field]
    steps: Array  # int32 [step, field]
    tests: Array  # int32 [test, field]
    heads: Array  # int32 [rule, field]
    relations: Array  # int32 [relation, field]
    indexes: Array  # int32 [index, field]
    numbers: Array  # int64 [value]: what an interned value is as a number, for comparisons
    signs: Array  # int32 [rule, atom]: the SIGN of the atom's relation
    costs: Array  # int32 [rule, operation, 2]: how a rule computes its cost
    constants: Array  # like `best`: the numbers in those computations, and NULL_COST
    limit: Array  # float64 [1]: sums beyond it overflow
    bounds: Array  # like `best` [relation, 2]: the smallest and largest cost that its type holds
    # int32: columns of the widest tuple, body atoms of the longest rule, the column that divides tuples, whether rules
    # require anything of costs, and how many nodes a match may need: its head, and its absences
    shape: Array


WIDEST, LONGEST, PASSED_ON, REQUIRES, NODES_PER_MATCH = range(5)

# Rows of a walk's working memory: registers, the matched node per body atom, the next candidate per step, a key, a
# head; and in the first place of the last row, whether a sum did not fit its type.
REGISTERS, MATCHED, CANDIDATES, KEY, ROW, OVERFLOWN = range(6)


# A match: its plan, how many steps have a candidate, the trigger's node. One that waits for a value has its
# registers after that, and then the matched nodes.
PLAN, DEPTH, TRIGGER, MATCH_REGISTERS = range(4)
# What is being done; how many nodes are or were dead, how many of them came back, the position in the list of the
# phase, and how many are gone in the end.
PHASE, DEAD_COUNT, BACK_COUNT, POSITION, GONE_COUNT = range(3, 8)
# How many rows have entered; how many nodes are queued, how many of those are joined, the next plan of the one being
# joined (NOTHING: it has not begun), and whether a plan is being matched.
ENTERED, QUEUED, DONE, NEXT_PLAN, MATCHING = range(8, 13)
# How many matches miss a value; how many values were computed, and how many of those joins find; how many matches can
# go on with theirs, and how many of those have.
MISSED, COMPUTED, LEARNED, ANSWERED, RESUMED = range(13, 18)
# Without costs: how many nodes entered, whether there was nothing before them, whether it is decided if what follows
# from them is to be divided, and how many of the waiting are queued.
INPUTS, IS_FIRST, DECIDED, CALLED = range(18, 22)
# With costs: whether a match waits to be recorded, the node being joined, the next of its uses, the heap's size, how
# many nodes are noted with what they were before, and how often a node was taken from the heap; ROUNDS bounds that, for
# each node that there is. In the end, how many rows come and go.
FOUND, CURRENT, USE, HEAP, NOTES, TAKEN, ROUNDS, DIFFERING = range(22, 30)
# How many nodes are joined when a kernel next returns, although it has all it needs: only then can other threads go on,
# and can a deadline be kept.
NODES_AT_RETURN = 30
# How many nodes are there for keys that rows have, and were not there before the change under way.
HELD = 31
# With costs: whether the node being joined has been joined before, so that only derivations that are not kept are to be
# matched again.
AGAIN = 32
# How many may be dead for a moment before it is better to grow the forest again.
MOST_DEAD = 33

# Phases: rows go, the dead are proved again and spread, and what comes grows.
MARKING, PROVING, SPREADING, GROWING = range(4)

# Why a kernel returns. It WAITS when all is done but for values that it misses, and NEEDS_VALUES when those are many.
FINISHED, NEEDS_ROOM, NEEDS_VALUES, WAITS, TO_BE_DIVIDED, OUT_OF_BOUNDS, ENDLESS, OVERFLOWS, MOST_IS_DEAD = range(9)

NODES_PER_CALL = 1 << 13

_BEGINNING = np.zeros(MOST_DEAD + 1, np.int64)
_BEGINNING[[NEXT_PLAN, USE]] = NOTHING
_BEGINNING[NODES_AT_RETURN] = NODES_PER_CALL
_BEGINNING[MOST_DEAD] = 2**62


def new_walk() -> Array:
    return _BEGINNING.copy()


_RULES = len(ForestArrays._fields)
OTHERS = _RULES + len(RuleTables._fields)


@inlined
def opened(arrays: tuple[Array, ...]) -> tuple[ForestArrays, RuleTables]:
    """The forest and the rules. To find out what is in them takes numba long when they are given as they are."""
    return ForestArrays(*arrays[:_RULES]), RuleTables(*arrays[_RULES:OTHERS])
