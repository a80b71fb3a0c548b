"""Where compiled kernels are kept, of which sources they are, and whether all of them are there.

numba keeps the kernels of a folder of sources together, in a cache folder. All of this is known without numba, which
takes longer to load than many programs run.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import sys
from functools import cache
from pathlib import Path

# What compiled code depends on beside the sources and the processor.
_COMPILER = ("numba", "llvmlite", "numpy")
# Lines about a processor that say what code it can run; others tell how fast it is at the moment.
_ABILITIES = {"vendor_id", "cpu family", "model", "model name", "flags"}
_ABILITIES |= {"CPU implementer", "CPU architecture", "CPU variant", "CPU part", "Features"}
# How kernels are compiled is part of what they are, in whatever folder.
_DECORATORS = Path(__file__).with_name("compiled.py")


def cache_folder(sources: Path) -> Path | None:
    """Where numba keeps the kernels of a folder: the first place that can be written to; None if there is none."""
    # As numba names it, which resolves no links.
    path = os.path.abspath(sources)  # noqa: PTH100
    name = f"{sources.name}_{hashlib.sha1(path.encode(), usedforsecurity=False).hexdigest()}"
    given = os.environ.get("NUMBA_CACHE_DIR")
    of_user = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "numba"
    places = [*([Path(given) / name] if given else []), sources / "__pycache__", of_user / name]
    return next(filter(_is_writable, places), None)


def _is_writable(folder: Path) -> bool:
    existing = next(each for each in (folder, *folder.absolute().parents) if each.exists())
    return existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)


def forget_stale_kernels(sources: Path) -> None:
    """Delete kernels that were compiled from other sources than those in the folder, or by another numba.

    numba looks only at the file that a kernel stands in, and not at the files of the functions that it takes in. And it
    lists a kernel before it writes it: were it killed in between, an old one of the same name would be taken for it.
    """
    folder = cache_folder(sources)
    if folder is None:
        return
    stamp, now = folder / "kernels.stamp", _sources_and_compiler(sources)
    # Where nothing can be written, contrary to what it looked like, nothing was.
    with contextlib.suppress(OSError):
        if stamp.exists() and stamp.read_text() == now:
            return
        for old in (*folder.glob("*.nbi"), *folder.glob("*.nbc"), *folder.glob("kernels.*.json")):
            old.unlink(missing_ok=True)
        folder.mkdir(parents=True, exist_ok=True)
        stamp.write_text(now)


def are_compiled(sources: Path) -> bool:
    """Whether all kernels of a folder are there, for these sources, this Python and this machine."""
    folder = cache_folder(sources)
    if folder is None:
        return False
    kernels = fingerprint(sources)
    try:
        found = json.loads(_list_of(folder, kernels).read_text())
        return found["kernels"] == kernels and all((folder / name).exists() for name in found["files"])
    except (OSError, ValueError, KeyError, TypeError):
        # There is none, or it is not what was written: then nobody knows what is there.
        return False


def note_compiled(sources: Path) -> None:
    """All kernels of a folder are there from now on."""
    folder = cache_folder(sources)
    if folder is not None:
        kernels = fingerprint(sources)
        files = sorted(path.name for pattern in ("*.nbi", "*.nbc") for path in folder.glob(pattern))
        path = _list_of(folder, kernels)
        # Others may be reading it.
        draft = path.with_suffix(f".{os.getpid()}.draft")
        draft.write_text(json.dumps({"kernels": kernels, "files": files}, indent=1) + "\n")
        draft.replace(path)


def _list_of(folder: Path, kernels: str) -> Path:
    """Each Python and each machine has a list of its own, so that they can share a folder."""
    return folder / f"kernels.{kernels[:16]}.json"


@cache
def fingerprint(sources: Path) -> str:
    settings = {name: os.environ[name] for name in sorted(os.environ) if name.startswith(("NUMBA_CPU", "NUMBA_ENABLE"))}
    parts = [_sources_and_compiler(sources), sys.version, platform.machine(), _processor(), repr(settings)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _sources_and_compiler(sources: Path) -> str:
    # This takes longer to load than a small database to open.
    from importlib.metadata import PackageNotFoundError, version

    found = hashlib.sha256()
    for path in (*sorted(sources.glob("*.py")), _DECORATORS):
        found.update(path.read_bytes())
    for name in _COMPILER:
        with contextlib.suppress(PackageNotFoundError):
            found.update(f"{name} {version(name)}\n".encode())
    return found.hexdigest()


def _processor() -> str:
    """What the first processor can do, in the words of the operating system."""
    found = []
    with contextlib.suppress(OSError), Path("/proc/cpuinfo").open() as lines:
        for line in lines:
            if not line.strip():
                break
            if line.partition(":")[0].strip() in _ABILITIES:
                found.append(line)
    return "".join(found) or platform.processor()
