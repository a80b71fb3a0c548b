"""Work that is begun anew when an executor has died, and rows with it that were nowhere else.

What a recursion has found lies on the executors while it goes on. What it started from is on storage.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

logger = logging.getLogger("whence")

T = TypeVar("T")

# As often as Spark tries a task.
TRIES = 4
_LOST = "CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND"


def begun_anew_when_lost(work: Callable[[], T], what: str) -> T:
    """What the work comes to, which may be done several times over."""
    for _ in range(TRIES - 1):
        try:
            return work()
        except (Py4JJavaError, PySparkException) as error:
            if _LOST not in str(error):
                raise
            logger.warning("an executor died while %s was derived, which is begun anew", what)
    return work()
