"""Compiled kernels are kept beside the source, and must not outlive it."""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path


def forget_stale_kernels(folder: Path) -> None:
    """Delete kernels that were compiled from other sources than those in the folder.

    numba looks only at the file that a kernel stands in, and not at the files of the functions that it takes in.
    """
    sources = hashlib.sha256()
    for path in sorted(folder.glob("*.py")):
        sources.update(path.read_bytes())
    cache = folder / "__pycache__"
    stamp = cache / "kernels.stamp"
    # Where nothing can be written there is nothing to delete: numba keeps its cache elsewhere then.
    with contextlib.suppress(OSError):
        if stamp.exists() and stamp.read_text() == sources.hexdigest():
            return
        for compiled in (*cache.glob("*.nbi"), *cache.glob("*.nbc")):
            compiled.unlink(missing_ok=True)
        cache.mkdir(exist_ok=True)
        stamp.write_text(sources.hexdigest())
