"""`whence run`: run a program, show its views, then apply changes and show what follows from each."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from whence.cli.files import read_source
from whence.cli.reports import CsvReport, JsonReport, Report, TextReport
from whence.cli.script import relocate, steps
from whence.errors import UnknownNameError, WhenceError, did_you_mean
from whence.model.schema import Relation
from whence.model.span import Source

if TYPE_CHECKING:
    from whence.database import Database

SUFFIXES = (".sql", ".dl")
ROWS_SHOWN = 10
EXAMPLES = """\
examples:
  whence run network.sql                          the views of a program, as tables
  whence run network.dl --view reachable --rows all
  whence run network.sql --changes day.sql        each statement of day.sql, and what follows from it
  whence run network.sql --view reachable --format csv > reachable.csv
"""


def add_run(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    run = commands.add_parser(
        "run",
        help="run a program and show its views",
        description="Run a program and show its views: those that its .output directives name, or else all.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    run.add_argument("program", metavar="PROGRAM", type=program, help="a .sql or .dl file")
    run.add_argument(
        "--changes",
        metavar="FILE",
        type=Path,
        action="append",
        default=[],
        help="a .sql file of INSERT and DELETE statements to run after the program, one by one; may be repeated",
    )
    run.add_argument("--view", metavar="NAME", action="append", help="show this view or table; may be repeated")
    run.add_argument(
        "--rows", metavar="N", type=_limit, default=ROWS_SHOWN, help="rows to show of each table; 'all' for all of them"
    )
    run.add_argument(
        "--format",
        choices=("table", "csv", "json"),
        default="table",
        help="csv and json (one object a line) give all rows, or with --changes the change feed instead",
    )
    run.add_argument("--echo", action="store_true", help="show the program's text as well")
    run.set_defaults(command=run_program)


def program(text: str) -> Path:
    path = Path(text)
    # A directory gets its own message when it is read.
    if path.suffix not in SUFFIXES and not path.is_dir():
        raise argparse.ArgumentTypeError(f"a program is a .sql or .dl file, not {text!r}")
    return path


def _limit(text: str) -> int | None:
    if text == "all":
        return None
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"a number of rows, or 'all', not {text!r}")
    return int(text)


def run_program(options: argparse.Namespace) -> None:
    # The engine and Arrow take a while to load, and `--help` does without.
    from whence.connecting import connect

    source = read_source(options.program)
    scripts = [read_source(path) for path in options.changes]
    with connect() as db:
        with working(f"running {source.name}"):
            outputs = load(db, source)
        shown = _chosen(db, options.view or outputs)
        if options.format == "csv" and len(shown) != 1:
            names = ", ".join(relation.name for relation in shown) or "none"
            options.usage_error(f"csv holds one view: choose it with --view NAME (there is {names})")
        report = _report(options)
        report.program(source, db)
        if options.format == "table" or not scripts:
            report.contents(db, shown)
        for script in scripts:
            apply_changes(db, script, shown, report)


def load(db: Database, source: Source) -> Sequence[str]:
    """Run the program and name the relations that it wants shown."""
    directory = Path(source.name).parent
    if source.name.endswith(".sql"):
        db.execute(source.text, name=source.name, directory=directory)
        return [name for name in db.catalog().relations if name in db.catalog().views]
    from whence.lang.datalog.parse import parse_datalog

    db.rules(source.text, name=source.name, directory=directory)
    directives = parse_datalog(source.text, source.name).directives
    outputs = dict.fromkeys(directive.relation for directive in directives if directive.kind == "output")
    return list(outputs) or [name for name in db.catalog().relations if name in db.catalog().views]


def apply_changes(db: Database, script: Source, shown: Sequence[Relation], report: Report) -> None:
    """Run a script statement by statement. What came before a statement that fails has happened, and was shown."""
    for step in steps(script):
        before = db.version
        report.step(step)
        try:
            with working(f"running {script.name}"):
                db.execute(step.statement, name=script.name, directory=Path(script.name).parent)
        except WhenceError as error:
            relocate(error, step, script)
            raise
        report.changes(db, shown, before)


def _chosen(db: Database, names: Sequence[str]) -> list[Relation]:
    relations = db.catalog().relations
    folded = {name.lower(): relation for name, relation in relations.items()}
    for name in names:
        if name.lower() not in folded:
            raise UnknownNameError(
                f"the program has no view or table {name!r}",
                hint=did_you_mean(name, relations) or f"it has {', '.join(relations)}",
            )
    return [folded[name.lower()] for name in dict.fromkeys(names)]


def _report(options: argparse.Namespace) -> Report:
    if options.format == "csv":
        return CsvReport(sys.stdout)
    if options.format == "json":
        return JsonReport(sys.stdout)
    console = Console(highlight=False, emoji=False, markup=False)
    return TextReport(console, rows=options.rows, echo=options.echo)


def working(what: str) -> AbstractContextManager[object]:
    """A sign of life on stderr while something takes its time; nothing where nobody looks."""
    return Console(stderr=True).status(what)
