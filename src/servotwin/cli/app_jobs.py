"""The commands around jobs: job, jog, teach, console, pendant; what a command does is imported when it runs."""

from __future__ import annotations

from typing import Annotated

import typer

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
    Plant,
    Position,
    Pwm,
    RecordEvery,
    RobotName,
    RobotOption,
    Seed,
    Set,
    Start,
    jog_percent,
    override_percent,
)

JobName = Annotated[
    str,
    typer.Argument(metavar="JOB", help="Path of a .job file, or name of a job that ships (see 'job list')."),
]
Script = Annotated[
    str | None,
    typer.Option("--io", metavar="FILE", help="Script of inputs and keys (.yaml) that the job meets."),
]
Fit = Annotated[bool, typer.Option("--fit", help="Slow down moves that ask too much, instead of refusing.")]
Override = Annotated[
    int,
    typer.Option(
        "--override", metavar="PERCENT", parser=override_percent, help="Pace of the whole job, 1 to 100 %."
    ),
]
Shaper = Annotated[
    str | None,
    typer.Option(
        "--shaper",
        metavar="KIND",
        help="Shape motions against vibration: zv, zvd, ei, two-hump, or none; default as in the robot file.",
    ),
]
TimeLimit = Annotated[
    str | None,
    typer.Option("--time-limit", metavar="TIME", help="Stop a job that takes longer; default '600 s'."),
]
TimeOptimal = Annotated[
    bool,
    typer.Option(
        "--time-optimal",
        help="Compare with the quickest motion along the same paths that motors and joints can do.",
    ),
]
Changes = Annotated[
    list[str], typer.Argument(metavar="CHANGE...", help="'x=10 mm' sets, 'x+=1 mm' shifts a field.")
]
PointName = Annotated[str, typer.Argument(metavar="NAME", help="Name of the point.")]

job_app = typer.Typer(name="job", help="Check, format, plan and run job programs.", **PLAIN)
teach_app = typer.Typer(name="teach", help="Record, list and edit taught points.", **PLAIN)


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.add_typer(job_app)
    app.add_typer(teach_app)
    app.command()(jog)
    app.command()(console)
    app.command()(pendant)


@job_app.command("list")
def list_jobs(json: Json = False) -> None:
    """List the jobs that ship with the package."""
    from servotwin.cli.job import list_jobs as run

    run(json=json)


@job_app.command()
def check(
    jobs: Annotated[list[str], typer.Argument(metavar="JOB...", help="Job files, or names that ship.")],
    robot: RobotOption = None,
    overrides: Set = None,
    outside: AllowOutside = False,
    json: Json = False,
) -> None:
    """Check jobs and their points.

    One line for each problem with line and column; exit code 2 if a job cannot run.
    """
    from servotwin.cli.job import check as run

    raise typer.Exit(run(jobs, robot, overrides, json=json))


@job_app.command("format")
def format_jobs(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Job files.")],
    only_check: Annotated[
        bool, typer.Option("--check", help="Change nothing; exit code 1 if a file would change.")
    ] = False,
    json: Json = False,
) -> None:
    """Rewrite jobs in the one layout.

    A file is replaced whole or not at all; a job that cannot be read is left alone.
    """
    from servotwin.cli.job import format_jobs as run

    raise typer.Exit(run(files, only_check=only_check, json=json))


def with_shaper(overrides: list[str] | None, shaper: str | None) -> list[str] | None:
    """Changes of the robot file with a shaper of its motions."""
    return overrides if shaper is None else [*(overrides or []), f"controller.shaping.shaper={shaper}"]


@job_app.command()
def plan(
    job: JobName,
    robot: RobotOption = None,
    q: Start = None,
    io: Script = None,
    fit: Fit = False,
    override: Override = 100,
    shaper: Shaper = None,
    time_limit: TimeLimit = None,
    time_optimal: TimeOptimal = False,
    max_memory: MaxMemory = None,
    max_time: MaxTime = None,
    overrides: Set = None,
    outside: AllowOutside = False,
    json: Json = False,
) -> None:
    """Plan a job without simulating its drives.

    Duration, limits reached, deviation and chord error of every instruction.
    """
    overrides = with_shaper(overrides, shaper)
    if time_optimal:
        from servotwin.cli.job_optimal import plan as run_optimal

        code = run_optimal(
            job, robot, overrides, q=q, io=io, fit=fit, override=override, time_limit=time_limit, json=json,
            max_memory=max_memory, max_time=max_time,
        )  # fmt: skip
        raise typer.Exit(code)
    from servotwin.cli.job_run import plan as run

    code = run(
        job, robot, overrides, q=q, io=io, fit=fit, override=override, time_limit=time_limit, json=json,
        max_memory=max_memory, max_time=max_time,
    )  # fmt: skip
    raise typer.Exit(code)


