"""``servotwin simulate``."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from servotwin.cli.arguments import read_overrides
from servotwin.cli.compiling import compiling_words, watch_compiler
from servotwin.cli.hung_code import code_can_be_ended
from servotwin.cli.output import (
    compiled_words,
    number,
    print_json,
    print_line,
    print_note,
    print_table,
    working,
)
from servotwin.cli.signals import check, finishing
from servotwin.description.display import BAR, GRAMS, MM, MS, PERCENT, RPM, of_unit
from servotwin.description.nodes import Origin, quoted
from servotwin.description.placed import Placed
from servotwin.errors import InputError, SimulationError

if TYPE_CHECKING:
    from servotwin.report.simulation_files import ResultFiles
    from servotwin.simulation.preflight.budget import Budget
    from servotwin.simulation.results.result import Result
    from servotwin.simulation.scenario.scenario import Scenario

DONE, FAILED, INTERRUPTED = 0, 1, 130
LONG = 2.0  # s of compiling that are worth a line
SENSIBLE = 1e5  # values and percentages beyond are those of a run that diverged
# Fields of a scenario file; every other name is a field of the robot file.
SCENARIO_FIELDS = frozenset(
    (
        "title",
        "robot",
        "set",
        "plant",
        "start",
        "initial",
        "move",
        "repeat",
        "solver",
        "seed",
        "record",
        "faults",
        "environment",
    )
)


def list_scenarios(*, json: bool) -> None:
    """Print the scenarios that ship with the package."""
    with working("reading the scenarios"):
        from servotwin.workbench.listing import list_scenarios as run

        found = run()
    if json:
        print_json(list(found))
        return
    rows = [(entry["name"], entry["robot"], entry["title"]) for entry in found]
    print_table(("name", "robot", "title"), rows, text_columns=3)


def simulate(
    scenario: str | None,
    out: str | None,
    overrides: Sequence[str] | None,
    plant: Sequence[str] | None,
    *,
    method: str | None = None,
    pwm: str | None = None,
    seed: str | None = None,
    record: str | None = None,
    law: Sequence[str | None] = (),
    allow_code: bool = False,
    every: bool = False,
    max_memory: str | None = None,
    max_time: str | None = None,
    report: bool = True,
    overwrite: bool = False,
    json: bool = False,
) -> int:
    """Run a scenario, write its result and say where it is; the exit code.

    ``law`` holds the options --law, --period and --level; without ``allow_code`` no law of a file is run.
    """
    if every:
        list_scenarios(json=json)
        return DONE
    if scenario is None:
        raise InputError(
            "no scenario is given; expected a name of 'servotwin simulate --list' or a .yaml file",
            field="NAME-OR-FILE",
        )
    from servotwin.hil.scenario import is_substitution

    if is_substitution(scenario):
        from servotwin.cli.substitution import refuse_options, simulate_substitution

        refuse_options(
            {"--plant": plant, "--method": method, "--pwm": pwm, "--record": record, "--law": any(law)}
        )
        return simulate_substitution(
            scenario,
            out,
            overrides,
            seed=seed,
            allow_code=allow_code,
            report=report,
            overwrite=overwrite,
            json=json,
        )
    changes = scenario_overrides(overrides, plant, method, pwm, *law)
    for option, field, text in (("--seed", "seed", seed), ("--record", "record.every", record)):
        if text is not None:
            changes[field] = Placed(text, Origin(option))
    read_limits(max_memory, max_time)
    with working("reading the scenario"):
        from servotwin.simulation.scenario.law_file import check_allowed
        from servotwin.simulation.scenario.scenario import read_scenario

        chosen = read_scenario(scenario, changes)
        check_allowed(chosen.law, allow_code)
    folder = out or f"out/{chosen.name}"
    from servotwin.simulation.results.folder import RUN_FILES, claimed_folder

    with claimed_folder(folder, RUN_FILES, overwrite=overwrite):  # a refusal comes before the work is done
        result, failure = run_scenario(
            chosen, max_memory=max_memory, max_time=max_time, allow_code=allow_code
        )
    with working("writing the result"), finishing():
        from servotwin.report.simulation_files import write_result

        files = write_result(result, folder, report=report, overwrite=overwrite)
    _print_result(result, files, json=json)
    return how_it_ended(result, failure, folder)


def read_limits(max_memory: str | None, max_time: str | None) -> Budget:
    """The options --max-memory and --max-time; what is not accepted is said before anything is read."""
    from servotwin.simulation.preflight.budget import read_budget

    return read_budget(max_memory, max_time)


def run_scenario(
    scenario: Scenario,
    *,
    max_memory: str | None = None,
    max_time: str | None = None,
    allow_code: bool = False,
) -> tuple[Result, SimulationError | None]:
    """What there is of a run, and why there is no more of it."""
    with progress_bar(f"simulating {scenario.name}") as progress, code_can_be_ended():
        from servotwin import simulate as run

        try:
            result = run(
                scenario, allow_code=allow_code, progress=progress, max_memory=max_memory, max_time=max_time
            )
            return result, None
        except SimulationError as error:
            if error.partial is None:
                raise
            return error.partial, error


def how_it_ended(result: Result, failure: SimulationError | None, folder: str | Path) -> int:
    """The exit code of a run; says why there is less of it than was asked for."""
    sys.stdout.flush()  # what comes now is the last line, wherever both streams go
    if failure is not None:
        print_note(f"{failure} (what there is of the run: {folder})")
        return FAILED
    if not result.complete:
        at = result.summary["simulated_s"]
        print_note(f"interrupted at {at:.4g} s; the result up to there is in {folder}")
        return INTERRUPTED
    return DONE


def scenario_overrides(
    overrides: Sequence[str] | None,
    plant: Sequence[str] | None,
    method: str | None = None,
    pwm: str | None = None,
    law: str | None = None,
    period: str | None = None,
    level: str | None = None,
) -> dict[str, str]:
    """The options as changes of the scenario file: ``--set`` of either file, ``--plant`` of the truth alone."""
    from servotwin.simulation.scenario.parts import METHODS, PWM

    changes = {}
    for field, value in read_overrides(overrides).items():
        own = field.split(".")[0] in SCENARIO_FIELDS or field == "payload"
        changes[field if own else f"set.{field}"] = value
    for field, value in read_overrides(plant, "--plant").items():
        changes[f"plant.set.{field}"] = value
    if method is not None:
        changes["solver.method"] = _choice("--method", method, METHODS)
    if pwm is not None:
        changes["solver.pwm"] = _choice("--pwm", pwm, PWM)
    for option, field, text in (
        ("--law", "controller.law", law),
        ("--period", "controller.period", period),
        ("--level", "controller.level", level),
    ):
        if text is not None:
            changes[field] = Placed(text, Origin(option))
    return changes


def _choice(option: str, text: str, known: Sequence[str]) -> str:
    if text not in known:
        raise InputError(f"{quoted(text)} is not accepted; expected one of {', '.join(known)}", field=option)
    return text


@contextmanager
def progress_bar(text: str) -> Iterator[Callable[[float], None]]:
    """A progress bar on stderr, if a person watches; until the first part is done it says if numba compiles."""
    if not sys.stderr.isatty():
        yield lambda fraction: check()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (
        BarColumn(bar_width=24),
        TaskProgressColumn(),
        TextColumn("{task.description}", markup=False),
        TimeRemainingColumn(compact=True),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(text, total=1.0)

        def show(compiling: bool) -> None:
            if compiling:  # between two pieces it goes on compiling, so that only the first part ends it
                bar.update(task, description=f"{text}: {compiling_words()}")

        def advance(fraction: float) -> None:
            check()
            bar.update(task, completed=fraction, description=text)

        with watch_compiler(show):
            yield advance


def _print_result(result: Result, files: ResultFiles, *, json: bool) -> None:
    from servotwin.report.simulation_files import stored_summary

    numbers = stored_summary(result)
    places = {
        "report": files.page,
        "summary": files.summary,
        "signals": files.signals,
        "zoom": files.zoom,
    }
    if json:
        shown = {name: None if path is None else str(path) for name, path in places.items()}
        print_json({**shown, **numbers})
        return
    print_table(COLUMNS, [_axis_row(axis) for axis in numbers.get("axes", [])])
    print_line()
    for line in _lines(numbers):
        print_line(line)
    for line in numbers.get("notes", []):
        print_line(f"note: {line}")
    for line in numbers.get("warnings", []):
        print_note(f"warning: {line}")
    last = "report" if files.page is not None else "signals"
    for name in ("summary", "signals", "report"):
        if places[name] is not None and name != last:
            print_line(f"{name}: {places[name]}")
    print_line(f"{last}: {places[last]}")


COLUMNS = (
    "motor",
    "peak torque [N m]",
    "RMS torque [N m]",
    "rated torque [N m]",
    "peak / rated",
    "RMS / rated",
    "peak speed [rpm]",
    "peak current [A]",
)


def hydraulic_lines(numbers: Mapping[str, Any] | None) -> list[str]:
    """Pressures, valves and oil of a run, a line for each hydraulic axis and one for the oil."""
    if not numbers:
        return []
    lines = [
        f"hydraulic axis {axis['motor']}: chamber A {_bars(axis, 'pressure_a')}, "
        f"chamber B {_bars(axis, 'pressure_b')}, valve at most "
        f"{_sensible(_times(PERCENT, axis['valve_opening_max']), '.3g')} % open"
        for axis in numbers["axes"]
    ]
    missing, supplied = numbers["mass_error_relative"], numbers["from_supply_kg"]
    if missing is None or supplied is None:  # of a run that diverged
        return [*lines, "oil: the run diverged, and its oil cannot be counted"]
    return [
        *lines,
        f"oil: {GRAMS * supplied:.4g} g from the supply; {abs(missing):.1e} of the oil moved is unaccounted for",
    ]


def _bars(axis: Mapping[str, Any], chamber: str) -> str:
    """Lowest and highest pressure of a chamber."""
    low, high = (_sensible(_times(BAR, axis[f"{chamber}_{end}_Pa"]), ".3g") for end in ("min", "max"))
    return f"{low} to {high} bar"


def _times(factor: float, value: float | None) -> float | None:
    return None if value is None else factor * value


def _axis_row(axis: Mapping[str, Any]) -> list[str]:
    if axis.get("hydraulic"):
        return _hydraulic_row(axis)
    speed = axis.get("peak_speed_rad_per_s")
    rated = axis.get("rated_torque_N_m")

    def share(key: str) -> str:
        value = axis.get(key)
        return f"{_sensible(100 * value / rated, '.0f')} %" if rated and value is not None else "-"

    return [
        str(axis.get("motor", "")),
        _sensible(axis.get("peak_torque_N_m"), ".4g"),
        _sensible(axis.get("rms_torque_N_m"), ".4g"),
        number(rated, 4),
        share("peak_torque_N_m"),
        share("rms_torque_N_m"),
        "-" if speed is None else _sensible(RPM * speed, ".0f"),
        _sensible(axis.get("peak_current_A"), ".4g"),
    ]


def _hydraulic_row(axis: Mapping[str, Any]) -> list[str]:
    """A piston with the units of its force and speed; a hydraulic motor has a torque and turns."""
    piston = "peak_force_N" in axis
    kind, unit = ("force_N", " N") if piston else ("torque_N_m", "")
    speed = axis.get("peak_speed_m_per_s" if piston else "peak_speed_rad_per_s")
    shown = _sensible(speed, ".4g") if piston else _sensible(_times(RPM, speed), ".0f")
    efforts = (_sensible(axis.get(f"{size}_{kind}"), ".4g") for size in ("peak", "rms"))
    return [
        str(axis.get("motor", "")),
        *(text if text == "-" else f"{text}{unit}" for text in efforts),
        *("-", "-", "-"),
        f"{shown} m/s" if piston and shown != "-" else shown,
        _sensible(axis.get("peak_current_A"), ".4g"),
    ]


def _sensible(value: float | None, pattern: str) -> str:
    """A number of the table; what only a run that diverged can show is cut."""
    if value is None or not math.isfinite(value):
        return "-"
    return format(value + 0.0, pattern) if abs(value) < SENSIBLE else f"> {SENSIBLE:.0f}"


def _lines(numbers: Mapping[str, Any]) -> list[str]:
    """The rest in words: tip error, settling, energy, speed of the simulation."""
    from servotwin.simulation.results.summary import mixed_commands

    commands = mixed_commands(numbers.get("axes", []))
    lines = [f"servo drivers: {commands}"] if commands else []
    final, most = numbers.get("tip_error_final_m"), numbers.get("tip_error_max_m")
    if final is not None and most is not None:
        lines.append(f"tip error: {MM * final:.4g} mm at the end, {MM * most:.4g} mm at most")
    if numbers.get("settling_s") is not None:
        lines.append(f"settled {MS * numbers['settling_s']:.3g} ms after the end of the command")
    lines += _slowest_joint(numbers)
    for place in (numbers.get("repeatability") or [])[:1]:
        accuracy, spread = MM * place["accuracy_m"], MM * place["repeatability_m"]
        lines.append(
            f"pose visited {place['visits']} times: accuracy {accuracy:.2g} mm, repeatability {spread:.2g} mm"
        )
    if numbers.get("shaping_s") is not None:
        lines.append(f"input shaping: the motion is {1e3 * numbers['shaping_s']:.0f} ms longer")
    balance = (numbers.get("energy") or {}).get("balance_error_relative")
    if balance is not None and abs(balance) < 1.0:  # a run that diverged has none
        lines.append(f"energy balance: {abs(balance):.1e} of the energy moved is unaccounted for")
    from servotwin.simulation.results.limits_met import bus_words
    from servotwin.simulation.results.window_counts import window_words

    words = (bus_words(numbers.get("bus")), window_words(numbers.get("windows")))
    lines += [line for line in words if line]
    if numbers.get("real_time_factor") is not None:
        lines.append(
            f"speed: {numbers['real_time_factor']:.3g} times real time "
            f"({numbers['simulated_s']:.4g} s in {numbers['wall_s']:.3g} s)"
        )
    if numbers.get("compile_s", 0.0) > LONG:
        lines.append(compiled_words(numbers["compile_s"]))
    lines += hydraulic_lines(numbers.get("hydraulics"))
    return lines


def _slowest_joint(numbers: Mapping[str, Any]) -> list[str]:
    """The joint that settled last, or those that did not, with the band that it should stay in."""
    axes = [axis for axis in numbers.get("axes", []) if axis.get("joint_settling_band") is not None]
    if not axes or numbers.get("failure") is not None:
        return []
    late = [axis for axis in axes if axis["joint_settling_s"] is None]
    if late:
        names = ", ".join(f"{axis['joint']} (within {_band(axis)})" for axis in late)
        return [f"joints that did not settle: {names}"]
    last = max(axes, key=lambda axis: float(axis["joint_settling_s"]))
    return [
        f"joints settled {MS * last['joint_settling_s']:.3g} ms after the end of the command, "
        f"{last['joint']} last (within {_band(last)})"
    ]


def _band(axis: Mapping[str, Any]) -> str:
    """The band in which a joint counts as settled, with its unit."""
    band = float(axis["joint_settling_band"])
    return of_unit(axis["joint_error_unit"]).text(band, ".2g" if axis["joint_error_unit"] == "rad" else ".3g")
