"""A rule under construction: the atoms and conditions that one SELECT has collected so far.

Variables get provisional names here, unique in the whole view; `finish` gives them the names that people read.
A block inside a correlated subquery uses values of the block around it. Such a value is a *free* variable: it becomes
a leading column of whatever relation the inner block turns into, and the outer block fills it in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from sqlglot import exp

from whence.errors import UnknownNameError
from whence.functions.types import Typed, common_type
from whence.lang.sql.literals import cast, not_literal
from whence.model import types
from whence.model.lambdas import with_arguments
from whence.model.rules import COMPARISONS, Atom
from whence.model.schema import Relation
from whence.model.span import Span
from whence.model.terms import Aggregate, Call, Cast, Constant, Skolem, Term, Variable, variable_names
from whence.model.types import Type

_ARITHMETIC = ("+", "-", "*", "/", "div", "%")


@dataclass(frozen=True)
class ColumnEntry:
    """A column that expressions can name: `table.column`, and what it stands for."""

    table: str | None
    column: str
    term: Term
    # Columns joined by USING are there for `t.column`; for `column` and `*` there is one entry for both.
    merged: bool = False


class Block:
    def __init__(
        self, numbers: Iterator[int], outer: Block | None, ctes: Mapping[str, str], *, opaque: bool = False
    ) -> None:
        """`opaque`: a derived table does not see its neighbours in FROM, only what lies around the whole query."""
        self.numbers = numbers
        self.outer = outer
        self.ctes = ctes
        self.opaque = opaque
        self.scope: list[ColumnEntry] = []
        # What the SELECT calls its columns, in small letters: they are there for GROUP BY, and for a hint.
        self.aliases: frozenset[str] = frozenset()
        self.atoms: list[Atom] = []
        self.negations: list[Atom] = []
        self.conditions: list[Term] = []
        self.types: dict[str, Typed] = {}
        self.free: dict[str, str] = {}
        self._root: dict[str, str] = {}
        self._class_types: dict[str, Typed] = {}
        self._equated: list[str] = []

    @classmethod
    def top(cls, ctes: Mapping[str, str]) -> Block:
        return cls(count(1), None, ctes)

    def child(self, *, opaque: bool = False) -> Block:
        return Block(self.numbers, self, self.ctes, opaque=opaque)

    def sibling(self) -> Block:
        """Another block in the same surroundings."""
        return Block(self.numbers, self.outer, self.ctes, opaque=self.opaque)

    # Variables

    def copy_variables(self, other: Block) -> None:
        """Take over the other block's variables, with what is known of them, as ordinary ones."""
        self.types, self._root = dict(other.types), dict(other._root)
        self._class_types = dict(other._class_types)

    def fresh(self, hint: str, typed: Typed, span: Span | None = None) -> Variable:
        name = f"{hint}#{next(self.numbers)}"
        self.types[name] = typed
        return Variable(name, span=span)

    def adopt_unions(self, other: Block) -> None:
        """Keep what another block found to be the same value, or not NULL."""
        self._root.update(other._root)
        self._class_types.update(other._class_types)
        self._equated.extend(other._equated)
        for theirs, mine in other.free.items():
            if theirs in self.free:
                self.unify(Variable(self.free[theirs]), Variable(mine))
            else:
                self.free[theirs] = mine

    def clear(self) -> None:
        """Forget everything collected; it lives on in a relation that the block will read instead."""
        self.scope, self.atoms, self.negations, self.conditions = [], [], [], []
        self.free, self._equated = {}, []

    def root(self, name: str) -> str:
        while name in self._root:
            name = self._root[name]
        return name

    def typed(self, name: str) -> Typed:
        """What is known of the value, from all that is the same value."""
        return self._class_types.get(self.root(name)) or self.types[name]

    def environment(self) -> Mapping[str, Typed]:
        return {name: self.typed(name) for name in self.types}

    def never_null_in_atoms(self, relation: Callable[[str], Relation]) -> set[str]:
        """The variables that stand in a NOT NULL column."""
        return {
            self.root(term.name)
            for atom in self.atoms
            for term, column in zip(atom.terms, relation(atom.relation).columns, strict=True)
            if isinstance(term, Variable) and not column.nullable
        }

    def final_environment(self, relation: Callable[[str], Relation]) -> Mapping[str, Typed]:
        """Types once every atom and condition has passed: what a condition compares is not NULL then."""
        never_null = {self.root(name) for name in self._equated} | self.never_null_in_atoms(relation)
        for condition in self.conditions:
            match condition:
                case Call(function=function, arguments=sides) if function == "isnotnull" or function in COMPARISONS:
                    never_null |= {self.root(side.name) for side in sides if isinstance(side, Variable)}
        found: dict[str, list[Type]] = {}
        for atom in self.atoms:
            for term, column in zip(atom.terms, relation(atom.relation).columns, strict=True):
                if isinstance(term, Variable):
                    found.setdefault(self.root(term.name), []).append(column.type)
        final: dict[str, Typed] = {}
        for name in self.types:
            root, typed = self.root(name), self.typed(name)
            widest = common_type(found[root]) if root in found else None
            final[name] = Typed(widest or typed.type, typed.nullable and root not in never_null)
        return final

    def resolve_term(self, term: Term) -> Term:
        """The term with every variable replaced by the one that stands for its class."""
        return rename(term, lambda v: Variable(self.root(v.name), span=v.span))

    def unify(self, left: Variable, right: Variable) -> None:
        """Both are the same value from here on, NULL included."""
        a, b = self.root(left.name), self.root(right.name)
        if a == b:
            return
        x, y = self.typed(a), self.typed(b)
        self._root[b] = a
        self._class_types[a] = Typed(common_type((x.type, y.type)) or x.type, x.nullable and y.nullable)

    def equate(self, left: Term, right: Term, span: Span | None) -> None:
        """SQL's `left = right`: the same value, and not NULL. Columns of one type become one variable."""
        if self._joinable(left, right):
            assert isinstance(left, Variable) and isinstance(right, Variable)
            self.unify(left, right)
            self._equated.append(left.name)
        else:
            self.conditions.append(Call("=", (left, right), span=span))

    def identify(self, left: Term, right: Term, span: Span | None) -> None:
        """SQL's `left <=> right`: the same value or both NULL."""
        if self._joinable(left, right):
            assert isinstance(left, Variable) and isinstance(right, Variable)
            self.unify(left, right)
        else:
            self.conditions.append(Call("<=>", (left, right), span=span))

    def _joinable(self, left: Term, right: Term) -> bool:
        if not isinstance(left, Variable) or not isinstance(right, Variable):
            return False
        a, b = self.typed(left.name).type, self.typed(right.name).type
        return (a.family == b.family and a.is_comparable) or types.NULL in (a, b)

    def must_not_be_null(self) -> list[str]:
        """Classes that an `=` has to keep from being NULL, because no column of theirs does."""
        roots = dict.fromkeys(self.root(name) for name in self._equated)
        return [name for name in roots if self.typed(name).nullable]

    def fixed(self) -> set[str]:
        """The variables that can have one value only, given the values from outside."""
        outside = {self.root(mine) for mine in self.free.values()}
        fixed = set(outside)
        for condition in self.conditions:
            match self.resolve_term(condition):
                case Call(function="=", arguments=(left, right)):
                    for side, other in ((left, right), (right, left)):
                        if isinstance(side, Variable) and variable_names([other]) <= outside:
                            fixed.add(side.name)
        return fixed

    def only_atom(self) -> Atom | None:
        """The atom that is all that the block has collected, if so."""
        more = self.negations or self.conditions or self.free or self._equated or self._root
        return self.atoms[0] if len(self.atoms) == 1 and not more else None

    # Values of the surrounding block

    def import_term(self, term: Term) -> Term:
        """The outer block's term, over free variables of this block."""
        return rename(term, self.import_variable)

    def import_variable(self, variable: Variable) -> Variable:
        assert self.outer is not None
        theirs = self.outer.root(variable.name)
        for known, mine in self.free.items():
            if self.outer.root(known) == theirs:
                return Variable(mine, span=variable.span)
        # Nullable, whatever it is outside: inside, it takes all values of the columns that it is joined with.
        local = self.fresh(theirs.partition("#")[0], Typed(self.outer.typed(theirs).type, nullable=True), variable.span)
        self.free[theirs] = local.name
        return local

    def bound(self) -> set[str]:
        """The variables that some atom gives a value."""
        return {self.root(t.name) for atom in self.atoms for t in atom.terms if isinstance(t, Variable)}

    # Names

    def known(self, _: exp.Expr) -> Term | None:
        """The term that an expression has in this block as a whole; grouped blocks know such."""
        return None

    def resolve(self, table: str | None, column: str, span: Span | None) -> Term | None:
        """What a column name stands for here or around here; None where it is not known."""
        entry = find_column(self.scope, table, column, span)
        return entry.term if entry is not None else self.resolve_outside(table, column, span)

    def resolve_path(self, names: Sequence[str], span: Span | None) -> tuple[Term, Sequence[str]] | None:
        """What the first names stand for, `table.column` before `column.field`, and the fields that others name."""
        if len(names) > 1 and (term := self.resolve(names[0], names[1], span)) is not None:
            return term, names[2:]
        term = self.resolve(None, names[0], span)
        return None if term is None else (term, names[1:])

    def resolve_outside(self, table: str | None, column: str, span: Span | None) -> Term | None:
        if self.outer is None:
            return None
        look = self.outer.resolve_outside if self.opaque else self.outer.resolve
        term = look(table, column, span)
        return None if term is None else self.import_term(term)

    def visible_columns(self) -> list[str]:
        """Every name that could have been meant, nearest first."""
        names = [e.column for e in self.scope] + [f"{e.table}.{e.column}" for e in self.scope if e.table]
        return names + (self.outer.visible_columns() if self.outer else [])


