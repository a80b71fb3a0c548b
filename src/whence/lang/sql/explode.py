"""explode, posexplode and inline, in the select list, in FROM and in LATERAL VIEW: a row for each element of an array.

v$each(id, tags, each element(tags)) :- t(id, tags).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from whence.errors import ArityError, DuplicateNameError, TypeMismatchError, UnsupportedError
from whence.functions.types import Typed, infer
from whence.lang.sql.block import Block, ColumnEntry
from whence.lang.sql.expressions import translate
from whence.lang.sql.lowering import Lowered, Lowering, Output, QueryDraft
from whence.lang.sql.structs import with_fields
from whence.lang.sql.value_rows import values_array
from whence.lang.sql.windows import head_variables
from whence.model.rules import Atom, Rule
from whence.model.schema import Column, Relation
from whence.model.span import Span
from whence.model.terms import Call, Term, Unnest
from whence.model.types import ArrayType, MapType, StructType

_GENERATORS = ("explode", "posexplode", "inline")
# What is inline() of an array that they make.
_OF_VALUES = ("stack", "json_tuple")
_OUTER = "_outer"
_HIDDEN = "$each"


@dataclass(frozen=True)
class Generator:
    """`posexplode(a)`: what it takes apart, and the names of what comes of it.

    Of posexplode there is the position, of inline the fields of a struct, of a map a key and a value; a row without
    elements may stay.
    """

    call: exp.Anonymous
    name: str
    outer: bool

    @classmethod
    def of(cls, node: exp.Expr | None) -> Generator | None:
        """None for anything else."""
        name = str(node.this).lower() if isinstance(node, exp.Anonymous) else ""
        if isinstance(node, exp.Anonymous) and name in _OF_VALUES:
            return cls(node, "inline", outer=False)
        if not isinstance(node, exp.Anonymous) or name.removesuffix(_OUTER) not in _GENERATORS:
            return None
        return cls(node, name.removesuffix(_OUTER), name.endswith(_OUTER))

    def names(self, lowering: Lowering, block: Block, given: Sequence[str], span: Span | None) -> list[str]:
        names = self.fields(lowering, block) or ["col"]
        names = ["pos", *names] if self.name == "posexplode" else names
        if given and len(given) != len(names):
            raise ArityError(f"{self.call.this} gives {len(names)} columns, and {len(given)} names", span=span)
        return list(given) or names

    def fields(self, lowering: Lowering, block: Block) -> list[str]:
        """The fields that elements are taken apart into, if they are."""
        given = lowering.typed(self._argument(lowering, block), block).type
        if self.name != "inline":
            return ["key", "value"] if isinstance(given, MapType) else []
        kind = lowering.typed(self.array(lowering, block), block).type
        if isinstance(kind, ArrayType) and isinstance(kind.element, StructType):
            return [name for name, _ in kind.element.fields]
        raise TypeMismatchError(
            f"{self.call.this} takes an array of structs, not {kind}", span=lowering.span(self.call)
        )

    def array(self, lowering: Lowering, block: Block) -> Term:
        """What is taken apart. Of a map, these are its entries."""
        array = self._argument(lowering, block)
        kind = lowering.typed(array, block).type
        if isinstance(kind, MapType) and self.name != "inline":
            return Call("map_entries", (array,), span=array.span)
        if not isinstance(kind, ArrayType):
            raise TypeMismatchError(f"{self.call.this} takes an array, not {kind}", span=lowering.span(self.call))
        return array

    def _argument(self, lowering: Lowering, block: Block) -> Term:
        if str(self.call.this).lower() in _OF_VALUES:
            return values_array(lowering, block, self.call)
        if len(self.call.expressions) != 1:
            raise ArityError(f"{self.call.this} takes one array", span=lowering.span(self.call))
        return block.resolve_term(translate(lowering, block, self.call.expressions[0]))


def add_elements(
    lowering: Lowering,
    block: Block,
    generator: Generator,
    table: str | None,
    names: Sequence[str],
    needed: set[str] | None,
    *,
    outer: bool = False,
) -> None:
    """The block with a row for each element, and these columns for it in scope. What is not `needed` goes."""
    span = lowering.span(generator.call)
    array, fields = generator.array(lowering, block), generator.fields(lowering, block)
    entries = [e for e in block.scope if needed is None or e.column.lower() in needed]
    outputs = [Output(e.column, e.term, given=False) for e in entries]
    rows = lowering.emit(
        lowering.fresh_name("rows"),
        [QueryDraft(block, [*outputs, Output("array", array, given=False)])],
        distinct=False,
    )
    below = rows.relation
    variables = head_variables(below)
    parts = [*(["position"] if generator.name == "posexplode" else []), "element"]
    heads = [Unnest(part, variables[-1], generator.outer or outer, span=span) for part in parts]
    environment = {v.name: Typed(c.type, c.nullable) for v, c in zip(variables, below.columns, strict=True)}
    columns = list(below.columns)
    taken = {column.name.lower() for column in columns}
    for head in heads:
        typed = infer(head, environment, lowering.signatures)
        name = head.part
        while name in taken:
            name = f"{name}_"
        taken.add(name)
        columns.append(Column(name, typed.type, typed.nullable, span=span))
    name = lowering.fresh_name("each")
    relation = lowering.made[name] = Relation(name, tuple(columns), distinct=below.distinct)
    rule = Rule(Atom(name, (*variables, *heads), span=span), (Atom(below.name, variables),), span=span)
    lowering.rules.append(rule)
    block.clear()
    terms = lowering.read(block, Lowered(relation, rows.free), span)
    block.scope = [ColumnEntry(e.table, e.column, t, e.merged) for e, t in zip(entries, terms, strict=False)]
    made: list[Term] = list(terms[len(terms) - len(heads) :])
    if fields:
        made[-1:] = [with_fields(made[-1], [field], span) for field in fields]
    block.scope.extend(ColumnEntry(table, n, t) for n, t in zip(names, made, strict=True))


def with_elements(lowering: Lowering, block: Block, select: exp.Select, needed: set[str] | None) -> exp.Select:
    """The SELECT with the elements that its list asks for as columns of its block."""
    found = [(item, g) for item in select.expressions if (g := Generator.of(_inner(item))) is not None]
    if not found:
        return select
    if len(found) > 1:
        raise UnsupportedError(
            "a select list takes one array apart", span=lowering.span(found[1][0]), hint="use LATERAL VIEW"
        )
    ((item, generator),) = found
    given = [each.name for each in item.args["expressions"]] if isinstance(item, exp.Aliases) else []
    given = [item.alias] if isinstance(item, exp.Alias) else given
    names = generator.names(lowering, block, given, lowering.span(item))
    others = {each.alias.lower() for each in select.expressions if each is not item and isinstance(each, exp.Alias)}
    if others & {name.lower() for name in names}:
        raise DuplicateNameError(
            "an element has the name of another column of the select list", span=lowering.span(item), hint="rename it"
        )
    add_elements(lowering, block, generator, _HIDDEN, names, needed)
    whole = select.copy()
    columns: list[exp.Expr] = [exp.alias_(exp.column(name, table=_HIDDEN), name, quoted=True) for name in names]
    expressions = list(whole.expressions)
    at = next(i for i, each in enumerate(select.expressions) if each is item)
    whole.set("expressions", [*expressions[:at], *columns, *expressions[at + 1 :]])
    return whole


def _inner(item: exp.Expr) -> exp.Expr:
    return item.this if isinstance(item, exp.Alias | exp.Aliases) else item
