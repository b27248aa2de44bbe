"""Print the comparison with peers; exit code 1 if a target is missed.

``python -m benchmarks short`` measures everything once, without the parts that take minutes, and judges nothing.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import drives, dynamics, elastic, lock_step, planning, sizing, startup, workspace
from benchmarks.derivation import derivation_table
from benchmarks.timing import EFFORT, Row

PARTS: dict[str, Callable[[], list[Row]]] = {
    "batches": dynamics.batches,
    "single calls": dynamics.single_calls,
    "recursion": dynamics.recursion,
    "cold process": startup.cold_process,
    "first command": startup.first_run,
    "simulation": drives.simulation,
    "elastic gears": elastic.elastic,
    "lock-step": lock_step.lock_step,
    "first run": drives.first_run,
    "planning": planning.planning,
    "sizing": sizing.sizing,
    "workspace": workspace.workspace,
    "derivation": startup.derive_and_compile,
}
EQUATIONS = "equations"
MINUTES = ("first command", "first run", "derivation")  # left out of the short form


def readable(seconds: float) -> str:
    """A time in its natural unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def table(rows: Iterable[Row]) -> Table:
    """The comparison for people."""
    out = Table(title="ServoTwin beside its peers (one run, one thread)")
    for heading in ("what", "ServoTwin", "peer", "peer's time", "ratio", "target", ""):
        out.add_column(heading, justify="right" if heading in {"ratio", "target"} else "left")
    for row in rows:
        verdict = "" if EFFORT.short else "ok" if row.ratio >= row.target else "MISSED"
        out.add_row(
            row.what, readable(row.ours_s), row.peer, readable(row.peer_s),
            f"{row.ratio:.3g} x", f"{row.target:g} x", " ".join(filter(None, (verdict, row.note))),
        )  # fmt: skip
    return out


def wanted_parts(words: list[str]) -> list[str]:
    """The parts that the command line names, all of them if it names none."""
    named = [word for word in words if word != "short"]
    if unknown := [word for word in named if word not in (*PARTS, EQUATIONS)]:
        known = ", ".join(("short", *PARTS, EQUATIONS))
        print(f"there is no benchmark {unknown[0]!r}; expected some of: {known}", file=sys.stderr)
        sys.exit(2)
    EFFORT.short = "short" in words
    return named or [name for name in (*PARTS, EQUATIONS) if not (EFFORT.short and name in MINUTES)]


def main() -> int:
    """Run all parts, or those named on the command line."""
    console = Console(stderr=True)
    wanted = wanted_parts(sys.argv[1:])
    rows: list[Row] = []
    for name in wanted:
        if name in PARTS:
            with console.status(f"measuring: {name} ..."):
                rows += PARTS[name]()
    if rows:
        Console(width=150).print(table(rows))
    reached = True
    if EQUATIONS in wanted:
        with console.status("deriving equations beside sympy and symengine (minutes) ..."):
            comparison, reached = derivation_table(1 if EFFORT.short else None)
        Console(width=150).print(comparison)
    out = Path("out/bench.json")
    out.parent.mkdir(exist_ok=True)
    out.write_text(json.dumps([{**asdict(row), "ratio": row.ratio} for row in rows], indent=1))
    print(f"written: {out}")
    return 0 if EFFORT.short or (reached and all(row.ratio >= row.target for row in rows)) else 1


if __name__ == "__main__":
    sys.exit(main())
