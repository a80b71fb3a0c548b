"""What one node reaches, where the view of all pairs would have a million rows: a recursion that is asked for some."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import whence
from benchmarks import duck, reachable
from benchmarks.harness import Report, Stopwatch, main, taking_turns

# Of the right-linear form all pairs are needed that a reached node is the first of, which here are all there are.
FORMS: Mapping[str, str] = {
    "left-linear": "pair(x, y) :- link(x, y). pair(x, y) :- pair(x, z), link(z, y).",
    "right-linear": "pair(x, y) :- link(x, y). pair(x, y) :- link(x, z), pair(z, y).",
}
READER = "from_first(y) :- pair({}, y).\n"
ONE, ALL = ".output from_first\n", ".output from_first\n.output pair\n"
IN_DUCKDB = """
    WITH RECURSIVE pair(src, dst) AS (
      SELECT src, dst FROM link UNION SELECT p.src, l.dst FROM pair p JOIN link l ON p.dst = l.src)
    SELECT dst FROM pair WHERE src = {}
"""


@dataclass(frozen=True)
class Sizes:
    nodes: int = 1000
    changes: int = 30
    runs: int = 5


def run(sizes: Sizes) -> Report:
    links = reachable.network(sizes.nodes)
    first = links[0][0]
    report = Report(
        "magic_sets",
        "What one node reaches, of a million pairs",
        f"A transit-stub network of {sizes.nodes:,} nodes and {len(links):,} directed links, all of which reach each "
        f"other. A view has the nodes that one node reaches, by a recursion over pairs. Where the pairs are no output, "
        f"the recursion computes those that it is asked for. The opponents are whence with all pairs, the same program "
        f"with the pairs as another output, and DuckDB, with two threads, which recomputes. {sizes.changes} "
        f"random links go and come back, one commit each.",
    )
    theirs = reachable.in_duckdb(links)
    recompute = duck.Recompute(theirs, IN_DUCKDB.format(first))
    for form, rules in FORMS.items():
        program = rules + READER.format(first)
        databases = {which: _built(program + which, links, sizes.runs) for which in (ONE, ALL)}
        watches = {which: (Stopwatch(), Stopwatch()) for which in (ONE, ALL)}
        for link in taking_turns(reachable.some(links, sizes.changes), recompute):
            for which, (db, _) in databases.items():
                reachable.change_one_by_one(db, [link], *watches[which])
        for which, (db, _) in databases.items():
            duck.check_same_rows(db, "from_first", theirs, IN_DUCKDB.format(first))
            if ("magic sets" in db.explain("from_first")) != (which == ONE):
                raise SystemExit("the recursion computes something else than it should")
        all_pairs = "whence, all pairs"
        report.compare(f"{form}: build", databases[ONE][1].timing, all_pairs, databases[ALL][1].timing)
        report.compare(f"{form}: build", databases[ONE][1].timing, duck.NAME, recompute.timing)
        for what, ours, whole in zip(("goes", "comes"), watches[ONE], watches[ALL], strict=True):
            report.compare(f"{form}: a link {what}", ours.timing, all_pairs, whole.timing)
            report.compare(f"{form}: a link {what}", ours.timing, duck.NAME, recompute.timing)
        report.figure(f"{form}: pairs of the whole", len(databases[ALL][0].rows("pair")), "rows")
        report.figure(f"{form}: nodes that are reached", len(databases[ONE][0].rows("from_first")), "rows")
        for db, _ in databases.values():
            db.close()
    return report


def _built(program: str, links: list[reachable.Link], runs: int) -> tuple[whence.Database, Stopwatch]:
    """First over few links, so that what is compiled is loaded; and then measured, the last of which is kept."""
    watch = Stopwatch()
    with _over(reachable.network(25)) as small:
        small.rules(program)
        small.delete("link", reachable.network(25)[:1])
    for _ in range(runs - 1):
        with _over(links) as another, watch:
            another.rules(program)
    db = _over(links)
    with watch:
        db.rules(program)
    return db, watch


def _over(links: list[reachable.Link]) -> whence.Database:
    db = whence.connect()
    db.execute(reachable.TABLE)
    db.insert("link", links)
    return db


if __name__ == "__main__":
    main(run, full=Sizes(), quick=Sizes(nodes=25, changes=5))
