"""`import whence` costs next to nothing, and gives everything when asked."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import whence

HEAVY = ("pyarrow", "duckdb", "sqlglot", "lark", "numpy", "pandas", "pyspark", "numba")


def loaded_by(code: str) -> set[str]:
    """The heavy libraries that a fresh interpreter has loaded after the code."""
    report = f"\nimport sys; print(*[name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code + report], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_import_loads_no_heavy_library() -> None:
    assert loaded_by("import whence") == set()


def test_errors_load_no_heavy_library() -> None:
    assert loaded_by("import whence; whence.WhenceError; whence.errors.DataError") == set()


def test_a_database_of_tuples_loads_no_heavy_library() -> None:
    assert loaded_by("import whence; whence.connect().close()") == set()


def test_names_are_found() -> None:
    from whence.database.connect import connect
    from whence.database.database import Database
    from whence.errors import WhenceError

    assert (whence.connect, whence.Database, whence.WhenceError) == (connect, Database, WhenceError)
    assert whence.errors.DataError is whence.DataError
    assert {"connect", "Database", "ParseError", "__version__"} <= set(dir(whence))


def test_every_error_class_is_public() -> None:
    from whence import errors

    classes = {name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, Exception)}
    assert classes <= set(whence.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'whence' has no attribute 'conect'"):
        getattr(whence, "conect")  # noqa: B009 mypy would not let it pass


def test_the_page_without_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("whence.web")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "fastapi", None)
    with pytest.raises(whence.UnsupportedError) as caught:
        importlib.import_module("whence.web").serve  # noqa: B018 - what is loaded then
    assert caught.value.message == "the page needs fastapi, which is not installed"
    assert caught.value.hint == "pip install 'whence[serve]'"


def test_views_of_functions_are_for_spark() -> None:
    with pytest.raises(whence.UnsupportedError, match="only a database on Spark") as caught:
        whence.connect().define(object())
    assert "execute(...)" in str(caught.value.hint)
