"""From reasons to steps: the tree that is shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from whence.engines.evidence import Derivation
from whence.explain.proofs.absences import Absence
from whence.explain.proofs.backwards import Backwards
from whence.explain.proofs.proof import Step
from whence.explain.proofs.reasons import Fact, Kind, Reason, Reasons, facts_of
from whence.explain.proofs.words import Pattern, is_made, place, rule_words, words_of

# What a step below another one is made from: a row, rows that are absent, or a member of a group.
_Part = Fact | Absence | Derivation


class Steps:
    """Builds the tree. A row is shown with its steps once, and only named where it comes again."""

    def __init__(self, reasons: Reasons, backwards: Backwards) -> None:
        self._reasons = reasons
        self._absences = backwards.absences
        self._is_recursive = backwards.is_recursive
        self._shown: dict[Fact, Step] = {}

    def roots(self, facts: Sequence[Fact]) -> tuple[Step, ...]:
        roots = tuple(Step("rule", fact, position=position) for position, fact in enumerate(facts, 1))
        todo: list[tuple[Step, _Part]] = []
        todo.extend(reversed([*zip(roots, facts, strict=True)]))
        while todo:
            step, part = todo.pop()
            below = list(self._fill(step, part))
            step.children = [
                Step("rule", _named(each, step), parent=step, position=position)
                for position, each in enumerate(below, 1)
            ]
            todo.extend(list(zip(step.children, below, strict=True))[::-1])
        return roots

    def _fill(self, step: Step, part: _Part) -> Iterator[_Part]:
        """Say what the step is, and what is below it."""
        match part:
            case Absence(negation=negation):
                step.kind = "absent"
                step.rule, step.place = words_of(negation.span), place(negation.span)
                return iter(())
            case Derivation():
                step.kind = "member"
                step.rule, step.place = rule_words(part.rule), place(part.rule.span)
                return self._parts(part)
        return self._fill_row(step, part)

    def _fill_row(self, step: Step, fact: Fact) -> Iterator[_Part]:
        reason = self._reasons[fact]
        step.count, step.is_partial = reason.count, reason.partial
        if reason.kind in (Kind.BASE, Kind.OPEN):
            step.kind = reason.kind.value
            return iter(())
        if fact in self._shown:
            step.kind, step.again_at = "again", self._shown[fact]
            return iter(())
        self._shown[fact] = step
        step.kind = reason.kind.value
        rule = reason.ways[0].rule if reason.ways else None
        if rule is not None and all(way.rule is rule for way in reason.ways):
            step.rule, step.place = rule_words(rule), place(rule.span)
        if _is_one(reason):
            group = self._grouping(reason.ways[0])
            if group is None:
                return self._parts(reason.ways[0])
            step.kind, step.is_partial = Kind.AGGREGATE.value, group.partial
            return self._members(group)
        return self._members(reason)

    def _grouping(self, way: Derivation) -> Reason | None:
        """The aggregate that a use of a rule does no more than pass on, as that of a SELECT with GROUP BY does."""
        facts = facts_of(way)
        if len(facts) != 1 or not is_made(facts[0][0]) or self._absences.of(way):
            return None
        reason = self._reasons[facts[0]]
        return reason if reason.kind is Kind.AGGREGATE else None

    def _members(self, reason: Reason) -> Iterator[_Part]:
        """Members that consist of one row are shown as that row."""
        for way in reason.ways:
            parts = list(self._parts(way))
            yield from parts if len(parts) == 1 else (way,)

    def _parts(self, way: Derivation) -> Iterator[_Part]:
        """The rows that a use of a rule rests on, and what it needs to be absent.

        In the place of a row that a front end made there is what that row rests on.
        """
        for fact in facts_of(way):
            reason = self._reasons[fact]
            is_taken_apart = is_made(fact[0]) and not self._is_recursive(fact[0])
            if is_taken_apart and reason.kind is Kind.RULE and _is_one(reason):
                yield from self._parts(reason.ways[0])
            else:
                yield fact
        yield from self._absences.of(way)


def _is_one(reason: Reason) -> bool:
    return len(reason.ways) == 1 and reason.kind is not Kind.SUM


def _named(part: _Part, above: Step) -> tuple[str, Pattern]:
    match part:
        case Absence(relation=relation, pattern=pattern):
            return relation, pattern
        case Derivation():
            return above.fact
    return part
