"""Set-up on machines that lack something, played with stand-ins for python3 and apt-get."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# What the scripts need of a system beside Python.
TOOLS = ("sh", "dirname", "cat", "id", "env", "rm", "mkdir", "mktemp", "touch", "chmod")

OLD_PYTHON = "exit 1"
# As in Debian: `-m venv` exits with an error until the package that has ensurepip is there.
BARE_PYTHON = """
case "$*" in
    *version_info*) [ "${{*#*print}}" = "$*" ] || echo 3.11 ;;
    --version) echo Python 3.11.2 ;;
    "-m venv --without-pip"*) [ -e {box}/internet ] && mkdir -p .venv/bin && cp {box}/venv_python .venv/bin/python ;;
    "-m venv"*) [ -e {box}/package ] && mkdir -p .venv/bin && cp {box}/venv_python .venv/bin/python ;;
    "-m pip"*) [ -e {box}/pip ] ;;
    "-m virtualenv --version") exit 1 ;;
    "-m virtualenv"*) mkdir -p .venv/bin && cp {box}/venv_python .venv/bin/python ;;
    *) exit 1 ;;
esac
"""
APT_GET = 'echo "$@" >> {box}/apt.log; case "$*" in *install*) touch {box}/package ;; esac'


class Machine:
    """A directory of commands that stands for a whole machine, and a copy of the project's scripts."""

    def __init__(self, box: Path) -> None:
        self.box = box
        self.bin = box / "bin"
        self.project = box / "a project"
        self.bin.mkdir()
        shutil.copytree(ROOT / "scripts", self.project / "scripts")
        for tool in (*TOOLS, "cp"):
            path = shutil.which(tool)
            assert path is not None
            (self.bin / tool).symlink_to(path)
        self.command("../venv_python", 'echo "$@" >> {box}/pip.log')

    def command(self, name: str, script: str) -> None:
        file = self.bin / name
        # A tool here is a link into the real system: it is replaced, never written through.
        file.unlink(missing_ok=True)
        file.write_text("#!/bin/sh\n" + script.format(box=self.box))
        file.chmod(0o755)

    def setup(self) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.bin / "sh", "scripts/setup.sh"],
            cwd=self.project,
            env={"PATH": str(self.bin)},
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_no_python_new_enough(machine: Machine) -> None:
    machine.command("python3", OLD_PYTHON)
    done = machine.setup()
    assert done.returncode == 1
    assert "needs Python 3.11 or newer" in done.stderr
    assert "sudo apt-get install" in done.stderr


def test_a_newer_python_beside_an_old_one(machine: Machine) -> None:
    machine.command("python3", OLD_PYTHON)
    machine.command("python3.13", BARE_PYTHON)
    (machine.box / "package").touch()
    assert machine.setup().returncode == 0


def test_venv_from_the_system_package(machine: Machine) -> None:
    machine.command("python3", BARE_PYTHON)
    machine.command("apt-get", APT_GET)
    machine.command("id", "echo 0")
    done = machine.setup()
    assert done.returncode == 0, done.stderr
    assert "install -y -qq python3.11-venv" in (machine.box / "apt.log").read_text()
    assert "--editable .[dev]" in (machine.box / "pip.log").read_text()


@pytest.mark.parametrize("user", ["0", "1000"])
def test_virtualenv_where_there_is_no_package(machine: Machine, user: str) -> None:
    machine.command("python3", BARE_PYTHON)
    machine.command("id", f"echo {user}")
    machine.command("apt-get", "exit 100")
    (machine.box / "pip").touch()
    done = machine.setup()
    assert done.returncode == 0, done.stderr
    assert "virtualenv from PyPI" in done.stdout


def test_pip_from_pypi_where_there_is_neither_pip_nor_the_right_to_install_it(machine: Machine) -> None:
    machine.command("python3", BARE_PYTHON)
    machine.command("id", "echo 1000")
    (machine.box / "internet").touch()
    done = machine.setup()
    assert done.returncode == 0, done.stderr
    assert "scripts/fetch_pip.py" in (machine.box / "pip.log").read_text()


def test_it_says_what_to_type_when_nothing_helps(machine: Machine) -> None:
    machine.command("python3", BARE_PYTHON)
    machine.command("id", "echo 1000")
    done = machine.setup()
    assert done.returncode == 1
    assert "sudo apt-get install python3-venv" in done.stderr
    assert not (machine.project / ".venv").exists()


def test_java_is_installed_where_it_is_missing_or_old(machine: Machine) -> None:
    machine.command("python3", BARE_PYTHON)
    machine.command("id", "echo 0")
    machine.command("apt-get", APT_GET)
    machine.command("java", "cat {box}/java")
    (machine.box / "java").write_text('openjdk version "11.0.1" 2018-10-16')
    assert machine.setup().returncode == 0
    assert "install -y -qq openjdk-17-jre-headless" in (machine.box / "apt.log").read_text()


def test_without_java_there_is_a_word_about_spark(machine: Machine) -> None:
    machine.command("python3", BARE_PYTHON)
    machine.command("id", "echo 1000")
    (machine.box / "package").touch()
    done = machine.setup()
    assert done.returncode == 0
    assert "the Spark engine and its tests need Java 17 or newer" in done.stderr


@pytest.mark.parametrize("version", ['openjdk version "17.0.15" 2025-04-15', 'java version "21" 2023-09-19 LTS'])
def test_a_java_that_is_there_is_taken(machine: Machine, version: str) -> None:
    machine.command("python3", BARE_PYTHON)
    machine.command("java", "cat {box}/java")
    (machine.box / "java").write_text(version)
    (machine.box / "package").touch()
    done = machine.setup()
    assert (done.returncode, done.stderr) == (0, "")


def test_a_real_python(machine: Machine) -> None:
    """Past the stand-ins: this interpreter is found, and judged new enough."""
    machine.command("python3", f'exec "{sys.executable}" "$@"')
    found = subprocess.run(
        [machine.bin / "sh", "-c", ". scripts/python.sh; find_python"],
        cwd=machine.project,
        env={"PATH": str(machine.bin)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout == "python3\n"
