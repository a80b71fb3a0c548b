"""Answers on a replica name the site and the update that each row rests on."""

from __future__ import annotations

import whence
from whence.replica.site import Site


def sharing(name: str) -> Site:
    site = whence.site(name)
    site.execute("CREATE TABLE seen(person STRING, place STRING, PRIMARY KEY (person, place))")
    site.share("seen")
    return site


def test_the_rows_of_a_proof_name_their_sites() -> None:
    phone, base = sharing("phone"), sharing("base")
    base.execute("CREATE TABLE open(place STRING, PRIMARY KEY (place))")
    base.execute("CREATE VIEW safe AS SELECT DISTINCT person FROM seen JOIN open ON seen.place = open.place")
    phone.insert("seen", [("Ann", "hut"), ("Bob", "lake")])
    base.insert("open", [("hut",)])
    base.exchange(phone)
    told = {each.relation: each for each in base.origins(base.why("safe", ("Ann",)))}
    assert [(row.site, row.update) for row in told["seen"].rests_on] == [("phone", 1)]
    assert str(told["seen"]) == "seen('Ann', 'hut'): update 1 of phone, seen[\"Ann\",\"hut\"]"
    assert str(told["open"]) == "open('hut',): of this site alone"


def test_rows_of_a_followed_view_rest_on_updates_of_others() -> None:
    phone, base, cloud = sharing("phone"), sharing("base"), whence.site("cloud")
    base.execute("CREATE VIEW people AS SELECT DISTINCT person FROM seen")
    cloud.follow("base", "people")
    phone.insert("seen", [("Ann", "hut")])
    base.exchange(phone)
    cloud.exchange(base)
    cloud.execute("CREATE VIEW count_of AS SELECT DISTINCT person FROM people")
    (origin,) = cloud.origins(cloud.why("count_of", ("Ann",)))
    assert [(row.site, row.space) for row in origin.rests_on] == [("phone", "seen")]


def test_what_would_change_names_sites_as_well() -> None:
    phone, base = sharing("phone"), sharing("base")
    phone.insert("seen", [("Ann", "hut")])
    base.exchange(phone)
    (origin,) = base.origins(base.what_if(delete={"seen": [("Ann", "hut")]}))
    assert [row.site for row in origin.rests_on] == ["phone"]
    (fresh,) = base.origins(base.what_if(insert={"seen": [("Cid", "hut")]}))
    assert fresh.rests_on == ()


def test_what_is_missing_names_who_deleted_it() -> None:
    phone, base, drone = sharing("phone"), sharing("base"), sharing("drone")
    base.execute("CREATE VIEW people AS SELECT DISTINCT person FROM seen WHERE place = 'hut'")
    phone.insert("seen", [("Ann", "hut"), ("Bob", "lake")])
    base.exchange(phone)
    drone.exchange(base)  # is away afterwards, so that what goes is remembered
    phone.delete("seen", [("Ann", "hut")])
    base.exchange(phone)
    (origin,) = base.origins(base.why_not("people", ("Ann",)))
    assert str(origin) == "seen('Ann', 'hut'): update 3 of phone, seen[\"Ann\",\"hut\"], which deleted it"
    (never,) = base.origins(base.why_not("people", ("Bob",)))
    assert str(never) == "seen('Bob', 'hut'): nobody is remembered to have had it"
