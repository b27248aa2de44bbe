"""``servotwin demo``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from servotwin.cli.arguments import read_overrides
from servotwin.cli.output import print_json, print_line

if TYPE_CHECKING:
    from servotwin.report.torque_report import ReportFiles

ROBOT = "gsis-scara"
LOAD = {"variables.load": "4 kg"}  # the most that Table 1 of its paper allows
STEPS = 5


def demo(out: str, overrides: Sequence[str] | None, *, json: bool) -> None:
    """Write the report of a full-range move, and say where it is."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    console = Console(stderr=True)
    columns = (BarColumn(bar_width=24), TextColumn("{task.description}"))
    with Progress(*columns, console=console, transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("loading the robot", total=STEPS)

        def progress(step: str) -> None:
            bar.update(task, advance=1, description=step)

        files, numbers = _write(out, {**LOAD, **read_overrides(overrides)}, progress)
    places = {"report": str(files.page), "summary": str(files.summary), "signals": str(files.signals)}
    if json:
        print_json({**places, **numbers})
        return
    for motor in numbers["motors"]:
        print_line(_motor_line(motor))
    print_line(f"summary: {places['summary']}")
    print_line(f"signals: {places['signals']}")
    print_line(f"report:  {places['report']}")


def _write(
    out: str, changes: Mapping[str, str], progress: Callable[[str], None]
) -> tuple[ReportFiles, dict[str, Any]]:
    """Load, compute and write; the files and the numbers in them."""
    from servotwin.description.load import read_description
    from servotwin.mechanism.build import build_mechanism
    from servotwin.robot.robot import Robot

    description = read_description(ROBOT, changes)
    robot = Robot(build_mechanism(description), title=description.title)
    progress("computing the move")
    from servotwin.report.demo_move import full_range_move
    from servotwin.report.torque_study import study_torques, summary

    study = study_torques(robot, description, full_range_move(robot))
    progress("loading the plotting library")
    from servotwin.report.torque_report import write_torque_report

    files = write_torque_report(study, out, progress)
    return files, summary(study)


def _motor_line(motor: Mapping[str, Any]) -> str:
    torques = {word: motor[f"{word}_torque_N_m"] for word in ("peak", "rms", "rated")}
    stated = [f"{word} {torque:.3f} N m" for word, torque in torques.items() if torque is not None]
    return f"motor {motor['name']}: {', '.join(stated)}"
