"""The paper's Figure 1 with six sites, its Tables 1 and 2, and the three questions of its section 2."""

from __future__ import annotations

from itertools import permutations
from typing import TypeAlias

import pytest

import whence
from whence.algebra.causal import is_in
from whence.model.types import Row
from whence.replica.site import Site

R0 = "CREATE TABLE r0(a STRING, b STRING, c STRING, PRIMARY KEY (a, b, c))"
FIRST, SECOND = ("a1", "b1", "c1"), ("a2", "b1", "c1")
Sites: TypeAlias = dict[str, Site]


def figure_1() -> Sites:
    """R0 at s0 and s1; R2 and R3 are projections of each, R4 of either; R5 joins one of the former with R4."""
    sites = {f"s{number}": whence.site(f"s{number}") for number in range(6)}
    s0, s1, s2, s3, s4, s5 = sites.values()
    for base in (s0, s1):
        base.execute(R0)
        base.share("r0")
    s2.follow("s0", "r0")
    s3.follow("s1", "r0")
    s4.follow("s0", "r0")
    s4.follow("s1", "r0")
    s5.follow("s2", "r2", name="r23")
    s5.follow("s3", "r3", name="r23")
    s5.follow("s4", "r4")
    s0.insert("r0", [FIRST])
    s0.exchange(s1)
    for edge, base in ((s2, s0), (s3, s1), (s4, s0), (s4, s1)):
        edge.exchange(base)
    s2.execute("CREATE VIEW r2 AS SELECT DISTINCT a, b FROM r0")
    s3.rules("r3(a, b) :- r0(a, b, _).")
    s4.execute("CREATE VIEW r4 AS SELECT DISTINCT b, c FROM r0")
    for source in (s2, s3, s4):
        s5.exchange(source)
    s5.execute("CREATE VIEW r5 AS SELECT DISTINCT r23.a, r23.b, r4.c FROM r23 JOIN r4 ON r23.b = r4.b")
    return sites


def meet(sites: Sites, *pairs: tuple[str, str]) -> None:
    for one, other in pairs:
        sites[one].exchange(sites[other])


EVERYONE = (("s0", "s1"), ("s2", "s0"), ("s3", "s1"), ("s4", "s0"), ("s4", "s1"), *[("s5", f"s{n}") for n in (2, 3, 4)])


def contents(sites: Sites) -> list[set[Row]]:
    places = (("s0", "r0"), ("s1", "r0"), ("s2", "r2"), ("s3", "r3"), ("s4", "r4"), ("s5", "r23"), ("s5", "r5"))
    return [sites[site].rows(name) for site, name in places]


def test_table_1() -> None:
    sites = figure_1()
    initial = [{FIRST}, {FIRST}, {FIRST[:2]}, {FIRST[:2]}, {FIRST[1:]}, {FIRST[:2]}, {FIRST}]
    both, pairs = {FIRST, SECOND}, {FIRST[:2], SECOND[:2]}
    assert contents(sites) == initial
    sites["s0"].insert("r0", [SECOND])
    meet(sites, *EVERYONE)
    assert contents(sites) == [both, both, pairs, pairs, {FIRST[1:]}, pairs, both]
    sites["s1"].delete("r0", [SECOND])
    meet(sites, *EVERYONE)
    assert contents(sites) == initial


def test_a_deletion_that_comes_from_two_replicas_is_one_deletion() -> None:
    """The first question: R4 has (b1, c1) by two tuples, and hears twice that one of them is gone."""
    sites = figure_1()
    sites["s0"].insert("r0", [SECOND])
    meet(sites, ("s0", "s1"), ("s4", "s0"))
    sites["s0"].delete("r0", [SECOND])
    meet(sites, ("s0", "s1"))
    for base in ("s1", "s0", "s1"):
        meet(sites, ("s4", base))
        assert sites["s4"].rows("r4") == {FIRST[1:]}
    sites["s0"].delete("r0", [FIRST])
    meet(sites, ("s4", "s0"))
    assert sites["s4"].rows("r4") == set()


