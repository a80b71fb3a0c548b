"""Proofs that the page opens step by step: a few steps are sent at once, and more when somebody looks."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict

from whence.explain.proofs.proof import Proof, Step
from whence.explain.proofs.text import heading
from whence.web.limits import Limits
from whence.web.problems import RefusedError

# Steps below the one that was asked for, and children of one step, that are sent along.
_DEPTH = 3
_CHILDREN = 50


class Shelf:
    """The proofs that were asked for last, by a name that cannot be guessed."""

    def __init__(self, limits: Limits) -> None:
        self._most = limits.proofs
        self._proofs: OrderedDict[str, Proof] = OrderedDict()
        self._lock = threading.Lock()

    def put(self, proof: Proof) -> str:
        name = secrets.token_urlsafe(12)
        with self._lock:
            self._proofs[name] = proof
            while len(self._proofs) > self._most:
                self._proofs.popitem(last=False)
        return name

    def get(self, name: str) -> Proof:
        with self._lock:
            if name not in self._proofs:
                raise RefusedError(404, "this proof is not kept any more", "ask for it again")
            self._proofs.move_to_end(name)
            return self._proofs[name]


class Sending:
    """Steps as JSON, no more of them than one answer takes."""

    def __init__(self, limits: Limits) -> None:
        self._left = limits.steps

    def step(self, step: Step, depth: int = _DEPTH, start: int = 0) -> dict[str, object]:
        """A step and what is below it. Where `children` is null there are some, to be asked for."""
        self._left -= 1
        sent: dict[str, object] = {
            "label": step.label,
            "title": heading(step),
            "kind": step.kind,
            "rule": step.rule,
            "place": step.place,
            "again": None if step.again_at is None else step.again_at.label,
            "all": len(step.children),
            "partial": step.is_partial,
        }
        if step.children and (depth == 0 or self._left <= 0):
            return {**sent, "children": None}
        shown = step.children[start : start + _CHILDREN]
        return {**sent, "start": start, "children": [self.step(child, depth - 1) for child in shown]}
