"""The architecture as a test: imports point down."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent / "src"

# From the ground up. A layer may import itself and the layers above it in this list; packages that share a line stand
# side by side and do not know each other.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("whence.model", "whence.errors"),
    ("whence.interrupts",),
    ("whence.deadline", "whence.logs"),
    ("whence.functions", "whence.algebra"),
    ("whence.columns",),
    ("whence.analysis", "whence.lang.datalog", "whence.lang.sql", "whence.sources"),
    ("whence.planning",),
    ("whence.rewriting",),
    ("whence.engines.engine", "whence.engines.program_difference"),
    ("whence.engines.reference",),
    ("whence.incremental",),
    ("whence.engines.local", "whence.engines.spark"),
    ("whence.session",),
    ("whence.storage.sqlite",),
    ("whence.storage.files",),
    ("whence.explain", "whence.adapt"),
    ("whence.database",),
    ("whence.spark",),
    ("whence.lab",),
    ("whence.database.connect",),
    ("whence.replica", "whence.documents"),
    ("whence.web",),
    ("whence.cli",),
)

# The model says where a text went wrong through its spans, and errors show spans: the ground layer is one piece.
ONE_PIECE = {"whence.model", "whence.errors"}

# Doors, not layers: `import whence` and `python -m whence` lead to what is below them.
DOORS = {"whence": "whence.replica", "whence.__main__": "whence.cli"}

LEVEL = {package: level for level, layer in enumerate(LAYERS) for package in layer}
FILES = sorted(ROOT.rglob("*.py"))


def module_name(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def package_of(module: str) -> str | None:
    """The layer entry that a module belongs to: the closest one."""
    module = DOORS.get(module, module)
    found = [name for name in LEVEL if module == name or module.startswith(name + ".")]
    return max(found, key=len, default=None)


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
            # What is imported by name, as `import_module("whence.cli.main")`, counts as well.
            case ast.Call(func=ast.Name(id="import_module") | ast.Attribute(attr="import_module"), args=[argument, *_]):
                assert isinstance(argument, ast.Constant), f"{file}:{node.lineno}: the layers cannot be told from this"
                if str(argument.value).split(".")[0] == "whence":
                    yield node.lineno, str(argument.value)


def exists(module: str) -> bool:
    path = ROOT.joinpath(*module.split("."))
    return path.is_dir() or path.with_suffix(".py").is_file()


def test_imports_point_down() -> None:
    wrong = []
    for file in FILES:
        module = module_name(file)
        here = package_of(module)
        for line, imported in imports(file):
            there = package_of(imported)
            if there is None:
                wrong.append(f"{module}:{line} imports {imported}, which is in no layer")
            elif here is not None and here != there and not {here, there} <= ONE_PIECE and LEVEL[there] >= LEVEL[here]:
                wrong.append(f"{module}:{line} imports {imported}, which is not below {here}")
    assert wrong == []


def test_the_product_does_not_need_the_laboratory() -> None:
    """Nothing imports it but the command that runs its experiments, and that when it is run."""
    users = {
        module
        for file in FILES
        if not (module := module_name(file)).startswith("whence.lab")
        and any(imported.startswith("whence.lab") for _, imported in imports(file))
    }
    assert users == {"whence.cli.experiment"}
    at_once = [
        node
        for node in ast.parse((ROOT / "whence" / "cli" / "experiment.py").read_text()).body
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("whence.lab")
    ]
    assert at_once == []


ENGINES = ("whence.engines.local", "whence.engines.reference", "whence.engines.spark")
ORACLE = "whence.engines.reference"


def is_within(module: str, package: str) -> bool:
    return module == package or module.startswith(package + ".")


def test_no_engine_imports_another() -> None:
    wrong = [
        f"{module}:{line} imports {imported}"
        for file in FILES
        for line, imported in imports(file)
        for engine in ENGINES
        if is_within(module := module_name(file), engine)
        and any(is_within(imported, other) for other in ENGINES if other != engine)
    ]
    assert wrong == []


def test_the_oracle_shares_no_code_with_what_it_judges() -> None:
    """It is naive evaluation over the model, the analysis and what functions mean, behind the engines' protocol."""
    ground = [f"whence.{name}" for name in ("model", "errors", "interrupts", "functions", "analysis", "engines.engine")]
    wrong = [
        f"{module_name(file)}:{line} imports {imported}"
        for file in FILES
        if is_within(module_name(file), ORACLE)
        for line, imported in imports(file)
        if not any(is_within(imported, package) for package in (ORACLE, *ground))
    ]
    assert wrong == []


def test_only_who_asks_for_the_oracle_gets_it() -> None:
    importing = {
        module_name(file)
        for file in FILES
        if not is_within(module_name(file), ORACLE)
        for _, imported in imports(file)
        if is_within(imported, ORACLE)
    }
    assert importing == {"whence.database.connect"}


def test_nobody_asks_which_engine_it_is() -> None:
    """Outside of the engines, what one can do is asked of its capabilities."""
    classes = {
        node.name
        for file in FILES
        if any(is_within(module_name(file), engine) for engine in ENGINES)
        for node in ast.parse(file.read_text()).body
        if isinstance(node, ast.ClassDef) and node.name.endswith(("Engine", "Evidence"))
    }
    assert {"LocalEngine", "LocalEvidence", "ReferenceEngine", "SparkEngine", "SparkEvidence"} <= classes
    wrong = [
        f"{module_name(file)}:{node.lineno}"
        for file in FILES
        if not is_within(module_name(file), "whence.engines")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("isinstance", "issubclass")
        and any(isinstance(name, ast.Name) and name.id in classes for name in ast.walk(node.args[1]))
    ]
    assert wrong == []


def test_no_relative_imports() -> None:
    wrong = [
        f"{file}:{node.lineno}: say where it comes from"
        for file in FILES
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.ImportFrom) and node.level
    ]
    assert wrong == []


def test_every_module_has_its_layer() -> None:
    for file in FILES:
        module = module_name(file)
        # A package that only holds layers (`whence.lang`) has nothing in its __init__ beside a docstring.
        if package_of(module) is None:
            body = ast.parse(file.read_text()).body
            assert any(name.startswith(module + ".") for name in LEVEL), f"{module} is in no layer"
            assert all(isinstance(node, ast.Expr) for node in body), f"{module} has code and is in no layer"


def test_every_layer_exists() -> None:
    assert [name for name in LEVEL if not exists(name)] == []
