"""What can go wrong between nodes."""

from __future__ import annotations

from whence.errors import WhenceError


class LinkError(WhenceError):
    """A message that cannot be read, has nobody to go to, or does not arrive."""
