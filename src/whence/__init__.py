"""whence: materialized views that keep themselves up to date, and know where every row came from."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whence import errors
    from whence.database.connect import connect
    from whence.database.database import Database
    from whence.errors import (
        ArityError,
        ConvergenceError,
        DataError,
        DuplicateNameError,
        EvaluationError,
        InternalError,
        OutOfTimeError,
        ParseError,
        StateError,
        StratificationError,
        TypeMismatchError,
        UnknownNameError,
        UnsafeRuleError,
        UnsupportedError,
        WhenceError,
    )
    from whence.replica.site import Site, site
    from whence.spark.decorators import Pipeline, materialized_view
    from whence.spark.reader import read

    __version__: str

__all__ = [
    "ArityError",
    "ConvergenceError",
    "DataError",
    "Database",
    "DuplicateNameError",
    "EvaluationError",
    "InternalError",
    "OutOfTimeError",
    "ParseError",
    "Pipeline",
    "Site",
    "StateError",
    "StratificationError",
    "TypeMismatchError",
    "UnknownNameError",
    "UnsafeRuleError",
    "UnsupportedError",
    "WhenceError",
    "__version__",
    "connect",
    "errors",
    "materialized_view",
    "read",
    "site",
]


def __getattr__(name: str) -> object:
    """Load a name when it is first used, so that `import whence` costs next to nothing."""
    if name not in __all__:
        raise AttributeError(f"module 'whence' has no attribute {name!r}")
    if name == "__version__":
        return import_module("importlib.metadata").version("whence")
    if name == "connect":
        return import_module("whence.database.connect").connect
    if name == "Database":
        return import_module("whence.database.database").Database
    if name in ("Site", "site"):
        return getattr(import_module("whence.replica.site"), name)
    if name in ("Pipeline", "materialized_view"):
        return getattr(import_module("whence.spark.decorators"), name)
    if name == "read":
        return import_module("whence.spark.reader").read
    errors = import_module("whence.errors")
    return errors if name == "errors" else getattr(errors, name)


def __dir__() -> list[str]:
    return __all__
