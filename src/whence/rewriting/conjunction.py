"""A rule's head terms and body, as a value of which there is one: isomorphic bodies are the same object.

Comparisons, conditions and negations only let bindings pass, so that a second copy of one changes nothing and is
dropped; atoms of a bag multiply counts, and stay.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import count
from typing import NamedTuple, TypeAlias
from weakref import WeakValueDictionary

from whence.model.rules import Atom, Comparison, Condition, Literal, Negation, Rule
from whence.model.terms import Call, Cast, Constant, Lambda, Skolem, Term, Variable, Wildcard
from whence.rewriting.literal_matches import symbol
from whence.rewriting.substitution import names_in

# What stands for each variable in a text that is compared.
_Labels: TypeAlias = Mapping[str, str]

# Turned round, so that each comparison is written in one way.
_TURNED = {">": "<", ">=": "<="}
_SYMMETRIC = ("=", "!=", "<=>")

# The relations whose rows are there once: to join them twice is to join them once.
Sets: TypeAlias = Collection[str]


class Conjunction:
    """Compared by identity. Made by `conjunction` only; the variables are called as in the first one of its kind."""

    __slots__ = ("__dict__", "__weakref__", "body", "head", "key")

    def __init__(self, head: tuple[Term, ...], body: tuple[Literal, ...], key: str) -> None:
        self.head = head
        self.body = body
        self.key = key

    @cached_property
    def atoms(self) -> tuple[Atom, ...]:
        return tuple(literal for literal in self.body if isinstance(literal, Atom))

    @cached_property
    def relations(self) -> frozenset[str]:
        """The relations of its atoms, negated ones too."""
        atoms = (literal.atom if isinstance(literal, Negation) else literal for literal in self.body)
        return frozenset(atom.relation for atom in atoms if isinstance(atom, Atom))

    @cached_property
    def symbols(self) -> Counter[tuple[str, ...]]:
        """What its literals are, variables aside, and how many of each: a body that holds it has them, too."""
        return Counter(map(symbol, self.body))

    def rule(self, relation: str, sign: int = 1) -> Rule:
        """As a rule of a relation, with `_` for variables that stand in one place."""
        uses: dict[str, int] = {}
        for name in names_in(self.head, self.body):
            uses[name] = uses.get(name, 0) + 1
        body = tuple(
            Atom(literal.relation, tuple([_shown(term, uses) for term in literal.terms]))
            if isinstance(literal, Atom)
            else literal
            for literal in self.body
        )
        return Rule(Atom(relation, self.head), body, sign)

    def __repr__(self) -> str:
        return f"Conjunction({self.key})"


_KNOWN: WeakValueDictionary[str, Conjunction] = WeakValueDictionary()
# By their texts with variables numbered as they come: the views of a program are the same from one change to the next.
_RECENT: dict[str, Conjunction] = {}
MAX_RECENT = 1 << 13


def forget_recent() -> None:
    """Another database begins: its plans shall not call variables as those of one before did."""
    _RECENT.clear()


def conjunction(head: Sequence[Term], body: Iterable[Literal], sets: Sets = ()) -> Conjunction | None:
    """The one of its kind; None where a comparison of constants can never be true."""
    literals: list[Literal] = []
    # A wildcard is no other one, and so what has one in it is not repeated.
    for literal in _without_wildcards(head, tuple(body)):
        decided = _decided(literal)
        if decided is False:
            return None
        is_repeated = decided or (literal in literals and _passes_once(literal, sets))
        if not is_repeated:
            literals.append(literal)
    parts = _parts(head, literals)
    written = parts.as_written()
    known = _RECENT.get(written)
    if known is None:
        key = _canonical(parts)
        known = _KNOWN.get(key)
        if known is None:
            known = _KNOWN[key] = Conjunction(tuple(head), tuple(literals), key)
        if len(_RECENT) >= MAX_RECENT:
            _RECENT.clear()
        _RECENT[written] = known
    return known


def _passes_once(literal: Literal, sets: Sets) -> bool:
    return not isinstance(literal, Atom) or literal.relation in sets


def _decided(literal: Literal) -> bool | None:
    """What a literal is for every binding: an equality of equal or of different constants; None if it depends."""
    match literal:
        case Comparison(op="=" | "!=" as op, left=Constant() as left, right=Constant() as right):
            if left.type == right.type and left.value is not None and right.value is not None:
                return (left.value == right.value) is (op == "=")
        case Condition(term=Call(function="isnotnull", arguments=(Constant(value=value),))):
            return value is not None
        case Condition(term=Call(function="isnotnull", arguments=(Skolem(),))):
            return True
    return None


def _without_wildcards(head: Sequence[Term], body: Sequence[Literal]) -> list[Literal]:
    """With a variable for every wildcard in a positive atom."""
    if not any(
        isinstance(literal, Atom) and any(isinstance(term, Wildcard) for term in literal.terms) for literal in body
    ):
        return list(body)
    taken = set(names_in(head, body))
    free = (name for name in (f"_{number}" for number in count(1)) if name not in taken)
    return [
        Atom(
            literal.relation,
            tuple([Variable(next(free)) if isinstance(term, Wildcard) else term for term in literal.terms]),
            span=literal.span,
        )
        if isinstance(literal, Atom)
        else literal
        for literal in body
    ]


def _shown(term: Term, uses: Mapping[str, int]) -> Term:
    return Wildcard() if isinstance(term, Variable) and uses[term.name] == 1 else term


# Isomorphism: the same text whatever variables are called and in whatever order literals come.


class _Template(NamedTuple):
    """The text of a term or literal with places for variables, and the variables of these places."""

    text: str
    names: tuple[str, ...]

    def filled(self, labels: _Labels) -> str:
        return self.text % tuple([labels[name] for name in self.names])


class _Shape(NamedTuple):
    """A literal. The sides of an equality come in the order of their texts."""

    parts: tuple[_Template, ...]
    symbol: str = ""

    def filled(self, labels: _Labels) -> str:
        if len(self.parts) == 1:
            return self.parts[0].filled(labels)
        return f"?{self.symbol}({','.join(sorted(part.filled(labels) for part in self.parts))})"

    @property
    def names(self) -> set[str]:
        return {name for part in self.parts for name in part.names}


def _template(term: Term) -> _Template:
    match term:
        case Variable(name=name):
            return _Template("%s", (name,))
        case Wildcard():
            return _Template("_", ())
        case Constant(value=value, type=of):
            return _Template(f"{of.name}:{value!r}".replace("%", "%%"), ())
        case Call(function=function, arguments=arguments):
            if function in _TURNED:
                return _called(_TURNED[function], arguments[::-1])
            return _called(function, arguments)
        case Skolem(function=function, arguments=arguments):
            return _called(f"#{function}", arguments)
        case Cast(term=inner, type=of):
            return _called(f"as {of.name}", (inner,))
        case Lambda():
            return _Template(repr(term).replace("%", "%%"), ())
    raise AssertionError("an aggregate is no part of a conjunction")


def _called(symbol: str, terms: Sequence[Term]) -> _Template:
    parts = [_template(term) for term in terms]
    text = f"{symbol.replace('%', '%%')}({','.join([part.text for part in parts])})"
    return _Template(text, tuple([name for part in parts for name in part.names]))


def _shape(literal: Literal) -> _Shape:
    match literal:
        case Atom(relation=relation, terms=terms):
            return _Shape((_called(relation, terms),))
        case Negation(atom=atom):
            return _Shape((_called(f"!{atom.relation}", atom.terms),))
        case Comparison(op=op, left=left, right=right):
            return _test_shape(Call(op, (left, right)))
        case Condition(term=term):
            return _test_shape(term)


def _test_shape(term: Term) -> _Shape:
    match term:
        case Call(function=function, arguments=(left, right)) if function in _SYMMETRIC:
            return _Shape((_template(left), _template(right)), function)
    return _Shape((_called("?", (term,)),))


def _parts(head: Sequence[Term], body: Sequence[Literal]) -> _Parts:
    shapes = [_shape(literal) for literal in body]
    return _Parts(_called("", head), [(shape, shape.names) for shape in shapes])


def _canonical(parts: _Parts) -> str:
    names = dict.fromkeys((*parts.head.names, *(name for _, found in parts.body for name in sorted(found))), 0)
    return _least(parts, _refined(parts, names))


class _Parts(NamedTuple):
    """A head, and literals with their variables."""

    head: _Template
    body: list[tuple[_Shape, set[str]]]

    def as_written(self) -> str:
        """Literals in the order in which they stand."""
        names = dict.fromkeys(
            [*self.head.names, *(name for shape, _ in self.body for part in shape.parts for name in part.names)]
        )
        labels = {name: f"${number}" for number, name in enumerate(names)}
        filled = [f"{shape.symbol}{','.join([part.filled(labels) for part in shape.parts])}" for shape, _ in self.body]
        return f"{self.head.filled(labels)}:-{';'.join(filled)}"

    def text(self, labels: _Labels) -> str:
        return f"{self.head.filled(labels)}:-{';'.join(sorted([shape.filled(labels) for shape, _ in self.body]))}"


def _labels(colors: Mapping[str, int]) -> dict[str, str]:
    return {name: f"${color}" for name, color in colors.items()}


def _refined(parts: _Parts, colors: dict[str, int]) -> dict[str, int]:
    """Variables of the same color stand in places that cannot be told apart by their neighbours' colors."""
    classes = len(set(colors.values()))
    while classes < len(colors):
        labels = _labels(colors)
        places: dict[str, list[str]] = {name: [] for name in colors}
        for name in dict.fromkeys(parts.head.names):
            places[name].append(parts.head.filled({**labels, name: "$"}))
        for shape, names in parts.body:
            for name in names:
                mine = labels[name]
                labels[name] = "$"
                places[name].append(shape.filled(labels))
                labels[name] = mine
        signatures = {name: (colors[name], *sorted(found)) for name, found in places.items()}
        ranks = {signature: rank for rank, signature in enumerate(sorted(set(signatures.values())))}
        if len(ranks) == classes:
            break
        classes = len(ranks)
        colors = {name: ranks[signature] for name, signature in signatures.items()}
    return colors


def _least(parts: _Parts, colors: dict[str, int]) -> str:
    """The least text over all orders of variables that colors leave open."""
    classes: dict[int, list[str]] = {}
    for name, color in colors.items():
        classes.setdefault(color, []).append(name)
    open_classes = [names for _, names in sorted(classes.items()) if len(names) > 1]
    if not open_classes:
        ranks = {color: rank for rank, color in enumerate(sorted(classes))}
        return parts.text(_labels({name: ranks[color] for name, color in colors.items()}))
    texts = []
    for name in _different(parts, colors, open_classes[0]):
        # One of them comes before the others of its color.
        chosen = {each: 2 * color + (each != name) for each, color in colors.items()}
        texts.append(_least(parts, _refined(parts, chosen)))
    return min(texts)


def _different(parts: _Parts, colors: Mapping[str, int], names: Sequence[str]) -> list[str]:
    """Without those that can change places with one that is kept, so that nothing else changes."""
    labels = {name: f"${color}.{name}" for name, color in colors.items()}
    same = parts.text(labels)
    kept: list[str] = []
    for name in names:
        swaps = ({**labels, name: labels[other], other: labels[name]} for other in kept)
        if all(parts.text(swapped) != same for swapped in swaps):
            kept.append(name)
    return kept
