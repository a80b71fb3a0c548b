"""Puts pip into the virtual environment that runs this, from PyPI, where Python came without a copy of it."""

import hashlib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import urljoin
from urllib.request import urlopen

INDEX = os.environ.get("PIP_INDEX_URL", "https://pypi.org/simple").rstrip("/") + "/pip/"
WHEEL = re.compile(r'href="([^"]*/(pip-([\d.]+)-py3-none-any\.whl))#sha256=([0-9a-f]{64})"')


def fetch(url: str) -> bytes:
    with urlopen(url, timeout=60) as answer:  # noqa: S310 - an index that the user trusts pip to install from
        content: bytes = answer.read()
    return content


def main() -> None:
    wheels = WHEEL.findall(fetch(INDEX).decode())
    link, name, _, digest = max(wheels, key=lambda wheel: [int(part) for part in wheel[2].split(".")])
    content = fetch(urljoin(INDEX, link))
    if hashlib.sha256(content).hexdigest() != digest:
        sys.exit(f"{link} is not the file that {INDEX} describes")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(content)
        # A wheel is a zip file, and Python runs pip from inside it.
        subprocess.run([sys.executable, f"{path}/pip", "install", "--quiet", "--no-index", path], check=True)  # noqa: S603


main()
