"""Sites that lost count of each other compare what they know, and tell each other what differs."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import whence
from tests.replica import small_world
from whence.replica import comparison
from whence.replica.links import Traffic
from whence.replica.messages import RefusedMessageError
from whence.replica.site import Site
from whence.replica.summary import Part, PrefixSums, Summaries

PLACES = st.integers(0, 2**64 - 1) | st.integers(0, 5)


@given(st.lists(st.dictionaries(PLACES, st.integers(0, 2**64 - 1) | st.just(0), max_size=8), max_size=12), PLACES)
def test_sums_are_those_of_what_is_there(changes: list[dict[int, int]], edge: int) -> None:
    sums, there = PrefixSums(), dict[int, int]()
    for change in changes:
        if change:
            sums.put(np.array([*change], np.uint64), np.array([*change.values()], np.uint64))
        there.update(change)
        there = {place: mark for place, mark in there.items() if mark}
        for first, last in ((0, 2**64 - 1), (0, edge), (edge, edge), (edge, 2**64 - 1)):
            inside = {place: mark for place, mark in there.items() if first <= place <= last}
            (number,), (count,) = sums.totals(np.array([first], np.uint64), np.array([last], np.uint64))
            assert (int(number), int(count)) == (sum(inside.values()) % 2**64, len(inside))
            places, prints = sums.inside(first, last)
            assert dict(zip(places.tolist(), prints.tolist(), strict=True)) == inside


def lose_count(*sites: Site) -> None:
    """As if what they noted about others had been lost."""
    for site in sites:
        site.membership.peers.clear()
        site.membership.members.clear()
        for vector in site.augmented.seen.values():
            vector.clear()


def readings(*names: str) -> list[Site]:
    sites = [whence.site(name) for name in names]
    for site in sites:
        site.execute("CREATE TABLE reading(region INT, number INT, PRIMARY KEY (region, number))")
        site.share("reading")
    return sites


def total(one: Site, other: Site) -> int:
    traffic: Traffic = one.exchange(other)
    return traffic.total


def test_tables_that_are_known_from_others() -> None:
    one, two, three = readings("one", "two", "three")
    one.insert("reading", [(number % 90, number) for number in range(20_000)])
    everything = total(two, one)
    total(three, one)
    # Two and three never met. What each has seen is enough to know that nothing is to be told.
    assert total(two, three) < 3_000
    lose_count(two, three)
    assert total(two, three) < 6_000 < everything / 10
    two.delete("reading", [(number % 90, number) for number in range(40)])
    three.insert("reading", [(-1, number) for number in range(40)])
    lose_count(two, three)
    assert total(two, three) < everything / 2
    assert two.rows("reading") == three.rows("reading") and len(two.rows("reading")) == 20_000


def test_a_part_that_a_query_defines() -> None:
    base, phone = readings("base")[0], whence.site("phone")
    base.execute("CREATE VIEW mine AS SELECT DISTINCT number FROM reading WHERE region = 7")
    base.execute(
        "CREATE VIEW pairs AS SELECT DISTINCT a.number, b.region FROM reading a JOIN reading b ON a.number = b.number"
    )
    base.insert("reading", [(number % 90, number) for number in range(9_000)])
    base.insert("reading", [(7, number) for number in range(3_000)])
    phone.follow("base", "mine")
    everything = total(phone, base)
    base.delete("reading", [(7, number) for number in range(1_000, 1_010) if number % 90 != 7])
    base.insert("reading", [(8, number) for number in range(50_000, 55_000)])
    base.insert("reading", [(7, number) for number in range(50_000, 50_010)])
    lose_count(phone)
    assert total(phone, base) < everything / 4
    assert phone.rows("mine") == base.rows("mine")
    # One more view: what is known of the first is not told again.
    base.execute("CREATE VIEW low AS SELECT DISTINCT number FROM reading WHERE region = 7 AND number < 20")
    phone.follow("base", "low")
    assert total(phone, base) < everything / 4
    assert phone.rows("low") == base.rows("low") and phone.rows("mine") == base.rows("mine")


def test_more_is_missing_than_one_message_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whence.replica.conversation.BATCH_ITEMS", 300)
    monkeypatch.setattr(comparison, "QUERIES", 7)
    one, two = readings("one", "two")
    one.insert("reading", [(number % 9, number) for number in range(3_000)])
    two.insert("reading", [(number % 9, number) for number in range(2_000, 4_500)])
    two.exchange(one)
    assert one.rows("reading") == two.rows("reading") and len(one.rows("reading")) == 4_500


def test_only_what_is_shared_or_followed_can_be_compared() -> None:
    one, two = readings("one", "two")
    one.execute("CREATE TABLE secret(a INT, PRIMARY KEY (a))")
    one.share("secret")
    for site in (one, two):
        site.insert("reading", [(int(site.name == "one"), number) for number in range(1_000)])
    two.handle(one.handle(two.ask("one")) or b"")
    request = two.conversation.request("one")
    assert request.round
    request.queries.append(request.queries[0]._replace(part=Part("rows", "secret")))
    with pytest.raises(RefusedMessageError, match="compares what it neither shares nor follows"):
        one.conversation.answer(request)


def test_summaries_follow_what_is_collected() -> None:
    one, two = readings("one", "two")
    one.insert("reading", [(1, number) for number in range(50)])
    two.exchange(one)
    summaries = one.conversation.summaries
    part = Part("rows", "reading")
    assert summaries.total(part, "").pieces == 50
    one.delete("reading", [(1, number) for number in range(0, 50, 2)])
    for _ in range(3):
        two.exchange(one)
    assert one.status().gone == 0
    assert summaries.total(part, "") == Summaries(one.augmented.knowledge).total(part, "")
    assert summaries.total(part, "").pieces == 25


@pytest.mark.parametrize("part", range(4))
def test_worlds_in_which_sites_lose_count(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "WORTH_COMPARING", 0)
    monkeypatch.setattr(comparison, "FEW", part % 2)
    for seed in random.Random(part).sample(range(10**9), 40):
        small_world.run(seed, steps=40, forgets=0.1)
