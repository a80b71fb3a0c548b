"""The backbone, live: link events arrive as files, and the views follow, on Spark or in this process.

Every event is a file of JSON lines, as a monitoring system would drop them. On Spark they come in through Structured
Streaming; with `--engine local` the same events are applied one after the other, without a JVM.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
import textwrap
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
from rich.console import Console

import whence

HERE = Path(__file__).parent
LOGGING = "log4j2.properties"
Event = tuple[str, str, list[tuple[str, str, int]], str]

# What happens, the kind of change, the links that it concerns, and the view in which Reykjavik is looked up then; both
# directions of a cable break at once.
EVENTS: list[Event] = [
    ("The cable between London and Reykjavik breaks.", "delete", [("London", "Reykjavik", 1888)], "distance"),
    ("The cable between Copenhagen and Reykjavik fails too.", "delete", [("Copenhagen", "Reykjavik", 2105)], "cut_off"),
    ("The first cable is repaired.", "insert", [("London", "Reykjavik", 1888)], "distance"),
]

console = Console(highlight=False, soft_wrap=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", choices=("spark", "local"), default="spark", help="where the views are kept")
    engine = parser.parse_args().engine
    if engine == "spark" and "JAVA_HOME" not in os.environ and shutil.which("java") is None:
        parser.exit(1, "Spark needs Java 17 or newer, and there is none here; --engine local runs without it.\n")
    with tempfile.TemporaryDirectory() as inbox, (on_spark if engine == "spark" else in_process)(Path(inbox)) as run:
        db, take = run
        console.print("GÉANT, Europe's research network, watched from London: `distance` tells how far each router is,")
        console.print("`cut_off` which ones London has lost. Rows that come are marked +, rows that go -.\n")
        console.print(f"{len(db.rows('router'))} routers, {len(db.rows('link'))} links, {engine} engine.")
        console.print(f"{len(db.rows('reachable')):,} pairs of routers reach each other.\n")
        for view in ("distance", "cut_off"):
            db.subscribe(view, printer(view))
        for number, (words, kind, cables, view) in enumerate(EVENTS):
            console.print(words, style="bold")
            drop(Path(inbox), number, kind, cables)
            take()
            console.print("Why?", style="bold")
            console.print(textwrap.indent(str(db.why(view, ("Reykjavik", None))), "  ") + "\n", markup=False)
        console.print("How is the view of lost routers kept?\n", style="bold")
        console.print(str(db.explain("cut_off", analyze=True)), markup=False)


def printer(view: str) -> Callable[[pa.Table], None]:
    def show(changes: pa.Table) -> None:
        for change in changes.to_pylist():
            *row, kind, version, _ = change.values()
            sign = "+" if kind in ("insert", "update_postimage") else "-"
            console.print(f"  {sign} {view}({', '.join(map(str, row))})   version {version}")

    return show


def drop(inbox: Path, number: int, kind: str, cables: list[tuple[str, str, int]]) -> None:
    """One event as a file, which appears whole."""
    lines = []
    for source, target, km in cables:
        for start, end in ((source, target), (target, source)):
            lines.append(json.dumps({"src": start, "dst": end, "km": km, "_change_type": kind}))
    hidden = inbox / f".{number}.json"
    hidden.write_text("\n".join(lines) + "\n")
    hidden.rename(inbox / f"{number}.json")


@contextmanager
def on_spark(inbox: Path) -> Iterator[tuple[whence.Database, Callable[[], Any]]]:
    from pyspark.sql import SparkSession

    with console.status("starting Spark"), without_note_of_java():
        spark = (
            SparkSession.builder.master("local[2]")
            .appName("backbone")
            .config("spark.sql.shuffle.partitions", 2)
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={(HERE / LOGGING).as_uri()}")
            .getOrCreate()
        )
    db: Any = whence.connect(spark)
    db.execute((HERE / "backbone.sql").read_text(), name="backbone.sql", directory=HERE)
    events = spark.readStream.schema("src STRING, dst STRING, km INT, _change_type STRING").json(str(inbox))
    db.attach("link", events)
    running = db.start()
    try:
        yield db, running.processAllAvailable
    finally:
        running.stop()
        db.close()
        spark.stop()


@contextmanager
def without_note_of_java() -> Iterator[None]:
    """A JVM that starts in here passes on all it has to say, but for a note that Spark needs a module in the making."""
    reading, writing = os.pipe()
    stderr = os.dup(2)

    def pass_on() -> None:
        with os.fdopen(reading, errors="replace") as told, os.fdopen(os.dup(stderr), "w", buffering=1) as heard:
            heard.writelines(line for line in told if not line.startswith("WARNING: Using incubator modules"))

    threading.Thread(target=pass_on, daemon=True).start()
    os.dup2(writing, 2)
    os.close(writing)
    try:
        yield
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)


@contextmanager
def in_process(inbox: Path) -> Iterator[tuple[whence.Database, Callable[[], Any]]]:
    taken: set[Path] = set()
    with whence.connect() as db:
        db.execute((HERE / "backbone.sql").read_text(), name="backbone.sql", directory=HERE)

        def take() -> None:
            for path in sorted(set(inbox.glob("[!.]*.json")) - taken):
                taken.add(path)
                with db.batch() as batch:
                    for line in path.read_text().splitlines():
                        event = json.loads(line)
                        change = batch.insert if event.pop("_change_type") == "insert" else batch.delete
                        change("link", [event])

        yield db, take


if __name__ == "__main__":
    main()
