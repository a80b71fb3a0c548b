"""Writes docs/performance.md from benchmarks/results: `python -m benchmarks.page`. No figure in it is typed by hand."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.__main__ import BENCHMARKS, LONG
from benchmarks.harness import RESULTS, ROOT, duration, times_as

PAGE = ROOT / "docs" / "performance.md"

START = """# How fast it is

Every table compares whence with a named opponent in the same run, on one machine of two processors; ratios travel
further than times. `make bench` measures all of it again, and `make bench-long` what takes half an hour;
`python -m benchmarks.page` writes this page, and `python -m benchmarks.pictures` draws the pictures. DuckDB is the
honest opponent of an engine in the same process: "just recompute it" is what one would do without whence, and DuckDB is
fast at it.

![How many times faster than the opponent](images/speedups.svg)

![How long a change takes](images/latencies.svg)
"""

PICTURES = {
    "growth": """
![A delete against the size of the view](images/growth-with-size.svg)

![A delete against what it affects](images/growth-with-effect.svg)
""",
    "definitions": """
![One view more, with many there already](images/definitions.svg)
""",
    "soak": """
![Memory, files, commits and rows over half an hour](images/soak.svg)
""",
}


def main() -> None:
    results = {name: RESULTS / f"{name}.json" for name in (*BENCHMARKS, *LONG)}
    parts = [START]
    for name, path in results.items():
        if path.exists():
            parts.extend(section(json.loads(path.read_text())))
            if name in PICTURES:
                parts.append(PICTURES[name])
    PAGE.write_text("\n".join(parts))
    print(f"{PAGE.relative_to(ROOT)} is written")


def section(result: Mapping[str, Any]) -> Iterator[str]:
    yield f"## {result['title']}\n\n{result['about']}\n"
    if result["comparisons"]:
        yield "| | whence, median | 95 % | opponent | median | 95 % | whence is |\n|---|---:|---:|---|---:|---:|---:|"
        for each in result["comparisons"]:
            ours, theirs = each["ours"], each["theirs"]
            cells = (
                each["what"],
                duration(ours["median"]),
                duration(ours["p95"]),
                each["opponent"],
                duration(theirs["median"]),
                duration(theirs["p95"]),
                times_as(each["ratio"]),
            )
            yield f"| {' | '.join(cells)} |"
        yield ""
    for figure in result["figures"]:
        yield f"- {figure['what']}: {figure['value']:,.6g} {figure['unit']}"
    if result["figures"]:
        yield ""


if __name__ == "__main__":
    main()
