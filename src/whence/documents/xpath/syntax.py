"""XPath expressions as they are written. All of it is monotone: what holds goes on to hold when more arrives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from whence.model.span import Located

Axis: TypeAlias = Literal["child", "descendant"]
Kind: TypeAlias = Literal["element", "attribute", "text"]
ANY_NAME = "*"


@dataclass(frozen=True, slots=True)
class Step(Located):
    """`/name[predicates]`; after `//` the axis is "descendant". The name of a text is empty, and * is any."""

    axis: Axis
    kind: Kind
    name: str
    predicates: tuple[Expression, ...] = ()

    @property
    def label(self) -> str:
        """As paths of documents have it."""
        return {"element": self.name, "attribute": f"@{self.name}", "text": "text()"}[self.kind]

    def __str__(self) -> str:
        inside = "".join(f"[{predicate}]" for predicate in self.predicates)
        return f"{'//' if self.axis == 'descendant' else '/'}{self.label}{inside}"


@dataclass(frozen=True, slots=True)
class PathExpression(Located):
    """Steps from the node in question; from the root of the document if it is absolute; or from that of another.

    Without steps it is the node itself, `.`.
    """

    steps: tuple[Step, ...]
    absolute: bool = False
    document: str | None = None

    def __str__(self) -> str:
        steps = "".join(map(str, self.steps))
        if self.document is not None:
            return f'doc("{self.document}"){steps}'
        if self.absolute:
            return steps
        return f".{steps}" if steps.startswith("//") or not steps else steps[1:]


@dataclass(frozen=True, slots=True)
class Comparison(Located):
    """Some value of the left path compares so with the right: a text, a number, or some value of a path.

    With two paths, `offset` is added to the right one: `a/@at <= b/@at + 4`.
    """

    left: PathExpression
    op: str
    right: PathExpression | str | float
    offset: float = 0.0

    def __str__(self) -> str:
        match self.right:
            case PathExpression():
                plus = "" if not self.offset else f" {'+' if self.offset > 0 else '-'} {abs(self.offset):g}"
                return f"{self.left} {self.op} {self.right}{plus}"
            case str():
                return f'{self.left} {self.op} "{self.right}"'
        return f"{self.left} {self.op} {self.right:.15g}"


@dataclass(frozen=True, slots=True)
class And(Located):
    parts: tuple[Expression, ...]

    def __str__(self) -> str:
        return " and ".join(f"({part})" if isinstance(part, Or) else str(part) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Or(Located):
    parts: tuple[Expression, ...]

    def __str__(self) -> str:
        return " or ".join(map(str, self.parts))


Expression: TypeAlias = PathExpression | Comparison | And | Or
