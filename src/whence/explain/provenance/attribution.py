"""How much each base row contributes to a row being there: Shapley and Banzhaf values.

Base rows come together in some order, and the one with which the row appears has brought it about. The Shapley value
of a base row is the share of all orders in which it is that one; all values add up to 1. The Banzhaf value is the share
of all sets of other base rows to which it makes that difference.

Both come from how the chance of the row grows with that of one base row while all have the chance t (Owen, 1972): the
Banzhaf value is that at t = 1/2, and the Shapley value its mean over all t from 0 to 1. It is a polynomial in t with a
degree below the number of base rows, so that a sum over half as many points (Gauss and Legendre) is that mean itself.
"""

from __future__ import annotations

import numpy as np

from whence.errors import UnsupportedError
from whence.explain.proofs.reasons import Fact
from whence.explain.proofs.text import fact_text
from whence.explain.provenance.cone import Cone
from whence.explain.provenance.row_diagram import row_diagram


def shapley(cone: Cone, root: Fact) -> dict[Fact, float]:
    points, weights = np.polynomial.legendre.leggauss(len(cone.base) // 2 + 1)
    return _values(cone, root, (points + 1.0) / 2.0, weights / 2.0)


def banzhaf(cone: Cone, root: Fact) -> dict[Fact, float]:
    return _values(cone, root, np.array([0.5]), np.array([1.0]))


def _values(
    cone: Cone,
    root: Fact,
    chances: np.ndarray[tuple[int], np.dtype[np.float64]],
    weights: np.ndarray[tuple[int], np.dtype[np.float64]],
) -> dict[Fact, float]:
    """Of all base rows behind the row, the largest first."""
    if not cone.is_exact:
        why = cone.reason or "it has too many derivations"
        raise UnsupportedError(f"what each base row contributes to {fact_text(*root)} is not known: {why}")
    bdd, found, numbers = row_diagram(cone, root, dict.fromkeys(cone.base, 0.5))
    grown = bdd.derivatives(found, chances)
    values = {fact: float(grown[numbers[fact]] @ weights) if numbers.get(fact) in grown else 0.0 for fact in cone.base}
    return dict(sorted(values.items(), key=lambda each: (-round(each[1], 12), repr(each[0]))))
