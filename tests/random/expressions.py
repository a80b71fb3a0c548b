"""Random typed SQL expressions over the columns that are in scope.

A kind is what an expression's type means for the comparison with DuckDB:

    INT DECIMAL DOUBLE STRING BOOLEAN DATE   exact, the same value in both
    REAL    a DOUBLE with the same bits in both, but not one to add up: the order of adding would show
    ROUGH   a quotient or average of DECIMALs, which is a DECIMAL in Spark and a DOUBLE in DuckDB: only for output
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from tests.random.tables import VALUES, literal

KINDS = ("INT", "STRING", "DECIMAL", "DOUBLE", "BOOLEAN", "DATE")
COMPARISONS = ("=", "=", "=", "!=", "<>", "<", "<=", ">", ">=", "<=>", "IS DISTINCT FROM", "IS NOT DISTINCT FROM")
PATTERNS = ("'a%'", "'%b'", "'_'", "'%'", "'a_'", "''", "'%A%'")

_VALUES = {
    "INT": VALUES["INT"],
    "DECIMAL": VALUES["DECIMAL(5,2)"],
    **{kind: VALUES[kind] for kind in ("STRING", "DOUBLE", "BOOLEAN", "DATE")},
}


def kind_of(sql_type: str) -> str:
    if sql_type.startswith("DECIMAL"):
        return "DECIMAL"
    return "INT" if sql_type == "BIGINT" else sql_type


@dataclass(frozen=True)
class Ref:
    """A column that can be read, by the text that names it. `plain`: its type is the table's, not a computed one."""

    text: str
    kind: str
    plain: bool = False


# What makes a subquery: a condition over it, or its one value of a kind.
Subqueries = Callable[["Expressions", str, int], str | None]


class Expressions:
    def __init__(self, rng: Random, scope: Sequence[Ref], subquery: Subqueries | None = None) -> None:
        self.rng = rng
        self.scope = scope
        self.subquery = subquery

    def make(self, kind: str, depth: int) -> str:
        """An expression of the kind. At depth 0 a column or a constant."""
        if self.subquery is not None and depth > 0 and self.rng.random() < 0.12:
            found = self.subquery(self, kind, depth - 1)
            if found is not None:
                return found
        if depth <= 0 or self.rng.random() < 0.35:
            return self.leaf(kind)
        made = self.rng.choice((*_MAKERS[kind], *_ANY))(self, kind, depth - 1)
        # DuckDB refuses chains such as a = b = c.
        return f"({made})" if kind == "BOOLEAN" else made

    def leaf(self, kind: str) -> str:
        columns = [ref.text for ref in self.scope if ref.kind == kind]
        if columns and self.rng.random() < 0.8:
            return self.rng.choice(columns)
        if kind in ("REAL", "ROUGH"):
            return self.rng.choice(columns) if columns else "CAST(NULL AS DOUBLE)"
        if kind == "BOOLEAN" and self.scope and self.rng.random() < 0.85:
            # Most conditions should depend on the row.
            return f"({_compare(self, kind, 0)})"
        return self.constant(kind)

    def constant(self, kind: str) -> str:
        if self.rng.random() < 0.04:
            # A bare NULL is an INTEGER to DuckDB, which then refuses functions of strings.
            return f"CAST(NULL AS {'DECIMAL(5,2)' if kind == 'DECIMAL' else kind})"
        return literal(self.rng.choice(_VALUES[kind]))

    def condition(self, depth: int) -> str:
        return self.make("BOOLEAN", depth)

    def number(self) -> str:
        return self.rng.choice(("INT", "INT", "INT", "DECIMAL", "DOUBLE"))

    def comparable(self, *, rare: bool = True) -> str:
        """A kind to compare by, preferably one that a column has."""
        here = [ref.kind for ref in self.scope if ref.kind in KINDS or (rare and ref.kind == "REAL")]
        return self.rng.choice(here) if here and self.rng.random() < 0.9 else self.rng.choice(KINDS)

    def plain(self, *kinds: str) -> list[str]:
        return [ref.text for ref in self.scope if ref.plain and ref.kind in kinds]


Maker = Callable[[Expressions, str, int], str]


# Of any kind


def _case(e: Expressions, kind: str, depth: int) -> str:
    branches = " ".join(f"WHEN {e.condition(depth)} THEN {e.make(kind, depth)}" for _ in range(e.rng.choice((1, 1, 2))))
    otherwise = f" ELSE {e.make(kind, depth)}" if e.rng.random() < 0.7 else ""
    return f"CASE {branches}{otherwise} END"


def _simple_case(e: Expressions, kind: str, depth: int) -> str:
    of = e.comparable()
    return (
        f"CASE {e.make(of, depth)} WHEN {e.make(of, depth)} THEN {e.make(kind, depth)} ELSE {e.make(kind, depth)} END"
    )


def _if(e: Expressions, kind: str, depth: int) -> str:
    return f"if({e.condition(depth)}, {e.make(kind, depth)}, {e.make(kind, depth)})"


