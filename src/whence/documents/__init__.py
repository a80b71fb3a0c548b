"""Documents that are still arriving, and queries that know what can still come. `Document` is where to begin."""

from whence.documents.collection import Documents
from whence.documents.document import Document
from whence.documents.explanation import Missing
from whence.documents.nodes import Limits
from whence.documents.query import Change, Node, Query, Unknown
from whence.documents.schema import Schema

__all__ = ["Change", "Document", "Documents", "Limits", "Missing", "Node", "Query", "Schema", "Unknown"]
