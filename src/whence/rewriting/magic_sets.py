"""Magic sets: a recursion that is only asked for some rows computes those, and what they follow from.

    reach(x, y) :- link(x, y).
    reach(x, y) :- reach(x, z), reach(z, y).
    from_a(y) :- reach("a", y).

    from_a$reach$bf$magic("a").
    from_a$reach$bf$magic(z) :- from_a$reach$bf$magic(x), from_a$reach$bf(x, z).
    from_a$reach$bf(x, y) :- from_a$reach$bf$magic(x), link(x, y).
    from_a$reach$bf(x, y) :- from_a$reach$bf(x, z), from_a$reach$bf(z, y).
    from_a(y) :- from_a$reach$bf("a", y).

The adornment `bf` says that the first column is bound and the second free; `magic` has the values that the first is
asked for. A relation has a version for each adornment that no other one covers. The magic relation is one like any
other, so that what is asked for may change with every commit, and versions follow.

A version has all rows of the relation whose bound columns are in its magic relation: a rule above finds what it would
find in the whole. That holds as well where it negates the relation or aggregates over it, since those columns are asked
for by rows that do not depend on the recursion. Rules whose bound columns are made by a computation, or in which an
aggregate of the recursion would tell what to ask for, leave a column free; if all are free, nothing is rewritten.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain

from whence.analysis.analyze import Analysis, analyze
from whence.analysis.components import Component, owing_bags
from whence.analysis.limits import is_leveled
from whence.model.graphs import reached
from whence.model.program import Program, Signature
from whence.model.rules import Atom, Literal, Negation, Rule
from whence.model.schema import AUXILIARY_MARK, Relation, is_auxiliary, owner
from whence.model.terms import Constant, Term, Variable
from whence.rewriting.sideways import Bound, Request, requests, tellable

# What a version is asked for; and what is asked for whatever the rows are, since a recursion does not start with facts.
_MAGIC, _SEED = "magic", "seed"
_NAMED = re.compile(r"(.+\$.+)\$([bf]*b[bf]*)(?:\$(magic|seed))?")


def is_magic(relation: str) -> bool:
    """Whether a relation has the values that another one is asked for."""
    named = _NAMED.fullmatch(relation)
    return named is not None and named[3] is not None


def is_version(relation: str) -> bool:
    """Whether a relation has some rows of another one, those that are asked for."""
    named = _NAMED.fullmatch(relation)
    return named is not None and named[3] is None


def whole_relation(relation: str) -> str:
    """The relation that this one is a version of, or itself."""
    named = _NAMED.fullmatch(relation)
    return relation if named is None else named[1]


def with_magic_sets(
    known: Sequence[Rule],
    rules: Sequence[Rule],
    analysis: Analysis,
    is_hidden: Callable[[str], bool],
    signatures: Mapping[str, Signature],
) -> tuple[Sequence[Rule], Analysis, Mapping[str, str]]:
    """The rules and the analysis of them and of what is known, once every recursion computes only what it is asked for;
    and the names that relations got by that. A recursion that reads another one asks it first.
    """
    renamed: dict[str, str] = {}
    for component in reversed(analysis.components):
        if not component.recursive or not all(map(is_hidden, component.relations)):
            continue
        rewriting = _Rewriting(component, known, rules, analysis)
        if rewriting.is_possible:
            program = Program((*rewriting.relations(),), (*known, *rewriting.rewritten()))
            after = analyze(program, signatures)
            if rewriting.is_kept_by(after):
                rules, analysis = program.rules[len(known) :], after
                renamed |= rewriting.renamed
    return rules, analysis, renamed


class _Rewriting:
    """Of the rules of one recursion, and of those that read it. It is possible where all of these tell some columns."""

    def __init__(self, component: Component, known: Sequence[Rule], rules: Sequence[Rule], analysis: Analysis) -> None:
        self._members = frozenset(component.relations)
        self._rules = rules
        self._relations = analysis.relations
        self._is_leveled = is_leveled(component.relations, component.rules)
        self._typed = {id(each.rule): each for part in analysis.components for each in part.typed}
        self._bindable = {name: _bindable(component, analysis.relations[name]) for name in component.relations}
        readers: dict[str, list[str]] = {}
        for rule in rules:
            for name in rule.reads:
                readers.setdefault(name, []).append(rule.head.relation)
        above = {*reached(self._members, lambda name: readers.get(name, ()))}
        self._complete = analysis.relations.keys() - above - owing_bags(analysis.components, analysis.relations)
        # Rows of the recursion itself tell what to ask next, where a row that is there does not leave for a better one.
        self._growing = frozenset[str]() if self._is_leveled or component.aggregated else self._members
        outside = (rule for rule in rules if rule.head.relation not in self._members)
        asking = (owner(rule.head.relation) for rule in outside if not self._members.isdisjoint(rule.reads))
        self._view = next(asking, "")
        self._versions: dict[str, set[Bound]] = {name: set() for name in component.relations}
        self.is_possible = (
            bool(self._view)
            and not any(self._members.intersection(rule.reads) for rule in known)
            and not any(self._repeats(rule) for rule in rules)
            and self._find_versions()
        )

    @property
    def renamed(self) -> dict[str, str]:
        """The new names of relations: of one with several versions, the first."""
        names = {name: self._named(name, _sorted(found)[0]) for name, found in self._versions.items() if found}
        return names | self._moved

    @cached_property
    def _moved(self) -> dict[str, str]:
        """What serves a relation that is only there in versions serves the view that reads it."""
        gone = {owner(name) for name in self._members} - {self._view}
        return {
            name: f"{self._view}{AUXILIARY_MARK}{name}"
            for name in self._relations
            if name not in self._members and is_auxiliary(name) and owner(name) in gone
        }

    def _named(self, relation: str, bound: Bound) -> str:
        inner = relation if owner(relation) != self._view else relation.partition(AUXILIARY_MARK)[2]
        letters = "".join("b" if at in bound else "f" for at in range(self._relations[relation].arity))
        return AUXILIARY_MARK.join((self._view, inner, letters))

    def _magic_name(self, relation: str, bound: Bound) -> str:
        return f"{self._named(relation, bound)}{AUXILIARY_MARK}{_MAGIC}"

    def _repeats(self, rule: Rule) -> bool:
        atoms = [atom for atom in rule.body_atoms if atom.relation in self._members]
        return len(set(map(id, atoms))) < len(atoms)

    def _find_versions(self) -> bool:
        """The adornments that there are a version for; whether every atom of the recursion has one that binds."""
        while True:
            before = {name: set(found) for name, found in self._versions.items()}
            for rule, version in self._wanted():
                for request in self._requests(rule, version):
                    bound = frozenset(request.terms)
                    if not bound:
                        return False
                    found = self._versions[request.atom.relation]
                    if not any(known <= bound for known in found):
                        found.difference_update({known for known in found if bound < known})
                        found.add(bound)
            if self._versions == before:
                return any(self._versions.values())

    def _wanted(self) -> Iterator[tuple[Rule, Bound | None]]:
        """The rules, those of the recursion once for each version."""
        for rule in self._rules:
            if rule.head.relation not in self._members:
                yield rule, None
            else:
                yield from ((rule, version) for version in _sorted(self._versions[rule.head.relation]))

    def _requests(self, rule: Rule, version: Bound | None) -> Iterator[Request]:
        first = None if version is None else self._magic(rule.head, version)
        usable = self._complete if version is None else self._complete | self._growing
        return requests(self._typed[id(rule)], self._members, first, usable, self._bindable)

    def _magic(self, atom: Atom, version: Bound, terms: Mapping[int, Term] | None = None) -> Atom:
        """That the version is asked for these columns."""
        name = self._magic_name(atom.relation, version)
        told = atom.terms if terms is None else terms
        return Atom(name, tuple(told[at] for at in sorted(version)), span=atom.span)

    def _read(self, request: Request) -> Bound:
        """The version that an atom reads: one of those whose columns are all told that binds the most."""
        found = _sorted(self._versions[request.atom.relation])
        return max((each for each in found if each <= request.terms.keys()), key=len)

    def rewritten(self) -> Iterator[Rule]:
        magic: dict[Rule, None] = {}
        versions: list[Rule] = []
        for rule, version in self._wanted():
            found = list(self._requests(rule, version))
            reads = {id(request.literal): self._read(request) for request in found}
            for request in found:
                read = reads[id(request.literal)]
                head = self._magic(request.atom, read, request.terms)
                body = tuple(self._over_versions(each, reads) for each in request.body(read))
                if head not in body:
                    magic[Rule(head, body, span=request.literal.span or rule.span)] = None
            versions.append(self._version_of(rule, version, reads))
        return chain(_with_seeds(magic), versions)

    def _version_of(self, rule: Rule, version: Bound | None, reads: Mapping[int, Bound]) -> Rule:
        """The rule over versions. That of a version asks whether its rows are asked for, unless an atom tells."""
        body = tuple(self._over_versions(each, reads) for each in rule.body)
        if version is None:
            return replace(rule, head=self._moved_atom(rule.head), body=body)
        guard = self._magic(rule.head, version)
        tells = (each for each in rule.body if isinstance(each, Atom) and each.relation == rule.head.relation)
        if all(reads[id(each)] != version or self._magic(each, version) != guard for each in tells):
            body = (guard, *body)
        return replace(rule, head=replace(rule.head, relation=self._named(rule.head.relation, version)), body=body)

    def _over_versions(self, literal: Literal, reads: Mapping[int, Bound]) -> Literal:
        match literal:
            case Atom() if id(literal) in reads:
                return replace(literal, relation=self._named(literal.relation, reads[id(literal)]))
            case Negation(atom=atom) if id(literal) in reads:
                return replace(literal, atom=replace(atom, relation=self._named(atom.relation, reads[id(literal)])))
            case Atom():
                return self._moved_atom(literal)
            case Negation(atom=atom):
                return replace(literal, atom=self._moved_atom(atom))
        return literal

    def _moved_atom(self, atom: Atom) -> Atom:
        return replace(atom, relation=self._moved[atom.relation]) if atom.relation in self._moved else atom

    def relations(self) -> Iterator[Relation]:
        """Those of before, with versions for those of the recursion. Those of magic relations are left to be found."""
        for name, relation in self._relations.items():
            if name not in self._members:
                yield replace(relation, name=self._moved[name]) if name in self._moved else relation
            for version in _sorted(self._versions.get(name, ())):
                yield replace(relation, name=self._named(name, version), key=())

    def is_kept_by(self, after: Analysis) -> bool:
        """Whether values can be asked for as they are, and levels are still levels."""
        for name, versions in self._versions.items():
            columns = self._relations[name].columns
            for version in versions:
                named = self._named(name, version)
                magic = after.relations[self._magic_name(name, version)]
                asked = [columns[at].type.family for at in sorted(version)]
                if [column.type.family for column in magic.columns] != asked:
                    return False
                part = next(each for each in after.components if named in each.relations)
                if self._is_leveled and not is_leveled(part.relations, part.rules):
                    return False
        return True


def _bindable(component: Component, relation: Relation) -> Bound:
    """The columns that can be asked for: in every rule a constant, or a variable that an atom binds.

    The atom that asks would turn a variable that is computed into one that is compared, which NULL is not equal in.
    """
    found = tellable(relation)
    for rule in component.rules:
        if rule.head.relation == relation.name:
            matched = {term for each in rule.body if isinstance(each, Atom) for term in each.terms}
            found &= {
                at
                for at, term in enumerate(rule.head.terms)
                if isinstance(term, Constant) or (isinstance(term, Variable) and term in matched)
            }
    return found


def _with_seeds(magic: Collection[Rule]) -> Iterator[Rule]:
    """With the facts among them in relations of their own, where there are other rules too."""
    ruled = {rule.head.relation for rule in magic if rule.body}
    seeded: set[str] = set()
    for rule in magic:
        name = rule.head.relation
        if rule.body or name not in ruled:
            yield rule
            continue
        seed = replace(rule.head, relation=f"{name.removesuffix(_MAGIC)}{_SEED}")
        yield replace(rule, head=seed)
        if name not in seeded:
            seeded.add(name)
            terms = tuple(Variable(f"x{at}") for at in range(len(seed.terms)))
            yield Rule(Atom(name, terms), (Atom(seed.relation, terms),), span=rule.span)


def _sorted(versions: Iterable[Bound]) -> list[Bound]:
    return sorted(versions, key=sorted)


def without_guards(analysis: Analysis, signatures: Mapping[str, Signature]) -> tuple[Analysis, Mapping[int, Rule]]:
    """The program in the rules that were written, whose versions have all rows; and these by the identity of those that
    ask whether a row is asked for.
    """
    written: dict[int, Rule] = {}
    rules: list[Rule] = []
    for rule in analysis.program.rules:
        body = tuple(each for each in rule.body if not (isinstance(each, Atom) and is_magic(each.relation)))
        if is_magic(rule.head.relation):
            continue
        if len(body) < len(rule.body):
            written[id(rule)] = replace(rule, body=body)
        rules.append(written.get(id(rule), rule))
    relations = tuple(each for name, each in analysis.relations.items() if not is_magic(name))
    return analyze(Program(relations, tuple(rules)), signatures), written


def magic_notice(old: str, new: str) -> str:
    return f"{old!r} is only asked for some rows, so it has no others, and is called {new!r}"


def magic_text(relation: Relation) -> str | None:
    """For those who ask how a relation is kept."""
    named = _NAMED.fullmatch(relation.name)
    if named is None:
        return None
    if named[3] is not None:
        return f"magic sets: what {named[1]}${named[2]} is asked for"
    bound = [name for name, letter in zip(relation.column_names, named[2], strict=True) if letter == "b"]
    return f"magic sets: it is only read by {', '.join(bound)}, so it has the rows that are asked for"
