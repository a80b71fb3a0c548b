"""`whence run`: run a program, show its views, then apply the steps of scripts and show what follows from each."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from rich.console import Console

from whence.cli.reports import CsvReport, JsonReport, Report, TextReport
from whence.errors import ParseError, UnknownNameError, WhenceError, did_you_mean
from whence.model.program import Directive
from whence.model.schema import Relation
from whence.model.span import SourceText, Span
from whence.sources.text_files import decode

if TYPE_CHECKING:
    from whence.database.database import Database


class FileError(WhenceError):
    """A file that cannot be read."""


def read_source(path: Path) -> SourceText:
    """The text of a file, under the name that the user typed."""
    try:
        return SourceText(str(path), decode(path.read_bytes(), str(path), ParseError))
    except FileNotFoundError:
        raise FileError(f"there is no file {str(path)!r}", hint=_neighbour(path)) from None
    except IsADirectoryError:
        raise FileError(f"{str(path)!r} is a directory, not a file", hint=_programs_in(path)) from None
    except OSError as error:
        raise FileError(f"{str(path)!r} cannot be read: {error.strerror}") from None


def _neighbour(path: Path) -> str | None:
    """The file that was probably meant."""
    if not path.parent.is_dir():
        return f"there is no directory {str(path.parent)!r} either"
    return did_you_mean(path.name, (file.name for file in path.parent.iterdir()))


def _programs_in(directory: Path) -> str | None:
    programs = sorted(str(file) for file in directory.iterdir() if file.suffix in SUFFIXES)
    return f"it has {', '.join(programs[:5])}" if programs else None


# What a `;` does not end a statement in: comments, strings, quoted names.
_TOKEN = re.compile(
    r"""(?P<comment> --[^\n]* | /\*.*?\*/ )
      | (?P<end> ; )
      | (?P<other> '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" | `[^`]*` | \S )""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class ScriptStep:
    """`words` is the text of the comments before the statement, `start` where in the source the statement begins."""

    words: str
    statement: str
    start: int


def steps(source: SourceText) -> Iterator[ScriptStep]:
    r"""The statements of a SQL script, in order.

    >>> [*steps(SourceText("day.sql", "-- The cable breaks.\nDELETE FROM link; -- The end."))]
    [ScriptStep(words='The cable breaks.', statement='DELETE FROM link', start=21)]
    """
    comments: list[str] = []
    start: int | None = None
    stop = 0
    for token in _TOKEN.finditer(source.text):
        if token["comment"] and start is None:
            comments.append(_words(token["comment"]))
        elif token["other"]:
            start = token.start() if start is None else start
            stop = token.end()
        elif token["end"]:
            if start is not None:
                yield ScriptStep(" ".join(comments), source.text[start:stop], start)
            comments, start = [], None
    if start is not None:
        yield ScriptStep(" ".join(comments), source.text[start:stop], start)


def _words(comment: str) -> str:
    return " ".join(comment.removeprefix("--").removeprefix("/*").removesuffix("*/").split())


def relocate(error: WhenceError, step: ScriptStep, source: SourceText) -> None:
    """Make an error about a step's statement point into the script it comes from."""

    def moved(span: Span | None) -> Span | None:
        if span is None or span.source.text != step.statement:
            return span
        return Span(source, span.start + step.start, span.end + step.start)

    error.span = moved(error.span)
    error.related = tuple((note, moved(span)) for note, span in error.related)


Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001 - it has no other name

SUFFIXES = (".sql", ".dl")
ROWS_SHOWN = 10
EXAMPLES = """\
examples:
  whence run network.sql                          the views of a program, as tables
  whence run network.dl --view reachable --rows all
  whence run network.sql --changes day.sql        each statement of day.sql, and what follows from it
  whence run network.sql --view reachable --format csv > reachable.csv
"""


def add_command(commands: Commands, name: str, words: str, description: str, examples: str) -> argparse.ArgumentParser:
    """A command of `whence`; the list of all commands says of it what `words` say."""
    return commands.add_parser(
        name,
        help=words,
        description=description,
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def add_changes_option(command: argparse.ArgumentParser, words: str) -> None:
    command.add_argument("--changes", metavar="FILE", type=Path, action="append", default=[], help=words)


def add_run(commands: Commands) -> None:
    run = add_command(
        commands,
        "run",
        "run a program and show its views",
        "Run a program and show its views: those that its .output directives name, or else all.",
        EXAMPLES,
    )
    run.add_argument("program", metavar="PROGRAM", type=program, help="a .sql or .dl file")
    add_changes_option(
        run, "a .sql file of INSERT, UPDATE and DELETE statements to run after the program, one by one; may be repeated"
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
    run.add_argument(
        "--output",
        metavar="DIR",
        type=Path,
        help="write what .output names into files below this directory, as Soufflé does with -D, and print .printsize",
    )
    run.add_argument("--echo", action="store_true", help="show the program's text as well")
    run.set_defaults(command=run_program)


def is_program(path: Path) -> bool:
    return path.suffix in SUFFIXES and not path.is_dir()


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
    from whence.database.connect import connect

    source = read_source(options.program)
    scripts = [read_source(path) for path in options.changes]
    with connect() as db:
        with working(f"running {source.name}"):
            outputs = load(db, source)
        if options.output is not None:
            write_outputs(db, source, options.output)
            return
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


@contextmanager
def running(program: Path, changes: Sequence[Path] = ()) -> Iterator[Database]:
    """A database in memory that has run a program, and then the statements of scripts."""
    # The engine takes a while to load, and `--help` does without.
    from whence.database.connect import connect

    source = read_source(program)
    scripts = [read_source(path) for path in changes]
    with connect() as db:
        with working(f"running {source.name}"):
            load(db, source)
            for script in scripts:
                db.execute(script.text, name=script.name, directory=Path(script.name).parent)
        yield db


def load(db: Database, source: SourceText) -> Sequence[str]:
    """Run the program and name the relations that it wants shown."""
    directory = Path(source.name).parent
    outputs: list[str] = []
    if source.name.endswith(".sql"):
        db.execute(source.text, name=source.name, directory=directory)
    else:
        db.rules(source.text, name=source.name, directory=directory)
        outputs = [directive.relation for directive in _directives(source) if directive.kind == "output"]
    return outputs or [name for name in db.catalog().relations if name in db.catalog().views]


def _directives(source: SourceText) -> Sequence[Directive]:
    from whence.lang.datalog.parse import parse_datalog
    from whence.lang.datalog.preprocessor import preprocessed

    text = preprocessed(source.text, source.name, Path(source.name).parent)
    return parse_datalog(text, source.name).directives


def write_outputs(db: Database, source: SourceText, directory: Path) -> None:
    """Write the files that a program wants written, and print the sizes that it wants printed."""
    from whence.session.contents import in_order
    from whence.sources.written_files import write_output

    for directive in _directives(source) if not source.name.endswith(".sql") else ():
        relation = db.catalog().relations[directive.relation]
        if directive.kind == "output":
            path = write_output(directive, relation, in_order(list(db.rows(relation.name)), relation), directory)
            sys.stderr.write(f"{relation.name}: {path}\n")
        elif directive.kind == "printsize":
            sys.stdout.write(f"{relation.name}\t{db.table(relation.name).num_rows}\n")


def apply_changes(db: Database, script: SourceText, shown: Sequence[Relation], report: Report) -> None:
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
    catalog = db.catalog()
    found: list[Relation] = []
    for name in dict.fromkeys(names):
        relation = catalog.find(name)
        if relation is None:
            raise UnknownNameError(
                f"the program has no view or table {name!r}",
                hint=did_you_mean(name, catalog.relations) or f"it has {', '.join(catalog.relations)}",
            )
        found.append(relation)
    return found


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
