"""`whence explain`: how a view of a program is kept up to date."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from whence.cli.files import read_source
from whence.cli.run import load, program, working

EXAMPLES = """\
examples:
  whence explain network.sql reachable             the plan of a view
  whence explain network.sql reachable --changes day.sql --analyze
                                                   and what the last statement of day.sql cost it
"""


def add_explain(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    explain = commands.add_parser(
        "explain",
        help="tell how a view is kept up to date",
        description="Run a program and tell how one of its views is kept up to date.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    explain.add_argument("program", metavar="PROGRAM", type=program, help="a .sql or .dl file")
    explain.add_argument("view", metavar="VIEW", help="a view or table of the program")
    explain.add_argument(
        "--changes",
        metavar="FILE",
        type=Path,
        action="append",
        default=[],
        help="a .sql file of statements to run after the program; may be repeated",
    )
    explain.add_argument("--analyze", action="store_true", help="tell, too, what the last commit cost")
    explain.set_defaults(command=explain_view)


def explain_view(options: argparse.Namespace) -> None:
    # The engine takes a while to load, and `--help` does without.
    from whence.connecting import connect

    source = read_source(options.program)
    scripts = [read_source(path) for path in options.changes]
    with connect() as db:
        with working(f"running {source.name}"):
            load(db, source)
            for script in scripts:
                db.execute(script.text, name=script.name, directory=Path(script.name).parent)
        text = db.explain(options.view, analyze=options.analyze)
    sys.stdout.write(f"{text}\n")
