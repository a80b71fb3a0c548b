"""A page on which a running database can be looked at and asked: `serve(db)`, or `app(db)` for a server of one's own.

The database stays in the process that has it. The page reads, and changes nothing unless that was allowed.
"""

from whence.web.app import app
from whence.web.serving import Page, serve

__all__ = ["Page", "app", "serve"]
