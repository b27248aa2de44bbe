"""``servotwin tune``."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

from servotwin.cli.arguments import outside_limits, read_overrides, read_positions, read_quantity
from servotwin.cli.output import print_heading, print_json, print_line, print_note, print_table, working
from servotwin.cli.signals import finishing
from servotwin.description.display import DEG, MS
from servotwin.description.nodes import quoted
from servotwin.errors import InputError

if TYPE_CHECKING:
    from servotwin.control.tuning.loops import Loop
    from servotwin.design.tuning import Tuning


def tune(
    name: str,
    q: str | None,
    payload: str | None,
    current: str | None,
    speed: str | None,
    position: str | None,
    out: str | None,
    overrides: Sequence[str] | None,
    *,
    overwrite: bool = False,
    json: bool,
) -> None:
    """Print gains and margins, or write them with their figures."""
    from servotwin.description.load import read_description

    changes = read_overrides(overrides)
    most = _payload(payload)
    asked = {
        "current": _bandwidth("current", current, "rad/s", "1200 rad/s"),
        "speed": _bandwidth("speed", speed, "rad/s", "150 rad/s"),
        "position": _bandwidth("position", position, "1/s", "30 1/s"),
    }
    with working(f"tuning {name}"):
        from servotwin.design.tuning import tune as compute
        from servotwin.mechanism.build import build_mechanism
        from servotwin.robot.robot import Robot
        from servotwin.simulation.results.folder import TUNE_FILES, claimed_folder

        description = read_description(name, changes)
        pose = None if q is None else read_positions("--q", q, Robot(build_mechanism(description)))
        claimed = nullcontext() if out is None else claimed_folder(out, TUNE_FILES, overwrite=overwrite)
        with claimed:  # a refusal comes before the work is done
            tuning = compute(
                description,
                pose,
                payload_max=most,
                current_bandwidth=asked["current"],
                speed_bandwidth=asked["speed"],
                position_bandwidth=asked["position"],
            )
    places = {} if out is None else _write(tuning, out, overwrite=overwrite)
    if json:
        from servotwin.report.tune_page import tuning_data

        print_json({**places, **tuning_data(tuning)})
    else:
        _print(tuning)
        for what, where in places.items():
            print_line(f"{what + ':':<9}{where}")
    beyond = outside_limits(tuning.robot, tuning.q)
    if beyond:
        print_note(f"note: outside the limits: {', '.join(beyond)}")
    for line in tuning.remarks:
        print_note(f"note: {line}")
    for line in tuning.warnings:
        print_note(f"warning: {line}")


def _bandwidth(loop: str, text: str | None, unit: str, example: str) -> float | None:
    """The bandwidth of a loop's option in SI, above zero."""
    if text is None:
        return None
    name = f"bandwidth of the {loop} loop"
    value = read_quantity(f"--{loop}", text, unit, name=name, example=example)
    if not value > 0.0:
        wanted = f"more than zero, such as '{example}'"
        raise InputError(f"{name}: {quoted(text)} is none; expected {wanted}", field=f"--{loop}")
    return value


def _payload(text: str | None) -> float | None:
    """The mass of ``--payload`` [kg], zero or more."""
    if text is None:
        return None
    value = read_quantity("--payload", text, "kg", name="largest payload", example="4 kg")
    if value < 0.0:
        raise InputError(
            f"{quoted(text)} is negative; expected zero or more, such as '4 kg'", field="--payload"
        )
    return value


def _write(tuning: Tuning, out: str, *, overwrite: bool) -> dict[str, str]:
    from servotwin.report.tune_page import write_tune_report

    with working("drawing"), finishing():
        files = write_tune_report(tuning, out, overwrite=overwrite)
    return {"report": str(files.page), "summary": str(files.summary)}


def _print(tuning: Tuning) -> None:
    print_line(
        f"{tuning.robot.name}: current {tuning.current_bandwidth:g} rad/s, speed {tuning.speed_bandwidth:g} "
        f"rad/s (integral time {MS * tuning.integral_time:.3g} ms), position {tuning.position_bandwidth:g} 1/s"
    )
    print_heading("Gains at the motor side")
    names = ("position", "speed_proportional", "speed_integral", "current_proportional", "current_integral")
    columns = ("axis", "K_x [1/s]", "K_pn [A s/rad]", "K_in [A/rad]", "K_pi [V/A]", "K_ii [V/(A s)]")
    sliding = tuning.cylinders
    units = {"speed_proportional": " A s/m", "speed_integral": " A/m"}
    rows = [
        (
            axis.motor,
            *(
                f"{getattr(axis.gains, n):.4g}{units.get(n, '') if axis.motor in sliding else ''}"
                for n in names
            ),
        )
        for axis in tuning.axes
    ]
    print_table(columns, rows)
    _print_valves(tuning)
    fixed = [axis for axis in tuning.axes if axis.integers is not None]
    if fixed:
        print_heading("The same as integers over 256")
        rows = [(axis.motor, *(str(getattr(axis.integers, n)) for n in names)) for axis in fixed]
        print_table(("axis", "K_x", "K_pn", "K_in", "K_pi", "K_ii"), rows)
    _print_commands(tuning)
    print_heading("Margins")
    headings = (
        "axis",
        "load",
        "loop",
        "J [kg m2]",
        "phase [deg]",
        "gain",
        "crossover [rad/s]",
        "-3 dB [rad/s]",
    )
    margins = [
        (
            axis.motor,
            case.load,
            loop.name,
            f"{case.at.J:.4g}{' kg' if axis.motor in sliding else ''}",
            *_cells(loop),
        )
        for axis in tuning.axes
        for case in axis.cases
        for loop in case.loops.all
    ]
    print_table(headings, margins, text_columns=3)
    _print_stroke(tuning)
    _print_modes(tuning)


