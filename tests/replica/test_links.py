"""Sites that meet over HTTP and in a folder, sites in directories, and the command."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import whence
from whence.cli.main import main
from whence.errors import StateError, WhenceError
from whence.replica.links import sync_folder
from whence.replica.messages import RefusedMessageError
from whence.replica.site import Site, open_site
from whence.web.site import ServedSite

TABLE = "CREATE TABLE r(a INT, b STRING, PRIMARY KEY (a, b))"


def sharing(name: str, path: Path | None = None) -> Site:
    site = whence.site(name, path)
    site.execute(TABLE)
    site.share("r")
    return site


def test_http_needs_the_token_and_carries_both_ways() -> None:
    one, two = sharing("one"), sharing("two")
    one.execute("CREATE VIEW v AS SELECT DISTINCT b FROM r")
    two.follow("one", "v")
    one.insert("r", [(number, f"row {number}") for number in range(30)])
    two.insert("r", [(-1, "from two")])
    with ServedSite(one, port=0) as served:
        for token in (None, "a wrong one"):
            with pytest.raises(RefusedMessageError, match="token is missing, or another one"):
                two.pull(served.url, token=token)
        with pytest.raises(RefusedMessageError, match="'two' has not been introduced to 'one'"):
            two.pull(served.url, token=served.token)
        assert len(one.rows("r")) == 30
        one.introduce("two")
        first = two.pull(served.url, token=served.token)
        assert one.rows("r") == two.rows("r") and len(one.rows("r")) == 31
        assert two.rows("v") == one.rows("v")
        again = two.pull(served.url, token=served.token)
        assert again.total < first.total
        with pytest.raises(RefusedMessageError, match="another site with the name"):
            sharing("one").pull(served.url, token=served.token)
    with pytest.raises(StateError, match="does not answer"):
        two.pull(served.url, token=served.token)
    with pytest.raises(WhenceError, match="no address of a site"):
        two.pull("ftp://base")


def test_https_with_a_certificate(tmp_path: Path) -> None:
    key, certificate = str(tmp_path / "key.pem"), str(tmp_path / "certificate.pem")
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate]
    if subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("openssl makes no certificate here")
    one, two = sharing("one"), sharing("two")
    one.insert("r", [(1, "secret")])
    one.introduce("two")
    with ServedSite(one, port=0, certificate=certificate, key=key) as served:
        assert served.url.startswith("https://")
        with pytest.raises(StateError, match="certificate"):
            two.pull(served.url, token=served.token)
        two.pull(served.url, token=served.token, certificate=certificate)
    assert two.rows("r") == {(1, "secret")}


def test_messages_in_a_folder(tmp_path: Path) -> None:
    sites = [sharing(name) for name in ("one", "two", "three")]
    for number, site in enumerate(sites):
        site.insert("r", [(number, site.name)])
        sync_folder(site, tmp_path)
    (reason, _) = sync_folder(sites[0], tmp_path).refused
    assert reason.endswith("'two' has not been introduced to 'one'") or "'three'" in reason
    for site in sites:
        site.introduce("one", "two", "three")
    for _ in range(3):
        for site in sites:
            assert sync_folder(site, tmp_path).refused == ()
    assert [site.rows("r") for site in sites] == [sites[0].rows("r")] * 3
    assert len(sites[0].rows("r")) == 3
    (tmp_path / "one" / "x.message").write_bytes(b"nothing")
    done = sync_folder(sites[0], tmp_path)
    assert done.refused == ("x.message: this is not a message of a site of whence",)
    assert not list((tmp_path / "one").glob("*.message"))


def test_a_directory_has_all_of_it(tmp_path: Path) -> None:
    one, edge = sharing("one", tmp_path / "one"), whence.site("edge", tmp_path / "edge")
    one.rules("v(b) :- r(_, b). w(b, count<a>) :- r(a, b).")
    edge.follow("one", "v")
    edge.follow("one", "w", name="counts")
    one.insert("r", [(1, "x"), (2, "x"), (3, "y")])
    edge.exchange(one)
    edge.rules("above(b) :- v(b), counts(b, n), n > 1.")
    for site in (one, edge):
        site.close()
    one, edge = open_site(tmp_path / "one"), open_site(tmp_path / "edge")
    assert edge.rows("v") == {("x",), ("y",)} and edge.rows("above") == {("x",)}
    before = edge.exchange(one)
    one.delete("r", [(1, "x"), (3, "y")])
    edge.exchange(one)
    assert edge.rows("v") == {("x",)} and edge.rows("counts") == {("x", 1)} and edge.rows("above") == set()
    # What was told before closing is not told again.
    assert before.total < 1_500
    one.close()
    with pytest.raises(StateError, match="the site in this directory is 'one', and not 'other'"):
        whence.site("other", tmp_path / "one")
    # A plain database may change the tables meanwhile.
    with whence.connect(tmp_path / "one") as db:
        db.insert("r", [(4, "z")])
    with open_site(tmp_path / "one") as one:
        edge.exchange(one)
        assert edge.rows("v") == {("x",), ("z",)}
    edge.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")
def test_killed_at_any_moment(tmp_path: Path) -> None:
    script = "import sys; from pathlib import Path; from benchmarks.replica_killing import run; "
    script += "print(*run(Path(sys.argv[1]), 6, 1))"
    # In a process of its own, which has no threads yet.
    command = [sys.executable, "-c", script, str(tmp_path)]
    acknowledged, _ = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    assert int(acknowledged) > 0


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "tables.sql"
    program.write_text(f"{TABLE}; CREATE VIEW v AS SELECT DISTINCT b FROM r;")
    one, two, folder = (str(tmp_path / name) for name in ("one", "two", "folder"))
    assert main(["site", "init", "one", one, "--program", str(program), "--share", "r"]) == 0
    assert main(["site", "init", "two", two, "--follow", "one:v=seen"]) == 0
    assert main(["site", "introduce", one, "two"]) == 0
    assert "follows seen: not met yet" in capsys.readouterr().out
    with open_site(one) as site:
        site.insert("r", [(1, "x")])
    Path(folder).mkdir()
    for directory in (one, two, one, two):
        assert main(["site", "sync", directory, folder]) == 0
    capsys.readouterr()
    assert main(["site", "status", two]) == 0
    assert "follows seen: 1 rows" in capsys.readouterr().out
    with open_site(one) as site, ServedSite(site, port=0) as served:
        site.insert("r", [(2, "y")])
        assert main(["site", "sync", two, served.url, "--token", served.token]) == 0
    with open_site(two) as site:
        assert site.rows("seen") == {("x",), ("y",)}
    assert main(["site", "forget", one, "two"]) == 0
    assert main(["site", "forget", one, "two"]) == 1
    assert main(["site", "status", folder]) == 1
    assert "there is no site in" in capsys.readouterr().err
