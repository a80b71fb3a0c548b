"""Naive evaluation, slow and plain: the oracle that every other engine is tested against."""
