"""Definitions that are about to change: any number of statements and rules, and one program that comes out of them.

Views that are not mentioned follow those below them. A view in SQL names the columns that it reads, and finds them
under their names in whatever order they are; a rule in Datalog has them by position. What a view no longer understands
is refused when all is known that changes, with the place, and before anything has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from whence.errors import StateError
from whence.model.program import AlteredColumn, AlterTable, Catalog, CreateTable, CreateView, Drop, Program
from whence.model.rules import Atom, Literal, Negation, Rule
from whence.model.schema import (
    AUXILIARY_MARK,
    Relation,
    default_property,
    has_same_values,
    is_auxiliary,
    owner,
    renamed_properties,
)
from whence.model.span import Span
from whence.model.terms import Wildcard
from whence.session.altered_tables import altered_rule, check_alterable, composed, followed_types
from whence.session.definitions import Definitions
from whence.session.derivation_tables import RULE, with_derivations


class Redefined(NamedTuple):
    """What there will be. Tables that are `altered` hold what these rules say of what they hold now."""

    after: Definitions
    altered: Mapping[str, Rule]
    notices: tuple[str, ...]


class Redefinition:
    """Changes of definitions, taken one after the other. Nothing happens by them."""

    def __init__(self, before: Definitions, *, keeps_derivations: bool = False) -> None:
        """With `keeps_derivations` every new view gets tables of its derivations."""
        self.before = before
        self._keeps_derivations = keeps_derivations
        # New and changed tables, views by their programs, what is gone; with what tables hold of their old columns.
        self._tables: dict[str, Relation] = {}
        self._views: dict[str, Program] = {}
        self._dropped: dict[str, Span | None] = {}
        self._altered: dict[str, tuple[AlteredColumn, ...]] = {}
        # Of new tables, the hidden relations of their constraints.
        self._constraints: dict[str, Program] = {}
        self._spans: dict[str, Span | None] = {}
        self._notices: list[str] = []
        # What views of this step read, as it was when their texts were read.
        self._seen: dict[str, dict[str, Relation]] = {}

    @property
    def catalog(self) -> Catalog:
        """What a text that comes next may name."""
        known = self.before.catalog
        gone = {*self._dropped, *self._views, *self._tables}
        if not gone:
            # A script of many views takes linear time.
            return known
        relations = {name: relation for name, relation in known.relations.items() if name not in gone}
        relations.update(self._tables)
        made = {relation.name: relation for program in self._views.values() for relation in program.relations}
        relations.update((name, relation) for name, relation in made.items() if not is_auxiliary(name))
        views = (known.views - gone).union(self._views)
        return Catalog(relations, views, known.functions)

    @property
    def rules(self) -> list[Rule]:
        """All rules as they are so far."""
        gone = {*self._dropped, *self._views}
        kept = [rule for rule in self.before.rules if owner(rule.head.relation) not in gone]
        return [*kept, *(rule for program in self._views.values() for rule in program.rules)]

    def table(self, name: str) -> Relation | None:
        """A table as it will be; None if there is none of that name."""
        relation = self.catalog.find(name)
        return None if relation is None or relation.name in self.catalog.views else relation

    def is_renewed(self, name: str) -> bool:
        """Whether a table is another one afterwards, whose rows all come by this change."""
        old = self.before.tables.get(name)
        new = self._tables.get(name)
        return name in self._dropped or (new is not None and (old is None or old.columns != new.columns))

    @property
    def altered(self) -> Mapping[str, tuple[AlteredColumn, ...]]:
        """Of tables with other columns, where each of these comes from."""
        return self._altered

    def apply(self, statement: CreateTable | CreateView | Drop | AlterTable) -> bool:
        """Take a statement, which was parsed against the catalog as it is. Answers whether there is anything to do."""
        match statement:
            case CreateTable(relation=relation):
                if self.catalog.find(relation.name) is not None:
                    return False
                self._check_made_again(relation, statement.span)
                self._tables[relation.name] = relation
                self._constraints[relation.name] = statement.constraints
            case CreateView(name=name):
                old = self.catalog.find(name)
                if old is not None and not statement.replace:
                    return False
                self.define_view(statement.definition, statement.span, keeps_derivations=statement.keeps_derivations)
                self._notices += statement.notices
            case Drop(name=name):
                found = self.catalog.find(name)
                if found is None:
                    return False
                self.drop(found.name, statement.span)
            case AlterTable():
                self._alter(statement)
        return True

    def _check_made_again(self, relation: Relation, span: Span | None) -> None:
        """A table with the columns of one that goes in the same step would have its rows, under another key, time to
        live or window than they came by.
        """
        old = self.before.tables.get(relation.name)
        if relation.name in self._dropped and old is not None and old.columns == relation.columns:
            raise StateError(
                f"table {relation.name!r} cannot be dropped and made again in one step",
                span=span,
                hint="rows stay with the key, the time to live and the window that they came by: make a table of "
                "another name, or drop this one in a step of its own",
            )

    def define_view(self, definition: Program, span: Span | None, *, keeps_derivations: bool = False) -> None:
        """A view as it is defined from now on, by rules for it and for what serves it."""
        if keeps_derivations or self._keeps_derivations:
            known = {**self.before.relations, **self.catalog.relations}
            former = list(self.before.rules_of(owner(definition.relations[-1].name)))
            definition = with_derivations(definition, known, self.before.signatures, former)
        name = owner(definition.relations[-1].name)
        known_now, read = self.catalog.relations, {each for rule in definition.rules for each in rule.reads}
        self._seen[name] = {each: known_now[each] for each in read if each in known_now and each != name}
        relations = tuple(map(self._as_nullable, definition.relations))
        self._views[name] = replace(definition, relations=relations)
        self._spans[name] = span

    def drop(self, name: str, span: Span | None = None) -> None:
        self._tables.pop(name, None)
        self._views.pop(name, None)
        self._altered.pop(name, None)
        self._constraints.pop(name, None)
        if name in self.before.relations:
            self._dropped[name] = span

    def _alter(self, statement: AlterTable) -> None:
        relation = self.catalog.relations[statement.relation]
        check_alterable(relation, statement)
        self._spans[relation.name] = statement.span
        before = self._altered.get(relation.name)
        columns = statement.columns
        if before is not None:
            columns = tuple(each if each.source is None else composed(each, before[each.source]) for each in columns)
        renamed = {
            relation.columns[each.source].name: each.column.name
            for each in statement.columns
            if each.source is not None
        }
        added = (default_property(each.column, each.default) for each in columns if each.default is not None)
        self._tables[relation.name] = replace(
            relation,
            columns=tuple(each.column for each in columns),
            properties=tuple(sorted({**dict(renamed_properties(relation, renamed)), **dict(added)}.items())),
            key=tuple(renamed[name] for name in relation.key),
            partition=None if relation.partition is None else renamed[relation.partition],
            ttl=None if relation.ttl is None else replace(relation.ttl, column=renamed[relation.ttl.column or ""]),
        )
        if relation.name in self.before.tables and relation.name not in self._dropped:
            self._altered[relation.name] = columns

    # What comes out.

    def finish(self) -> Redefined:
        """The program after all changes. Raises what is wrong with it, with the place."""
        altered = {
            name: altered_rule(self.before.relations[name], self._tables[name], columns)
            for name, columns in self._altered.items()
        }
        return Redefined(self._after(), altered, tuple(self._notices))

    def _after(self) -> Definitions:
        before = self.before
        if not self._dropped and not any(name in before.relations for name in (*self._views, *self._tables)):
            return self._extended()
        self._read_again()
        replaced = {name for name in self._views if name in before.relations}
        changed = {name for name in self._tables if name in before.relations}
        gone = {*self._dropped, *replaced, *changed}
        if not self._tables and not self._views and len(gone) == 1:
            (name,) = gone
            self._check_unused(name)
            return before.without(name)
        new = self._changed
        kept = {
            name: relation
            for name, relation in before.relations.items()
            if owner(name) not in gone or (is_auxiliary(name) and owner(name) in self._altered)
        }
        rules = self._followed_rules([rule for rule in before.rules if rule.head.relation in kept], new)
        self._check_loops(rules)
        made = tuple(rule for program in (*self._views.values(), *self._constraints.values()) for rule in program.rules)
        typed = followed_types(kept, new, (*rules, *made), before)
        known = Program(tuple(typed[name] for name in kept), rules)
        owners = {*self._views, *self._constraints}
        return before.redefined(known, tuple(typed[name] for name in new), made, owners)

    def _read_again(self) -> None:
        """Views in SQL mean something else when a column that they read has another type, or can be NULL now: their
        texts are read again. Those of this step are, too, if something below them was.
        """
        for _ in range(len(self.before.views) + len(self._views) + 1):
            changed = self._changed_columns()
            outdated = [name for name in self._sql_views() if self._is_outdated(name, changed)]
            outdated += [name for name in self._views if self._is_read_too_early(name)]
            if not outdated:
                return
            self._again(outdated[0])

    def _is_read_too_early(self, name: str) -> bool:
        """Whether the text of a view of this step was read before something changed that it reads."""
        span = self._views[name].relations[-1].span
        known = self.catalog.relations
        return (
            span is not None
            and not span.source.is_datalog
            and any(each in known and known[each].columns != seen.columns for each, seen in self._seen[name].items())
        )

    @property
    def _changed(self) -> Mapping[str, Relation]:
        """Relations of this step, by name."""
        programs = (*self._views.values(), *self._constraints.values())
        made = {relation.name: relation for program in programs for relation in program.relations}
        return {**made, **self._tables}

    def _changed_columns(self) -> dict[str, set[str]]:
        """Of relations that there were, the columns that are not what they were, by their old names."""
        changed = {}
        for name, new in self.catalog.relations.items():
            old = self.before.relations.get(name)
            if old is not None and old is not new:
                now = {
                    at: new.columns[place] for place, at in enumerate(self._places(name, old, new)) if at is not None
                }
                changed[name] = {
                    column.name
                    for at, column in enumerate(old.columns)
                    if at in now and (now[at].type, now[at].nullable) != (column.type, column.nullable)
                }
        return {name: columns for name, columns in changed.items() if columns}

    def _sql_views(self) -> list[str]:
        """The views in SQL that this step does not mention, in the order of their dependencies."""
        ordered = (owner(name) for part in self.before.analysis.components for name in part.relations)
        kept = [name for name in dict.fromkeys(ordered) if name in self.before.views and name not in self._views]
        relations = self.before.relations
        spans = {name: relations[name].span for name in kept if name not in self._dropped}
        return [name for name, span in spans.items() if span is not None and not span.source.is_datalog]

    def _is_outdated(self, name: str, changed: Mapping[str, set[str]]) -> bool:
        for rule in self.before.rules_of(name):
            for atom in rule.body_atoms:
                columns = changed.get(atom.relation, ())
                names = self.before.relations[atom.relation].column_names
                if any(
                    column in columns and not isinstance(term, Wildcard)
                    for term, column in zip(atom.terms, names, strict=True)
                ):
                    return True
        return False

    def _again(self, name: str) -> None:
        # Only who has written SQL needs its parser.
        from whence.lang.sql.parse import view_at

        relation = self._views[name].relations[-1] if name in self._views else self.before.relations[name]
        assert relation.span is not None
        if name not in self._views:
            # What is missing is said first.
            self._followed_rules([*self.before.rules_of(name)], self._changed)
        statement = view_at(relation.span.source, relation.span.start, self.catalog)
        if statement is None or statement.name != name:
            raise StateError(
                f"a column that {name!r} reads has another type, or can be NULL now, and its text is not known",
                span=relation.span,
                hint=f"redefine {name!r} in the same step: with db.redefine() as change: ...",
            )
        keeps = any(f"{AUXILIARY_MARK}{RULE}" in each for each in self.before.relations if owner(each) == name)
        self.define_view(statement.definition, statement.span, keeps_derivations=keeps)

    def _as_nullable(self, relation: Relation) -> Relation:
        """A view as it will be; a column that could be NULL stays one that can, so that readers need not mind."""
        old = self.before.relations.get(relation.name)
        is_seen = relation.name in self.before.views and not is_auxiliary(relation.name)
        if old is None or not is_seen or not has_same_values(old, relation):
            return relation
        columns = [
            replace(new, nullable=new.nullable or column.nullable)
            for new, column in zip(relation.columns, old.columns, strict=True)
        ]
        return replace(relation, columns=tuple(columns))

    def _extended(self) -> Definitions:
        after = self.before
        if self._tables:
            hidden = [each for program in self._constraints.values() for each in program.relations]
            rules = tuple(rule for program in self._constraints.values() for rule in program.rules)
            after = after.adding((*self._tables.values(), *hidden), rules, ())
        for program in self._views.values():
            after = after.adding(program.relations, program.rules, [each.name for each in program.relations])
        return after

    def _check_unused(self, name: str) -> None:
        dependents = [each for each in self.before.dependents(name) if each not in {**self._dropped, **self._views}]
        if dependents:
            raise StateError(
                f"{name!r} cannot be dropped: it is in use by {', '.join(map(repr, dependents))}",
                span=self._dropped.get(name),
                hint="drop what uses it first",
            )

    def _check_loops(self, kept: Sequence[Rule]) -> None:
        """A view in SQL must not come to read itself, through views that stay as they are."""
        reads: dict[str, set[str]] = {}
        for rule in (*kept, *(rule for program in self._views.values() for rule in program.rules)):
            reads.setdefault(owner(rule.head.relation), set()).update(map(owner, rule.reads))
        for name, span in self._spans.items():
            if span is None:
                continue
            todo = [(each, each) for each in sorted(reads.get(name, ())) if each != name]
            seen: set[str] = set()
            while todo:
                first, here = todo.pop()
                if name in reads.get(here, ()):
                    raise StateError(f"view {name!r} would depend on itself, through {first!r}", span=span)
                if here not in seen:
                    seen.add(here)
                    todo += [(first, each) for each in sorted(reads.get(here, ()))]

    def _followed_rules(self, rules: Sequence[Rule], new: Mapping[str, Relation]) -> tuple[Rule, ...]:
        """The rules of views that are not mentioned, over relations that may have other columns.

        Those of a view that is as before are the same objects, and those of any other are all new ones.
        """
        followed = [
            replace(rule, body=tuple(self._followed_literal(rule, each, new) for each in rule.body)) for rule in rules
        ]
        changed = {owner(old.head.relation) for old, rule in zip(rules, followed, strict=True) if old != rule}
        return tuple(
            rule if owner(rule.head.relation) in changed else old for old, rule in zip(rules, followed, strict=True)
        )

    def _followed_literal(self, rule: Rule, literal: Literal, new: Mapping[str, Relation]) -> Literal:
        if isinstance(literal, Negation):
            atom = self._followed_atom(rule, literal.atom, new)
            return literal if atom is literal.atom else replace(literal, atom=atom)
        return self._followed_atom(rule, literal, new) if isinstance(literal, Atom) else literal

    def _followed_atom(self, rule: Rule, atom: Atom, new: Mapping[str, Relation]) -> Atom:
        name = atom.relation
        if name not in new:
            if owner(name) in self._dropped:
                self._check_unused(owner(name))
            return atom
        old = self.before.relations[name]
        places = self._places(name, old, new[name])
        if places == list(range(old.arity)) and new[name].arity == old.arity:
            return atom
        # What was read back from a file is as its user wrote it, rule by rule.
        written = rule.span or atom.span
        span = atom.span if atom.span and written and atom.span.source == written.source else written
        lost = [
            column.name
            for at, (term, column) in enumerate(zip(atom.terms, old.columns, strict=True))
            if not isinstance(term, Wildcard) and at not in places
        ]
        view = owner(rule.head.relation)
        # Where a table is altered, it is known which column is which.
        is_positional = span is not None and span.source.is_datalog and name not in self._altered
        if lost or is_positional:
            missing = f"column {lost[0]!r} of {name!r}" if lost else f"the columns of {name!r} by their positions"
            kind = "view" if name in self.before.views else "table"
            raise StateError(
                f"{kind} {name!r} would get other columns, and it is in use by {view!r}, which reads {missing}",
                span=self._spans.get(name) or new[name].span,
                related=[(f"{view!r} reads it here", span)] if span is not None else (),
                hint="keep its columns, or drop the views that use it first, or redefine them in the same step: "
                "with db.redefine() as change: ...",
            )
        return replace(atom, terms=tuple(Wildcard() if at is None else atom.terms[at] for at in places))

    def _places(self, name: str, old: Relation, new: Relation) -> list[int | None]:
        """For every new column the old one that it is."""
        altered = self._altered.get(name)
        if altered is not None:
            return [each.source for each in altered]
        known = {column.name.lower(): at for at, column in enumerate(old.columns)}
        return [known.get(column.name.lower()) for column in new.columns]
