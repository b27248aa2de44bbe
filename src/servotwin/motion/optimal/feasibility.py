"""Whether the answer of a solver is a motion: splines that join, bounds and rows, looked at anew after it is done."""

from __future__ import annotations

import ctypes
from dataclasses import replace

import numpy as np

from servotwin.mechanism.model import Array
from servotwin.motion.optimal import callbacks as cb
from servotwin.motion.optimal.between_nodes import motion_of
from servotwin.motion.optimal.block_nlp import BlockNlp, make_table
from servotwin.motion.optimal.ipopt import Solution
from servotwin.motion.optimal.result import SplineSegment
from servotwin.motion.optimal.transcription import Program

FEASIBLE = 1e-6  # of the scales: what is open by more is no solution
STANDS = 1e-3  # of the scale of a joint: what moves less is measured by this
INFEASIBLE = 2  # as IPOPT counts


def verified(program: Program, solution: Solution) -> Solution:
    """The solution with the rows at its own variables; not solved if anything is open."""
    solution = replace(solution, g=rows_at(program.nlp, solution.x))
    if solution.solved and not open_part(program, solution) <= FEASIBLE:
        return replace(solution, status=INFEASIBLE)
    return solution


def rows_at(nlp: BlockNlp, x: Array) -> Array:
    """All rows (m,) at the variables x (n,)."""
    table, g, at = make_table(nlp), np.zeros(nlp.m), np.ascontiguousarray(x, dtype=np.float64)
    whole, pointer = ctypes.c_int, ctypes.c_void_p
    evaluate = ctypes.CFUNCTYPE(whole, whole, pointer, whole, whole, pointer, pointer)(cb.eval_g.address)
    evaluate(nlp.n, at.ctypes.data, 1, nlp.m, g.ctypes.data, table.address)
    return g


def open_part(program: Program, solution: Solution) -> float:
    """The largest violation: of the integrals of speed and acceleration, of bounds and of rows, as part of scales."""
    low, high = np.concatenate(program.nlp.low), np.concatenate(program.nlp.high)
    rows, x = solution.g, solution.x
    parts = [low - rows, rows - high, program.low - x, x - program.high]
    return float(np.max([spline_gap(program, x), *(part.max(initial=0.0) for part in parts)]))


def spline_gap(program: Program, x: Array) -> float:
    """How far the polynomials between nodes end beside the next nodes, all of them together, as part of the motion."""
    motion, n = motion_of(program, x), program.form.n
    scales = program.scales()
    q, v, _ = SplineSegment(motion.t, motion.q, motion.v, motion.a).ends()
    gaps = []
    for values, ends, scale in (
        (motion.q, q, scales[:n]),
        (motion.v, v, scales[n : 2 * n]),
    ):
        size = np.maximum(np.ptp(values, axis=0), STANDS * scale)
        gaps.append(float((np.abs(ends - values[1:]).sum(axis=0) / size).max()))
    return max(gaps)
