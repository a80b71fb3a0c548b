"""How many of Spark's own golden SQL tests whence answers as Spark does.

    python -m scripts.spark_golden ~/spark                        # a checkout of Spark: its sql-tests are read
    python -m scripts.spark_golden ~/spark --files 'group-by*' --show wrong --show refused

Statements that set something up run in a live Spark, and the tables and views that a query reads are copied from there.
Each query that has rows is then a view of whence over those tables, and is

    right     equal to the golden file in types and rows, or to the live Spark, whose TIMESTAMPs have no zone here,
    undetermined  another answer to a question that has several, as LIMIT without ORDER BY has,
    refused   with a reason, by which they are counted,
    wrong     anything else that is accepted,
    crashing  what fails with an error that is not meant for users.

What Spark refuses is refused, too, or listed as answered where Spark refuses.

Sketches, collations, XML, geospatial functions, scripts, functions that Spark's test suite registers, and files that
switch off ANSI mode or choose an older Spark's behaviour are left out, by name; `--all` takes them in.
"""

from __future__ import annotations

import argparse
import fnmatch
import re
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.errors import PySparkException, UnsupportedOperationException
from pyspark.sql import SparkSession

import whence
from scripts.golden.files import Block, blocks, column_types, settings
from scripts.golden.mirror import Mirror, golden_session
from scripts.golden.text import lines, same_lines, same_tables, same_types
from whence.errors import InternalError

_RESOURCES = Path("sql/core/src/test/resources")
_LEFT_OUT = (
    *(
        "nonansi/*",
        "udf/*",
        "udaf/*",
        "udtf/*",
        "scripting/*",
        "*sketch*",
        "hll*",
        "kll*",
        "*collation*",
        "xml*",
        "st-*",
    ),
    *("*legacy*", "*old-behavior*", "view-*", "describe*", "show*", "explain*", "to_from_avro*", "transform*"),
)
# Settings under which Spark means something else by the same query.
_OTHER_MEANING = re.compile(
    r"ansi\.enabled\s*=\s*false|legacy\S*\s*=\s*true|caseSensitive\s*=\s*true"
    r"|timeZone|allowPrecisionLoss\s*=\s*false|NanosTypes\S*\s*=\s*true"
    r"|(?:groupByAliases|(?:group|order)ByOrdinal|GroupingSetToGlobalAggregate\S*)\s*=\s*false"
    r"|(?:concatBinaryAsString|eltOutputAsString|doubleQuotedIdentifiers|parseQueryWithoutEof|identifierClause|quotedRegexColumnNames)\s*=\s*true",
    re.IGNORECASE,
)
# What depends on the order in which Spark happens to read its rows: several answers are right.
_UNORDERED = re.compile(
    r"\b(?:collect_list|array_agg|mode|first|last|any_value|listagg|string_agg|max_by|min_by)\s*\("
    r"|\bover\b.*\b(?:rows|first_value|last_value|nth_value|lag|lead|row_number|ntile|first|last)\b"
    r"|\b(?:rows|first_value|last_value|nth_value|lag|lead|row_number|ntile)\b.*\bover\b",
    re.IGNORECASE | re.DOTALL,
)
_JUDGED = ("right", "refused", "wrong", "crashing")


@dataclass
class Tally:
    counts: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    shown: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def add(self, verdict: str, block: Block, why: str) -> None:
        self.counts[verdict] += 1
        if verdict == "refused":
            self.reasons[re.sub(r"'[^']*'|`[^`]*`|\b\d+\b", "…", why.splitlines()[0])] += 1
        self.shown[verdict].append(f"{block.text.strip()}\n    {why}")


def judge_file(path: Path, source: Path, session: SparkSession, data: Path, engine: str) -> Tally:
    tally = Tally()
    # By name, whether what is set now gives queries another meaning.
    other_meanings: dict[str, bool] = {}
    for name, value in settings(source):
        session.conf.set(name, value)
        other_meanings[name] = _OTHER_MEANING.search(f"{name}={value}") is not None
    with Mirror(session, data, engine) as mirror:
        for block in blocks(path):
            if not block.is_query:
                mirror.set_up(block.text)
                found = re.match(r"\s*(?:RE)?SET\s+([\w.]+)", block.text, re.IGNORECASE)
                if found is not None:
                    other_meanings[found[1]] = _OTHER_MEANING.search(block.text) is not None
            elif any(other_meanings.values()):
                tally.counts["under other settings"] += 1
            elif block.schema is not None or block.is_error:
                verdict, why = judge(block, mirror)
                tally.add(verdict, block, why)
            else:
                # WITH ... INSERT
                mirror.set_up(block.text)
    return tally


