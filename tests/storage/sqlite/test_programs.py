"""Programs of many kinds are understood again as they were."""

from __future__ import annotations

from pathlib import Path

import whence

TESTS = Path(__file__).parents[2]
TPCH = sorted((TESTS / "tpch").glob("q*.sql"))
PAPERS = sorted(path for path in (TESTS / "papers").glob("*.dl") if "distance" not in path.read_text())


def test_tpch(tmp_path: Path) -> None:
    with whence.connect(tmp_path) as db:
        db.execute((TESTS / "tpch" / "schema.sql").read_text())
        for path in TPCH:
            db.execute(path.read_text())
        catalog = db.catalog()
    with whence.connect(tmp_path) as db:
        assert db.catalog() == catalog
        assert len(catalog.views) >= len(TPCH)


def test_the_programs_of_the_papers(tmp_path: Path) -> None:
    for path in PAPERS:
        with whence.connect(tmp_path / path.stem) as db:
            db.rules(path.read_text(), directory=path.parent)
            catalog = db.catalog()
            contents = {name: db.table(name) for name in catalog.relations}
        with whence.connect(tmp_path / path.stem) as db:
            assert db.catalog() == catalog
            assert {name: db.table(name) for name in catalog.relations} == contents
