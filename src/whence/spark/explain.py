"""`db.explain` on Spark: where a view is kept, how it follows, and what the last commit cost it there."""

from __future__ import annotations

from collections.abc import Iterator

from whence.analysis.analyze import Analysis
from whence.analysis.components import Component
from whence.engines.spark.engine import SparkEngine
from whence.engines.spark.state import estimated_bytes
from whence.explain.explain import Explanation, components_below, header, milliseconds, selections
from whence.explain.proofs.text import amount, place
from whence.lang.datalog.write import rule_text


def explain_on_spark(name: str, analysis: Analysis, engine: SparkEngine, *, analyze: bool) -> Explanation:
    components = components_below(name, analysis)
    size = amount(len(engine.registry[name].counts), "row")
    lines = [*header(analysis.relations[name], analysis, f"about {size}", is_view=bool(components))]
    if not components:
        lines += _state(name, engine)
    for number, component in enumerate(components, 1):
        first, *others = _lines(component, analysis, engine)
        lines += ["", f"{number}. {first}", *(f"   {line}".rstrip() for line in others)]
        if analyze:
            lines += ["", f"   {_work(component, engine)}"]
    if analyze and components:
        metrics = engine.metrics()
        jobs, moved = amount(int(metrics["jobs"]), "Spark job"), amount(int(metrics["shuffled_bytes"]), "byte")
        read, written = int(metrics["read_bytes"]), int(metrics["written_bytes"])
        lines += ["", f"in all: {jobs} for the last commit, {moved} shuffled, {read:,} read, {written:,} written"]
    return Explanation("\n".join(lines))


def _lines(component: Component, analysis: Analysis, engine: SparkEngine) -> Iterator[str]:
    plan = engine.plan(component)
    kind = "recursive" if component.recursive else "not recursive"
    yield f"{', '.join(component.relations)}: {kind}{', aggregated' if component.aggregated else ''}"
    yield f"kept by {plan.kept_by}"
    yield from selections(component, analysis.relations)
    if plan.refusal is None:
        yield "follows small changes in the driver, which pages in what they touch, and large ones on the cluster"
    else:
        yield f"derived anew on the cluster with every change, because {plan.refusal}"
    for name in component.relations:
        yield from _state(name, engine)
    reading = ", ".join(f"{name} ({amount(len(engine.registry[name].counts), 'row')})" for name in component.reads)
    yield f"reads {reading or 'nothing'}"
    for rule in component.rules:
        yield from ("", *rule_text(rule).splitlines())
        if rule.span is not None:
            yield f"  at {place(rule.span)}"


def _state(name: str, engine: SparkEngine) -> Iterator[str]:
    state = engine.registry[name]
    segments = len(engine.registry.kept_frames(name))
    if segments:
        changed = amount(state.overlay_size, "row")
        yield f"{name}: {amount(len(state.base), 'row')} in {amount(segments, 'segment')}, {changed} changed since"
    else:
        yield f"{name}: {amount(state.overlay_size, 'row')} in the driver and in the log"
    if state.overlay_rows:
        held = amount(int(estimated_bytes(state.overlay_rows)), "byte")
        yield f"{name}: about {held} of the driver's memory"


def _work(component: Component, engine: SparkEngine) -> str:
    work = engine.work(component)
    if work is None:
        return "last commit: not touched"
    here = "in the driver, in columns" if work.in_columns else "in the driver"
    where = here if work.on_cluster is None else f"on the cluster, because {work.on_cluster}"
    parts = [f"{work.tries} {'try' if work.tries == 1 else 'tries'}"]
    if work.rounds:
        parts.append(amount(work.rounds, "round"))
    parts += (f"{amount(work.rows_in, 'row')} in", f"{amount(work.rows_out, 'row')} out")
    if work.in_columns:
        parts.append(f"{amount(work.touched, 'byte')} looked up")
    if work.spent.jobs:
        parts += (amount(work.spent.jobs, "Spark job"), f"{amount(work.spent.shuffled, 'byte')} shuffled")
        parts += (f"{work.spent.read:,} read", f"{work.spent.written:,} written")
    line = f"last commit: {where}; {', '.join(parts)}, {milliseconds(work.elapsed)}"
    if work.reason is None:
        return line
    return f"{line}; {'by delta rules' if work.by_rules else 'derived anew'}, since {work.reason}"
