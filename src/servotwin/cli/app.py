"""The commands and their options; what a command does is imported when it runs."""

from __future__ import annotations

from typing import Annotated

import typer

from servotwin.cli.app_accuracy import add_commands as add_accuracy_commands
from servotwin.cli.app_bus import add_commands as add_bus_commands
from servotwin.cli.app_calibrate import add_commands as add_calibrate_commands
from servotwin.cli.app_catalogue import add_commands as add_catalogue_commands
from servotwin.cli.app_control import add_commands as add_control_commands
from servotwin.cli.app_hil import add_commands as add_hil_commands
from servotwin.cli.app_jobs import add_commands
from servotwin.cli.app_models import add_commands as add_model_commands
from servotwin.cli.app_view import add_commands as add_view_commands
from servotwin.cli.app_workspace import add_commands as add_workspace_commands
from servotwin.cli.options import (
    PLAIN,
    AllowCode,
    AllowOutside,
    Folder,
    Json,
    MaxMemory,
    MaxTime,
    Method,
    NoReport,
    Overwrite,
    OverwriteFile,
    Plant,
    Position,
    Pwm,
    RecordEvery,
    RobotName,
    Seed,
    Set,
)
from servotwin.version import __version__

app = typer.Typer(
    name="servotwin",
    help="Industrial robots described once: kinematics, dynamics, drives.",
    epilog="Quantities carry units: '30 deg', '50 mm', '4 kg'. Every command has --help, and all but console --json.",
    **PLAIN,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"servotwin {__version__}")
        raise typer.Exit


