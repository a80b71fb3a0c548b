"""A proof as a tree of text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from whence.explain.proofs.words import absence_text, fact_text, in_a_line, is_made
from whence.explain.wording import amount
from whence.functions.text import shown

if TYPE_CHECKING:
    from whence.explain.proofs.proof import Proof, Step

# Of many members the first are shown; the others are in the proof, and `at` opens them one by one.
_SHOWN_MEMBERS = 20


def text(proof: Proof, depth: int | None, at: str | None) -> str:
    roots = proof.roots if at is None else (proof.step(at),)
    lines = [line for root in roots for line in _tree(root, depth)]
    if proof.more_rows and at is None:
        lines.append(f"... more rows of {proof.relation} match: these are the first {len(proof.roots)}")
    if not proof.complete and at is None and len(lines) > 0 and not proof.more_rows:
        lines.append("... a limit was reached: some steps were not followed to their end")
    return "\n".join(lines)


def _tree(root: Step, depth: int | None) -> Iterator[str]:
    # A step, what stands before its own line, and what stands before the lines below it.
    todo: list[tuple[Step | str, str, str, int]] = [(root, "", "", 0)]
    while todo:
        step, before, under, level = todo.pop()
        if isinstance(step, str):
            yield before + step
            continue
        yield before + heading(step)
        shown_children = step.children[:_SHOWN_MEMBERS]
        notes = _notes(step, len(step.children) - len(shown_children))
        if step is root and step.kind == "base":
            # Below other rows, that it has none below itself says so.
            notes.append("a row of the table: it was inserted")
        if depth is not None and level >= depth and step.children:
            hidden = sum(1 for _ in step.walk()) - 1
            yield f'{under}└─ ... {amount(hidden, "step")} more: text(at="{step.label}")'
            continue
        by = _by(step)
        if by is not None:
            yield f"{under}{'│' if shown_children or notes else ' '}  {by}"
        parts: list[Step | str] = [*shown_children, *notes]
        for number, child in reversed(list(enumerate(parts, 1))):
            is_last = number == len(parts)
            todo.append(
                (child, under + ("└─ " if is_last else "├─ "), under + ("   " if is_last else "│  "), level + 1)
            )


def heading(step: Step) -> str:
    """The row in one line, and what there is to say about it without a rule."""
    row = ", ".join("_" if value is ... else shown(value) for value in step.row)
    if step.kind == "absent":
        return absence_text(*step.fact, step.rule)
    if step.kind == "member":
        return "together"
    named = f"({row}) of {in_a_line(step.rule)}" if is_made(step.fact[0]) and step.rule else fact_text(*step.fact)
    match step.kind:
        case "base":
            named += f"   {step.count} copies" if step.count > 1 else ""
        case "again":
            assert step.again_at is not None
            named += f"   as shown at {step.again_at.label}"
        case "open":
            named += "   ... not followed: a limit was reached"
        case _ if step.count > 1:
            named += f"   {step.count} copies"
    return named


def _by(step: Step) -> str | None:
    if step.rule is None or step.kind in ("absent", "member", "base", "again", "open") or is_made(step.fact[0]):
        return None
    where = f"   [{step.place}]" if step.place is not None else ""
    return f"{'of' if step.kind == 'aggregate' else 'by'} {in_a_line(step.rule)}{where}"


def _notes(step: Step, hidden: int) -> list[str]:
    notes = []
    if hidden:
        notes.append(f"... {hidden:,} more: text(at=...) opens each, to {step.children[-1].label}")
    if step.is_partial:
        notes.append("... and more that were not looked for: a limit was reached")
    if step.kind == "aggregate" and not step.children:
        notes.append("of no rows at all")
    return notes
