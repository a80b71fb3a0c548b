"""Constraints of a table back to SQL, from the rules for the rows that break them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from whence.lang.sql.write_terms import name_sql, term_sql
from whence.model.program import Program
from whence.model.rules import Atom, Comparison, Condition, Negation, Rule
from whence.model.schema import AUXILIARY_MARK, Relation
from whence.model.terms import Call, Term, Variable


def constraints_sql(table: Relation, program: Program, relations: Mapping[str, Relation]) -> Iterator[str]:
    """One line for each, in the order in which they were written. `relations` has the tables that rows refer to."""
    for relation in program.relations:
        name = relation.name.removeprefix(table.name + AUXILIARY_MARK)
        if AUXILIARY_MARK in name:
            continue
        rules = [rule for rule in program.rules if rule.head.relation == relation.name]
        kind, _, label = name.partition("_")
        named = "" if label.isdigit() else f"CONSTRAINT {name_sql(label)} "
        yield named + _constraint(kind, table, rules[0], program, relations)


def _constraint(kind: str, table: Relation, rule: Rule, program: Program, relations: Mapping[str, Relation]) -> str:
    if kind == "unique":
        below = next(atom.relation for atom in rule.body_atoms)
        rule = next(each for each in program.rules if each.head.relation == below)
        return f"UNIQUE ({_names(table, rule.head.terms, rule)})"
    if kind != "references":
        return f"CHECK ({_condition(table, rule)})"
    own = _names(table, rule.head.terms, rule)
    negated = next(literal.atom for literal in rule.body if isinstance(literal, Negation))
    inner = next((each for each in program.rules if each.head.relation == negated.relation), None)
    parent = negated if inner is None else next(iter(inner.body_atoms))
    names = ({**relations, table.name: table})[parent.relation].column_names
    theirs = []
    for term in rule.head.terms:
        wanted = term if inner is None else inner.head.terms[negated.terms.index(term)]
        theirs.append(name_sql(names[parent.terms.index(wanted)]))
    return f"FOREIGN KEY ({own}) REFERENCES {name_sql(parent.relation)}({', '.join(theirs)})"


def _columns(table: Relation, rule: Rule) -> dict[str, str]:
    """What the variables of a rule are called as columns of the table."""
    atom = next(each for each in rule.body if isinstance(each, Atom) and each.relation == table.name)
    pairs = zip(atom.terms, table.column_names, strict=True)
    return {term.name: name_sql(column) for term, column in pairs if isinstance(term, Variable)}


def _names(table: Relation, terms: Sequence[Term], rule: Rule) -> str:
    columns = _columns(table, rule)
    return ", ".join(columns[term.name] for term in terms if isinstance(term, Variable))


def _condition(table: Relation, rule: Rule) -> str:
    columns = _columns(table, rule)
    broken: list[Term] = []
    for literal in rule.body:
        match literal:
            case Condition(term=term):
                broken.append(term)
            case Comparison(op=op, left=left, right=right):
                broken.append(Call(op, (left, right)))
    match broken:
        case [Call(function="not", arguments=(right,))]:
            return term_sql(right, columns)
        case [one]:
            return f"NOT ({term_sql(one, columns)})"
    return f"NOT ({' AND '.join(term_sql(each, columns, 2) for each in broken)})"
