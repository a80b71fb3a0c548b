"""Which kind of forest a component gets."""

from __future__ import annotations

from collections.abc import Mapping

from whence.analysis.components import Component
from whence.engines.local.forest.compiling import compile_component
from whence.engines.local.forest.costly import CostForest
from whence.engines.local.forest.interning import Interner
from whence.engines.local.forest.maintainer import ForestMaintainer
from whence.engines.local.forest.plain import PlainForest
from whence.engines.local.store import Store
from whence.engines.reference.fixpoint import Limits
from whence.model.schema import Relation


def forest_for(
    component: Component, relations: Mapping[str, Relation], stores: Mapping[str, Store], limits: Limits
) -> ForestMaintainer:
    """Raises NotCompiledError, with the reason, where the kernels do not know the rules."""
    interner = Interner()
    compiled = compile_component(component, relations, interner)
    if compiled.values:
        return CostForest(component, relations, stores, compiled, interner, limits)
    return PlainForest(component, relations, stores, compiled, interner)
