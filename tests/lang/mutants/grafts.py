"""SQL programs with an expression or a query of another program in the place of one of their own."""

from __future__ import annotations

from functools import cache
from random import Random

from sqlglot import exp

from tests.lang.mutants.texts import Text, all_texts, drawn
from whence.errors import WhenceError
from whence.lang.sql.dialect import statements
from whence.lang.sql.grammar import DIALECT
from whence.model.span import SourceText

_KINDS = (exp.Query, exp.Condition, exp.Join, exp.From)


def grafted(text: str, random: Random) -> str:
    """The program, whose tables and columns the grafted part then speaks of; itself where it cannot be read."""
    trees = _trees(text)
    places = [node for tree in trees for node in tree.walk() if node.parent is not None and isinstance(node, _KINDS)]
    if not places:
        return text
    old = random.choice(places)
    kind = next(kind for kind in _KINDS if isinstance(old, kind))
    new = random.choice(_parts(drawn(_donors()[kind], random).text)[kind]).copy()
    columns = [node.name for tree in trees for node in tree.find_all(exp.Column) if node.name]
    tables = [node.name for tree in trees for node in tree.find_all(exp.Table) if node.name]
    for node in list(new.walk()):
        if isinstance(node, exp.Column) and columns and isinstance(node.this, exp.Identifier):
            node.set("this", exp.to_identifier(random.choice(columns)))
            if random.random() < 0.7:
                node.set("table", None)
        elif isinstance(node, exp.Table) and tables and isinstance(node.this, exp.Identifier):
            node.set("this", exp.to_identifier(random.choice(tables)))
    old.replace(new)
    return ";\n".join(tree.sql(DIALECT) for tree in trees)


def _trees(text: str) -> list[exp.Expr]:
    try:
        return [tree for tree, _ in statements(SourceText("<sql>", text))]
    except WhenceError:
        return []


@cache
def _donors() -> dict[type[exp.Expr], list[Text]]:
    texts = [text for text in all_texts() if text.language == "sql"]
    return {kind: [text for text in texts if _parts(text.text)[kind]] for kind in _KINDS}


@cache
def _parts(text: str) -> dict[type[exp.Expr], list[exp.Expr]]:
    nodes = [node for tree in _trees(text) for node in tree.walk() if node.parent is not None]
    return {kind: [node for node in nodes if isinstance(node, kind)] for kind in _KINDS}