@pytest.mark.parametrize("order", [("s0", "s1"), ("s1", "s0")])
def test_of_concurrent_updates_the_one_that_has_seen_more_wins(order: tuple[str, str]) -> None:
    """The second: s0 inserts; s1, apart from it, inserts the same and deletes it again."""
    sites = figure_1()
    sites["s0"].insert("r0", [SECOND])
    sites["s1"].insert("r0", [SECOND])
    sites["s1"].delete("r0", [SECOND])
    for base in order:
        meet(sites, ("s4", base))
    assert sites["s4"].rows("r0") == {FIRST}
    meet(sites, ("s0", "s1"))
    assert sites["s0"].rows("r0") == sites["s1"].rows("r0") == {FIRST}


def test_a_deletion_from_one_view_counts_for_the_same_row_of_another() -> None:
    """The third: s5 has the insertion from s2, and the deletion from s3, which never speaks with s2."""
    sites = figure_1()
    sites["s0"].insert("r0", [SECOND])
    meet(sites, ("s0", "s1"), ("s2", "s0"), ("s3", "s1"), ("s4", "s0"), ("s5", "s2"), ("s5", "s4"))
    assert sites["s5"].rows("r5") == {FIRST, SECOND}
    sites["s1"].delete("r0", [SECOND])
    meet(sites, ("s3", "s1"), ("s5", "s3"))
    assert sites["s5"].rows("r5") == {FIRST}
    # And s2, which still has it, does not bring it back.
    assert sites["s2"].rows("r2") == {FIRST[:2], SECOND[:2]}
    meet(sites, ("s5", "s2"))
    assert sites["s5"].rows("r5") == {FIRST}


def test_all_meetings_in_any_order() -> None:
    for order in list(permutations(EVERYONE[:5]))[::7]:
        sites = figure_1()
        sites["s0"].insert("r0", [SECOND])
        sites["s1"].delete("r0", [FIRST])
        meet(sites, *order, *reversed(order), *EVERYONE)
        assert contents(sites) == [{SECOND}, {SECOND}, {SECOND[:2]}, {SECOND[:2]}, {SECOND[1:]}, {SECOND[:2]}, {SECOND}]


def test_table_2() -> None:
    site = whence.site("s0")
    site.execute("CREATE TABLE r(a STRING, b STRING, c STRING, PRIMARY KEY (a, b, c))")
    site.share("r")
    site.rules("""
        r1(a, b) :- r(a, b, _).
        r2(b, c) :- r(_, b, c).
        r3(a, c) :- r1(a, b), r2(b, c).
    """)
    tuples = {"t1": ("a1", "b", "c1"), "t2": ("a1", "b", "c2"), "t3": ("a2", "b", "c2")}
    site.insert("r", tuples.values())
    names = {f'["{a}","{b}","{c}"]': name for name, (a, b, c) in tuples.items()}

    def reduced(relation: str, row: tuple[str, ...]) -> set[frozenset[str]]:
        return {frozenset(names[base.text] for base in support) for support in site.supports(relation, row)}

    assert reduced("r1", ("a1", "b")) == {frozenset({"t1"}), frozenset({"t2"})}
    assert reduced("r1", ("a2", "b")) == {frozenset({"t3"})}
    assert reduced("r2", ("b", "c2")) == {frozenset({"t2"}), frozenset({"t3"})}
    assert reduced("r3", ("a1", "c1")) == {frozenset({"t1"})}
    assert reduced("r3", ("a1", "c2")) == {frozenset({"t1", "t3"}), frozenset({"t2"})}
    assert reduced("r3", ("a2", "c1")) == {frozenset({"t1", "t3"})}
    assert reduced("r3", ("a2", "c2")) == {frozenset({"t3"})}
    # Section 7: t1 inserted, t2 deleted, t3 deleted and inserted again.
    site.delete("r", [tuples["t2"], tuples["t3"]])
    site.insert("r", [tuples["t3"]])
    lengths = {base.text: base.length for base in site.supports("r3", ("a1", "c2"))[1]}
    assert {names[text]: length for text, length in lengths.items()} == {"t1": 1, "t3": 3}
    assert is_in(frozenset(reduced("r3", ("a1", "c2"))), {"t1": 1, "t2": 2, "t3": 3})
    assert ("a1", "c2") in site.rows("r3")
