from __future__ import annotations

import pytest

from tests.random import tally


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if tally.OUTCOMES:
        terminalreporter.write_line(tally.summary())
