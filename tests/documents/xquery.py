"""A query as an XQuery program that computes its verdict, 0, 0.5 or 1, as Figure 10 of the paper has it.

Each step is a maximum over the nodes that match it, and 0.5 where a stream stands that could bring one; a node's value
is the minimum over what is asked of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from whence.documents.xpath.syntax import And, Comparison, Expression, Or, PathExpression, Step


class XQuery:
    def __init__(self) -> None:
        self._numbers = count(1)

    def program(self, path: PathExpression) -> str:
        return f"let $root := . return {self._steps(path.steps, None, '$root')}"

    def _steps(self, steps: Sequence[Step], test: Comparison | None, above: str) -> str:
        step, rest = steps[0], steps[1:]
        node, place = f"$n{next(self._numbers)}", f"$p{next(self._numbers)}"
        places = above if step.axis == "child" else f"{above}/descendant-or-self::node()"
        asked = [self._part(part, node) for part in step.predicates]
        if rest:
            asked.append(self._steps(rest, test, node))
        if test is not None and not rest:
            asked.append(f"(if ({self._test(node, test)}) then 1 else 0)")
        value = f"min((1, {', '.join(asked)}))" if asked else "1"
        stream = "" if step.kind == "attribute" and step.axis == "child" else self._stream(place)
        return f"max((0, for {place} in {places} return (for {node} in {place}/{step.label} return {value}{stream})))"

    def _stream(self, place: str) -> str:
        return f", if ({place}/processing-instruction('stream')) then 0.5 else 0"

    def _part(self, part: Expression, node: str) -> str:
        match part:
            case And(parts=parts):
                return f"min(({', '.join(self._part(each, node) for each in parts)}))"
            case Or(parts=parts):
                return f"max(({', '.join(self._part(each, node) for each in parts)}))"
            case PathExpression(steps=steps):
                return self._steps(steps, None, node)
            case Comparison(left=left):
                ends = not left.steps or left.steps[-1].kind == "element"
                steps = (*left.steps, Step("child", "text", "")) if ends else left.steps
                return self._steps(steps, part, node)

    def _test(self, node: str, test: Comparison) -> str:
        if isinstance(test.right, str):
            return f'string({node}) {test.op} "{test.right}"'
        return f"number({node}) {test.op} {test.right}"
