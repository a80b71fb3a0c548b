"""The `whence` command."""

from whence.cli.main import main

__all__ = ["main"]
