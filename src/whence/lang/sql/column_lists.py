"""Column lists: `v(a, b)` gives a query's columns other names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from whence.errors import ArityError
from whence.lang.sql.lowering import Draft
from whence.model.span import Span


def renamed(draft: Draft, names: Sequence[str], span: Span | None) -> Draft:
    """The draft with its columns called as a column list says; an empty list changes nothing."""
    if not names:
        return draft
    if len(names) != len(draft.outputs):
        raise ArityError(f"{len(names)} column names are given for {len(draft.outputs)} columns", span=span)
    return replace(draft, outputs=[replace(o, name=n, given=True) for o, n in zip(draft.outputs, names, strict=True)])
