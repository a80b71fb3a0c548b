"""DEFAULT, CHECK, UNIQUE, REFERENCES, VARCHAR(n): checked at every commit, and told with the rows that break them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import whence

CUSTOMER = "CREATE TABLE customer(id INT PRIMARY KEY, name VARCHAR(5) DEFAULT 'anon', email STRING UNIQUE)"
ORDERS = """CREATE TABLE orders(
    id INT,
    customer INT REFERENCES customer(id),
    amount INT DEFAULT 10 CHECK (amount > 0),
    CONSTRAINT small CHECK (amount < 1000 AND id > 0),
    UNIQUE (id, customer)
)"""


@pytest.fixture(params=["local", "reference"])
def db(request: pytest.FixtureRequest) -> Iterator[whence.Database]:
    with whence.connect(engine=request.param) as made:
        made.execute(f"{CUSTOMER}; {ORDERS}")
        made.insert("customer", [(1, "ada", "a@x"), (2, "bob", None)])
        yield made


class TestViolations:
    def test_a_check_names_the_row_and_the_condition(self, db: whence.Database) -> None:
        with pytest.raises(
            whence.DataError, match=r"a row of 'orders' does not pass its CHECK: \(1, 1, -5\)"
        ) as caught:
            db.insert("orders", [(2, 1, 7), (1, 1, -5)])
        assert "amount > 0" in str(caught.value)
        assert db.rows("orders") == set()

    def test_null_passes_a_check(self, db: whence.Database) -> None:
        db.insert("orders", [(1, None, None)])
        assert db.rows("orders") == {(1, None, None)}

    def test_unique_names_both_rows(self, db: whence.Database) -> None:
        with pytest.raises(whence.DataError, match="two rows of 'customer' have the same email") as caught:
            db.insert("customer", [(3, "cyd", "a@x")])
        assert "(3, 'cyd', 'a@x')" in str(caught.value)
        assert "the other row is (1, 'ada', 'a@x')" in str(caught.value)

    def test_copies_are_not_unique(self, db: whence.Database) -> None:
        with pytest.raises(whence.DataError, match="two rows of 'orders' have the same id, customer"):
            db.insert("orders", [(1, 1, 5), (1, 1, 5)])

    def test_rows_without_a_value_are_unique(self, db: whence.Database) -> None:
        db.insert("customer", [(3, "cyd", None), (4, "dan", None)])
        assert len(db.rows("customer")) == 4

    def test_a_row_that_refers_to_nothing(self, db: whence.Database) -> None:
        with pytest.raises(whence.DataError, match=r"refers by customer to no row of 'customer': \(1, 9, 5\)"):
            db.insert("orders", [(1, 9, 5)])

    def test_a_row_that_others_refer_to_stays(self, db: whence.Database) -> None:
        db.insert("orders", [(1, 1, 5)])
        with pytest.raises(whence.DataError, match=r"to no row of 'customer': \(1, 1, 5\)") as caught:
            db.delete("customer", [(1,)])
        assert "the row that it refers to went: (1, 'ada', 'a@x')" in str(caught.value)
        assert (1, "ada", "a@x") in db.rows("customer")

    def test_both_may_come_and_go_in_one_batch(self, db: whence.Database) -> None:
        with db.batch() as batch:
            batch.insert("orders", [(1, 9, 5)])
            batch.insert("customer", [(9, "eve", None)])
        with db.batch() as batch:
            batch.delete("customer", [(9,)])
            batch.delete("orders", [(1, 9, 5)])
        assert db.rows("orders") == set()

    def test_a_value_may_move_from_row_to_row_in_one_batch(self, db: whence.Database) -> None:
        db.execute("UPDATE customer SET email = CASE id WHEN 1 THEN NULL ELSE 'a@x' END")
        assert db.rows("customer") == {(1, "ada", None), (2, "bob", "a@x")}

    def test_varchar(self, db: whence.Database) -> None:
        with pytest.raises(whence.DataError, match="more characters in name than its VARCHAR"):
            db.insert("customer", [(3, "toolong", None)])
        db.insert("customer", [(3, "\u00e4\u00f6\u00fc\u00df!", None)])

    def test_the_database_goes_on_after_a_refusal(self, db: whence.Database) -> None:
        db.execute("CREATE VIEW total AS SELECT customer, sum(amount) AS amount FROM orders GROUP BY customer")
        version = db.insert("orders", [(1, 1, 5)]).version
        for row in [(2, 7, 5), (1, 1, 6), (3, 1, 0)]:
            with pytest.raises(whence.DataError):
                db.insert("orders", [row])
        assert db.insert("orders", [(2, 1, 6)]).version == version + 1
        assert db.rows("total") == {(1, 11)}

    def test_a_table_that_refers_to_itself(self) -> None:
        db = whence.connect()
        db.execute("CREATE TABLE staff(id INT PRIMARY KEY, boss INT REFERENCES staff)")
        db.insert("staff", [(2, 1), (1, None)])
        with pytest.raises(whence.DataError, match="refers by boss to no row of 'staff'"):
            db.delete("staff", [(1,)])

    def test_many_rows_as_columns(self) -> None:
        db = whence.connect()
        db.execute("CREATE TABLE t(id BIGINT UNIQUE, x BIGINT CHECK (x >= 0))")
        rows = pa.table({"id": range(20_000), "x": range(20_000)})
        db.insert("t", rows)
        with pytest.raises(whence.DataError, match=r"the same id, which is UNIQUE: \(7, 7\)"):
            db.insert("t", pa.table({"id": [*range(20_000, 40_000), 7], "x": [*range(20_000), 7]}))
        with pytest.raises(whence.DataError, match=r"does not pass its CHECK: \(50000, -1\)"):
            db.insert("t", pa.table({"id": range(30_001, 50_001), "x": [*range(19_999), -1]}))
        assert len(db.rows("t")) == 20_000


class TestDefaults:
    @pytest.mark.parametrize(
        "change",
        [
            lambda db: db.execute("INSERT INTO orders(id, customer) VALUES (1, 1)"),
            lambda db: db.execute("INSERT INTO orders VALUES (1, 1, DEFAULT)"),
            lambda db: db.execute("INSERT INTO orders(id, customer) SELECT 1, id FROM customer WHERE id = 1"),
            lambda db: db.insert("orders", [{"id": 1, "customer": 1}]),
            lambda db: db.execute(
                "MERGE INTO orders o USING customer c ON o.customer = c.id "
                "WHEN NOT MATCHED AND c.id = 1 THEN INSERT (id, customer) VALUES (1, c.id)"
            ),
        ],
    )
    def test_what_is_left_out(self, db: whence.Database, change: Callable[[whence.Database], object]) -> None:
        change(db)
        assert db.rows("orders") == {(1, 1, 10)}

    def test_set_to_default(self, db: whence.Database) -> None:
        db.insert("orders", [(1, 1, 5)])
        db.execute("UPDATE orders SET amount = DEFAULT")
        assert db.rows("orders") == {(1, 1, 10)}

    def test_an_added_column_keeps_its_default(self, db: whence.Database) -> None:
        db.insert("orders", [(1, 1, 5)])
        db.execute("ALTER TABLE orders ADD COLUMN paid BOOLEAN DEFAULT false")
        db.execute("INSERT INTO orders(id) VALUES (2)")
        assert db.rows("orders") == {(1, 1, 5, False), (2, None, 10, False)}

    def test_types(self) -> None:
        db = whence.connect()
        db.execute(
            "CREATE TABLE t(a INT, d DATE DEFAULT DATE '2026-01-31', m DECIMAL(6,2) DEFAULT 1.5, "
            "t TIMESTAMP DEFAULT TIMESTAMP '2026-01-31 12:00:00', x DOUBLE DEFAULT 2, l ARRAY<INT> DEFAULT array(1, 2))"
        )
        db.execute("INSERT INTO t(a) VALUES (1)")
        db.execute("INSERT INTO t(a) SELECT 1")
        assert len(db.rows("t")) == 1


class TestDefinitions:
    def test_they_are_there_after_opening_again(self, tmp_path: Path) -> None:
        with whence.connect(tmp_path) as db:
            db.execute(f"{CUSTOMER}; {ORDERS}")
            db.insert("customer", [(1, "ada", "a@x")])
            db.execute("ALTER TABLE orders RENAME COLUMN amount TO total")
        with whence.connect(tmp_path) as db:
            db.execute("INSERT INTO orders(id, customer) VALUES (1, 1)")
            assert db.rows("orders") == {(1, 1, 10)}
            for row in [(2, 7, 5), (1, 1, 6), (3, 1, 0)]:
                with pytest.raises(whence.DataError):
                    db.insert("orders", [row])
            with pytest.raises(whence.DataError, match=r"UNIQUE: \(1, 1, 6\)"):
                db.insert("orders", [(1, 1, 6)])

    def test_what_is_referred_to_cannot_be_dropped(self, db: whence.Database) -> None:
        with pytest.raises(whence.StateError, match="'customer' cannot be dropped: it is in use by 'orders'"):
            db.execute("DROP TABLE customer")
        db.execute("DROP TABLE orders; DROP TABLE customer")

    def test_a_column_of_a_constraint_cannot_be_dropped(self, db: whence.Database) -> None:
        with pytest.raises(whence.StateError, match="reads column 'amount' of 'orders'"):
            db.execute("ALTER TABLE orders DROP COLUMN amount")

    def test_other_columns_come_and_go(self, db: whence.Database) -> None:
        db.insert("orders", [(1, 1, 5)])
        db.execute("ALTER TABLE orders ADD COLUMN note STRING")
        with pytest.raises(whence.DataError, match="CHECK"):
            db.insert("orders", [(2, 1, 0, "x")])
        db.execute("ALTER TABLE orders DROP COLUMN note")
        with pytest.raises(whence.DataError, match="CHECK"):
            db.insert("orders", [(2, 1, 0)])

    def test_explain_shows_what_is_kept(self, db: whence.Database) -> None:
        assert "a table, a bag of 0 rows" in db.explain("orders")


def test_random_changes_are_refused_exactly_where_they_break_something() -> None:
    chooser = random.Random(17)
    db = whence.connect()
    db.execute(
        "CREATE TABLE p(id INT PRIMARY KEY, x INT);"
        "CREATE TABLE c(a INT, p INT REFERENCES p(id), v INT CHECK (v <> 3), UNIQUE (a))"
    )
    parents: dict[int, int] = {}
    children: Counter[tuple[int | None, int | None, int]] = Counter()
    refused = 0
    for _ in range(400):
        after, there = dict(parents), children.copy()
        numbers = [None, *range(40)]
        coming = [(chooser.choice(numbers), chooser.choice([None, 1, 2, 3]), chooser.randrange(12))]
        going = chooser.sample(sorted(there.elements(), key=repr), min(there.total(), chooser.randrange(3)))
        key = chooser.randrange(1, 4)
        with_parent = chooser.random() < 0.4
        if with_parent and key in after:
            del after[key]
        elif with_parent:
            after[key] = 0
        there = there - Counter(going) + Counter(coming)
        taken = Counter(a for a, _, _ in there.elements() if a is not None)
        is_right = (
            all(p is None or p in after for _, p, _ in there)
            and all(v != 3 for _, _, v in there)
            and all(count == 1 for count in taken.values())
        )
        try:
            with db.batch() as batch:
                batch.delete("c", going)
                batch.insert("c", coming)
                if with_parent and key in parents:
                    batch.delete("p", [(key,)])
                elif with_parent:
                    batch.insert("p", [(key, 0)])
        except whence.DataError:
            assert not is_right
            refused += 1
        else:
            assert is_right
            parents, children = after, there
        assert db.rows("p") == set(parents.items())
        assert db.rows("c") == set(children)
    assert 50 < refused < 350
