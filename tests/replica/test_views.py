"""Followed views beside everything else that a database does."""

from __future__ import annotations

from pathlib import Path

import pytest

import whence
from whence.errors import EvaluationError
from whence.replica.site import open_site


def test_other_definitions_come_and_go_beside_a_view_that_is_followed(tmp_path: Path) -> None:
    base, edge = whence.site("base", tmp_path), whence.site("edge")
    base.execute("""
        CREATE TABLE r(x INT, y INT, PRIMARY KEY (x, y));
        CREATE TABLE private(x INT, PRIMARY KEY (x));
        CREATE VIEW v AS SELECT DISTINCT x FROM r;
        CREATE VIEW other AS SELECT DISTINCT y FROM r;
    """)
    base.share("r")
    base.insert("r", [(1, 2)])
    edge.follow("base", "v")
    edge.exchange(base)
    base.execute("CREATE VIEW later AS SELECT DISTINCT v.x FROM v JOIN private ON v.x = private.x")
    base.execute("CREATE OR REPLACE VIEW other AS SELECT DISTINCT y + 1 AS y FROM r")
    base.execute("DROP VIEW other")
    base.insert("r", [(3, 4)])
    edge.exchange(base)
    assert edge.rows("v") == {(1,), (3,)}
    assert sorted(base.catalog().relations) == ["later", "private", "r", "v"]
    base.close()
    base = open_site(tmp_path)
    base.delete("r", [(1, 2)])
    edge.exchange(base)
    assert edge.rows("v") == {(3,)}
    # Rows of a table that is not shared are told as the base's own.
    edge.follow("base", "later")
    base.insert("private", [(3,)])
    edge.exchange(base)
    assert edge.rows("later") == {(3,)}
    (support,) = edge.supports("later", (3,))
    assert {str(row) for row in support} == {"base:private[3], inserted at base", "r[3,4], inserted at base"}
    base.delete("private", [(3,)])
    edge.exchange(base)
    assert edge.rows("later") == set()
    base.close()


@pytest.mark.parametrize("opened_again", [False, True])
def test_rows_that_a_view_cannot_take_wait_until_it_can(tmp_path: Path, *, opened_again: bool) -> None:
    one, two = whence.site("one"), whence.site("two", tmp_path)
    for site in (one, two):
        site.execute("CREATE TABLE r(x INT, PRIMARY KEY (x))")
        site.share("r")
    two.execute("CREATE VIEW inverse AS SELECT DISTINCT 10 DIV x AS i FROM r")
    one.insert("r", [(0,), (5,)])
    with pytest.raises(EvaluationError):
        two.exchange(one)
    assert two.rows("r") == set()
    # It goes on meanwhile, though each change tries again, and tells why it cannot.
    with pytest.raises(EvaluationError):
        two.insert("r", [(2,)])
    assert two.rows("r") == {(2,)}
    if opened_again:
        two.close()
        open_site(tmp_path).close()
        two = open_site(tmp_path)
        assert "rows from other sites wait" in two.notices[-1]
    two.execute("DROP VIEW inverse")
    assert two.rows("r") == {(0,), (2,), (5,)}
    one.exchange(two)
    assert one.rows("r") == two.rows("r")
    two.close()
