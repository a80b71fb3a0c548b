"""`whence serve`: a database in the browser."""

from __future__ import annotations

import argparse
import logging
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from whence.cli.run import Commands, FileError, add_command, working
from whence.cli.targets import add_target, check_kept_here, opened
from whence.errors import UnsupportedError
from whence.logs import JsonLines

if TYPE_CHECKING:
    from whence.database.database import Database

# As whence.web.server has them, which is not loaded for `--help`.
HOST = "127.0.0.1"
PORT = 8753
EXAMPLES = """\
examples:
  whence serve network.sql                 run a program, and show its tables and views
  whence serve network.sql --changes day.sql
                                           and run the statements of day.sql first
  whence serve state/                      the database in a directory, while another process works on it
  whence serve state/ --allow-changes      let the page change rows; no other process can have it open then
  whence serve state/ --host 0.0.0.0       for other machines too; the address that is printed has the token
"""


def add_serve(commands: Commands) -> None:
    serve = add_command(
        commands,
        "serve",
        "show a database in the browser",
        "Show a database in the browser: its views, their rows and changes, and answers to questions.",
        EXAMPLES,
    )
    add_target(serve)
    serve.add_argument("--host", default=HOST, help=f"the address to listen at; {HOST}, this machine, unless given")
    serve.add_argument("--port", type=_port, default=PORT, help=f"{PORT} unless given; 0 takes a free one")
    serve.add_argument(
        "--token", help="what requests have to bring; made and printed where other machines can ask, unless given"
    )
    serve.add_argument("--allow-changes", action="store_true", help="let the page insert and delete rows")
    serve.add_argument("--engine", choices=("local", "spark"), help="what keeps the directory; local unless given")
    serve.add_argument("--json-logs", action="store_true", help="tell of each commit on stderr, in JSON")
    serve.set_defaults(command=serve_database)


def serve_database(options: argparse.Namespace) -> None:
    from whence.web import serve

    target: Path = options.target
    if options.json_logs:
        _log_json()
    with _opened(options) as db:
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


def _opened(options: argparse.Namespace) -> AbstractContextManager[Database]:
    """A database in memory that has run a program, or the one in a directory, beside the process that has it open.

    To change rows, the directory has to be this process's own.
    """
    directory: Path = options.target
    if not directory.is_dir():
        if options.engine is not None:
            raise UnsupportedError("a program is run in memory, and --engine is for a directory")
        return opened(directory, options.changes)
    if options.changes:
        raise UnsupportedError("--changes are for a program, and not for a database in a directory")
    if not any(directory.iterdir()):
        raise FileError(f"there is no database in {str(directory)!r}, which is empty")
    # The engine takes a while to load, and `--help` does without.
    from whence.database.connect import FollowedDatabase, connect

    if options.engine == "spark":
        return connect(directory, engine="spark")
    check_kept_here(directory, hint=f"whence serve {directory} --engine spark")
    with working(f"reading {directory}"):
        return connect(directory) if options.allow_changes else FollowedDatabase(directory)


def _log_json() -> None:
    """In the place of the notes that people read."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger("whence").setLevel(logging.INFO)


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"a port is a number up to 65535, not {text!r}")
    return int(text)
