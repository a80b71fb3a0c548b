"""Structs in SQL: struct(...) with the names that its fields get, from_json(...) with their types, s.a and s.*."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from whence.errors import ArityError, TypeMismatchError, UnsupportedError
from whence.lang.sql.block import Block
from whence.lang.sql.grammar import DIALECT
from whence.lang.sql.literals import to_type
from whence.lang.sql.lowering import Lowering
from whence.model import types
from whence.model.span import Span
from whence.model.terms import Call, Constant, Term


def struct_call(node: exp.Anonymous, sub: Callable[[exp.Expr], Term], span: Span | None) -> Term:
    """A column gives its field the name, and so does AS; others are called col1, col2 by their places."""
    if not node.expressions:
        raise ArityError("struct() takes a value for each field", span=span)
    arguments: list[Term] = []
    for number, each in enumerate(node.expressions, start=1):
        arguments += (Constant(_name(each) or f"col{number}", types.STRING), sub(each.unalias()))
    return Call("named_struct", tuple(arguments), span=span)


def from_json_call(node: exp.Anonymous, sub: Callable[[exp.Expr], Term], span: Span | None) -> Term:
    """from_json(text, 'a INT, b STRING'): the names and types of fields, or a type."""
    if len(node.expressions) != 2:
        raise UnsupportedError(
            "from_json() takes a text and a type", span=span, hint="options such as a pattern of dates are not there"
        )
    text, schema = node.expressions
    if not isinstance(schema, exp.Literal) or not schema.is_string:
        raise UnsupportedError("the type that from_json() reads is a text in quotes", span=span)
    return Call("from_json", (sub(text), Constant(None, _written_type(schema.name, span), span=span)), span=span)


def _written_type(text: str, span: Span | None) -> types.Type:
    for written in (text, f"STRUCT<{text}>"):
        try:
            return to_type(parse_one(written, read=DIALECT, into=exp.DataType), span)
        except SqlglotError:
            continue
    raise TypeMismatchError(f"{text!r} is not a type", span=span, hint="write for example 'a INT, b ARRAY<STRING>'")


def _name(node: exp.Expr) -> str | None:
    match node:
        case exp.Alias():
            return node.alias
        case exp.Column() | exp.Identifier():
            return node.name
        case exp.Dot(expression=exp.Identifier() as field):
            return field.name
    return None


def with_fields(term: Term, names: Sequence[str], span: Span | None) -> Term:
    """A field of the term, and a field of that, and so on."""
    return reduce(lambda of, name: Call("struct_field", (of, Constant(name, types.STRING)), span=span), names, term)


def all_fields(lowering: Lowering, block: Block, node: exp.Column) -> Iterator[exp.Expr]:
    """What `s.*` stands for where s is a struct; nothing where it is none."""
    names = [part.name for part in node.parts[:-1]]
    found = block.resolve_path(names, lowering.span(node))
    if found is None:
        return
    kind = lowering.typed(with_fields(*found, lowering.span(node)), block).type
    for name, _ in kind.fields if isinstance(kind, types.StructType) else ():
        column, *before = (part.copy() for part in reversed(node.parts[:-1]))
        whole = exp.Column(this=column, **dict(zip(("table", "db"), before, strict=False)))
        field = exp.Dot(this=whole, expression=exp.to_identifier(name, quoted=True))
        for part in field.walk():
            part.meta.update(node.meta)
        yield exp.Alias(this=field, alias=exp.to_identifier(name, quoted=True))
