"""Back to the definitions from before the last change of them, over the rows that tables have now."""

from __future__ import annotations

from dataclasses import replace

from whence.errors import StateError
from whence.model.updates import Commit
from whence.session.session import Session


def undo_definition(session: Session) -> Commit:
    """One commit, by the same means as any change of definitions. Tables must be the same, as rows do not come back."""
    if not session.former:
        raise StateError("there is no change of definitions to undo", hint="only those of this process are known")
    now, former = session.definitions, session.former[-1]
    for name in {*now.tables, *former.tables}:
        old, new = former.tables.get(name), now.tables.get(name)
        if old is None and new is not None:
            raise StateError(
                f"the last change of definitions made the table {name!r}, and its rows would be lost",
                hint=f"use DROP TABLE {name}",
            )
        if new is None or old is None or old.columns != new.columns:
            raise StateError(
                f"the last change of definitions cannot be undone: table {name!r} has other columns, or is gone",
                hint="rows and values that were dropped do not come back",
            )
    return session.define(replace(former, functions=now.functions), undoes=True)
