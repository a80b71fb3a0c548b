"""Names with a schema: `sales.orders`."""

from __future__ import annotations

from pathlib import Path

import pytest

import whence

SCRIPT = """
CREATE SCHEMA IF NOT EXISTS sales;
CREATE TABLE sales.customer(id INT PRIMARY KEY, name STRING);
CREATE TABLE sales.orders(id INT, customer INT REFERENCES sales.customer(id), amount INT CHECK (amount > 0));
CREATE TABLE default.orders(id INT);
CREATE VIEW sales.total AS SELECT c.name, sum(orders.amount) AS amount
  FROM sales.orders JOIN sales.customer c ON sales.orders.customer = c.id GROUP BY c.name;
"""


def filled(db: whence.Database) -> whence.Database:
    db.execute(SCRIPT)
    db.execute("INSERT INTO sales.customer VALUES (1, 'ada'), (2, 'bob')")
    db.insert("sales.orders", [(1, 1, 5), (2, 1, 7)])
    db.execute("UPDATE sales.orders SET amount = orders.amount + 1 WHERE orders.id = 1")
    db.execute(
        "MERGE INTO sales.orders USING sales.customer ON orders.customer = customer.id "
        "WHEN NOT MATCHED THEN INSERT (id, customer, amount) VALUES (3, customer.id, 9)"
    )
    db.execute("DELETE FROM sales.orders WHERE orders.id = 2")
    return db


@pytest.mark.parametrize("engine", ["local", "reference"])
def test_statements_views_and_queries(engine: str) -> None:
    with filled(whence.connect(engine=engine)) as db:
        assert db.rows("sales.total") == {("ada", 6), ("bob", 9)}
        assert db.rows("orders") == set()
        assert db.query("SELECT sum(orders.amount) AS a FROM sales.orders").to_pylist() == [{"a": 15}]
        assert db.query("SELECT o.id FROM sales.orders AS o WHERE o.amount > 6").to_pylist() == [{"id": 3}]
        assert db.notices == ("the schema 'sales' is the first part of names, and needs no making",)
        with pytest.raises(whence.DataError, match=r"refers by customer to no row of 'sales.customer'"):
            db.delete("sales.customer", [(1,)])


def test_it_is_there_after_opening_again(tmp_path: Path) -> None:
    with filled(whence.connect(tmp_path)):
        pass
    with whence.connect(tmp_path) as db:
        db.execute("INSERT INTO sales.orders VALUES (4, 2, 1)")
        assert db.rows("sales.total") == {("ada", 6), ("bob", 10)}
        db.execute("ALTER TABLE sales.orders ADD COLUMN note STRING")
        db.execute("DROP VIEW sales.total; DROP TABLE sales.orders; DROP TABLE sales.customer; DROP SCHEMA sales")


def test_show() -> None:
    with filled(whence.connect()) as db:
        names = [tuple(row.values())[:2] for row in db.query("SHOW TABLES").to_pylist()]
        assert names == [("default", "orders"), ("sales", "customer"), ("sales", "orders"), ("sales", "total")]
        assert [row["tableName"] for row in db.query("SHOW TABLES IN sales LIKE 'o*'").to_pylist()] == ["orders"]
        assert db.query("DESCRIBE sales.total").num_rows == 2


def test_names_of_three_parts_are_refused() -> None:
    db = whence.connect()
    with pytest.raises(whence.UnsupportedError, match="a catalog name is not supported"):
        db.execute("CREATE TABLE main.sales.orders(id INT)")


def test_what_has_a_schema_is_no_query_of_with() -> None:
    with filled(whence.connect()) as db:
        for name, sql in (
            ("orders", "WITH orders AS (SELECT 1 AS id) SELECT * FROM default.orders"),
            ("sales.orders", "WITH `sales.orders` AS (SELECT 1 AS id) SELECT * FROM sales.orders"),
        ):
            for run in (db.query, lambda text: db.execute(f"CREATE VIEW v AS {text}")):
                with pytest.raises(whence.UnsupportedError, match=f"'{name}' is a query of WITH here as well"):
                    run(sql)
        assert db.query("WITH orders AS (SELECT * FROM sales.orders) SELECT count(*) AS n FROM orders").to_pylist() == [
            {"n": 2}
        ]
        with pytest.raises(whence.UnknownNameError, match=r"there is no relation 'csv.x'"):
            db.query("SELECT * FROM csv.x")
