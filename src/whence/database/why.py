"""Why a row is there, and what it rests on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any, overload

from whence.database.questions import AskedRow, asked_row, read_annotations, refuse_windows
from whence.engines.engine import Evidence
from whence.engines.local.evidence import LocalEvidence
from whence.errors import DataError, Hint, NextStep, StateError, UnsupportedError
from whence.explain.proofs.backwards import Backwards
from whence.explain.proofs.proof import Proof
from whence.explain.proofs.prover import Steps, prove
from whence.explain.proofs.reasons import Fact, ProofLimits, Watch
from whence.explain.proofs.text import fact_text
from whence.explain.proofs.user_rules import in_user_rules
from whence.explain.provenance.cone import derived, explore
from whence.explain.provenance.cut import cut_by_trying, smallest_cut
from whence.explain.provenance.losses import candidates, for_cuts, tables_under
from whence.explain.provenance.provenance import DERIVATIONS, SECONDS, Weighing, critical
from whence.incremental.store import Store
from whence.model.schema import Relation
from whence.model.types import Row
from whence.model.updates import Delta
from whence.session.definitions import Definitions
from whence.session.session import Session

if TYPE_CHECKING:
    from whence.explain.provenance.probability import Probability, Trial

LIMITS = ProofLimits()
_MOST_ANNOTATED = 100_000
_SECONDS_OF_SAMPLING = 5.0
# How many losses are tried, and for how long.
_MOST_TRIES = 10_000
_SECONDS_OF_TRYING = 60.0


class Asked(Weighing):
    """The row that a question is about."""

    def __init__(self, backwards: Backwards, root: Fact, definitions: Definitions) -> None:
        super().__init__(backwards, root)
        self.definitions = definitions


class WhyQuestions(ABC):
    """What a database answers about the rows that are there."""

    # What has been worked out about the rules so far, and for which definitions and engine.
    _backwards: tuple[object, object, Backwards] | None = None

    @abstractmethod
    def _reading(self) -> AbstractContextManager[Session]: ...

    @abstractmethod
    def what_if(self, *, insert: Mapping[str, object] | None = None, delete: Mapping[str, object] | None = None) -> Any:
        """What would change if rows came or went."""

    @overload
    def why(self, view: str, row: object, *, version: None = None) -> Proof: ...

    @overload
    def why(self, view: str, row: object, *, version: int) -> Any: ...

    def why(self, view: str, row: object, *, version: int | None = None) -> Any:
        """A proof that a row is there, from the rows and proofs that are maintained anyway.

        `row` is a tuple, in which None stands for any value, or a dict of some columns; then all rows that match are
        proved, up to a limit. With a version, what happened to the row then.
        """
        if version is not None:
            return self._why_then(view, row, version)
        with self._reading() as session:
            relation = session.definitions.relation(view)
            backwards = self._knowledge(session, relation)
            facts, more = _matching(backwards, relation, asked_row(row, relation), LIMITS.rows)
            reasons = prove(backwards, facts, LIMITS)
            roots = Steps(reasons, backwards).roots(facts)
            weigh = self._weighing_later(session, backwards, facts[0])
            return Proof(relation.name, roots, tuple(facts), reasons, weigh, more_rows=more)

    def critical(self, view: str, row: object) -> set[Fact]:
        """The base rows each of which the row cannot do without: the loss of one alone takes it away."""
        with self._asked(view, row) as asked:
            if asked.cone.is_exact:
                return critical(asked.cone, asked.root, asked.proof_base())
            return self._lost_without(asked, candidates(asked.backwards, asked.reasons()))

    def cut(self, view: str, row: object) -> frozenset[Fact]:
        """A smallest set of base rows whose loss takes the row away."""
        with self._asked(view, row) as asked:
            if asked.cone.is_exact:
                if asked.root in derived(asked.cone, asked.cone.base):
                    raise UnsupportedError(f"{fact_text(*asked.root)} is there without any base row")
                found = smallest_cut(asked.cone, asked.root, asked.watch())
            elif alone := self._lost_without(asked, candidates(asked.backwards, asked.reasons())):
                found = frozenset((min(alone, key=repr),))
            else:
                found = cut_by_trying(for_cuts(asked.backwards, asked.cone), self._trial(asked), _trying())
            if found is None:
                raise UnsupportedError(
                    f"a smallest set of base rows that takes {fact_text(*asked.root)} away was not found in time",
                    hint="critical rows and supports may tell enough",
                )
            return found

    def probability(self, view: str, row: object, chances: object) -> Probability:
        """How likely the row is there when base rows are with given probabilities, each by itself.

        `chances` is a dict of tables: for each a dict of rows and their probabilities, or one for all its rows. Rows
        without one are certain.
        """
        from whence.explain.provenance.evaluation import chance
        from whence.explain.provenance.probability import probability

        with self._asked(view, row) as asked:
            given = read_annotations(chances, asked.definitions, asked.backwards.evidence, chance)
            tables = tables_under(asked.backwards, [asked.root[0]])
            relevant = {fact: value for fact, value in given.items() if fact[0] in tables}
            return probability(asked.cone, asked.root, relevant, self._trial(asked), _SECONDS_OF_SAMPLING)

    def shapley(self, view: str, row: object) -> dict[Fact, float]:
        """How much each base row contributes to the row being there, largest first: the share of all orders in which
        base rows can come, one after the other, in which the row appears with this one. All shares add up to 1.
        """
        from whence.explain.provenance.probability import shapley

        with self._asked(view, row) as asked:
            return shapley(asked.cone, asked.root)

    def banzhaf(self, view: str, row: object) -> dict[Fact, float]:
        """For each base row, the share of all sets of the others with which the row is there only because of it."""
        from whence.explain.provenance.probability import banzhaf

        with self._asked(view, row) as asked:
            return banzhaf(asked.cone, asked.root)

    def evaluate(
        self, view: str, semiring: str, annotations: object = None, row: object = None
    ) -> Mapping[Row, object]:
        """The rows of a view annotated in a semiring: "boolean", "counting", "why", "how", "lineage", "posbool",
        "tropical", "viterbi" or "security".

        `annotations` gives values to base rows, as `chances` does in `probability`.
        """
        from whence.explain.provenance.evaluation import annotate, kind_named

        kind = kind_named(semiring)
        with self._reading() as session:
            relation = session.definitions.relation(view)
            backwards = self._knowledge(session, relation)
            refuse_windows(backwards, [relation.name])
            asked: AskedRow = (...,) * relation.arity if row is None else asked_row(row, relation)
            facts, more = _matching(backwards, relation, asked, _MOST_ANNOTATED, may_be_empty=row is None)
            cone = explore(backwards, facts, DERIVATIONS, SECONDS)
            if more or not cone.is_complete:
                raise UnsupportedError(
                    f"{relation.name!r} has too many rows or derivations to annotate them all",
                    hint="give the row, or some of its columns, in row=",
                )
            given: Mapping[Fact, object] = {}
            if annotations is not None:
                if kind.read is None:
                    raise UnsupportedError(
                        f"base rows stand for themselves in the semiring {semiring!r}", hint="leave out the annotations"
                    )
                given = read_annotations(annotations, session.definitions, backwards.evidence, kind.read)
            return {fact[1]: value for fact, value in annotate(kind, cone, given, backwards).items()}

    @abstractmethod
    def _why_then(self, view: str, row: object, version: int) -> Any:
        """What happened to a row at a version."""

    @contextmanager
    def _asked(self, view: str, row: object) -> Iterator[Asked]:
        """One row that is there, while nothing changes."""
        with self._reading() as session:
            relation = session.definitions.relation(view)
            backwards = self._knowledge(session, relation)
            refuse_windows(backwards, [relation.name])
            facts, more = _matching(backwards, relation, asked_row(row, relation), 1)
            if more:
                raise DataError(
                    f"several rows of {relation.name!r} match, and this question is about one",
                    hint=f"one of them is {fact_text(*facts[0])}",
                )
            yield Asked(backwards, facts[0], session.definitions)

    def _lost_without(self, asked: Asked, rows: Sequence[Fact]) -> set[Fact]:
        """Those of the rows whose loss alone takes the row in question away."""
        holds, watch = self._trial(asked), _trying()
        found: set[Fact] = set()
        for tried, fact in enumerate(rows):
            if watch.step():
                raise UnsupportedError(
                    f"what {fact_text(*asked.root)} cannot do without was not told in time: {tried:,} of {len(rows):,} "
                    "base rows were tried",
                    hint=Hint("{} tells what the loss of one row does", (NextStep("what_if", "db.what_if"),)),
                )
            if not holds((fact,)):
                found.add(fact)
        return found

    def _trial(self, asked: Asked) -> Trial:
        """Whether the row is there without some base rows, told by following the change and taking it back."""
        relation, row = asked.root
        backwards = asked.backwards
        gather = backwards.evidence.gather
        count = gather(lambda: backwards.count(asked.root))

        def holds(gone: Collection[Fact]) -> bool:
            rows: dict[str, list[Row]] = {}
            for fact, copies in gather(lambda: [(each, backwards.count(each)) for each in gone]):
                rows.setdefault(fact[0], []).extend([fact[1]] * copies)
            changes: Mapping[str, Delta] = self.what_if(delete=rows).changes
            return count + changes.get(relation, {}).get(row, 0) > 0

        return holds

    def _knowledge(self, session: Session, relation: Relation) -> Backwards:
        """What is needed to follow rules backwards. It is kept until there are other rules."""
        # A view that waits says what it waits for.
        session.counts(relation.name)
        kept = session.engine.capabilities.evidence
        if kept is None:
            return Backwards(in_user_rules(_recounted(session)))
        known = self._backwards
        if known is None or known[0] is not session.definitions or known[1] is not session.engine:
            known = self._backwards = (session.definitions, session.engine, Backwards(in_user_rules(kept.evidence())))
        return known[2]

    def _weighing_later(self, session: Session, backwards: Backwards, fact: Fact) -> Callable[[], Weighing]:
        """What the row rests on, looked for when it is asked for, unless something has changed by then."""
        version, definitions = session.version, session.definitions
        kept: list[Weighing] = []

        def weigh() -> Weighing:
            refuse_windows(backwards, [fact[0]])
            with self._reading() as now:
                if now.version != version or now.definitions is not definitions:
                    raise StateError(
                        f"the database has changed since {fact_text(*fact)} was proved (version {version}, now "
                        f"{now.version})",
                        hint="ask why again",
                    )
                if not kept:
                    weighing = Weighing(backwards, fact)
                    # Now, while nothing can change.
                    assert weighing.cone is not None
                    kept.append(weighing)
                return kept[0]

        return weigh


def _recounted(session: Session) -> Evidence:
    """For an engine that only knows rows, the reference."""
    definitions = session.definitions
    stores = {name: Store(session.counts(name)) for name in definitions.relations}
    return LocalEvidence(definitions.analysis, definitions.functions, stores, {})


def _matching(
    backwards: Backwards, relation: Relation, asked: AskedRow, most: int, *, may_be_empty: bool = False
) -> tuple[list[Fact], bool]:
    """The rows that a question is about, and whether there are more."""
    gather = backwards.evidence.gather
    contents = backwards.evidence.contents(relation.name)
    # A row with NULL in it is meant if it is there.
    whole = tuple([None if value is ... else value for value in asked])
    could_be = all(value is not ... or column.nullable for value, column in zip(asked, relation.columns, strict=True))
    if could_be and not may_be_empty and gather(lambda: contents.count(whole)) > 0:
        return [(relation.name, whole)], False
    positions = tuple([at for at, value in enumerate(asked) if value is not ...])
    if len(positions) == len(asked):
        raise not_there(relation, asked)
    key = tuple([whole[at] for at in positions])
    rows = gather(lambda: contents.matching(positions, key[0] if len(key) == 1 else key))
    found = list(islice((row for row, count in rows.items() if count > 0), most + 1))
    if not found and not may_be_empty:
        raise not_there(relation, asked)
    return [(relation.name, row) for row in found[:most]], len(found) > most


def _trying() -> Watch:
    return Watch(_MOST_TRIES, _SECONDS_OF_TRYING)


def not_there(relation: Relation, asked: AskedRow) -> DataError:
    return DataError(
        f"{fact_text(relation.name, asked)} is not there",
        hint=Hint(
            "{} tells what is missing",
            (NextStep("why_not", f"db.why_not({relation.name!r}, ...)", (relation.name, asked)),),
        ),
    )
