"""Proofs from what an engine maintains: where it keeps a live derivation that is the proof, and elsewhere the rules are
followed backwards over the rows that are there. What is found becomes the tree of steps that is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from whence.engines.engine import Derivation, Readable
from whence.explain.proofs.backwards import Backwards, ProvenAbsence
from whence.explain.proofs.proof import ProofStep
from whence.explain.proofs.reasons import (
    BASE,
    OPEN,
    Fact,
    ProofLimits,
    Reason,
    ReasonKind,
    Reasons,
    Watch,
    distinct,
    facts_of,
    needs,
)
from whence.explain.proofs.search import ProofSearch, Replay, under
from whence.explain.proofs.text import Pattern, is_made, place, words_of


def prove(backwards: Backwards, roots: Iterable[Fact], limits: ProofLimits) -> dict[Fact, Reason]:
    """A reason for every root, and for every row that a reason rests on.

    Rows that were not reached within the limits have an open reason.
    """
    proving = _Proving(backwards, limits)
    layer = list(dict.fromkeys(roots))
    while layer:
        explained = proving.explain(layer)
        following = (need for fact in explained for need in needs(proving.reasons[fact]))
        layer = [need for need in dict.fromkeys(following) if need not in proving.reasons]
    return proving.reasons


class _Proving:
    def __init__(self, backwards: Backwards, limits: ProofLimits) -> None:
        self._backwards = backwards
        self._members = limits.members
        self._watch = Watch(limits.steps, limits.seconds)
        self._search = ProofSearch(backwards, Watch(limits.steps, limits.seconds).step)
        self.reasons: dict[Fact, Reason] = {}

    def explain(self, facts: Sequence[Fact]) -> list[Fact]:
        """Find reasons for rows, together, and return all rows that have one now."""
        within = [fact for fact in facts if not self._watch.step()]
        self.reasons.update(dict.fromkeys(facts[len(within) :], OPEN))
        gather = self._backwards.evidence.gather
        found = gather(lambda: [self._reason(fact) for fact in within])
        self.reasons.update((fact, reason) for fact, reason in zip(within, found, strict=True) if reason is not None)
        explained = [*facts]
        sought = [fact for fact in within if fact not in self.reasons]
        for fact, basis in zip(sought, self._backwards.evidence.bases(sought), strict=True):
            if fact not in self.reasons:
                explained += self._search_for(fact, basis)
        return explained

    def _reason(self, fact: Fact) -> Reason | None:
        """Why a row is there; None where it takes a search to tell."""
        relation, backwards = fact[0], self._backwards
        if backwards.is_table(relation):
            return Reason(ReasonKind.BASE, backwards.count(fact)) if self._is_bag(relation) else BASE
        if backwards.is_recursive(relation):
            live = backwards.evidence.live(*fact)
            return self._recursive(relation, live) if live else None
        if backwards.is_aggregated(relation):
            return self._aggregate(fact)
        return self._all(fact, ReasonKind.SUM) if backwards.is_signed(relation) else self._rule(fact)

    def _is_bag(self, relation: str) -> bool:
        return not self._backwards.relations[relation].distinct

    def _rule(self, fact: Fact) -> Reason:
        """One use of a rule; of a bag, all of them if the row is there more than once."""
        count = self._backwards.count(fact) if self._is_bag(fact[0]) else 1
        if count > 1:
            found = self._all(fact, ReasonKind.SUM)
            return Reason(ReasonKind.RULE, count, found.derivations) if len(found.derivations) == 1 else found
        derivation = next(self._backwards.derivations(fact), None)
        return OPEN if derivation is None else Reason(ReasonKind.RULE, count, (derivation,))

    def _aggregate(self, fact: Fact) -> Reason:
        backwards = self._backwards
        if not backwards.is_extreme(fact[0]):
            return self._all(fact, ReasonKind.AGGREGATE)
        found = [next(derivations, None) for derivations in backwards.witnesses(fact)]
        # Over nothing at all, min and max are NULL, and have no member to show for it.
        return Reason(ReasonKind.AGGREGATE, 1, distinct(derivation for derivation in found if derivation is not None))

    def _all(self, fact: Fact, kind: ReasonKind) -> Reason:
        found = tuple(islice(self._backwards.derivations(fact), self._members + 1))
        return Reason(kind, self._backwards.count(fact), found[: self._members], len(found) > self._members)

    def _recursive(self, relation: str, derivations: Iterable[Derivation]) -> Reason:
        kind = ReasonKind.AGGREGATE if self._backwards.is_aggregated(relation) else ReasonKind.RULE
        return Reason(kind, 1, distinct(derivations))

    def _search_for(self, fact: Fact, basis: Mapping[str, Readable] | None) -> Iterable[Fact]:
        proved = self._proved(fact, basis)
        if fact not in proved:
            self.reasons[fact] = OPEN
            return ()
        found = under(proved, fact)
        for each, derivations in found.items():
            self.reasons.setdefault(each, self._recursive(each[0], derivations))
        return found

    def _proved(self, fact: Fact, basis: Mapping[str, Readable] | None) -> Mapping[Fact, tuple[Derivation, ...]]:
        """What a search has proved, the row among it if there is a proof within the limits."""
        if basis is not None:
            replay = self._backwards.evidence.gather(lambda: self._replayed(Replay(self._backwards, fact, basis=basis)))
            if fact in replay.proved:
                return replay.proved
        component = self._backwards.component[fact[0]]
        if not self._search.prove(fact, component.relations) and component.aggregated:
            replay = self._backwards.evidence.gather(lambda: self._replayed(Replay(self._backwards, fact)))
            return replay.proved
        return self._search.proved

    def _replayed(self, replay: Replay) -> Replay:
        replay.prove(self._watch.step)
        return replay


# What a step below another one is made from: a row, rows that are absent, or a member of a group.
_Part = Fact | ProvenAbsence | Derivation


class Steps:
    """Builds the tree. A row is shown with its steps once, and only named where it comes again."""

    def __init__(self, reasons: Reasons, backwards: Backwards) -> None:
        self._reasons = reasons
        self._absences = backwards.absences
        self._is_recursive = backwards.is_recursive
        self._shown: dict[Fact, ProofStep] = {}

    def roots(self, facts: Sequence[Fact]) -> tuple[ProofStep, ...]:
        roots = tuple(ProofStep("rule", fact, position=position) for position, fact in enumerate(facts, 1))
        todo: list[tuple[ProofStep, _Part]] = []
        todo.extend(reversed([*zip(roots, facts, strict=True)]))
        while todo:
            step, part = todo.pop()
            below = list(self._fill(step, part))
            step.children = [
                ProofStep("rule", _named(each, step), parent=step, position=position)
                for position, each in enumerate(below, 1)
            ]
            todo.extend([*zip(step.children, below, strict=True)][::-1])
        return roots

    def _fill(self, step: ProofStep, part: _Part) -> Iterator[_Part]:
        """Say what the step is, and what is below it."""
        match part:
            case ProvenAbsence(negation=negation):
                step.kind = "absent"
                step.rule, step.place = words_of(negation.span), place(negation.span)
                return iter(())
            case Derivation():
                step.kind = "member"
                step.rule, step.place = words_of(part.rule.span), place(part.rule.span)
                return self._parts(part)
        return self._fill_row(step, part)

    def _fill_row(self, step: ProofStep, fact: Fact) -> Iterator[_Part]:
        reason = self._reasons[fact]
        step.count, step.is_partial = reason.count, reason.partial
        if reason.kind in (ReasonKind.BASE, ReasonKind.OPEN):
            step.kind = reason.kind.value
            return iter(())
        if fact in self._shown:
            step.kind, step.again_at = "again", self._shown[fact]
            return iter(())
        self._shown[fact] = step
        step.kind = reason.kind.value
        rule = reason.derivations[0].rule if reason.derivations else None
        if rule is not None and all(derivation.rule is rule for derivation in reason.derivations):
            step.rule, step.place = words_of(rule.span), place(rule.span)
        if _is_one(reason):
            group = self._grouping(reason.derivations[0])
            if group is None:
                return self._parts(reason.derivations[0])
            step.kind, step.is_partial = ReasonKind.AGGREGATE.value, group.partial
            return self._members(group)
        return self._members(reason)

    def _grouping(self, derivation: Derivation) -> Reason | None:
        """The aggregate that a use of a rule does no more than pass on, as that of a SELECT with GROUP BY does."""
        facts = facts_of(derivation)
        if len(facts) != 1 or not is_made(facts[0][0]) or self._absences.of(derivation):
            return None
        reason = self._reasons[facts[0]]
        return reason if reason.kind is ReasonKind.AGGREGATE else None

    def _members(self, reason: Reason) -> Iterator[_Part]:
        """Members that consist of one row are shown as that row."""
        for derivation in reason.derivations:
            parts = list(self._parts(derivation))
            yield from parts if len(parts) == 1 else (derivation,)

    def _parts(self, derivation: Derivation) -> Iterator[_Part]:
        """The rows that a use of a rule rests on, and what it needs to be absent.

        In the place of a row that a front end made there is what that row rests on.
        """
        for fact in facts_of(derivation):
            reason = self._reasons[fact]
            is_taken_apart = is_made(fact[0]) and not self._is_recursive(fact[0])
            if is_taken_apart and reason.kind is ReasonKind.RULE and _is_one(reason):
                yield from self._parts(reason.derivations[0])
            else:
                yield fact
        yield from self._absences.of(derivation)


def _is_one(reason: Reason) -> bool:
    return len(reason.derivations) == 1 and reason.kind is not ReasonKind.SUM


def _named(part: _Part, above: ProofStep) -> tuple[str, Pattern]:
    match part:
        case ProvenAbsence(relation=relation, pattern=pattern):
            return relation, pattern
        case Derivation():
            return above.fact
    return part