@app.callback()
def servotwin(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Industrial robots described once: kinematics, dynamics, drives."""


@app.command()
def robots(json: Json = False) -> None:
    """List the robots of the catalogue."""
    from servotwin.cli.catalogue import robots as run

    run(json=json)


@app.command()
def info(
    robot: RobotName,
    assumed: Annotated[
        bool,
        typer.Option("--assumed", help="Show every value that is assumed, also where many share a reason."),
    ] = False,
    overrides: Set = None,
    outside: AllowOutside = False,
    json: Json = False,
) -> None:
    """Show a robot, its sources and what is assumed.

    Axes, drives, frames; where the values come from; which of them are assumed, and why.
    """
    from servotwin.cli.info import info as run

    run(robot, overrides, assumed=assumed, json=json)


@app.command()
def check(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE...", help="Robot files (.yaml, .urdf), scenarios.")
    ],
    datasheets: Annotated[
        bool,
        typer.Option(
            "--datasheets", help="Show the motors of robots as data sheets and as models have them."
        ),
    ] = False,
    overrides: Set = None,
    outside: AllowOutside = False,
    json: Json = False,
) -> None:
    """Check robot and scenario files.

    One line for each file: ok, or place, field, value and remedy. Exit code 2 if any is refused.
    """
    from servotwin.cli.files import check as run

    raise typer.Exit(run(files, overrides, datasheets=datasheets, json=json))


@app.command()
def schema(
    kind: Annotated[
        str, typer.Argument(metavar="[robot|scenario|catalogue]", help="Of which files.")
    ] = "robot",
    out: Annotated[str | None, typer.Option("--out", metavar="FILE", help="Write to a file instead.")] = None,
    overwrite: OverwriteFile = False,
    json: Annotated[bool, typer.Option("--json", help="The schema is JSON in any case.")] = False,
) -> None:
    """Print the JSON Schema of robot, scenario or catalogue files.

    Editors use it to complete and check what is typed.
    """
    from servotwin.cli.files import schema as run

    run(kind, out, overwrite=overwrite, json=json)


@app.command()
def fkine(
    robot: RobotName,
    q: Position,
    frame: Annotated[
        str | None, typer.Option("--frame", metavar="NAME", help="The frame instead of the tool.")
    ] = None,
    all_frames: Annotated[bool, typer.Option("--all", help="All frames.")] = False,
    overrides: Set = None,
    outside: AllowOutside = False,
    json: Json = False,
) -> None:
    """Forward kinematics.

    The pose of the tool, of another frame or of all frames in the base.
    """
    from servotwin.cli.kinematics import fkine as run

    run(robot, q, frame, all_frames, overrides, json=json)


@app.command()
def ikine(
    robot: RobotName,
    xyz: Annotated[
        str, typer.Option("--xyz", metavar="LIST", help="Position, such as '400 mm, 200 mm, -50 mm'.")
    ],
    rpy: Annotated[
        str | None,
        typer.Option(
            "--rpy",
            metavar="LIST",
            help="Roll, pitch, yaw, such as '0 deg, 0 deg, 90 deg': R = Rz(yaw) Ry(pitch) Rx(roll). "
            "Any orientation if left out.",
        ),
    ] = None,
    frame: Annotated[
        str | None, typer.Option("--frame", metavar="NAME", help="The frame instead of the tool.")
    ] = None,
    near: Annotated[
        str | None,
        typer.Option("--near", metavar="LIST", help="Take the solution nearest to these joint positions."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All solutions, one row for each branch.")] = False,
    ignore_limits: Annotated[
        bool, typer.Option("--ignore-limits", help="Also solutions beyond the limits.")
    ] = False,
    overrides: Set = None,
    outside: AllowOutside = False,
    json: Json = False,
) -> None:
    """Inverse kinematics.

    The joint positions that bring the tool to a pose in the base: the ones nearest to the home pose, or all.
    """
    from servotwin.cli.kinematics import ikine as run

    run(robot, xyz, rpy, frame, near, overrides, every=every, ignore_limits=ignore_limits, json=json)


@app.command()
def rne(
    robot: RobotName,
    q: Position,
    qd: Annotated[
        str | None,
        typer.Option("--qd", metavar="LIST", help="Joint velocities ('90 deg/s, ...'); default zero."),
    ] = None,
    qdd: Annotated[
        str | None,
        typer.Option("--qdd", metavar="LIST", help="Joint accelerations ('2 rad/s^2, ...'); default zero."),
    ] = None,
    payload: Annotated[
        str | None,
        typer.Option(
            "--payload",
            metavar="MASS[,X,Y,Z]",
            help="A further mass on the tool, '4 kg', or with its centre in the tool frame, "
            "'4 kg, 0 mm, 0 mm, 50 mm'.",
        ),
    ] = None,
    wrench: Annotated[
        str | None,
        typer.Option(
            "--wrench",
            metavar="LIST",
            help="Force and moment on the tool in base axes, '0 N, 0 N, -20 N, 0 N*m, 0 N*m, 0 N*m'.",
        ),
    ] = None,
    drives: Annotated[bool, typer.Option("--drives", help="Include the rotors behind the gears.")] = False,
    overrides: Set = None,
    outside: AllowOutside = False,
    json: Json = False,
) -> None:
    """Inverse dynamics.

    The joint torques and forces that a motion needs, and the parts they consist of.
    """
    from servotwin.cli.dynamics import rne as run

    run(robot, q, qd, qdd, payload, wrench, overrides, drives=drives, json=json)


@app.command()
def equations(
    robot: RobotName,
    form: Annotated[
        str,
        typer.Option(
            "--form",
            metavar="FORM",
            help="MCg: M, C, g. ABCG: A, B, C, G of Song 1995. DHG: D, H, G of Lee 1989.",
        ),
    ] = "MCg",
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="Write to a file; its ending decides: .html .txt .md .tex .m (Mathematica) .py .c (C99).",
        ),
    ] = None,
    overwrite: OverwriteFile = False,
    drives: Annotated[bool, typer.Option("--drives", help="Include the inertia of the rotors.")] = False,
    general: Annotated[
        bool, typer.Option("--general", help="Keep what is zero in this robot as symbols.")
    ] = False,
    generated: Annotated[
        bool,
        typer.Option("--numbered", help="Generated code with numbered variables, for robots of any size."),
    ] = False,
    numeric: Annotated[
        list[str] | None,
        typer.Option("--numeric", metavar="WHAT", help="Write geometry, gravity or inertia as numbers."),
    ] = None,
    overrides: Set = None,
    outside: AllowOutside = False,
    json: Json = False,
) -> None:
    """Derive the equations of motion in closed form.

    Symbols with meaning and value, named constants, mass matrix, velocity terms, gravity, loop closures.
    """
    from servotwin.cli.equations import equations as run

    run(
        robot,
        form,
        out,
        overrides,
        drives=drives,
        general=general,
        numeric=numeric or [],
        generated=generated,
        overwrite=overwrite,
        json=json,
    )


@app.command()
def convert(
    source: Annotated[str, typer.Argument(metavar="IN", help="Catalogue name, .yaml, .urdf or .xacro file.")],
    target: Annotated[str, typer.Argument(metavar="OUT", help="The .yaml or .urdf file to write.")],
    overwrite: OverwriteFile = False,
    force: Annotated[bool, typer.Option("--force", hidden=True)] = False,
    density: Annotated[
        str | None,
        typer.Option(
            "--density",
            metavar="DENSITY",
            help="Give URDF links without inertia that of their shapes, filled with '2700 kg/m^3'.",
        ),
    ] = None,
    allow_code: Annotated[
        bool, typer.Option("--allow-code", help="Expand a .xacro file; the Python expressions in it are run.")
    ] = False,
    arguments: Annotated[
        list[str] | None,
        typer.Option("--arg", metavar="NAME=VALUE", help="Argument of a .xacro file; may be repeated."),
    ] = None,
    overrides: Set = None,
    outside: AllowOutside = False,
    json: Json = False,
) -> None:
    """Convert between YAML and URDF.

    A .yaml file is written complete, with all that the description extends and includes.
    """
    from servotwin.cli.files import convert as run

    run(
        source, target, overrides, overwrite=overwrite or force, json=json,
        density=density, allow_code=allow_code, arguments=arguments,
    )  # fmt: skip


@app.command()
def simulate(
    scenario: Annotated[
        str | None,
        typer.Argument(metavar="SCENARIO", help="Name of a scenario (see --list), or path of a .yaml file."),
    ] = None,
    out: Folder = None,
    overwrite: Overwrite = False,
    overrides: Set = None,
    plant: Plant = None,
    method: Method = None,
    pwm: Pwm = None,
    seed: Seed = None,
    record: RecordEvery = None,
    law: Annotated[
        str | None,
        typer.Option("--law", metavar="FILE.py:NAME", help="Control law of your own; needs --allow-code."),
    ] = None,
    period: Annotated[
        str | None, typer.Option("--period", metavar="TIME", help="How often the law is called, '1.6 ms'.")
    ] = None,
    level: Annotated[
        str | None,
        typer.Option("--level", metavar="LEVEL", help="What the law commands: speed, current or voltage."),
    ] = None,
    allow_code: AllowCode = False,
    every: Annotated[bool, typer.Option("--list", help="List the scenarios instead.")] = False,
    max_memory: MaxMemory = None,
    max_time: MaxTime = None,
    no_report: NoReport = False,
    outside: AllowOutside = False,
    json: Json = False,
) -> None:
    """Simulate arm, drives and controller together.

    Runs a scenario and writes report.html, summary.json and signals.parquet.
    """
    from servotwin.cli.simulate import simulate as run

    code = run(
        scenario, out, overrides, plant,
        method=method, pwm=pwm, seed=seed, record=record, law=(law, period, level),
        allow_code=allow_code, every=every, max_memory=max_memory, max_time=max_time,
        report=not no_report, overwrite=overwrite, json=json,
    )  # fmt: skip
    raise typer.Exit(code)


@app.command()
def compare(
    result: Annotated[str, typer.Argument(metavar="RESULT", help="Folder that 'servotwin simulate' wrote.")],
    measured: Annotated[
        str,
        typer.Argument(
            metavar="MEASURED.csv", help="Recording: a time column and columns named like the signals."
        ),
    ],
    out: Annotated[
        str | None,
        typer.Option("--out", metavar="FOLDER", help="Where the page goes; default RESULT/comparison."),
    ] = None,
    overwrite: Overwrite = False,
    shift: Annotated[
        str,
        typer.Option("--shift", metavar="auto|0|TIME", help="Lag of the measured clock, such as '12 ms'."),
    ] = "auto",
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--column",
            metavar="SIGNAL=COLUMN",
            help="Name a column, such as joint_A_position_rad=enc1_deg; may be repeated.",
        ),
    ] = None,
    means: Annotated[
        list[str] | None,
        typer.Option(
            "--mean",
            metavar="SIGNAL",
            help="Measured as means since the row before, such as 'motor_*_current_A'; may be repeated.",
        ),
    ] = None,
    max_memory: MaxMemory = None,
    json: Json = False,
) -> None:
    """Compare a simulated with a measured run.

    Aligned in time: position and velocity differences, RMS, maximum, NRMSE, correlation.
    """
    from servotwin.cli.compare import compare as run

    run(
        result, measured, out, shift, columns, means,
        max_memory=max_memory, overwrite=overwrite, json=json,
    )  # fmt: skip


@app.command()
def tune(
    robot: RobotName,
    q: Annotated[
        str | None,
        typer.Option("--q", metavar="LIST", help="Pose that the gains are computed for; default home."),
    ] = None,
    payload: Annotated[
        str | None,
        typer.Option(
            "--payload",
            metavar="MASS",
            help="Largest payload to check, '4 kg'; default payload.largest of the file.",
        ),
    ] = None,
    current: Annotated[
        str | None, typer.Option("--current", metavar="BANDWIDTH", help="Current loop, '1200 rad/s'.")
    ] = None,
    speed: Annotated[
        str | None, typer.Option("--speed", metavar="BANDWIDTH", help="Speed loop, '150 rad/s'.")
    ] = None,
    position: Annotated[
        str | None, typer.Option("--position", metavar="BANDWIDTH", help="Position loop, '30 1/s'.")
    ] = None,
    out: Annotated[
        str | None,
        typer.Option("--out", metavar="FOLDER", help="Write tuning.html and tuning.json there."),
    ] = None,
    overwrite: Overwrite = False,
    overrides: Set = None,
    outside: AllowOutside = False,
    json: Json = False,
) -> None:
    """Propose servo gains and show their margins.

    Current, speed and position loop of every axis, sampling included, from the lightest to the heaviest load.
    """
    from servotwin.cli.tune import tune as run

    run(robot, q, payload, current, speed, position, out, overrides, overwrite=overwrite, json=json)


@app.command()
def optimise(
    robot: RobotName,
    goal: Annotated[
        str | None,
        typer.Option(
            "--to", metavar="LIST", help="Joint positions of the goal, '30 deg, 60 deg, 50 mm, 0 deg'."
        ),
    ] = None,
    start: Annotated[
        str | None, typer.Option("--from", metavar="LIST", help="Joint positions of the start; default home.")
    ] = None,
    via: Annotated[
        list[str] | None,
        typer.Option(
            "--via", metavar="LIST", help="A point that a smooth joint path leads through; may be repeated."
        ),
    ] = None,
    objective: Annotated[
        str, typer.Option("--objective", metavar="time|energy|copper", help="What is least.")
    ] = "time",
    energy_weight: Annotated[
        str | None,
        typer.Option(
            "--energy-weight", metavar="WEIGHT", help="Time plus so many seconds per joule, '0.02 s/J'."
        ),
    ] = None,
    duration: Annotated[
        str | None, typer.Option("--duration", metavar="TIME", help="Take exactly this time, '0.8 s'.")
    ] = None,
    longest: Annotated[
        str | None, typer.Option("--longest", metavar="TIME", help="Take at most this time, '2 s'.")
    ] = None,
    intervals: Annotated[int, typer.Option("--intervals", metavar="N", help="Intervals of the mesh.")] = 100,
    temperature: Annotated[
        bool, typer.Option("--temperature", help="Keep the windings cool if the motion is repeated for ever.")
    ] = False,
    rest: Annotated[
        str | None,
        typer.Option("--rest", metavar="TIME", help="Rest at the goal between repetitions, '1 s'."),
    ] = None,
    bus_power: Annotated[
        str | None, typer.Option("--bus-power", metavar="POWER", help="Largest power from the bus, '2 kW'.")
    ] = None,
    regeneration: Annotated[
        str | None, typer.Option("--regeneration", metavar="POWER", help="Largest power fed back, '200 W'.")
    ] = None,
    modulation: Annotated[
        float,
        typer.Option("--modulation", metavar="SHARE", help="Part of the bus voltage that is used, 0 to 1."),
    ] = 1.0,
    reserve: Annotated[
        float,
        typer.Option(
            "--reserve", metavar="SHARE", help="Part of currents and valves left to the controller, 0 to 1."
        ),
    ] = 0.0,
    without: Annotated[
        list[str] | None,
        typer.Option(
            "--without",
            metavar="LIMIT",
            help="Leave a limit out: current, voltage, flow, effort, speed, jerk.",
        ),
    ] = None,
    keep_out: Annotated[
        list[str] | None,
        typer.Option(
            "--keep-out",
            metavar="REGION",
            help="Where the tool must not be, 'x: 0.2 m to 0.4 m, z: to 0.1 m'.",
        ),
    ] = None,
    within: Annotated[
        list[str] | None,
        typer.Option("--within", metavar="RANGE", help="Where the tool must be, 'z: 0.1 m to 0.5 m'."),
    ] = None,
    free_start: Annotated[bool, typer.Option("--free-start", help="The start may have any speed.")] = False,
    free_end: Annotated[bool, typer.Option("--free-end", help="The goal may have any speed.")] = False,
    out: Annotated[
        str | None, typer.Option("--out", metavar="FOLDER", help="Write report, summary and signals there.")
    ] = None,
    play: Annotated[
        str | None,
        typer.Option(
            "--play", metavar="FOLDER", help="Play it on the drive-level simulator; write the run there."
        ),
    ] = None,
    overwrite: Overwrite = False,
    overrides: Set = None,
    outside: AllowOutside = False,
    json: Json = False,
) -> None:
    """Find the motion of least time or energy.

    Between two joint positions, or along a path through others, within what motors, supply and windings can give;
    with the limits that it meets and what more of them would buy. Needs the extra: pip install 'servotwin[optimal]'.
    """
    from servotwin.cli.optimise import optimise as run

    run(
        robot, start, goal, via, overrides, out=out, play=play, overwrite=overwrite, json=json, objective=objective,
        energy_weight=energy_weight, duration=duration, longest=longest, intervals=intervals, temperature=temperature,
        rest=rest, bus_power=bus_power, regeneration=regeneration, modulation=modulation, reserve=reserve,
        without=without, keep_out=keep_out, within=within, free_start=free_start, free_end=free_end,
    )  # fmt: skip


add_catalogue_commands(app)
add_model_commands(app)
add_workspace_commands(app)
add_view_commands(app)
add_accuracy_commands(app)
add_calibrate_commands(app)
add_hil_commands(app)
add_bus_commands(app)
add_control_commands(app)
add_commands(app)


@app.command()
def demo(
    out: Annotated[str, typer.Option("--out", metavar="FOLDER", help="Where the report goes.")] = "out/demo",
    overwrite: Overwrite = False,
    overrides: Set = None,
    json: Json = False,
) -> None:
    """Simulate a SCARA from the transistor to the tip.

    The GSIS SCARA of Lee 1989: A axis from 0 to 100 deg, and all axes through their whole range at maximum speed
    and payload. One HTML report that opens offline, with the details of both runs beside it.
    """
    from servotwin.cli.demo import demo as run

    raise typer.Exit(run(out, overrides, overwrite=overwrite, json=json))
