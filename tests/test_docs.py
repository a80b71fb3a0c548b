"""The documentation runs: every snippet, the output shown below it, every docstring example, every link.

In a page, `python` blocks share one namespace and run from top to bottom. A `text` block that follows one directly is
what it prints. In a `console` block, a `$ whence ...` line is run and the lines below it are its output; a line of
`...` stands for lines left out.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib
import io
import os
import pkgutil
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import whence

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")])
MODULES = sorted(
    module.name for module in pkgutil.walk_packages(whence.__path__, "whence.") if module.name != "whence.__main__"
)


class Block(NamedTuple):
    language: str
    text: str
    line: int
    follows: bool
    """Only blank lines stand between this block and the one before it."""


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text()
    end = 0
    for fence in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        follows = not text[end : fence.start()].strip()
        yield Block(fence[1], fence[2], text.count("\n", 0, fence.start()) + 2, follows)
        end = fence.end()


def page_name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_snippets(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    namespace: dict[str, Any] = {"__name__": "__snippet__"}
    printed = ""
    for block in blocks(page):
        if block.language == "python":
            printed = run_python(page, block, namespace)
        elif block.language == "text" and block.follows and printed:
            assert printed.rstrip() == block.text.rstrip(), f"{page_name(page)}:{block.line} shows other output"
            printed = ""


def run_python(page: Path, block: Block, namespace: dict[str, Any]) -> str:
    """What the block prints. One written as a session at the prompt is checked on the spot."""
    if block.text.startswith(">>>"):
        example = doctest.DocTestParser().get_doctest(block.text, namespace, page.name, str(page), block.line)
        result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, clear_globs=False)
        assert not result.failed, f"{page_name(page)}:{block.line}"
        namespace.update(example.globs)
        return ""
    # The blank lines put the line numbers of a traceback where the block is in the page.
    code = compile("\n" * (block.line - 1) + block.text, str(page), "exec")
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(code, namespace)  # noqa: S102 - the project's own documentation
    return out.getvalue()


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_commands(page: Path) -> None:
    for block in blocks(page):
        if block.language != "console":
            continue
        for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block.text, re.MULTILINE):
            program, *arguments = shlex.split(command)
            if program == "whence" and shown.strip():
                expected = "".join(
                    r"(.*\n)*?" if line == "..." else re.escape(line.rstrip()) + r"\s*\n" for line in shown.splitlines()
                )
                assert re.fullmatch(expected, run_whence(arguments)), f"{page_name(page)}: {command} prints otherwise"


def run_whence(arguments: list[str]) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "whence", *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.stdout


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS).failed == 0


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_links(page: Path) -> None:
    """What a page points to in the project is there."""
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
        if not target.startswith(("http://", "https://")):
            assert (page.parent / target).exists(), f"{page_name(page)} points to {target}, which is not there"
