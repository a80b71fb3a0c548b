from __future__ import annotations

import pytest

from tests.engines.local import machine_steps


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if machine_steps.TAKEN:
        terminalreporter.write_line(machine_steps.summary())
