"""`whence why`, `why-not`, `impact`, `what-if` and `explain`: questions about a program or a database."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from whence.cli.output import show
from whence.cli.run import Commands, add_command
from whence.cli.targets import add_target, opened, read_question, read_row, relation_of
from whence.errors import DataError

if TYPE_CHECKING:
    from whence.database.database import Database
    from whence.model.types import Row


EXAMPLES = {
    "why": """\
examples:
  whence why network.sql reachable a c           a proof that the row is there
  whence why network.sql reachable a _           of every row that matches
  whence why state/ reachable a c --version 12   what made it come or go, up to version 12
  whence why state/ reachable a c --removed      what removed it
  whence why network.sql reachable a c --supports 3
""",
    "why-not": """\
examples:
  whence why-not network.sql reachable a z       how close each rule comes, and what would be needed
""",
    "impact": """\
examples:
  whence impact network.sql link a b             what depends on a row, and what would go without it
  whence impact network.sql link a _             the same for all rows that match, together
""",
    "what-if": """\
examples:
  whence what-if network.sql --insert link c d
  whence what-if state/ --delete link a b --insert link a c --json
""",
    "explain": """\
examples:
  whence explain network.sql reachable             the plan of a view
  whence explain network.sql reachable --openlineage prod   where its columns come from, as OpenLineage has it
  whence explain network.sql reachable --changes day.sql --analyze
                                                   and what the last statement of day.sql cost it
""",
}


def add_questions(commands: Commands) -> None:
    why = _command(
        commands, "why", "tell why a row is there", "A proof of a row, in the rules or the SQL of the program."
    )
    _add_row(why, "VIEW", "view")
    why.add_argument("--version", metavar="N", type=int, help="tell instead what made the row come or go, up to then")
    why.add_argument("--removed", action="store_true", help="tell instead what removed the row")
    why.add_argument("--depth", metavar="N", type=int, default=6, help="levels of the tree to show (default: 6)")
    why.add_argument("--at", metavar="LABEL", help="show the part of the tree below this label")
    why.add_argument("--supports", metavar="N", type=int, help="show instead the N smallest sets of rows it rests on")
    why.add_argument("--dot", action="store_true", help="write the proof for Graphviz")
    why.add_argument("--svg", action="store_true", help="write the proof as a picture")
    why.set_defaults(command=why_row)
    why_not = _command(
        commands,
        "why-not",
        "tell why a row is not there",
        "What a row lacks, and the fewest rows that would produce it.",
    )
    _add_row(why_not, "VIEW", "view")
    why_not.set_defaults(command=why_not_row)
    impact = _command(commands, "impact", "tell what depends on a row", "What depends on a row of a table.")
    _add_row(impact, "TABLE", "table")
    impact.set_defaults(command=impact_of_row)
    what_if = _command(
        commands,
        "what-if",
        "tell what a change would do",
        "What would change in every view if rows were deleted, and then others inserted. Nothing is changed.",
    )
    for option in ("--insert", "--delete"):
        what_if.add_argument(
            option,
            metavar=("TABLE", "VALUE"),
            nargs="+",
            action="append",
            default=[],
            help=f"a row to {option[2:]}: its table, and a value for each column; may be repeated",
        )
    what_if.set_defaults(command=what_if_rows)


def _command(commands: Commands, name: str, words: str, description: str) -> argparse.ArgumentParser:
    command = add_command(commands, name, words, description, EXAMPLES[name])
    add_target(command)
    command.add_argument("--json", action="store_true", help="write the answer as JSON")
    return command


def _add_row(command: argparse.ArgumentParser, relation: str, words: str) -> None:
    command.add_argument("relation", metavar=relation, help=f"the {words} that the row belongs to")
    command.add_argument("values", metavar="VALUE", nargs="*", help="a value for each column; _ for any value")


def why_row(options: argparse.Namespace) -> None:
    with opened(options.target, options.changes) as db:
        row = _asked(db, options)
        if options.removed:
            show(db.what_removed(options.relation, row), as_json=options.json)
            return
        if options.version is not None:
            show(db.why(options.relation, row, version=options.version), as_json=options.json)
            return
        proof = db.why(options.relation, row)
        if options.supports is not None:
            show(PrintedSupports(proof.supports(limit=options.supports)), as_json=options.json)
        elif options.dot or options.svg:
            sys.stdout.write(f"{proof.dot() if options.dot else proof.svg()}\n")
        elif options.json:
            show(proof, as_json=True)
        else:
            show(Shown(proof.text(options.depth, options.at)), as_json=False)


def why_not_row(options: argparse.Namespace) -> None:
    with opened(options.target, options.changes) as db:
        show(db.why_not(options.relation, _asked(db, options)), as_json=options.json)


def impact_of_row(options: argparse.Namespace) -> None:
    with opened(options.target, options.changes) as db:
        show(db.impact(options.relation, _asked(db, options)), as_json=options.json)


def what_if_rows(options: argparse.Namespace) -> None:
    if not options.insert and not options.delete:
        raise DataError("nothing to ask: no row is inserted or deleted", hint="write --insert TABLE VALUE ...")
    with opened(options.target, options.changes) as db:
        answer = db.what_if(insert=rows_by_table(db, options.insert), delete=rows_by_table(db, options.delete))
        show(answer, as_json=options.json)


def rows_by_table(db: Database, given: Sequence[Sequence[str]]) -> dict[str, list[Row]]:
    """Rows of which each is its table's name and its values, as they were typed."""
    rows: dict[str, list[Row]] = {}
    for name, *texts in given:
        relation = relation_of(db, name)
        rows.setdefault(relation.name, []).append(read_row(texts, relation))
    return rows


def _asked(db: Database, options: argparse.Namespace) -> Row:
    return read_question(options.values, relation_of(db, options.relation))


class Shown(str):
    """A text that is an answer."""

    __slots__ = ()

    def json(self) -> dict[str, object]:
        return {"text": str(self)}


class PrintedSupports:
    """Sets of base rows, smallest first."""

    def __init__(self, sets: Sequence[frozenset[tuple[str, Row]]]) -> None:
        self._sets = [sorted(facts, key=repr) for facts in sets]

    def json(self) -> dict[str, object]:
        from whence.explain.proofs.text import json_row

        return {"supports": [[{"relation": n, "row": json_row(row)} for n, row in facts] for facts in self._sets]}

    def __str__(self) -> str:
        from whence.explain.proofs.text import fact_text

        return "\n".join(" and ".join(fact_text(*fact) for fact in facts) for facts in self._sets)


def add_explain(commands: Commands) -> None:
    words = "Tell how a view of a program or database is kept up to date."
    explain = add_command(commands, "explain", "tell how a view is kept up to date", words, EXAMPLES["explain"])
    add_target(explain)
    explain.add_argument("view", metavar="VIEW", help="a view or table of it")
    explain.add_argument("--analyze", action="store_true", help="tell, too, what the last commit cost")
    explain.add_argument(
        "--openlineage",
        metavar="NAMESPACE",
        help="write instead what its columns are made from, as OpenLineage events, one in a line",
    )
    explain.set_defaults(command=explain_view)


def explain_view(options: argparse.Namespace) -> None:
    with opened(options.target, options.changes) as db:
        if options.openlineage is not None:
            for event in db.lineage(options.view, options.openlineage):
                sys.stdout.write(f"{json.dumps(event)}\n")
            return
        text = db.explain(options.view, analyze=options.analyze)
    sys.stdout.write(f"{text}\n")
