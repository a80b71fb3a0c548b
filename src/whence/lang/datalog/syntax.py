"""What a Datalog text says before it is known which of its names are relations: the parser's output.

Leaves are lark tokens.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from lark import Token


@dataclass(slots=True)
class SyntaxNode:
    """A node from its first character, at `start`, to before the one at `end`."""

    start: int
    end: int


# A node, or a leaf.
Node: TypeAlias = Token | SyntaxNode
# Alternatives, `;` between them, each a list of what `,` joins.
Formula: TypeAlias = list[list[Node]]


@dataclass(slots=True)
class TypeName(SyntaxNode):
    """`number`, `DECIMAL(10, 2)` with its numbers as parameters, `ARRAY<INT>` with an element.

    `MAP<STRING, INT>` has a key as well, and `STRUCT<a: INT>` has fields.
    """

    name: Token
    parameters: list[Token]
    element: TypeName | RecordTypeNode | None
    key: TypeName | RecordTypeNode | None = None
    fields: list[ColumnNode] | None = None


@dataclass(slots=True)
class Branch(SyntaxNode):
    """`Circle {r: float}`. The fields of a record are a branch without a name."""

    name: Token | None
    fields: list[ColumnNode]


@dataclass(slots=True)
class RecordTypeNode(SyntaxNode):
    """`list[head: number, tail: list]`, or without a name where it is declared."""

    name: Token | None
    branches: list[Branch]


@dataclass(slots=True)
class CallNode(SyntaxNode):
    """`name(...)`: an atom or a function's call."""

    name: Token
    arguments: list[Node]


@dataclass(slots=True)
class Registered(SyntaxNode):
    """`@name(...)`: certainly a function's call."""

    call: CallNode


@dataclass(slots=True)
class SkolemNode(SyntaxNode):
    call: CallNode


@dataclass(slots=True)
class CastNode(SyntaxNode):
    operand: Node
    type: TypeName | RecordTypeNode


@dataclass(slots=True)
class Array(SyntaxNode):
    items: list[Node]


@dataclass(slots=True)
class GroupNode(SyntaxNode):
    """What stands in parentheses: a term, or a part of a body."""

    formula: Formula


@dataclass(slots=True)
class TypedNode(SyntaxNode):
    """`DATE "2026-01-01"`."""

    word: Token
    text: Token


@dataclass(slots=True)
class FunctionNode(SyntaxNode):
    """`fn {x, i: x + i}`, as an argument of a function that takes one."""

    parameters: list[Token]
    body: Node


@dataclass(slots=True)
class Ascribed(SyntaxNode):
    """`null::INT`: a constant of a type that its text alone does not show."""

    operand: Node
    type: TypeName | RecordTypeNode


@dataclass(slots=True)
class ChainNode(SyntaxNode):
    """Operands and operators as written, with any number of minus signs before an operand."""

    parts: list[Node]


@dataclass(slots=True)
class AggregateNode(SyntaxNode):
    """`sum x : { ... }`."""

    function: Token
    argument: Node | None
    body: Formula


@dataclass(slots=True)
class HeadAggregateNode(SyntaxNode):
    """`min<c>`; no argument means count<*>."""

    function: Token
    distinct: bool
    argument: Node | None


@dataclass(slots=True)
class SortNode(SyntaxNode):
    """`x desc nulls last`, with the words that are there."""

    term: Node
    words: list[Token]


@dataclass(slots=True)
class WindowPart(SyntaxNode):
    """`rows -1 to 0`, `within 1 to 10`; `*` has no bound."""

    word: Token
    start_bound: Node | None
    end_bound: Node | None


@dataclass(slots=True)
class HeadWindowNode(SyntaxNode):
    """`over {g; x desc; rows -1 to 0} sum(x)`."""

    partition: list[Node]
    order: list[SortNode]
    parts: list[WindowPart]
    call: CallNode


@dataclass(slots=True)
class HeadUnnestNode(SyntaxNode):
    """`each element(a)`, `each outer position(a)`."""

    outer: bool
    call: CallNode


@dataclass(slots=True)
class ComparisonNode(SyntaxNode):
    left: Node
    op: Token
    right: Node


@dataclass(slots=True)
class NegationNode(SyntaxNode):
    """`!` or `not`, and what it negates."""

    mark: Token
    operand: Node


@dataclass(slots=True)
class Connected(SyntaxNode):
    """Conditions and the words `and`, `or` in turn, as written."""

    parts: list[Node]


@dataclass(slots=True)
class HeadNode(SyntaxNode):
    sign: int
    name: Token
    arguments: list[Node]


@dataclass(slots=True)
class Clause(SyntaxNode):
    """A rule, or a fact when there is no body."""

    heads: list[HeadNode]
    body: Formula | None


@dataclass(slots=True)
class Subsumption(SyntaxNode):
    """`less <= more :- body`, and a dot."""

    less: HeadNode
    more: HeadNode
    body: Formula


@dataclass(slots=True)
class ColumnNode(SyntaxNode):
    name: Token
    type: TypeName | RecordTypeNode
    nullable: bool


@dataclass(slots=True)
class Qualifier(SyntaxNode):
    word: Token
    arguments: list[Token]


@dataclass(slots=True)
class Declaration(SyntaxNode):
    names: list[Token]
    columns: list[ColumnNode]
    qualifiers: list[Qualifier]
    # The columns that `choice-domain` has one row for each value of.
    choices: list[list[Token]]


@dataclass(slots=True)
class PeerNode(SyntaxNode):
    """`peer GeneOrg { gene, .decl hasGene(...) }`."""

    name: Token
    relations: list[Token]
    declarations: list[Declaration]


@dataclass(slots=True)
class Alias(SyntaxNode):
    """`.type name = members[0] | members[1]`."""

    name: Token
    members: list[TypeName | RecordTypeNode | Branch]


@dataclass(slots=True)
class Target(SyntaxNode):
    """What a directive is about: a relation and parameters for it."""

    name: Token
    parameters: list[tuple[Token, Token]]


@dataclass(slots=True)
class DirectiveNode(SyntaxNode):
    word: Token
    targets: list[Target]


@dataclass(slots=True)
class Pragma(SyntaxNode):
    """`.pragma "name" "value"`, of which the value may be left out."""

    name: Token
    value: Token | None


@dataclass(slots=True)
class ComponentType(SyntaxNode):
    """`Name<T, U>`: a component with its parameters, or with types for them."""

    name: Token
    types: list[TypeName]


@dataclass(slots=True)
class Instance(SyntaxNode):
    """`.init name = component`."""

    name: Token
    component: ComponentType


@dataclass(slots=True)
class Override(SyntaxNode):
    """`.override name` in a component: the rules that its bases have for the relation do not count."""

    name: Token


@dataclass(slots=True)
class Component(SyntaxNode):
    kind: ComponentType
    bases: list[ComponentType]
    statements: list[Statement]


Statement: TypeAlias = (
    Clause | Subsumption | Declaration | PeerNode | Alias | DirectiveNode | Pragma | Component | Instance | Override
)


def first(node: Node) -> int:
    """The offset of a node's first character."""
    if isinstance(node, Token):
        assert node.start_pos is not None
        return node.start_pos
    return node.start


def last(node: Node) -> int:
    """The offset after a node's last character."""
    if isinstance(node, Token):
        assert node.end_pos is not None
        return node.end_pos
    return node.end
