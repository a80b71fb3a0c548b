"""Runs the benchmarks, each in a process of its own, so that none finds the memory and the caches of another."""

from __future__ import annotations

import argparse
import subprocess
import sys

from benchmarks.harness import ROOT

BENCHMARKS = (
    "backbone",
    "reachability_big",
    "against_dred",
    "shortest_paths",
    "magic_sets",
    "regions",
    "recursion",
    "questions",
    "questions_growth",
    "tpch_views",
    "columns",
    "tpch_all",
    "nexmark",
    "nexmark_views",
    "against_pathway",
    "growth",
    "kernels",
    "durability",
    "definitions",
    "adapting",
    "statements",
    "windows",
    "documents",
    "replica",
    "replica_partitions",
    "replica_spark",
    "spark_reachability",
    "spark_lookups",
    "spark_questions",
    "spark_tpch",
    "spark_batches",
    "spark_reads",
    "spark_memory",
    "spark_adapting",
    "documents_spark",
    "stream_killing",
)
# Only when asked for: it takes as long as it is told to.
LONG = ("soak",)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    known = f"{', '.join(BENCHMARKS)}; none means all of these. {', '.join(LONG)} takes half an hour"
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {known}")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that they work")
    given = parser.parse_args()
    unknown = sorted(set(given.names) - {*BENCHMARKS, *LONG})
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]!r}")
    failed = []
    for name in given.names or BENCHMARKS:
        command = [sys.executable, "-m", f"benchmarks.{name}", *(["--quick"] if given.quick else [])]
        if subprocess.run(command, cwd=ROOT, check=False).returncode:  # noqa: S603 - a module of this package
            failed.append(name)
    if failed:
        print(f"\nThese did not finish: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
