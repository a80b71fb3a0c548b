"""Which base rows a row needs, as a Boolean formula."""

from __future__ import annotations

from whence.errors import UnsupportedError
from whence.explain.proofs.limits import Watch
from whence.explain.proofs.reasons import Fact
from whence.explain.proofs.words import absence_text, fact_text
from whence.explain.weighing.cone import Absent, Cone, Node
from whence.explain.weighing.supports import Enumeration

# Nobody reads more.
_MOST_SUPPORTS = 100


def formula(cone: Cone, root: Fact, watch: Watch) -> str:
    """The minimal supports, each a conjunction, in a disjunction. What must be absent is negated."""
    enumeration = Enumeration(cone, root, watch, counts_absent=True)
    supports: list[frozenset[Node]] = []
    for support in enumeration:
        supports.append(enumeration.leaves_of(support))
        if len(supports) > _MOST_SUPPORTS:
            break
    if watch.is_over or len(supports) > _MOST_SUPPORTS:
        raise UnsupportedError(
            f"the formula of {fact_text(*root)} is too long to be read: it has more than {len(supports) - 1:,} "
            "minimal supports",
            hint="ask for some of the supports, the critical rows or the probability instead",
        )
    if not supports:
        return "false"
    conjunctions = [" ∧ ".join(sorted(map(_text, support))) or "true" for support in supports]
    if len(conjunctions) == 1:
        return conjunctions[0]
    return " ∨ ".join(f"({each})" if " ∧ " in each else each for each in conjunctions)


def _text(node: Node) -> str:
    match node:
        case Absent(relation=relation, pattern=pattern, words=None):
            return f"¬{fact_text(relation, pattern)}"
        case Absent():
            return f"[{absence_text(*node)}]"
    return fact_text(node[0], node[1])