def _print_modes(tuning: Tuning) -> None:
    """Modes of an arm on elastic gears, what its motors see of them, and what that leaves of the speed loops."""
    arm = tuning.arm
    if arm is None:
        return
    from servotwin.design.mode_table import LIMIT_COLUMNS, hertz, limit_row, mode_groups, shape_cells

    print_heading("Modes at the design pose")
    columns = ("motors", "frequency [Hz]", "damping", *arm.joints)
    rows = [
        (word, f"{mode.hertz:.2f}", f"{mode.damping:.3f}", *shape_cells(mode))
        for word, modes in mode_groups(arm)
        for mode in modes
    ]
    print_table(columns, rows, text_columns=1)
    print_heading("What each motor sees, the others held")
    rows = []
    for j, motor in enumerate(arm.motors):
        view = arm.view(j)
        rows.append((motor, hertz(view.resonances), hertz(view.antiresonances)))
    print_table(("motor", "resonances [Hz]", "antiresonances [Hz]"), rows, text_columns=1)
    print_heading("What holds the speed loops down")
    limited = [(axis, axis.limit) for axis in tuning.axes if axis.limit is not None]
    print_table(LIMIT_COLUMNS, [limit_row(axis, limit) for axis, limit in limited], text_columns=1)
    for axis, limit in limited:
        print_line(f"{axis.motor}: {limit.cause}")


def _print_stroke(tuning: Tuning) -> None:
    """Loops of cylinders over their stroke: the worst of all loads at every position."""
    for axis in tuning.axes:
        if not axis.stroke:
            continue
        print_heading(f"{axis.motor} over its stroke, least of all loads")
        rows = []
        for case in (case for case in axis.stroke if case.load == "design"):
            there = [other.loops for other in axis.stroke if other.position == case.position]
            cells = []
            for k in range(3):
                loops = [found.all[k] for found in there]
                phases = [loop.phase_margin for loop in loops if loop.phase_margin is not None]
                gains = [loop.gain_margin for loop in loops if loop.gain_margin is not None]
                phase = f"{DEG * min(phases):.1f}" if phases else "-"
                cells.append(phase if all(loop.stable for loop in loops) else "unstable")
                cells.append(f"{min(gains):.2f}" if gains else "-")
            rows.append(
                (
                    f"{1e3 * case.position:.4g}",
                    f"{case.model.natural_frequency:.4g}",
                    f"{1e8 * case.model.pressure_gain:.4g}",
                    *cells,
                )
            )
        names = [f"{loop} {what}" for loop in ("pressure", "speed", "position") for what in ("[deg]", "gain")]
        print_table(("piston [mm]", "oil [rad/s]", "feedback [mA/bar]", *names), rows)


def _print_valves(tuning: Tuning) -> None:
    """What the drivers of servovalves do besides, and the linear model behind it."""
    valves = [(axis.motor, axis.valve) for axis in tuning.axes if axis.valve is not None]
    if not valves:
        return
    print_heading("Servovalves")
    sliding = tuning.cylinders
    columns = (
        "axis", "current per speed", "pressure feedback [mA/bar]", "corner [rad/s]", "oil and load [rad/s]",
        "damping", "K_q [L/(min mA)]", "valve [rad/s]",
    )  # fmt: skip
    rows = [
        (
            motor,
            f"{valve.flow_share:.4g} A s/{'m' if motor in sliding else 'rad'}",
            f"{1e8 * valve.pressure_gain:.4g}",
            f"{valve.pressure_corner:.4g}",
            f"{valve.natural_frequency:.4g}",
            f"{valve.damping:.3g}",
            f"{60.0 * valve.flow_gain:.4g}",
            f"{valve.valve_frequency:.4g}",
        )
        for motor, valve in valves
    ]
    print_table(columns, rows)


def _print_commands(tuning: Tuning) -> None:
    currents = [axis.motor for axis in tuning.axes if axis.command is None]
    speeds = [(axis.motor, axis.command) for axis in tuning.axes if axis.command is not None]
    if currents:
        print_heading("Current command")
        print_line(
            f"{', '.join(currents)}: the servo driver takes a current; the axis controller closes the speed loop, "
            f"every {MS * tuning.timing.T_axis:g} ms"
        )
    if not speeds:
        return
    print_heading("Speed command between axis controller and servo driver")
    columns = ("axis", "range [V]", "largest speed [rad/s]", "one step [rad/s]")
    sliding = tuning.cylinders
    rows = [
        (
            motor,
            f"{command.voltage:g}",
            f"{command.speed:.4g}{' m/s' if motor in sliding else ''}",
            "-" if command.step is None else f"{command.step:.4g}{' m/s' if motor in sliding else ''}",
        )
        for motor, command in speeds
    ]
    print_table(columns, rows)


def _cells(loop: Loop) -> tuple[str, str, str, str]:
    phase = "-" if loop.phase_margin is None else f"{DEG * loop.phase_margin:.1f}"
    gain = "-" if loop.gain_margin is None else f"{loop.gain_margin:.2f}"
    at, width = ("-" if x is None else f"{x:.0f}" for x in (loop.crossover, loop.bandwidth))
    return phase if loop.stable else f"{phase} unstable", gain, at, width
