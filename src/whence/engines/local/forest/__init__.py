"""Lazy absorption over a proof forest of integers, in a few compiled kernels that know nothing of any one program."""
