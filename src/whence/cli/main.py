"""The `whence` command: what was typed, and what the shell gets back."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from whence.cli.bench import add_bench
from whence.cli.changes import add_changes
from whence.cli.diff import add_diff
from whence.cli.experiment import add_experiment
from whence.cli.questions import add_explain, add_questions
from whence.cli.run import add_run
from whence.cli.serve import add_serve
from whence.cli.shell import add_shell
from whence.cli.site import add_site
from whence.cli.targets import on_terminal
from whence.cli.warmup import add_warmup
from whence.errors import InternalError, Say, WhenceError

FAILED = 1
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0, 1 for an error that is explained on stderr, 2 for wrong usage."""
    whence = parser()
    options, unknown = whence.parse_known_args(arguments)
    if unknown:
        # Told by the command itself, with its own usage.
        options.usage_error(f"unrecognized arguments: {' '.join(unknown)}")
    if "command" not in options:
        whence.print_help()
        return 0
    # What a database finds worth knowing about a program comes as a warning.
    logging.basicConfig(format="note: %(message)s", level=logging.WARNING)
    if isinstance(sys.stdout, TextIOWrapper):
        # A character that the terminal's encoding lacks is shown by its number.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        options.command(options)
        sys.stdout.flush()
    except WhenceError as error:
        complain(error, _say(options))
        return FAILED
    except BrokenPipeError:
        # The reader (`| head`) has seen enough. What is still buffered must not raise once more when Python exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


def parser() -> argparse.ArgumentParser:
    whence = argparse.ArgumentParser(
        prog="whence",
        description="Views in SQL or Datalog that follow their data.",
        epilog="`whence COMMAND --help` tells more about a command.",
    )
    whence.add_argument("--version", action=Version, help="show the installed version and exit")
    whence.set_defaults(usage_error=whence.error)
    commands = whence.add_subparsers(title="commands", metavar="COMMAND")
    add_run(commands)
    add_explain(commands)
    add_questions(commands)
    add_changes(commands)
    add_diff(commands)
    add_shell(commands)
    add_serve(commands)
    add_site(commands)
    add_bench(commands)
    add_experiment(commands)
    add_warmup(commands)
    for command in commands.choices.values():
        command.set_defaults(usage_error=command.error)
    return whence


class Version(argparse.Action):
    """Looked up only when asked for."""

    def __init__(self, **options: Any) -> None:
        super().__init__(nargs=0, **options)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        try:
            installed = version("whence")
        except PackageNotFoundError:
            installed = "from source, not installed"
        sys.stdout.write(f"whence {installed}\n")
        parser.exit()


def _say(options: argparse.Namespace) -> Say:
    """The words of the command line, about what the command was about."""
    target: Path | None = getattr(options, "target", None) or getattr(options, "program", None)
    return on_terminal(target, getattr(options, "changes", None) or ())


def complain(error: WhenceError, say: Say) -> None:
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    first, _, rest = error.told(say).partition("\n")
    console.print(Text(first, style="bold red"))
    if rest:
        console.print(Text(rest))
    if isinstance(error, InternalError):
        console.print(Text("this is a bug in whence, not in your program"))
