"""Datalog text to a program: the grammar's matches become syntax nodes, and these the model's values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from lark import Lark, Token, Transformer, UnexpectedInput

from whence.lang.datalog import syntax
from whence.lang.datalog.auxiliary import Auxiliaries
from whence.lang.datalog.bodies import Bodies
from whence.lang.datalog.components import without_components
from whence.lang.datalog.literals import Places, check_characters
from whence.lang.datalog.mistakes import mistake, refusal
from whence.lang.datalog.pieces import Alternatives, with_witnesses
from whence.lang.datalog.qualifiers import with_souffle_words
from whence.lang.datalog.record_types import branch_types
from whence.lang.datalog.records import Records
from whence.lang.datalog.schema import Schemas, Types
from whence.lang.datalog.subsumption import dominance_clauses
from whence.lang.datalog.syntax import Formula, Node, first, last
from whence.lang.datalog.text_sums import with_text_sums
from whence.model.collector import collector_paused
from whence.model.program import Program
from whence.model.rules import Atom, Rule
from whence.model.schema import Relation
from whence.model.span import SourceText
from whence.model.types import BY_NAME, RecordType


def parse_datalog(
    text: str, name: str = "<rules>", elsewhere: Mapping[str, Relation] = MappingProxyType({})
) -> Program:
    """The program that a text in Soufflé's dialect stands for; `name` is what messages call the text.

    What stands `elsewhere`, relations of a database, is no function even if there is one of its name.
    """
    with collector_paused():
        return _program(SourceText(name, text, is_datalog=True), elsewhere)


def _program(source: SourceText, elsewhere: Mapping[str, Relation]) -> Program:
    places = Places(source)
    statements = without_components(read_statements(source), places)
    types = Types(places, (each for each in statements if isinstance(each, syntax.Alias)))
    schemas = Schemas(places, types)
    relations = [
        relation for each in statements if isinstance(each, syntax.Declaration) for relation in schemas.relations(each)
    ]
    directives = [
        directive
        for each in statements
        if isinstance(each, syntax.DirectiveNode)
        for directive in schemas.directives(each)
    ]
    clauses = [each for each in statements if isinstance(each, syntax.Clause)]
    clauses += dominance_clauses(statements, places)
    known = {relation.name for relation in relations} | {directive.relation for directive in directives}
    known.update(places.name(head.name) for clause in clauses for head in clause.heads)
    columns = {**elsewhere, **{relation.name: relation for relation in relations}}
    rules = with_text_sums(lowered_rules(clauses, places, types, frozenset(known), columns), columns)
    return with_souffle_words(Program(tuple(relations), tuple(rules), tuple(directives)), statements, places)


def lowered_rules(
    clauses: Iterable[syntax.Clause],
    places: Places,
    types: Types,
    relations: frozenset[str],
    columns: Mapping[str, Relation] = MappingProxyType({}),
) -> Sequence[Rule]:
    """The rules that clauses stand for. `columns` has the relations whose columns are known, in the text or not."""
    auxiliaries = Auxiliaries(relations)
    elsewhere = frozenset(columns)
    records = Records(
        branch_types({**_records_elsewhere(columns), **types.records}),
        lambda name: [column.type for column in columns[name].columns] if name in columns else [],
    )
    for clause in clauses:
        span = places.span(clause)
        text = span.text
        bodies = Bodies(places, types, relations, text.__contains__, elsewhere)
        alternatives: Alternatives = ((),) if clause.body is None else bodies.alternatives(clause.body, clause)
        for head in clause.heads:
            terms = tuple([bodies.terms.term(argument, 0) for argument in head.arguments])
            in_head = bodies.terms.take_aggregates()
            atom = Atom(places.name(head.name), terms, span=places.span(head))
            for pieces in alternatives:
                decided, body = records.rule(atom, (*pieces, *in_head), text.__contains__)
                auxiliaries.add(decided, with_witnesses(decided, body), head.sign, span)
    return auxiliaries.take_rules()


def _records_elsewhere(columns: Mapping[str, Relation]) -> dict[str, RecordType]:
    """The record types of columns, with those of their fields."""
    found: dict[str, RecordType] = {}
    todo = [column.type for relation in columns.values() for column in relation.columns]
    while todo:
        kind = todo.pop()
        if isinstance(kind, RecordType) and kind.name not in found:
            found[kind.name] = kind
            todo += [field for fields in kind.branches.values() for _, field in fields]
    return found


def read_statements(source: SourceText, start: str = "start") -> list[syntax.Statement]:
    """The nodes of a text: a program, or `mappings`."""
    check_characters(source)
    try:
        statements: list[syntax.Statement] = _parser().parse(source.text, start)  # type: ignore[assignment]
    except UnsupportedWordError as refused:
        raise refusal(refused.token, source) from None
    except UnexpectedInput as unexpected:
        raise mistake(unexpected, source) from None
    return statements


@cache
def _parser() -> Lark:
    grammar = files("whence.lang.datalog").joinpath("grammar.lark").read_text(encoding="utf-8")
    grammar = grammar.replace("TYPE_NAMES", "|".join(sorted([*BY_NAME, "DECIMAL"], key=len, reverse=True)))
    starts = ["start", "mappings"]
    return Lark(grammar, parser="lalr", lexer="contextual", transformer=Builder(), start=starts)


class UnsupportedWordError(Exception):
    """A word of Soufflé's that whence knows and does not have."""

    def __init__(self, token: Token) -> None:
        super().__init__(str(token))
        self.token = token


