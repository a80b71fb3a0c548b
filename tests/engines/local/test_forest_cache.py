"""Compiled kernels go when any source beside them changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from whence.columns.kernel_cache import forget_stale_kernels


def test_kernels_go_when_a_source_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    (tmp_path / "a.py").write_text("one = 1")
    forget_stale_kernels(tmp_path)
    kernel = tmp_path / "__pycache__" / "a.f-1.py311.nbi"
    kernel.write_bytes(b"compiled")
    forget_stale_kernels(tmp_path)
    assert kernel.exists()
    (tmp_path / "b.py").write_text("two = 2")
    forget_stale_kernels(tmp_path)
    assert not kernel.exists()


def test_a_folder_that_is_not_there_is_no_error(tmp_path: Path) -> None:
    forget_stale_kernels(tmp_path / "missing")
