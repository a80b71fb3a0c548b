"""Ways to go on, in the words of the page: the names of its boxes."""

from __future__ import annotations

from whence.errors import Way

_BOXES = {
    "why": "“Why?”",
    "why_not": "“Why not?”",
    "what_if": "“What if?”",
    "query": "“SQL”",
    "execute": "`whence shell`",
}


def on_page(way: Way) -> str | None:
    if way.name == "option":
        return None
    if way.name == "since":
        return f"since version {way.about[0]}"
    return _BOXES.get(way.name, f"{way.python} in a Python program")
