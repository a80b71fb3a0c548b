"""What a question is about: a program, which is run in memory, or the directory of a database, which is only read."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from whence.cli.files import FileError, read_source
from whence.cli.run import SUFFIXES, load, working
from whence.errors import UnknownNameError, did_you_mean
from whence.model.schema import Relation

if TYPE_CHECKING:
    from whence.database import Database

# Where a database on Spark has its commits.
SPARK_FILES = "commits"
TARGET_HELP = "a .sql or .dl file, or the directory of a database"


def target(text: str) -> Path:
    path = Path(text)
    if path.suffix not in SUFFIXES and not path.is_dir():
        raise argparse.ArgumentTypeError(f"a program is a .sql or .dl file, and a database a directory, not {text!r}")
    return path


def add_target(command: argparse.ArgumentParser) -> None:
    command.add_argument("target", metavar="TARGET", type=target, help=TARGET_HELP)
    command.add_argument(
        "--changes",
        metavar="FILE",
        type=Path,
        action="append",
        default=[],
        help="a .sql file of statements to run after the program; may be repeated",
    )


@contextmanager
def opened(path: Path, changes: Sequence[Path] = ()) -> Iterator[Database]:
    """A database to be asked. Nothing that happens to it is kept."""
    # The engine takes a while to load, and `--help` does without.
    from whence.connecting import connect

    if path.suffix in SUFFIXES and not path.is_dir():
        source = read_source(path)
        scripts = [read_source(each) for each in changes]
        with connect() as db:
            with working(f"running {source.name}"):
                load(db, source)
                for script in scripts:
                    db.execute(script.text, name=script.name, directory=Path(script.name).parent)
            yield db
        return
    if changes:
        raise FileError(f"--changes are for a program, and {str(path)!r} is a database", hint="it is only read")
    with snapshot(path) as db:
        yield db


def check_kept_here(directory: Path, hint: str | None = None) -> None:
    """Raises where a directory has the database of a cluster."""
    from whence.durable.files import DATABASE_FILE

    if (directory / SPARK_FILES).is_dir() and not (directory / DATABASE_FILE).exists():
        raise FileError(
            f"the database in {directory} is one on Spark",
            hint=hint or f'ask it in a program: whence.connect("{directory}", engine="spark")',
        )


def snapshot(directory: Path) -> Database:
    """A database as its directory has it now, whether or not another process has it open."""
    from whence.following import open_snapshot

    check_kept_here(directory)
    with working(f"reading {directory}"):
        return open_snapshot(directory)


def relation_of(db: Database, name: str) -> Relation:
    """The table or view of that name; letter case does not matter."""
    relations = db.catalog().relations
    found = next((relation for known, relation in relations.items() if known.lower() == name.lower()), None)
    if found is None:
        raise UnknownNameError(
            f"there is no relation {name!r}",
            hint=did_you_mean(name, relations) or f"there is {', '.join(sorted(relations)) or 'none yet'}",
        )
    return found