def find_column(scope: Iterable[ColumnEntry], table: str | None, column: str, span: Span | None) -> ColumnEntry | None:
    """The one column that the name can mean; None where there is none."""
    found = [
        e
        for e in scope
        if e.column.lower() == column.lower()
        and (not e.merged if table is None else (e.table or "").lower() == table.lower())
    ]
    if len(found) > 1:
        places = " or ".join(f"{e.table}.{e.column}" if e.table else e.column for e in found)
        same = len({(e.table or "").lower() for e in found}) == 1
        hint = "give one of the tables an alias, or one of the columns" if same else "put the table's name before it"
        raise UnknownNameError(f"column {column!r} is ambiguous: {places}", span=span, hint=hint)
    return found[0] if found else None


def rename(term: Term, change: Callable[[Variable], Term]) -> Term:
    """The term with every variable changed."""
    match term:
        case Variable():
            return change(term)
        case Call():
            arguments = tuple(t if isinstance(t, Constant) else rename(t, change) for t in term.arguments)
            if term.function in _ARITHMETIC:
                pairs = zip(term.arguments, arguments, strict=True)
                arguments = tuple(new if old is new else not_literal(new) for old, new in pairs)
            return with_arguments(term, arguments)
        case Skolem():
            return Skolem(term.function, tuple(rename(t, change) for t in term.arguments), span=term.span)
        case Cast(term=Variable() as variable):
            return cast(change(variable), term.type, term.span)
        case Cast():
            return Cast(rename(term.term, change), term.type, span=term.span)
        case Aggregate(argument=argument) if argument is not None:
            return Aggregate(term.function, rename(argument, change), term.distinct, span=term.span)
    return term
