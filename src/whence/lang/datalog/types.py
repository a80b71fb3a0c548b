"""Types as a Datalog text names them: Soufflé's names, Spark's names, and aliases of either."""

from __future__ import annotations

from collections.abc import Iterable

from whence.errors import DuplicateNameError, ParseError, TypeMismatchError, UnknownNameError, did_you_mean
from whence.lang.datalog import syntax
from whence.lang.datalog.limits import deeper
from whence.lang.datalog.literals import LONGEST_DECIMAL, is_quoted
from whence.lang.datalog.places import Places
from whence.model.types import BIGINT, BY_NAME, DOUBLE, STRING, ArrayType, DecimalType, Type

BUILT_IN: dict[str, Type] = {
    "NUMBER": BIGINT,
    "UNSIGNED": BIGINT,
    "FLOAT": DOUBLE,
    "SYMBOL": STRING,
    # As in Spark, DECIMAL alone holds whole numbers of ten digits.
    "DECIMAL": DecimalType(10, 0),
    **BY_NAME,
}


class Types:
    """The types a text can name."""

    def __init__(self, places: Places, aliases: Iterable[syntax.Alias]) -> None:
        self._places = places
        self._aliases: dict[str, syntax.Alias] = {}
        self._resolved: dict[str, Type] = {}
        # Those whose members are being looked at: to meet one again is a circle.
        self._open: set[str] = set()
        for alias in aliases:
            self._add(alias)
        for name in self._aliases:
            self._alias(name, 0)

    def type(self, node: syntax.TypeName, nesting: int = 0) -> Type:
        span = self._places.span(node)
        if node.element is not None:
            return ArrayType(self.type(node.element, deeper(nesting, span)))
        if node.parameters:
            return self._decimal(node)
        name = self._places.name(node.name)
        return self._alias(name, nesting) if name in self._aliases else self._built_in(node)

    def _built_in(self, node: syntax.TypeName) -> Type:
        name = self._places.name(node.name)
        if not is_quoted(node.name) and name.upper() in BUILT_IN:
            return BUILT_IN[name.upper()]
        if name.upper() == "ARRAY":
            raise ParseError(
                "an ARRAY needs the type of its elements", span=self._places.span(node), hint="like ARRAY<INT>"
            )
        known = [*self._aliases, *BY_NAME, "DECIMAL", "ARRAY", "number", "unsigned", "float", "symbol"]
        hint = did_you_mean(name, known) or "the types are number, float, symbol and Spark's: STRING, INT, BIGINT, ..."
        raise UnknownNameError(f"there is no type {name!r}", span=self._places.span(node), hint=hint)

    def _decimal(self, node: syntax.TypeName) -> Type:
        span = self._places.span(node)
        if node.name.upper() != "DECIMAL":
            raise ParseError(f"the type {node.name} takes no numbers", span=span)
        precision, scale = (*(self._places.number(p) for p in node.parameters), 0)[:2]
        if not (1 <= precision <= LONGEST_DECIMAL and scale <= precision):
            raise ParseError(
                f"a DECIMAL has at most {LONGEST_DECIMAL} digits in all, and no more than that after the point",
                span=span,
                hint="like DECIMAL(10, 2)",
            )
        return DecimalType(precision, scale)

    def _add(self, alias: syntax.Alias) -> None:
        name, span = self._places.name(alias.name), self._places.span(alias.name)
        if name.upper() in BUILT_IN or name.upper() == "ARRAY":
            raise DuplicateNameError(f"the type {name!r} is built in", span=span)
        if name in self._aliases:
            before = self._places.span(self._aliases[name].name)
            raise DuplicateNameError(
                f"the type {name!r} is declared twice", span=span, related=[("it is declared here first", before)]
            )
        self._aliases[name] = alias

    def _alias(self, name: str, nesting: int) -> Type:
        alias = self._aliases[name]
        span = self._places.span(alias.name)
        if name in self._open:
            raise ParseError(f"the type {name!r} is declared by way of itself", span=span)
        if name not in self._resolved:
            self._open.add(name)
            found = {self.type(member, deeper(nesting, span)): member for member in reversed(alias.members)}
            self._open.remove(name)
            if len(found) > 1:
                other, one = list(found)[-2:]
                raise TypeMismatchError(
                    f"the type {name!r} is {one} and {other} at once",
                    span=self._places.span(found[other]),
                    hint="all members of a union have to be of one type",
                )
            self._resolved[name] = next(iter(found))
        return self._resolved[name]
