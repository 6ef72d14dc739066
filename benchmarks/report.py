"""What came out of a run: a table for people, and JSON with all that is needed to judge it.

Entry points: `show`, `document`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from benchmarks.measurement import SEED, Measurement, Row, Settings
from benchmarks.timing import Spread
from offgrid.experiments.provenance import machine, versions


def document(settings: Settings) -> dict[str, Any]:
    """Return the beginning of the JSON document: everything but the results."""
    from threadpoolctl import threadpool_info

    from offgrid.engine.threads import thread_count

    pools = [{key: pool[key] for key in ("internal_api", "version", "num_threads")} for pool in threadpool_info()]
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "versions": versions(),
        "threads": {"offgrid": thread_count(), "linear_algebra": pools},
        "seed": SEED,
        "rounds": settings.rounds,
        "full": settings.full,
        "data": None if settings.data is None else str(settings.data),
        "results": [],
    }


def show(measurement: Measurement, rows: Sequence[Row], console: Console) -> None:
    """Print one measurement: what is compared, in words, and a table."""
    console.print(f"{measurement.name}: {measurement.title}", style="bold")
    console.print(Padding(measurement.explanation, (0, 0, 0, 2)))
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("what")
    beside = any(row.theirs is not None for row in rows)
    aimed = any(row.target is not None for row in rows)
    headings = ["ours", *(["theirs", "theirs / ours", "who"] if beside else []), *(["target"] if aimed else [])]
    for heading in headings:
        table.add_column(heading, justify="left" if heading == "who" else "right")
    for row in rows:
        cells = [row.label, _value(row.ours, row.unit)]
        if beside:
            ratio = "" if row.ratio is None else f"{row.ratio:.3g}"
            cells += [_value(row.theirs, row.unit), ratio, row.against]
        if aimed:
            cells.append("" if row.target is None else f"{'≥' if row.theirs else '≤'} {row.target:g}")
        table.add_row(*cells)
    console.print(table)
    for row in rows:
        if row.note or row.skipped:
            words = f"Left out: {row.skipped}" if row.skipped else row.note
            console.print(Padding(f"{row.label}: {words}", (0, 0, 0, 2)))
    console.print()


def _value(spread: Spread | None, unit: str) -> str:
    """Return a median in words; seconds in a unit that fits."""
    if spread is None:
        return "-"
    value = spread.median
    if unit != "s":
        return f"{value:.3g} {unit}".rstrip() if abs(value) < 1000 else f"{value:,.0f} {unit}"
    for scale, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if value >= scale:
            return f"{value / scale:.3g} {name}"
    return f"{value / 1e-6:.2g} µs"
