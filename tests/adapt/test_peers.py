"""Peers: edits and mappings wait until they are published, and what is published waits until a peer exchanges."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from unittest.mock import patch

import pytest

import whence
from whence.database.database import Database
from whence.errors import DataError, DuplicateNameError, ParseError, StateError, UnknownNameError, UnsupportedError
from whence.model.types import Row
from whence.session.session import Session

NETWORK = """
    peer BioSQL {
        .decl bioentry(eid: symbol, tid: number, name: symbol) bag
        .decl term(tid: number, name: symbol)
    }
    peer GeneOrg { gene .decl hasGene(gid: symbol, orgid: number) }
    peer MouseLab { mousegene }
    bioentry(E, T, N), term(T, "gene") -> gene(E, N).
    gene(G, N), hasGene(G, 12) -> mousegene(G, N).
"""
TABLES = {"bioentry": "BioSQL", "term": "BioSQL", "hasGene": "GeneOrg"}


def network(target: Path | None = None, **options: int) -> Database:
    db = whence.connect(target, **options)  # type: ignore[arg-type]
    db.mappings(NETWORK)
    return db


@pytest.fixture
def db() -> Database:
    return network()


def test_example_3_to_5_of_the_paper(db: Database) -> None:
    bio, org, mouse = db.peer("BioSQL"), db.peer("GeneOrg"), db.peer("MouseLab")
    bio.insert("bioentry", [("MGI:88139", 26, "BCL2-like 1"), ("MGI:87904", 26, "actin, beta")])
    bio.insert("term", [(26, "gene"), (28, "factor")])
    org.insert("hasGene", [("MGI:88139", 12), ("MGI:87904", 12)])
    assert db.rows("bioentry") == set()
    assert bio.status().unpublished == {"bioentry": (2, 0), "term": (2, 0)}
    bio.publish()
    org.publish()
    assert bio.status().unpublished == {} and bio.publish() is None
    assert mouse.rows("mousegene") == set()
    assert mouse.status().behind == 2
    mouse.exchange()
    assert mouse.rows("mousegene") == {("MGI:88139", "BCL2-like 1"), ("MGI:87904", "actin, beta")}
    assert mouse.status().behind == 0
    assert org.rows("gene") == set()

    # Example 4: a peer joins, and mappings come to use what it has; example 5: rows change at the same time.
    db.mappings("peer BioOntology { .decl termsyn(a: number, b: number) .decl orgname(id: number, name: symbol) }")
    ontology = db.peer("BioOntology")
    ontology.insert("orgname", [(12, "mus musculus")])
    ontology.insert("termsyn", [(28, 26)])
    ontology.publish()
    org.mappings("""
        bioentry(E, T, N), term(T, "gene") -> gene(E, N).
        bioentry(E, T, N), term(S, "gene"), termsyn(T, S) -> gene(E, N).
    """)
    mouse.mappings('gene(G, N), hasGene(G, M), orgname(M, "mus musculus") -> mousegene(G, N).')
    bio.delete("bioentry", [("MGI:87904", 26, "actin, beta")])
    bio.insert("bioentry", [("MGI:1923501", 28, "cDNA 0610007P08")])
    bio.publish()
    version = mouse.database.version
    assert mouse.status().mappings == 1
    mouse.exchange()
    assert mouse.database.version == version + 2  # The mapping has left, and all else came at once.
    assert mouse.rows("mousegene") == {("MGI:88139", "BCL2-like 1")}
    assert "termsyn" not in mouse.database.catalog().relations  # GeneOrg has not published that mapping.
    org.insert("hasGene", [("MGI:1923501", 12)])
    org.exchange()
    assert org.rows("gene") == {("MGI:88139", "BCL2-like 1"), ("MGI:1923501", "cDNA 0610007P08")}
    assert "mousegene" not in org.database.catalog().relations
    seen = mouse.preview(rows=True)
    assert seen.rows is not None and seen.rows["mousegene"] == {("MGI:1923501", "cDNA 0610007P08"): 1}
    assert [(view.name, view.kind) for view in seen.views] == [("gene", "derived"), ("mousegene", "follows")]
    assert mouse.exchange().inserted["mousegene"] == 1


def test_an_exchange_uses_old_contents(db: Database) -> None:
    bio, mouse = db.peer("BioSQL"), db.peer("MouseLab")
    bio.insert("bioentry", [(f"e{number}", number % 50, "n") for number in range(3000)])
    bio.insert("term", [(number, "gene") for number in range(50)])
    bio.publish()
    mouse.exchange()
    db.peer("GeneOrg").mappings(
        'bioentry(E, T, N), term(T, "gene") -> gene(E, N). bioentry(E, 7, N), term(7, "x") -> gene(E, N).'
    )
    db.peer("GeneOrg").publish()
    bio.insert("term", [(7, "x")])
    bio.publish()
    (gene, *_) = mouse.preview().views
    assert gene.plan == (
        "gene'(E, N) :- gene(E, N).",
        'gene\'(E, N) :- bioentry(E, T, N), Δterm(T, "gene").',
        "gene'(E, N) :- bioentry(E, 7, N), term'(7, \"x\").",
    )
    assert mouse.exchange().inserted["gene"] == 60


def instances(published: dict[str, Counter[Row]], mappings: str) -> dict[str, Counter[Row]]:
    """What follows from published rows, in a database that knows nothing of peers."""
    fresh = whence.connect()
    fresh.mappings(mappings)
    for name, rows in published.items():
        fresh.insert(name, list(rows.elements()))
    return {name: counted(fresh, name) for name in ("bioentry", "term", "hasGene", "gene", "mousegene")}


def counted(db: Database, name: str) -> Counter[Row]:
    return Counter(tuple(row.values()) for row in db.table(name).to_pylist())


RULES = {
    "GeneOrg": [
        'bioentry(E, T, N), term(T, "gene") -> gene(E, N).',
        "bioentry(E, T, N), term(T, K) -> gene(E, K).",
        "bioentry(E, T, N), hasGene(E, T) -> gene(E, N).",
    ],
    "MouseLab": [
        "gene(G, N), hasGene(G, 12) -> mousegene(G, N).",
        "gene(G, N), hasGene(G, M), term(M, K) -> mousegene(G, K).",
        "gene(G, N) -> mousegene(N, G).",
    ],
}


def random_row(random: Random, name: str) -> Row:
    entry, number = random.choice("abc"), random.choice((12, 26))
    word = random.choice(("gene", "factor"))
    return {"bioentry": (entry, number, word), "term": (number, word), "hasGene": (entry, number)}[name]


@pytest.mark.parametrize("seed", range(4))
def test_random_edits_come_when_they_are_exchanged(seed: int, tmp_path: Path) -> None:
    """Each peer has what was published when it last exchanged, and its own edits; now and then all are opened again."""
    random = Random(seed)
    options = {"keep_versions": 2} if seed % 3 == 0 else {}
    target = tmp_path / "network" if seed % 2 else None
    db = network(target, **options)
    published: dict[str, Counter[Row]] = {name: Counter() for name in TABLES}
    edited: dict[str, Counter[Row]] = {name: Counter() for name in TABLES}
    wanted = {peer: [rules[0]] for peer, rules in RULES.items()}
    valid = {peer: list(rules) for peer, rules in wanted.items()}
    declared = NETWORK.partition("bioentry(E, T, N), term")[0]
    seen: dict[str, dict[str, Counter[Row]]] = {}

    def publish(peer: str) -> None:
        for name, holder in TABLES.items():
            if holder == peer:
                published[name] = Counter(edited[name])
        if peer in wanted:
            valid[peer] = list(wanted[peer])

    def check() -> None:
        for peer, then in seen.items():
            found = db.peer(peer)
            for name in found.database.catalog().relations.keys() & then.keys():
                if name in TABLES and TABLES[name] == peer:
                    assert counted(found.database, name) == edited[name], (peer, name)
                elif peer == "MouseLab":
                    # It edits nothing, so that all it sees is what it exchanged.
                    assert counted(found.database, name) == then[name], (peer, name)

    for _ in range(30):
        peer = random.choice(("BioSQL", "GeneOrg", "MouseLab"))
        place = db.peer(peer)
        match random.choice(("edit", "edit", "publish", "exchange", "map", "open")):
            case "edit" if tables := [name for name, holder in TABLES.items() if holder == peer]:
                name = random.choice(tables)
                if edited[name] and random.random() < 0.4:
                    row = random.choice(sorted(edited[name].elements()))
                    place.delete(name, [row])
                    edited[name] -= Counter([row])
                else:
                    row = random_row(random, name)
                    place.insert(name, [row])
                    edited[name][row] = edited[name][row] + 1 if name == "bioentry" else 1
            case "publish":
                place.publish()
                publish(peer)
            case "exchange":
                place.exchange()
                publish(peer)
                rules = "\n".join(each for texts in valid.values() for each in texts)
                seen[peer] = instances(published, declared + rules)
            case "map" if peer in wanted:
                wanted[peer] = random.sample(RULES[peer], random.choice((1, 2)))
                place.mappings("\n".join(wanted[peer]))
            case "open" if target is not None:
                db.close()
                db = whence.connect(target, **options)  # type: ignore[arg-type]
            case _:
                continue
        check()
    for peer in ("BioSQL", "GeneOrg", "MouseLab"):
        db.peer(peer).publish()
        publish(peer)
    rules = "\n".join(each for texts in valid.values() for each in texts)
    last = instances(published, declared + rules)
    for peer in ("BioSQL", "GeneOrg", "MouseLab"):
        found = db.peer(peer)
        found.exchange()
        for name in found.database.catalog().relations.keys() & last.keys():
            assert counted(found.database, name) == last[name], (peer, name)
    db.close()


def test_what_dies_between_two_commits_is_not_done_twice(tmp_path: Path) -> None:
    db = network(tmp_path)
    bio = db.peer("BioSQL")
    bio.insert("bioentry", [("a", 26, "x")] * 2)
    bio.insert("term", [(26, "gene")])
    org = db.peer("GeneOrg")
    org.mappings("bioentry(E, T, N), term(T, K) -> gene(E, K).")
    with patch.object(Database, "delete", side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
        org.publish()
    with patch.object(Session, "define", side_effect=OSError("disk full")), pytest.raises(OSError, match="disk full"):
        bio.publish()
    assert bio.status().unpublished == {"bioentry": (2, 0), "term": (1, 0)}
    bio.publish()
    db.close()
    db = whence.connect(tmp_path)
    assert db.peer("BioSQL").status().unpublished == {}
    org = db.peer("GeneOrg")
    org.exchange()
    org.exchange()
    assert counted(org.database, "gene") == {("a", "gene"): 2}
    assert org.status().mappings == 0
    db.close()


def test_a_table_that_was_dropped_and_made_again_comes_as_a_whole(db: Database) -> None:
    bio = db.peer("BioSQL")
    db.execute("CREATE TABLE extra(a STRING, b INT); INSERT INTO extra VALUES ('x', 1), ('y', 2)")
    with db.redefine() as change:
        change.mappings("extra(A, B) -> mousegene(A, A).")
    mouse = db.peer("MouseLab")
    mouse.exchange()
    with db.redefine() as change:
        change.mappings("hasGene(A, B) -> mousegene(A, A).")
        change.drop("extra")
    db.execute("CREATE TABLE extra(a STRING, b INT); INSERT INTO extra VALUES ('z', 1)")
    with db.redefine() as change:
        change.mappings("extra(A, B) -> mousegene(A, A).")
    mouse.exchange()
    assert mouse.rows("extra") == {("z", 1)} and mouse.rows("mousegene") == {("z", "z")}
    assert bio.status().behind > 0


def test_a_table_with_other_columns(db: Database) -> None:
    bio = db.peer("BioSQL")
    bio.insert("term", [(26, "gene")])
    bio.publish()
    bio.insert("term", [(27, "gene")])
    db.execute("ALTER TABLE term ADD COLUMN more INT DEFAULT 3")
    with pytest.raises(StateError, match="'term' has got other columns"):
        bio.exchange()
    assert bio.rows("term") == {(26, "gene"), (27, "gene")}
    bio.discard()
    assert bio.rows("term") == {(26, "gene", 3)}
    bio.insert("term", [(27, "gene", 4)])
    bio.publish()
    assert db.rows("term") == {(26, "gene", 3), (27, "gene", 4)}


def test_mistakes_are_told_with_the_place(db: Database) -> None:
    before = db.version
    with pytest.raises(UnknownNameError, match="there is no peer 'GenOrg'") as unknown:
        db.peer("GenOrg")
    assert "GeneOrg" in str(unknown.value)
    with pytest.raises(UnknownNameError, match=r"db\.mappings"):
        whence.connect().peer("Nobody")
    with pytest.raises(UnknownNameError, match="a relation 'gen'") as missing:
        db.mappings("peer Late { gen }")
    assert "peer Late { gen }" in str(missing.value)
    with pytest.raises(DuplicateNameError, match="'gene' belongs to peer GeneOrg"):
        db.mappings("peer Late { gene }")
    with pytest.raises(ParseError, match="no relations"):
        db.mappings("peer Late { }")
    with pytest.raises(DataError, match="does not belong to peer MouseLab"):
        db.peer("MouseLab").insert("hasGene", [("a", 1)])
    with pytest.raises(DataError, match="is a view"):
        db.peer("GeneOrg").insert("gene", [("a", "b")])
    with pytest.raises(StateError, match="'gene' belongs to peer GeneOrg"):
        db.peer("MouseLab").mappings("bioentry(E, T, N) -> gene(E, N).")
    with pytest.raises(StateError, match="cannot speak for peer GeneOrg"):
        db.peer("MouseLab").mappings("peer GeneOrg { mousegene }")
    with pytest.raises(StateError, match="with other columns"):
        db.mappings(".decl term(a: symbol)")
    assert db.version == before
    mouse = db.peer("MouseLab")
    mouse.mappings("mousegene(G, N) -> mousegene(N, G).")
    with pytest.raises(UnsupportedError, match="cyclic"):
        mouse.publish()
    mouse.discard()
    assert mouse.status().mappings == 0 and mouse.publish() is None
