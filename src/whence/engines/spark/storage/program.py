"""The definitions of a database as a manifest holds them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from whence.durable.definitions import (
    StoredDefinition,
    called_functions,
    parts,
    restore_definitions,
    store_definition,
    touched,
)
from whence.session.definitions import Definitions


@dataclass(frozen=True, slots=True)
class StoredProgram:
    """Tables and views, and the types of the functions that these call."""

    definitions: tuple[StoredDefinition, ...] = ()
    functions: Mapping[str, str] = field(default_factory=dict)

    def following(self, before: Definitions, after: Definitions) -> StoredProgram:
        """This program, which is that of `before`, as it is after a change. Only what changed is written again."""
        names = touched(before, after)
        if not names:
            return self
        new = parts(before, after, names)
        stored = {each.name: each for each in self.definitions if each.name in new or each.name not in names}
        for name, definition in new.items():
            stored[name] = store_definition(name, definition, is_view=name in after.views)
        return StoredProgram(tuple(stored.values()), called_functions(after.rules, after))

    def restore(self) -> Definitions:
        """The functions that views call are known by their signatures only."""
        return restore_definitions(self.definitions, self.functions)
