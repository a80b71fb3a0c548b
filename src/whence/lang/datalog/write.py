"""A Program as Datalog text. Read again, the text gives the same program."""

from __future__ import annotations

from collections.abc import Iterator

from whence.functions.builtin import BUILTINS
from whence.lang.datalog import words
from whence.lang.datalog.intrinsics import INTRINSICS, REFUSED
from whence.lang.datalog.operators import NOT
from whence.lang.datalog.schema import duration_text
from whence.lang.datalog.write_terms import called, term_text
from whence.model.program import Directive, Program
from whence.model.rules import COMPARISONS, Atom, Comparison, Condition, Literal, Negation, Rule
from whence.model.schema import Column, Relation
from whence.model.terms import Call, Term, Variable

LINE_LENGTH = 100


def to_datalog(program: Program) -> str:
    """Declarations, directives, rules."""
    writer = _Rules(program)
    sections = (
        [_declaration(relation) for relation in program.relations],
        [_directive(directive) for directive in program.directives],
        [writer.rule(rule) for rule in program.rules],
    )
    return "\n".join("".join(f"{line}\n" for line in section) for section in sections if section)


def _declaration(relation: Relation) -> str:
    columns = ", ".join(_column(column) for column in relation.columns)
    return " ".join((f".decl {words.name(relation.name)}({columns})", *_qualifiers(relation)))


def _column(column: Column) -> str:
    return f"{words.name(column.name)}: {column.type}{' nullable' if column.nullable else ''}"


def _qualifiers(relation: Relation) -> Iterator[str]:
    if not relation.distinct:
        yield "bag"
    if relation.key:
        yield f"key({', '.join(words.name(column) for column in relation.key)})"
    if relation.partition is not None:
        yield f"partition({words.name(relation.partition)})"
    if relation.ttl is not None:
        since = "" if relation.ttl.column is None else f", {words.name(relation.ttl.column)}"
        yield f"ttl({words.string(duration_text(relation.ttl.microseconds))}{since})"
    if relation.window is not None:
        yield f"window({', '.join((str(relation.window.rows), *map(words.name, relation.window.partition)))})"
    for key, value in relation.properties:
        yield f"property({words.string(key)}, {words.string(value)})"


def _directive(directive: Directive) -> str:
    parameters = ", ".join(f"{words.name(key)}={words.string(value)}" for key, value in directive.parameters)
    return f".{directive.kind} {words.name(directive.relation)}{f'({parameters})' if parameters else ''}"


class _Rules:
    """Writes rules so that each name is read again as what it is: a relation's or a function's."""

    def __init__(self, program: Program) -> None:
        self._relations = {relation.name for relation in program.relations}
        self._relations.update(directive.relation for directive in program.directives)
        self._relations.update(rule.head.relation for rule in program.rules)

    def rule(self, rule: Rule) -> str:
        head = f"{'-' if rule.sign < 0 else ''}{_atom(words.name(rule.head.relation), rule.head)}"
        if rule.is_fact:
            return f"{head}."
        body = [self._literal(literal) for literal in rule.body]
        line = f"{head} :- {', '.join(body)}."
        return line if len(line) <= LINE_LENGTH else f"{head} :-\n    " + ",\n    ".join(body) + "."

    def _literal(self, literal: Literal) -> str:
        match literal:
            case Atom():
                return self._body_atom(literal)
            case Negation(atom=atom):
                return f"!{self._body_atom(atom)}"
            case Comparison(op=op, left=left, right=right):
                return f"{term_text(left)} {op} {term_text(right)}"
            case Condition(term=term):
                return self._condition(term)

    def _body_atom(self, atom: Atom) -> str:
        """A relation that is called like a function and is not mentioned elsewhere has its name quoted."""
        name = words.name(atom.relation)
        function = any(atom.relation.lower() in functions for functions in (BUILTINS, INTRINSICS, REFUSED))
        if function and atom.relation not in self._relations:
            name = words.quoted_name(atom.relation)
        return _atom(name, atom)

    def _condition(self, term: Term) -> str:
        match term:
            case Call(function="not", arguments=(Call() as inner,)):
                negated = self._call_in_body(inner)
                return term_text(term, NOT.strength) if negated is None else f"not {negated}"
            case Call(function=function, arguments=(_, _)) if function in COMPARISONS:
                return called(function, term.arguments)
            case Call():
                return self._call_in_body(term) or term_text(term, NOT.strength)
            case Variable(name=name) if name in self._relations:
                return f"({term_text(term)})"
        return term_text(term, NOT.strength)

    def _call_in_body(self, term: Call) -> str | None:
        """The call with an @ if the body would take it for an atom."""
        text = term_text(term, NOT.strength)
        could_be_atom = text.startswith(f"{term.function}(")
        if could_be_atom and (term.function in self._relations or term.function not in BUILTINS):
            return called(term.function, term.arguments)
        return None


def _atom(name: str, atom: Atom) -> str:
    return f"{name}({', '.join(term_text(term) for term in atom.terms)})"
