"""Examples 1 to 7 of the paper, and the plans of 9, 10 and 13 as a database finds them."""

from __future__ import annotations

import pytest

import whence
from whence.adapt.preview import Preview
from whence.database.database import Database
from whence.rewriting import parsed
from whence.rewriting.search import SearchLimits
from whence.rewriting.states import after, change

ROWS: dict[str, list[tuple[object, ...]]] = {
    "bioentry": [("MGI:88139", 26, "BCL2-like 1"), ("MGI:87904", 26, "actin, beta")],
    "term": [(26, "gene"), (28, "factor")],
    "termsyn": [(26, 28)],
    "hasGene": [("MGI:88139", 12), ("MGI:87904", 12)],
    "orgname": [(12, "mus musculus"), (15, "plasmodium falciparum")],
}
TABLES = """
    CREATE TABLE bioentry(eid STRING, tid INT, name STRING); CREATE TABLE term(tid INT, name STRING);
    CREATE TABLE termsyn(tid1 INT, tid2 INT); CREATE TABLE hasGene(gid STRING, orgid INT);
    CREATE TABLE orgname(orgid INT, name STRING);
"""
THOROUGH = SearchLimits(least_seconds=2.0)

GENE = 'bioentry(E, T, N), term(T, "gene") -> gene(E, N).'
MOUSE = "gene(G, N), hasGene(G, 12) -> mousegene(G, N)."
SYNONYMS = 'bioentry(E, T, N), term(S, "gene"), termsyn(T, S) -> gene(E, N).'
BY_NAME = 'gene(G, N), hasGene(G, M), orgname(M, "mus musculus") -> mousegene(G, N).'


@pytest.fixture
def db() -> Database:
    db = whence.connect()
    db.execute(TABLES)
    for name, rows in ROWS.items():
        db.insert(name, rows)
    db.mappings(f"{GENE} {MOUSE}")
    return db


def plan(preview: Preview, view: str) -> set[str]:
    return set(next(each.plan for each in preview.views if each.name == view))


def same(lines: set[str], rules: str) -> bool:
    """Whether the lines of a plan are these rules; a relation is written `gene_` for gene' and `d_gene` for Δgene."""

    def named(text: str) -> str:
        for name in ("bioentry", "term", "gene", "mousegene"):
            text = text.replace(after(name) + "(", f"{name}_(").replace(change(name) + "(", f"d_{name}(")
        return text

    return parsed(" ".join(map(named, lines))) == parsed(rules)


def test_examples_1_and_2_mappings_are_rules(db: Database) -> None:
    genes = {("MGI:88139", "BCL2-like 1"), ("MGI:87904", "actin, beta")}
    assert db.rows("gene") == genes
    assert db.rows("mousegene") == genes


def test_an_unknown_person_gets_a_number() -> None:
    """people(N, A) -> names(S, N), addresses(S, A): the same S in both."""
    db = whence.connect()
    db.execute("CREATE TABLE people(name STRING, address STRING)")
    db.mappings("people(N, A) -> names(S, N), addresses(S, A).")
    db.insert("people", [("Ann", "Bonn"), ("Bob", "Cork")])
    assert {name for _, name in db.rows("names")} == {"Ann", "Bob"}
    joined = db.query("SELECT n.n AS name, a.a AS address FROM names n, addresses a WHERE n.s = a.s").to_pylist()
    assert sorted((row["name"], row["address"]) for row in joined) == [("Ann", "Bonn"), ("Bob", "Cork")]


def test_examples_4_6_and_9_both_mappings_are_revised(db: Database) -> None:
    version = db.version
    with db.redefine(search=THOROUGH) as change:
        change.mappings(f"{GENE} {SYNONYMS} {BY_NAME}")
        preview = change.preview()
    assert db.version == version + 1
    assert same(
        plan(preview, "gene"),
        'g(E, N) :- gene(E, N). g(E, N) :- bioentry(E, T, N), term(S, "gene"), termsyn(T, S).',
    )
    assert db.rows("mousegene") == {("MGI:88139", "BCL2-like 1"), ("MGI:87904", "actin, beta")}


def test_examples_5_and_7_rows_of_the_sources_change(db: Database) -> None:
    with db.batch() as batch:
        batch.delete("bioentry", [("MGI:87904", 26, "actin, beta")])
        batch.insert("bioentry", [("MGI:1923501", 26, "cDNA 0610007P08")])
        batch.insert("term", [(26, "element")])
    assert db.rows("gene") == {("MGI:88139", "BCL2-like 1"), ("MGI:1923501", "cDNA 0610007P08")}
    assert db.rows("mousegene") == {("MGI:88139", "BCL2-like 1")}


def test_example_8_counts(db: Database) -> None:
    """Figure 3: rows that are derived twice count twice."""
    with db.batch() as batch:
        batch.delete("bioentry", [("MGI:87904", 26, "actin, beta")])
        batch.insert("bioentry", [("MGI:1923501", 26, "cDNA 0610007P08")])
        batch.insert("bioentry", [("MGI:1923503", 26, "cDNA 0610006L08")] * 2)
        batch.insert("term", [(26, "gene"), (26, "element")])
    counts = db.query("SELECT gid, count(*) AS n FROM (SELECT e AS gid FROM gene) GROUP BY gid").to_pylist()
    assert {row["gid"]: row["n"] for row in counts} == {"MGI:88139": 2, "MGI:1923501": 2, "MGI:1923503": 4}


def test_example_10_data_and_definitions_in_one_plan(db: Database) -> None:
    """A rule is added while rows change: the old contents, the delta rules, and the new rule."""
    db.insert("bioentry", [(f"k{number}", number % 100, "x") for number in range(1_000)])
    db.insert("term", [(number, "gene") for number in range(40, 90)])
    with db.redefine(search=THOROUGH) as change:
        change.mappings(f"{GENE} {SYNONYMS}")
        change.insert("bioentry", [("MGI:1923501", 26, "cDNA 0610007P08")])
        change.insert("term", [(99, "gene")])
        preview = change.preview()
    lines = plan(preview, "gene")
    assert any("gene(E, N)." in line for line in lines), "the old contents"
    assert any("Δbioentry" in line for line in lines)
    assert any("Δterm" in line for line in lines)
    assert ("MGI:1923501", "cDNA 0610007P08") in db.rows("gene")


def test_example_13_an_attribute_is_kept(db: Database) -> None:
    with db.redefine(search=THOROUGH) as change:
        change.mappings(f"{GENE} {BY_NAME}")
    with db.redefine(search=THOROUGH) as change:
        change.mappings(
            'bioentry(E, T, N), term(T, "gene") -> gene(E, T, N).'
            'gene(G, T, N), hasGene(G, M), orgname(M, "mus musculus") -> mousegene(G, N).'
        )
        preview = change.preview()
    assert same(plan(preview, "mousegene"), "m(G, N) :- mousegene(G, N).")
    assert same(plan(preview, "gene"), 'g(E, T, N) :- bioentry(E, T, N), term(T, "gene").')
