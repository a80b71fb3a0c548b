"""What an engine owes, run through by each of them: it follows changes, it is atomic, and it can do what it claims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import pytest

from tests.explain.proofs.checker import Checker
from whence.algebra.deltas import added
from whence.analysis.analyze import Analysis, analyze
from whence.database.database import Database
from whence.engines.engine import Derivation, Engine, Evidence
from whence.engines.local.engine import LocalEngine
from whence.engines.local.strategies import MAINTENANCE
from whence.engines.reference.engine import ReferenceEngine
from whence.engines.reference.evaluate import evaluate
from whence.errors import EvaluationError, UnsupportedError
from whence.explain.proofs.backwards import Backwards
from whence.explain.proofs.prover import prove
from whence.explain.proofs.reasons import Fact, ProofLimits
from whence.lab.network.network import NetworkEngine
from whence.lab.network.options import Options
from whence.lang.datalog.parse import parse_datalog
from whence.model.program import Function, Functions, Program, Signature
from whence.model.schema import Relation
from whence.model.types import STRING, Row
from whence.model.updates import Delta, Update
from whence.session.session import Session

# A table with a key, a bag and a set; recursion, negation, an aggregate, a join of views, and a function that can fail.
TEXT = """
    .decl link(src: symbol, dst: symbol)
    .decl color(name: symbol, shade: symbol)
    reach(x, y) :- link(x, y).
    reach(x, y) :- link(x, z), reach(z, y).
    degree(x, count<*>) :- link(x, _).
    dull(x) :- reach(x, _), !color(x, _).
    bright(x, picky(s)) :- color(x, s).
    sees(x, s) :- reach(x, y), bright(y, s).
