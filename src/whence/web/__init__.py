"""A page on which a running database can be looked at and asked: `serve(db)`, or `app(db)` for a server of one's own.

The database stays in the process that has it. The page reads, and changes nothing unless that was allowed.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from whence.errors import UnsupportedError

if TYPE_CHECKING:
    from whence.web.server import Page, app, serve

__all__ = ["Page", "app", "serve"]


def __getattr__(name: str) -> Any:
    """Load a name when it is first used: the process of a query needs no server."""
    if name not in __all__:
        raise AttributeError(f"module 'whence.web' has no attribute {name!r}")
    try:
        module = import_module("whence.web.server")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("whence"):
            raise
        raise UnsupportedError(
            f"the page needs {error.name}, which is not installed", hint="pip install 'whence[serve]'"
        ) from None
    return getattr(module, name)
