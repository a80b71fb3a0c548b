"""One run of one line of an experiment, for a process of its own: `python -m whence.experiments.curve TASK`."""

from __future__ import annotations

import gc
import json
import math
import resource
import sys
import time
from dataclasses import asdict
from itertools import islice

from whence.experiments.catalog import FIGURES
from whence.experiments.figure import Scale


def main(task: str) -> None:
    """The task is JSON, and so is every line that is written: an x and its measure."""
    given = json.loads(task)
    figure = FIGURES[given["figure"]]
    limit_processor_time(given["seconds"])
    # As timeit does: else whoever has more state pays for looking through it.
    gc.disable()
    curve = figure.run(Scale(**given["scale"]), figure.lines[given["line"]], given["seed"])
    for x, measure in islice(curve, given["points"]):
        sys.stdout.write(json.dumps([x, asdict(measure)]) + "\n")
        sys.stdout.flush()


def limit_processor_time(seconds: float) -> None:
    """The process ends when it has worked for so long from now on."""
    limit = math.ceil(time.process_time() + seconds)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))


if __name__ == "__main__":
    main(sys.argv[1])
