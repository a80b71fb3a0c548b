"""The architecture as a test: imports point down."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent / "src"

# From the ground up. A layer may import itself and the layers above it in this list; packages that share a line stand
# side by side and do not know each other.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("whence.model", "whence.errors"),
    ("whence.patience",),
    ("whence.functions", "whence.semirings", "whence.workloads"),
    ("whence.analysis", "whence.lang.datalog", "whence.lang.sql", "whence.sources"),
    ("whence.incremental", "whence.engines.engine"),
    ("whence.engines.evidence",),
    ("whence.engines.reference",),
    ("whence.engines.local",),
    ("whence.session",),
    ("whence.durable",),
    ("whence.engines.spark",),
    ("whence.explain",),
    ("whence.questions",),
    ("whence.database",),
    ("whence.cluster", "whence.network", "whence.following"),
    ("whence.experiments",),
    ("whence.connecting",),
    ("whence.web",),
    ("whence.cli",),
)

# The model says where a text went wrong through its spans, and errors show spans: the ground layer is one piece.
ONE_PIECE = {"whence.model", "whence.errors"}

# Doors, not layers: `import whence` and `python -m whence` lead to what is below them.
DOORS = {"whence": "whence.connecting", "whence.__main__": "whence.cli"}

LEVEL = {package: level for level, layer in enumerate(LAYERS) for package in layer}
FILES = sorted(ROOT.rglob("*.py"))


def module_name(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def package_of(module: str) -> str | None:
    """The layer entry that a module belongs to."""
    module = DOORS.get(module, module)
    return next((name for name in LEVEL if module == name or module.startswith(name + ".")), None)


def imports(file: Path) -> Iterator[tuple[int, str]]:
    """Every whence module that a file imports, at its top or inside a function, with the line."""
    for node in ast.walk(ast.parse(file.read_text(), str(file))):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names if alias.name.split(".")[0] == "whence")
            case ast.ImportFrom(level=0, module=str(module), names=names) if module.split(".")[0] == "whence":
                for alias in names:
                    inner = f"{module}.{alias.name}"
                    yield node.lineno, inner if exists(inner) else module
            # What is imported by name, as `import_module("whence.database")`, counts as well.
            case ast.Call(func=ast.Name(id="import_module") | ast.Attribute(attr="import_module"), args=[argument, *_]):
                assert isinstance(argument, ast.Constant), f"{file}:{node.lineno}: the layers cannot be told from this"
                if str(argument.value).split(".")[0] == "whence":
                    yield node.lineno, str(argument.value)


def exists(module: str) -> bool:
    path = ROOT.joinpath(*module.split("."))
    return path.is_dir() or path.with_suffix(".py").is_file()


@pytest.mark.parametrize("file", FILES, ids=module_name)
def test_imports_point_down(file: Path) -> None:
    module = module_name(file)
    here = package_of(module)
    for line, imported in imports(file):
        there = package_of(imported)
        assert there is not None, f"{module}:{line} imports {imported}, which is in no layer"
        if here is None or here == there or {here, there} <= ONE_PIECE:
            continue
        assert LEVEL[there] < LEVEL[here], f"{module}:{line} imports {imported}, which is not below {here}"


@pytest.mark.parametrize("file", FILES, ids=module_name)
def test_no_relative_imports(file: Path) -> None:
    for node in ast.walk(ast.parse(file.read_text())):
        assert not (isinstance(node, ast.ImportFrom) and node.level), f"{file}:{node.lineno}: say where it comes from"


@pytest.mark.parametrize("file", FILES, ids=module_name)
def test_every_module_has_its_layer(file: Path) -> None:
    module = module_name(file)
    # A package that only holds layers (`whence.lang`) has nothing in its __init__ beside a docstring.
    if package_of(module) is None:
        body = ast.parse(file.read_text()).body
        assert any(name.startswith(module + ".") for name in LEVEL), f"{module} is in no layer"
        assert all(isinstance(node, ast.Expr) for node in body), f"{module} has code and is in no layer"


def test_every_layer_exists() -> None:
    assert [name for name in LEVEL if not exists(name)] == []
