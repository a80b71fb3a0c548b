"""`whence shell`: the command."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from whence.cli.files import read_source
from whence.cli.run import SUFFIXES, load, working
from whence.cli.shell.inputs import Kind, kind_of, pieces
from whence.cli.shell.running import Shell
from whence.cli.targets import check_kept_here
from whence.errors import UnsupportedError

if TYPE_CHECKING:
    from whence.database import Database

EXAMPLES = """\
examples:
  whence shell                       a database in memory
  whence shell network.sql           with what the program defines
  whence shell state/                the database of a directory, to be changed, too
  echo '.why reachable a c' | whence shell network.sql
"""
LEAVE = (".quit", ".exit")


class Failed(SystemExit):
    """Some of what was piped in did not run."""


def add_shell(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    shell = commands.add_parser(
        "shell",
        help="type SQL, Datalog and questions",
        description="Run what is typed or piped in: SQL, Datalog, and questions such as `.why reachable a c`.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    shell.add_argument(
        "target",
        metavar="TARGET",
        type=Path,
        nargs="?",
        help="a .sql or .dl file, or the directory of a database, which is made if there is none",
    )
    shell.set_defaults(command=run_shell)


def run_shell(options: argparse.Namespace) -> None:
    with _database(options.target) as db:
        console = Console(highlight=False, emoji=False, markup=False)
        shell = Shell(db, console, Console(stderr=True, highlight=False, emoji=False, markup=False))
        if sys.stdin.isatty():
            console.print("Type .help for help, and .quit to leave.")
            run_all(shell, _typed(db))
        else:
            run_all(shell, pieces(sys.stdin))
            if shell.failed:
                raise Failed(1)


def run_all(shell: Shell, texts: Iterable[str]) -> None:
    for text in texts:
        if text.strip().lower() in LEAVE:
            return
        if kind_of(text) is not Kind.NOTHING:
            shell.run(text)


def _typed(db: Database) -> Iterator[str]:
    try:
        from whence.cli.shell.prompting import prompted
    except ImportError as error:
        if not (error.name or "").startswith("prompt_toolkit"):
            raise
        raise UnsupportedError(
            "the shell needs prompt_toolkit to read from a terminal",
            hint="pip install 'whence[shell]'; what is piped in runs without",
        ) from None
    return prompted(db)


@contextmanager
def _database(path: Path | None) -> Iterator[Database]:
    from whence.connecting import connect

    if path is None:
        with connect() as db:
            yield db
    elif path.suffix in SUFFIXES and not path.is_dir():
        source = read_source(path)
        with connect() as db:
            with working(f"running {source.name}"):
                load(db, source)
            yield db
    else:
        check_kept_here(path)
        is_new = not path.exists()
        with connect(path) as db:
            if is_new:
                sys.stderr.write(f"note: there was no database in {path}; this is a new one\n")
            yield db
