"""Nothing in the text is passed over: a part of a node that is not handled is refused by name."""

from __future__ import annotations

from sqlglot import exp

from whence.errors import UnsupportedError
from whence.lang.sql.lowering import Lowering

_NAMES = {
    "windows": "WINDOW",
    "laterals": "LATERAL VIEW",
    "sample": "TABLESAMPLE",
    "pivots": "PIVOT",
    "offset": "OFFSET",
    "when": "time travel",
    "version": "time travel",
    "db": "a schema name",
    "catalog": "a catalog name",
    "sort": "SORT BY",
    "cluster": "CLUSTER BY",
    "distribute": "DISTRIBUTE BY",
    "rollup": "ROLLUP",
    "cube": "CUBE",
    "grouping_sets": "GROUPING SETS",
    "totals": "WITH TOTALS",
    "all": "GROUP BY ALL",
}
_HINTS = {
    "windows": "join with a GROUP BY of the same rows",
    "qualify": "join with a GROUP BY of the same rows",
    "laterals": "keep the elements in a table of their own, with a row for each",
    "sort": "a view has no order",
    "cluster": "a view has no order",
    "rollup": "a UNION ALL of several GROUP BY says the same",
    "cube": "a UNION ALL of several GROUP BY says the same",
    "grouping_sets": "a UNION ALL of several GROUP BY says the same",
    "all": "name the columns: GROUP BY a, b",
    "except_": "name the columns that you want",
}


def refuse_extras(lowering: Lowering, node: exp.Expr, *handled: str) -> None:
    """Refuse the first part of the node that is present and not among those handled."""
    for name, value in node.args.items():
        if name in handled or value is None or value is False or value == []:
            continue
        inner = value[0] if isinstance(value, list) else value
        place = inner if isinstance(inner, exp.Expr) else node
        what = _NAMES.get(name, name.replace("_", " ").strip().upper())
        raise UnsupportedError(
            f"{what} is not supported", span=lowering.span(place) or lowering.span(node), hint=_HINTS.get(name)
        )
