"""A process that commits without end, in children that are to be killed: one for each directory on standard input."""

from __future__ import annotations

import os
import sys

from tests.engines.spark.storage_model import commit, without_spark
from whence.storage.files.store import Storage

KEEP_VERSIONS = 40


def be_a_victim(directory: str) -> None:
    storage = Storage.open(None, directory, KEEP_VERSIONS)
    while True:
        os.write(1, f"{storage.current.version}\n".encode())
        commit(storage)


def serve() -> None:
    # What is imported late is imported before the first child.
    with without_spark():
        storage = Storage.open(None, None)
        for _ in range(20):
            commit(storage)
        storage.close()
    for line in sys.stdin:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            # Not before everybody knows whom to kill.
            os.read(reading, 1)
            with without_spark():
                be_a_victim(line.strip())
        os.write(1, f"{child}\n".encode())
        os.write(writing, b"!")
        os.waitpid(child, 0)
        os.write(1, b"dead\n")
        os.close(reading)
        os.close(writing)


if __name__ == "__main__":
    serve()
