"""Solve a motion between two points: from which starts, with which room, on which mesh."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from servotwin.mechanism.model import Array, BoolArray
from servotwin.motion.limits import MotionLimits
from servotwin.motion.optimal.between_nodes import Motion, excess_currents, motion_of
from servotwin.motion.optimal.dense_check import dense_check, sampled
from servotwin.motion.optimal.detours import detours
from servotwin.motion.optimal.drive_model import DriveModel
from servotwin.motion.optimal.finer_mesh import carried
from servotwin.motion.optimal.friction_signs import (
    CLEAR,
    SHARP_SMOOTH,
    against,
    has_signs,
    held_back,
    known_signs,
    slow_speeds,
    without_wrong,
)
from servotwin.motion.optimal.guess import Guess, refined_guess, split_mesh, straight_guess
from servotwin.motion.optimal.heat import ripple
from servotwin.motion.optimal.interior_point import STOPPED
from servotwin.motion.optimal.ipopt import Solution
from servotwin.motion.optimal.structured import solve_program
from servotwin.motion.optimal.task import Task
from servotwin.motion.optimal.transcription import ROUNDED, Program, held_motors, transcribe
from servotwin.robot.robot import Robot

Options = Mapping[str, str | float | int]
Start = tuple[
    Guess, Solution | None, bool, Options
]  # a start, a solution near it, whether its multipliers count
SHARP = 5e-4  # of the largest rise: a ripple below it needs no second solution
TIGHT = 5e-4  # of a limit of current: what is less between nodes needs none either
MOST_ROOM = 0.3  # of a limit of current
ROUNDS = 4
SIGNED = 4  # rounds in which the signs of friction are found
FINER = 4  # rounds in which the mesh is refined
MOST_NODES = 2  # times the intervals of a task
ROUNDER = (0.2, 0.1, 0.05, 0.02, 0.01, 0.005)  # m, edges of regions before they are sharp
ROUND_OPTIONS: Options = {"mu_init": 1e-4}
WARM_OPTIONS: Options = {"mu_init": 1e-5}
COARSE = 1e-5  # tolerance of solutions that only show what the next one needs
FINAL_OPTIONS: Options = {"mu_init": 1e-6}  # after a coarse solution of the same program
NARROW = ROUNDER[3:]  # the same of motions that begin beside a region
BESIDE_OPTIONS: Options = {"mu_init": 1e-3}
FREE_OPTIONS: Options = {"mu_init": 1e-2}
# A second and third try where the first one fails: another rule for the barrier, a slower start.
TRIES: tuple[tuple[Options, float], ...] = (
    ({}, 1.0),
    ({"mu_strategy": "adaptive"}, 1.3),
    ({"mu_init": 1e-1}, 2.0),
)


@dataclass(frozen=True, eq=False)
class MotionProblem:
    """What is asked: robot, its motors and limits, the task, both ends (n,), and who is told of the progress.

    ``coarse``: solutions need not be solved to the end.
    """

    robot: Robot
    drives: DriveModel
    limits: MotionLimits
    task: Task
    ends: tuple[Array, Array]
    progress: Callable[[int, float], None] | None = None
    coarse: bool = False

    def program(self, guess: Guess, rounded: float = ROUNDED) -> Program:
        """The program that starts at a guess, with edges of regions rounded by ``rounded`` [m]."""
        return transcribe(self.robot, self.drives, self.limits, self.task, guess, self.ends, rounded)

    def solved(self, program: Program, x0: Array, options: Options, warm: Solution | None = None) -> Solution:
        """The solution from x0, clipped to the bounds; ``warm``: one whose multipliers are near."""
        # With limits of the bus a coarse solution leads to another of many local optima.
        if self.coarse and not np.isfinite(self.task.bus_power).any():
            options = {**options, "tol": COARSE}
        return solve_program(program, np.clip(x0, program.low, program.high), options, self.progress, warm)


def solve_motion(p: MotionProblem, guess: Guess, warm: bool = False) -> tuple[Program, Solution]:
    """Solve, from other starts if need be, with room between nodes and on a mesh that shows what happens there.

    ``warm``: the guess is near the solution.
    """
    free = _free_motion(p, guess, warm)
    if free is not None:
        return free
    first = _solved_from(p, guess, warm)
    if not p.task.keep_out or _clear(p, *first) or first[1].status == STOPPED:
        return first
    best: tuple[float, Program, Solution] | None = None
    for via in detours(p.robot, p.limits, p.task, p.ends):
        bent = straight_guess(
            p.robot, p.drives, p.limits, p.ends, guess.mesh, p.task.duration, guess.power, via
        )
        coarse = replace(p, coarse=True)
        found = _finished(p, bent, *_first_solved(coarse, _round_starts(coarse, bent)))
        if _clear(p, *found) and (best is None or found[1].objective * found[0].objective_scale < best[0]):
            best = found[1].objective * found[0].objective_scale, *found
    return first if best is None else best[1:]


def _free_motion(p: MotionProblem, guess: Guess, warm: bool) -> tuple[Program, Solution] | None:
    """The motion without regions and limits of the bus where it keeps them all the same; None if it does not."""
    if not p.task.keep_out and not np.isfinite(p.task.bus_power).any():
        return None
    task = replace(p.task, keep_out=(), bus_power=(-math.inf, math.inf))
    answer = _solved_from(replace(p, task=task), guess, warm)
    return answer if answer[1].status == STOPPED or _clear(p, *answer) else None


def _solved_from(p: MotionProblem, guess: Guess, warm: bool) -> tuple[Program, Solution]:
    coarse = replace(p, coarse=True)
    return _finished(p, guess, *_first_solved(coarse, _starts(coarse, guess, warm)))


def _finished(
    p: MotionProblem, guess: Guess, program: Program, solution: Solution
) -> tuple[Program, Solution]:
    """A coarse solution with the signs of friction, room between nodes and a finer mesh where it needs them."""
    return _refined(p, *_settled(p, *_exact(p, guess, program, solution)))[1:]


def _exact(
    p: MotionProblem, guess: Guess, program: Program, solution: Solution
) -> tuple[Guess, Program, Solution]:
    """From a coarse solution: signs of friction from others of that kind, the last of them solved to the end."""
    return _signed(p, *_to_the_end(p, *_signed(replace(p, coarse=True), guess, program, solution)))


def _to_the_end(
    p: MotionProblem, guess: Guess, program: Program, solution: Solution
) -> tuple[Guess, Program, Solution]:
    """A coarse solution solved to the end; itself, which is as good as IPOPT would accept, where that fails."""
    if not solution.solved:
        return guess, program, solution
    answer = p.solved(program, solution.x, FINAL_OPTIONS, solution)
    kept = answer if answer.solved or answer.status == STOPPED else solution
    return guess, program, replace(kept, iterations=solution.iterations + answer.iterations)


def _signed(
    p: MotionProblem, guess: Guess, program: Program, solution: Solution
) -> tuple[Guess, Program, Solution]:
    """The solution whose dry friction has the sign of the speed at every node; as it was if there is none."""
    found = guess, program, solution
    for k in range(SIGNED if has_signs(p.drives) else 0):
        if not solution.solved:
            return found
        w = motion_of(program, solution.x).v @ p.drives.N.T
        if guess.smooth != SHARP_SMOOTH:
            held = held_motors(p.drives, p.task)
            signs = known_signs(w, CLEAR * program.eps, held, p.drives.valve)
        elif not (wrong := _wrong_signs(p, program, solution, w)).any():
            return guess, program, solution
        else:
            signs = without_wrong(guess.signs, wrong, whole=k == SIGNED - 1)
        guess = replace(guess, signs=signs, smooth=SHARP_SMOOTH)
        program = p.program(guess)
        answer = p.solved(program, solution.x, WARM_OPTIONS, solution)
        solution = replace(answer, iterations=solution.iterations + answer.iterations)
    return (guess, program, solution) if solution.solved else found


def _wrong_signs(p: MotionProblem, program: Program, solution: Solution, w: Array) -> BoolArray:
    """Where (N + 1, m) motors with speeds w turn against their signs, or would if they were let."""
    n = program.form.n
    slow = slow_speeds(p.drives, program.eps, program.scales()[n : 2 * n])
    prices = (program.nodes(x)[:, n : 2 * n] for x in (solution.mult_low, solution.mult_high))
    return against(w, program.signs, program.eps) | held_back(p.drives, program.signs, slow, *prices)


def _first_solved(p: MotionProblem, starts: Iterator[Start]) -> tuple[Program, Solution]:
    """What the first start that leads anywhere leads to; if none does, the first attempt."""
    best: tuple[Program, Solution] | None = None
    for start, near, alike, options in starts:
        program = p.program(start)
        x0 = program.x0 if near is None else near.x
        solution = p.solved(program, x0, options, near if alike else None)
        if best is None or solution.solved:
            best = program, solution
        if solution.solved or solution.status == STOPPED:
            break
    assert best is not None
    return best


def _clear(p: MotionProblem, program: Program, solution: Solution) -> bool:
    """Whether a motion is solved, passes through no region and keeps the limits of the bus, between nodes too."""
    if not solution.solved:
        return False
    samples = sampled(p.robot, p.drives, program, motion_of(program, solution.x))
    found = dense_check(p.robot, p.drives, p.limits, p.task, samples)
    return not any((x.place or x.who == "bus") and x.over.any() for x in found)


def _round_starts(p: MotionProblem, guess: Guess) -> Iterator[Start]:
    """A guess beside a region: about rounder edges first, or as it is."""
    around = _rounded_start(p, guess, NARROW, BESIDE_OPTIONS)
    if around is not None:
        yield guess, around, True, ROUND_OPTIONS
    yield guess, None, False, BESIDE_OPTIONS


def _starts(p: MotionProblem, guess: Guess, warm: bool) -> Iterator[Start]:
    """Where to start from, the most promising first."""
    if warm:
        yield guess, None, False, WARM_OPTIONS
    elif p.task.keep_out:
        around = _rounded_start(p, guess)
        if around is not None:
            yield guess, around, True, ROUND_OPTIONS
    elif any(math.isfinite(x) for x in p.task.bus_power):
        free = _free_start(p, guess)
        if free is not None:
            yield guess, free, False, FREE_OPTIONS
    if p.drives.valve.any() and not warm:
        yield _one_way(p, guess), None, False, {}
    for options, slower in TRIES:
        yield (
            guess if slower == 1.0 or p.task.duration is not None else _slowed(guess, slower),
            None,
            False,
            options,
        )


def _one_way(p: MotionProblem, guess: Guess) -> Guess:
    """A guess whose servovalves are known to move as on the straight line.

    Pistons brake less than they hold at rest, so an unknown way parts the motions of heavy loads.
    """
    way = np.sign(p.drives.N @ (p.ends[1] - p.ends[0]))
    signs = np.where(p.drives.valve, way, guess.signs)
    if held_motors(p.drives, p.task).any():
        signs[[0, -1]] = guess.signs[[0, -1]]
    return replace(guess, signs=signs)


def _free_start(p: MotionProblem, guess: Guess) -> Solution | None:
    """The motion without limits of the bus: the branches of currents that they leave are chosen from there."""
    free = replace(p, task=replace(p.task, bus_power=(-math.inf, math.inf)))
    program = free.program(guess)
    solution = free.solved(program, program.x0, {})
    return solution if solution.solved else None


def _refined(
    p: MotionProblem, guess: Guess, program: Program, solution: Solution
) -> tuple[Guess, Program, Solution]:
    """The solution on a mesh that is finer wherever the motion exceeds a limit between nodes, for some rounds."""
    for _ in range(FINER):
        if not solution.solved or program.mesh.size > MOST_NODES * p.task.intervals:
            break
        motion = motion_of(program, solution.x)
        found = dense_check(p.robot, p.drives, p.limits, p.task, sampled(p.robot, p.drives, program, motion))
        over = np.any([x.over for x in found], axis=0)
        if not over.any():
            break
        guess = refined_guess(guess, motion, program.room(p.drives.current), split_mesh(program.mesh, over))
        then = p.program(guess)
        near = carried(solution, program, then)
        answer = replace(p, coarse=True).solved(then, then.x0, WARM_OPTIONS, near)
        answer = replace(answer, iterations=solution.iterations + answer.iterations)
        if not answer.solved:
            break
        guess, program, solution = _exact(p, guess, then, answer)
    return guess, program, solution


def _rounded_start(
    p: MotionProblem, guess: Guess, edges: tuple[float, ...] = ROUNDER, first: Options | None = None
) -> Solution | None:
    """A motion around rounder regions: at a sharp corner the instant of passing it would hardly move."""
    found: Solution | None = None
    for rounded in edges:
        program = p.program(guess, rounded)
        x0 = program.x0 if found is None else found.x
        solution = p.solved(program, x0, (first or {}) if found is None else ROUND_OPTIONS, found)
        found = solution if solution.solved else found
    return found


def _settled(
    p: MotionProblem, guess: Guess, program: Program, solution: Solution
) -> tuple[Guess, Program, Solution]:
    """The solution with room for the ripple of hot windings and for what currents need between nodes."""
    iterations = solution.iterations
    for _ in range(ROUNDS):
        if not solution.solved:
            break
        more, room = _missing_room(p, program, motion_of(program, solution.x), guess)
        if more is guess.ripple and room is guess.room:
            break
        guess = replace(guess, ripple=more, room=room)
        program = p.program(guess)
        solution = p.solved(program, solution.x, WARM_OPTIONS, solution)
        iterations += solution.iterations
        if not solution.solved and solution.status != STOPPED:
            solution = p.solved(program, program.x0, {})
            iterations += solution.iterations
    return guess, program, replace(solution, iterations=iterations)


def _missing_room(p: MotionProblem, program: Program, motion: Motion, guess: Guess) -> tuple[Array, Array]:
    """Ripple (m,) [K] and room (N + 1, m) [A] that a solution needs; the guess's own where they are enough."""
    more, room, task, drives = guess.ripple, guess.room, p.task, p.drives
    heated = list(program.form.heated)
    if heated:
        now = ripple(drives, motion.t, motion.i, task.rest, guess.holding(-1))
        if any(motion.rise[j] + now[j] > drives.rise[j] * (1.0 + SHARP) for j in heated):
            more = now
    if task.current and drives.electric and not task.free_start and not task.free_end:
        over = excess_currents(p.robot, drives, program, motion)
        if (over > TIGHT * drives.current).any():
            room = np.minimum(room + 1.1 * over, MOST_ROOM * drives.current)
    return more, room


def _slowed(guess: Guess, k: float) -> Guess:
    return replace(guess, T=k * guess.T, v=guess.v / k, a=guess.a / k**2, i=guess.i / k**2)
