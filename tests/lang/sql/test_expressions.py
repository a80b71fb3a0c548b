"""How expressions are read: as Spark reads them, or not at all. All results here are Spark's."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pytest

import whence
from whence.model.types import Value


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("ltrim('x', 'xxa')", "STRING", "a"),
        ("rtrim('a', 'bba')", "STRING", "bb"),
        ("trim('a', 'bba')", "STRING", "bb"),
        ("trim(LEADING 'x' FROM 'xxa')", "STRING", "a"),
        ("EXTRACT(SECOND FROM TIMESTAMP '2024-01-01 10:11:12.123456')", "DECIMAL(8,6)", Decimal("12.123456")),
        ("EXTRACT(DAYS FROM DATE '2024-01-09')", "INT", 9),
        ("second(TIMESTAMP '2024-01-01 10:11:12.123456')", "INT", 12),
        ("DATE '2024-01-02' + INTERVAL '1' DAY", "DATE", datetime.date(2024, 1, 3)),
        # A literal is as wide as its digits, and everything else as its type.
        ("CAST(1 AS DECIMAL(10,0)) / 3", "DECIMAL(16,6)", Decimal("0.333333")),
        ("CAST(1 AS DECIMAL(10,0)) / - 3", "DECIMAL(16,6)", Decimal("-0.333333")),
        ("CAST(1 AS DECIMAL(10,0)) / 3L", "DECIMAL(16,6)", Decimal("0.333333")),
        ("CAST(1 AS DECIMAL(10,0)) / (-(3))", "DECIMAL(21,11)", Decimal("-0.33333333333")),
        ("CAST(1 AS DECIMAL(10,0)) / CAST(3 AS INT)", "DECIMAL(21,11)", Decimal("0.33333333333")),
        ("CAST(1 AS DECIMAL(10,0)) / CAST(3 AS BIGINT)", "DECIMAL(31,21)", Decimal("0.333333333333333333333")),
        ("CAST(1 AS DECIMAL(10,0)) / three", "DECIMAL(21,11)", Decimal("0.33333333333")),
        ("5 + 5 || '1'", "STRING", "101"),
        ("1 - 2 || 3", "STRING", "-13"),
        ("+1.5", "DECIMAL(2,1)", Decimal("1.5")),
        ("+NULL", "DOUBLE", None),
        ("5 / NULL", "DOUBLE", None),
        ("1E3-1", "DOUBLE", 999.0),
        ("1E3-1E2+5L", "DOUBLE", 905.0),
        ("1e3BD", "DECIMAL(4,0)", Decimal(1000)),
        ("15L", "BIGINT", 15),
        ("2 = 2 BETWEEN false AND true", "BOOLEAN", True),
        ("1 = 2 IS NULL", "BOOLEAN", False),
        ("NOT 1 = 2 = false", "BOOLEAN", False),
    ],
)
def test_values(text: str, kind: str, value: Value) -> None:
    db = whence.connect()
    db.execute(f"CREATE VIEW v AS SELECT {text} AS x FROM (SELECT 3 AS three)")
    assert db.relation("v").columns[0].type.name == kind
    assert list(db.rows("v")) == [(value,)]
    # Written out and read again, it is the same.
    again = whence.connect()
    again.execute(db.definition("v"))
    assert again.relation("v").columns[0].type.name == kind
    assert list(again.rows("v")) == [(value,)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("'2024-01-02' + INTERVAL '1' DAY", "hint: CAST('2024-01-02' AS DATE) converts it"),
        ("'1' + '2'", "'+' does not work on STRING and STRING"),
        ("+DATE '2024-01-01'", "'+' must be a number, not DATE"),
        ("+array(1)", "'+' must be a number, not ARRAY<INT>"),
        ("2 BETWEEN 1 AND 3 = true", "'=' does not work on INT and BOOLEAN"),
        ("1 IN (1, 2) = true", "unexpected '='"),
        ("1 IS NULL = false", "unexpected '='"),
        ("1 BETWEEN 0 AND 2 IS NULL", "unexpected 'NULL'"),
        ("1 IS 1", "IS takes NULL, TRUE, FALSE or DISTINCT FROM"),
        ("EXTRACT(UPPER FROM 'a')", "EXTRACT(UPPER ...) is not supported"),
        ("coalesce(NULL, 'a', 1)", "the results of coalesce() have no type in common: STRING and INT"),
        ("CAST(CAST(NULL AS INT) AS ARRAY<INT>)", "there is no CAST from INT to ARRAY<INT>"),
        ("iff(true, 1, 2)", "iff(...) is not supported"),
        ("array_contains(array(1), NULL)", "array_contains() looks for a NULL in an ARRAY<INT>"),
        ("CASE WHEN NULL THEN 1 ELSE 2 END", "WHEN needs a condition, and NULL is never TRUE"),
        ("nvl(1, 2, 3)", "nvl() takes 2 arguments, not 3"),
        ("array(1) || NULL", "concat() joins arrays of one element type, not ARRAY<INT>, NULL"),
        # Of a column that is always NULL no type is known.
        ("NULL", "the type of column 'x' cannot be told: it is always NULL"),
        ("least(NULL, NULL)", "hint: give the NULL a type: CAST(NULL AS STRING)"),
        ("array()", "the type of column 'x' cannot be told: it is an array without any value"),
    ],
)
def test_refusals(text: str, message: str) -> None:
    with pytest.raises(whence.WhenceError) as caught:
        whence.connect().execute(f"CREATE VIEW v AS SELECT {text} AS x")
    assert message in str(caught.value)


def test_null_beside_a_type_has_that_type() -> None:
    db = whence.connect()
    db.execute("CREATE VIEW v AS SELECT 1 AS x UNION ALL SELECT NULL; CREATE VIEW w AS SELECT coalesce(NULL, 2L) AS x")
    assert [db.relation(name).columns[0].type.name for name in "vw"] == ["INT", "BIGINT"]
    assert set(db.rows("v")) == {(1,), (None,)}
