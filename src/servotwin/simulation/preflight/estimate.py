"""What a run will take, before anything of it is allocated: rows, memory, computing time.

Rows are exact. Memory counts the rows as the loop records them, the signals made of them, what is drawn and written,
and the log of the motion; the program itself comes on top. Computing time is rough: it grows with the windows of the
current loop, and in each with the motors, or with their square where every edge of a motor cuts the steps of all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from servotwin.control.servo.axis_data import controller_of
from servotwin.description.checks import motor_names
from servotwin.description.drive_data import chamber_motors
from servotwin.description.schema import RobotDescription
from servotwin.errors import InputError
from servotwin.simulation.plant.machine import LONGEST_LOG
from servotwin.simulation.plant.recording import LOG_PERIOD, PER_LOG
from servotwin.simulation.plant.records import MAX_EDGES
from servotwin.simulation.plant.row_layout import widest_row
from servotwin.simulation.preflight.budget import Budget, bytes_text, count_text, duration_text
from servotwin.simulation.results.result import signal_names
from servotwin.simulation.scenario.parts import Solver

LONGEST = 1e9  # s that a run may last at all: time is whole nanoseconds in 64 bits
# Computing time of a window [us] as measured; smooth and rough drives lie within a factor of three around it.
PER_MOTOR = {"averaged": 1.5, "fast": 2.0}
PER_PAIR = {"rk4": 3.0, "modified-euler": 2.5, "adaptive": 6.0}
CALL = 30e-6  # s for one call of a control law in Python
STEP = 0.3e-3  # s for a period of the main controller in Python, planning included
LIVE, LIVE_FACTOR = 0.1, 5.0  # s, and times real time, that a person at a console waits for
COPIES = 3  # of the signals: as named arrays, as table and as file
SAMPLED = 10  # arrays of all joints that are there at once while commands are sampled
STEP_BYTES = 2_000  # of a command of the main controller, with its journal


@dataclass(frozen=True)
class Estimate:
    """What a run of ``seconds`` takes: recorded ``rows``, ``memory`` [byte], ``time`` of computing [s].

    ``of_rows`` [byte]: the part of the memory that is due to the rows.
    """

    seconds: float
    rows: int
    columns: int
    memory: float
    time: float
    of_rows: float = 0.0


def row_count(duration_ns: int, every_ns: int) -> int:
    """Rows of a run: one every ``every_ns``, and the last at its end."""
    return -(-duration_ns // every_ns)


def estimate(
    robot: RobotDescription,
    seconds: float,
    every: float,
    solver: Solver,
    *,
    stored: int | None = None,
    calls: float = 0.0,
    stepped: bool = False,
) -> Estimate:
    """What a run of the robot for ``seconds`` [s] with a row ``every`` [s] takes.

    ``stored``: signals that are written, all if None; ``calls``: of a control law in Python, a second; ``stepped``:
    the main controller runs in Python, as in jobs.
    """
    control, joints, motors = controller_of(robot), len(robot.joint_names), len(motor_names(robot))
    passive = len(robot.axes) - joints
    sliding = [robot.axes[name].prismatic for name in robot.joint_names]
    chambers = chamber_motors(robot)
    columns = len(signal_names(robot.joint_names, sliding, motor_names(robot), chambers))
    rows = row_count(round(seconds * 1e9), max(round(every * 1e9), 1))
    windows, steps = seconds / control.current_period, seconds / control.main_period
    recorded = widest_row(joints, passive, motors, len(chambers))
    written = columns if stored is None else stored
    log = min(seconds / max(LOG_PERIOD * 1e-9, control.current_period), LONGEST_LOG)
    of_rows = 8.0 * rows * (recorded + columns + (COPIES - 1) * written + SAMPLED * joints)
    memory = of_rows + 8.0 * log * (PER_LOG + passive + (4 + SAMPLED) * joints + 20)
    memory += steps * (STEP_BYTES if stepped else 8.0 * (SAMPLED + 3) * joints)
    computing = (
        windows * window_cost(solver, motors) + seconds * calls * CALL + (steps * STEP if stepped else 0.0)
    )
    return Estimate(seconds, rows, columns, memory, computing, of_rows)


def zoom_rows(motors: int) -> int:
    """Rows of the zoom in a current period, at most."""
    return (MAX_EDGES * motors + 3) * 2


def zoom_bytes(robot: RobotDescription, span: float) -> float:
    """Memory of the detail of ``span`` [s], as recorded and as signals [byte]."""
    motors = len(motor_names(robot))
    periods = max(1.0, span / controller_of(robot).current_period)
    return 2 * 8.0 * periods * zoom_rows(motors) * (2 + 3 * motors)


def window_cost(solver: Solver, motors: int) -> float:
    """Computing time of a window of the current loop [s]."""
    steps = 1 if solver.method in ("fast", "adaptive") else solver.steps
    if solver.pwm == "averaged":
        return 1e-6 * PER_MOTOR["averaged"] * motors * steps
    if solver.method == "fast":
        return 1e-6 * PER_MOTOR["fast"] * motors
    return 1e-6 * PER_PAIR[solver.method] * motors**2 * steps


def check_budget(found: Estimate, budget: Budget, *, file: str | None = None, shorter: str = "") -> None:
    """InputError for a run that takes more than it may; ``shorter``: what makes it shorter."""
    if found.seconds > LONGEST:
        text = f"the run lasts {duration_text(found.seconds)}; expected at most {duration_text(LONGEST)}"
        raise InputError(text, file=file)
    if found.memory > budget.memory:
        many_rows = found.of_rows > 0.5 * found.memory
        what = f"{duration_text(found.seconds)} of commands"
        if many_rows:
            what = f"{count_text(found.rows)} rows of {found.columns} signals"
            shorter = f"record less often (--record), {shorter}"
        raise InputError(
            f"{what} take {bytes_text(found.memory)} of memory; expected at most {bytes_text(budget.memory)}: "
            f"{shorter}or raise --max-memory",
            file=file,
            field="record.every" if many_rows else None,
        )
    if found.time > budget.time:
        raise InputError(
            f"{duration_text(found.seconds)} of simulated time take roughly {duration_text(found.time)} to compute; "
            f"expected at most {duration_text(budget.time)}: {shorter}or raise --max-time",
            file=file,
        )


def check_live(robot: RobotDescription, solver: Solver) -> None:
    """InputError for drives that cannot be simulated while somebody waits for every period of the main controller."""
    control = controller_of(robot)
    cost = control.main_period / control.current_period * window_cost(solver, len(motor_names(robot)))
    if cost > max(LIVE, LIVE_FACTOR * control.main_period):
        raise InputError(
            f"a main_period of {control.main_period:g} s takes roughly {duration_text(cost)} to compute; expected a "
            "longer current_period, or an arm without its drives",
            field="controller.current_period",
        )


def longest_within(cost: Callable[[float], Estimate], budget: Budget, most: float) -> tuple[float, str]:
    """The longest time [s] up to ``most`` whose cost is within the budget, and the option that limits it."""
    most = min(most, LONGEST)
    whole = cost(most)
    if whole.memory <= budget.memory and whole.time <= budget.time:
        return most, ""
    low, high = 0.0, most
    for _ in range(60):
        middle = 0.5 * (low + high)
        found = cost(middle)
        within = found.memory <= budget.memory and found.time <= budget.time
        low, high = (middle, high) if within else (low, middle)
    return low, "--max-memory" if cost(high).memory > budget.memory else "--max-time"
