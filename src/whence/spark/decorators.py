"""Views as Python functions that return their query, as in Spark's declarative pipelines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, overload

from sqlglot import exp

from whence.database.database import Database
from whence.errors import DuplicateNameError, StateError, TypeMismatchError, UnsupportedError
from whence.lang.sql.dialect import statements
from whence.model.span import SourceText

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Query: TypeAlias = "Callable[[], str | DataFrame]"


@dataclass(frozen=True)
class MaterializedView:
    """A function that returns the query of a view. `comment` is for who reads the program."""

    name: str
    query: Query
    comment: str | None = None

    def __call__(self) -> str | DataFrame:
        return self.query()


@overload
def materialized_view(query: Query, /) -> MaterializedView: ...
@overload
def materialized_view(
    *, name: str | None = None, comment: str | None = None
) -> Callable[[Query], MaterializedView]: ...
def materialized_view(
    query: Query | None = None, /, *, name: str | None = None, comment: str | None = None
) -> MaterializedView | Callable[[Query], MaterializedView]:
    """Make a function that returns SQL, or what `spark.sql` made of it, a view under the function's name or another.

    It is there when `db.define` or a `Pipeline` has defined it.
    """

    def decorate(function: Query) -> MaterializedView:
        if not callable(function):
            raise TypeMismatchError(f"materialized_view is for functions, not for a {type(function).__name__}")
        return MaterializedView(name or function.__name__, function, comment)

    return decorate if query is None else decorate(query)


class Pipeline:
    """Views that belong together, in any order."""

    def __init__(self, *views: MaterializedView) -> None:
        self._views: dict[str, MaterializedView] = {}
        for view in views:
            self.add(view)

    def add(self, view: MaterializedView) -> None:
        if not isinstance(view, MaterializedView):
            raise TypeMismatchError(
                f"a pipeline consists of views, not of a {type(view).__name__}",
                hint="write @whence.materialized_view above the function",
            )
        if view.name.lower() in self._views:
            raise DuplicateNameError(f"two functions define the view {view.name!r}")
        self._views[view.name.lower()] = view

    def define(self, db: Database) -> None:
        """Define the views, each after those that it reads. One that is there already is replaced."""
        waiting = dict(self._views)
        while waiting:
            unreadable = None
            before = len(waiting)
            for name, view in list(waiting.items()):
                try:
                    query = _text(view)
                except Exception as error:
                    if not _misses_a_view(error):
                        raise
                    # Perhaps it comes later.
                    unreadable = error
                    continue
                text = f"CREATE OR REPLACE MATERIALIZED VIEW {quoted(view.name)} AS {query}"
                if waiting.keys().isdisjoint(_read_by(text, view.name) - {name}):
                    db.execute(text, name=view.name)
                    del waiting[name]
            if len(waiting) == before:
                raise unreadable or StateError(
                    f"views read each other in a circle: {', '.join(repr(view.name) for view in waiting.values())}",
                    hint="a view that reads itself is written with WITH RECURSIVE",
                )


def _text(view: MaterializedView) -> str:
    """The query that a function returns."""
    query = view()
    if isinstance(query, str):
        return query
    kind = type(query)
    if not kind.__module__.startswith("pyspark.") or kind.__name__ != "DataFrame":
        raise TypeMismatchError(f"view {view.name!r} is defined by a text, not by a {kind.__name__}", hint="return SQL")
    # Only what came from spark.sql, and has not been touched since, knows its text.
    text = query._jdf.queryExecution().logical().origin().sqlText()  # noqa: SLF001 - there is no other way to it
    if not text.isDefined():
        raise UnsupportedError(
            f"the DataFrame of view {view.name!r} does not come from spark.sql alone", hint="return the SQL text"
        )
    return str(text.get())


def _misses_a_view(error: Exception) -> bool:
    condition = getattr(error, "getCondition", None)
    return condition is not None and condition() == "TABLE_OR_VIEW_NOT_FOUND"


def _read_by(text: str, name: str) -> set[str]:
    """The relations that a statement reads, in small letters."""
    found: set[str] = set()
    for tree, _ in statements(SourceText(name, text)):
        own = {each.alias.lower() for each in tree.find_all(exp.CTE)}
        query = tree.expression if isinstance(tree, exp.Create) else tree
        found |= {table.name.lower() for table in query.find_all(exp.Table)} - own
    return found


def quoted(name: str) -> str:
    """A name as Spark SQL takes it, whatever is in it."""
    return "`" + name.replace("`", "``") + "`"