"""
LINKS: dict[Row, int] = dict.fromkeys([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "e")], 1)
COLORS: dict[Row, int] = dict.fromkeys([("b", "red"), ("e", "blue")], 1)
FIRST = Update({"link": LINKS, "color": COLORS})
CHANGES = [
    Update({"link": {("b", "c"): -1}}),
    Update({"link": {("b", "c"): 1, ("d", "e"): -1}, "color": {("b", "red"): -1, ("b", "green"): 1}}),
    Update({"link": {("c", "a"): -1, ("e", "a"): 1}}),
    Update({"color": {("e", "blue"): -1}}),
]
FAILING = Update({"link": {("e", "f"): 1, ("a", "b"): -1}, "color": {("f", "bad"): 1}})


def picky(shade: str) -> str:
    if shade == "bad":
        raise ValueError(shade)
    return shade.upper()


FUNCTIONS: Functions = {"picky": Function(Signature("picky", STRING), picky)}


def program(text: str = TEXT) -> Analysis:
    parsed = parse_datalog(text)
    keyed = [_with_key(relation) for relation in parsed.relations]
    return analyze(Program(tuple(keyed), parsed.rules), {"picky": FUNCTIONS["picky"].signature})


def _with_key(relation: Relation) -> Relation:
    return replace(relation, key=("name",)) if relation.name == "color" else relation


# Counts around a cycle never end, so that this option has another program.
LOCAL = tuple(f"local {name}" for name in MAINTENANCE if name != "counting")


@pytest.fixture(params=["reference", *LOCAL, pytest.param("spark auto", marks=pytest.mark.spark)])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    kind, _, maintenance = request.param.partition(" ")
    if kind == "spark":
        from whence.engines.spark.engine import SparkEngine
        from whence.spark.home import StorageHome
        from whence.storage.files.store import Storage

        spark = request.getfixturevalue("spark")
        storage = Storage.open(spark, None)
        yield SparkEngine(spark, StorageHome(storage), maintenance)
        storage.close()
    else:
        yield ReferenceEngine() if kind == "reference" else LocalEngine(maintenance)


@pytest.fixture
def oracle() -> ReferenceEngine:
    made = ReferenceEngine()
    made.define(program(), FUNCTIONS, FIRST)
    return made


@pytest.fixture
def defined(engine: Engine) -> Engine:
    engine.define(program(), FUNCTIONS, FIRST)
    return engine


def everything(engine: Engine, analysis: Analysis | None = None) -> dict[str, dict[Row, int]]:
    return {name: dict(engine.counts(name).items()) for name in (analysis or program()).relations}


def changed(deltas: Mapping[str, Delta]) -> dict[str, dict[Row, int]]:
    return {name: dict(delta.items()) for name, delta in deltas.items() if delta}


def test_a_program_comes_with_all_its_rows(engine: Engine, oracle: ReferenceEngine) -> None:
    deltas = engine.define(program(), FUNCTIONS, FIRST)
    rows = everything(oracle)
    assert everything(engine) == rows
    assert changed(deltas) == rows
    assert all(count > 0 for counts in rows.values() for count in counts.values())


def test_a_change_is_followed_and_told(defined: Engine, oracle: ReferenceEngine) -> None:
    for update in CHANGES:
        before = everything(defined)
        deltas = changed(defined.apply(update))
        assert deltas == changed(oracle.apply(update))
        assert everything(defined) == everything(oracle)
        assert everything(defined) == {name: added(rows, deltas.get(name, {})) for name, rows in before.items()}
        assert defined.metrics()["components"] > 0


def test_other_definitions_keep_the_rows_of_tables(defined: Engine, oracle: ReferenceEngine) -> None:
    text = TEXT.replace("degree(x, count<*>) :- link(x, _).", "degree(y, count<*>) :- link(_, y).")
    other = program(text.replace("sees(x, s) :- reach(x, y), bright(y, s).", "seen(y) :- reach(_, y)."))
    update = CHANGES[2]
    deltas = changed(defined.define(other, FUNCTIONS, update))
    assert deltas == changed(oracle.define(other, FUNCTIONS, update))
    assert everything(defined, other) == everything(oracle, other)


def test_a_change_that_raises_has_not_happened(defined: Engine, oracle: ReferenceEngine) -> None:
    defined.apply(CHANGES[0])
    oracle.apply(CHANGES[0])
    before, metrics = everything(defined), dict(defined.metrics())
    with pytest.raises(EvaluationError, match="picky"):
        defined.apply(FAILING)
    assert (everything(defined), dict(defined.metrics())) == (before, metrics)
    assert changed(defined.apply(CHANGES[1])) == changed(oracle.apply(CHANGES[1]))
    assert everything(defined) == everything(oracle)


def test_definitions_that_raise_have_not_happened(defined: Engine, oracle: ReferenceEngine) -> None:
    before = everything(defined)
    other = program(TEXT + "dim(picky(x)) :- link(x, _).")
    with pytest.raises(EvaluationError, match="picky"):
        defined.define(other, FUNCTIONS, Update({"link": {("bad", "a"): 1}}))
    assert everything(defined) == before
    assert changed(defined.apply(CHANGES[0])) == changed(oracle.apply(CHANGES[0]))
    assert everything(defined) == everything(oracle)


def test_what_is_foreseen_is_what_comes_and_has_not_come(defined: Engine) -> None:
    foresight = defined.capabilities.foresight
    assert foresight is not None
    before, metrics = everything(defined), dict(defined.metrics())
    for update in CHANGES[:2]:
        foreseen = changed(foresight.foresee(update))
        assert (everything(defined), dict(defined.metrics())) == (before, metrics)
        with pytest.raises(EvaluationError, match="picky"):
            foresight.foresee(FAILING)
        assert (everything(defined), dict(defined.metrics())) == (before, metrics)
        assert changed(defined.apply(update)) == foreseen
        before, metrics = everything(defined), dict(defined.metrics())


def test_evidence_has_the_rows_and_real_derivations(defined: Engine) -> None:
    kept = defined.capabilities.evidence
    if kept is None:
        pytest.skip("it claims none")
    evidence = kept.evidence()
    for update in (Update(), *CHANGES[:2]):
        defined.apply(update)
        rows = everything(defined)
        for name, counts in rows.items():
            contents = evidence.contents(name)
            assert dict(evidence.gather(partial(contents.matching, (), ()))) == counts
            for row, count in counts.items():
                assert evidence.gather(partial(contents.count, row)) == count
                first = evidence.gather(partial(contents.matching, (0,), row[0]))
                assert dict(first) == {other: n for other, n in counts.items() if other[0] == row[0]}
            assert evidence.lookup(name) in ("index", "scan", "fetch")
        check_derivations(evidence, rows, Checker(evidence.analysis, FUNCTIONS, defined.counts))


def check_derivations(evidence: Evidence, rows: Mapping[str, Mapping[Row, int]], checker: Checker) -> None:
    """Those that the engine holds are uses of rules, and to follow them ends; and every row has a proof from them."""
    steps: dict[Fact, tuple[str, int, Sequence[Derivation]]] = {}
    for row in rows["reach"]:
        live, stored = evidence.live("reach", row), evidence.stored("reach", row)
        if live:
            steps["reach", row] = ("rule", 1, live[:1])
        if stored is not None:
            assert set(live) <= set(stored)
    steps.update({("link", row): ("base", 1, ()) for row in rows["link"]})
    checker.check([fact for fact in steps if fact[0] == "reach"], steps)
    backwards = Backwards(evidence)
    facts = [(name, row) for name in ("reach", "degree", "dull", "sees") for row in rows[name]]
    reasons = prove(backwards, facts, ProofLimits(members=10**6, steps=10**6))
    checker.check(
        facts, {fact: (reason.kind.value, reason.count, reason.derivations) for fact, reason in reasons.items()}
    )


def test_rows_are_found_by_their_keys(defined: Engine) -> None:
    index = defined.capabilities.keys
    if index is None:
        pytest.skip("it claims no index")
    defined.apply(Update({"color": {("b", "red"): -1, ("b", "green"): 1}}))
    held = index.by_key("color")
    assert held["b"] == ("b", "green")
    assert held.get("a") is None
    assert set(held) == {"b", "e"} and len(held) == 2


def test_rows_that_are_brought_are_those_that_are_there(defined: Engine) -> None:
    prefetch = defined.capabilities.prefetch
    if prefetch is None:
        pytest.skip("its rows are at hand")
    before = everything(defined)
    prefetch.prefetch("color", [("b", "red"), ("x", "red")])
    prefetch.prefetch("link", [("a", "b"), ("x", "y")])
    assert everything(defined) == before


def test_a_program_is_evaluated_once(defined: Engine) -> None:
    asked = program(TEXT.replace("degree(x, count<*>)", "outgoing(x, count<*>)"))
    before = everything(defined)
    found = defined.evaluate(asked, FUNCTIONS, "outgoing")
    assert dict(found.items()) == evaluate(asked, {"link": LINKS, "color": COLORS}, FUNCTIONS)["outgoing"]
    assert everything(defined) == before


def test_a_plan_tells_how_each_view_is_kept(defined: Engine) -> None:
    plans = defined.capabilities.plans
    if plans is None:
        pytest.skip("it claims no plans")
    defined.apply(CHANGES[0])
    touched = 0
    for component in program().components:
        if component.rules:
            plan, work = plans.plan(component), plans.work(component)
            assert plan.strategy in MAINTENANCE
            assert plan.reason
            if work is not None:
                touched += 1
                assert work.rows_in > 0 and work.rows_out >= 0 and work.elapsed >= 0
    assert touched == defined.metrics()["components"]


def test_every_view_can_be_explained_and_proved(engine: Engine) -> None:
    if engine.capabilities.prefetch is not None:
        pytest.skip("its database has an explanation of its own")
    db = Database(Session(engine))
    db.rules(TEXT.replace("picky(s)", "upper(s)"))
    db.insert("link", list(LINKS))
    db.insert("color", list(COLORS))
    for view in ("reach", "degree", "dull", "sees"):
        text = str(db.explain(view, analyze=True))
        assert text.startswith(f"{view}(")
        is_planned = engine.capabilities.plans is not None
        assert ("kept by" in text) == is_planned
        assert str(db.why(view, (next(iter(db.rows(view)))[0], None)[: db.relation(view).arity]))


def test_recursion_is_refused_where_counts_would_never_end() -> None:
    engine = LocalEngine("counting")
    with pytest.raises(UnsupportedError, match="counts around a cycle never end"):
        engine.define(program(), FUNCTIONS, FIRST)
    analysis = program("\n".join(line for line in TEXT.splitlines() if "reach" not in line))
    engine.define(analysis, FUNCTIONS, FIRST)
    assert dict(engine.counts("degree")) == {("a", 1): 1, ("b", 1): 1, ("c", 2): 1, ("d", 1): 1}


def test_what_is_not_claimed_is_refused() -> None:
    engine = NetworkEngine(Options(None, "absorption", "lazy", "diagrams", "arrival", 100, {}, {}))
    assert engine.capabilities.foresight is None and engine.capabilities.evidence is None
    db = Database(Session(engine))
    db.rules(".decl link(src: symbol, dst: symbol)\nreach(x, y) :- link(x, y).")
    db.insert("link", [("a", "b")])
    with pytest.raises(UnsupportedError, match="cannot tell what a change would do"):
        db.what_if(delete={"link": [("a", "b")]})
    # Whoever knows nothing but rows has proofs all the same, searched for among them.
    assert "link('a', 'b')" in str(db.why("reach", ("a", "b")))
    assert "computed from nothing" in db.explain("reach")
