"""Data on disk that this process maps into its memory. No file has a name once it is mapped, so none is ever left."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

N = TypeVar("N", bound=np.generic)


def map_file(directory: Path, write: Callable[[pa.NativeFile], None]) -> pa.Buffer:
    """What `write` writes, mapped. The system keeps of it in memory what it has room for."""
    with tempfile.NamedTemporaryFile(prefix=".lookup-", dir=directory) as named:
        with pa.OSFile(named.name, "wb") as opened:
            write(opened)
        mapped = pa.memory_map(named.name)
        return mapped.read_buffer()


def map_array(directory: Path, array: npt.NDArray[N]) -> npt.NDArray[N]:
    """The same array, on disk."""
    if not len(array):
        return array
    return np.frombuffer(map_file(directory, lambda file: file.write(array)), array.dtype)