def _coalesce(e: Expressions, kind: str, depth: int) -> str:
    return f"coalesce({', '.join(e.make(kind, depth) for _ in range(e.rng.randint(2, 3)))})"


def _nullif(e: Expressions, kind: str, depth: int) -> str:
    return f"nullif({e.make(kind, depth)}, {e.make(kind, depth)})"


_ANY: tuple[Maker, ...] = (_case, _simple_case, _if, _coalesce, _nullif)


# Conditions


def _compare(e: Expressions, _: str, depth: int) -> str:
    left = e.comparable()
    # Numbers of different types meet as their common type.
    right = e.number() if left in ("INT", "DECIMAL", "DOUBLE") and e.rng.random() < 0.3 else left
    return f"{e.make(left, depth)} {e.rng.choice(COMPARISONS)} {e.make(right, depth)}"


def _and_or(e: Expressions, _: str, depth: int) -> str:
    return f"{e.condition(depth)} {e.rng.choice(('AND', 'OR'))} {e.condition(depth)}"


def _not(e: Expressions, _: str, depth: int) -> str:
    return f"NOT {e.condition(depth)}"


def _is_null(e: Expressions, _: str, depth: int) -> str:
    kind = e.rng.choice([ref.kind for ref in e.scope] or ["INT"])
    return f"({e.make(kind, depth)}) IS {e.rng.choice(('', 'NOT '))}NULL"


def _is_truth(e: Expressions, _: str, depth: int) -> str:
    return f"({e.condition(depth)}) IS {e.rng.choice(('', 'NOT '))}{e.rng.choice(('TRUE', 'FALSE'))}"


def _between(e: Expressions, _: str, depth: int) -> str:
    kind = e.comparable()
    negated = e.rng.choice(("", "", "NOT "))
    return f"{e.make(kind, 0)} {negated}BETWEEN {e.make(kind, 0)} AND {e.make(kind, min(depth, 1))}"


def _in_list(e: Expressions, _: str, depth: int) -> str:
    kind = e.comparable(rare=False)
    items = [e.constant(kind) for _ in range(e.rng.randint(1, 3))]
    if e.rng.random() < 0.2:
        items.append("NULL")
    if e.rng.random() < 0.2:
        items.append(e.make(kind, 0))
    return f"{e.make(kind, min(depth, 1))} {e.rng.choice(('', '', 'NOT '))}IN ({', '.join(items)})"


def _like(e: Expressions, _: str, depth: int) -> str:
    return f"{e.make('STRING', min(depth, 1))} {e.rng.choice(('', '', 'NOT '))}LIKE {e.rng.choice(PATTERNS)}"


def _text_test(e: Expressions, _: str, depth: int) -> str:
    function = e.rng.choice(("startswith", "endswith", "contains"))
    return f"{function}({e.make('STRING', depth)}, {e.make('STRING', 0)})"


# Numbers


def _integer_arithmetic(e: Expressions, _: str, depth: int) -> str:
    if e.rng.random() < 0.3:
        # A factor is a constant, so that no product of products leaves its type's range.
        return f"({e.make('INT', depth)} * {e.constant('INT')})"
    return f"({e.make('INT', depth)} {e.rng.choice('+-')} {e.make('INT', min(depth, 1))})"


def _integer_division(e: Expressions, _: str, depth: int) -> str:
    # Only of what is an integer in DuckDB too; the divisor is never 0, which is an error here and NULL there.
    integers = e.plain("INT") or [e.constant("INT")]
    return f"({e.rng.choice(integers)} {e.rng.choice(('div', '%'))} {e.rng.choice((2, 3, -2, 5))})"


def _integer_of_text(e: Expressions, _: str, depth: int) -> str:
    text = e.make("STRING", depth)
    return e.rng.choice((f"length({text})", f"instr({text}, {e.make('STRING', 0)})"))


def _integer_of_date(e: Expressions, _: str, depth: int) -> str:
    day = e.make("DATE", min(depth, 1))
    part = e.rng.choice(("year", "month", "day", "quarter"))
    return e.rng.choice((f"{part}({day})", f"EXTRACT({part} FROM {day})", f"datediff({day}, {e.make('DATE', 0)})"))


def _integer_cast(e: Expressions, _: str, depth: int) -> str:
    # Not of DECIMAL or DOUBLE: Spark cuts off what is behind the point, DuckDB rounds.
    whole = e.plain("INT")
    if whole and e.rng.random() < 0.5:
        return f"CAST(CAST({e.rng.choice(whole)} AS STRING) AS BIGINT)"
    return f"CAST({e.condition(depth)} AS INT)"


def _sign(e: Expressions, kind: str, depth: int) -> str:
    return e.rng.choice((f"abs({e.make(kind, depth)})", f"(- {e.make(kind, 0)})"))


def _extreme(e: Expressions, kind: str, depth: int) -> str:
    return f"{e.rng.choice(('greatest', 'least'))}({e.make(kind, depth)}, {e.make(kind, depth)})"


