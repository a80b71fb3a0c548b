"""The rows of tables that change together with definitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whence.model.program import AlteredColumn
from whence.model.schema import Relation
from whence.session.contents import any_order_table
from whence.session.draft import Draft, TableContents
from whence.session.redefinition import Redefinition
from whence.session.session import Session
from whence.session.windows import Window
from whence.sources.source import read_rows

if TYPE_CHECKING:
    import pyarrow as pa


def redefined_draft(session: Session, redefinition: Redefinition) -> Draft:
    """Changes to come in the tables that there will be. Those with other columns have their rows in it, converted."""

    def contents(relation: Relation) -> TableContents:
        if not redefinition.is_renewed(relation.name):
            return session.tables.contents(relation)
        return TableContents(relation, {}, {}, None if relation.window is None else Window(relation))

    draft = Draft(contents, session.clock)
    for name, columns in redefinition.altered.items():
        relation, old = redefinition.catalog.relations[name], session.definitions.relations[name]
        rows = any_order_table(old, session.counts(name))
        draft.table(relation).insert(read_rows(_altered(rows, relation, columns), relation))
    return draft


def _altered(rows: pa.Table, relation: Relation, columns: tuple[AlteredColumn, ...]) -> pa.Table:
    import pyarrow as pa

    arrays = []
    for each in columns:
        if each.source is not None:
            arrays.append(rows.column(each.source))
        else:
            arrays.append(each.column.type.to_arrow([each.default] * len(rows)))
    return pa.Table.from_arrays(arrays, names=list(relation.column_names))
