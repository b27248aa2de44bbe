"""Solve a transcribed motion with the compiled interior-point method, where its rows have the form that it knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from servotwin.compiled.array_records import Packed
from servotwin.mechanism.model import Array
from servotwin.motion.optimal.block_nlp import BlockNlp, Family
from servotwin.motion.optimal.block_values import Blocks, blocks_of
from servotwin.motion.optimal.feasibility import verified
from servotwin.motion.optimal.interior_point import FILTER, PUSH, STEPS, STOPPED, solve
from servotwin.motion.optimal.ipopt import OPTIONS, Solution, solve_nlp, watched
from servotwin.motion.optimal.newton_model import (
    ITERATION,
    OBJECTIVE,
    SCALARS,
    STOP,
    VIOLATION,
    Memory,
    Method,
    Problem,
    State,
)
from servotwin.motion.optimal.stage_solver import Model, Stages, Sweep
from servotwin.motion.optimal.transcription import Program

RELAX = float(OPTIONS["bound_relax_factor"])
MU = float(OPTIONS["mu_init"])  # barrier to begin with
TOL = float(OPTIONS["tol"])
WARM_PUSH = 1e-5
MOST = 150  # iterations before IPOPT takes over


def solve_program(
    program: Program,
    x0: Array,
    options: Mapping[str, str | float | int],
    progress: Callable[[int, float], None] | None = None,
    warm: Solution | None = None,
) -> Solution:
    """Solve from x0, or near a ``warm`` solution, node by node.

    With IPOPT and its ``options`` where the program has other equations or that fails. Whatever a method says, its
    answer is looked at anew: what is open is not solved.
    """
    if fits(program) and set(options) <= {"mu_init", "tol"}:
        mu, tol = float(options.get("mu_init", MU)), float(options.get("tol", TOL))
        answer = verified(program, solve_structured(program, x0, mu, warm, progress, tol))
        if answer.solved or answer.status == STOPPED:
            return answer
    return verified(program, solve_nlp(program.nlp, x0, program.low, program.high, options, progress))


def solve_structured(
    program: Program,
    x0: Array,
    mu: float,
    warm: Solution | None = None,
    progress: Callable[[int, float], None] | None = None,
    tol: float = TOL,
) -> Solution:
    """Solve from x0 with barrier ``mu`` to begin with, and with the multipliers of a ``warm`` solution.

    ``tol``: of the scaled error; where it is coarse, products of multipliers and distances may be as large.
    """
    nlp = program.nlp
    stages, kept = _stages(program)
    low, high = np.concatenate(nlp.low), np.concatenate(nlp.high)
    fixed, equation = program.low == program.high, low == high
    relaxed = [_relaxed(program.low, -1.0, fixed), _relaxed(program.high, 1.0, fixed)]
    rows = [_relaxed(low, -1.0, equation), _relaxed(high, 1.0, equation)]
    others = [float(OPTIONS[k]) for k in ("constr_viol_tol", "dual_inf_tol", "compl_inf_tol")]
    tolerances = np.array([tol, others[0], others[1], max(others[2], tol)])
    n, m = nlp.n, nlp.m
    problem = Problem(
        stages, n, m, relaxed[0], relaxed[1], fixed.view(np.uint8), rows[0], rows[1], equation.view(np.uint8),
        tolerances, PUSH if warm is None else WARM_PUSH,
    )  # fmt: skip
    state = State(
        np.array(x0, dtype=float), np.zeros(m), np.zeros(m), *(np.zeros(k) for k in (n, n, m, m, n))
    )
    if warm is not None:
        state.y[:] = warm.mult_g
        state.y_fixed[:] = np.where(fixed, warm.mult_high - warm.mult_low, 0.0)
    model, sweep, memory = _model(stages, n, m), _sweep(stages, n), _memory(nlp)
    steps = np.array([step.address for step in STEPS])
    method = Packed(Method(problem, state, model, sweep, memory, steps))
    watch = memory.scalars
    status = watched(
        lambda: int(solve(method.address, mu, MOST)),
        watch,
        (ITERATION, VIOLATION, STOP),
        progress,
    )
    del kept  # whose addresses the method was given
    z_low, z_high = _given(state, fixed)
    objective, iterations = float(memory.scalars[OBJECTIVE]), int(memory.scalars[ITERATION])
    x = np.where(fixed, program.low, state.x)
    return Solution(int(status), x, memory.g, objective, state.y, z_low, z_high, iterations)


def _given(state: State, fixed: Any) -> tuple[Array, Array]:
    y = np.where(fixed, state.y_fixed, 0.0)
    return state.z_low + np.maximum(-y, 0.0), state.z_high + np.maximum(y, 0.0)


def _relaxed(bound: Array, sign: float, exact: Any) -> Array:
    return np.where(exact, bound, bound + sign * RELAX * np.maximum(1.0, np.abs(bound)))


def _stages(program: Program) -> tuple[Stages, list[Family]]:
    form, families = program.form, program.nlp.families
    n, h, N = form.n, len(form.heated), program.mesh.size - 1
    border = 8 * n
    blocks: list[Blocks] = [blocks_of(f) for f in families]
    if not h:
        blocks += [_empty(), _empty()]
    heated = np.array(form.heated, dtype=np.int64)
    hot = border + 1 + np.arange(h)
    maps = (
        np.concatenate([np.arange(4 * n), hot]),
        4 * n + np.concatenate([np.arange(4 * n), hot]),
        np.arange(8 * n + 1 + h),
        np.concatenate([3 * n + heated, 7 * n + heated, [border], hot]),
        np.concatenate([3 * n + heated, hot]),
    )
    return Stages(n, h, N, *blocks, *(x.astype(np.int64) for x in maps)), list(families)


def _empty() -> Blocks:
    none = np.zeros(0, dtype=np.int32)
    return Blocks(
        none, np.zeros(0), 0, 0, 0, np.zeros(1, dtype=np.int32), none, none, none, none, none, 0, 0, 0, 0, 0,
        np.zeros(6, dtype=np.int64),
    )  # fmt: skip


def _model(s: Stages, n: int, m: int) -> Model:
    blocks = (s.node, s.link, s.heat, s.rest)
    jac = [np.zeros(b.blocks * b.n_jac) for b in blocks]
    hess = [np.zeros(b.blocks * b.n_hess) for b in blocks]
    sizes = (n, n, m, m, m)
    return Model(*jac, *hess, *(np.zeros(size) for size in sizes))


def _memory(nlp: BlockNlp) -> Memory:
    most_in = max(f.code.n + f.code.n_data + 1 + f.code.n_rows for f in nlp.families)
    most_out = max(1 + f.code.n_rows + f.code.n + f.code.jacobian[0].size for f in nlp.families)
    sizes = [nlp.n] * 7 + [nlp.m] * 9 + [FILTER, FILTER, SCALARS, most_in, most_out]
    return Memory(*(np.zeros(size) for size in sizes))


def _sweep(s: Stages, n: int) -> Sweep:
    size = 8 * s.n + 1 + 2 * s.h + 1
    return Sweep(
        size, np.zeros(size**2), np.zeros(size**2), np.zeros(s.N * s.n * size), np.zeros(size**2), np.zeros(n),
        np.zeros(s.h), np.zeros(size), np.zeros(size, dtype=np.int64), np.zeros(size),
    )  # fmt: skip


def fits(program: Program) -> bool:
    """Whether all equations are those that the stages put in."""
    low, high = np.concatenate(program.nlp.low), np.concatenate(program.nlp.high)
    known = {"dynamics", "position defect", "speed defect", "heat"}
    ours = sum(count * len(who) for name, (_, _, count, who) in program.rows.items() if name in known)
    return bool(np.count_nonzero(low == high) == ours) and program.form.m == program.form.n
