"""What the tests of proofs share."""

from __future__ import annotations

from collections.abc import Iterable

from tests.explain.proofs.checker import Checker
from whence.database.database import Database
from whence.explain.proofs.proof import Proof
from whence.model.types import Row


def session(db: Database):  # type: ignore[no-untyped-def]
    return db._session  # noqa: SLF001 - the checker needs the rules and the rows


def check(db: Database, proof: Proof) -> None:
    """Every step of a proof holds, as far as a checker can tell that knows nothing of provers."""
    inside = session(db)
    # The rules as they were written: those that are asked for rows have more to them.
    analysis = db._knowledge(inside, inside.definitions.relation(proof.relation)).evidence.analysis  # noqa: SLF001
    checker = Checker(analysis, inside.definitions.functions, inside.engine.counts)
    checker.check(proof.facts, {f: (r.kind.value, r.count, r.derivations) for f, r in proof.reasons.items()})


def check_all(db: Database, views: Iterable[str]) -> int:
    """Every row of some views has a proof that holds; how many there are."""
    number = 0
    for view in views:
        for row in sorted(db.rows(view), key=repr):
            proof = db.why(view, exactly(db, view, row))
            assert proof.facts == ((view, row),)
            assert proof.complete
            check(db, proof)
            assert str(proof)
            number += 1
    return number


def exactly(db: Database, view: str, row: Row) -> dict[str, object]:
    """A question about this row and no other, NULL included."""
    return dict(zip(db.catalog().relations[view].column_names, row, strict=True))
