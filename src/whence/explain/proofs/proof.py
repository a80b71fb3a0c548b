"""The answer to "why is this row here": a tree of steps, and its forms."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from whence.errors import UnknownNameError
from whence.explain.proofs.reasons import Fact, Reasons
from whence.explain.proofs.text import Pattern, fact_text, json_row, relation_name

if TYPE_CHECKING:
    from whence.explain.provenance.provenance import MinimalSupports, Weighing

# Nested deeper than this, JSON cannot be read by most who read JSON.
_DEEPEST_JSON = 100


@dataclass(slots=True, eq=False, repr=False)
class ProofStep:
    """A row of a proof and why it is there. `rule` is in the user's words, `place` is where these words are.

    `kind` is "base" for a row of a table, "rule" for a use of a rule, "aggregate" for a row that is made of the members
    of a group and "member" for one of these, "sum" for a row that is there as often as its uses of rules say, "absent"
    for rows that are not there, "again" for a row whose steps are shown at another label, and "open" for a row whose
    steps were not looked for because a limit was reached.
    """

    kind: str
    fact: tuple[str, Pattern]
    parent: ProofStep | None = None
    position: int = 1
    rule: str | None = None
    place: str | None = None
    count: int = 1
    children: list[ProofStep] = field(default_factory=list)
    # Whether there are more children than these.
    is_partial: bool = False
    # For "again": the step that shows it.
    again_at: ProofStep | None = None

    @property
    def relation(self) -> str:
        return relation_name(self.fact[0])

    @property
    def row(self) -> Pattern:
        """For "absent", `...` stands for any value."""
        return self.fact[1]

    @property
    def label(self) -> str:
        """Names the step in its proof: "1.2" is the second below the first."""
        label, step = str(self.position), self.parent
        while step is not None:
            label, step = f"{step.position}.{label}", step.parent
        return label

    def walk(self) -> Iterator[ProofStep]:
        """The step and all below it, in the order of the text."""
        todo = [self]
        while todo:
            step = todo.pop()
            yield step
            todo.extend(reversed(step.children))

    def __repr__(self) -> str:
        return f"<Step {self.label}: {self.kind} {fact_text(*self.fact)}>"


@dataclass(eq=False, repr=False)
class Proof:
    """Why rows of a view are there. Printed, it is a tree in the words of the view's definition.

    `facts` are the rows that are proved, with their relation. `reasons` has one for each row that is mentioned: what
    the steps are made from, and what is checked.
    """

    relation: str
    roots: tuple[ProofStep, ...]
    facts: tuple[Fact, ...]
    reasons: Reasons
    _weigh: Callable[[], Weighing]
    more_rows: bool = False

    @property
    def root(self) -> ProofStep:
        return self.roots[0]

    @property
    def complete(self) -> bool:
        """False if more rows match than are proved, or if a limit was reached."""
        return not self.more_rows and all(
            reason.kind.value != "open" and not reason.partial for reason in self.reasons.values()
        )

    def step(self, label: str) -> ProofStep:
        """The step of that label."""
        here: list[ProofStep] = list(self.roots)
        found: ProofStep | None = None
        for part in label.split("."):
            number = int(part) if part.isdecimal() else 0
            if not 1 <= number <= len(here):
                raise UnknownNameError(
                    f"this proof has no step {label!r}", hint="steps go by labels as the text shows them, like '1.2'"
                )
            found = here[number - 1]
            here = found.children
        assert found is not None
        return found

    def text(self, depth: int | None = 6, at: str | None = None) -> str:
        """The tree, to a depth; with the label of a step, the part below it."""
        from whence.explain.proofs.text import text

        return text(self, depth, at)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<Proof of {self.relation}: {len(self.reasons)} rows>"

    def json(self, at: str | None = None) -> dict[str, Any]:
        """The tree as plain data. Steps far down are cut, and can be asked for by their label."""
        roots = self.roots if at is None else (self.step(at),)
        return {
            "relation": self.relation,
            "complete": self.complete,
            "roots": [step_data(root, _DEEPEST_JSON) for root in roots],
        }

    def dot(self) -> str:
        """The tree for Graphviz, with every row once."""
        from whence.explain.proofs.picture import dot

        return dot(self)

    def svg(self) -> str:
        """A picture, with every row once: what a row rests on is below it."""
        from whence.explain.proofs.picture import svg

        return svg(self)

    def supports(self, all: bool = False, limit: int = 10) -> MinimalSupports:  # noqa: A002 - as a question says it
        """Sets of base rows that are enough for the first row, and of which none can be left out, smallest first.

        The first `limit` of them, or all; the answer's `complete` tells if there was time for that. Rows that must be
        absent count as absent, and an aggregate needs all members that it is made of.
        """
        return self._weigh().supports(None if all else limit)

    def formula(self) -> str:
        """Which base rows the first row needs, as a Boolean formula; an error where it is too long to be read."""
        return self._weigh().formula()


def step_data(root: ProofStep, depth: int) -> dict[str, Any]:
    """A step and those below it, to a depth."""
    data = _one(root)
    todo = [(root, data, depth)]
    while todo:
        step, here, left = todo.pop()
        here["cut"] = step.kind == "open" or step.is_partial or (left == 0 and bool(step.children))
        for child in step.children if left else ():
            below = _one(child)
            here["children"].append(below)
            todo.append((child, below, left - 1))
    return data


def _one(step: ProofStep) -> dict[str, Any]:
    return {
        "label": step.label,
        "relation": step.relation,
        "row": json_row(step.row),
        "kind": step.kind,
        "rule": step.rule,
        "place": step.place,
        "count": step.count,
        "again": None if step.again_at is None else step.again_at.label,
        "children": [],
        "cut": False,
    }
