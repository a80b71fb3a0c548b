"""The example of orders runs, and closing subscriptions saves requests without losing answers."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "examples" / "orders" / "run.py"


def run(page: Path, *options: str) -> tuple[int, str]:
    command = [sys.executable, str(SCRIPT), "--orders", "6", "--page", str(page), *options]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    requests = re.search(r"(\d+) requests", told)
    assert requests is not None
    served = re.findall(r"(\d+) served", told)[-1]
    return int(requests[1]), served


def test_orders(tmp_path: Path) -> None:
    page = tmp_path / "orders.html"
    fewer, served = run(page)
    more, same = run(tmp_path / "all.html", "--keep-all")
    assert fewer < more
    assert served == same
    assert "closed, because they are useless" in page.read_text()
