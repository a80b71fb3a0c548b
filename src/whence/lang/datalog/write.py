"""A Program as Datalog text, with no more parentheses than needed. Read again, the text gives the same program."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from whence.functions.builtin import BUILTINS
from whence.lang.datalog.functions import ARITHMETIC, COMPARING, INFIX, INTRINSICS, MINUS, NOT, REFUSED, is_text
from whence.model.lambdas import opened
from whence.model.program import Directive, Program
from whence.model.rules import COMPARISONS, Atom, Comparison, Condition, Literal, Negation, Rule
from whence.model.schema import Column, Relation, duration_text
from whence.model.terms import (
    Aggregate,
    Call,
    Cast,
    Constant,
    Lambda,
    Skolem,
    SortKey,
    Term,
    Unnest,
    Variable,
    Wildcard,
    Window,
    fold,
)
from whence.model.types.strings import datalog_string

LINE_LENGTH = 100
# What is weaker than a sum stands in parentheses, except directly within parentheses.
SUM = COMPARING + 1
_WHOLE = ARITHMETIC["^"].strength + 1

_PLAIN = re.compile(r"(?:[^\W\d]|\?)[\w?$]*")
# Words that the grammar or the dialect takes for something else in one place or another.
_RESERVED = frozenset(
    "_ true false null nil and or not as distinct nullable bag key partition ttl window property".split()
)
# What `magic` after a declaration says, for any relations.
MAGIC_PRAGMA = "magic-transform"


def to_datalog(program: Program) -> str:
    """Declarations, directives, rules."""
    writer = _Rules(program)
    sections = (
        [_declaration(relation) for relation in program.relations],
        [_directive(directive) for directive in program.directives],
        [writer.rule(rule) for rule in program.rules],
    )
    return "\n".join("".join(f"{line}\n" for line in section) for section in sections if section)


def rule_text(rule: Rule) -> str:
    """One rule, on one line as long as it fits there."""
    return _Rules(Program(rules=(rule,)), elsewhere=rule.reads).rule(rule)


def _declaration(relation: Relation) -> str:
    columns = ", ".join(_column(column) for column in relation.columns)
    return " ".join((f".decl {name_word(relation.name)}({columns})", *_qualifiers(relation)))


def _column(column: Column) -> str:
    return f"{name_word(column.name)}: {column.type}{' nullable' if column.nullable else ''}"


def _qualifiers(relation: Relation) -> Iterator[str]:
    if not relation.distinct:
        yield "bag"
    if relation.key:
        yield f"key({', '.join(name_word(column) for column in relation.key)})"
    if relation.partition is not None:
        yield f"partition({name_word(relation.partition)})"
    if relation.ttl is not None:
        since = "" if relation.ttl.column is None else f", {name_word(relation.ttl.column)}"
        yield f"ttl({datalog_string(duration_text(relation.ttl.microseconds))}{since})"
    if relation.window is not None:
        yield f"window({', '.join((str(relation.window.rows), *map(name_word, relation.window.partition)))})"
    for key, value in relation.properties:
        yield f"property({datalog_string(key)}, {datalog_string(value)})"


def _directive(directive: Directive) -> str:
    if directive.kind == "magic":
        return f".pragma {datalog_string(MAGIC_PRAGMA)} {datalog_string(directive.relation)}"
    parameters = ", ".join(f"{name_word(key)}={datalog_string(value)}" for key, value in directive.parameters)
    return f".{directive.kind} {name_word(directive.relation)}{f'({parameters})' if parameters else ''}"


class _Rules:
    """Writes rules so that each name is read again as what it is: a relation's or a function's."""

    def __init__(self, program: Program, elsewhere: Iterable[str] = ()) -> None:
        self._relations = {*elsewhere, *(relation.name for relation in program.relations)}
        self._relations.update(directive.relation for directive in program.directives)
        self._relations.update(rule.head.relation for rule in program.rules)

    def rule(self, rule: Rule) -> str:
        head = f"{'-' if rule.sign < 0 else ''}{_atom(name_word(rule.head.relation), rule.head)}"
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
        name = name_word(atom.relation)
        function = any(atom.relation.lower() in functions for functions in (BUILTINS, INTRINSICS, REFUSED))
        if function and atom.relation not in self._relations:
            name = quoted_name(atom.relation)
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


# Names and terms.


def name_word(text: str) -> str:
    """A name, quoted where it has to be."""
    return text if _PLAIN.fullmatch(text) and text.lower() not in _RESERVED else quoted_name(text)


def quoted_name(text: str) -> str:
    return f"`{text.replace('`', '``')}`"


class _Written(NamedTuple):
    """A text, and how strongly it holds together."""

    text: str
    strength: int = _WHOLE

    def at_least(self, strength: int = SUM) -> str:
        return self.text if self.strength >= strength else f"({self.text})"


def term_text(term: Term, at_least: int = SUM) -> str:
    """The term, in parentheses if it holds together less strongly than asked for."""
    return fold(term, _written).at_least(at_least)


def called(function: str, arguments: Sequence[Term]) -> str:
    """A call that is certainly one: `@f(x)` where a plain `f(x)` could mean something else."""
    return _called(function, ", ".join(term_text(argument) for argument in arguments))


def _called(function: str, arguments: str) -> str:
    return f"@{name_word(function) if function.islower() else quoted_name(function)}({arguments})"


def _written(term: Term, arguments: Sequence[_Written]) -> _Written:
    match term:
        case Variable(name=name):
            return _Written(name_word(name))
        case Wildcard():
            return _Written("_")
        case Constant(value=value, type=of):
            text = of.datalog_constant(value)
            return _Written(text, MINUS.strength if text.startswith("-") else _WHOLE)
        case Cast(type=target):
            return _Written(f"as({arguments[0].at_least()}, {target})")
        case Skolem(function=function):
            return _Written(f"#{name_word(function)}({_listed(arguments)})")
        case Aggregate():
            return _Written(_aggregate(term, arguments))
        case Unnest(part=part, outer=outer):
            return _Written(f"each {'outer ' if outer else ''}{part}({arguments[0].at_least()})")
        case Window():
            return _Written(_window(term, arguments))
        case Lambda(parameters=parameters, body=body):
            return _Written(f"fn {{{', '.join(map(name_word, parameters))}: {term_text(body, 0)}}}")
        case Call():
            written = opened(term)
            if written is not term.arguments:
                arguments = [fold(each, _written) for each in written]
            return _operation(term, arguments) or _Written(_call(term, arguments))


def _operation(term: Call, arguments: Sequence[_Written]) -> _Written | None:
    """A call that is written with an operator, or None for any other."""
    function = term.function
    match arguments:
        case [left, right] if function in INFIX and not (function == "+" and any(map(is_text, term.arguments))):
            sign, operator = INFIX[function]
            strength = operator.strength
            on_left = left.at_least(strength + 1 if operator.right else strength)
            return _Written(f"{on_left} {sign} {right.at_least(strength + 1)}", strength)
        case [left, right] if function in COMPARISONS or function == "<=>":
            return _Written(f"{left.at_least()} {function} {right.at_least()}", COMPARING)
        case [operand] if function == "-":
            # A minus before a number would be taken for the number's own.
            text = f"({operand.text})" if operand.text[0].isdigit() else operand.at_least(MINUS.strength)
            return _Written(f"-{text}", MINUS.strength)
        case [operand] if function == "not":
            return _Written(f"not {operand.at_least(NOT.strength)}", NOT.strength)
    return None


def _call(term: Call, arguments: Sequence[_Written]) -> str:
    function, listed = term.function, _listed(arguments)
    match term:
        case Call(function="array"):
            return f"[{listed}]"
        case Call(function="contains", arguments=(_, _)):
            return f"contains({_listed(arguments[::-1])})"
        case Call(function="if", arguments=(_, _, Call(function="if", arguments=(_, _, _)))):
            # The last argument is a list of branches itself, and ends with the same parenthesis.
            return f"if({_listed(arguments[:2])}, {arguments[2].text.removeprefix('if(')}"
    plain = name_word(function) == function and function.islower()
    if not plain or function in INTRINSICS or function in REFUSED or (function == "if" and len(arguments) > 3):
        return _called(function, listed)
    return f"{function}({listed})"


def _aggregate(term: Aggregate, arguments: Sequence[_Written]) -> str:
    if not arguments:
        return f"{term.function}<*>"
    argument = arguments[0].at_least()
    if term.distinct:
        # A minus after the word would be taken for a difference.
        argument = f"distinct ({argument})" if argument.startswith("-") else f"distinct {argument}"
    return f"{term.function}<{argument}>"


def _window(term: Window, inside: Sequence[_Written]) -> str:
    arguments, keys = inside[: len(term.arguments)], inside[len(term.arguments) :]
    partition, order = keys[: len(term.partition)], keys[len(term.partition) :]
    sorted_by = ", ".join(f"{key.at_least()}{_direction(by)}" for key, by in zip(order, term.order, strict=True))
    parts = [_listed(partition), sorted_by]
    if term.frame is not None:
        start, end = ("*" if b is None else term_text(b) for b in (term.frame.start, term.frame.end))
        parts.append(f"{term.frame.unit} {start} to {end}")
    if term.within is not None:
        first, last = term.within
        parts.append(f"within {first} to {'*' if last is None else last}")
    return f"over {{{'; '.join(parts)}}} {name_word(term.function)}({_listed(arguments)})"


def _direction(key: SortKey) -> str:
    """NULL is first in an order, and last in one that is turned round, unless it says otherwise."""
    nulls = "" if key.nulls_last is key.descending else f" nulls {'last' if key.nulls_last else 'first'}"
    return f"{' desc' if key.descending else ''}{nulls}"


def _listed(arguments: Sequence[_Written]) -> str:
    return ", ".join(argument.at_least() for argument in arguments)
