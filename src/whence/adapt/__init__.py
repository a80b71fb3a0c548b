"""Definitions that change without a rebuild: old contents are used for the new ones, and one can look before."""
