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
from whence.experiments.figure import ABSORPTION_LAZY, Scale
from whence.experiments.reachability import network_of

# What needs more bytes than this comes to no end either, and this is how the process says so.
MOST_MEMORY = 12 << 30
OUT_OF_MEMORY = 3


def main(task: str) -> None:
    """The task is JSON, and so is every line that is written: an x and its measure."""
    given = json.loads(task)
    figure = FIGURES[given["figure"]]
    warm_up()
    limit_processor_time(given["seconds"])
    limit_memory()
    # As timeit does: else whoever has more state pays for looking through it.
    gc.disable()
    curve = figure.run(Scale(**given["scale"]), figure.lines[given["line"]], given["seed"])
    try:
        for x, measure in islice(curve, given["points"]):
            sys.stdout.write(json.dumps([x, asdict(measure)]) + "\n")
            sys.stdout.flush()
    except MemoryError:
        # In the table it is not told from one that ran out of time.
        sys.stderr.write(f"{figure.name}: stopped at {MOST_MEMORY >> 30} GB of memory, and not by time\n")
        sys.exit(OUT_OF_MEMORY)


def warm_up() -> None:
    """Compile kernels, or fetch them from disk: whoever is measured first would pay for it."""
    network = network_of(ABSORPTION_LAZY, 2)
    network.insert("link", [(1, 2), (2, 1), (2, 3)])
    network.delete("link", [(1, 2)])


def limit_processor_time(seconds: float) -> None:
    """The process ends when it has worked for so long from now on."""
    limit = math.ceil(time.process_time() + seconds)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))


def limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))


if __name__ == "__main__":
    main(sys.argv[1])
