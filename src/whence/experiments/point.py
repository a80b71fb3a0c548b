"""One run of one point of an experiment, for a process of its own: `python -m whence.experiments.point TASK`."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

from whence.experiments.catalog import FIGURES
from whence.experiments.figure import Scale


def main(task: str) -> None:
    """The task and the measure that is written are JSON."""
    given = json.loads(task)
    figure = FIGURES[given["figure"]]
    measure = figure.run(Scale(**given["scale"]), figure.lines[given["line"]], given["x"], given["seed"])
    sys.stdout.write(json.dumps(asdict(measure)))


if __name__ == "__main__":
    main(sys.argv[1])
