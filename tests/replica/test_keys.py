"""Tables with a key: columns that were written last, by causal order, are what all sites have in the end."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

import whence
from whence.replica.site import Site

TABLE = "CREATE TABLE person(id INT, place STRING, state STRING, PRIMARY KEY (id))"


def sharing(*names: str) -> list[Site]:
    sites = [whence.site(name) for name in names]
    for site in sites:
        site.execute(TABLE)
        site.share("person")
    return sites


def test_columns_that_two_sites_change_are_both_changed() -> None:
    one, two = sharing("one", "two")
    one.insert("person", [(1, "hut", "well")])
    one.exchange(two)
    one.update("person", 1, {"place": "lake"})
    two.update("person", 1, {"state": "tired"})
    one.exchange(two)
    two.exchange(one)
    assert one.rows("person") == two.rows("person") == {(1, "lake", "tired")}


def test_of_one_column_the_last_writer_wins() -> None:
    one, two = sharing("one", "two")
    one.insert("person", [(1, "hut", "well")])
    one.exchange(two)
    one.update("person", 1, {"place": "lake"})
    two.update("person", 1, {"place": "ridge"})
    # One more change has seen more.
    two.update("person", 1, {"place": "peak"})
    two.exchange(one)
    one.exchange(two)
    assert one.rows("person") == two.rows("person") == {(1, "peak", "well")}


def test_two_rows_for_one_key_become_one_also_for_followers() -> None:
    one, two = sharing("one", "two")
    edge = whence.site("edge")
    one.execute("CREATE VIEW places AS SELECT DISTINCT place FROM person")
    edge.follow("one", "places")
    one.insert("person", [(1, "hut", "well")])
    edge.exchange(one)
    two.insert("person", [(1, "lake", "lost")])
    one.exchange(two)
    two.exchange(one)
    edge.exchange(one)
    assert one.rows("person") == two.rows("person") and len(one.rows("person")) == 1
    assert edge.rows("places") == one.rows("places")


def test_an_update_outlives_a_concurrent_delete() -> None:
    one, two = sharing("one", "two")
    one.insert("person", [(1, "hut", "well")])
    one.exchange(two)
    one.delete("person", [(1, "hut", "well")])
    two.update("person", 1, {"state": "tired"})
    one.exchange(two)
    two.exchange(one)
    assert one.rows("person") == two.rows("person") == {(1, "hut", "tired")}


@settings(max_examples=60)
@given(st.integers(0, 2**32))
def test_all_agree_in_the_end(seed: int) -> None:
    chance = random.Random(seed)
    sites = sharing("one", "two", "three")
    for _ in range(15):
        site = chance.choice(sites)
        key = chance.randint(0, 1)
        held = [row for row in site.rows("person") if row[0] == key]
        what = chance.random()
        if what < 0.4:
            site.exchange(chance.choice([other for other in sites if other is not site]))
        elif what < 0.55 and held:
            site.delete("person", held)
        elif held and what < 0.8:
            site.update("person", key, {chance.choice(("place", "state")): chance.choice("abc")})
        else:
            site.upsert("person", [(key, chance.choice("abc"), chance.choice("abc"))])
    for _ in range(3):
        for one in sites:
            for other in sites:
                if one is not other:
                    one.exchange(other)
    assert [site.rows("person") for site in sites] == [sites[0].rows("person")] * 3
    assert len({row[0] for row in sites[0].rows("person")}) == len(sites[0].rows("person"))
