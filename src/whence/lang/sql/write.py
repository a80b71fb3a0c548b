"""Statements of the model to SQL text that reads back as the same statements.

A view's auxiliary relations are written as common table expressions, a rule as one SELECT, a repeated variable as an
equality: `=` where it cannot be NULL, `<=>` where it can.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from whence.errors import UnsupportedError
from whence.functions.types import common_type
from whence.lang.sql.finish import is_recursive
from whence.lang.sql.write_constraints import constraints_sql
from whence.lang.sql.write_terms import name_sql, term_sql
from whence.model.program import (
    AlterTable,
    Catalog,
    ChangeRows,
    CopyFrom,
    CopyTo,
    CreateTable,
    CreateView,
    DeleteWhere,
    Drop,
    InsertQuery,
    InsertValues,
    NoChange,
    Program,
    Statement,
)
from whence.model.rules import Atom, Comparison, Condition, Negation, Rule
from whence.model.schema import (
    AUXILIARY_MARK,
    Column,
    Relation,
    comment,
    comments,
    defaults,
    duration_text,
    is_said_of_columns,
)
from whence.model.terms import Aggregate, Call, Term, Variable, Wildcard
from whence.model.terms import variables as variables_of
from whence.model.types import STRING, Type


def to_sql(statements: Iterable[Statement], catalog: Catalog | None = None) -> str:
    """A script. The catalog tells the schemas of relations that the script uses and does not define."""
    schemas = dict(catalog.relations) if catalog is not None else {}
    parts = []
    for statement in statements:
        parts.append(_statement(statement, schemas))
        match statement:
            case CreateTable(relation=relation):
                schemas[relation.name] = relation
            case CreateView(definition=definition):
                schemas.update((r.name, r) for r in definition.relations)
    return "".join(f"{part};\n" for part in parts)


def _statement(statement: Statement, schemas: Mapping[str, Relation]) -> str:
    match statement:
        case CreateTable():
            return _table(statement, schemas)
        case CreateView(name=name, definition=definition):
            head = (
                "CREATE"
                + (" OR REPLACE" if statement.replace else "")
                + (" MATERIALIZED" if statement.materialized else "")
            )
            exists = " IF NOT EXISTS" if statement.if_not_exists else ""
            columns = ", ".join(name_sql(c) for c in definition.relations[-1].column_names)
            return f"{head} VIEW{exists} {name_sql(name)}({columns}) AS\n{_query(definition, schemas)}"
        case Drop(kind=kind, name=name, if_exists=if_exists):
            return f"DROP {kind}{' IF EXISTS' if if_exists else ''} {name_sql(name)}"
        case InsertValues(relation=name, rows=rows):
            columns_ = schemas[name].columns
            values = (", ".join(c.type.sql_constant(v) for v, c in zip(row, columns_, strict=True)) for row in rows)
            return f"{_insert(statement)} {name_sql(name)} VALUES\n  " + ",\n  ".join(f"({v})" for v in values)
        case InsertQuery(relation=name, query=query):
            return f"{_insert(statement)} {name_sql(name)}\n{_query(query, schemas)}"
        case DeleteWhere(relation=name, query=query):
            return f"DELETE FROM {name_sql(name)}{_delete_condition(query, schemas)}"
        case AlterTable(relation=name):
            raise UnsupportedError(f"other columns of {name!r} cannot be written back as SQL")
        case NoChange():
            raise UnsupportedError("a statement without effect cannot be written back as SQL")
        case CopyFrom() | CopyTo():
            raise UnsupportedError("COPY cannot be written back as SQL")
        case ChangeRows(relation=name):
            raise UnsupportedError(f"a change of rows of {name!r} cannot be written back as SQL")


def _insert(statement: InsertValues | InsertQuery) -> str:
    return f"INSERT {'OVERWRITE' if statement.overwrite else 'INTO'}"


def _table(statement: CreateTable, schemas: Mapping[str, Relation]) -> str:
    relation = statement.relation
    lines = [_column(column, relation) for column in relation.columns]
    if relation.key:
        lines.append(f"PRIMARY KEY ({', '.join(name_sql(k) for k in relation.key)})")
    lines += constraints_sql(relation, statement.constraints, schemas)
    text = f"CREATE TABLE {'IF NOT EXISTS ' if statement.if_not_exists else ''}{name_sql(relation.name)} (\n  "
    text += ",\n  ".join(lines) + "\n)"
    if relation.partition is not None:
        text += f" PARTITIONED BY ({name_sql(relation.partition)})"
    if comment(relation):
        text += f" COMMENT {STRING.sql_constant(comment(relation))}"
    properties = [each for each in relation.properties if not is_said_of_columns(each[0])]
    if relation.ttl is not None:
        properties.append(("ttl", duration_text(relation.ttl.microseconds)))
        if relation.ttl.column is not None:
            properties.append(("ttl_column", relation.ttl.column))
    if relation.window is not None:
        properties.append(("window_rows", str(relation.window.rows)))
        if relation.window.partition:
            properties.append(("window_partition", ", ".join(map(name_sql, relation.window.partition))))
    if properties:
        pairs = ", ".join(f"{STRING.sql_constant(k)} = {STRING.sql_constant(v)}" for k, v in properties)
        text += f" TBLPROPERTIES ({pairs})"
    return text


def _column(column: Column, relation: Relation) -> str:
    text = f"{name_sql(column.name)} {column.type}{'' if column.nullable else ' NOT NULL'}"
    if column.name in defaults(relation):
        text += f" DEFAULT {column.type.sql_constant(defaults(relation)[column.name])}"
    said = comments(relation).get(column.name)
    return text if said is None else f"{text} COMMENT {STRING.sql_constant(said)}"


def _query(program: Program, schemas: Mapping[str, Relation]) -> str:
    """The last relation's rows, the others as common table expressions."""
    own = {r.name: r for r in program.relations}
    schemas = {**schemas, **own}
    view = program.relations[-1]
    names = {name: name.partition(AUXILIARY_MARK)[2] or name for name in own}
    recursive = is_recursive(program)
    rules: dict[str, list[Rule]] = {name: [] for name in own}
    for rule in program.rules:
        rules[rule.head.relation].append(rule)
    writer = _RuleWriter(schemas, names)
    itself = view.name in recursive
    ctes = []
    for relation in program.relations:
        if relation is not view or itself:
            columns = ", ".join(name_sql(c) for c in relation.column_names)
            select = _indent(writer.relation(relation, rules[relation.name]))
            ctes.append(f"{name_sql(names[relation.name])}({columns}) AS (\n{select}\n)")
    text = f"SELECT * FROM {name_sql(names[view.name])}" if itself else writer.relation(view, rules[view.name])
    if ctes:
        text = f"WITH {'RECURSIVE ' if recursive else ''}" + ", ".join(ctes) + f"\n{text}"
    return text


