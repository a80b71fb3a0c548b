"""Answers as JSON that every browser reads, whatever the values are."""

from __future__ import annotations

import json

from fastapi.responses import JSONResponse


class Answer(JSONResponse):
    """In ASCII, so that a string with half a character in it cannot break the answer."""

    def render(self, content: object) -> bytes:
        return json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode()
