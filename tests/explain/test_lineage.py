"""Where columns come from, in the form of OpenLineage."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest

import whence
from whence.cli.main import main

SHOP = """
    CREATE TABLE orders(id INT COMMENT 'a number', customer STRING, total DECIMAL(10, 2));
    CREATE TABLE customer(name STRING, country STRING);
    CREATE VIEW big AS SELECT id, customer, total FROM orders WHERE total > 10;
    CREATE VIEW per_country AS
      SELECT c.country, count(*) AS n, sum(b.total) AS total
      FROM big b LEFT JOIN customer c ON b.customer = c.name GROUP BY c.country;
    CREATE VIEW ranked AS SELECT country, row_number() OVER (ORDER BY total DESC) AS place FROM per_country;
"""


def columns(event: dict[str, Any]) -> dict[str, list[str]]:
    fields = event["outputs"][0]["facets"]["columnLineage"]["fields"]
    return {name: [f"{each['name']}.{each['field']}" for each in of["inputFields"]] for name, of in fields.items()}


@pytest.fixture
def shop() -> whence.Database:
    db = whence.connect()
    db.execute(SHOP)
    db.insert("orders", [(1, "ann", 20)])
    return db


def test_columns_through_joins_groups_and_windows(shop: whence.Database) -> None:
    events = shop.lineage("ranked")
    assert [event["job"]["name"] for event in events] == ["big", "per_country", "ranked"]
    assert [[each["name"] for each in event["inputs"]] for event in events] == [
        ["orders"],
        ["customer", "big"],
        ["per_country"],
    ]
    assert columns(events[0]) == {"id": ["orders.id"], "customer": ["orders.customer"], "total": ["orders.total"]}
    assert columns(events[1]) == {"country": ["customer.country"], "n": [], "total": ["big.total"]}
    assert columns(events[2]) == {"country": ["per_country.country"], "place": ["per_country.total"]}


def test_a_recursion_that_is_asked_for_rows() -> None:
    db = whence.connect()
    db.rules("""
        .decl link(src: symbol, dst: symbol)
        r(x, y) :- link(x, y).
        r(x, y) :- link(x, z), r(z, y).
        v(y) :- r("a", y).
        .output v
    """)
    (event,) = db.lineage("v")
    assert [each["name"] for each in event["inputs"]] == ["link"]
    assert columns(event) == {"y": ["link.dst"]}


def test_the_form_of_an_event(shop: whence.Database) -> None:
    """As the schema of OpenLineage 2-0-2 asks for it."""
    event = json.loads(json.dumps(shop.lineage("big", "prod")[0]))
    assert event["schemaURL"] == "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
    assert event["eventType"] == "COMPLETE"
    assert event["eventTime"].endswith("+00:00")
    assert UUID(event["run"]["runId"]).version == 5
    assert {event["job"]["namespace"], *(each["namespace"] for each in event["inputs"])} == {"prod"}
    assert event["inputs"][0]["facets"]["schema"]["fields"] == [
        {"name": "id", "type": "INT", "description": "a number"},
        {"name": "customer", "type": "STRING"},
        {"name": "total", "type": "DECIMAL(10,2)"},
    ]
    (output,) = event["outputs"]
    assert output["outputFacets"]["outputStatistics"]["rowCount"] == 1
    assert event["job"]["facets"]["sql"]["query"] == "SELECT id, customer, total FROM orders WHERE total > 10"
    facets = [*event["job"]["facets"].items(), *output["facets"].items(), *output["outputFacets"].items()]
    for name, facet in facets:
        assert facet["_producer"].startswith("https://")
        assert name.lower() in facet["_schemaURL"].lower()


def test_a_run_is_a_version(shop: whence.Database) -> None:
    first = shop.lineage("big")[0]["run"]
    assert shop.lineage("big")[0]["run"] == first
    shop.insert("orders", [(2, "bob", 30)])
    assert shop.lineage("big")[0]["run"] != first


def test_the_command_writes_one_event_in_a_line(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "shop.sql"
    program.write_text(SHOP)
    assert main(["explain", str(program), "ranked", "--openlineage", "prod"]) == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [event["job"]["name"] for event in events] == ["big", "per_country", "ranked"]
