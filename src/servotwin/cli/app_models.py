"""The commands around models of robots; what a command does is imported when it runs."""

from __future__ import annotations

from typing import Annotated

import typer

from servotwin.cli.options import AllowOutside, Json, Overwrite, RobotName, Set


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(model)
    app.command()(design)
    app.command()(size)
    app.command()(linetest)


def model(
    robot: RobotName,
    q: Annotated[
        str | None, typer.Option("--q", metavar="LIST", help="Joint positions of the point; default home.")
    ] = None,
    qd: Annotated[
        str | None, typer.Option("--qd", metavar="LIST", help="Joint speeds of the point; default zero.")
    ] = None,
    state: Annotated[
        str | None,
        typer.Option(
            "--state",
            metavar="FILE|LIST",
            help="The state instead: all values, 'A.current=2 A, ...', or a .json file; what is not named "
            "comes from the operating point at --q, --qd.",
        ),
    ] = None,
    inputs: Annotated[
        str | None,
        typer.Option("--input", metavar="LIST", help="Inputs at that state, 'A.voltage=24 V, ...'."),
    ] = None,
    outputs: Annotated[
        str, typer.Option("--outputs", metavar="WHAT", help="encoders, joints, tool or states.")
    ] = "encoders",
    friction: Annotated[
        bool, typer.Option("--friction", help="Count dry friction of what moves, in its direction.")
    ] = False,
    motors: Annotated[
        str, typer.Option("--motors", metavar="WHICH", help="described, or ideal: torques as inputs.")
    ] = "described",
    gears: Annotated[
        str,
        typer.Option("--gears", metavar="POWER", help="Gears with losses: lossless, driving or braking."),
    ] = "lossless",
    sample: Annotated[
        str | None,
        typer.Option("--sample", metavar="TIME", help="Also the system behind a hold, '1 ms'."),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option("--out", metavar="FOLDER", help="Write page, matrices (.mat, .m) and equations there."),
    ] = None,
    overwrite: Overwrite = False,
    overrides: Set = None,
    outside: AllowOutside = False,
    json: Json = False,
) -> None:
    """Show the complete model x' = A(x) + B(x) u.

    Arm, gears and motors: system and gain matrix, poles, modes, controllability, Bode plots.
    """
    from servotwin.cli.model import model as run

    run(
        robot, q, qd, state, inputs, sample, out, overrides,
        outputs=outputs, motors=motors, gears=gears, friction=friction, overwrite=overwrite, json=json,
    )  # fmt: skip


