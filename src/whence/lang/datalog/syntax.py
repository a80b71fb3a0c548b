"""What a Datalog text says before it is known which of its names are relations: the parser's output.

Leaves are lark tokens. Every node knows its first character and the one after its last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from lark import Token


@dataclass(slots=True)
class TypeName:
    """`number`, `DECIMAL(10, 2)` with its numbers as parameters, `ARRAY<INT>` with an element."""

    name: Token
    parameters: list[Token]
    element: TypeName | None
    start: int
    end: int


@dataclass(slots=True)
class Call:
    """`name(...)`: an atom or a function's call."""

    name: Token
    arguments: list[Node]
    start: int
    end: int


@dataclass(slots=True)
class Registered:
    """`@name(...)`: certainly a function's call."""

    call: Call
    start: int
    end: int


@dataclass(slots=True)
class Skolem:
    call: Call
    start: int
    end: int


@dataclass(slots=True)
class Cast:
    operand: Node
    type: TypeName
    start: int
    end: int


@dataclass(slots=True)
class Array:
    items: list[Node]
    start: int
    end: int


@dataclass(slots=True)
class Group:
    """What stands in parentheses: a term, or a part of a body."""

    formula: Formula
    start: int
    end: int


@dataclass(slots=True)
class Typed:
    """`DATE "2026-01-01"`."""

    word: Token
    text: Token
    start: int
    end: int


@dataclass(slots=True)
class Ascribed:
    """`null::INT`: a constant of a type that its text alone does not show."""

    operand: Node
    type: TypeName
    start: int
    end: int


@dataclass(slots=True)
class Chain:
    """Operands and operators as written, with any number of minus signs before an operand."""

    parts: list[Node]
    start: int
    end: int


@dataclass(slots=True)
class Aggregate:
    """`sum x : { ... }`."""

    function: Token
    argument: Node | None
    body: Formula
    start: int
    end: int


@dataclass(slots=True)
class HeadAggregate:
    """`min<c>`; no argument means count<*>."""

    function: Token
    distinct: bool
    argument: Node | None
    start: int
    end: int


@dataclass(slots=True)
class Comparison:
    left: Node
    op: Token
    right: Node
    start: int
    end: int


@dataclass(slots=True)
class Negation:
    """`!` or `not`, and what it negates."""

    mark: Token
    operand: Node
    start: int
    end: int


@dataclass(slots=True)
class Connected:
    """Conditions and the words `and`, `or` in turn, as written."""

    parts: list[Node]
    start: int
    end: int


Node: TypeAlias = (
    Token
    | Call
    | Registered
    | Skolem
    | Cast
    | Array
    | Group
    | Typed
    | Ascribed
    | Chain
    | Aggregate
    | HeadAggregate
    | Comparison
    | Negation
    | Connected
)

# Alternatives, `;` between them, each a list of what `,` joins.
Formula: TypeAlias = list[list[Node]]


@dataclass(slots=True)
class Head:
    sign: int
    name: Token
    arguments: list[Node]
    start: int
    end: int


@dataclass(slots=True)
class Clause:
    """A rule, or a fact when there is no body."""

    heads: list[Head]
    body: Formula | None
    start: int
    end: int


@dataclass(slots=True)
class Column:
    name: Token
    type: TypeName
    nullable: bool
    start: int
    end: int


@dataclass(slots=True)
class Qualifier:
    word: Token
    arguments: list[Token]
    start: int
    end: int


@dataclass(slots=True)
class Declaration:
    names: list[Token]
    columns: list[Column]
    qualifiers: list[Qualifier]
    start: int
    end: int


@dataclass(slots=True)
class Alias:
    """`.type name = members[0] | members[1]`."""

    name: Token
    members: list[TypeName]
    start: int
    end: int


@dataclass(slots=True)
class Target:
    """What a directive is about: a relation and parameters for it."""

    name: Token
    parameters: list[tuple[Token, Token]]
    start: int
    end: int


@dataclass(slots=True)
class Directive:
    word: Token
    targets: list[Target]
    start: int
    end: int


Statement: TypeAlias = Clause | Declaration | Alias | Directive


# What has a place in the text.
Placed: TypeAlias = Node | TypeName | Head | Column | Qualifier | Target | Statement


def first(node: Placed) -> int:
    """The offset of a node's first character."""
    if isinstance(node, Token):
        assert node.start_pos is not None
        return node.start_pos
    return node.start


def last(node: Placed) -> int:
    """The offset after a node's last character."""
    if isinstance(node, Token):
        assert node.end_pos is not None
        return node.end_pos
    return node.end