def _indent(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.split("\n"))


def _delete_condition(program: Program, schemas: Mapping[str, Relation]) -> str:
    if len(program.relations) != 1 or len(program.rules) != 1:
        raise UnsupportedError("a DELETE with a subquery cannot be written back as SQL")
    where = _RuleWriter(schemas, {}).where(program.rules[0])
    return f" WHERE {where}" if where else ""


class _RuleWriter:
    def __init__(self, schemas: Mapping[str, Relation], names: Mapping[str, str]) -> None:
        self.schemas = schemas
        self.names = names

    def relation(self, relation: Relation, rules: list[Rule]) -> str:
        selects = [self.select(rule, distinct=relation.distinct and len(rules) == 1) for rule in rules]
        return f"\n{'UNION' if relation.distinct else 'UNION ALL'}\n".join(selects)

    def select(self, rule: Rule, *, distinct: bool) -> str:
        if rule.sign < 0:
            raise UnsupportedError("a differential rule cannot be written in SQL", span=rule.span)
        body = _Body(self, rule)
        items = ", ".join(term_sql(t, body.columns) for t in rule.head.terms)
        text = f"SELECT {'DISTINCT ' if distinct else ''}{items}"
        if body.tables:
            text += f"\nFROM {', '.join(body.tables)}"
        if body.conditions:
            text += "\nWHERE " + " AND ".join(body.conditions)
        groups = [t for t in rule.head.terms if not isinstance(t, Aggregate)]
        if groups and rule.aggregates:
            text += f"\nGROUP BY {', '.join(dict.fromkeys(term_sql(t, body.columns) for t in groups))}"
        return text

    def where(self, rule: Rule) -> str:
        """The rule's condition over the bare columns of its one table."""
        body = _Body(self, rule, alias="")
        return " AND ".join(body.conditions)

    def table(self, name: str) -> str:
        return name_sql(self.names.get(name, name))

    def column(self, relation: str, at: int) -> Column:
        schema = self.schemas.get(relation)
        if schema is None:
            raise UnsupportedError(f"the columns of {relation!r} are not known")
        return schema.columns[at]


