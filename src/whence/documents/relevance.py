"""Which streams may still matter to a query: the relevance of Algorithm 3, as views.

A stream matters where a node that may yet become part of an answer lacks something that the stream can bring. Where the
node has it already, or has lost its chance, the stream does not matter. That is necessary and not sufficient: what one
stream could bring may always come with what another must; `scenarios.py` looks for that.
"""

from __future__ import annotations

from collections.abc import Sequence

from whence.algebra.semiring import Truth
from whence.documents.compile import Compiled, Names
from whence.documents.conditions import (
    ROOT_NODE,
    Branch,
    Context,
    conditions,
    either,
    exists,
    joined,
    start,
    value_branch,
)
from whence.documents.places import Place, closed
from whence.documents.xpath.syntax import And, Comparison, Expression, Or, PathExpression


def add_relevance(compiled: Compiled, names: Names) -> None:
    """Rules for the relation of useful streams, beside those of the query."""
    relevance = _Relevance(compiled.context, names)
    main = compiled.main
    rules = compiled.context.rules
    # These come later than the query's own, and a relation is stored with all that serves it at once.
    rules.name = names.useful
    rules.add(f'{names.useful}("{compiled.context.document}", f)', f"{names.source}(_, _, f)")
    for at, branch in enumerate(main.branches):
        is_last = at == len(main.branches) - 1
        columns = compiled.columns if is_last else ()
        if not branch.step.predicates and not columns:
            continue
        stage = main.stages.get((at, Truth.MAYBE), names.candidate)
        body = [f"{stage}(n)" if stage != names.candidate else f"{stage}(n, _)"]
        if branch.rest is not None:
            body.append(f"{exists(branch.rest, Truth.MAYBE)}(n)")
        asking = rules.fresh("asking")
        rules.add(f"{asking}(n)", *body)
        relevance.parts(branch.here, branch.step.predicates, asking)
        met = rules.fresh("met")
        rules.add(f"{met}(n)", *branch.nodes("n", "_", Truth.TRUE))
        rules.add(f"{names.waiting}({at}, n)", f"{asking}(n)", f"!{met}(n)")
        for column in columns:
            relevance.values(column, asking)
    # What streams bring may have predicates with absolute paths as well.
    for branch in main.branches:
        for part in branch.step.predicates:
            relevance.elsewhere(branch.here, part)


class _Relevance:
    def __init__(self, context: Context, names: Names) -> None:
        self._context = context
        self._rules = context.rules
        self._names = names

    def parts(self, place: Place, parts: Sequence[Expression], asking: str) -> None:
        """What matters to nodes that ask for all parts."""
        for part in parts:
            match part:
                case And(parts=inner):
                    self.parts(place, inner, asking)
                case Or(parts=inner):
                    name = either(self._context, place, inner, Truth.TRUE)
                    lacking = self._lacking(asking, f"!{name}(n)")
                    for each in inner:
                        self.parts(place, (each,), lacking)
                case PathExpression():
                    self._branch(Branch(self._context, start(self._context, place, part), part.steps), asking)
                case Comparison(right=PathExpression() as right):
                    lacking = self._lacking(asking, f"!{joined(self._context, place, part, 'n', Truth.TRUE)}")
                    for side in (part.left, right):
                        self.values(value_branch(self._context, place, side), lacking)
                case Comparison(left=left):
                    self._branch(value_branch(self._context, place, left, part), asking)

    def elsewhere(self, place: Place, part: Expression) -> None:
        """As long as streams may bring answers, all that absolute paths lead to matters to these."""
        match part:
            case And(parts=inner) | Or(parts=inner):
                for each in inner:
                    self.elsewhere(place, each)
            case Comparison(left=left, right=right):
                for side in (left, right):
                    if isinstance(side, PathExpression):
                        self._elsewhere(value_branch(self._context, place, side), side)
            case PathExpression():
                self._elsewhere(Branch(self._context, start(self._context, place, part), part.steps), part)

    def _elsewhere(self, branch: Branch, path: PathExpression) -> None:
        if path.absolute or path.document is not None:
            asking = self._rules.fresh("asking")
            self._rules.add(f"{asking}({ROOT_NODE})", f"{self._names.source}(_, _, _)")
            self.values(branch, asking)
        for step in path.steps:
            for part in step.predicates:
                self.elsewhere(branch.place, part)

    def values(self, branch: Branch, asking: str) -> None:
        """What may bring values at the end of a branch: any, however many there are."""
        self._follow(branch, asking, None)

    def _branch(self, branch: Branch, asking: str) -> None:
        """What may bring a branch to nodes that ask for it and have none."""
        self._follow(branch, asking, exists(branch, Truth.TRUE))

    def _lacking(self, asking: str, *without: str) -> str:
        name = self._rules.fresh("lacking")
        self._rules.add(f"{name}(n)", f"{asking}(n)", *without)
        return name

    def _follow(self, branch: Branch, asking: str, has: str | None) -> None:
        rules, context = self._rules, self._context
        node = ROOT_NODE if branch.place.is_root else "n"
        without = [] if has is None else [f"!{has}({node})"]
        branch, passed = branch.collapsed()
        is_absolute = branch.place.is_root or bool(passed)
        lacking = rules.fresh("lacking")
        if is_absolute:
            rules.add(f"{lacking}({ROOT_NODE})", f"{asking}(_)", *without)
            at = [f"{lacking}({ROOT_NODE})"]
        else:
            rules.add(f"{lacking}(n)", f"{asking}(n)", *without)
            if branch.step.axis == "descendant":
                lacking = closed(rules, "within", lacking, branch.place.edges_below(), upwards=False)
            at = [f"{lacking}(y)"]
        for each in (*passed, branch):
            rules.add(f'{self._names.useful}("{each.place.tables.document}", f)', *each.streams(), *at)
        if branch.step.kind != "element" or not (branch.rest or branch.step.predicates):
            return
        inner = rules.fresh("asking")
        body = [f"{branch.here.nodes()}(n, {'_' if is_absolute else 'y'}, _)", *at]
        body += conditions(context, branch.here, branch.step.predicates, "n", Truth.MAYBE)
        if branch.rest is not None and has is not None:
            body.append(f"{exists(branch.rest, Truth.MAYBE)}(n)")
        rules.add(f"{inner}(n)", *body)
        self.parts(branch.here, branch.step.predicates, inner)
        if branch.rest is not None:
            if has is None:
                self.values(branch.rest, inner)
            else:
                self._branch(branch.rest, inner)
