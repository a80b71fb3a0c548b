"""Words of Soufflé's that change a program, or only how Soufflé runs it.

`eqrel` adds the rules of an equivalence, `choice-domain` keeps one of the rows that agree in some columns, and `.input`
of a relation with rules adds a table for the rows of the file. What only says how Soufflé stores or evaluates a
relation is left aside, with a notice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from whence.errors import TypeMismatchError, UnknownNameError, UnsupportedError, did_you_mean
from whence.lang.datalog import syntax
from whence.lang.datalog.literals import Places
from whence.lang.datalog.subsumption import ALL, collected, recursive_with, subsumed_relations, with_subsumption
from whence.lang.datalog.write import MAGIC_PRAGMA
from whence.model.program import Directive, Program
from whence.model.rules import Atom, Rule
from whence.model.schema import AUXILIARY_MARK, Relation
from whence.model.span import Span
from whence.model.terms import SortKey, Variable, Wildcard, Window

_DIRECTIVES = ("input", "output", "printsize")
_STORAGE = ("btree", "btree_delete", "brie", "inline", "no_inline", "no_magic")
_CHOSEN = f"{AUXILIARY_MARK}chosen"


def with_souffle_words(program: Program, statements: Sequence[syntax.Statement], places: Places) -> Program:
    declarations = [each for each in statements if isinstance(each, syntax.Declaration)]
    notices = list(_notices(statements, places))
    directives = [each for each in program.directives if each.kind != "limitsize"]
    rules = list(program.rules)
    for each in declarations:
        for qualifier in each.qualifiers:
            for name in map(places.name, each.names):
                if qualifier.word in _DIRECTIVES:
                    directives.append(Directive(str(qualifier.word), name, span=places.span(qualifier)))
                elif qualifier.word == "magic":
                    directives.append(Directive("magic", name, span=places.span(qualifier)))
                elif qualifier.word == "eqrel":
                    rules += _equivalence(name, len(each.columns), places.span(qualifier))
    directives += _marked(statements, places)
    made = replace(program, rules=tuple(rules), directives=tuple(directives), notices=tuple(notices))
    chosen = {places.name(name) for each in declarations if each.choices for name in each.names}
    subsumed = subsumed_relations(statements, places)
    return _with_choices(with_subsumption(_with_inputs(made, chosen | subsumed)), declarations, places)


def _marked(statements: Sequence[syntax.Statement], places: Places) -> Iterator[Directive]:
    """The relations that a pragma names. With * it means all, as far as they are no output; so it is without it."""
    for each in statements:
        if isinstance(each, syntax.Pragma) and places.string(each.name) == MAGIC_PRAGMA and each.value is not None:
            names = (name.strip() for name in places.string(each.value).split(","))
            yield from (Directive("magic", name, span=places.span(each)) for name in names if name not in ("", "*"))


def _notices(statements: Sequence[syntax.Statement], places: Places) -> Iterator[str]:
    for each in statements:
        match each:
            case syntax.Pragma() if places.string(each.name) != MAGIC_PRAGMA:
                yield ".pragma is ignored: options are given to whence.connect(...)"
            case syntax.DirectiveNode() if each.word == ".limitsize":
                yield ".limitsize is ignored: a recursion that does not end stops by itself"
            case syntax.Declaration():
                for qualifier in each.qualifiers:
                    if qualifier.word in _STORAGE:
                        yield f"{qualifier.word} is ignored: whence chooses itself how to store and evaluate a relation"


def _equivalence(name: str, arity: int, span: Span) -> list[Rule]:
    if arity != 2:
        raise TypeMismatchError(f"an equivalence relates two values, and {name!r} has {arity} columns", span=span)
    x, y, z, anything = Variable("x"), Variable("y"), Variable("z"), Wildcard()
    return [
        Rule(Atom(name, (x, x)), (Atom(name, (x, anything)),), span=span),
        Rule(Atom(name, (y, x)), (Atom(name, (x, y)),), span=span),
        Rule(Atom(name, (x, z)), (Atom(name, (x, y)), Atom(name, (y, z))), span=span),
    ]


def _with_inputs(program: Program, selected: AbstractSet[str]) -> Program:
    """With a table for the rows that a relation with rules, or with rows that are selected, reads from a file."""
    ruled = {rule.head.relation for rule in program.rules if not rule.is_fact} | selected
    declared = {relation.name: relation for relation in program.relations}
    taken = {*declared, *ruled}
    relations, rules, directives = list(program.relations), list(program.rules), []
    notices = list(program.notices)
    for directive in program.directives:
        name = directive.relation
        if directive.kind != "input" or name not in ruled or name not in declared:
            directives.append(directive)
            continue
        table = _table(declared[name], taken)
        terms = tuple(Variable(f"x{place}") for place in range(table.arity))
        relations.append(table)
        rules.append(Rule(Atom(name, terms), (Atom(table.name, terms),), span=directive.span))
        given = dict(directive.parameters)
        parameters = tuple(({"filename": f"{name}.facts", "$optional": "true"} | given).items())
        directives.append(replace(directive, relation=table.name, parameters=parameters))
        notices.append(f"what {name!r} reads from its file is in the table {table.name!r}, since it has rules as well")
    return replace(
        program,
        relations=tuple(relations),
        rules=tuple(rules),
        directives=tuple(directives),
        notices=tuple(notices),
    )


def _table(relation: Relation, taken: set[str]) -> Relation:
    name = f"{relation.name}_input"
    while name in taken:
        name += "_"
    taken.add(name)
    return replace(relation, name=name)


def _with_choices(program: Program, declarations: Sequence[syntax.Declaration], places: Places) -> Program:
    """choice-domain: of the rows that agree in some columns, a relation has one.

    Soufflé takes the one that it derives first. Here it is the first in the order of the columns, so that a view does
    not depend on how it was computed:

        .decl advisor(s: symbol, p: symbol) choice-domain s

        advisor$chosen(s, p, over {s; p; within 1 to 1} row_number()) :- advisor$all(s, p).
        advisor(s, p) :- advisor$chosen(s, p, _).
    """
    for each in declarations:
        for name in each.names if each.choices else ():
            program = _chosen(program, each, places.name(name), places)
    return program


def _chosen(program: Program, declaration: syntax.Declaration, name: str, places: Places) -> Program:
    span = places.span(declaration.choices[0][0])
    if len(declaration.choices) > 1:
        raise UnsupportedError(
            f"{name!r} is to choose by several keys at once, which depends on the order of evaluation",
            span=span,
            hint="choose by one key, and by the other in a second relation",
        )
    inside = recursive_with(name, program.rules)
    if inside:
        raise UnsupportedError(
            f"{name!r} is recursive, and what a choice leaves out would depend on the order of evaluation",
            span=span,
            hint="choose in a relation of its own, when the recursion is over; or keep the best with min<x> or max<x>",
        )
    columns = [places.name(column.name) for column in declaration.columns]
    for token in declaration.choices[0]:
        if places.name(token) not in columns:
            raise UnknownNameError(
                f"{name!r} has no column {places.name(token)!r}",
                span=places.span(token),
                hint=did_you_mean(places.name(token), columns),
            )
    key = {columns.index(places.name(token)) for token in declaration.choices[0]}
    terms = tuple(Variable(f"x{place}") for place in range(len(columns)))
    others = tuple(SortKey(term) for place, term in enumerate(terms) if place not in key)
    first = Window("row_number", (), tuple(terms[place] for place in sorted(key)), others, None, (1, 1), span=span)
    relations, rules = collected(program, program.rules, name, inside)
    return replace(
        program,
        relations=relations,
        rules=(
            *rules,
            Rule(Atom(name + _CHOSEN, (*terms, first), span=span), (Atom(name + ALL, terms, span=span),), span=span),
            Rule(Atom(name, terms, span=span), (Atom(name + _CHOSEN, (*terms, Wildcard())),), span=span),
        ),
    )
