"""`whence explain`: how a view of a program is kept up to date."""

from __future__ import annotations

import argparse
import sys

from whence.cli.targets import add_target, opened

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
        description="Tell how a view of a program or database is kept up to date.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_target(explain)
    explain.add_argument("view", metavar="VIEW", help="a view or table of it")
    explain.add_argument("--analyze", action="store_true", help="tell, too, what the last commit cost")
    explain.set_defaults(command=explain_view)


def explain_view(options: argparse.Namespace) -> None:
    with opened(options.target, options.changes) as db:
        text = db.explain(options.view, analyze=options.analyze)
    sys.stdout.write(f"{text}\n")
