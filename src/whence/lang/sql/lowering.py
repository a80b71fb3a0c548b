"""What lowering one view collects: its auxiliary relations, its rules, and notices for the user."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from whence.errors import ArityError, DuplicateNameError, TypeMismatchError, UnknownNameError, did_you_mean
from whence.functions.types import Typed, infer
from whence.functions.widening import common_in_place, fits
from whence.lang.sql.block import Block
from whence.lang.sql.finish import finish, in_order
from whence.lang.sql.known import KnownRelations
from whence.lang.sql.positions import span_of
from whence.model.program import Program, Signature
from whence.model.rules import Atom, Rule
from whence.model.schema import AUXILIARY_MARK, Column, Relation, owner
from whence.model.span import SourceText, Span
from whence.model.terms import Aggregate, Cast, Constant, Term, Variable, Wildcard
from whence.model.types import INT, NULL, DecimalType

# A column that queries do not see.
HIDDEN_LEVEL = f"{AUXILIARY_MARK}level"


@dataclass(frozen=True)
class Output:
    """A column of a SELECT's result."""

    name: str
    term: Term
    span: Span | None = None
    # A name the user wrote must be unique; one we made up is changed where it is not.
    given: bool = True


@dataclass
class QueryDraft:
    """A query that is nearly a rule: the block it reads and the columns it yields."""

    block: Block
    outputs: list[Output]
    distinct: bool = False
    span: Span | None = None
    # At most one row for each binding of the free variables. An aggregate without GROUP BY yields its row even from
    # nothing, but a correlated one has no group to show for that: `when_empty` is the row it would have been.
    single: bool = False
    when_empty: tuple[Term, ...] | None = None

    @property
    def aggregated(self) -> bool:
        return any(isinstance(o.term, Aggregate) for o in self.outputs)

    def renamed(self, names: Sequence[str], span: Span | None) -> QueryDraft:
        """With its columns called as a column list says, `v(a, b)`; an empty list changes nothing."""
        if not names:
            return self
        if len(names) != len(self.outputs):
            raise ArityError(f"{len(names)} column names are given for {len(self.outputs)} columns", span=span)
        outputs = [replace(o, name=n, given=True) for o, n in zip(self.outputs, names, strict=True)]
        return replace(self, outputs=outputs)


@dataclass(frozen=True)
class Lowered:
    """A query that has become a relation. Its first columns are the outer block's variables in `free`."""

    relation: Relation
    free: tuple[str, ...]

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.relation.columns[len(self.free) :]


@dataclass(frozen=True)
class Mark:
    """How far a lowering had come."""

    made: Mapping[str, Relation]
    rules: Sequence[Rule]
    notices: Sequence[str]


