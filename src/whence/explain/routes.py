"""A way through a rule's body, in words: what it starts from, and what is looked up and tested then."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from whence.incremental.delta import relation_of
from whence.lang.datalog.write_terms import term_text
from whence.model.rules import Rule
from whence.model.schema import Relation
from whence.model.terms import Term


@dataclass(slots=True)
class Route:
    """`lookups` are the columns that rows are looked up by, as (relation, columns): each takes an index."""

    start: str
    steps: list[str] = field(default_factory=list)
    lookups: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)

    def look_up(self, name: str, relation: Relation, keys: Mapping[int, str]) -> None:
        """The next step: the rows of a relation that hold these values at the positions, or all of them."""
        if not keys:
            self.steps.append(f"go through {name}")
            return
        columns = tuple(relation.columns[position].name for position in keys)
        self.steps.append(f"look up {name} by {equalities(columns, tuple(keys.values()))}")
        self.lookups.append((relation.name, columns))

    def lines(self) -> Iterator[str]:
        yield self.start + ("" if self.steps else ": nothing more to do")
        yield from (f"  {step}" for step in self.steps)


def equalities(columns: tuple[str, ...], values: tuple[str, ...]) -> str:
    """`src and dst = z`: a column alone is like a variable of its own name."""
    pairs = zip(columns, values, strict=True)
    return " and ".join(column if column == value else f"{column} = {value}" for column, value in pairs)


def literal_names(rule: Rule) -> list[str]:
    """What to call each literal of a body: by its relation, and by a number where that stands there twice."""
    relations = [relation_of(literal) or "" for literal in rule.body]
    uses, seen = Counter(relations), Counter[str]()
    names = []
    for relation in relations:
        seen[relation] += 1
        names.append(f"{relation} ({seen[relation]})" if uses[relation] > 1 else relation)
    return names


def condition_text(term: Term) -> str:
    return term_text(term, 0)
