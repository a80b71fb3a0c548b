"""Brackets, `nil` and branches in rules: which type they are of, and whether they make a record or take one apart.

    second(x) :- list([_, r]), r = [x, _].

    second(x) :- list(r1), r = $field(r1, "tail"), isnotnull(r), x = $field(r, "head"), isnotnull(x).

Types come from the columns in which something stands, and go over equations and into fields. A pattern whose variables
all have values otherwise is made and compared. Brackets that are of no record type are arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from whence.errors import ArityError, UnknownNameError, did_you_mean
from whence.lang.datalog.pieces import (
    Alternatives,
    BodyAggregate,
    NegatedGroup,
    OpenedAtom,
    Piece,
    Pieces,
    RangePiece,
    bound_by,
    variables_of,
)
from whence.model.rules import Atom, Comparison, Condition, Negation
from whence.model.terms import (
    Aggregate,
    Call,
    Cast,
    Constant,
    Lambda,
    Skolem,
    Term,
    Variable,
    Wildcard,
    variable_names,
    variables,
    walk,
)
from whence.model.types import BOOLEAN, STRING, RecordType, Type
from whence.model.types.records import ONLY

# What the builder of terms leaves: brackets, nil, and branches, under names that no function has.
BRACKETS = "\0[]"
NIL = "\0nil"
BRANCH = "\0$"
_UNDECIDED = (BRACKETS, NIL)


class Records:
    """Finds out for the rules of one text."""

    def __init__(self, branches: Mapping[str, RecordType], columns: Callable[[str], Sequence[Type]]) -> None:
        self._branches = branches
        # The types of a relation's columns; none where they are not known.
        self._columns = columns

    def rule(self, head: Atom, pieces: Pieces, taken: Callable[[str], bool]) -> tuple[Atom, Pieces]:
        body = _Body(self._branches, self._columns, taken, {})
        types = self._columns(head.relation)
        body.learn_row(head.terms, types)
        found = body.pieces(pieces, frozenset())
        terms = [body.made(term, types[at] if at < len(types) else None) for at, term in enumerate(head.terms)]
        return replace(head, terms=tuple(terms)), found


def is_undecided(term: Term) -> bool:
    return any(isinstance(part, Call) and _is_pattern(part) for part in walk(term))


def _is_pattern(term: Term) -> bool:
    return isinstance(term, Call) and (term.function in _UNDECIDED or _branch_of(term) is not None)


def _branch_of(term: Call) -> str | None:
    """The branch that a term makes."""
    return term.function.removeprefix(BRANCH) if term.function.startswith(BRANCH) else None


class _Body:
    """A body and what is inside of it; `types` has what is known of variables."""

    def __init__(
        self,
        branches: Mapping[str, RecordType],
        columns: Callable[[str], Sequence[Type]],
        taken: Callable[[str], bool],
        types: dict[str, Type],
    ) -> None:
        self._branches = branches
        self._columns = columns
        self._taken = taken
        self._types = types
        self._fresh = 0

    # Types.

    def learn_row(self, terms: Sequence[Term], types: Sequence[Type]) -> None:
        for term, kind in zip(terms, types, strict=False):
            self._learn(term, kind)

    def _learn(self, term: Term, kind: Type | None) -> None:
        match term:
            case Variable(name=name) if kind is not None:
                self._types.setdefault(name, kind)
            case Call(arguments=arguments) if _is_pattern(term):
                for each, field in zip(arguments, self._fields(term, kind), strict=False):
                    self._learn(each, field[1])

    def _fields(self, term: Call, kind: Type | None) -> Sequence[tuple[str, Type]]:
        branch = _branch_of(term)
        if branch is not None:
            return self._of_branch(term, branch).branches[branch]
        if term.function == BRACKETS and isinstance(kind, RecordType) and kind.has_nil:
            return kind.branches[ONLY]
        return ()

    def _of_branch(self, term: Call, branch: str) -> RecordType:
        found = self._branches.get(branch)
        if found is None:
            hint = did_you_mean(branch, self._branches) or "a branch is declared in a .type"
            raise UnknownNameError(f"there is no branch {branch!r}", span=term.span, hint=hint)
        expected = len(found.branches[branch])
        if len(term.arguments) != expected:
            raise ArityError(f"${branch} has {expected} fields, not {len(term.arguments)}", span=term.span)
        return found

    def _type(self, term: Term) -> Type | None:
        match term:
            case Variable(name=name):
                return self._types.get(name)
            case Constant(type=kind) | Cast(type=kind):
                return kind
            case Call():
                branch = _branch_of(term)
                return None if branch is None else self._of_branch(term, branch)
        return None

    def _learn_all(self, pieces: Sequence[Piece]) -> None:
        before = -1
        while before < len(self._types):
            before = len(self._types)
            for piece in pieces:
                self._learn_piece(piece)

    def _learn_piece(self, piece: Piece) -> None:
        match piece:
            case Atom() as atom:
                self.learn_row(atom.terms, self._columns(atom.relation))
            case Negation(atom=atom):
                self.learn_row(atom.terms, self._columns(atom.relation))
            case Comparison(left=left, right=right):
                for one, other in ((left, right), (right, left)):
                    self._learn(one, self._type(other))
            case BodyAggregate(alternatives=alternatives) | NegatedGroup(alternatives=alternatives):
                for alternative in alternatives:
                    for each in alternative:
                        self._learn_piece(each)

    # Making.

    def made(self, term: Term, kind: Type | None) -> Term:
        """The term with nothing left undecided, given the type of its place."""
        if not is_undecided(term):
            return term
        match term:
            case Call(function=function, arguments=arguments, span=span):
                branch = _branch_of(term)
                if branch is not None:
                    kind = self._of_branch(term, branch)
                elif function in _UNDECIDED and not (isinstance(kind, RecordType) and kind.has_nil):
                    return Call("array", tuple(self.made(each, None) for each in arguments), span=span)
                if not _is_pattern(term):
                    return replace(term, arguments=tuple(self.made(each, None) for each in arguments))
                assert isinstance(kind, RecordType)
                if function == NIL:
                    return Constant(kind.nil, kind, span=span)
                fields = self._checked_fields(term, kind)
                own: list[Term] = [Constant(None, kind, span=span)]
                own += [] if branch is None else [Constant(branch, STRING, span=span)]
                made = [self.made(each, field) for each, (_, field) in zip(arguments, fields, strict=True)]
                return Call("$record", (*own, *made), span=span)
            case Cast(term=inner, type=target):
                made_inner = self.made(inner, target)
                return made_inner if isinstance(target, RecordType) else replace(term, term=made_inner)
            case Skolem(arguments=arguments):
                return replace(term, arguments=tuple(self.made(each, None) for each in arguments))
            case Aggregate(argument=argument) if argument is not None:
                return replace(term, argument=self.made(argument, None))
            case Lambda(body=body):
                return replace(term, body=self.made(body, None))
        return term

    def _checked_fields(self, term: Call, kind: RecordType) -> Sequence[tuple[str, Type]]:
        fields = self._fields(term, kind)
        if len(fields) != len(term.arguments):
            raise ArityError(
                f"a record of the type {kind.label} has {len(fields)} fields, not {len(term.arguments)}",
                span=term.span,
            )
        return fields

    # Taking apart.

    def pieces(self, pieces: Pieces, outside: Collection[str]) -> Pieces:
        """The pieces of a conjunction, some of whose variables have values from `outside`."""
        self._learn_all(pieces)
        here: list[Piece] = list(pieces)
        while True:
            bound = self._bound(here, outside)
            opened = self._opened(here, bound)
            if opened is None:
                break
            here = opened
        return tuple(found for piece in here for found in self._finished(piece, bound))

    def _bound(self, pieces: Sequence[Piece], outside: Collection[str]) -> set[str]:
        known = Atom("", tuple(Variable(name) for name in outside))
        return bound_by((known, *pieces))

    def _opened(self, pieces: list[Piece], bound: set[str]) -> list[Piece] | None:
        """With one pattern taken apart; None if there is none left to take apart."""
        for at, piece in enumerate(pieces):
            match piece:
                case Atom(relation=relation, terms=terms):
                    kinds = self._columns(relation)
                    for place, term in enumerate(terms):
                        kind = kinds[place] if place < len(kinds) else None
                        if self._is_open(term, kind, bound):
                            row = self._variable(term)
                            atom = replace(piece, terms=(*terms[:place], row, *terms[place + 1 :]))
                            opened = self._joined(piece, [atom, *self._parts(row, kind, term)], term, pieces)
                            return [*pieces[:at], *opened, *pieces[at + 1 :]]
                case Comparison(op="=", left=left, right=right):
                    found = self._opened_equation(piece, left, right, bound)
                    if found is not None:
                        return [*pieces[:at], *found, *pieces[at + 1 :]]
        return None

    def _joined(self, atom: Atom, opened: list[Piece], term: Term, pieces: list[Piece]) -> list[Piece]:
        """The opened atom; as one relation if other atoms have values for its fields, which are then looked up."""
        others = [each for each in pieces if each is not atom and isinstance(each, Atom | OpenedAtom)]
        if not variable_names([term]) & {each.name for each in variables_of(others)} or atom.span is None:
            return opened
        inside = self.pieces(tuple(opened), frozenset())
        names = dict.fromkeys(each.name for one in atom.terms for each in variables(one))
        if not names.keys() <= bound_by(inside):
            return opened
        return [OpenedAtom(tuple(Variable(name) for name in names), inside, atom.span)]

    def _opened_equation(
        self, equation: Comparison, left: Term, right: Term, bound: set[str]
    ) -> Sequence[Piece] | None:
        for one, other in ((left, right), (right, left)):
            kind = self._type(other) or self._type(one)
            if not self._is_open(one, kind, bound):
                continue
            if isinstance(other, Call) and _is_pattern(other) and other.function != NIL:
                return self._pairs(equation, one, other)
            if not variable_names([other]) <= bound or isinstance(other, Wildcard):
                continue
            if isinstance(other, Variable):
                return self._parts(other, kind, one)
            row = self._variable(one)
            return [Comparison("=", row, other, span=equation.span), *self._parts(row, kind, one)]
        return None

    def _pairs(self, equation: Comparison, one: Term, other: Call) -> Sequence[Piece]:
        """Two patterns are equal if all of their parts are."""
        assert isinstance(one, Call)
        if one.function != other.function or len(one.arguments) != len(other.arguments):
            return [Condition(Constant(False, BOOLEAN), span=equation.span)]
        pairs = zip(one.arguments, other.arguments, strict=True)
        return [
            Comparison("=", left, right, span=equation.span)
            for left, right in pairs
            if not isinstance(left, Wildcard) and not isinstance(right, Wildcard)
        ]

    def _is_open(self, term: Term, kind: Type | None, bound: set[str]) -> bool:
        """Whether it is a pattern that cannot be made, since something in it has no value otherwise."""
        if not isinstance(term, Call) or term.function == NIL or not _is_pattern(term):
            return False
        if _branch_of(term) is None and not isinstance(kind, RecordType):
            return False
        return any(
            isinstance(part, Wildcard) or (isinstance(part, Variable) and part.name not in bound) for part in walk(term)
        )

    def _parts(self, record: Variable, kind: Type | None, pattern: Term) -> list[Piece]:
        """What holds of a record that fits a pattern."""
        assert isinstance(pattern, Call)
        branch, span = _branch_of(pattern), pattern.span
        kind = kind if branch is None else self._of_branch(pattern, branch)
        assert isinstance(kind, RecordType)
        self._types.setdefault(record.name, kind)
        found: list[Piece] = []
        names: list[Term] = []
        if branch is not None:
            names = [Constant(branch, STRING, span=span)]
            found.append(Comparison("=", Call("$branch", (record,), span=span), names[0], span=span))
        for (name, field), part in zip(self._checked_fields(pattern, kind), pattern.arguments, strict=True):
            if isinstance(part, Wildcard):
                continue
            value = Call("$field", (record, *names, Constant(name, STRING, span=span)), span=part.span)
            if isinstance(part, Variable):
                self._types.setdefault(part.name, field)
                found += [_equal(part, value), _is_there(part)]
            elif _is_pattern(part):
                inner = self._variable(part)
                self._types[inner.name] = field
                found += [_equal(inner, value), _is_there(inner), Comparison("=", inner, part, span=part.span)]
            else:
                found.append(_equal(part, value))
        return found or [Comparison("!=", record, Constant(kind.nil, kind, span=span), span=span)]

    def _variable(self, term: Term) -> Variable:
        name = None
        while name is None or self._taken(name):
            self._fresh += 1
            name = f"r${self._fresh}"
        return Variable(name, span=term.span)

    # Everything else in a body.

    def _finished(self, piece: Piece, bound: set[str]) -> Iterator[Piece]:
        match piece:
            case Atom(relation=relation, terms=terms):
                yield replace(piece, terms=self._row(terms, relation))
            case Negation(atom=atom):
                yield from self._negated(piece, atom, bound)
            case Comparison(left=left, right=right):
                kind = self._type(left) or self._type(right)
                yield replace(piece, left=self.made(left, kind), right=self.made(right, kind))
            case Condition(term=term):
                yield replace(piece, term=self.made(term, None))
            case RangePiece() | OpenedAtom():
                yield piece
            case BodyAggregate(argument=argument, alternatives=alternatives):
                inner = self._alternatives(alternatives, bound - {piece.result.name})
                made = None if argument is None else self.made(argument, None)
                yield replace(piece, argument=made, alternatives=inner)
            case NegatedGroup(alternatives=alternatives):
                yield replace(piece, alternatives=self._alternatives(alternatives, bound))

    def _row(self, terms: Sequence[Term], relation: str) -> tuple[Term, ...]:
        kinds = self._columns(relation)
        return tuple(self.made(term, kinds[at] if at < len(kinds) else None) for at, term in enumerate(terms))

    def _negated(self, negation: Negation, atom: Atom, bound: set[str]) -> Iterator[Piece]:
        kinds = self._columns(atom.relation)
        if any(self._is_open(term, kind, bound) for term, kind in zip(atom.terms, kinds, strict=False)):
            assert negation.span is not None
            yield NegatedGroup((self.pieces((atom,), bound),), negation.span)
        else:
            yield replace(negation, atom=replace(atom, terms=self._row(atom.terms, atom.relation)))

    def _alternatives(self, alternatives: Alternatives, bound: set[str]) -> Alternatives:
        return tuple(self.pieces(alternative, bound) for alternative in alternatives)


def _equal(left: Term, right: Term) -> Comparison:
    return Comparison("=", left, right, span=left.span)


def _is_there(variable: Variable) -> Condition:
    """There is no field of nil, nor of another branch."""
    return Condition(Call("isnotnull", (variable,), span=variable.span), span=variable.span)
