"""Search and rescue: `python examples/rescue/rescue.py` runs it, and shows it at http://127.0.0.1:8760.

Phones, a drone, a base and the cloud share what they find. Devices lose their connection and find it again, by
themselves or with a click; each goes on with what it knows, and they agree when they meet.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import whence

PAGE = Path(__file__).parent / "rescue.html"
TABLES = """
CREATE TABLE person(name STRING, x INT, y INT, state STRING, PRIMARY KEY (name));
CREATE TABLE clue(x INT, y INT, what STRING, PRIMARY KEY (x, y, what));
"""
# Who is missing near a clue: the base computes it, phones follow it and compute no such thing.
NEAR = """
CREATE VIEW near AS SELECT DISTINCT name, what FROM person JOIN clue
ON person.x - clue.x BETWEEN -12 AND 12 AND person.y - clue.y BETWEEN -12 AND 12 WHERE state = 'missing'
"""
PEOPLE = ("Ann", "Bob", "Cid", "Dot", "Eve", "Fay", "Gus", "Hal")
STATES = ("missing", "seen", "safe")
FINDS = ("glove", "tent", "fire", "track")


class Mission:
    """Five sites, and who of them is online."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)  # noqa: S311 - chance is not a secret here
        self.sites = {name: whence.site(name) for name in ("cloud", "base", "drone", "phone1", "phone2")}
        self.online = dict.fromkeys(self.sites, True)
        self.log: list[str] = []
        self.lock = threading.Lock()
        for site in self.sites.values():
            site.execute(TABLES)
            site.share("person")
            site.share("clue")
        base = self.sites["base"]
        base.execute(NEAR)
        for phone in ("phone1", "phone2"):
            self.sites[phone].follow("base", "near", name="cases")
        draw = self._chance.randrange
        base.insert("person", [(name, draw(100), draw(100), "missing") for name in PEOPLE])
        self.meet()

    def step(self) -> None:
        with self.lock:
            if self._chance.random() < 0.25:
                self.switch(self._chance.choice(("drone", "phone1", "phone2")))
            self._find(self._chance.choice(("drone", "phone1", "phone2")))
            self.meet()

    def switch(self, name: str) -> None:
        self.online[name] = not self.online[name]
        self._note(f"{name} is {'online' if self.online[name] else 'offline'}")

    def meet(self) -> None:
        """Devices meet the base, and the base the cloud."""
        for name in ("drone", "phone1", "phone2", "cloud"):
            if self.online[name] and self.online["base"]:
                traffic = self.sites[name].exchange(self.sites["base"])
                if traffic.total > 4_000:
                    self._note(f"{name} and base exchange {traffic.total:,} bytes")

    def state(self) -> dict[str, object]:
        with self.lock:
            return {"sites": [self._told(name) for name in self.sites], "log": self.log[-14:][::-1]}

    def _find(self, name: str) -> None:
        site, draw = self.sites[name], self._chance.randrange
        if name == "drone":
            clue = (draw(100), draw(100), self._chance.choice(FINDS))
            site.insert("clue", [clue])
            self._note(f"drone finds a {clue[2]}")
            return
        person = self._chance.choice(PEOPLE)
        if draw(2):
            site.update("person", person, {"x": draw(100), "y": draw(100)})
            self._note(f"{name} moves {person} on the map")
        else:
            state = self._chance.choice(STATES)
            site.update("person", person, {"state": state})
            self._note(f"{name} reports {person} {state}")

    def _told(self, name: str) -> dict[str, object]:
        site, status = self.sites[name], self.sites[name].status()
        cases = "cases" if name.startswith("phone") else "near" if name == "base" else None
        return {
            "name": name,
            "online": self.online[name],
            "people": sorted(site.rows("person")),
            "clues": sorted(site.rows("clue")),
            "cases": [] if cases is None else sorted(site.rows(cases)),
            "known": status.lengths,
            "gone": status.gone,
            # Whom this site has something to tell, as far as it knows.
            "behind": {peer: each.behind for peer, each in status.peers.items() if each.behind > 0},
        }

    def _note(self, text: str) -> None:
        self.log.append(text)


def serve(mission: Mission, port: int) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/state":
                self._answer(json.dumps(mission.state()).encode(), "application/json")
            elif self.path == "/":
                self._answer(PAGE.read_bytes(), "text/html; charset=utf-8")
            else:
                self.send_error(404)

        def do_POST(self) -> None:
            name = self.path.removeprefix("/switch/")
            if name in mission.sites:
                with mission.lock:
                    mission.switch(name)
                self._answer(b"{}", "application/json")
            else:
                self.send_error(404)

        def _answer(self, body: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Requests are nothing for the terminal."""

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8760)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=10_000, help="how many things happen, one a second")
    options = parser.parse_args()
    mission = Mission(options.seed)
    server = serve(mission, options.port)
    sys.stdout.write(f"The mission is at http://127.0.0.1:{server.server_port} - Ctrl-C ends it.\n")
    sys.stdout.flush()
    try:
        for _ in range(options.steps):
            mission.step()
            time.sleep(1.0)
    except KeyboardInterrupt:
        pass
    server.shutdown()


if __name__ == "__main__":
    main()
