"""``servotwin optimise``."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from servotwin.cli.arguments import read_overrides, read_positions
from servotwin.cli.output import (
    print_heading,
    print_json,
    print_line,
    print_note,
    print_table,
    working,
    working_or_compiling,
)
from servotwin.cli.signals import finishing
from servotwin.cli.simulate import progress_bar
from servotwin.description.nodes import one_line
from servotwin.errors import InputError

if TYPE_CHECKING:
    from servotwin.motion.optimal.result import OptimalMotion
    from servotwin.motion.optimal.task import Task


def optimise(
    name: str,
    start: str | None,
    goal: str | None,
    via: Sequence[str] | None,
    overrides: Sequence[str] | None,
    *,
    out: str | None = None,
    play: str | None = None,
    overwrite: bool = False,
    json: bool = False,
    **wishes: Any,
) -> None:
    """Print an optimal motion, or write it with its figures, and play it on the drive-level simulator."""
    from servotwin.motion.errors import PathError
    from servotwin.motion.optimal.task_options import read_task
    from servotwin.simulation.results.folder import OPTIMAL_FILES, RUN_FILES, claimed_folder

    task = read_task(wishes, option_name)
    changes = read_overrides(overrides)

    with ExitStack() as claimed:  # a refusal comes before the work is done
        for folder, files in ((out, OPTIMAL_FILES), (play, RUN_FILES)):
            if folder is not None:
                claimed.enter_context(claimed_folder(folder, files, overwrite=overwrite))
        try:
            with working_or_compiling(f"optimising {one_line(name)}"):
                motion = _solved(name, changes, start, goal, via, task)
        except PathError as error:  # one motion: its number says nothing
            where = "" if error.place in (0.0, 1.0) else f"{100.0 * error.place:.4g} % of the path: "
            raise InputError(f"{where}{error.message}") from None
        places = {} if out is None else _write(motion, out, overwrite=overwrite)
        played = None if play is None else _play(motion, name, changes, play, overwrite=overwrite)
    if json:
        print_json({**places, **motion.summary(), **({} if played is None else {"played": played})})
        return
    _print(motion)
    if played is not None:
        print_line(
            f"played: the tool strays {1e3 * played['tip_error_max_m']:.3g} mm at most, "
            f"{1e3 * played['tip_error_final_m']:.3g} mm at the end"
        )
        places["run"] = played["report"]
    for what, where in places.items():
        print_line(f"{what + ':':<9}{where}")
    for note in motion.notes:
        print_note(f"note: {note}")
    for line in [] if played is None else played["warnings"]:
        print_note(f"warning: played: {line}")


def _solved(
    name: str,
    changes: dict[str, str],
    start: str | None,
    goal: str | None,
    via: Sequence[str] | None,
    task: Task,
) -> OptimalMotion:
    import numpy as np

    from servotwin.description.load import read_description
    from servotwin.mechanism.build import build_mechanism
    from servotwin.motion.optimal.optimise import optimise_motion, with_baseline
    from servotwin.robot.robot import Robot

    description = read_description(name, changes)
    robot = Robot(build_mechanism(description), title=description.title)
    ends = [robot.q_home if start is None else read_positions("--from", start, robot)]
    if goal is None:
        raise InputError("missing; expected the joint positions of the goal", field="--to")
    ends.append(read_positions("--to", goal, robot))
    if not via:
        motion = optimise_motion(robot, *ends, description=description, task=task)
        return with_baseline(motion, robot, description, task)
    points = [ends[0], *(read_positions("--via", text, robot) for text in via), ends[1]]
    return optimise_motion(robot, path=np.array(points), description=description, task=task)


def option_name(field: str) -> str:
    """How the command line calls an option of a task."""
    return f"--{field.replace('_', '-')}"


def _write(motion: OptimalMotion, out: str, *, overwrite: bool) -> dict[str, str]:
    from servotwin.report.optimal_page import write_optimal_report

    with finishing():
        files = write_optimal_report(motion, out, overwrite=overwrite)
    return {"report": str(files.page), "summary": str(files.summary), "signals": str(files.signals)}


def _play(
    motion: OptimalMotion, name: str, changes: dict[str, str], folder: str, *, overwrite: bool
) -> dict[str, Any]:
    """Play a motion with what the controller can feed forward, write the run; its errors and where it is."""
    from servotwin.report.simulation_files import write_result
    from servotwin.simulation.play_motion import play_motion

    with progress_bar(f"playing on {motion.robot}") as progress:
        result = play_motion(motion, name, changes, progress=progress)
    with working("writing the run"), finishing():
        files = write_result(result, folder, overwrite=overwrite)
    errors = {key: float(result.summary[key]) for key in ("tip_error_max_m", "tip_error_final_m")}
    return {**errors, "report": str(files.page), "warnings": list(result.summary["warnings"])}


def _print(motion: OptimalMotion) -> None:
    from servotwin.report.limit_words import is_reached, limit_gain, limit_name, limit_value

    line = f"{motion.robot}: {motion.duration:.4f} s for the least {motion.objective}"
    if motion.baseline is not None:
        line += f"; the best S-curve takes {motion.baseline:.4f} s"
    print_line(line)
    parts = []
    if motion.electric:
        parts = [f"copper loss {motion.copper_loss:.4g} J", f"mechanical work {motion.mechanical_work:.4g} J"]
    if motion.valves:
        parts.append(f"{motion.hydraulic_energy:.4g} J from the hydraulic supply")
    if parts:
        print_line(", ".join(parts))
    print_line(f"{motion.iterations} iterations, {motion.seconds:.2f} s of computing")
    print_heading("Limits that are reached")
    unit = motion.objective_unit
    columns = ("limit", "of", "value", "time at it", f"one more unit saves [{unit}]")
    rows = [
        (limit_name(use), use.who, limit_value(use), f"{100.0 * use.active:.0f} %", limit_gain(use))
        for use in sorted(motion.limits, key=lambda use: -use.gain * abs(use.value))
        if is_reached(use)
    ]
    if rows:
        print_table(columns, rows, text_columns=2)
    else:
        print_line("none")
