"""A terminal session as a picture: the commands run on a terminal of their own, and what they print is drawn.

python scripts/record_session.py            writes docs/images/terminal.svg
"""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "examples" / "backbone"
PICTURE = ROOT / "docs" / "images" / "terminal.svg"
WIDTH = 110

PROGRAM = "backbone.dl"
COMMANDS = (
    ("why", PROGRAM, "distance", "Reykjavik", "_"),
    ("why-not", PROGRAM, "cut_off", "Reykjavik", "_"),
    (
        *("what-if", PROGRAM, "--delete", "link", "London", "Reykjavik", "1888"),
        *("--delete", "link", "Copenhagen", "Reykjavik", "2105"),
    ),
    (
        *("why", PROGRAM, "reachable", "London", "Reykjavik", "--version", "3"),
        *("--changes", "failures.sql"),
    ),
)

THEME = TerminalTheme(
    (30, 32, 40),
    (220, 222, 228),
    [(30, 32, 40), (232, 110, 110), (140, 200, 120), (230, 195, 110), (110, 160, 230), (200, 140, 220), (100, 200, 210),
     (220, 222, 228)],
    [(120, 124, 136), (240, 130, 130), (160, 220, 140), (245, 215, 130), (130, 180, 245), (220, 160, 240),
     (120, 220, 230), (245, 246, 250)],
)  # fmt: skip


def run(arguments: tuple[str, ...]) -> str:
    """What a command prints on a terminal, colours included."""
    master, slave = pty.openpty()
    environment = {
        **os.environ,
        "TERM": "xterm-256color",
        "COLUMNS": str(WIDTH),
        "PYTHONPATH": str(ROOT / "src"),
    }
    command = [sys.executable, "-m", "whence", *arguments]
    with subprocess.Popen(  # noqa: S603 - the project's own command
        command, stdin=subprocess.DEVNULL, stdout=slave, stderr=subprocess.DEVNULL, env=environment, cwd=EXAMPLE
    ):
        os.close(slave)
        parts = []
        while part := _read(master):
            parts.append(part)
    os.close(master)
    return b"".join(parts).decode().replace("\r\n", "\n")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:
        # The other end is closed.
        return b""


def record(path: Path) -> None:
    with Path(os.devnull).open("w") as nowhere:
        console = Console(record=True, width=WIDTH, file=nowhere, force_terminal=True, color_system="truecolor")
        for number, arguments in enumerate(COMMANDS):
            if number:
                console.print()
            console.print(Text.assemble(("$ ", "bold green"), ("whence " + " ".join(arguments), "bold")))
            for line in run(arguments).rstrip("\n").split("\n"):
                console.print(Text.from_ansi(line), soft_wrap=True)
    drawn = console.export_svg(title="whence", theme=THEME, unique_id="terminal")
    # The picture is complete in itself: a font of the reader's takes the place of one from the net.
    path.write_text(re.sub(r"\s*(@font-face \{.*?\}|<!--.*?-->)", "", drawn, flags=re.DOTALL))


if __name__ == "__main__":
    record(PICTURE)
