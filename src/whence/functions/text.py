"""Values as text: as CAST(... AS STRING) writes them, and as messages show them."""

from __future__ import annotations

import datetime
import decimal

LONGEST_SHOWN = 60


def shown(value: object) -> str:
    """A value for a message: like a SQL literal, and never long."""
    return shortened(_literal(value))


def shortened(text: str) -> str:
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 3] + "..."


def double_text(value: float) -> str:
    """As the JVM writes doubles: 1.5, 0.001, 1.0E7, 1.0E-4."""
    if 1e-3 <= abs(value) < 1e7 or value == 0:
        return format(decimal.Decimal(repr(value)), "f")
    mantissa, _, exponent = f"{decimal.Decimal(repr(value)).normalize():E}".partition("E")
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}E{int(exponent)}"


def timestamp_text(value: datetime.datetime) -> str:
    """`2026-01-31 12:00:00`, with the fraction of the second only where there is one."""
    text = value.isoformat(sep=" ", timespec="seconds")
    return text if not value.microsecond else f"{text}.{value.microsecond:06d}".rstrip("0")


def _literal(value: object, depth: int = 0) -> str:
    # What is far longer or deeper than what is shown is cut before it is written.
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
        case str():
            return repr(value[: LONGEST_SHOWN + 1])
        case decimal.Decimal() if value.is_finite() and abs(value.adjusted()) < LONGEST_SHOWN:
            return format(value, "f")
        case datetime.date():
            return str(value)
        case int() if abs(value) >= 10**LONGEST_SHOWN:
            return f"an integer of {value.bit_length()} bits"
        case tuple() | list():
            items = (_literal(item, depth + 1) for item in value[:LONGEST_SHOWN])
            return f"[{', '.join(items)}]" if depth < 3 else "[...]"
        case decimal.Decimal():
            return str(value)
    return repr(value)
