"""DESCRIBE and SHOW: what there is, as rows with Spark's column names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from whence.errors import ParseError, UnsupportedError
from whence.lang.sql.schemas import DEFAULT
from whence.model.program import CreateTable, Program
from whence.model.schema import Relation, comment, comments, defaults, is_auxiliary, owner
from whence.session.definitions import Definitions

if TYPE_CHECKING:
    import pyarrow as pa

_NAME = r"(?P<name>`[^`]+`|[\w.]+)"
_LIKE = r"(?:\s+(?:LIKE\s+)?'(?P<like>[^']*)')?"
_IN = r"(?: (?:IN|FROM) (?P<schema>\w+))?"
_BEGIN = re.compile(r"\s*(?:DESC|DESCRIBE|SHOW)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Listing:
    """An answer that is ready, to be read like that of a query."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str | bool]]

    def run(self, limit: int | None = None, timeout: float | None = None) -> pa.Table:  # noqa: ARG002
        import pyarrow as pa

        rows = self.rows if limit is None else self.rows[:limit]
        arrays = [pa.array([row[at] for row in rows], None if rows else pa.string()) for at in range(len(self.columns))]
        return pa.Table.from_arrays(arrays, names=list(self.columns))


def is_listing(text: str) -> bool:
    """Whether a text asks what there is. No query begins with these words."""
    return _BEGIN.match(text) is not None


def listing(text: str, definitions: Definitions) -> Listing:
    """What a text that `is_listing` asks for."""
    for pattern, answer in _FORMS:
        found = pattern.fullmatch(text.strip().rstrip(";").strip())
        if found is not None:
            return answer(found, definitions)
    words = " ".join(text.split()[:3]).upper()
    raise ParseError(
        f"{words} is not known",
        hint="DESCRIBE name, SHOW TABLES, SHOW VIEWS, SHOW COLUMNS IN name, SHOW CREATE TABLE name",
    )


def _relation(found: re.Match[str], definitions: Definitions) -> Relation:
    return definitions.relation(found["name"].strip("`"))


def _describe(found: re.Match[str], definitions: Definitions) -> Listing:
    relation = _relation(found, definitions)
    said = comments(relation)
    rows = [(column.name, column.type.simple_name, said.get(column.name, "")) for column in relation.columns]
    if found["more"]:
        rows += [("", "", ""), ("# Detailed Table Information", "", ""), *_details(relation, definitions)]
    return Listing(("col_name", "data_type", "comment"), rows)


def _details(relation: Relation, definitions: Definitions) -> Iterator[tuple[str, str, str]]:
    is_view = relation.name in definitions.views
    yield "Name", relation.name, ""
    yield "Type", "VIEW" if is_view else "TABLE", ""
    yield "Rows", "a set" if relation.distinct else "a bag", ""
    if comment(relation):
        yield "Comment", comment(relation), ""
    required = [column.name for column in relation.columns if not column.nullable]
    if required:
        yield "Not null", ", ".join(required), ""
    if relation.key:
        yield "Primary key", ", ".join(relation.key), ""
    for name, value in defaults(relation).items():
        kind = next(column.type for column in relation.columns if column.name == name)
        yield f"Default of {name}", kind.sql_constant(value), ""
    if not is_view:
        from whence.lang.sql.write_constraints import constraints_sql

        for text in constraints_sql(relation, _served_by(relation, definitions), definitions.relations):
            yield "Constraint", text, ""


def _served_by(relation: Relation, definitions: Definitions) -> Program:
    hidden = (
        each for name, each in definitions.relations.items() if is_auxiliary(name) and owner(name) == relation.name
    )
    return Program(tuple(hidden), tuple(definitions.rules_of(relation.name)))


def _tables(found: re.Match[str], definitions: Definitions) -> Listing:
    rows = [(*_parts(name), False) for name in _matching(definitions.visible, found)]
    return Listing(("namespace", "tableName", "isTemporary"), rows)


def _views(found: re.Match[str], definitions: Definitions) -> Listing:
    views = definitions.views.intersection(definitions.visible)
    rows = [(*_parts(name), False, True) for name in _matching(views, found)]
    return Listing(("namespace", "viewName", "isTemporary", "isMaterialized"), rows)


def _parts(name: str) -> tuple[str, str]:
    """The schema and the name in it."""
    schema, dot, last = name.rpartition(".")
    return (schema, last) if dot else (DEFAULT, name)


def _matching(names: Iterable[str], found: re.Match[str]) -> list[str]:
    """Those of a schema, and of Spark's patterns: * for any characters, | between several of them."""
    schema, like = found["schema"], found["like"]
    ordered = [name for name in sorted(names) if schema is None or _parts(name)[0].lower() == schema.lower()]
    if like is None:
        return ordered
    patterns = [pattern.strip().lower() for pattern in like.split("|")]
    return [name for name in ordered if any(fnmatchcase(_parts(name)[1].lower(), each) for each in patterns)]


def _column_names(found: re.Match[str], definitions: Definitions) -> Listing:
    return Listing(("col_name",), [(name,) for name in _relation(found, definitions).column_names])


def _create(found: re.Match[str], definitions: Definitions) -> Listing:
    from whence.lang.sql.write import to_sql

    relation = _relation(found, definitions)
    if relation.name not in definitions.views:
        statement = CreateTable(relation, constraints=_served_by(relation, definitions))
        return Listing(("createtab_stmt",), [(to_sql([statement], definitions.catalog),)])
    text = _written(relation)
    if text is None:
        raise UnsupportedError(
            f"the text of {relation.name!r} is not known in SQL", hint=f"db.explain({relation.name!r}) shows its rules"
        )
    return Listing(("createtab_stmt",), [(text,)])


def _written(relation: Relation) -> str | None:
    """The statement that defined a view, as its user wrote it."""
    if relation.span is None or relation.span.source.is_datalog:
        return None
    from whence.lang.sql.dialect import statements

    place = relation.span.start
    whole = (span for _, span in statements(relation.span.source) if span.start <= place < span.end)
    return next((f"{span.text.strip()};\n" for span in whole), None)


def _form(text: str) -> re.Pattern[str]:
    return re.compile(text.replace(" ", r"\s+"), re.IGNORECASE)


_FORMS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], Definitions], Listing]], ...] = (
    (_form(rf"SHOW TABLES{_IN}{_LIKE}"), _tables),
    (_form(rf"SHOW VIEWS{_IN}{_LIKE}"), _views),
    (_form(rf"SHOW COLUMNS (?:IN|FROM) {_NAME}"), _column_names),
    (_form(rf"SHOW CREATE TABLE {_NAME}"), _create),
    (_form(rf"(?:DESC|DESCRIBE) (?:TABLE )?(?P<more>(?:EXTENDED|FORMATTED) )?{_NAME}"), _describe),
)
