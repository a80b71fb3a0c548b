"""The public face of the laboratory."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from whence.database import Database
from whence.engines.reference.fixpoint import DEFAULT_LIMITS
from whence.model.types import Row, Type, Value
from whence.network.engine import NetworkEngine
from whence.network.links import Links
from whence.network.options import Options
from whence.network.plan.selections import Best
from whence.network.sizes import provenance_size, state_size
from whence.network.traffic import Traffic
from whence.session.clock import NOW
from whence.session.session import Session

_SQL = re.compile(r"(\s|--[^\n]*\n|/\*.*?\*/)*(create|insert|delete|update|drop)\s", re.IGNORECASE | re.DOTALL)


class Network:
    """A program over logical nodes, each of which holds a part of every relation.

    `program` is SQL or Datalog. `nodes` is how many nodes there are, among which rows are spread by the hash of their
    partition column; with None each of its values is a node. The partition column is the declared one, or the first;
    `partition` names another one for some relations.

    `provenance` is what rows of recursive views know of their derivations: "none" (deletes over-delete and derive
    again), "relative" (all derivations), "absorption" (which tuples they cannot do without; in the `form` of
    "diagrams", whose leaves are in `order` of "arrival" or "depth-first", or of "supports"). `ship` is how derivations
    are shipped: "direct" (all of them), "eager" (the first at once and further ones merged, `window` rows at a time),
    "lazy" (further ones only if the first is gone).

    `best` selects, for a relation of a recursive view, the rows that matter, such as the shortest of all paths: see
    Best. Recursive views with one min or max in a head are selected from by themselves.

    Every change returns its Traffic. `links` can delay messages.
    """

    def __init__(
        self,
        program: str,
        nodes: int | None = None,
        *,
        provenance: str = "absorption",
        ship: str = "lazy",
        form: str = "diagrams",
        order: str = "arrival",
        window: int = 100,
        partition: Mapping[str, str] | None = None,
        best: Mapping[str, Best] | None = None,
        functions: Mapping[str, tuple[Callable[..., object], str | Type]] | None = None,
        links: Links | None = None,
    ) -> None:
        options = Options(nodes, provenance, ship, form, order, window, partition or {}, best or {})
        self._engine = NetworkEngine(options, links, DEFAULT_LIMITS)
        session = Session(self._engine)
        self._database = Database(session)
        for name, (function, returns) in (functions or {}).items():
            self._database.function(name, function, returns=returns)
        if _SQL.match(program):
            self._database.execute(program, name="<program>")
        else:
            self._database.rules(program, name="<program>")
        for name in (*options.partition, *options.best):
            session.definitions.relation(name)

    def insert(self, relation: str, rows: object) -> Traffic:
        self._database.insert(relation, rows)
        return self._engine.traffic

    def delete(self, relation: str, rows: object) -> Traffic:
        self._database.delete(relation, rows)
        return self._engine.traffic

    def advance(self, moment: object = NOW) -> Traffic:
        """Time moves, and rows whose time to live has passed leave."""
        self._database.advance(moment)
        return self._engine.traffic

    def rows(self, relation: str) -> set[Row]:
        return self._database.rows(relation)

    def state_bytes(self) -> dict[Value, int]:
        """Per node, all that it holds, as long as it would be in a message: rows, annotations, what is yet to ship."""
        return {name: state_size(self._engine.world, number) for number, name in self._engine.nodes()}

    def provenance_bytes(self) -> float:
        """Of a row in a recursive view, how long its annotation is at home, on average. What the annotations of a node
        share counts once.
        """
        return provenance_size(self._engine.world)
