"""``servotwin console``: the main controller in the terminal, also over ssh."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from servotwin.cli.arguments import read_overrides
from servotwin.cli.hung_code import code_can_be_ended
from servotwin.cli.output import print_note, working
from servotwin.cli.signals import check, put_back
from servotwin.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console as RichConsole

    from servotwin.cli.console_session import Session
    from servotwin.jobs.player import Player
    from servotwin.jobs.program import Program

REFRESH = 0.05  # s between two pictures


def console(
    robot: str,
    job: str | None,
    points: str | None,
    overrides: Sequence[str] | None,
    *,
    drives: bool = False,
    allow_code: bool = False,
) -> None:
    """Jog, teach and play back in the terminal until the operator leaves."""
    open_console(robot, job, points, read_overrides(overrides), drives=drives, allow_code=allow_code)


def open_console(
    robot: str,
    job: str | None = None,
    points: str | None = None,
    overrides: Mapping[str, str] | None = None,
    *,
    drives: bool = False,
    allow_code: bool = False,
) -> None:
    """Jog, teach and play back in the terminal of this process, until the operator leaves.

    ``job``: to play back; ``points``: the file that is taught; ``drives``: motors and servo loops are simulated, not
    only the arm; ``allow_code``: with the code of actuators that the robot file names.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise InputError(
            "needs a terminal for keys and picture; expected one, such as 'ssh -t'", field="console"
        )
    with code_can_be_ended():
        with working(f"loading {robot}"):
            changes = dict(overrides or {})
            session = make_session(
                robot, job, points, changes, drives=drives, allow_code=allow_code, now_ns=time.monotonic_ns()
            )
        _operate(session)


def _operate(session: Session) -> None:
    """Keys and picture of a session until its operator leaves."""
    from rich.console import Console
    from rich.live import Live

    from servotwin.cli.console_screen import screen
    from servotwin.cli.keys import keyboard

    terminal = Console(highlight=False)
    put_back(lambda: _leave_screen(terminal))
    try:
        with (
            keyboard() as keys,
            Live(console=terminal, screen=True, auto_refresh=False) as live,
        ):
            drive(
                session,
                keys.read,
                time.monotonic_ns,
                lambda shown: live.update(screen(shown), refresh=True),
            )
    except OSError:
        if not session.done:  # a terminal that is gone cannot be put back
            raise


def _leave_screen(terminal: RichConsole) -> None:
    """Show what the terminal showed before, if a signal has prevented it."""
    if terminal.is_alt_screen:
        terminal.set_alt_screen(False)
        terminal.show_cursor(True)


def drive(
    session: Session,
    read_keys: Callable[[float], list[str]],
    clock_ns: Callable[[], int],
    draw: Callable[[Session], None],
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Keys, time and picture in turn until the operator leaves or the terminal is gone.

    The arm is at rest without power then.
    """
    period = session.controller.period_ns * 1e-9
    drawn = -1
    try:
        while not session.done:
            pressed = read_keys(min(period, REFRESH))
            check()
            session.tick(clock_ns())
            for key in pressed:
                session.key(key)
            if pressed or clock_ns() - drawn >= REFRESH * 1e9:
                drawn = clock_ns()
                draw(session)
    except (EOFError, OSError, KeyboardInterrupt):  # nobody sees or steers the arm any more
        session.leave()
        while not session.done:
            sleep(period)
            session.tick(clock_ns())


def make_session(
    robot: str,
    job: str | None,
    points: str | None,
    changes: dict[str, str],
    *,
    drives: bool = False,
    allow_code: bool = False,
    now_ns: int = 0,
) -> Session:
    """A controller with its arm; the points are those of the job, if there is one.

    ``drives``: motors and servo loops are simulated, otherwise the arm is where it shall be; ``allow_code``: with the
    code of actuators that the robot file names.
    """
    from servotwin.cli.console_session import Session
    from servotwin.jobs.check import sliding_of
    from servotwin.jobs.player import Player
    from servotwin.jobs.points_file import points_path
    from servotwin.jobs.program import SHIPPED, load_program, locate
    from servotwin.simulation.live_robot import LiveRobot
    from servotwin.workbench.taught import taught_points

    live = LiveRobot(robot, changes, drives=drives, allow_code=allow_code)
    model = live.robot

    def load(name: str) -> tuple[Program, Player]:
        program = load_program(name)
        for problem in program.check(model.joint_names, None, sliding_of(model.joint_units)):
            if problem.error:
                raise problem.exception()
        return program, Player(program, model, live.limits, period=live.period_ns * 1e-9)

    file = points
    if file is None and job is not None and locate(job).parent != SHIPPED:
        file = str(points_path(locate(job)))  # jobs that ship with the package are not taught over
    store = None if file is None else taught_points(file, model, robot, print_note)
    session = Session(live, load=load, points=store, now_ns=now_ns)
    if job is not None:
        session.load_job(job)
        if session.program is None:
            raise InputError(session.message)
    return session
