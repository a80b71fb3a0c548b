"""`whence serve`: a database in the browser."""

from __future__ import annotations

import argparse
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from whence.cli.files import FileError, read_source
from whence.cli.run import SUFFIXES, load, working
from whence.errors import UnsupportedError

if TYPE_CHECKING:
    from whence.database import Database

# As whence.web.serving has them, which is not loaded for `--help`.
HOST = "127.0.0.1"
PORT = 8753
EXAMPLES = """\
examples:
  whence serve network.sql                 run a program, and show its tables and views
  whence serve state/                      the database in a directory
  whence serve state/ --allow-changes      and let the page change rows
  whence serve state/ --host 0.0.0.0       for other machines too; the address that is printed has the token
"""


def add_serve(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    serve = commands.add_parser(
        "serve",
        help="show a database in the browser",
        description="Show a database in the browser: its views, their rows and changes, and answers to questions.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    serve.add_argument(
        "target", metavar="DIR|PROGRAM", type=Path, help="the directory of a database, or a .sql or .dl file"
    )
    serve.add_argument("--host", default=HOST, help=f"the address to listen at; {HOST}, this machine, unless given")
    serve.add_argument("--port", type=_port, default=PORT, help=f"{PORT} unless given; 0 takes a free one")
    serve.add_argument(
        "--token", help="what requests have to bring; made and printed where other machines can ask, unless given"
    )
    serve.add_argument("--allow-changes", action="store_true", help="let the page insert and delete rows")
    serve.add_argument("--engine", choices=("local", "spark"), help="what keeps the database; local unless given")
    serve.set_defaults(command=serve_database)


def serve_database(options: argparse.Namespace) -> None:
    try:
        from whence.web import serve
    except ModuleNotFoundError as error:
        raise UnsupportedError(
            f"the page needs {error.name}, which is not installed", hint="pip install 'whence[serve]'"
        ) from None
    target: Path = options.target
    with opened(target, options.engine) as db:
        page = serve(
            db,
            host=options.host,
            port=options.port,
            token=options.token,
            allow_changes=options.allow_changes,
            title=target.name,
        )
        with page:
            sys.stdout.write(f"{target} is at {page.url}\nCtrl-C ends it.\n")
            sys.stdout.flush()
            page.wait()


def opened(target: Path, engine: str | None) -> AbstractContextManager[Database]:
    """The database in a directory, or one in memory that has run a program."""
    # The engine takes a while to load, and `--help` does without.
    from whence.connecting import connect

    if target.is_dir():
        if not any(target.iterdir()):
            raise FileError(f"there is no database in {str(target)!r}, which is empty")
        return connect(target, engine=engine)
    if target.suffix not in SUFFIXES:
        raise FileError(f"{str(target)!r} is neither a directory nor a .sql or .dl file")
    source = read_source(target)
    db = connect(engine=engine)
    with working(f"running {source.name}"):
        load(db, source)
    return db


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"a port is a number up to 65535, not {text!r}")
    return int(text)
