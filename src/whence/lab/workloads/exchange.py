"""Peers that exchange data by mappings, and mappings that change: the workload of section V of the adaptation paper.

One wide relation of proteins is cut into source relations, each with the accession number and some other attributes of
a sample of its rows. Views join sources that have the attributes of their heads. The defaults are the paper's: 24 views
of one to four rules with one to five atoms, over 16 sources.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, TypeAlias

# The first attribute of every source: the accession number, which tells proteins apart.
KEY = "a0"


@dataclass(frozen=True, slots=True)
class ExchangeSize:
    views: int = 24
    sources: int = 16
    rows: int = 100_000
    """Of the wide relation; each source has a sample of them."""
    sampled: float = 0.9
    attributes: int = 12
    most_rules: int = 4
    most_atoms: int = 5
    seed: int = 1


@dataclass(frozen=True, slots=True)
class BodyAtom:
    relation: str
    terms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MappingRule:
    """A term is the name of a variable, or a constant in its written form."""

    head: tuple[str, ...]
    body: tuple[BodyAtom, ...]


@dataclass(frozen=True, slots=True)
class Exchange:
    """The attributes of sources and of views by position, and the rules of views; a source that was changed is a view
    over what it was.
    """

    sources: Mapping[str, tuple[str, ...]]
    views: Mapping[str, tuple[MappingRule, ...]]
    seed: int
    made: int = 0

    def mappings(self, names: Sequence[str] | None = None) -> str:
        """As a text, of these views or of all."""
        chosen = self.views if names is None else names
        return "\n".join(_mapping(name, rule) for name in chosen for rule in self.views[name])

    def apart(self, names: Collection[str]) -> Exchange:
        """With these views under other names, beside those that are there."""

        def renamed(rule: MappingRule) -> MappingRule:
            body = [
                BodyAtom(apart_name(atom.relation), atom.terms) if atom.relation in names else atom
                for atom in rule.body
            ]
            return replace(rule, body=tuple(body))

        views = {
            apart_name(name) if name in names else name: tuple(map(renamed, rules))
            for name, rules in self.views.items()
        }
        return replace(self, views=views)

    def tables(self) -> str:
        return ";\n".join(
            f"CREATE TABLE {name}({', '.join(f'{each} BIGINT NOT NULL' for each in attributes)})"
            for name, attributes in self.sources.items()
        )


def is_view(name: str) -> bool:
    """Whether it is a view of the workload, and no source that was changed."""
    return name.startswith("p")


def apart_name(view: str) -> str:
    """What a view is called that is computed beside the one that is there."""
    return f"{view}_apart"


def _mapping(name: str, rule: MappingRule) -> str:
    body = ", ".join(f"{atom.relation}({', '.join(atom.terms)})" for atom in rule.body)
    return f"{body} -> {name}({', '.join(rule.head)})."


def exchange(size: ExchangeSize) -> Exchange:
    """Sources and views, by the seed."""
    random = Random(size.seed)  # noqa: S311 - chance is not a secret here
    others = [f"a{number}" for number in range(1, size.attributes)]
    sources = {
        f"s{number}": (KEY, *sorted(random.sample(others, random.randint(2, 5)))) for number in range(size.sources)
    }
    program = Exchange(sources, {}, size.seed)
    # What no source happens to have no view can ask for.
    others = sorted({each for attributes in sources.values() for each in attributes if each != KEY})
    views: dict[str, tuple[MappingRule, ...]] = {}
    for number in range(size.views):
        head = (KEY, *sorted(random.sample(others, random.randint(1, 3))))
        count = random.randint(1, size.most_rules)
        views[f"p{number}"] = tuple(_rule(program, head, random, size.most_atoms) for _ in range(count))
    return replace(program, views=views)


def source_columns(size: ExchangeSize, name: str, attributes: Sequence[str]) -> dict[str, Any]:
    """The rows of a source, as columns: every attribute follows from the accession number."""
    import numpy as np

    rng = np.random.default_rng([size.seed, int(name[1:])])
    key = np.sort(rng.choice(size.rows, round(size.rows * size.sampled), replace=False))
    return {each: key if each == KEY else (key * (7919 + 2 * int(each[1:]))) % 10_007 for each in attributes}


def _rule(program: Exchange, head: tuple[str, ...], random: Random, most_atoms: int = 5) -> MappingRule:
    """Sources, joined by the accession number, that together have the attributes of the head."""
    chosen: list[str] = []
    missing = set(head[1:])
    names = list(program.sources)
    random.shuffle(names)
    while missing:
        best = max(names, key=lambda name: (len(missing.intersection(program.sources[name])), -len(chosen)))
        chosen.append(best)
        names.remove(best)
        missing -= set(program.sources[best])
    while len(chosen) < most_atoms and random.random() < 0.3:
        chosen.append(names.pop())
    known: set[str] = set()
    atoms = []
    for name in chosen:
        # An attribute that another source has given is the same value, since all follow from the number.
        terms = tuple(each if each == KEY or each not in known else "_" for each in program.sources[name])
        known.update(program.sources[name])
        atoms.append(BodyAtom(name, terms))
    return MappingRule(head, tuple(atoms))


# Primitive changes (Table I), and how often they come (Table II).

Edit: TypeAlias = Callable[[Exchange, Random], Exchange | None]


def _redone(program: Exchange, terms: Callable[[tuple[str, ...]], tuple[str, ...]], random: Random) -> Exchange:
    """A source as a view over itself with other terms, and all views that read it read that instead."""
    source = random.choice([name for name in program.sources if any(_reads(program, name))])
    name = f"{source}_{program.made + 1}"
    attributes = program.sources[source]
    copied = MappingRule(terms(attributes), (BodyAtom(source, attributes),))

    def renamed(atom: BodyAtom) -> BodyAtom:
        return BodyAtom(name, terms(atom.terms)) if atom.relation == source else atom

    views = {
        # What was changed before stays a view over the source itself.
        view: tuple(replace(rule, body=tuple(map(renamed, rule.body))) for rule in rules) if is_view(view) else rules
        for view, rules in program.views.items()
    }
    return replace(program, views={name: (copied,), **views}, made=program.made + 1)


def _reads(program: Exchange, source: str) -> list[str]:
    return [
        view
        for view, rules in program.views.items()
        if is_view(view) and any(atom.relation == source for rule in rules for atom in rule.body)
    ]


def add_column(program: Exchange, random: Random) -> Exchange:
    """With a default value, which readers ignore."""
    return _redone(program, lambda terms: (*terms, str(70_000 + program.made)), random)


def drop_column(program: Exchange, random: Random) -> Exchange | None:
    """The last column holds a default value from now on, where nothing needs more of it."""
    free = [
        name
        for name in program.sources
        if _reads(program, name) and not any(_needs_last(program, view, name) for view in _reads(program, name))
    ]
    if not free:
        return None
    chosen = random.choice(free)
    narrowed = replace(program, sources={chosen: program.sources[chosen]})
    redone = _redone(narrowed, lambda terms: (*terms[:-1], str(70_000 + program.made)), random)
    return replace(redone, sources=program.sources)


def _needs_last(program: Exchange, view: str, source: str) -> bool:
    for rule in program.views[view]:
        for atom in rule.body:
            if atom.relation == source:
                last = atom.terms[-1]
                rest = [term for other in rule.body for term in other.terms if other is not atom]
                if last in rule.head or last in rest:
                    return True
    return False


def move_column(program: Exchange, random: Random) -> Exchange:
    """Swaps the first and the last one."""
    return _redone(program, lambda terms: (terms[-1], *terms[1:-1], terms[0]), random)


def _edited(
    program: Exchange, random: Random, edit: Callable[[tuple[MappingRule, ...]], tuple[MappingRule, ...] | None]
) -> Exchange | None:
    names = [name for name in program.views if is_view(name)]
    random.shuffle(names)
    for name in names:
        rules = edit(program.views[name])
        if rules is not None:
            return replace(program, views={**program.views, name: rules})
    return None


def add_source(program: Exchange, random: Random) -> Exchange | None:
    """One more rule."""

    def edit(rules: tuple[MappingRule, ...]) -> tuple[MappingRule, ...] | None:
        head = rules[0].head
        return (*rules, _rule(program, head, random)) if head[0] == KEY and all(h in _ALL for h in head) else None

    return _edited(program, random, edit)


_ALL = frozenset(f"a{number}" for number in range(100))


def drop_source(program: Exchange, random: Random) -> Exchange | None:
    """One rule less, of a view with at least two."""

    def edit(rules: tuple[MappingRule, ...]) -> tuple[MappingRule, ...] | None:
        if len(rules) < 2:
            return None
        gone = random.randrange(len(rules))
        return tuple(rule for at, rule in enumerate(rules) if at != gone)

    return _edited(program, random, edit)


def add_correspondence(program: Exchange, random: Random) -> Exchange | None:
    """A column is looked up in another source, and its value there takes its place."""

    def edit(rules: tuple[MappingRule, ...]) -> tuple[MappingRule, ...] | None:
        at = random.randrange(len(rules))
        rule = rules[at]
        source = random.choice(list(program.sources))
        attributes = program.sources[source]
        fresh = f"y{program.made}"
        place = random.randrange(1, len(attributes))
        terms = tuple(
            KEY if each == KEY else fresh if number == place else "_" for number, each in enumerate(attributes)
        )
        if KEY not in rule.head or len(rule.head) < 2:
            return None
        head = (*rule.head[:-1], fresh)
        return (*rules[:at], MappingRule(head, (*rule.body, BodyAtom(source, terms))), *rules[at + 1 :])

    found = _edited(program, random, edit)
    return None if found is None else replace(found, made=program.made + 1)


def drop_correspondence(program: Exchange, random: Random) -> Exchange | None:
    """An atom less; where the head had a value of it, it has one of another atom instead."""

    def edit(rules: tuple[MappingRule, ...]) -> tuple[MappingRule, ...] | None:
        at = random.randrange(len(rules))
        rule = rules[at]
        if len(rule.body) < 2:
            return None
        gone = rule.body[-1]
        rest = rule.body[:-1]
        known = [term for atom in rest for term in atom.terms if term != "_" and not term.isdigit()]
        free = [term for term in known if term not in rule.head] or known
        head = tuple(term if term in known else random.choice(free) for term in rule.head)
        return (*rules[:at], MappingRule(head, rest), *rules[at + 1 :]) if gone.terms else None

    return _edited(program, random, edit)


def add_view_column(program: Exchange, random: Random) -> Exchange | None:
    """In every rule a variable of the body that the head does not have."""

    def edit(rules: tuple[MappingRule, ...]) -> tuple[MappingRule, ...] | None:
        made = []
        for rule in rules:
            free = [t for atom in rule.body for t in atom.terms if t != "_" and not t.isdigit() and t not in rule.head]
            if not free:
                return None
            made.append(replace(rule, head=(*rule.head, random.choice(free))))
        return tuple(made)

    return _edited(program, random, edit)


def drop_view_column(program: Exchange, random: Random) -> Exchange | None:
    def edit(rules: tuple[MappingRule, ...]) -> tuple[MappingRule, ...] | None:
        if len(rules[0].head) < 3:
            return None
        return tuple(replace(rule, head=rule.head[:-1]) for rule in rules)

    return _edited(program, random, edit)


@dataclass(frozen=True, slots=True)
class Primitive:
    name: str
    percent: int
    edit: Edit = field(repr=False)


PRIMITIVES = (
    Primitive("add column", 16, add_column),
    Primitive("drop column", 9, drop_column),
    Primitive("move column", 5, move_column),
    Primitive("add source", 16, add_source),
    Primitive("drop source", 9, drop_source),
    Primitive("add correspondence", 16, add_correspondence),
    Primitive("drop correspondence", 9, drop_correspondence),
    Primitive("add view column", 12, add_view_column),
    Primitive("drop view column", 8, drop_view_column),
)


def changed(program: Exchange, changes: int, seed: int, kinds: Sequence[Primitive] = PRIMITIVES) -> Exchange:
    """After so many primitive changes in the frequencies of Table II, or of some kinds only."""
    random = Random(seed)  # noqa: S311 - chance is not a secret here
    for _ in range(changes):
        found: Exchange | None = None
        while found is None:
            (kind,) = random.choices(kinds, [each.percent for each in kinds])
            found = kind.edit(program, random)
            if found is None and len(kinds) == 1:
                return program
        program = found
    return program
