r"""All motors and gears for one axis at once: what every pair needs, by inner products of a few signals.

The motor torque of a pair (eq:motor-load) is a sum of signals of the cycle that do not depend on the pair,

.. math:: \tau_m = \tfrac{1}{n\eta} T_+ + \tfrac{\eta}{n} T_- + \tfrac1n (T_0 + F) + (J_m + J_g)\,n\,\ddot\phi
          + f\,n\,\dot\phi + \tau_c\,\mathrm{sign}\,\dot\phi + \tau_g                     (eq:pair-torque)

(load that is driven, that drives, that is held; friction F of the joint, tau_g of the gear), so that the RMS
torques of all pairs follow exactly from one Gram matrix of these signals, and at rest from eq:stick-band.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from servotwin.description.power_parts import Power
from servotwin.description.sheets.gear_life import average_torque
from servotwin.design.sizing.actuators import Actuator, GearChoice, MotorChoice
from servotwin.design.sizing.evaluate import (
    Rules,
    continuous_torques,
    copper_factor,
    demand_of,
    drive_limits_of,
    stop_torque,
)
from servotwin.design.sizing.load import Load
from servotwin.design.sizing.standstill import resting
from servotwin.mechanism.model import Array, BoolArray, IntArray
from servotwin.motion.motor_limits import DriveLimits

EXTREMES = 24  # instants at which every pair's peak is looked at before all instants are
CHUNK = 64  # pairs whose peaks are looked at together
BINS = 96  # of a cycle, in which RMS values are bounded from below
SLACK = 1e-9  # relative: what rounding may take from a limit


@dataclass(frozen=True, eq=False)
class Signals:
    """Output load (k,) of one axis cut by the power flow, with what does not depend on the masses."""

    driven: Array
    driving: Array
    held: Array

    @staticmethod
    def of(torque: Array, speed: Array) -> Signals:
        """The parts of a torque (k,)."""
        way = torque * speed
        return Signals(
            np.where(way > 0.0, torque, 0.0),
            np.where(way < 0.0, torque, 0.0),
            np.where(way == 0.0, torque, 0.0),
        )


class AxisChoices:
    """Motors (M) and gears (G) for actuator j; tables have the shape (M, G)."""

    def __init__(
        self,
        load: Load,
        j: int,
        motors: Sequence[MotorChoice],
        gears: Sequence[GearChoice],
        power: Power | None,
        rules: Rules,
    ) -> None:
        self.j, self.name, self.motors, self.gears = j, load.names[j], tuple(motors), tuple(gears)
        self.load = load.only(j)
        self.power, self.rules, self.seconds = power, rules, load.seconds
        self.weights = self.seconds / self.seconds.sum()
        self.v, self.a = load.speed[:, j], load.acceleration[:, j]
        self.sign = np.sign(self.v)
        self.joint_friction = load.friction[j].torque(self.v)
        self.n = np.array([gear.ratio for gear in gears])
        self.eta = np.array([gear.efficiency for gear in gears])
        J_m, J_g = (np.array([part.rotor_inertia for part in motors]), np.array([g.inertia for g in gears]))
        self.J = J_m[:, None] + J_g
        self.viscous = np.array([motor.friction.viscous for motor in motors])
        self.coulomb = np.array([motor.friction.coulomb for motor in motors])
        self.idle = np.stack([gear.friction.torque(gear.ratio * self.v) for gear in gears])  # (G, k)
        self.rest = resting(load, j)
        self.moving = np.where(self.rest, 0.0, self.weights)
        self.static = np.array([max(motor.friction.static) for motor in motors])[:, None] + (
            np.array([max(gear.friction.static) for gear in gears]) + max(load.friction[j].static) / self.n
        )
        own = np.stack([self.a, self.v, self.sign]) * self.moving
        self.idle_cross = np.einsum("gk,ak->ga", self.idle, own)
        self.idle_square = self.idle**2 @ self.moving
        self.mass = _column([part.mass for part in motors]) + _row([gear.mass for gear in gears])
        self.drives = _stacked([drive_limits_of(motor, power, rules) for motor in motors])
        self.torque_limits = np.array([motor.torque_limit for motor in motors])
        self.edges = np.unique(np.linspace(0, len(self.v), BINS + 1).astype(np.int64))[:-1]
        self.spans = np.add.reduceat(self.weights, self.edges)
        self.span_means = self._means(np.stack([self.joint_friction, self.a, self.v, self.sign]))
        self.idle_means = self._means(self.idle)
        self.rms_limit = self._rms_limits()
        self.possible = self._possible_speeds()
        # what several searches of the same axis share
        self.judged: dict[tuple[object, ...], bool] = {}
        self.tables: dict[tuple[object, ...], BoolArray] = {}

    # --- limits that no mass changes -----------------------------------------------------------------
    def _possible_speeds(self) -> BoolArray:
        """Pairs (M, G) whose motor and gear turn as fast as the cycle asks."""
        top, mean = float(np.abs(self.v).max()), float(np.abs(self.v) @ self.weights)
        most = _filled([motor.top_speed for motor in self.motors])[:, None]
        most = np.minimum(most, _filled([gear.max_speed for gear in self.gears]))
        usual = _filled([gear.average_speed for gear in self.gears])
        slack = (1.0 + SLACK) / self.rules.reserve
        return np.asarray((top * self.n <= most * slack) & (mean * self.n <= usual * slack))

    def _rms_limits(self) -> Array:
        """Largest RMS torque (M, G) by the continuous curve and by the mean winding temperature."""
        speeds = self.n * math.sqrt(float(self.v**2 @ self.weights))
        rows = [
            np.minimum(continuous_torques(motor, speeds) / self.rules.reserve, _heat_limit(motor, self.rules))
            for motor in self.motors
        ]
        return np.array(rows) * (1.0 + SLACK)

    # --- what masses change --------------------------------------------------------------------------
    def rms(self, torque: Array, m: IntArray, g: IntArray) -> Array:
        """RMS torque (p,) of the pairs of motors m and gears g under the output torque (k,) (eq:pair-torque)."""
        parts = Signals.of(torque, self.v)
        held = parts.held + self.joint_friction
        X = np.stack([parts.driven, parts.driving, held, self.a, self.v, self.sign])
        W = X * self.moving
        cross = np.concatenate([np.einsum("gk,ak->ga", self.idle, W[:3]), self.idle_cross], axis=1)
        n, eta = self.n[g], self.eta[g]
        C = np.stack(
            [1.0 / (n * eta), eta / n, 1.0 / n, self.J[m, g] * n, self.viscous[m] * n, self.coulomb[m]]
        )
        square = np.sum(C * (np.einsum("ak,bk->ab", W, X) @ C), axis=0)
        square += 2.0 * np.sum(C * cross[g].T, axis=0) + self.idle_square[g]
        # at rest |T|/(eta n) + static friction: eq:stick-band
        size, w = np.abs(torque[self.rest]), self.weights[self.rest]
        at, static = 1.0 / (n * np.minimum(eta, 1.0)), self.static[m, g]
        square += at**2 * (size**2 @ w) + 2.0 * at * static * (size @ w) + static**2 * w.sum()
        return np.asarray(np.sqrt(np.maximum(square, 0.0)))

    def torques_at(self, torque: Array, at: IntArray, m: IntArray, g: IntArray) -> Array:
        """Motor torques (p, s) of pairs at the instants ``at`` (s,) (eq:pair-torque)."""
        T, v, a = torque[at], self.v[at], self.a[at]
        n, eta = self.n[:, None], self.eta[:, None]
        way = T * v
        passed = np.where(way > 0.0, T / (n * eta), np.where(way < 0.0, T * eta / n, T / n))
        common = passed + self.joint_friction[at] / n + self.idle[:, at]
        own = (self.J[m, g] * self.n[g])[:, None] * a
        friction = (self.viscous[m] * self.n[g])[:, None] * v + self.coulomb[m][:, None] * np.sign(v)
        return np.asarray(common[g] + own + friction)

    def gears_that_bear(self, torque: Array) -> BoolArray:
        """Gears (G,) whose average, held and repeated torque the output torque (k,) respects."""
        peak, held = float(np.abs(torque).max()), float(np.abs(torque[self.v == 0.0]).max(initial=0.0))
        means = {
            e: average_torque(torque, self.v, self.seconds, e) for e in {gear.exponent for gear in self.gears}
        }
        slack = (1.0 + SLACK) / self.rules.reserve
        out = []
        for gear in self.gears:
            usual = gear.average_torque if gear.average_torque is not None else gear.rated_torque
            ok = usual is None or max(means[gear.exponent], held) <= usual * slack
            out.append(ok and (gear.repeated_torque is None or peak <= gear.repeated_torque * slack))
        return np.array(out)

    def candidates(self, torque: Array, m: IntArray, g: IntArray) -> Iterator[tuple[int, int]]:
        """Those of the pairs (p,), in their order, that speeds, RMS torque, gear loads and peaks do not refuse."""
        ok = self.possible[m, g] & self.gears_that_bear(torque)[g]
        m, g = m[ok], g[ok]
        if not len(m):
            return
        ok = self.rms(torque, m, g) <= self.rms_limit[m, g]
        m, g = m[ok], g[ok]
        at = self.extremes(torque)
        for begin in range(0, len(m), CHUNK):
            some, others = m[begin : begin + CHUNK], g[begin : begin + CHUNK]
            fits = self._peaks_fit(torque, at, some, others)
            yield from zip(some[fits].tolist(), others[fits].tolist(), strict=True)

    def extremes(self, torque: Array) -> IntArray:
        """Instants of the largest load, acceleration, speed and their sums."""
        typical = [torque, self.a, self.v]
        scaled = [x / max(float(np.abs(x).max()), 1e-300) for x in typical]
        mixes = [*scaled, scaled[0] + scaled[1], scaled[0] + scaled[2], sum(scaled)]
        count = EXTREMES // len(mixes)
        found = []
        for mix in mixes:
            size = np.abs(mix)
            found.append(np.argpartition(size, -min(count, len(size)))[-count:])
        return np.unique(np.concatenate(found))

    def _peaks_fit(self, torque: Array, at: IntArray, m: IntArray, g: IntArray) -> BoolArray:
        tau = self.torques_at(torque, at, m, g)
        w = self.n[g][:, None] * self.v[at]
        drive = DriveLimits(*(part[m][:, None] for part in vars(self.drives).values()))
        current, voltage, _ = drive.parts(tau, w)
        share = np.maximum(current, voltage).max(axis=1)
        return np.asarray(share <= (1.0 + SLACK) / self.rules.reserve)

    def fits(self, load: Load, m: int, g: int, felt: tuple[float, ...]) -> bool:
        """The judgement that counts: whether a pair passes every check under a load of this axis alone.

        ``felt``: masses of the other choices in this load; a pair is judged once under the same.
        """
        key = (m, g, felt)
        if key not in self.judged:
            self.judged[key] = self._passes(load, m, g)
        return self.judged[key]

    def _passes(self, load: Load, m: int, g: int) -> bool:
        actuator = self.pair(m, g)
        stop, limit = stop_torque(load, 0, actuator), self.gears[g].momentary_torque
        if stop is not None and limit is not None and stop * self.rules.reserve > limit:
            return False
        return demand_of(load, 0, actuator, self.power, self.rules).passes

    def pair(self, m: int, g: int) -> Actuator:
        """Motor m with gear g."""
        return Actuator(self.motors[m], self.gears[g])

    # --- bounds over a range of masses ---------------------------------------------------------------
    def relaxed(self, low: Array, high: Array, m: IntArray, g: IntArray) -> Iterator[BoolArray]:
        """Which of pairs (p,) some output torque between ``low`` and ``high`` (k,) might not refuse, chunk by chunk.

        Torques are bounded instant by instant, RMS values by those of the means of short spans: no pair that fits
        under any of the torques is left out.
        """
        least = np.where((low <= 0.0) & (high >= 0.0), 0.0, np.minimum(np.abs(low), np.abs(high)))
        bears = self.gears_that_bear(least)
        at = self.extremes(0.5 * (low + high))
        ends = [self._spans(torque) for torque in (low, high)]
        for begin in range(0, len(m), CHUNK):
            some, others = m[begin : begin + CHUNK], g[begin : begin + CHUNK]
            ok = bears[others]
            size = _least(*(self.torques_at(torque, at, some, others) for torque in (low, high)))
            ok = ok & (size.max(axis=1) <= self.torque_limits[some] * (1.0 + SLACK) / self.rules.reserve)
            mean = _least(*(self._mean_torques(end, some, others) for end in ends))
            yield np.asarray(ok & (np.sqrt(mean**2 @ self.spans) <= self.rms_limit[some, others]))

    def relaxed_table(self, low: Array, high: Array, key: tuple[object, ...]) -> BoolArray:
        """``relaxed`` for all pairs (M, G) that turn as fast as asked; ``key`` names the range of the torques."""
        if key not in self.tables:
            m, g = np.nonzero(self.possible)
            table = np.zeros(self.possible.shape, dtype=np.bool_)
            table[m, g] = np.concatenate([np.zeros(0, dtype=np.bool_), *self.relaxed(low, high, m, g)])
            self.tables[key] = table
        return self.tables[key]

    def _spans(self, torque: Array) -> Array:
        """Means (3, b) of the driven, driving and held part of an output torque over short spans."""
        parts = Signals.of(torque, self.v)
        return self._means(np.stack([parts.driven, parts.driving, parts.held]))

    def _means(self, x: Array) -> Array:
        sums = np.add.reduceat(x * self.weights, self.edges, axis=-1)
        return np.asarray(sums / np.maximum(self.spans, 1e-300))

    def _mean_torques(self, ends: Array, m: IntArray, g: IntArray) -> Array:
        """Mean motor torques (p, b) of pairs over short spans (eq:pair-torque)."""
        n, eta = self.n[g][:, None], self.eta[g][:, None]
        friction, a, v, sign = self.span_means
        passed = ends[0] / (n * eta) + ends[1] * eta / n + (ends[2] + friction) / n + self.idle_means[g]
        own = (self.J[m, g] * self.n[g])[:, None] * a
        own = own + (self.viscous[m] * self.n[g])[:, None] * v + self.coulomb[m][:, None] * sign
        return np.asarray(passed + own)


def _least(low: Array, high: Array) -> Array:
    """Least size of a number between two others."""
    return np.asarray(np.where(low * high <= 0.0, 0.0, np.minimum(np.abs(low), np.abs(high))))


def _heat_limit(motor: MotorChoice, rules: Rules) -> float:
    """RMS torque at which the mean winding temperature reaches its limit [N m]."""
    heat, winding = motor.thermal, motor.winding
    if heat is None or heat.limit is None or winding is None or not winding.has_torque_constant:
        return math.inf
    around = heat.reference_temperature if rules.ambient is None else rules.ambient
    rise = max(heat.limit - around, 0.0) / rules.reserve
    R = winding.resistance * (
        1.0 + heat.temperature_coefficient * (around + rise - heat.reference_temperature)
    )
    loss = rise / (heat.winding_to_housing + heat.housing_to_ambient)
    return winding.torque_constant * math.sqrt(loss / (copper_factor(motor) * R)) if R > 0.0 else math.inf


def _column(values: Sequence[float | None]) -> Array:
    return np.array([value or 0.0 for value in values])[:, None]


def _row(values: Sequence[float | None]) -> Array:
    return np.array([value or 0.0 for value in values])[None]


def _filled(values: Sequence[float | None]) -> Array:
    return np.array([math.inf if value is None else value for value in values])


def _stacked(drives: Sequence[DriveLimits]) -> DriveLimits:
    return DriveLimits(
        *(np.concatenate(parts) for parts in zip(*(vars(drive).values() for drive in drives), strict=True))
    )
