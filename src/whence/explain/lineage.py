"""Where the columns of a view come from, as OpenLineage tells it: one run event for each view.

The job is the view, its run the version of the database that the event was made at, its inputs are the tables and views
that the definition reads, and its output is the view, with the column lineage. What front ends put between a view and
what it reads is seen through. The form is that of OpenLineage 2-0-2, with the facets `schema`, `columnLineage`, `sql`
and `outputStatistics`.
"""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from whence.analysis.analyze import Analysis
from whence.analysis.selection import column_sources
from whence.explain.explain import components_below
from whence.explain.proofs.text import words_of
from whence.model.rules import Rule
from whence.model.schema import Relation, comments, owner
from whence.rewriting.magic_sets import is_magic

PRODUCER = "https://pypi.org/project/whence"
_SPEC = "https://openlineage.io/spec"
_EVENT = f"{_SPEC}/2-0-2/OpenLineage.json#/$defs/RunEvent"
# The version of each facet.
_FACETS = {
    "ColumnLineageDatasetFacet": "1-2-0",
    "OutputStatisticsOutputDatasetFacet": "1-0-2",
    "SQLJobFacet": "1-1-0",
    "SchemaDatasetFacet": "1-2-0",
}


class Lineage:
    """The definitions of a database, for those who ask what comes from where. Datasets are in one namespace."""

    def __init__(self, analysis: Analysis, namespace: str) -> None:
        self._analysis = analysis
        self._namespace = namespace
        self._rules: dict[str, list[Rule]] = {}
        for rule in analysis.program.rules:
            if not is_magic(rule.head.relation):
                self._rules.setdefault(rule.head.relation, []).append(rule)

    def events(
        self, view: str, version: int, moment: datetime.datetime, sizes: Mapping[str, int]
    ) -> Iterator[dict[str, Any]]:
        """The event of a view, after those of the views that it reads. `sizes` has how many rows they have."""
        parts = components_below(view, self._analysis)
        for name in dict.fromkeys(owner(each) for part in parts for each in part.relations):
            if name in self._rules:
                yield self._event(name, version, moment, sizes[name])

    def inputs(self, view: str) -> list[str]:
        """The tables and views that the definition of a view reads."""
        own = (rule for name, rules in self._rules.items() if owner(name) == view for rule in rules)
        read = {owner(name) for rule in own for name in rule.reads} - {view}
        return [name for name in self._analysis.relations if name in read]

    def columns(self, view: str) -> dict[str, list[tuple[str, str]]]:
        """For each column of a view, the columns of its inputs that its values are made of."""
        names = self._analysis.relations[view].column_names
        return {name: self._sources(view, at) for at, name in enumerate(names)}

    def _sources(self, view: str, position: int) -> list[tuple[str, str]]:
        todo = [(view, position)]
        found: list[tuple[str, str]] = []
        for name, at in todo:
            for rule in self._rules.get(name, ()):
                for read, place in column_sources(rule, rule.head.terms[at]):
                    if owner(read) == view:
                        todo += [(read, place)] if (read, place) not in todo else []
                    else:
                        found.append((read, self._analysis.relations[read].column_names[place]))
        return list(dict.fromkeys(found))

    def _event(self, view: str, version: int, moment: datetime.datetime, rows: int) -> dict[str, Any]:
        fields = {
            column: {"inputFields": [{**self._dataset(name), "field": field} for name, field in sources]}
            for column, sources in self.columns(view).items()
        }
        relation = self._analysis.relations[view]
        output = {
            **self._dataset(view),
            "facets": {
                "schema": self._schema(relation),
                "columnLineage": {**_facet("ColumnLineageDatasetFacet"), "fields": fields},
            },
            "outputFacets": {"outputStatistics": {**_facet("OutputStatisticsOutputDatasetFacet"), "rowCount": rows}},
        }
        text = " ".join(dict.fromkeys(words for rule in self._rules[view] if (words := words_of(rule.span))))
        inputs = [self._analysis.relations[name] for name in self.inputs(view)]
        return {
            "eventType": "COMPLETE",
            "eventTime": moment.isoformat(),
            "producer": PRODUCER,
            "schemaURL": _EVENT,
            "run": {"runId": str(uuid.uuid5(uuid.NAMESPACE_URL, f"{self._namespace}/{view}/{version}"))},
            "job": {
                "namespace": self._namespace,
                "name": view,
                "facets": {"sql": {**_facet("SQLJobFacet"), "query": text}} if text else {},
            },
            "inputs": [{**self._dataset(each.name), "facets": {"schema": self._schema(each)}} for each in inputs],
            "outputs": [output],
        }

    def _dataset(self, name: str) -> dict[str, str]:
        return {"namespace": self._namespace, "name": name}

    def _schema(self, relation: Relation) -> dict[str, Any]:
        said = comments(relation)
        fields = [
            {"name": each.name, "type": each.type.name}
            | ({"description": said[each.name]} if each.name in said else {})
            for each in relation.columns
        ]
        return {**_facet("SchemaDatasetFacet"), "fields": fields}


def _facet(name: str) -> dict[str, str]:
    return {"_producer": PRODUCER, "_schemaURL": f"{_SPEC}/facets/{_FACETS[name]}/{name}.json#/$defs/{name}"}
