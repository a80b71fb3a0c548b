"""Windows of a SELECT: the rows before them become a relation, and each window another one with more columns.

    ranked$rows(g, x) :- score(g, x, _).
    ranked(g, x, over {g; x desc} rank()) :- ranked$rows(g, x).

Rows that ORDER BY does not tell apart are in the order of their columns: those that the select list names, from left to
right, and then those that the windows name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from whence.errors import UnknownNameError, UnsupportedError
from whence.functions.comparison import check_comparable
from whence.functions.types import Typed, infer
from whence.functions.windows import NUMBERING
from whence.lang.sql.block import Block, ColumnEntry
from whence.lang.sql.lowering import Lowered, Lowering, Output, QueryDraft
from whence.lang.sql.window_calls import NamedWindows, window_call
from whence.model.rules import Atom, Rule
from whence.model.schema import Column, Relation
from whence.model.span import Span
from whence.model.terms import Constant, SortKey, Term, Variable, Window


def window_nodes(node: exp.Expr) -> list[exp.Window]:
    """The window functions in an expression, leaving out those of its subqueries."""
    found: list[exp.Window] = []
    todo = [node]
    while todo:
        here = todo.pop()
        if isinstance(here, exp.Window):
            found.append(here)
        elif not isinstance(here, exp.Query):
            todo.extend(reversed(list(here.iter_expressions())))
    return found


class Windowed(Block):
    """The rows with their windows. Names are looked up in the rows before, of which it has what was asked for."""

    def __init__(self, before: Block, windows: NamedWindows) -> None:
        super().__init__(before.numbers, before.outer, before.ctes, opaque=before.opaque)
        self.aliases = before.aliases
        self._before = before
        self._windows = windows
        self._columns: Mapping[Term, Variable] = {}
        self._values: Mapping[Window, Variable] = {}
        self._lowering: Lowering | None = None

    def learn(self, lowering: Lowering, columns: Mapping[Term, Variable], values: Mapping[Window, Variable]) -> None:
        self._lowering, self._columns, self._values = lowering, columns, values
        self.scope = [
            ColumnEntry(each.table, each.column, columns[self._before.resolve_term(each.term)], each.merged)
            for each in self._before.scope
            if self._before.resolve_term(each.term) in columns
        ]

    def known(self, node: exp.Expr) -> Term | None:
        assert self._lowering is not None
        if isinstance(node, exp.Window):
            return self._values.get(window_call(self._lowering, self._before, node, self._windows))
        term = self._before.known(node)
        return None if term is None else self.column(term)

    def column(self, term: Term) -> Term | None:
        """A term over the rows before, as what it is here."""
        return self._columns.get(self._before.resolve_term(term))

    def resolve(self, table: str | None, column: str, span: Span | None) -> Term | None:
        term = self._before.resolve(table, column, span)
        return None if term is None else self.column(term)

    def visible_columns(self) -> list[str]:
        return self._before.visible_columns()


def with_windows(
    lowering: Lowering, before: Block, select: exp.Select, nodes: Sequence[exp.Expr], more: Sequence[Term]
) -> Windowed:
    """A block that reads the rows of another one, and all windows in these expressions; `more` are terms of columns
    that are needed as well.
    """
    named = NamedWindows.of(select)
    calls = list(
        dict.fromkeys(window_call(lowering, before, each, named) for node in nodes for each in window_nodes(node))
    )
    needed = dict.fromkeys(before.resolve_term(term) for term in more)
    needed.update(dict.fromkeys(term for node in nodes for term in _columns(lowering, before, node)))
    for call in calls:
        parts = (*call.partition, *call.order_terms, *call.arguments)
        needed.update(dict.fromkeys(term for term in parts if not isinstance(term, Constant)))
    after = Windowed(before, named)
    outputs = [Output(_hint(term, at), term, given=False) for at, term in enumerate(needed)]
    table = lowering.emit(lowering.fresh_name("rows"), [QueryDraft(before, outputs)], distinct=False)
    table = _read_directly(lowering, table)
    windowed, places = add_windows(lowering, table, list(needed), calls)
    terms = lowering.read(after, windowed, None)
    values = {call: terms[place] for call, place in places.items()}
    after.learn(lowering, dict(zip(needed, terms, strict=False)), values)
    return after


def _columns(lowering: Lowering, block: Block, node: exp.Expr) -> Iterator[Term]:
    """What an expression needs of a block, leaving out what only its windows need."""
    todo = [node]
    while todo:
        here = todo.pop()
        known = None if isinstance(here, exp.Window | exp.Query) else block.known(here)
        if known is not None:
            yield block.resolve_term(known)
        elif isinstance(here, exp.Query):
            yield from _used_inside(lowering, block, here)
        elif isinstance(here, exp.Column) and not isinstance(here.this, exp.Star):
            found = block.resolve_path([part.name for part in here.parts], lowering.span(here))
            if found is not None:
                yield block.resolve_term(found[0])
        elif not isinstance(here, exp.Window):
            todo.extend(reversed(list(here.iter_expressions())))


def _used_inside(lowering: Lowering, block: Block, query: exp.Query) -> Iterator[Term]:
    """Columns of the block that a subquery may mean."""
    for column in query.find_all(exp.Column):
        try:
            found = block.resolve_path([part.name for part in column.parts], lowering.span(column))
        except UnknownNameError:
            continue
        if found is not None and not isinstance(column.this, exp.Star):
            yield block.resolve_term(found[0])


def _read_directly(lowering: Lowering, table: Lowered) -> Lowered:
    """What the new relation only repeats, if it does."""
    rule = lowering.rules[-1]
    match rule.body:
        case (Atom() as atom,) if atom.terms == rule.head.terms and not table.free:
            below = lowering.relation(atom.relation)
            same = [(c.type, c.nullable) for c in below.columns] == [(c.type, c.nullable) for c in table.columns]
            if same and all(isinstance(t, Variable) for t in atom.terms) and len(set(atom.terms)) == len(atom.terms):
                lowering.rules.pop()
                del lowering.made[table.relation.name]
                return Lowered(below, ())
    return table


def add_windows(
    lowering: Lowering, table: Lowered, terms: Sequence[Term], calls: Sequence[Window]
) -> tuple[Lowered, dict[Window, int]]:
    """Relations with the rows of a table and windows over them, one for each partition and order.

    `terms` are what the table's columns hold, in the words of the windows. The last relation, and the columns of it
    that hold the windows, as they are counted behind free ones.
    """
    places = {term: at for at, term in enumerate(terms)}
    groups: dict[tuple[tuple[Term, ...], tuple[SortKey, ...]], list[Window]] = {}
    for call in calls:
        groups.setdefault((call.partition, call.order), []).append(call)
    found: dict[Window, int] = {}
    # What may leave rows out comes last: the others are over all of them.
    for group in sorted(groups.values(), key=lambda group: any(each.function in NUMBERING for each in group)):
        found.update((call, len(table.columns) + at) for at, call in enumerate(group))
        table = _add(lowering, table, places, group)
    return table, found


def numbered_copies(lowering: Lowering, table: Lowered) -> Lowered:
    """The table with a last column that numbers the copies of each row."""
    names: list[Term] = [Variable(f"c{at}") for at in range(len(table.columns))]
    return add_windows(lowering, table, names, [Window("row_number", partition=tuple(names))])[0]


def _add(lowering: Lowering, table: Lowered, places: Mapping[Term, int], calls: Sequence[Window]) -> Lowered:
    below = table.relation
    names = head_variables(below)
    free = len(table.free)

    def variable(term: Term) -> Term:
        return term if isinstance(term, Constant) else names[free + places[term]]

    heads = [
        replace(
            call,
            arguments=tuple(map(variable, call.arguments)),
            partition=(*names[:free], *map(variable, call.partition)),
            order=tuple(replace(key, term=variable(key.term)) for key in call.order),
        )
        for call in calls
    ]
    environment = {v.name: Typed(c.type, c.nullable) for v, c in zip(names, below.columns, strict=True)}
    taken = {column.name.lower() for column in below.columns}
    columns = list(below.columns)
    for head in heads:
        typed = infer(head, environment, lowering.signatures)
        name = head.function
        while name.lower() in taken:
            name = f"{name}_"
        taken.add(name.lower())
        columns.append(Column(name, typed.type, typed.nullable, span=head.span))
    name = lowering.fresh_name("window")
    relation = Relation(name, tuple(columns), distinct=below.distinct)
    lowering.made[name] = relation
    span = calls[0].span
    lowering.rules.append(Rule(Atom(name, (*names, *heads), span=span), (Atom(below.name, names),), span=span))
    return Lowered(relation, table.free)


def head_variables(relation: Relation) -> tuple[Variable, ...]:
    """A variable for each column of a relation, called like it where that can be."""
    found: dict[str, None] = {}
    for at, column in enumerate(relation.columns):
        wish = column.name if column.name.isidentifier() else f"x{at}"
        while wish in found or wish.lower() in ("true", "false", "null", "nil", "and", "or", "not", "as", "_"):
            wish = f"{wish}_"
        found[wish] = None
    return tuple(Variable(name) for name in found)


def _hint(term: Term, at: int) -> str:
    return term.name.partition("#")[0] if isinstance(term, Variable) else f"_w{at}"


def limited(
    lowering: Lowering, draft: QueryDraft, keys: Sequence[SortKey], first: int, last: int | None, span: Span | None
) -> QueryDraft:
    """Of the draft's rows in the order of the keys, which are terms of its block, those with these numbers."""
    if draft.single and first == 1 and (last is None or last >= 1):
        # It has one row at most, and keeps it.
        return draft
    if draft.aggregated:
        raise UnsupportedError("LIMIT in this place is not supported", span=span, hint="use a subquery in FROM")
    block = draft.block
    for key in keys:
        check_comparable(lowering.typed(key.term, block).type, "ordered by", span)
    hidden = dict.fromkeys(block.resolve_term(key.term) for key in keys)
    own = [block.resolve_term(o.term) for o in draft.outputs]
    more = [Output(_hint(t, at), t, given=False) for at, t in enumerate(hidden) if t not in own]
    outputs = [*(replace(o, given=False) for o in draft.outputs), *more]
    table = lowering.emit(
        lowering.fresh_name("rows"), [replace(draft, outputs=outputs)], distinct=draft.distinct, span=draft.span
    )
    table = _read_directly(lowering, table)
    # Constants among the columns may be equal, and order nothing.
    terms: list[Term] = [*own, *(output.term for output in more)]
    places = [next(at for at, term in enumerate(terms) if term == block.resolve_term(key.term)) for key in keys]
    names: list[Term] = [Variable(f"c{at}") for at in range(len(terms))]
    order = tuple(replace(key, term=names[at]) for key, at in zip(keys, places, strict=True))
    call = Window("within", order=order, within=(first, last), span=span)
    kept, _ = add_windows(lowering, table, names, [call])
    after = block.sibling()
    found = lowering.read(after, kept, draft.span)
    result = [replace(o, term=t) for o, t in zip(draft.outputs, found, strict=False)]
    return QueryDraft(after, result, span=draft.span, single=draft.single or (last is not None and last <= first))
