"""How a proof forest lies in memory: a few integer arrays that the kernels share.

A tuple is a node: one row of `nodes`, with its relation, its columns (interned values), and the heads of two lists: the
derivations that derive it and those that use it. A derivation is one row of `derivations`: head, rule, body nodes, and
the links of the lists that it is in. Nodes that are gone stay where they are, not alive, until the forest is packed.
The rules, too, are tables of integers, so that one set of compiled kernels serves every program.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, Any]

NOTHING = -1
# Instead of a candidate: a function has not been computed for these arguments yet.
MISSING = -2
# The interned NULL.
NULL_ID = 0

# Fields of a node. After COLUMNS come its values, after those the next node with the same key, per index.
STATUS, RELATION, LIVE, FIRST, USES, COLUMNS = range(6)

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

# Fields of a row that enters from below: its relation, whether it comes or goes. After ENTERING come its values.
ENTERING_RELATION, COMES, ENTERING = range(3)

# Entries of `counters`. CHEAPENED tells whether a derivation ever gave its head a better cost than a tuple that it
# rests on had: then the order of costs is not the order in which tuples rest on each other.
NODES, DERIVATIONS, LOST, GONE, CHEAPENED = range(5)

# Fields of an index's state: where its slots begin, how many they are less one, how many are taken.
START, MASK, KEYS = range(3)


class Forest(NamedTuple):
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
# per other atom. PLAN_SINGLE tells whether all that is left to do after the trigger is a single look-up in a relation.
# After PLAN_TERMS come the trigger's terms.
PLAN_RULE, PLAN_ATOM, PLAN_STEP, PLAN_STEPS, PLAN_TEST, PLAN_TESTS, PLAN_SINGLE, PLAN_TERMS = range(8)

# Fields of a step. STEP_FUNCTION is the relation of the function that it looks up, or NOTHING. After STEP_TERMS come
# what the atom's columns must be, then where the key's parts come from.
STEP_ATOM, STEP_INDEX, STEP_TEST, STEP_TESTS, STEP_FUNCTION, STEP_TERMS = range(6)

# Fields of a test: its operator and two terms.
TEST_OPERATOR, TEST_LEFT, TEST_RIGHT = 0, 1, 3
EQUAL, UNEQUAL, LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, NOT_NULL, IN_RANGE = range(8)

# Fields of a rule's head. STORED tells whether every derivation is kept, or only live ones. Then the head's terms.
HEAD_RELATION, STORED, BODY_LENGTH, HEAD_TERMS = range(4)

# Fields of a relation: how many columns make a tuple what it is; the plans that its tuples trigger; the plans that
# derive its tuples again; its indexes; and 1 where a smaller cost is better, -1 where a larger is, 0 without costs.
# FIXED is the same for a relation that is read from below, if its costs are no part of what a tuple is.
ARITY, FORWARD, FORWARDS, BACKWARD, BACKWARDS, INDEX, INDEXES, SIGN, FIXED = range(9)

# Fields of an index: the field of a node that links it, and how many columns its key has, and which.
INDEX_LINK, INDEX_WIDTH, INDEX_COLUMNS = range(3)

# Operations of computed costs, in postfix.
END, PUSH_BEST, PUSH_CONSTANT, ADD, SUBTRACT, MULTIPLY, LEAST, GREATEST = range(8)


class Rules(NamedTuple):
    plans: Array  # int32 [plan, field]
    steps: Array  # int32 [step, field]
    tests: Array  # int32 [test, field]
    heads: Array  # int32 [rule, field]
    relations: Array  # int32 [relation, field]
    indexes: Array  # int32 [index, field]
    numbers: Array  # int64 [value]: what an interned value is as a number, for comparisons
    signs: Array  # int32 [rule, atom]: the SIGN of the atom's relation
    costs: Array  # int32 [rule, operation, 2]: how a rule computes its cost
    constants: Array  # like `best`: the numbers in those computations
    limit: Array  # float64 [1]: sums beyond it overflow
    bounds: Array  # like `best` [relation, 2]: the smallest and largest cost that its type holds
    shape: Array  # int32: columns of the widest tuple, body atoms of the longest rule, the column that divides tuples


WIDEST, LONGEST, PASSED_ON = range(3)

# Rows of a walk's working memory: registers, the matched node per body atom, the next candidate per step, a key, a
# head; and in the first place of the last row, whether a sum did not fit its type.
REGISTERS, MATCHED, CANDIDATES, KEY, ROW, OVERFLOWN = range(6)