@job_app.command("run")
def run_job(
    job: JobName,
    robot: RobotOption = None,
    out: Folder = None,
    overwrite: Overwrite = False,
    q: Start = None,
    io: Script = None,
    fit: Fit = False,
    override: Override = 100,
    shaper: Shaper = None,
    time_limit: TimeLimit = None,
    gripper: Annotated[
        str,
        typer.Option("--gripper", metavar="OUTPUT", help="Output that holds the part, for the animation."),
    ] = "",
    method: Method = None,
    pwm: Pwm = None,
    seed: Seed = None,
    record: RecordEvery = None,
    overrides: Set = None,
    plant: Plant = None,
    max_memory: MaxMemory = None,
    max_time: MaxTime = None,
    no_report: NoReport = False,
    allow_code: AllowCode = False,
    outside: AllowOutside = False,
    json: Json = False,
) -> None:
    """Simulate a job on arm, drives and controllers.

    Writes report.html with cycle time, time and energy of every instruction, the tool path in space and an
    animation of the arm; summary.json, instructions.json and signals.parquet.
    """
    from servotwin.cli.job_run import run

    overrides = with_shaper(overrides, shaper)
    code = run(
        job, robot, out, overrides, plant, q=q, io=io, fit=fit, override=override, time_limit=time_limit,
        gripper=gripper, method=method, pwm=pwm, seed=seed, record=record, max_memory=max_memory,
        max_time=max_time, report=not no_report, overwrite=overwrite, allow_code=allow_code, json=json,
    )  # fmt: skip
    raise typer.Exit(code)


@teach_app.callback()
def teach(
    context: typer.Context,
    file: Annotated[
        str,
        typer.Argument(metavar="POINTS", help="The points file, such as pick.points.yaml beside pick.job."),
    ],
) -> None:
    """Record, list and edit taught points.

    The points file is readable YAML with units; it is replaced whole or not at all.
    """
    context.obj = file


@teach_app.command()
def record(
    context: typer.Context,
    name: PointName,
    q: Position,
    robot: RobotOption = None,
    pose: Annotated[bool, typer.Option("--pose", help="Keep the pose instead of joint positions.")] = False,
    frame: Annotated[
        str | None, typer.Option("--frame", metavar="NAME", help="Keep the pose in this frame.")
    ] = None,
    tool: Annotated[
        str | None, typer.Option("--tool", metavar="NAME", help="The pose is that of this tool.")
    ] = None,
    note: Annotated[str, typer.Option("--note", metavar="TEXT", help="A remark.")] = "",
    replace: Annotated[bool, typer.Option("--replace", help="Replace a point of this name.")] = False,
    outside: AllowOutside = False,
    json: Json = False,
) -> None:
    """Record a point at joint positions."""
    from servotwin.cli.teach import record as run

    run(
        context.obj, name, q, robot, pose=pose, frame=frame, tool=tool, note=note, replace_old=replace, json=json
    )  # fmt: skip


@teach_app.command("list")
def list_points(context: typer.Context, json: Json = False) -> None:
    """List points, frames and tools."""
    from servotwin.cli.teach import list_points as run

    run(context.obj, json=json)


@teach_app.command()
def rename(
    context: typer.Context,
    name: PointName,
    new: Annotated[str, typer.Argument(metavar="NEW", help="Its new name.")],
    json: Json = False,
) -> None:
    """Rename a point."""
    from servotwin.cli.teach import rename as run

    run(context.obj, name, new, json=json)


@teach_app.command()
def delete(context: typer.Context, name: PointName, json: Json = False) -> None:
    """Delete a point."""
    from servotwin.cli.teach import delete as run

    run(context.obj, name, json=json)


@teach_app.command()
def edit(context: typer.Context, name: PointName, changes: Changes, json: Json = False) -> None:
    """Change fields of a point: coordinates, joints, frame, note."""
    from servotwin.cli.teach import edit as run

    run(context.obj, name, changes, json=json)


