"""What other sites may follow here: what can be shared, and each relation with the spaces that its rows rest on."""

from __future__ import annotations

import re
from collections.abc import Mapping

from whence.errors import StateError, UnknownNameError, UnsupportedError
from whence.model.schema import Relation
from whence.replica.augmented import Augmented
from whence.replica.conversation import Follow
from whence.replica.messages import Offered
from whence.replica.proof_views import Tracked, tracked, with_proofs
from whence.replica.rows import RowText, schema_of, space_of
from whence.session.definitions import Definitions
from whence.session.session import Session

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")


def check_name(name: object) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise UnsupportedError(
            f"{name!r} is no name of a site", hint="a letter, and then letters, digits, dots, dashes or underscores"
        )
    return name


def check_shareable(relation: Relation) -> None:
    """A replica tells rows by what is in them, so that it cannot have a row twice."""
    if not relation.distinct and not relation.key:
        raise UnsupportedError(
            f"{relation.name!r} can have several copies of a row, and replicas cannot",
            hint="give it a PRIMARY KEY, or declare it in Datalog",
        )
    if relation.window is not None or (relation.ttl is not None and relation.ttl.column is None):
        raise UnsupportedError(
            f"rows of {relation.name!r} leave by themselves, at each site at another time",
            hint="a time to live that counts from a column is the same everywhere: 'ttl_column'",
        )


class Offers:
    """`told` are the views whose derivations are told, since somebody asked for them."""

    def __init__(self, augmented: Augmented, follows: Mapping[str, Follow], session: Session) -> None:
        self._augmented = augmented
        self._follows = follows
        self._session = session
        self.told: dict[str, Tracked] = {}

    def offer(self, name: str) -> Offered:
        """Let others follow a relation, from now on."""
        definitions = self._session.definitions
        relation = definitions.find(name)
        if relation is None:
            raise UnknownNameError(f"{self._augmented.site!r} has no relation {name!r} that could be followed")
        if relation.name in definitions.views or relation.name in self._follows:
            spaces = self._spaces(self.tell(relation.name))
            return Offered(space_of(self._augmented.site, relation.name), schema_of(relation.columns), sorted(spaces))
        # A table is told by its rows.
        if relation.name not in self._augmented.shared:
            self.own(relation.name)
        space = self.space_of(relation.name).space
        return Offered(space, schema_of(relation.columns), [space])

    def tell(self, view: str, *, again: bool = False) -> Tracked:
        """Let the derivations of a view be known, and be kept up with."""
        found = self.told.get(view)
        if found is None:
            found = self.told[view] = self._track(view)
            if found.proofs:
                self._session.define_hidden(with_proofs(self._session.definitions, found.proofs))
            self._tell_proofs(found, again=again)
        return found

    def tell_readers(self, table: str) -> None:
        """The rows of a table have other ids now, and so have the derivations that need them."""
        for found in self.told.values():
            if table in found.relations:
                self._tell_proofs(found, again=False)

    def own(self, name: str) -> None:
        """Rows of a relation are told by this site, as its own."""
        if name not in self._augmented.owned:
            relation = self._session.definitions.relations[name]
            self._augmented.owned[name] = RowText(relation, space_of(self._augmented.site, name))
            self._augmented.adopt(name, self._session.engine.counts(name))

    def space_of(self, relation: str) -> RowText:
        """The texts and ids that rows of a relation have for others."""
        known = self._augmented.shared.get(relation) or self._augmented.owned.get(relation)
        if known is not None:
            return known
        return RowText(self._session.definitions.relations[relation], space_of(self._augmented.site, relation))

    def check(self, after: Definitions) -> None:
        """Raises where definitions are to change that others rely on: what they were told would not be true."""
        kept = {id(rule) for rule in after.rules}
        for found in self.told.values():
            if any(id(rule) not in kept for rule in found.rules):
                raise StateError(
                    f"{found.view!r} is followed by other sites, so that it must stay as it is",
                    hint="define another view, and let them follow that",
                )

    def _track(self, view: str) -> Tracked:
        if view in self._follows:
            return Tracked(view, (), (), frozenset(), frozenset((view,)))
        found = tracked(view, self._session.definitions)
        replicated = {*self._augmented.shared, *self._follows}
        for name in found.relations:
            if name in found.owned or (name in self._session.definitions.tables and name not in replicated):
                self.own(name)
        return found

    def _tell_proofs(self, found: Tracked, *, again: bool) -> None:
        for each in found.proofs:
            self._augmented.proofs[each.name] = each.reader(self.space_of)
            self._augmented.tell(each.name, self._session.counts(each.name), again=again)

    def _spaces(self, found: Tracked) -> set[str]:
        """The spaces that a view rests on, those of other sites included."""
        spaces = {self.space_of(name).space for name in found.relations}
        for name in found.relations & self._follows.keys():
            for under in self._follows[name].spaces.values():
                spaces.update(under)
        return spaces
