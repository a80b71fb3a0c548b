"""`whence warmup`: compile beforehand what would be compiled later."""

from __future__ import annotations

import argparse
import sys
from typing import Any


def add_warmup(commands: Any) -> None:
    command = commands.add_parser(
        "warmup",
        help="compile the inner loops now, instead of while the first views run",
        description="Compiles the kernels of recursive views and of large tables, once after an installation. They are "
        "kept beside the program, or in the user's cache where that cannot be written to.",
    )
    command.add_argument("--quiet", action="store_true", help="say nothing")
    command.set_defaults(command=run_warmup)


def run_warmup(options: argparse.Namespace) -> None:
    from whence.engines.local.warmup import warm_up

    warm_up(_silence if options.quiet else _tell)


def _tell(words: str) -> None:
    sys.stdout.write(f"{words}\n")
    # Whoever waits reads it now, also through a pipe.
    sys.stdout.flush()


def _silence(words: str) -> None:
    """Nobody asked."""
