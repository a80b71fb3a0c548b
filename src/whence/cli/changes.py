"""`whence changes`: what commits did to a table or view, and what they do while one watches."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from whence.cli.output import plain, print_lines
from whence.cli.reports import SIGNS, rows
from whence.cli.run import Commands, add_command
from whence.cli.targets import add_target, check_kept_here, opened, relation_of
from whence.explain.proofs.text import fact_text
from whence.model.schema import Relation
from whence.model.types.times import timestamp_text
from whence.model.updates import Version
from whence.session.journal import Change, changes

if TYPE_CHECKING:
    import pyarrow as pa

# Between two looks for new commits.
POLL_SECONDS = 0.2

EXAMPLES = """\
examples:
  whence changes state/ reachable                all changes that are kept
  whence changes state/ reachable --since 12     those after version 12
  whence changes state/ reachable --follow       and then those that come, until it is interrupted
"""


def add_changes(commands: Commands) -> None:
    command = add_command(
        commands,
        "changes",
        "show what commits changed in a view",
        "Show the changes of a table or view. Another process may have the database open.",
        EXAMPLES,
    )
    add_target(command)
    command.add_argument("relation", metavar="VIEW", help="a view or table")
    command.add_argument(
        "--since", metavar="N", type=int, help="only those after version N (default: all that are kept)"
    )
    command.add_argument("--follow", action="store_true", help="go on with those that come")
    command.add_argument("--json", action="store_true", help="write one JSON object for each row that came or went")
    command.set_defaults(command=show_changes)


def show_changes(options: argparse.Namespace) -> None:
    if not options.target.is_dir():
        if options.follow:
            options.usage_error(
                "--follow is for the directory of a database: nothing happens to a program that has run"
            )
        with opened(options.target, options.changes) as db:
            relation = relation_of(db, options.relation)
            _write(relation, _of_table(db.changes(relation.name, options.since)), as_json=options.json)
        return
    follow(options.target, options.relation, options.since, is_endless=options.follow, as_json=options.json)


def follow(directory: Path, name: str, since: int | None, *, is_endless: bool, as_json: bool) -> None:
    """Write the changes after a version, and then, if it is endless, those of every commit that comes."""
    from whence.session.journal import ForgottenError
    from whence.storage.sqlite.directory import FeedReader

    check_kept_here(directory)
    reader = FeedReader(directory)
    try:
        news = reader.changes(name, Version(since or 0))
    except ForgottenError as error:
        if since is not None:
            raise
        news = reader.changes(name, error.dropped)
    _write(news.relation, changes(news.relation, news.entries), as_json=as_json)
    while is_endless:
        time.sleep(POLL_SECONDS)
        if reader.version() > news.version:
            news = reader.changes(name, news.version)
            _write(news.relation, changes(news.relation, news.entries), as_json=as_json)


def change_lines(relation: Relation, table: pa.Table) -> Iterator[str]:
    """The changes that `db.changes` gives, a line for each row and one before those of each version."""
    return _lines(relation, _of_table(table))


def _of_table(table: pa.Table) -> Iterator[Change]:
    columns = (table.column(name).to_pylist() for name in table.column_names[-3:])
    return zip(rows(table.select(table.column_names[:-3])), *columns, strict=True)


def _write(relation: Relation, found: Iterable[Change], *, as_json: bool) -> None:
    if as_json:
        sys.stdout.writelines(f"{_json(relation, change)}\n" for change in found)
    else:
        console = Console(highlight=False, emoji=False, markup=False)
        for line in _lines(relation, found):
            print_lines(console, line)
    sys.stdout.flush()


def _lines(relation: Relation, found: Iterable[Change]) -> Iterator[str]:
    version = None
    for row, kind, at, timestamp in found:
        if at != version:
            version = at
            yield f"version {at}, {timestamp_text(timestamp.replace(tzinfo=None))} UTC"
        yield f"  {SIGNS[kind]} {fact_text(relation.name, row)}"


def _json(relation: Relation, change: Change) -> str:
    row, kind, version, timestamp = change
    values = dict(zip(relation.column_names, map(plain, row), strict=True))
    stamp = {"_change_type": kind, "_commit_version": version, "_commit_timestamp": timestamp.isoformat()}
    return json.dumps({"relation": relation.name, **stamp, "row": values}, ensure_ascii=False)
