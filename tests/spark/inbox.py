"""A stream for tests: files that come one after the other, each a micro-batch."""

from __future__ import annotations

import json
import os
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

BEGINNING = 1_700_000_000


class Inbox:
    """Records go by name; a text is a line as it is."""

    def __init__(self, spark: SparkSession, directory: Path, schema: str) -> None:
        directory.mkdir()
        self._spark = spark
        self._directory = directory
        self._schema = schema
        self._files = 0

    @property
    def stream(self) -> DataFrame:
        reader = self._spark.readStream.schema(self._schema).option("maxFilesPerTrigger", 1)
        return reader.json(str(self._directory))

    def put(self, *records: dict[str, object] | str) -> None:
        lines = [each if isinstance(each, str) else json.dumps(each, default=str) for each in records]
        hidden = self._directory / f".{self._files:05}.json"
        hidden.write_text("".join(f"{line}\n" for line in lines))
        # Spark takes files in the order of their times.
        os.utime(hidden, (BEGINNING + self._files, BEGINNING + self._files))
        hidden.rename(self._directory / f"{self._files:05}.json")
        self._files += 1
