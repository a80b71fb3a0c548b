"""Lazy absorption over a proof forest of integers, in a few compiled kernels that know nothing of any one program."""

from pathlib import Path

from whence.columns.kernel_cache import forget_stale_kernels

forget_stale_kernels(Path(__file__).parent)
