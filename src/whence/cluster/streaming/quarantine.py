"""Records that could not be taken, in files: one for each micro-batch that had any."""

from __future__ import annotations

from collections.abc import Sequence

from whence.cluster.json_lines import json_lines
from whence.cluster.streaming.records import Bad
from whence.engines.spark.storage.files import Files
from whence.errors import StateError
from whence.model.schema import Relation
from whence.session.clock import wall_clock


class Quarantine:
    """A directory. A batch that is replayed replaces its file: what counts is what was judged last."""

    def __init__(self, files: Files, relation: Relation) -> None:
        self._files = files
        self._relation = relation

    def put(self, stream: str, batch: int, records: Sequence[Bad]) -> None:
        name = f"{stream}-{batch:09}.json"
        try:
            self._files.delete(name)
            if records:
                self._files.make_directory("")
                self._files.create(name, json_lines(map(self._line, [batch] * len(records), records)))
        except OSError as error:
            raise StateError(
                f"the bad rows of batch {batch} cannot be written to {self._files.root}: {error.strerror or error}",
                hint="nothing of that batch has happened",
            ) from error

    def _line(self, batch: int, record: Bad) -> dict[str, object]:
        names = self._relation.column_names
        return {
            "relation": self._relation.name,
            "batch": batch,
            "time": wall_clock(),
            "reason": record.error.message,
            "hint": record.error.hint,
            "change": record.change,
            "row": dict(zip(names, record.values, strict=True)) if record.text is None else None,
            "record": record.text,
        }
