"""DESCRIBE and SHOW, asked with db.query."""

from __future__ import annotations

import pytest

import whence

TABLES = """
CREATE TABLE customer(id INT PRIMARY KEY, name VARCHAR(5) DEFAULT 'anon' COMMENT 'who', code STRING UNIQUE);
CREATE TABLE orders(
    id INT,
    customer BIGINT REFERENCES customer(id),
    code STRING,
    amount DECIMAL(8,2) DEFAULT 10 CHECK (amount > 0 OR id = 1),
    CONSTRAINT small CHECK (amount < 1000 AND id > 0),
    UNIQUE (id, customer),
    FOREIGN KEY (code) REFERENCES customer(code)
) COMMENT 'all of them';
CREATE VIEW total AS SELECT customer, sum(amount) AS amount
  FROM orders GROUP BY customer;
"""


@pytest.fixture
def db() -> whence.Database:
    made = whence.connect()
    made.execute(TABLES)
    return made


def rows(db: whence.Database, text: str) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in db.query(text).to_pylist()]


def test_describe(db: whence.Database) -> None:
    assert rows(db, "DESCRIBE customer") == [("id", "int", ""), ("name", "string", "who"), ("code", "string", "")]
    assert rows(db, "desc table total;") == [("customer", "bigint", ""), ("amount", "decimal(18,2)", "")]
    assert db.query("DESCRIBE customer", limit=1).num_rows == 1


def test_describe_extended(db: whence.Database) -> None:
    told = rows(db, "DESCRIBE EXTENDED orders")
    assert ("Comment", "all of them", "") in told
    assert "Default of amount" in [name for name, _, _ in told]
    assert [text for name, text, _ in told if name == "Constraint"] == [
        "FOREIGN KEY (customer) REFERENCES customer(id)",
        "CHECK (amount > 0 OR id = 1)",
        "CONSTRAINT small CHECK (amount < 1000 AND id > 0)",
        "UNIQUE (id, customer)",
        "FOREIGN KEY (code) REFERENCES customer(code)",
    ]


def test_show(db: whence.Database) -> None:
    assert rows(db, "SHOW TABLES") == [("default", name, False) for name in ("customer", "orders", "total")]
    assert [name for _, name, _ in rows(db, "SHOW TABLES LIKE 'c*|tot*'")] == ["customer", "total"]
    assert rows(db, "SHOW VIEWS") == [("default", "total", False, True)]
    assert rows(db, "SHOW COLUMNS IN total") == [("customer",), ("amount",)]
    assert rows(db, "SHOW TABLES LIKE 'nothing'") == []


def test_create_table_reads_back(db: whence.Database) -> None:
    again = whence.connect()
    for name in ("customer", "orders", "total"):
        ((text,),) = rows(db, f"SHOW CREATE TABLE {name}")
        again.execute(str(text))
        assert rows(again, f"SHOW CREATE TABLE {name}") == [(text,)]
        assert rows(again, f"DESCRIBE EXTENDED {name}") == rows(db, f"DESCRIBE EXTENDED {name}")
    with pytest.raises(whence.DataError, match="does not pass its CHECK"):
        again.insert("customer", [(1, "toolong", None)])


def test_what_is_not_known(db: whence.Database) -> None:
    with pytest.raises(whence.ParseError, match="SHOW GRANTS is not known"):
        db.query("SHOW GRANTS")
    with pytest.raises(whence.UnknownNameError, match="there is no relation 'nothing'"):
        db.query("DESCRIBE nothing")
    with pytest.raises(whence.UnsupportedError, match=r"does not know the statement SHOW") as caught:
        db.execute("SHOW TABLES")
    assert "db.query answers it" in str(caught.value)