@dataclass
class Lowering:
    """One view, being lowered.

    `parts` drafts a query, and tells whether duplicates go; it is handed in from above, because queries nest.
    """

    view: str
    source: SourceText
    known: KnownRelations
    parts: Callable[[Lowering, exp.Expr, Block], tuple[list[QueryDraft], bool]]
    made: dict[str, Relation] = field(default_factory=dict)
    rules: list[Rule] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    # Auxiliary relations that have at most one row.
    single: set[str] = field(default_factory=set)
    # What a query calls the columns of auxiliary relations, where two of them have one name.
    labels: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def note_single(self, lowered: Lowered, drafts: Sequence[QueryDraft]) -> None:
        """Remember that a relation has at most one row, if the query that it was made from has."""
        if len(drafts) == 1 and drafts[0].single:
            self.single.add(lowered.relation.name)

    def span(self, node: exp.Expr | None) -> Span | None:
        return span_of(node, self.source)

    @property
    def signatures(self) -> Mapping[str, Signature]:
        return self.known.functions

    def mark(self) -> Mark:
        return Mark(dict(self.made), tuple(self.rules), tuple(self.notices))

    def back_to(self, mark: Mark) -> None:
        """Forget everything that was lowered since."""
        self.made, self.rules, self.notices = dict(mark.made), list(mark.rules), list(mark.notices)

    def relation(self, name: str) -> Relation:
        relation = self.made.get(name) or self.known.find(name)
        assert relation is not None, name
        return relation

    def find(self, name: str, ctes: Mapping[str, str], span: Span | None) -> Relation:
        """A relation by the name that stands in FROM, in any letter case; those of WITH go by small letters."""
        if name.lower() in ctes:
            return self.relation(ctes[name.lower()])
        itself = owner(name).lower() == self.view.lower()
        found = None if itself else self.known.find(name)
        if found is not None:
            return found
        hint = did_you_mean(name, [*ctes, *self.known.names()])
        if itself:
            hint = "a view can read itself only through WITH RECURSIVE"
        raise UnknownNameError(f"unknown table or view {name!r}", span=span, hint=hint)

    def fresh_name(self, hint: str) -> str:
        base = f"{self.view}{AUXILIARY_MARK}{hint}"
        # Names of WITH may be the user's, in any letter case, and relations are told apart without it.
        return _free_name(base, {name.lower() for name in self.made})

    def typed(self, term: Term, block: Block) -> Typed:
        if isinstance(term, Variable):
            return block.typed(term.name)
        return infer(term, block.environment(), self.signatures)

    # Drafts from queries, and relations from drafts

    def draft(self, query: exp.Expr, outer: Block) -> QueryDraft:
        """The query as a single draft inside the outer block."""
        drafts, distinct = self.parts(self, query, outer)
        if len(drafts) == 1:
            return replace(drafts[0], distinct=distinct)
        return self.join_parts(drafts, distinct, "union")

    def join_parts(self, drafts: Sequence[QueryDraft], distinct: bool, hint: str) -> QueryDraft:
        """Several drafts as one, which reads their rows from a relation of their own."""
        together = self.emit(self.fresh_name(hint), drafts, distinct=distinct, span=drafts[0].span)
        first = drafts[0]
        block = first.block.sibling()
        terms = self.read(block, together, first.span)
        return QueryDraft(
            block, [replace(o, term=t) for o, t in zip(first.outputs, terms, strict=True)], span=first.span
        )

    def emit(self, name: str, drafts: Sequence[QueryDraft], *, distinct: bool, span: Span | None = None) -> Lowered:
        """One relation with a rule for each draft; they must agree in the number and types of their columns."""
        free = tuple(dict.fromkeys(outer for draft in drafts for outer in draft.block.free))
        if not free and not drafts[0].outputs:
            # SQL has no table without columns.
            drafts = [replace(d, outputs=[Output("found", Constant(1, INT))]) for d in drafts]
        heads: list[tuple[Term, ...]] = []
        environments: list[Mapping[str, Typed]] = []
        for draft in drafts:
            _check_width(draft, drafts[0])
            block = draft.block
            locals_ = [block.import_variable(Variable(outer)) for outer in free]
            self.bind(block, locals_)
            environment = block.final_environment(self.relation)
            environments.append(environment)
            heads.append((*locals_, *(_as_written(o.term, block, environment) for o in draft.outputs)))
        outputs = drafts[0].outputs
        if name != self.view and len({o.name.lower() for o in outputs if o.given}) < sum(o.given for o in outputs):
            self.labels[name] = tuple(o.name for o in outputs)
            outputs = [replace(o, given=False) for o in outputs]
        names = _unique([*(f.partition("#")[0] for f in free)], outputs)
        columns = tuple(
            self._column(
                i, names[i], list(zip(drafts, (head[i] for head in heads), environments, strict=True)), len(free)
            )
            for i in range(len(names))
        )
        relation = Relation(name, columns, distinct=distinct, span=span)
        self.made[name] = relation
        for draft, head, environment in zip(drafts, heads, environments, strict=True):
            cells = zip(head, columns, strict=True)
            fitted = (self._fitted(draft, term, environment, len(free), column) for term, column in cells)
            atom = Atom(name, head if len(drafts) == 1 else tuple(fitted), span=draft.span)
            self.rules.append(finish(draft.block, atom, self.relation, draft.span))
        return Lowered(relation, free)

    def _fitted(
        self, draft: QueryDraft, term: Term, environment: Mapping[str, Typed], free: int, column: Column
    ) -> Term:
        """A term as its column holds it: two long DECIMALs may meet in one that has fewer digits after the point."""
        if not isinstance(column.type, DecimalType) or isinstance(term, Aggregate):
            return term
        kind = self._head_typed(draft, term, environment, free).type
        is_longer = isinstance(kind, DecimalType) and not fits(kind, column.type)
        return Cast(term, column.type, span=term.span) if is_longer else term

    def _column(
        self, at: int, name: str, cells: list[tuple[QueryDraft, Term, Mapping[str, Typed]]], free: int
    ) -> Column:
        found = [self._head_typed(*cell, free) for cell in cells]
        type_ = common_in_place([f.type for f in found])
        draft = cells[-1][0]
        output = draft.outputs[at - free] if at >= free else None
        if type_ is None:
            kinds = " and ".join(dict.fromkeys(str(f.type) for f in found))
            raise TypeMismatchError(
                f"column {name!r} is {kinds} in different parts of the query",
                span=output.span if output else None,
                hint="CAST one of them",
            )
        return Column(name, type_, any(f.nullable for f in found), span=output.span if output else None)

    def _head_typed(self, draft: QueryDraft, term: Term, environment: Mapping[str, Typed], free: int) -> Typed:
        typed = infer(term, environment, self.signatures)
        if isinstance(term, Aggregate) and term.argument is not None and term.function != "count":
            grouped = free > 0 or any(not isinstance(o.term, Aggregate) for o in draft.outputs)
            # A group has at least one row, so only its argument can make the aggregate NULL.
            return Typed(typed.type, not grouped or infer(term.argument, environment, self.signatures).nullable)
        return typed

    def complete(
        self, draft: QueryDraft, hint: str, fallback: Sequence[Term] | None, *, single: bool = True
    ) -> Lowered:
        """The draft's rows, and the fallback where it has none: for those values from outside, or at all. Unless it is
        a `single` row, it may be there several times.
        """
        found = self.emit(self.fresh_name(hint), [draft], distinct=draft.distinct, span=draft.span)
        outer = draft.block.outer
        # No columns: its row is there in any case.
        if not fallback or outer is None:
            return found
        present, missing = outer.child(), outer.child()
        values = self.read(present, found, draft.span)
        free = tuple(missing.import_variable(Variable(name)) for name in found.free)
        missing.negations.append(Atom(found.relation.name, (*free, *(Wildcard() for _ in values)), span=draft.span))
        drafts = [
            QueryDraft(block, [replace(o, term=t, given=False) for o, t in zip(draft.outputs, terms, strict=True)])
            for block, terms in ((present, values), (missing, fallback))
        ]
        return self.emit(self.fresh_name("value"), drafts, distinct=single, span=draft.span)

    def completed(self, draft: QueryDraft) -> QueryDraft:
        """An aggregate without GROUP BY, with its row also where it is over nothing, read back as a draft."""
        block = draft.block.sibling()
        terms = self.read(block, self.complete(draft, "grouped", draft.when_empty), draft.span)
        outputs = [replace(o, term=t) for o, t in zip(draft.outputs, terms, strict=True)]
        return QueryDraft(block, outputs, distinct=draft.distinct, span=draft.span, single=draft.single)

    def project(self, draft: QueryDraft, hint: str) -> QueryDraft:
        """The same rows, read back from a relation of their own."""
        copy = self.join_parts([draft], draft.distinct, hint)
        return replace(copy, distinct=draft.distinct, single=draft.single, when_empty=draft.when_empty)

    def read(self, block: Block, lowered: Lowered, span: Span | None) -> list[Variable]:
        """An atom over the relation in a block of the same surroundings; its columns as fresh variables."""
        outer = [block.import_variable(Variable(name)) for name in lowered.free]
        fresh = [block.fresh(c.name, Typed(c.type, c.nullable), span) for c in lowered.columns]
        block.atoms.append(Atom(lowered.relation.name, (*outer, *fresh), span=span))
        return fresh

    def read_in_place(self, block: Block, lowered: Lowered, span: Span | None) -> list[Variable]:
        """The same in the block whose variables are the free ones themselves."""
        fresh = [block.fresh(c.name, Typed(c.type, c.nullable), span) for c in lowered.columns]
        block.atoms.append(Atom(lowered.relation.name, (*map(Variable, lowered.free), *fresh), span=span))
        return fresh

    # Binding free variables

    def bind(self, block: Block, wanted: Sequence[Variable]) -> None:
        """Make sure that atoms of the block give these variables values, with the outer block's values where needed."""
        bound = block.bound()
        mine = {block.root(local): outer for outer, local in block.free.items()}
        names = dict.fromkeys(block.root(v.name) for v in wanted)
        if block.outer is not None and not names.keys() <= bound:
            # All of them, also those bound already: they tie the others to the rows they come with.
            outside = [name for name in names if name in mine]
            domain = self.domain(block.outer, [Variable(mine[name]) for name in outside])
            block.atoms.append(Atom(domain.name, tuple(Variable(name) for name in outside)))

    def domain(self, block: Block, wanted: Sequence[Variable]) -> Relation:
        """A set that holds at least every combination of values these variables take in the block."""
        self.bind(block, wanted)
        names = {block.root(v.name) for v in wanted}
        inner = block.sibling()
        inner.copy_variables(block)
        inner.atoms = [
            atom for atom in block.atoms if names & {block.root(t.name) for t in atom.terms if isinstance(t, Variable)}
        ]
        outputs = [Output(v.name.partition("#")[0], v, given=False) for v in wanted]
        return self._once(self.emit(self.fresh_name("domain"), [QueryDraft(inner, outputs)], distinct=True).relation)

    def _once(self, relation: Relation) -> Relation:
        """An earlier relation with the same rule, if there is one, instead of the newest."""
        rule = self.rules[-1]
        for other in self.rules[:-1]:
            same = other.body == rule.body and other.head.terms == rule.head.terms
            if same and sum(r.head.relation == other.head.relation for r in self.rules) == 1:
                earlier = self.made[other.head.relation]
                if earlier.distinct:
                    del self.rules[-1], self.made[relation.name]
                    return earlier
        return relation

    def program(self) -> Program:
        return in_order(self.view, self.made, self.rules)


