"""Commits as JSON lines."""

from __future__ import annotations

import json
import logging

import pytest

import whence
from whence.logs import JsonLines


def test_a_commit_in_a_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "whence")
    db = whence.connect()
    db.execute("CREATE TABLE t(x STRING); CREATE VIEW v AS SELECT x FROM t")
    db.insert("t", [("a",), ("b",)])
    told = json.loads(JsonLines().format(caplog.records[-1]))
    assert told["level"] == "info"
    assert told["message"] == "version 3, rows in: 2, rows out: 2"
    assert (told["version"], told["inserted"], told["deleted"]) == (3, {"t": 2, "v": 2}, {})
    assert told["seconds"] > 0
    assert told["time"].endswith("+00:00")


def test_what_went_wrong_has_its_traceback() -> None:
    logger = logging.getLogger("whence.test")
    try:
        raise ValueError("ü")
    except ValueError:
        import sys

        record = logger.makeRecord("whence", logging.ERROR, "", 0, "%s failed", ("it",), sys.exc_info())
    told = json.loads(JsonLines().format(record))
    assert told["message"] == "it failed"
    assert "ValueError: ü" in told["error"]


def test_without_those_who_listen_nothing_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "whence")
    whence.connect().execute("CREATE TABLE t(x STRING)")
    assert not caplog.records
