"""A solution on a finer mesh: its multipliers there, from which a solver starts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from servotwin.mechanism.model import Array
from servotwin.motion.optimal.ipopt import Solution
from servotwin.motion.optimal.transcription import Program


def carried(solution: Solution, old: Program, new: Program) -> Solution:
    """The solution of an old program as a start of a new one, which differs in mesh and in the scale of time.

    A row of a node or of an interval stands for a part of the duration, so a multiplier over that part is a function
    of time that the finer mesh samples again.
    """
    change = old.objective_scale / new.objective_scale
    y = np.zeros(new.nlp.m)
    for kind, (before, after) in enumerate(zip(old.nlp.families, new.nlp.families, strict=True)):
        rows = after.code.n_rows
        if not before.stride:  # a balance over the whole motion
            y[after.row : after.row + rows] = change * solution.mult_g[before.row : before.row + rows]
            continue
        values = solution.mult_g[before.row :][: len(before.index) * rows].reshape(-1, rows)
        sampled = _resampled(values, old.mesh, new.mesh, between=kind > 0)
        y[after.row :][: sampled.size] = change * sampled.ravel()
    defects = new.table["oZT"] / old.table["oZT"]  # their rows are parts of a usual step
    for name in ("position defect", "speed defect"):
        first, stride, count, who = new.rows[name]
        at = first + stride * np.arange(count)[:, None] + np.arange(len(who))[None, :]
        y[at] *= defects
    given = [_ends(x, old, new, change) for x in (solution.mult_low, solution.mult_high)]
    return replace(solution, x=new.x0, mult_g=y, mult_low=given[0], mult_high=given[1])


def _resampled(values: Array, old: Array, new: Array, between: bool) -> Array:
    """Multipliers (k, rows) of nodes or intervals of the old mesh at those of the new one."""
    if between:
        middle = 0.5 * (new[1:] + new[:-1])
        of = np.clip(np.searchsorted(old, middle, side="right") - 1, 0, old.size - 2)
        return np.asarray(values[of] * (np.diff(new) / np.diff(old)[of])[:, None])
    rate = values / _weights(old)[:, None]
    at = np.stack([np.interp(new, old, column) for column in rate.T], axis=1)
    return np.asarray(at * _weights(new)[:, None])


def _weights(mesh: Array) -> Array:
    """Part of the duration that each node stands for."""
    step = 0.5 * np.diff(mesh)
    return np.asarray(np.append(step, 0.0) + np.append(0.0, step))


def _ends(values: Array, old: Program, new: Program, change: float) -> Array:
    """Multipliers of variables of the first and last node, and of those that belong to no node; others are zero."""
    width, out = old.form.width, np.zeros(new.nlp.n)
    out[:width] = values[:width]
    out[new.T_index - width :] = values[old.T_index - width :]
    return np.asarray(change * out)