def _decimal_arithmetic(e: Expressions, _: str, depth: int) -> str:
    # The cast keeps the digits from growing with every operation to where the two round differently.
    right = e.rng.choice(("DECIMAL", "DECIMAL", "INT"))
    what = f"* {e.constant(right)}" if e.rng.random() < 0.3 else f"{e.rng.choice('+-')} {e.make(right, 0)}"
    return f"CAST({e.make('DECIMAL', depth)} {what} AS DECIMAL(18,3))"


def _decimal_cast(e: Expressions, _: str, depth: int) -> str:
    return (
        f"CAST({e.make(e.rng.choice(('INT', 'DECIMAL')), depth)} AS DECIMAL({e.rng.choice(('16,0', '17,1', '18,3'))}))"
    )


def _double_arithmetic(e: Expressions, _: str, depth: int) -> str:
    # A DECIMAL that becomes a DOUBLE is no longer exact, so DOUBLEs meet INTs only.
    right = e.rng.choice(("DOUBLE", "INT"))
    what = f"* {e.constant(right)}" if e.rng.random() < 0.3 else f"{e.rng.choice('+-')} {e.make(right, 0)}"
    return f"({e.make('DOUBLE', depth)} {what})"


def _double_cast(e: Expressions, _: str, depth: int) -> str:
    return f"CAST({e.make('INT', depth)} AS DOUBLE)"


def _rounded(e: Expressions, _: str, depth: int) -> str:
    return f"{e.rng.choice(('floor', 'ceil', 'round'))}({e.make('DOUBLE', depth)})"


def _ratio(e: Expressions, _: str, depth: int) -> str:
    kinds = ("INT", "DOUBLE")
    return f"({e.make(e.rng.choice(kinds), depth)} / nullif({e.make(e.rng.choice(kinds), 0)}, 0))"


def _root(e: Expressions, _: str, depth: int) -> str:
    return f"sqrt(abs({e.make('DOUBLE', depth)}))"


def _rough_ratio(e: Expressions, _: str, depth: int) -> str:
    return f"({e.make('DECIMAL', depth)} / {e.rng.choice((2, 3, 7, -4))})"


# Text and dates


def _text_function(e: Expressions, _: str, depth: int) -> str:
    text, other = e.make("STRING", depth), e.make("STRING", 0)
    count = e.rng.randint(1, 3)
    return e.rng.choice(
        (
            f"upper({text})",
            f"lower({text})",
            f"trim({text})",
            f"ltrim({text})",
            f"rtrim({text})",
            f"substring({text}, {count})",
            f"substring({text}, {count}, {e.rng.randint(0, 2)})",
            f"left({text}, {count})",
            f"right({text}, {count})",
            f"lpad({text}, {count + 1}, '*')",
            f"rpad({text}, {count + 1}, '*')",
            f"reverse({text})",
            f"repeat({text}, {count - 1})",
            f"replace({text}, 'a', {other})",
            f"concat({text}, {other})",
            f"({text} || {other})",
        )
    )


def _text_cast(e: Expressions, _: str, depth: int) -> str:
    # Columns of tables only: a computed value may have another scale in DuckDB, or be a TIMESTAMP.
    columns = e.plain("INT", "DECIMAL", "BOOLEAN", "DATE", "DOUBLE")
    if not columns:
        return f"CAST({e.condition(depth)} AS STRING)"
    return f"CAST({e.rng.choice(columns)} AS STRING)"


def _date_arithmetic(e: Expressions, _: str, depth: int) -> str:
    day, count = e.make("DATE", depth), e.rng.randint(0, 40)
    unit = e.rng.choice(("DAY", "MONTH", "YEAR", "WEEK"))
    moved = e.rng.choice(
        (
            f"{day} {e.rng.choice('+-')} INTERVAL '{count}' {unit}",
            f"{day} + INTERVAL {count} {unit}",
            f"date_add({day}, {count})",
            f"date_sub({day}, {count})",
            f"add_months({day}, {count})",
        )
    )
    # A DATE plus an INTERVAL is a TIMESTAMP to DuckDB.
    return f"CAST({moved} AS DATE)"


_MAKERS: dict[str, tuple[Maker, ...]] = {
    "BOOLEAN": (
        *((_compare,) * 6),
        *((_and_or,) * 4),
        _not,
        _not,
        _is_null,
        _is_null,
        _is_truth,
        _between,
        _between,
        _in_list,
        _in_list,
        _like,
        _text_test,
    ),
    "INT": (
        _integer_arithmetic,
        _integer_arithmetic,
        _integer_division,
        _integer_of_text,
        _integer_of_date,
        _integer_cast,
        _sign,
        _extreme,
    ),
    "DECIMAL": (_decimal_arithmetic, _decimal_arithmetic, _decimal_cast, _sign, _extreme),
    "DOUBLE": (_double_arithmetic, _double_arithmetic, _double_cast, _rounded, _sign, _extreme),
    "REAL": (_ratio, _ratio, _root),
    "ROUGH": (_rough_ratio,),
    "STRING": (_text_function, _text_function, _text_function, _text_cast, _extreme),
    "DATE": (_date_arithmetic, _date_arithmetic, _extreme),
}
