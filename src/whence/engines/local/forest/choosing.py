"""Which kind of forest a component gets."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from whence.analysis.components import Component
from whence.engines.engine import Functions
from whence.engines.local.forest.compiling import compile_component
from whence.engines.local.forest.costly import CostForest
from whence.engines.local.forest.interning import Interner
from whence.engines.local.forest.maintainer import ForestMaintainer
from whence.engines.local.forest.plain import OverDeletingForest, PlainForest
from whence.engines.local.forest.values import NotCompiledError
from whence.engines.local.maintainer import Maintainer
from whence.engines.local.store import Store
from whence.engines.reference.fixpoint import Limits
from whence.model.schema import Relation


def forest_for(
    component: Component,
    relations: Mapping[str, Relation],
    functions: Functions,
    stores: Mapping[str, Store],
    limits: Limits,
    general: Callable[..., Maintainer],
) -> ForestMaintainer:
    """Raises NotCompiledError, with the reason, where the kernels do not know the rules.

    `general` makes a maintainer from the other parts that takes over where the kernels cannot go on.
    """
    interner = Interner()
    compiled = compile_component(component, relations, functions, interner)
    if compiled.values and any(name not in compiled.values for name in component.relations):
        # A cost that rests on a row without one could come to rest on itself: costs no longer say what came first.
        raise NotCompiledError("rows with a min or max and rows without one follow from each other")
    kind = CostForest if compiled.values else PlainForest

    def successor() -> Maintainer:
        return general(component, relations, functions, stores, limits)

    return kind(component, relations, stores, compiled, interner, successor, limits)


def over_deleting_forest_for(
    component: Component,
    relations: Mapping[str, Relation],
    functions: Functions,
    stores: Mapping[str, Store],
    limits: Limits,
    general: Callable[..., Maintainer],
) -> ForestMaintainer:
    """The same for delete and re-derive, which keeps no provenance to speak of, and knows no costs here."""
    interner = Interner()
    compiled = compile_component(component, relations, functions, interner, keep_spares=False)
    if compiled.values:
        raise NotCompiledError("min or max")

    def successor() -> Maintainer:
        return general(component, relations, functions, stores, limits)

    return OverDeletingForest(component, relations, stores, compiled, interner, successor, limits)
