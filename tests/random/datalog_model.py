"""Datalog programs as the generator and the oracles see them, and as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from tests.random.tables import Table
from whence.model.types import Value


@dataclass(frozen=True)
class Var:
    name: str


@dataclass(frozen=True)
class Const:
    value: Value


@dataclass(frozen=True)
class Any:
    """`_` in an atom."""


@dataclass(frozen=True)
class Sum:
    """`left + right`, or another operator on integers."""

    op: str
    left: Var | Const
    right: Var | Const


@dataclass(frozen=True)
class Fold:
    """An aggregate in a head; without an argument it is count<*>."""

    function: str
    argument: Var | Sum | None
    distinct: bool = False


Term: TypeAlias = Var | Const | Any | Sum | Fold


@dataclass(frozen=True)
class Atom:
    relation: str
    terms: tuple[Term, ...]


@dataclass(frozen=True)
class Not:
    atom: Atom


@dataclass(frozen=True)
class Compare:
    op: str
    left: Var
    right: Var | Const


@dataclass(frozen=True)
class Define:
    variable: Var
    term: Sum


@dataclass(frozen=True)
class Count:
    """`variable = count : { atom }`."""

    variable: Var
    atom: Atom


Literal: TypeAlias = Atom | Not | Compare | Define | Count


@dataclass(frozen=True)
class Rule:
    head: Atom
    body: tuple[Literal, ...]


@dataclass(frozen=True)
class Group:
    """Relations that are defined together, and how they recurse: "", "linear", "nonlinear", "mutual" or "best"."""

    relations: tuple[str, ...]
    rules: tuple[Rule, ...]
    recursion: str = ""


@dataclass(frozen=True)
class DatalogProgram:
    """`kinds` holds the column types of every relation; `bags` those that keep duplicates."""

    seed: int
    tables: Sequence[Table]
    groups: Sequence[Group]
    kinds: Mapping[str, tuple[str, ...]]
    bags: frozenset[str] = frozenset()
    declared: frozenset[str] = field(default_factory=frozenset)

    def over(self, tables: Sequence[Table]) -> DatalogProgram:
        """The same rules over other rows."""
        return replace(self, tables=tables)

    @property
    def text(self) -> str:
        lines = []
        for table in self.tables:
            columns = ", ".join(f"{c.name}: {c.type}{' nullable' if c.nullable else ''}" for c in table.columns)
            lines.append(f".decl {table.name}({columns}){' bag' if table.name in self.bags else ''}")
        for name in sorted(self.declared | (self.bags & {r for g in self.groups for r in g.relations})):
            # Counts and sums are BIGINTs.
            wide = ("BIGINT" if kind == "INT" else kind for kind in self.kinds[name])
            columns = ", ".join(f"c{at}: {kind} nullable" for at, kind in enumerate(wide))
            lines.append(f".decl {name}({columns}){' bag' if name in self.bags else ''}")
        lines.extend(rule_text(rule) for group in self.groups for rule in group.rules)
        return "".join(f"{line}\n" for line in lines)


def rule_text(rule: Rule) -> str:
    body = ", ".join(_literal(literal) for literal in rule.body)
    return f"{_atom(rule.head)}{f' :- {body}' if body else ''}."


def _literal(literal: Literal) -> str:
    match literal:
        case Atom():
            return _atom(literal)
        case Not(atom):
            return f"!{_atom(atom)}"
        case Compare(op, left, right):
            return f"{_term(left)} {op} {_term(right)}"
        case Define(variable, term):
            return f"{variable.name} = {_term(term)}"
        case Count(variable, atom):
            return f"{variable.name} = count : {{ {_atom(atom)} }}"


def _atom(atom: Atom) -> str:
    return f"{atom.relation}({', '.join(map(_term, atom.terms))})"


def _term(term: Term) -> str:
    match term:
        case Var(name):
            return name
        case Any():
            return "_"
        case Const(value):
            return '"' + value + '"' if isinstance(value, str) else str(value)
        case Sum(op, left, right):
            return f"{_term(left)} {op} {_term(right)}"
        case Fold(function, argument, distinct):
            inner = "*" if argument is None else _term(argument)
            return f"{function}<{'distinct ' if distinct else ''}{inner}>"