class Builder(Transformer[Token, Any]):
    """Called by the parser while it reads: one method per grammar rule, named like it.

    What a method gets are the parts of its rule, punctuation left out.
    """

    def _listed(self, parts: list[Any]) -> list[Any]:
        return parts

    start = mappings = heads = head_arguments = formula = conjunction = arguments = names = columns = parameters = (
        _listed
    )
    sort_keys = _listed

    def clause(self, parts: list[Any]) -> syntax.Clause:
        heads, body, dot, _ = parts
        return syntax.Clause(heads[0].start, last(dot), heads, body)

    def mapping(self, parts: list[Any]) -> syntax.Clause:
        """A clause with its body first."""
        body, heads, dot = parts
        return syntax.Clause(first(body[0][0]), last(dot), heads, body)

    def peer(self, parts: list[Any]) -> syntax.PeerNode:
        word, name, *members, close = parts
        declarations = [each for each in members if isinstance(each, syntax.Declaration)]
        listed = [each for names in members if isinstance(names, list) for each in names]
        return syntax.PeerNode(first(word), last(close), name, listed, declarations)

    def head(self, parts: list[Any]) -> syntax.HeadNode:
        minus, name, arguments, close = parts
        return syntax.HeadNode(first(minus or name), last(close), 1 if minus is None else -1, name, arguments or [])

    def head_aggregate(self, parts: list[Any]) -> syntax.HeadAggregateNode:
        function, *distinct, argument, _ = parts
        counts_all = isinstance(argument, Token) and argument.type == "STAR"
        return syntax.HeadAggregateNode(*_extent(parts), function, any(distinct), None if counts_all else argument)

    def head_window(self, parts: list[Any]) -> syntax.HeadWindowNode:
        _, partition, order, *more, _, call = parts
        return syntax.HeadWindowNode(*_extent(parts), partition or [], order or [], more, call)

    def function(self, parts: list[Any]) -> syntax.FunctionNode:
        _, names, body, _ = parts
        return syntax.FunctionNode(*_extent([parts[0], parts[-1]]), names or [], body)

    def head_unnest(self, parts: list[Any]) -> syntax.HeadUnnestNode:
        _, outer, call = parts
        return syntax.HeadUnnestNode(*_extent(parts), outer is not None, call)

    def sort_key(self, parts: list[Any]) -> syntax.SortNode:
        there = [part for part in parts if part is not None]
        return syntax.SortNode(*_extent(there), there[0], there[1:])

    def window_part(self, parts: list[Any]) -> syntax.WindowPart:
        word, start, _, end = parts
        bounds = (None if isinstance(b, Token) and b.type == "STAR" else b for b in (start, end))
        return syntax.WindowPart(*_extent(parts), word, *bounds)

    def connected(self, parts: list[Node]) -> syntax.Connected:
        return syntax.Connected(*_extent(parts), parts)

    def comparison(self, parts: list[Any]) -> syntax.ComparisonNode:
        return syntax.ComparisonNode(*_extent(parts), *parts)

    def negation(self, parts: list[Any]) -> syntax.NegationNode:
        return syntax.NegationNode(*_extent(parts), *parts)

    def aggregate(self, parts: list[Any]) -> syntax.AggregateNode:
        function, argument, *body = parts
        return syntax.AggregateNode(*_extent(parts), function, argument, _braced(body))

    def chain(self, parts: list[Node]) -> syntax.ChainNode:
        return syntax.ChainNode(*_extent(parts), parts)

    def call(self, parts: list[Any]) -> syntax.CallNode:
        name, arguments, close = parts
        return syntax.CallNode(name.start_pos, close.end_pos, name, arguments or [])

    def registered(self, parts: list[Any]) -> syntax.Registered:
        return syntax.Registered(*_extent(parts), parts[1])

    def skolem(self, parts: list[Any]) -> syntax.SkolemNode:
        return syntax.SkolemNode(*_extent(parts), parts[1])

    def cast(self, parts: list[Any]) -> syntax.CastNode:
        return syntax.CastNode(*_extent(parts), *parts[1:-1])

    def array(self, parts: list[Any]) -> syntax.Array:
        return syntax.Array(*_extent(parts), parts[1] or [])

    def group(self, parts: list[Any]) -> syntax.GroupNode:
        return syntax.GroupNode(*_extent(parts), parts[1])

    def typed(self, parts: list[Any]) -> syntax.TypedNode:
        return syntax.TypedNode(*_extent(parts), *parts)

    def ascribed(self, parts: list[Any]) -> syntax.Ascribed:
        return syntax.Ascribed(*_extent(parts), *parts)

    def declaration(self, parts: list[Any]) -> syntax.Declaration:
        _, names, columns, _, *qualifiers = parts
        choices = [each for found in qualifiers if isinstance(found, list) for each in found]
        qualifiers = [each for each in qualifiers if not isinstance(each, list)]
        nodes = [syntax.Qualifier(first(q), last(q), q, []) if isinstance(q, Token) else q for q in qualifiers]
        end = last(nodes[-1] if nodes else parts[3])
        return syntax.Declaration(first(parts[0]), end, names, columns or [], nodes, choices)

    def choice(self, parts: list[Any]) -> list[list[Token]]:
        return parts[1:]

    def chosen(self, parts: list[Token]) -> list[Token]:
        return [part for part in parts if part.type == "NAME"]

    def subsumption(self, parts: list[Any]) -> syntax.Subsumption:
        less, sign, more, body, dot, _ = parts
        if sign != "<=":
            raise UnsupportedWordError(Token("SUBSUMED", str(sign), first(sign), end_pos=last(sign)))
        return syntax.Subsumption(less.start, last(dot), less, more, body)

    def column(self, parts: list[Any]) -> syntax.ColumnNode:
        name, type_name, nullable = parts
        return syntax.ColumnNode(first(name), last(nullable or type_name), name, type_name, nullable is not None)

    def qualifier(self, parts: list[Any]) -> syntax.Qualifier:
        word, *arguments, _ = parts
        return syntax.Qualifier(*_extent(parts), word, [a for a in arguments if a is not None])

    def alias(self, parts: list[Any]) -> syntax.Alias:
        _, name, _, *members = parts
        return syntax.Alias(*_extent(parts), name, members)

    def type(self, parts: list[Token]) -> syntax.TypeName:
        return syntax.TypeName(*_extent(parts), parts[0], [], None)

    def decimal_type(self, parts: list[Any]) -> syntax.TypeName:
        name, *numbers, _ = parts
        return syntax.TypeName(*_extent(parts), name, [number for number in numbers if number is not None], None)

    def array_type(self, parts: list[Any]) -> syntax.TypeName:
        name, element, _ = parts
        return syntax.TypeName(*_extent(parts), name, [], element)

    def map_type(self, parts: list[Any]) -> syntax.TypeName:
        name, key, value, _ = parts
        return syntax.TypeName(*_extent(parts), name, [], value, key=key)

    def struct_type(self, parts: list[Any]) -> syntax.TypeName:
        name, fields, _ = parts
        return syntax.TypeName(*_extent(parts), name, [], None, fields=fields)

    def branch(self, parts: list[Any]) -> syntax.Branch:
        name, fields, _ = parts
        return syntax.Branch(*_extent(parts), name, fields or [])

    def record_type(self, parts: list[Any]) -> syntax.RecordTypeNode:
        name, bracket, fields, close = parts
        only = syntax.Branch(first(bracket), last(close), None, fields or [])
        return syntax.RecordTypeNode(first(name or bracket), last(close), name, [only])

    def variant_type(self, parts: list[Any]) -> syntax.RecordTypeNode:
        name, _, *branches, _ = parts
        return syntax.RecordTypeNode(*_extent(parts), name, branches)

    def pragma(self, parts: list[Any]) -> syntax.Pragma:
        _, name, value = parts
        return syntax.Pragma(first(parts[0]), last(value or name), name, value)

    def component(self, parts: list[Any]) -> syntax.Component:
        _, *rest, close = parts
        kinds = [part for part in rest if isinstance(part, syntax.ComponentType)]
        inside = [part for part in rest if part is not None and not isinstance(part, syntax.ComponentType)]
        return syntax.Component(first(parts[0]), last(close), kinds[0], kinds[1:], inside)

    def component_type(self, parts: list[Any]) -> syntax.ComponentType:
        name, *types = [part for part in parts if part is not None]
        types = [part for part in types if isinstance(part, syntax.TypeName)]
        return syntax.ComponentType(first(name), last(types[-1] if types else name), name, types)

    def init(self, parts: list[Any]) -> syntax.Instance:
        return syntax.Instance(*_extent(parts), parts[1], parts[-1])

    def override(self, parts: list[Any]) -> syntax.Override:
        return syntax.Override(*_extent(parts), parts[1])

    def directive(self, parts: list[Any]) -> syntax.DirectiveNode:
        word, *targets = parts
        return syntax.DirectiveNode(*_extent(parts), word, targets)

    def target(self, parts: list[Any]) -> syntax.Target:
        name, parameters, close = parts
        return syntax.Target(first(name), last(close or name), name, parameters or [])

    def parameter(self, parts: list[Token]) -> tuple[Token, Token]:
        return parts[0], parts[-1]

    # Methods named like terminals are called as soon as the word is read, whatever may follow it.

    def OTHER_DIRECTIVE(self, token: Token) -> Token:  # noqa: N802
        raise UnsupportedWordError(token)


def _extent(parts: Sequence[Node]) -> tuple[int, int]:
    """Where the text of a rule's parts begins and ends; the first and the last of them are there."""
    return first(parts[0]), last(parts[-1])


def _braced(body: list[Any]) -> Formula:
    """The body of an aggregate: a formula and its brace, or an atom on its own."""
    return [[body[0]]] if len(body) == 1 else body[0]
