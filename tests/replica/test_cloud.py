"""A site on Spark: many sites leave files, the cluster merges them, and its views go back."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

import whence
from whence.cli.main import main
from whence.errors import DataError, UnsupportedError
from whence.replica.site import Site, open_site
from whence.replica.uploads import upload

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from whence.replica.cloud import CloudSite

TABLE = "CREATE TABLE sighting(who STRING, place STRING, PRIMARY KEY (who, place))"
COLUMNS = "who STRING NOT NULL, place STRING NOT NULL"


def edge(name: str) -> Site:
    site = whence.site(name)
    site.execute(TABLE)
    site.share("sighting")
    return site


def cloud_at(spark: SparkSession, folder: Path) -> CloudSite:
    from whence.replica.cloud import CloudSite
    from whence.spark.database import SparkDatabase

    db = whence.connect(spark)
    assert isinstance(db, SparkDatabase)
    cloud = CloudSite("cloud", db, folder)
    cloud.share("sighting", COLUMNS)
    return cloud


def test_many_sites_and_their_views(spark: SparkSession, tmp_path: Path) -> None:
    chance = Random(3)
    edges = [edge(f"edge{number}") for number in range(4)]
    for site in edges[:2]:
        site.execute("CREATE VIEW seen AS SELECT DISTINCT who FROM sighting")
    cloud = cloud_at(spark, tmp_path)
    cloud.follow("seen", "who STRING NOT NULL")
    cloud.db.execute("CREATE VIEW busy AS SELECT DISTINCT place, count(*) AS people FROM sighting GROUP BY place")
    cloud.publish("busy")
    for site in edges:
        site.follow("cloud", "busy")
    for site in edges:
        for _ in range(20):
            row = (f"p{chance.randrange(5)}", f"x{chance.randrange(4)}")
            if chance.random() < 0.6:
                site.insert("sighting", [row])
            else:
                site.delete("sighting", [row], missing="ignore")
        upload(site, tmp_path, ["seen"] if site in edges[:2] else [])
        if chance.random() < 0.5:
            site.exchange(chance.choice([other for other in edges if other is not site]))
    # Sites that meet may change what they tell: who was no member yet counts as newer than what was collected.
    for site in edges:
        upload(site, tmp_path, ["seen"] if site in edges[:2] else [])
    cloud.take_available()
    # All of it once more: what is known stays as it is.
    again = cloud.db.df("sighting_lengths").sparkSession.read.parquet(str(tmp_path / "sighting"))
    commit = cloud.merge("sighting", again)
    assert not commit.inserted and not commit.deleted
    assert cloud.db.rows("sighting") == _merged(edges)
    for one in edges:
        for other in edges:
            if one is not other:
                one.exchange(other)
        upload(one, tmp_path, ["seen"] if one in edges[:2] else [])
    cloud.take_available()
    assert cloud.db.rows("sighting") == edges[0].rows("sighting")
    assert cloud.db.rows("seen") == edges[0].rows("seen")
    for site in edges:
        site.exchange(cloud.site)
        assert site.rows("busy") == cloud.db.rows("busy")
    gone = next(iter(edges[0].rows("sighting")))
    edges[0].delete("sighting", [gone])
    upload(edges[0], tmp_path, ["seen"])
    cloud.take_available()
    traffic = edges[3].exchange(cloud.site)
    assert edges[3].rows("busy") == cloud.db.rows("busy") and traffic.total < 3_000
    assert gone not in cloud.db.rows("sighting")
    cloud.close()
    cloud.db.close()


def _merged(edges: list[Site]) -> set[tuple[object, ...]]:
    """Of each row the greatest length that any site knows: all have left what they knew."""
    lengths: dict[str, int] = {}
    for site in edges:
        for each in site.augmented.knowledge.lengths.values():
            if each.space == "sighting":
                lengths[each.text] = max(each.length, lengths.get(each.text, 0))
    read = edges[0].augmented.shared["sighting"].row
    return {read(text) for text, length in lengths.items() if length % 2}


def test_the_commands(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, directory = str(tmp_path / "landing"), str(tmp_path / "phone")
    program, views = tmp_path / "tables.sql", tmp_path / "views.sql"
    program.write_text(TABLE)
    views.write_text("CREATE VIEW people AS SELECT DISTINCT who FROM sighting")
    assert main(["site", "init", "phone", directory, "--program", str(program), "--share", "sighting"]) == 0
    with open_site(directory) as site:
        site.insert("sighting", [("Ann", "hut"), ("Ann", "lake")])
    assert main(["site", "upload", directory, folder]) == 0
    assert f"left 2 pieces in {folder}" in capsys.readouterr().out
    command = ["site", "cloud", "cloud", folder, "--program", str(views), "--publish", "people", "--once"]
    assert main([*command, "--table", "sighting"]) == 1
    assert "write 'NAME(COLUMN TYPE, ...)'" in capsys.readouterr().err
    assert main([*command, "--table", f"sighting({COLUMNS})"]) == 0
    assert "merged sighting: 2 rows" in capsys.readouterr().out
    assert spark.version


def test_what_is_left_is_remembered_until_then(tmp_path: Path) -> None:
    one, two = edge("one"), edge("two")
    one.insert("sighting", [("Ann", "hut")])
    assert upload(one, tmp_path) == 1 and upload(one, tmp_path) == 0
    two.exchange(one)
    one.delete("sighting", [("Ann", "hut")])
    for _ in range(3):
        two.exchange(one)
    # The other one has collected it; this one still has to tell the cloud.
    assert two.status().gone == 0 and one.status().gone == 1
    assert upload(one, tmp_path) == 1
    two.exchange(one)
    assert one.status().gone == 0
    assert f"files in {tmp_path}" in str(one.status())


def test_what_cannot_be_left(tmp_path: Path) -> None:
    one, two = edge("one"), whence.site("two")
    one.execute("CREATE VIEW counts AS SELECT DISTINCT who, count(*) AS n FROM sighting GROUP BY who")
    one.rules('lonely(who) :- sighting(who, _), !sighting(who, "hut").')
    upload(one, tmp_path)
    two.execute("CREATE TABLE sighting(who STRING, place INT, PRIMARY KEY (who, place))")
    two.share("sighting")
    with pytest.raises(DataError, match="column 2 is place INT NOT NULL at 'two' and place STRING NOT NULL at 'one'"):
        upload(two, tmp_path)
    one.insert("sighting", [("Ann", "lake")])
    for view in ("counts", "lonely"):
        with pytest.raises(UnsupportedError, match=f"'{view}' rests on an aggregate or on the absence of rows"):
            upload(one, tmp_path, [view])
