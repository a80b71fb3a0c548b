"""Examples 8 to 14 of "Recomputing Materialized Instances after Changes to Mappings and Data", plans rule by rule.

Examples 1 to 7 are about databases, and stand in tests/adapt.
"""

from __future__ import annotations

from whence.rewriting import equivalent, parsed
from whence.rewriting.equivalence import definitions
from whence.rewriting.fold import folds
from whence.rewriting.signed_union import SignedUnion
from whence.rewriting.unfold import unfold

GENE = 'gene(G, N) :- bioentry(G, T, N), term(T, "gene").'


def folded(query: SignedUnion, view: str, definition: str) -> set[SignedUnion]:
    return set(folds(query, view, parsed(definition)))


def test_example_8_delta_rules_apply_the_change() -> None:
    """gene + the delta rules is gene over the changed tables."""
    views = """
        bioentry_(E, T, N) :- bioentry(E, T, N).    bioentry_(E, T, N) :- d_bioentry(E, T, N).
        term_(T, N) :- term(T, N).                  term_(T, N) :- d_term(T, N).
        gene(E, N) :- bioentry(E, T, N), term(T, "gene").
        d_gene(E, N) :- d_bioentry(E, T, N), term(T, "gene").
        d_gene(E, N) :- bioentry_(E, T, N), d_term(T, "gene").
    """
    assert equivalent(
        "gene_(E, N) :- gene(E, N). gene_(E, N) :- d_gene(E, N).",
        'gene_(E, N) :- bioentry_(E, T, N), term_(T, "gene").',
        views,
    )


def test_example_9_a_rule_is_added() -> None:
    new = parsed("""
        g(G, N) :- bioentry(G, T, N), term(T, "gene").
        g(G, N) :- bioentry(G, T, N), term(S, "gene"), termsyn(T, S).
    """)
    plan = parsed("""
        g(G, N) :- gene(G, N).
        g(G, N) :- bioentry(G, T, N), term(S, "gene"), termsyn(T, S).
    """)
    assert plan in folded(new, "gene", GENE)


def test_example_10_delta_rules_are_found() -> None:
    """Unfolding, cancellation, and folding with bioentry'."""
    bioentry = "b(E, T, N) :- bioentry(E, T, N). b(E, T, N) :- d_bioentry(E, T, N)."
    term = "t(T, N) :- term(T, N). t(T, N) :- d_term(T, N)."
    change = parsed('d(G, N) :- b(G, T, N), t(T, "gene"). -d(G, N) :- gene(G, N).')
    unfolded = unfold(change, definitions(f"{bioentry} {term} {GENE}"))
    assert unfolded == parsed("""
        d(G, N) :- d_bioentry(G, T, N), term(T, "gene").
        d(G, N) :- bioentry(G, T, N), d_term(T, "gene").
        d(G, N) :- d_bioentry(G, T, N), d_term(T, "gene").
    """)
    plan = parsed("""
        d(G, N) :- d_bioentry(G, T, N), term(T, "gene").
        d(G, N) :- b(G, T, N), d_term(T, "gene").
    """)
    assert plan in folded(unfolded, "b", bioentry)


def test_examples_11_and_12_provenance_tables_are_more_views() -> None:
    views = """
        p1(E, T, N) :- bioentry(E, T, N), term(T, "gene").
        p2(G, N) :- gene(G, N), hasGene(G, 12).
        gene(E, N) :- p1(E, T, N).
    """
    assert equivalent("q(E, N) :- p1(E, T, N).", 'q(E, N) :- bioentry(E, T, N), term(T, "gene").', views)
    assert equivalent("q(G, N) :- p2(G, N).", 'q(G, N) :- bioentry(G, T, N), term(T, "gene"), hasGene(G, 12).', views)


def test_example_13_nothing_changed_and_a_column_is_found_again() -> None:
    old = """
        gene(E, N) :- bioentry(E, T, N), term(T, "gene").
        mousegene(G, N) :- gene(G, N), hasGene(G, M), orgname(M, "mus musculus").
    """
    new = unfold(
        parsed('q(G, N) :- g(G, T, N), hasGene(G, M), orgname(M, "mus musculus").'),
        definitions('g(E, T, N) :- bioentry(E, T, N), term(T, "gene").'),
    )
    mousegene = unfold(definitions(old)["mousegene"], definitions(old))
    assert parsed("q(G, N) :- mousegene(G, N).") in set(folds(new, "mousegene", mousegene))
    gene = parsed('g(E, T, N) :- bioentry(E, T, N), term(T, "gene").')
    assert not folded(gene, "gene", GENE), "T is projected away"
    provenance = 'p(E, T, N) :- bioentry(E, T, N), term(T, "gene").'
    assert folded(gene, "p", provenance) == {parsed("g(E, T, N) :- p(E, T, N).")}


def test_example_14_a_view_is_folded_with_a_remainder() -> None:
    query = parsed('q(X) :- r(X, Z), r(Z, "d"), t(X). q(X) :- r(X, "d"), r("d", Z), t(X).')
    view = """
        v(U, V) :- r(U, W), r(W, V).
        v(U, V) :- r(U, V), r(V, W).
        v(U, V) :- s(U, "c", V).
    """
    plan = parsed('q(X) :- v(X, "d"), t(X). -q(X) :- s(X, "c", "d"), t(X).')
    assert folded(query, "v", view) == {plan}