def _as_written(term: Term, block: Block, environment: Mapping[str, Typed]) -> Term:
    """A column keeps its own type, also where it is joined with one of a wider type."""
    if isinstance(term, Variable):
        own = block.types[term.name].type
        if own not in (NULL, environment[term.name].type):
            return Cast(term, own, span=term.span)
    return term


def _check_width(draft: QueryDraft, first: QueryDraft) -> None:
    if len(draft.outputs) != len(first.outputs):
        raise ArityError(
            f"the parts of the query differ: {len(first.outputs)} columns in the first, {len(draft.outputs)} here",
            span=draft.span,
            hint="all parts of a UNION, INTERSECT or EXCEPT need the same number of columns",
        )


def _unique(leading: list[str], outputs: Sequence[Output]) -> list[str]:
    given: dict[str, Span | None] = {}
    for output in outputs:
        if output.given and output.name.lower() in given:
            raise DuplicateNameError(
                f"two columns are named {output.name!r}",
                span=output.span,
                related=[("the other one", given[output.name.lower()])],
                hint="rename one with AS",
            )
        if output.given:
            given[output.name.lower()] = output.span
    taken = set(given)
    names = [output.name if output.given else _free_name(output.name, taken) for output in outputs]
    return [_free_name(name, taken) for name in leading] + names


def _free_name(wish: str, taken: set[str]) -> str:
    name, number = wish, 1
    while name.lower() in taken:
        number += 1
        name = f"{wish}_{number}"
    taken.add(name.lower())
    return name
