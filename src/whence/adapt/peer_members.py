"""Which relations belong to which peer of an exchange: rows of a table of the shared database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from whence.errors import DuplicateNameError, StateError, UnknownNameError, did_you_mean
from whence.lang.datalog.mappings import MappingProgram, PeerMember, parse_mappings
from whence.model.schema import is_auxiliary
from whence.session.session import Session

if TYPE_CHECKING:
    from whence.adapt.redefine import DefinitionChange

# Who has which relation, and which of its versions a peer published last.
MEMBERS = "whence_peers"
PUBLISHED = "whence_published"
_TABLES = f"""
    CREATE TABLE IF NOT EXISTS {MEMBERS}(peer STRING NOT NULL, relation STRING PRIMARY KEY);
    CREATE TABLE IF NOT EXISTS {PUBLISHED}(peer STRING PRIMARY KEY, version BIGINT NOT NULL);
"""


def members_of(session: Session) -> dict[str, str]:
    """Who has which relation, by relation."""
    if MEMBERS not in session.definitions.tables:
        return {}
    return {str(relation): str(peer) for peer, relation in session.counts(MEMBERS)}


def check_peer(session: Session, name: object) -> str:
    """The name of a peer, which there must be."""
    known = sorted(set(members_of(session).values()))
    if name not in known:
        there = f"there is {', '.join(known)}" if known else "db.mappings(...) makes one: peer GeneOrg { gene }"
        hint = did_you_mean(name, known) if isinstance(name, str) else None
        raise UnknownNameError(f"there is no peer {name!r}", hint=hint or there)
    return str(name)


def add_members(change: DefinitionChange, known: Mapping[str, str], members: Sequence[PeerMember]) -> None:
    """Relations get to belong to peers, each to one."""
    change.execute(_TABLES)
    new: dict[str, str] = {}
    for member in members:
        found = change.catalog.find(member.relation)
        if found is None:
            raise UnknownNameError(
                f"peer {member.peer} has a relation {member.relation!r}, and there is none of that name",
                span=member.span,
                hint=did_you_mean(member.relation, change.catalog.relations)
                or f"declare it: .decl {member.relation}(...)",
            )
        holder = known.get(found.name) or new.get(found.name)
        if holder not in (None, member.peer):
            raise DuplicateNameError(f"{found.name!r} belongs to peer {holder}", span=member.span)
        if found.name not in known:
            new[found.name] = member.peer
    if new:
        change.insert(MEMBERS, [(peer, relation) for relation, peer in new.items()])


def published_mappings(text: str, name: str, peer: str, members: Mapping[str, str]) -> MappingProgram:
    """Mappings of a peer, which go to what it has, and to what nobody has and will be its own."""
    found = parse_mappings(text, name)
    more = {}
    for rule in found.program.rules:
        relation = rule.head.relation
        holder = members.get(relation, peer)
        if holder != peer:
            raise StateError(
                f"{relation!r} belongs to peer {holder}, which alone can say what it follows from", span=rule.span
            )
        if relation not in members and not is_auxiliary(relation) and rule.span is not None:
            more[relation] = PeerMember(peer, relation, rule.span)
    for member in found.members:
        if member.peer != peer:
            raise StateError(f"peer {peer} cannot speak for peer {member.peer}", span=member.span)
        more.pop(member.relation, None)
    return replace(found, members=(*found.members, *more.values()))