def judge(block: Block, mirror: Mirror) -> tuple[str, str]:
    """What whence makes of the query, and why that is so."""
    types = None if block.schema is None else column_types(block.schema)
    try:
        ours = mirror.answer(block.text, None if types is None else len(types))
    except InternalError as error:
        return "crashing", str(error)
    except whence.WhenceError as error:
        return ("refused as in Spark" if types is None else "refused"), str(error)
    except Exception as error:  # noqa: BLE001 - whatever else it is, a user would have seen it
        return "crashing", f"{type(error).__name__}: {error}"
    found = lines(ours)
    if types is not None and same_types(ours, types) and same_lines(found, block.output.splitlines()):
        return "right", ""
    told = f"ours {ours.schema.types} {found[:5]}, golden {types} {block.output.splitlines()[:5]}"
    try:
        live = mirror.live(block.text)
    except UnsupportedOperationException as error:
        # Arrow has no intervals of months.
        return "not comparable", f"{told}, live {str(error)[:200]}"
    except PySparkException as error:
        verdict = "answered where Spark refuses" if types is None else "wrong"
        return verdict, f"{told}, live {str(error)[:200]}"
    except Exception as error:  # noqa: BLE001 - what Arrow does not hold
        return "not comparable", f"{told}, live {str(error)[:200]}"
    if types is None:
        return "refused as in Spark", "this Spark answers it"
    if same_tables(ours, live):
        return "right", ""
    told = f"{told}, live {live.schema.types} {lines(live)[:5]}"
    return ("undetermined" if has_several_answers(block.text) else "wrong"), told


def has_several_answers(query: str) -> bool:
    """Whether the rows that come, or what is computed of them, depend on an order that nobody asked for."""
    cuts = re.findall(r"\b(?:LIMIT\s+\S+\s+OFFSET|LIMIT|OFFSET)\b", query, re.IGNORECASE)
    return _UNORDERED.search(query) is not None or len(cuts) > len(re.findall(r"\bORDER\s+BY\b", query, re.IGNORECASE))


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--files", action="append", help="only golden files of these names")
    parser.add_argument("--all", action="store_true", help="also what is left out")
    parser.add_argument("--show", action="append", default=[], help="a verdict whose queries are printed")
    parser.add_argument("--reasons", type=int, default=40, help="how many reasons of refusals are printed")
    parser.add_argument("--engine", default="local", choices=("local", "reference"))
    options = parser.parse_args(arguments)
    resources = options.checkout / _RESOURCES
    tests, data = resources / "sql-tests", resources / "test-data/postgresql"
    whole = Tally()
    with tempfile.TemporaryDirectory() as warehouse:
        spark = (
            SparkSession.builder.master("local[1]")
            .config("spark.ui.enabled", "false")
            .config("spark.sql.shuffle.partitions", "1")
            .config("spark.sql.warehouse.dir", warehouse)
            .getOrCreate()
        )
        spark.sparkContext.setLogLevel("OFF")
        for path in sorted((tests / "results").rglob("*.sql.out")):
            name = path.relative_to(tests / "results").as_posix().removesuffix(".sql.out")
            if not options.all and any(fnmatch.fnmatch(name, each) for each in _LEFT_OUT):
                continue
            if options.files and not any(fnmatch.fnmatch(name, each) for each in options.files):
                continue
            source = tests / "inputs" / f"{name}.sql"
            found = judge_file(path, source, golden_session(spark), data, options.engine)
            _print_file(name, found, options.show)
            whole.counts += found.counts
            whole.reasons += found.reasons
        spark.stop()
    judged = sum(whole.counts[verdict] for verdict in _JUDGED)
    sys.stdout.write("\nrefused, by reason:\n")
    for reason, count in whole.reasons.most_common(options.reasons):
        sys.stdout.write(f"{count:6} {reason}\n")
    sys.stdout.write(f"\n{dict(whole.counts)}\n")
    share = 100 * whole.counts["right"] / max(judged, 1)
    sys.stdout.write(f"{whole.counts['right']} of {judged} queries right: {share:.1f} %\n")
    return 1 if whole.counts["wrong"] or whole.counts["crashing"] else 0


def _print_file(name: str, found: Tally, verdicts: Sequence[str]) -> None:
    listed = ", ".join(f"{count} {verdict}" for verdict, count in sorted(found.counts.items()))
    sys.stdout.write(f"{name}: {listed}\n")
    for verdict in verdicts:
        for each in found.shown[verdict]:
            sys.stdout.write(f"  [{verdict}] {each}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
