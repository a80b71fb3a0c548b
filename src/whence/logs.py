"""Logs that programs read: one JSON object in a line.

    handler = logging.StreamHandler()
    handler.setFormatter(whence.logs.JsonLines())
    logging.getLogger("whence").addHandler(handler)
    logging.getLogger("whence").setLevel(logging.INFO)

Everything is logged under the name `whence`: at INFO each commit, with its version and metrics as fields of their own;
at WARNING what is worth knowing about definitions, and what went wrong and was mended.
"""

from __future__ import annotations

import datetime
import json
import logging

# What a record carries of ours, under a name that no other library has.
FIELDS = "whence_fields"


class JsonLines(logging.Formatter):
    """A record as an object: `time`, `level`, `logger`, `message`, the fields of what is told, and `error` if any."""

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.datetime.fromtimestamp(record.created, datetime.UTC)
        found: dict[str, object] = {
            "time": moment.isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, FIELDS, {}),
        }
        if record.exc_info:
            found["error"] = self.formatException(record.exc_info)
        return json.dumps(found, ensure_ascii=False, default=str)
