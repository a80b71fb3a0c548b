"""Names of relations that magic sets made: `view$reach$bf` has the rows of `reach` whose first column is asked for,
`view$reach$bf$magic` has what is asked for. What users are told of them.
"""

from __future__ import annotations

import re

from whence.model.schema import Relation

# What a version is asked for; and what is asked for whatever the rows are, since a recursion does not start with facts.
MAGIC, SEED = "magic", "seed"
_NAMED = re.compile(r"(.+\$.+)\$([bf]*b[bf]*)(?:\$(magic|seed))?")


def is_magic(relation: str) -> bool:
    """Whether a relation has the values that another one is asked for."""
    named = _NAMED.fullmatch(relation)
    return named is not None and named[3] is not None


def is_version(relation: str) -> bool:
    """Whether a relation has some rows of another one, those that are asked for."""
    named = _NAMED.fullmatch(relation)
    return named is not None and named[3] is None


def whole_relation(relation: str) -> str:
    """The relation that this one is a version of, or itself."""
    named = _NAMED.fullmatch(relation)
    return relation if named is None else named[1]


def magic_notice(old: str, new: str) -> str:
    return f"{old!r} is only asked for some rows, so it has no others, and is called {new!r}"


def magic_text(relation: Relation) -> str | None:
    """For those who ask how a relation is kept."""
    named = _NAMED.fullmatch(relation.name)
    if named is None or (named[3] is None and len(named[2]) != relation.arity):
        return None
    if named[3] is not None:
        return f"magic sets: what {named[1]}${named[2]} is asked for"
    bound = [name for name, letter in zip(relation.column_names, named[2], strict=True) if letter == "b"]
    return f"magic sets: it is only read by {', '.join(bound)}, so it has the rows that are asked for"