@teach_app.command()
def frame(context: typer.Context, name: PointName, changes: Changes, json: Json = False) -> None:
    """Set a work frame, given in the base."""
    from servotwin.cli.teach import place as run

    run(context.obj, "frame", name, changes, json=json)


@teach_app.command()
def tool(context: typer.Context, name: PointName, changes: Changes, json: Json = False) -> None:
    """Set a tool, given in the tool frame of the robot."""
    from servotwin.cli.teach import place as run

    run(context.obj, "tool", name, changes, json=json)


Shift = Annotated[str | None, typer.Option(metavar="LENGTH", help="Move the tool along this axis, '10 mm'.")]
Turn = Annotated[str | None, typer.Option(metavar="ANGLE", help="Turn the tool about this axis, '5 deg'.")]


def jog(
    robot: RobotName,
    joint: Annotated[str | None, typer.Option("--joint", metavar="NAME", help="Move this joint.")] = None,
    by: Annotated[
        str | None, typer.Option("--by", metavar="STEP", help="Step of the joint, '5 deg' or '10 mm'.")
    ] = None,
    x: Shift = None,
    y: Shift = None,
    z: Shift = None,
    rx: Turn = None,
    ry: Turn = None,
    rz: Turn = None,
    tool: Annotated[
        bool, typer.Option("--tool", help="Along the axes of the tool, not of the base.")
    ] = False,
    q: Start = None,
    points: Annotated[
        str | None, typer.Option("--points", metavar="FILE", help="Points file for --from and --record.")
    ] = None,
    start: Annotated[
        str | None, typer.Option("--from", metavar="POINT", help="Start at this taught point.")
    ] = None,
    record: Annotated[
        str | None, typer.Option("--record", metavar="NAME", help="Record where the step ends.")
    ] = None,
    speed: Annotated[
        float,
        typer.Option(
            "--speed", metavar="PERCENT", parser=jog_percent, help="Share of the jogging speed, up to 100 %."
        ),
    ] = 100.0,
    overrides: Set = None,
    outside: AllowOutside = False,
    json: Json = False,
) -> None:
    """Plan a step of one joint or of the tool.

    Prints joint and tool positions before and after; no hardware is moved.
    """
    from servotwin.cli.jog import jog as run

    shifts = {"x": x, "y": y, "z": z, "rx": rx, "ry": ry, "rz": rz}
    run(
        robot, joint, by, shifts, tool=tool, q=q, points=points, start=start, speed=speed, record=record,
        overrides=overrides, json=json,
    )  # fmt: skip


def console(
    robot: RobotName,
    job: Annotated[
        str | None, typer.Option("--job", metavar="JOB", help="Load this job, and teach its points.")
    ] = None,
    points: Annotated[
        str | None, typer.Option("--points", metavar="FILE", help="Points file; default that of the job.")
    ] = None,
    drives: Annotated[bool, typer.Option("--drives", help="Simulate motors and servo loops too.")] = False,
    overrides: Set = None,
    allow_code: AllowCode = False,
    outside: AllowOutside = False,
) -> None:
    """Jog, teach and play back in the terminal.

    Works over ssh; all keys stand on the screen.
    """
    from servotwin.cli.console import console as run

    run(robot, job, points, overrides, drives=drives, allow_code=allow_code)


def pendant(
    robot: RobotName,
    plant: Annotated[
        str,
        typer.Option(
            "--plant", metavar="KIND", help="'ideal', 'drives' (simulated) or 'bus' (behind EtherCAT)."
        ),
    ] = "ideal",
    folder: Annotated[
        str,
        typer.Option("--folder", metavar="FOLDER", help="Where jobs and points are; the page sees no other."),
    ] = "jobs",
    address: Annotated[
        str,
        typer.Option("--address", metavar="ADDRESS", help="Of one interface; by default this machine alone."),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", metavar="PORT", help="0 takes a free one.", min=0, max=65535)
    ] = 0,
    stop_within: Annotated[
        str,
        typer.Option(
            "--stop-within",
            metavar="TIME",
            help="The arm stands so long after its page is lost; jobs are slowed for it.",
        ),
    ] = "200 ms",
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the addresses only.")] = False,
    overrides: Set = None,
    allow_code: AllowCode = False,
    json: Json = False,
) -> None:
    """Teach pendant in the browser."""
    from servotwin.cli.pendant import pendant as run

    run(
        robot, overrides, plant=plant, folder=folder, address=address, port=port, stop_within=stop_within,
        browser=not no_browser, allow_code=allow_code, json=json,
    )  # fmt: skip
