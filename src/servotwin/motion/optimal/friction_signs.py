"""Which way motors turn in a solved motion: there dry friction is a number, not a function of the speed."""

from __future__ import annotations

import numpy as np

from servotwin.mechanism.model import Array, BoolArray
from servotwin.motion.optimal.drive_model import DriveModel

SHARP_SMOOTH = 0.005  # of the speeds that the motion reaches: the same where the way of a motor is not known
BESIDE = 2  # nodes next to one with a wrong sign
AGAINST = 0.5  # times that: how quickly a motor may turn against its known sign
PRICED = 5e-6  # of the objective: what a bound by a right sign costs at most, over that speed
CLEAR = 2.0  # times that: a motor this quick turns one way


def has_signs(drives: DriveModel) -> bool:
    """Whether the torque of any motor depends on which way it turns: dry friction, gear losses, braking by a valve."""
    return bool((drives.coulomb > 0.0).any() or (drives.efficiency < 1.0).any() or drives.valve.any())


def known_signs(w: Array, slow: Array, held: BoolArray, valve: BoolArray) -> Array:
    """Signs (N + 1, m) of speeds w (N + 1, m) [rad/s] at nodes, 0 within ``slow`` (m,) about a reversal.

    Between rest at either end and the first clear speed a motor turns the way it will, at the end itself too, but not
    at the start where its current is ``held`` (m,): such a motor sticks until its current has built up. A ``valve``
    (m,) has its whole force at rest.
    """
    signs = np.where(np.abs(w) > slow, np.sign(w), 0.0)
    for j in range(w.shape[1]):
        clear = np.flatnonzero(signs[:, j])
        if not clear.size:
            continue
        for first, step in ((clear[0], 1), (clear[-1], -1)):
            lead = slice(None, first) if step > 0 else slice(first + 1, None)
            inner = w[1:-1, j][slice(None, max(first - 1, 0)) if step > 0 else slice(first, None)]
            if (inner * signs[first, j] > 0.0).all():
                signs[lead, j] = signs[first, j]
    signs[0, held], signs[-1, held & valve] = 0.0, 0.0
    return np.asarray(signs)


def end_currents(drives: DriveModel, held: Array, signs: Array, soft: Array) -> Array:
    """Currents (m,) [A] of motors that come to rest turning as ``signs`` (m,) say, where ``held`` hold the arm.

    Until it rests a motor works against its dry friction; afterwards it sticks, and the current may fall to what holds
    the arm. ``soft`` (m,) [N m]: torques within which gears change their direction of power.
    """
    passed, eta = drives.K * held + drives.offset, drives.efficiency
    size = np.sqrt(passed**2 + soft**2)
    lossy = 0.5 * (1.0 / eta + eta) * passed + signs * 0.5 * (1.0 / eta - eta) * size  # eq:gear-efficiency
    torque = np.where((eta < 1.0) & (signs != 0.0), lossy, passed) + drives.coulomb * signs
    return np.clip((torque - drives.offset) / drives.K, -drives.current, drives.current)


def interval_signs(signs: Array) -> Array:
    """Signs (N, m) between nodes with ``signs`` (N + 1, m), 0 about a reversal; at the ends those of the inner node."""
    one, two = signs[:-1].copy(), signs[1:].copy()
    one[0], two[-1] = two[0], one[-1]
    return np.where(one == two, one, 0.0)


def against(w: Array, signs: Array, eps: Array) -> BoolArray:
    """Where (N + 1, m) motors clearly turn against their known signs, as ``signs_between`` counts it."""
    return np.asarray(signs * w < -eps)


def without_wrong(signs: Array, wrong: BoolArray, whole: bool) -> Array:
    """Signs (N + 1, m) unknown where they were ``wrong`` and beside, or all of such a motor: that ends the search."""
    if whole:
        return np.where(wrong.any(axis=0), 0.0, signs)
    wide = wrong.copy()
    for k in range(1, BESIDE + 1):
        wide[k:] |= wrong[:-k]
        wide[:-k] |= wrong[k:]
    return np.where(wide, 0.0, signs)


def smooth_sign(w: Array, eps: Array) -> Array:
    """Which way (k, m) shafts turn where that is not known (eq:smooth-sign)."""
    return np.asarray(w / np.sqrt(w**2 + np.maximum(eps, 1e-300) ** 2))


def lead_times(t: Array, at: Array) -> Array:
    """How far (k,) [s] instants of the first and last interval are from their inner node, where the arm moves."""
    return np.asarray(np.where(at < t[1], t[1] - at, np.where(at > t[-2], t[-2] - at, 0.0)))


def signs_between(t: Array, signs: Array, eps: Array, at: Array, w: Array, wd: Array) -> Array:
    """Signs (k, m) in friction at instants ``at`` (k,) between nodes t (N + 1,) with ``signs`` (N + 1, m).

    Where both nodes beside turn the same way it is that one, unless the speed w (k, m) is clearly contrary; about a
    reversal it is smooth within ``eps`` (m,) [rad/s].
    """
    k = np.clip(np.searchsorted(t, at, side="right") - 1, 0, t.size - 2)
    one, two = signs[k], signs[k + 1]
    sharp = np.where(w * one >= -eps, one, np.sign(w))
    smooth = smooth_sign(w + lead_times(t, at)[:, None] * wd, eps)
    return np.where((one == two) & (one != 0.0), sharp, smooth)


def slow_speeds(drives: DriveModel, eps: Array, scale: Array) -> Array:
    """How quickly (m,) motors that move one joint may turn against their signs, over the joints' scales (n,)."""
    out = np.zeros(drives.m)
    for j, k in _single(drives):
        out[j] = AGAINST * eps[j] / abs(drives.N[j, k]) / scale[k]
    return out


def bound_signs(drives: DriveModel, signs: Array, slow: Array, low: Array, high: Array) -> None:
    """Bounds (N + 1, n or more) of scaled joint speeds with which motors that move one joint keep their known signs."""
    for j, k in _single(drives):
        way, free = signs[:, j] * np.sign(drives.N[j, k]), low[:, k] < high[:, k]
        low[:, k] = np.where(free & (way > 0.0), np.maximum(low[:, k], -slow[j]), low[:, k])
        high[:, k] = np.where(free & (way < 0.0), np.minimum(high[:, k], slow[j]), high[:, k])


def held_back(drives: DriveModel, signs: Array, slow: Array, low: Array, high: Array) -> BoolArray:
    """Where (N + 1, m) motors would gain by turning against their signs, by multipliers (N + 1, n) of both bounds."""
    out = np.zeros(signs.shape, dtype=bool)
    for j, k in _single(drives):
        way = signs[1:-1, j] * np.sign(drives.N[j, k])  # speeds of both ends are given, or free
        price = np.where(way > 0.0, low[1:-1, k], np.where(way < 0.0, high[1:-1, k], 0.0))
        out[1:-1, j] = price * slow[j] > PRICED
    return out


def _single(drives: DriveModel) -> list[tuple[int, int]]:
    """Motors that move one joint only, and which."""
    return [(j, int(np.flatnonzero(row)[0])) for j, row in enumerate(drives.N) if np.count_nonzero(row) == 1]
