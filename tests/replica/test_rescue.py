"""The example: devices that go off and on again agree in the end, and the page gets what it shows."""

from __future__ import annotations

import json
from urllib.request import Request, urlopen

from examples.rescue.rescue import Mission, serve


def test_the_mission_agrees_in_the_end() -> None:
    mission = Mission(seed=3)
    for _ in range(25):
        mission.step()
    mission.online = dict.fromkeys(mission.sites, True)
    mission.meet()
    mission.meet()
    cloud, base = mission.sites["cloud"], mission.sites["base"]
    for site in mission.sites.values():
        assert site.rows("person") == cloud.rows("person") and len(site.rows("person")) == 8
        assert site.rows("clue") == cloud.rows("clue")
    for phone in ("phone1", "phone2"):
        assert mission.sites[phone].rows("cases") == base.rows("near")


def test_the_page() -> None:
    mission = Mission(seed=1)
    server = serve(mission, 0)
    try:
        address = f"http://127.0.0.1:{server.server_port}"
        with urlopen(address) as page:
            assert b"Search and rescue" in page.read()
        switch = Request(f"{address}/switch/phone1", method="POST")  # noqa: S310
        urlopen(switch).close()  # noqa: S310
        with urlopen(f"{address}/state") as answer:  # noqa: S310
            state = json.load(answer)
        assert {site["name"]: site["online"] for site in state["sites"]}["phone1"] is False
    finally:
        server.shutdown()
        server.server_close()
