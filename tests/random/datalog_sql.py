"""Datalog programs as DuckDB sees them: a view per relation, recursion by WITH RECURSIVE where it is linear."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.random.datalog_model import (
    Atom,
    Compare,
    Const,
    Count,
    DatalogProgram,
    Define,
    Fold,
    Group,
    Not,
    Rule,
    Sum,
    Term,
    Var,
)
from tests.random.tables import literal

SQL_TYPES = {"INT": "BIGINT", "STRING": "VARCHAR", "DOUBLE": "DOUBLE"}


def create_view(program: DatalogProgram, group: Group) -> str:
    """The one relation of a group that recurses linearly or not at all."""
    (name,) = group.relations
    kinds = program.kinds[name]
    columns = [f"c{at}" for at in range(len(kinds))]
    if any(isinstance(term, Fold) for term in group.rules[0].head.terms):
        return f"CREATE VIEW {name}({', '.join(columns)}) AS {_folded(group.rules)}"
    selects = {rule: _select(rule, [SQL_TYPES[kind] for kind in kinds]) for rule in group.rules}
    if not group.recursion:
        union = " UNION ALL " if name in program.bags else " UNION "
        text = union.join(selects.values())
        if len(selects) < len(group.rules):
            # Two rules that are the same count twice in a bag.
            text = union.join(selects[rule] for rule in group.rules)
        if name not in program.bags:
            text = f"SELECT DISTINCT * FROM ({text})"
        return f"CREATE VIEW {name}({', '.join(columns)}) AS {text}"
    start = [s for rule, s in selects.items() if not _recursive(rule, name)]
    steps = [s for rule, s in selects.items() if _recursive(rule, name)]
    return (
        f"CREATE VIEW {name}({', '.join(columns)}) AS WITH RECURSIVE {name}({', '.join(columns)}) AS "
        f"(({' UNION '.join(start)}) UNION ({' UNION '.join(steps)})) FROM {name}"
    )


def _recursive(rule: Rule, name: str) -> bool:
    return any(isinstance(part, Atom) and part.relation == name for part in rule.body)


def _select(rule: Rule, types: Sequence[str]) -> str:
    body = _Body(rule)
    # The first part of a recursive query gives DuckDB the types.
    items = (
        f"CAST({body.term(term)} AS {kind}) AS h{at}"
        for at, (term, kind) in enumerate(zip(rule.head.terms, types, strict=True))
    )
    return f"SELECT {', '.join(items)}{body.rest()}"


def _folded(rules: Sequence[Rule]) -> str:
    """Aggregates range over the bindings of all rules together."""
    parts = []
    for rule in rules:
        body = _Body(rule)
        items = []
        for at, term in enumerate(rule.head.terms):
            inner = term.argument if isinstance(term, Fold) else term
            items.append(f"{'1' if inner is None else body.term(inner)} AS h{at}")
        parts.append(f"SELECT {', '.join(items)}{body.rest()}")
    head = rules[0].head.terms
    groups = [f"h{at}" for at, term in enumerate(head) if not isinstance(term, Fold)]
    items = [
        f"{term.function}({'DISTINCT ' if term.distinct else ''}{'*' if term.argument is None else f'h{at}'})"
        if isinstance(term, Fold)
        else f"h{at}"
        for at, term in enumerate(head)
    ]
    group_by = f" GROUP BY {', '.join(groups)}" if groups else ""
    return f"SELECT {', '.join(items)} FROM ({' UNION ALL '.join(parts)}){group_by}"


@dataclass
class _Body:
    """A rule's body as FROM and WHERE, and its variables as expressions over them."""

    rule: Rule
    sources: list[str] = field(default_factory=list)
    conditions: list[str] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        atoms = [part for part in self.rule.body if isinstance(part, Atom)]
        for number, atom in enumerate(atoms):
            self.sources.append(f"{atom.relation} a{number}")
            self.match(atom, f"a{number}")
        definitions: list[Define | Count] = [part for part in self.rule.body if isinstance(part, Define | Count)]
        while definitions:
            # What a definition needs may be defined after it in the text.
            ready = next(d for d in definitions if self.knows(d))
            definitions.remove(ready)
            value = self.term(ready.term) if isinstance(ready, Define) else f"(SELECT count(*){self.where(ready.atom)})"
            if ready.variable.name in self.values:
                # An atom has bound it, so the definition is a comparison.
                self.conditions.append(f"{self.values[ready.variable.name]} = {value}")
            else:
                self.values[ready.variable.name] = value
        for part in self.rule.body:
            match part:
                case Not(atom):
                    self.conditions.append(f"NOT EXISTS (SELECT 1{self.where(atom)})")
                case Compare(op, left, right):
                    self.conditions.append(f"{self.term(left)} {op} {self.term(right)}")

    def knows(self, definition: Define | Count) -> bool:
        needed = (
            definition.atom.terms if isinstance(definition, Count) else (definition.term.left, definition.term.right)
        )
        return all(term.name in self.values for term in needed if isinstance(term, Var))

    def match(self, atom: Atom, alias: str) -> None:
        """Columns that share a variable are the same, NULL included."""
        for at, term in enumerate(atom.terms):
            column = f"{alias}.c{at}"
            if isinstance(term, Var) and term.name not in self.values:
                self.values[term.name] = column
            elif isinstance(term, Var | Const):
                self.conditions.append(f"{column} IS NOT DISTINCT FROM {self.term(term)}")

    def where(self, atom: Atom) -> str:
        """The rows that fit an atom whose variables all have values."""
        fixed = [
            f"n.c{at} IS NOT DISTINCT FROM {self.term(term)}"
            for at, term in enumerate(atom.terms)
            if isinstance(term, Var | Const)
        ]
        return f" FROM {atom.relation} n" + (f" WHERE {' AND '.join(fixed)}" if fixed else "")

    def term(self, term: Term) -> str:
        match term:
            case Var(name):
                return self.values[name]
            case Const(value):
                return literal(value)
            case Sum(op, left, right):
                return f"({self.term(left)} {op} {self.term(right)})"
        raise AssertionError(term)

    def rest(self) -> str:
        sources = f" FROM {', '.join(self.sources)}" if self.sources else ""
        return sources + (f" WHERE {' AND '.join(self.conditions)}" if self.conditions else "")
