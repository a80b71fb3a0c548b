"""Windows and elements of arrays in heads: their text, and where they may not stand."""

from __future__ import annotations

import pytest

from whence.analysis.analyze import analyze
from whence.errors import WhenceError
from whence.lang.datalog.parse import parse_datalog
from whence.lang.datalog.write import to_datalog

TABLES = ".decl t(g: symbol, x: number)\n.decl u(g: symbol, a: ARRAY<INT> nullable)\n"
RULES = (
    "v(g, x, over {g; x desc} row_number(), over {g; x desc; rows -1 to *} sum(x)) :- t(g, x).",
    "v(g, x, over {; x nulls last, g desc nulls first; within 1 to 10} within()) :- t(g, x).",
    "v(g, x, over {; ; range -2 to 0} count(), over {; } lag(x, 1, 0)) :- t(g, x).",
    "v(g, a, each position(a), each element(a)) :- u(g, a).",
    "v(g, a, each outer element(a)) :- u(g, a).",
    "over(over, each) :- t(over, each).",
)


OWING = ".decl b(g: symbol, x: number) bag  b(g, x) :- t(g, x).  -b(g, x) :- t(g, x), x > 1."


@pytest.mark.parametrize("rule", RULES)
def test_read_again_it_is_the_same(rule: str) -> None:
    program = parse_datalog(TABLES + rule)
    text = to_datalog(program)
    assert parse_datalog(text) == program
    assert rule in text
    analyze(program)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ("v(x, over {; x} rank()) :- t(_, x).", "stand behind all the columns of one atom"),
        ("v(g, x, over {; x} rank()) :- t(g, x), x > 1.", "stand behind all the columns of one atom"),
        ("v(g, x, over {; x} rank()) :- t(g, x).\nv(g, x, 1) :- t(g, x).", "has window functions"),
        ("v(g, x, over {; x} rank(), over {g; x} rank()) :- t(g, x).", "one partition and one order"),
        ("v(g, x, over {; x} rank() + 1) :- t(g, x).", "syntax error|unexpected|expected"),
        ("v(g, x, over {; x} nothing()) :- t(g, x).", "there is no window function nothing"),
        ("v(g, x, over {; x} ntile(0)) :- t(g, x).", "ntile needs a number above 0"),
        ("v(g, x, over {; x; within 1 to 2} sum(x)) :- t(g, x).", "rows are kept by one of"),
        ("v(g, x, each element(x)) :- t(g, x).", "takes an array, not BIGINT"),
        (
            f"{OWING} v(g, x, over {{; x}} rank()) :- b(g, x).",
            "has rules that take rows away",
        ),
        ("w(g, x) :- v(g, x, _).\nw(g, x) :- t(g, x).\nv(g, x, over {; x} rank()) :- w(g, x).", "is recursive"),
    ],
)
def test_refused(rules: str, message: str) -> None:
    with pytest.raises(WhenceError, match=message):
        analyze(parse_datalog(TABLES + rules))
