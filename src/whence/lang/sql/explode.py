"""explode and posexplode, in the select list, in FROM and in LATERAL VIEW: a row for each element of an array.

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
from whence.lang.sql.windows import head_variables
from whence.model.rules import Atom, Rule
from whence.model.schema import Column, Relation
from whence.model.span import Span
from whence.model.terms import Unnest
from whence.model.types import ArrayType

# By name: whether positions are asked for, and whether a row without elements stays.
_GENERATORS = {
    "explode": (False, False),
    "explode_outer": (False, True),
    "posexplode": (True, False),
    "posexplode_outer": (True, True),
}
_HIDDEN = "$each"


@dataclass(frozen=True)
class Generator:
    """`posexplode(a)`: what it takes apart, and the names of what comes of it."""

    call: exp.Anonymous
    has_position: bool
    outer: bool

    @classmethod
    def of(cls, node: exp.Expr | None) -> Generator | None:
        """None for anything else."""
        if not isinstance(node, exp.Anonymous) or str(node.this).lower() not in _GENERATORS:
            return None
        return cls(node, *_GENERATORS[str(node.this).lower()])

    def names(self, lowering: Lowering, given: Sequence[str], span: Span | None) -> list[str]:
        names = ["pos", "col"] if self.has_position else ["col"]
        if given and len(given) != len(names):
            raise ArityError(f"{self.call.this} gives {len(names)} columns, and {len(given)} names", span=span)
        if len(self.call.expressions) != 1:
            raise ArityError(f"{self.call.this} takes one array", span=lowering.span(self.call))
        return list(given) or names


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
    array = block.resolve_term(translate(lowering, block, generator.call.expressions[0]))
    if not isinstance(lowering.typed(array, block).type, ArrayType):
        kind = lowering.typed(array, block).type
        raise TypeMismatchError(f"{generator.call.this} takes an array, not {kind}", span=span)
    entries = [e for e in block.scope if needed is None or e.column.lower() in needed]
    outputs = [Output(e.column, e.term, given=False) for e in entries]
    rows = lowering.emit(
        lowering.fresh_name("rows"),
        [QueryDraft(block, [*outputs, Output("array", array, given=False)])],
        distinct=False,
    )
    below = rows.relation
    variables = head_variables(below)
    parts = [*(["position"] if generator.has_position else []), "element"]
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
    made = terms[len(terms) - len(heads) :]
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
    names = generator.names(lowering, given, lowering.span(item))
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
