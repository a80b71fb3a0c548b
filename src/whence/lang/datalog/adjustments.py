"""Words of Soufflé's that change a program, or only how Soufflé runs it.

`eqrel` adds the rules of an equivalence, and `.input` of a relation with rules a table for the rows of the file. What
only says how Soufflé stores or evaluates a relation is left aside, with a notice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from whence.errors import TypeMismatchError
from whence.lang.datalog import syntax
from whence.lang.datalog.choice import with_choices
from whence.lang.datalog.literals import Places
from whence.lang.datalog.subsumption import subsumed_relations, with_subsumption
from whence.model.program import Directive, Program
from whence.model.rules import Atom, Rule
from whence.model.schema import Relation
from whence.model.span import Span
from whence.model.terms import Variable, Wildcard

_DIRECTIVES = ("input", "output", "printsize")
_STORAGE = ("btree", "btree_delete", "brie", "inline", "no_inline", "magic", "no_magic")


def with_souffle_words(program: Program, statements: Sequence[syntax.Statement], places: Places) -> Program:
    declarations = [each for each in statements if isinstance(each, syntax.Declaration)]
    notices = list(_notices(statements))
    directives = [each for each in program.directives if each.kind != "limitsize"]
    rules = list(program.rules)
    for each in declarations:
        for qualifier in each.qualifiers:
            for name in map(places.name, each.names):
                if qualifier.word in _DIRECTIVES:
                    directives.append(Directive(str(qualifier.word), name, span=places.span(qualifier)))
                elif qualifier.word == "eqrel":
                    rules += _equivalence(name, len(each.columns), places.span(qualifier))
    made = replace(program, rules=tuple(rules), directives=tuple(directives), notices=tuple(notices))
    chosen = {places.name(name) for each in declarations if each.choices for name in each.names}
    subsumed = subsumed_relations(statements, places)
    return with_choices(with_subsumption(_with_inputs(made, chosen | subsumed)), declarations, places)


def _notices(statements: Sequence[syntax.Statement]) -> Iterator[str]:
    for each in statements:
        match each:
            case syntax.Pragma():
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
