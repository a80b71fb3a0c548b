"""Texts made at random from the grammar: what is read from one is written and read again without a change."""

from __future__ import annotations

from hypothesis import given, reject, settings
from hypothesis import strategies as st

from whence.errors import ParseError, UnsafeRuleError, UnsupportedError
from whence.lang.datalog.parse import parse_datalog
from whence.lang.datalog.write import to_datalog
from whence.model.terms import walk

VARIABLES = st.sampled_from(["x", "y", "z", "count", "?v"])
LEAVES = st.one_of(
    VARIABLES,
    st.sampled_from(["1", "-1", "0x2", "2.5", "true", "null", "nil", '"a\\n"', 'DATE "2026-01-01"', "null::INT"]),
)
TERMS: st.SearchStrategy[str] = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds("{} {} {}".format, inner, st.sampled_from("+-*/%^"), inner),
        st.builds("-{}".format, inner),
        st.builds("({})".format, inner),
        st.builds("({} {} {})".format, inner, st.sampled_from(["<", "=", "<=>", "and", "or"]), inner),
        st.builds("(not {})".format, inner),
        st.builds("{}({}, {})".format, st.sampled_from(["cat", "min", "contains", "match", "@f", "#f"]), inner, inner),
        st.builds("substr({}, {}, 1)".format, inner, inner),
        st.builds("as({}, DECIMAL(9, 2))".format, inner),
        st.builds("[{}]".format, inner),
    ),
    max_leaves=4,
)
ATOMS = st.builds("{}({}, {})".format, st.sampled_from("bcd"), TERMS | st.just("_"), TERMS)
LITERALS = st.one_of(
    ATOMS,
    st.builds("!{}".format, ATOMS),
    st.builds("{} {} {}".format, TERMS, st.sampled_from(["<", "<=", ">", ">=", "=", "!=", "<=>"]), TERMS),
    st.builds("like({}, {})".format, TERMS, TERMS),
    VARIABLES,
)


def joined(sign: str, parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(parts, min_size=1, max_size=3).map(sign.join)


FORMULAS: st.SearchStrategy[str] = st.recursive(
    joined(", ", LITERALS),
    lambda inner: st.one_of(
        st.builds("b(x, y), ({})".format, joined(" ; ", inner)),
        st.builds("b(x, y), !({})".format, inner),
        st.builds("b(x, _), {} = count : {{ {} }}".format, VARIABLES, inner),
        st.builds("c(x, z), {} < sum {} : {{ {} }}".format, TERMS, VARIABLES, inner),
        st.builds("{} = max(y) : {{ {} }}".format, VARIABLES, inner),
    ),
    max_leaves=3,
)
HEADS = st.one_of(
    st.builds("a({})".format, TERMS),
    st.builds("-a({})".format, VARIABLES),
    st.builds("e({}, {}<{}>)".format, VARIABLES, st.sampled_from(["min", "sum", "count"]), TERMS),
    st.builds("a({}), g(count<distinct {}>)".format, VARIABLES, VARIABLES),
)
RULES = st.builds("{} :- {}.".format, HEADS, FORMULAS)


@given(st.lists(RULES, min_size=1, max_size=3).map("\n".join))
@settings(max_examples=400)
def test_text_to_model_to_text_to_model(text: str) -> None:
    try:
        program = parse_datalog(text)
    except (ParseError, UnsafeRuleError, UnsupportedError):
        reject()
    written = to_datalog(program)
    assert parse_datalog(written) == program
    assert to_datalog(parse_datalog(written)) == written


@given(RULES)
def test_every_node_has_its_place(text: str) -> None:
    try:
        program = parse_datalog(text)
    except (ParseError, UnsafeRuleError, UnsupportedError):
        reject()
    for rule in program.rules:
        assert rule.span is not None
        assert rule.head.span is not None
        for term in rule.head.terms:
            assert all(each.span is not None for each in walk(term))
        assert all(literal.span is not None for literal in rule.body)
