"""Every value comes back as what it was, in rows and in change feeds."""

from __future__ import annotations

import datetime
import decimal
import tempfile

from hypothesis import example, given, settings
from hypothesis import strategies as st

import whence

TYPES = {
    "STRING": st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    "INT": st.integers(-(2**31), 2**31 - 1),
    "BIGINT": st.integers(-(2**63), 2**63 - 1),
    "DOUBLE": st.floats(allow_nan=False, allow_infinity=False),
    "DECIMAL(38,6)": st.decimals(-(10**31), 10**31, places=6, allow_nan=False),
    "BOOLEAN": st.booleans(),
    "DATE": st.dates(),
    "TIMESTAMP": st.datetimes(),
    "INTERVAL YEAR TO MONTH": st.integers(-(2**31), 2**31 - 1),
    "INTERVAL DAY TO SECOND": st.timedeltas(datetime.timedelta(days=-106751990), datetime.timedelta(days=106751990)),
    "ARRAY<STRING>": st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=3), max_size=3),
    "ARRAY<ARRAY<DOUBLE>>": st.lists(
        st.none() | st.lists(st.none() | st.floats(allow_nan=False, allow_infinity=False), max_size=2), max_size=2
    ),
    "ARRAY<DATE>": st.lists(st.none() | st.dates(), max_size=2),
    "ARRAY<DECIMAL(5,2)>": st.lists(st.none() | st.decimals(-999, 999, places=2), max_size=2),
    "ARRAY<BOOLEAN>": st.lists(st.none() | st.booleans(), max_size=2),
    "ARRAY<ARRAY<TIMESTAMP>>": st.lists(st.none() | st.lists(st.none() | st.datetimes(), max_size=2), max_size=2),
}
ROWS = st.lists(st.tuples(*(st.none() | values for values in TYPES.values())), min_size=1, max_size=4)
FULL = (
    *("\0'\"\N{SNOWMAN}", -(2**31), 2**63 - 1, 5e-324, decimal.Decimal("-0.000001"), False, datetime.date.min),
    *(
        datetime.datetime.max,
        -(2**31),
        datetime.timedelta(microseconds=1 - 2**63),
        ["", "\0"],
        [[1e300, None], None],
        [datetime.date.max],
        [decimal.Decimal("-0.01")],
    ),
    *([True, None], [[datetime.datetime.min]]),
)


@settings(max_examples=30)
@example([FULL, (None,) * len(FULL), FULL])
@given(ROWS)
def test_rows_and_changes(rows: list[tuple[object, ...]]) -> None:
    columns = ", ".join(f"c{at} {kind}" for at, kind in enumerate(TYPES))
    with tempfile.TemporaryDirectory() as directory:
        with whence.connect(directory) as db:
            db.execute(f"CREATE TABLE t({columns}); CREATE VIEW v AS SELECT * FROM t")
            db.insert("t", rows)
            contents = db.table("t")
            written = set(map(repr, db.rows("t")))
        with whence.connect(directory) as db:
            assert db.table("t") == db.table("v") == contents
            for name in ("t", "v"):
                feed = db.changes(name)
                assert feed.select(contents.column_names) == contents
            # Rows are found again by their values, whatever they are.
            db.delete("t", rows[:1])
            db.insert("t", rows[:1])
            assert db.table("t") == contents
        with whence.connect(directory) as db:
            assert db.table("t") == contents
            assert set(map(repr, db.rows("t"))) == set(map(repr, db.rows("v"))) == written
            db.delete("t", rows)
        with whence.connect(directory) as db:
            assert len(db.table("t")) == len(db.table("v")) == 0