def design(
    robot: RobotName,
    q: Annotated[
        str | None,
        typer.Option("--q", metavar="LIST", help="Pose that the law is designed for; default home."),
    ] = None,
    method: Annotated[str | None, typer.Option("--method", metavar="METHOD", help="lqr or poles.")] = None,
    plant: Annotated[
        str | None,
        typer.Option("--plant", metavar="WHICH", help="coupled, or separate: one law for each axis."),
    ] = None,
    bandwidth: Annotated[
        str | None, typer.Option("--bandwidth", metavar="BANDWIDTH", help="Of the closed loop, '60 rad/s'.")
    ] = None,
    integral: Annotated[
        str | None,
        typer.Option("--integral-time", metavar="TIME", help="Of the integral action, '50 ms'."),
    ] = None,
    observer: Annotated[
        str | None, typer.Option("--observer", metavar="BANDWIDTH", help="Of the observer, '240 rad/s'.")
    ] = None,
    scenario: Annotated[
        str | None,
        typer.Option(
            "--scenario", metavar="SCENARIO", help="Compare with cascade and computed torque on a scenario."
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option("--out", metavar="FOLDER", help="Write design.html and design.json there."),
    ] = None,
    overwrite: Overwrite = False,
    overrides: Set = None,
    outside: AllowOutside = False,
    json: Json = False,
) -> None:
    """Design state feedback and compare control laws.

    From the complete model of the robot: LQR or placed poles, integral action, speeds estimated from encoders.
    """
    from servotwin.cli.design import design as run

    run(
        robot, q, method, plant, bandwidth, integral, observer, scenario, out, overrides,
        overwrite=overwrite, json=json,
    )  # fmt: skip


def size(
    robot: RobotName,
    job: Annotated[
        str | None, typer.Option("--job", metavar="JOB", help="The cycle: a job, by name or file.")
    ] = None,
    scenario: Annotated[
        str | None, typer.Option("--scenario", metavar="FILE", help="The cycle: the moves of a scenario.")
    ] = None,
    tool_speed: Annotated[
        str | None,
        typer.Option(
            "--tool-speed", metavar="SPEED", help="Worst case over the joint ranges instead: '1 m/s'."
        ),
    ] = None,
    tool_acceleration: Annotated[
        str | None,
        typer.Option(
            "--tool-acceleration", metavar="ACC", help="Beside --tool-speed, in any direction: '5 m/s^2'."
        ),
    ] = None,
    moving: Annotated[
        str | None,
        typer.Option(
            "--moving",
            metavar="SHARE",
            help="Beside --tool-speed: share of the time in motion, '60 %'; default 0.",
        ),
    ] = None,
    catalogue: Annotated[
        list[str] | None,
        typer.Option(
            "--catalogue",
            metavar="FILE",
            help="Data sheets to choose from, or 'generic'; may be repeated. Default generic.",
        ),
    ] = None,
    minimise: Annotated[
        str | None,
        typer.Option("--minimise", metavar="WHAT", help="Choose the set of least price, mass or size."),
    ] = None,
    what_if: Annotated[
        list[str] | None,
        typer.Option("--what-if", metavar="WHAT", help="How far payload or speed can go; may be repeated."),
    ] = None,
    pareto: Annotated[
        bool, typer.Option("--pareto", help="Also the front of price, mass and cycle time; takes longer.")
    ] = False,
    rest: Annotated[
        str | None, typer.Option("--rest", metavar="TIME", help="Standstill after each cycle, '2 s'.")
    ] = None,
    low_voltage: Annotated[
        str | None,
        typer.Option(
            "--low-voltage", metavar="SHARE", help="Lowest bus voltage that peaks get; default 90 %."
        ),
    ] = None,
    reserve: Annotated[
        float, typer.Option("--reserve", metavar="FACTOR", help="By which every limit must be missed.")
    ] = 1.0,
    life: Annotated[
        str | None, typer.Option("--life", metavar="TIME", help="L10 that gears must reach, '20000 h'.")
    ] = None,
    inertia_ratio: Annotated[
        float | None,
        typer.Option("--inertia-ratio", metavar="RATIO", help="Largest load inertia over that of the motor."),
    ] = None,
    time_limit: Annotated[
        str | None, typer.Option("--time-limit", metavar="TIME", help="Of the search; default 8 s.")
    ] = None,
    out: Annotated[
        str | None, typer.Option("--out", metavar="FOLDER", help="Write page, data and table there.")
    ] = None,
    overwrite: Overwrite = False,
    overrides: Set = None,
    outside: AllowOutside = False,
    json: Json = False,
) -> None:
    """Size motors and gears for a cycle.

    Peak and RMS torque, speed, power, temperature, gear load and life of every axis against what motor, gear and supply
    allow; the best set of a catalogue for all axes together; exit code 1 if a limit is exceeded.
    """
    from servotwin.cli.size import size as run

    code = run(
        robot, overrides, job=job, scenario=scenario, tool_speed=tool_speed, tool_acceleration=tool_acceleration,
        moving=moving,
        catalogue=catalogue, minimise=minimise, what_if=what_if, pareto=pareto, rest=rest, low_voltage=low_voltage,
        reserve=reserve, life=life, inertia_ratio=inertia_ratio, time_limit=time_limit, out=out, overwrite=overwrite,
        json=json,
    )  # fmt: skip
    raise typer.Exit(code)


def linetest(
    robot: RobotName = "palletizer-4",
    begin: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="LIST", help="Where the line begins; default '915 mm, -500 mm, 700 mm'."
        ),
    ] = None,
    end: Annotated[
        str | None,
        typer.Option("--to", metavar="LIST", help="Where it ends; default '915 mm, 500 mm, 700 mm'."),
    ] = None,
    speed: Annotated[
        str | None, typer.Option("--speed", metavar="SPEED", help="Of the tool; default '0.5 m/s'.")
    ] = None,
    acceleration: Annotated[
        str | None, typer.Option("--acc", metavar="ACCELERATION", help="Of the tool; default '1 m/s^2'.")
    ] = None,
    out: Annotated[
        str | None,
        typer.Option("--out", metavar="FOLDER", help="Write linetest.html and linetest.json there."),
    ] = None,
    overwrite: Overwrite = False,
    overrides: Set = None,
    outside: AllowOutside = False,
    json: Json = False,
) -> None:
    """Drive the tool along a line with several laws.

    Errors of the motors in encoder pulses at the ends of the line and in between, delay of the tool and what explains
    it: for the cascade, with speed and torque fed forward, and for computed torque.
    """
    from servotwin.cli.linetest import linetest as run

    run(
        robot, overrides, begin=begin, end=end, speed=speed, acceleration=acceleration, out=out, overwrite=overwrite,
        json=json,
    )  # fmt: skip
