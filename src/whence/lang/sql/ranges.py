"""`range(10)` in FROM: the numbers themselves."""

from __future__ import annotations

from sqlglot import exp

from whence.errors import UnsupportedError
from whence.lang.sql.lowering import Lowering

MOST_NUMBERS = 10_000  # each is a rule of the view


def is_range(node: exp.Table) -> bool:
    return isinstance(node.this, exp.Anonymous) and str(node.this.this).lower() == "range"


def range_values(lowering: Lowering, node: exp.Table) -> exp.Values:
    """`range(10)`, `range(1, 10, 2)` as VALUES with a column `id`."""
    span = lowering.span(node)
    bounds = []
    for each in node.this.expressions:
        sign, number = (-1, each.this) if isinstance(each, exp.Neg) else (1, each)
        if not isinstance(number, exp.Literal) or not number.is_int:
            raise UnsupportedError("range in FROM takes whole numbers", span=span)
        bounds.append(sign * int(number.name))
    if not 1 <= len(bounds) <= 3 or bounds[2:] == [0]:
        raise UnsupportedError("range takes an end, or a start, an end and a step that is not 0", span=span)
    numbers = range(*bounds)
    if not 0 < len(numbers) <= MOST_NUMBERS:
        raise UnsupportedError(
            f"a range in FROM has 1 to {MOST_NUMBERS:,} numbers, and this one {len(numbers):,}",
            span=span,
            hint="put them into a table",
        )
    rows: list[exp.Expr] = [exp.Tuple(expressions=[exp.cast(exp.Literal.number(n), "BIGINT")]) for n in numbers]
    alias = node.args.get("alias")
    named = alias.this if alias is not None and alias.this is not None else exp.to_identifier("range")
    columns = (alias.args.get("columns") if alias is not None else None) or [exp.to_identifier("id")]
    return exp.Values(expressions=rows, alias=exp.TableAlias(this=named, columns=columns))
