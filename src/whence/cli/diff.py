"""`whence diff`: what another program would do to a database, before anything happens."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

from whence.cli.run import Commands, FileError, add_command
from whence.cli.targets import opened, snapshot

# Of lines that begin like this, as a difference is coloured.
_STYLES = {"-": "red", "dropped": "red", "+": "green"}

EXAMPLES = """\
examples:
  whence diff old.sql new.sql                    over the rows that old.sql inserts
  whence diff old.sql new.sql --state state/     over the rows of a database that old.sql made
  whence diff old.sql new.sql --rows             and which rows would come and go
  whence diff old.sql new.sql --dot | dot -Tsvg  the plan as a picture
"""


def add_diff(commands: Commands) -> None:
    command = add_command(
        commands,
        "diff",
        "show what another program would change",
        "Show how the views of one program become those of another: what is used again, what is computed, by which "
        "plan, at what estimated cost. Nothing changes.",
        EXAMPLES,
    )
    command.add_argument("old", metavar="OLD", type=Path, help="the .sql program that there is")
    command.add_argument("new", metavar="NEW", type=Path, help="the .sql program that there would be")
    command.add_argument("--state", metavar="DIR", type=Path, help="the directory of a database that OLD made")
    command.add_argument("--rows", action="store_true", help="show how many rows of each relation would come and go")
    command.add_argument("--dot", action="store_true", help="write the plan as a graph for Graphviz")
    command.add_argument("--json", action="store_true", help="write the same as JSON")
    command.set_defaults(command=show_diff)


def show_diff(options: argparse.Namespace) -> None:
    from whence.adapt.program_change import change_program

    old, new = _text(options.old), _text(options.new)
    with snapshot(options.state) if options.state else opened(options.old) as db:
        change = db.redefine()
        change_program(change, old, new, (str(options.old), str(options.new)))
        preview = change.preview(rows=options.rows)
    if options.json:
        sys.stdout.write(json.dumps(preview.as_json(), indent=2) + "\n")
    elif options.dot:
        sys.stdout.write(preview.dot())
    else:
        console = Console(highlight=False, soft_wrap=True)
        for line in str(preview).splitlines():
            style = next((style for sign, style in _STYLES.items() if line.strip().startswith(sign)), "")
            console.print(Text(line, style=style or ("" if line.startswith(" ") else "bold")))


def _text(path: Path) -> str:
    if path.suffix != ".sql":
        raise FileError(f"a program to be compared is a .sql file, not {str(path)!r}")
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"{path} cannot be read: {error}") from None
