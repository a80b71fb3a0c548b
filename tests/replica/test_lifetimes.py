"""Rows of shared tables that leave by themselves, at a time that they bring along."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest

import whence
from whence.errors import UnsupportedError
from whence.replica.site import Site

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
TABLE = """
CREATE TABLE ping(host STRING, at TIMESTAMP, PRIMARY KEY (host, at))
    TBLPROPERTIES ('ttl' = '10 minutes', 'ttl_column' = 'at')
"""


def minute(number: int) -> datetime:
    return NOON + timedelta(minutes=number)


def sharing(name: str) -> Site:
    site = whence.site(name)
    site.execute(TABLE)
    site.share("ping")
    return site


def hosts(site: Site) -> set[object]:
    return {row[0] for row in site.rows("ping")}


def test_who_is_first_makes_a_row_leave_everywhere() -> None:
    base, phone = sharing("base"), sharing("phone")
    base.execute("CREATE VIEW alive AS SELECT DISTINCT host FROM ping")
    phone.follow("base", "alive")
    base.insert("ping", [("a", minute(0)), ("b", minute(5))])
    phone.exchange(base)
    assert phone.rows("alive") == {("a",), ("b",)}
    phone.advance(minute(11))
    assert (hosts(phone), hosts(base)) == ({"b"}, {"a", "b"})
    phone.exchange(base)
    assert (hosts(base), phone.rows("alive")) == ({"b"}, {("b",)})
    base.advance(minute(11))
    phone.exchange(base)
    assert hosts(base) == hosts(phone) == {"b"}


def test_a_row_that_comes_after_its_time_is_told_on_as_gone() -> None:
    base, phone = sharing("base"), sharing("phone")
    base.advance(minute(60))
    phone.insert("ping", [("a", minute(0)), ("b", minute(59))])
    phone.exchange(base)
    assert hosts(base) == {"b"}
    phone.exchange(base)
    assert hosts(phone) == {"b"}


@pytest.mark.parametrize("seed", range(8))
def test_all_agree_in_the_end(seed: int) -> None:
    chance = random.Random(seed)
    sites = [sharing(name) for name in ("one", "two", "three")]
    clocks = [0, 0, 0]
    for _ in range(25):
        at = chance.randrange(3)
        kind = chance.random()
        if kind < 0.5:
            sites[at].insert("ping", [(chance.choice("abc"), minute(clocks[at] + chance.randint(-9, 9)))])
        elif kind < 0.65:
            clocks[at] += chance.randint(1, 8)
            sites[at].advance(minute(clocks[at]))
        else:
            sites[at].exchange(sites[at - 1])
    latest = max(clocks)
    for _ in range(3):
        for at in range(3):
            sites[at].exchange(sites[at - 1])
    assert sites[0].rows("ping") == sites[1].rows("ping") == sites[2].rows("ping")
    for site in sites:
        site.advance(minute(latest + 100))
        assert site.rows("ping") == set()


def test_what_leaves_at_another_time_at_each_site_is_not_shared() -> None:
    site = whence.site("base")
    site.execute("CREATE TABLE t(a INT, PRIMARY KEY (a)) TBLPROPERTIES ('ttl' = '10 minutes')")
    with pytest.raises(UnsupportedError, match="at each site at another time"):
        site.share("t")
