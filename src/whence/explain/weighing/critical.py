"""Critical base rows: those that every support has, so that the loss of one alone takes the row away.

Of a row all of whose derivations are known, these are found without trying: a base row is critical for a derivation if
it is for something that the derivation needs, and for a row if it is for each of its derivations. On cycles it is the
largest solution that counts, just as with the dominators of a flow graph.
"""

from __future__ import annotations

from collections.abc import Sequence

from whence.explain.proofs.reasons import Fact
from whence.explain.weighing.cone import Cone, Node


def critical(cone: Cone, root: Fact, candidates: Sequence[Fact]) -> set[Fact]:
    """The critical base rows of a row whose cone is exact. The base rows of any proof are candidates enough."""
    bits: dict[Node, int] = {fact: 1 << number for number, fact in enumerate(candidates)}
    everything = (1 << len(candidates)) - 1
    of: dict[Node, int] = dict.fromkeys(cone.derivations, everything)
    users: dict[Node, list[Node]] = {}
    for head, bodies in cone.derivations.items():
        for body in bodies:
            for need in body:
                if need in of:
                    users.setdefault(need, []).append(head)
    todo = list(of)
    while todo:
        head = todo.pop()
        found = everything
        for body in cone.derivations[head]:
            of_body = 0
            for need in body:
                of_body |= of.get(need, 0) if need in of else bits.get(need, 0)
            found &= of_body
        if found != of[head]:
            of[head] = found
            todo.extend(users.get(head, ()))
    left = of.get(root, bits.get(root, 0))
    return {fact for number, fact in enumerate(candidates) if left >> number & 1}
