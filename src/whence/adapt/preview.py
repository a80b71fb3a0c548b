"""What a change of definitions would do, before anything happens: what is used again, and what is computed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass

from whence.model.schema import is_auxiliary, owner
from whence.model.updates import Delta, totals
from whence.rewriting import states
from whence.rewriting.adaptation import Adaptation, Derived, Kept, Rebuilt, Refolded, Step

# The relation of an atom in a line of a plan, and what could look like one in a text.
_ATOM = re.compile(r"(?:^|, )!?(Δ?[^\W\d][\w$]*'?)\((?=[^)]*\))")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


@dataclass(frozen=True, slots=True)
class ViewPreview:
    """One view: "follows" the changes of what it reads, "derived" by a plan, "rebuilt", or "new".

    `plan` has the rules of a derived view: `gene'` is what it will hold, `gene` what it holds, `Δgene` the difference.
    `cost` and `from_scratch` are estimates, in rows that are looked at or written.
    """

    name: str
    kind: str
    plan: tuple[str, ...] = ()
    reuses: tuple[str, ...] = ()
    reason: str = ""
    cost: float | None = None
    from_scratch: float | None = None

    def lines(self) -> Iterator[str]:
        match self.kind:
            case "follows":
                yield f"{self.name}: goes on, and follows what it reads"
            case "rebuilt":
                yield f"{self.name}: rebuilt, since {self.reason}"
            case "new":
                yield f"{self.name}: new"
            case _:
                using = f" from the old contents of {', '.join(self.reuses)}" if self.reuses else " from its tables"
                yield f"{self.name}: derived{using}, cost {_number(self.cost)} instead of {_number(self.from_scratch)}"
                yield from (f"  {line}" for line in self.plan)


@dataclass(frozen=True, slots=True)
class Preview:
    """What would happen; `rows`, if they were asked for, are those that would come (positive) and go."""

    views: tuple[ViewPreview, ...] = ()
    dropped: tuple[str, ...] = ()
    rows: Mapping[str, Delta] | None = None
    cost: float = 0.0
    from_scratch: float = 0.0

    @property
    def reused(self) -> tuple[str, ...]:
        """The relations whose old contents are used."""
        found = [name for view in self.views for name in (view.reuses or ((view.name,) * (view.kind == "follows")))]
        return tuple(dict.fromkeys(found))

    @property
    def recomputed(self) -> tuple[str, ...]:
        """The views that are computed without any old contents of views."""
        return tuple(view.name for view in self.views if view.kind in ("rebuilt", "derived") and not view.reuses)

    def as_json(self) -> dict[str, object]:
        """The same for programs."""
        rows = None if self.rows is None else {name: totals(delta) for name, delta in self.rows.items()}
        return {
            "views": [asdict(view) for view in self.views],
            "dropped": list(self.dropped),
            "cost": self.cost,
            "from_scratch": self.from_scratch,
            "rows": rows,
        }

    def dot(self) -> str:
        """Which relation's contents go into which, as a graph for Graphviz: dashed where they are taken away."""
        lines = ["digraph plan {", "  rankdir=LR; node [shape=box, fontname=sans-serif];"]
        for view in self.views:
            lines.append(f"  {_quoted(view.name + chr(39))} [label={_quoted(f'{view.name} ({view.kind})')}];")
            for line in view.plan:
                head, _, body = line.partition(" :- ")
                style = " [style=dashed]" if head.startswith("-") else ""
                read = dict.fromkeys(found.group(1) for found in _ATOM.finditer(_STRING.sub("", body)))
                lines += [f"  {_quoted(name)} -> {_quoted(view.name + chr(39))}{style};" for name in read]
        return "\n".join([*lines, "}", ""])

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        for view in self.views:
            yield from view.lines()
        if self.dropped:
            yield f"dropped: {', '.join(self.dropped)}"
        if not self.views and not self.dropped:
            yield "nothing changes"
        for name, delta in sorted((self.rows or {}).items()):
            came, went = totals(delta)
            yield f"{name}: {came} rows come, {went} go"


def previewed(
    plan: Adaptation | None, new: tuple[str, ...], dropped: tuple[str, ...], rows: Mapping[str, Delta] | None
) -> Preview:
    """What a plan says, in words. Without one there is nothing old that is used."""
    steps = () if plan is None else plan.steps
    views = [
        ViewPreview(name, "new")
        if (name := step.component.relations[0]) in new and not (isinstance(step, Derived) and step.old_views)
        else _view(step)
        for step in steps
        if isinstance(step, Derived) or not _serves(step)
    ]
    known = {view.name for view in views}
    views += [ViewPreview(name, "new") for name in new if name not in known]
    cost, from_scratch = (0.0, 0.0) if plan is None else (plan.cost, plan.from_scratch)
    return Preview(tuple(views), dropped, rows, cost, from_scratch)


def _serves(step: Step) -> bool:
    """Whether it is a part of a view, of which users do not know."""
    return is_auxiliary(step.component.relations[0])


def _view(step: Step) -> ViewPreview:
    name = ", ".join(step.component.relations)
    match step:
        case Kept():
            return ViewPreview(name, "follows")
        case Rebuilt(reason=reason) | Refolded(reason=reason):
            return ViewPreview(name, "rebuilt", reason=reason)
        case Derived(found=found):
            lines = found.plan.lines(states.after(name))
            plan = tuple(states.as_written(" ".join(line.split())) for line in lines)
            return ViewPreview(name, "derived", plan, _reused(step), "", found.cost, found.from_scratch)


def _reused(step: Derived) -> tuple[str, ...]:
    """The views that the plan reads as they are now."""
    return tuple(dict.fromkeys(owner(states.relation_of(each)) for each in sorted(step.old_views)))


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _number(cost: float | None) -> str:
    return "?" if cost is None else f"{cost:,.0f}"