class _Body:
    """FROM and WHERE of one rule, and how each of its variables is written."""

    def __init__(self, writer: _RuleWriter, rule: Rule, alias: str = "t") -> None:
        self.writer = writer
        self.columns: dict[str, str] = {}
        self.occurrences: dict[str, list[str]] = {}
        self.types: dict[str, Type | None] = {}
        self.tables: list[str] = []
        self.conditions: list[str] = []
        atoms = [literal for literal in rule.body if isinstance(literal, Atom)]
        guarded = {
            t.name
            for c in rule.body
            if isinstance(c, Condition) and isinstance(c.term, Call) and c.term.function == "isnotnull"
            for t in c.term.arguments
            if isinstance(t, Variable)
        }
        places = [(t.name, a.relation, i) for a in atoms for i, t in enumerate(a.terms) if isinstance(t, Variable)]
        never_null = guarded | {name for name, relation, i in places if not writer.column(relation, i).nullable}
        for number, atom in enumerate(atoms, start=1):
            name = f"{alias}{number}" if alias else ""
            self.tables.append(f"{writer.table(atom.relation)} {name}".strip())
            self._match(atom, f"{name}." if name else "", never_null)
        self._prefer_widest(places)
        implied = {name for name in guarded if sum(n == name for n, _, _ in places) > 1}
        self._define(rule)
        for number, literal in enumerate(rule.body, start=1):
            self._add(literal, implied, f"n{number}")

    def _match(self, atom: Atom, prefix: str, never_null: set[str]) -> None:
        for at, term in enumerate(atom.terms):
            here = f"{prefix}{name_sql(self.writer.column(atom.relation, at).name)}"
            match term:
                case Wildcard():
                    pass
                case Variable(name=name) if name not in self.columns:
                    self.columns[name] = here
                    self.occurrences[name] = [here]
                case Variable(name=name):
                    self.conditions.append(f"{self.columns[name]} {'=' if name in never_null else '<=>'} {here}")
                    self.occurrences[name].append(here)
                case _:
                    self.conditions.append(f"{here} <=> {term_sql(term, self.columns, 5)}")

    def _prefer_widest(self, places: list[tuple[str, str, int]]) -> None:
        """A variable over columns of different types has the widest of them, and is written as that column."""
        for name, options in self.occurrences.items():
            types = [self.writer.column(relation, at).type for n, relation, at in places if n == name]
            widest = common_type(types)
            self.types[name] = widest
            self.columns[name] = next((o for o, t in zip(options, types, strict=True) if t == widest), options[0])

    def _define(self, rule: Rule) -> None:
        """Variables that no atom binds are written as what they are defined to be."""
        waiting = [c for c in rule.body if isinstance(c, Comparison) and c.op == "="]
        self.definitions: list[Comparison] = []
        for _ in waiting:
            for comparison in waiting:
                for variable, value in ((comparison.left, comparison.right), (comparison.right, comparison.left)):
                    if not isinstance(variable, Variable) or variable.name in self.columns:
                        continue
                    if all(v.name in self.columns for v in variables_of(value)):
                        text = term_sql(value, self.columns)
                        self.columns[variable.name] = text if isinstance(value, Variable) else f"({text})"
                        self.definitions.append(comparison)

    def _add(self, literal: object, implied: set[str], alias: str) -> None:
        match literal:
            case Negation(atom=atom):
                tests = [
                    self._equal(atom, at, term, alias)
                    for at, term in enumerate(atom.terms)
                    if not isinstance(term, Wildcard)
                ]
                where = f" WHERE {' AND '.join(tests)}" if tests else ""
                self.conditions.append(f"NOT EXISTS (SELECT 1 FROM {self.writer.table(atom.relation)} {alias}{where})")
            case Condition(term=Call(function="isnotnull", arguments=(Variable(name=name),))) if name in implied:
                pass
            case Condition(term=term):
                self.conditions.append(term_sql(term, self.columns, 2))
            case Comparison(op=op, left=left, right=right) if not any(literal is d for d in self.definitions):
                self.conditions.append(term_sql(Call(op, (left, right)), self.columns, 2))

    def _equal(self, atom: Atom, at: int, term: Term, alias: str) -> str:
        column = self.writer.column(atom.relation, at)
        same_type = isinstance(term, Variable) and self.types.get(term.name) == column.type
        sign = "=" if same_type and not column.nullable else "<=>"
        return f"{alias}.{name_sql(column.name)} {sign} {term_sql(term, self.columns, 5)}"
