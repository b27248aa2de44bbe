"""``calibrate``: from measured poses to the robot as it is built."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from servotwin.description.display import MM
from servotwin.description.drive_data import drives_of, gear_compliance
from servotwin.description.nodes import quoted
from servotwin.description.schema import RobotDescription
from servotwin.design.calibration.identify import Dependent, Estimate, estimate, identified
from servotwin.design.calibration.measured_file import read_measured_poses
from servotwin.design.calibration.model import JOINT_ERRORS, CalibrationModel
from servotwin.design.calibration.noise import Noise
from servotwin.design.calibration.observation import Measured, Setup, residuals, start
from servotwin.design.calibration.parameters import DEFAULT, LENGTH, Kind, parameters_of
from servotwin.design.calibration.plan import random_positions
from servotwin.dynamics.ik.pose import pose_error
from servotwin.errors import InputError, UnreachableError
from servotwin.mechanism.model import Array, IntArray
from servotwin.robot.robot import Robot

HELD_OUT = 0.2
STRUCTURE = 120  # random positions at which it is seen what measurements of this kind could tell
UNKNOWN = 0.2  # m, rad: a parameter with a larger standard deviation is not known at all
FAR = 0.05  # of the robot's size: residuals beyond are no deviations
IK_STEPS = 25
STIFF = 0.01  # of a compliance that is usual: one below is none


@dataclass(frozen=True)
class Found:
    """A parameter that was estimated (SI)."""

    name: str
    value: float
    sigma: float
    unit: str
    typical: float


@dataclass(frozen=True)
class Errors:
    """Errors at some measured poses, before and after (SI): of the tool's place or of distances, and of its turn."""

    before: Array  # (k,) [m]
    after: Array
    turn_before: Array  # (k,) [rad], empty where no orientation was measured
    turn_after: Array

    @staticmethod
    def rms(values: Array) -> float:
        """Root mean square."""
        return float(np.sqrt(np.mean(values**2))) if len(values) else float("nan")


@dataclass(frozen=True)
class Calibration:
    """What measurements say about a robot."""

    description: RobotDescription | None
    model: CalibrationModel
    measured: Measured
    noise: Noise
    estimate: Estimate
    dependent: tuple[Dependent, ...]
    fitted: Errors
    held_out: Errors
    held_out_units: IntArray
    ratio: float  # white error held out over what the bound predicts (eq:held-out)
    predicted: float  # that prediction, in units of the noise
    prior: bool
    notes: tuple[str, ...]

    @property
    def robot(self) -> Robot:
        """The robot as drawn."""
        return self.model.robot

    @cached_property
    def calibrated(self) -> Robot:
        """The robot as built, as far as placements, offsets and scales say it."""
        return self.robot.with_deviations(self.model.deviations(self.estimate.theta))

    @property
    def found(self) -> tuple[Found, ...]:
        """The parameters that were estimated."""
        e = self.estimate
        return tuple(
            Found(p.name, self.model.value(e.theta, k), float(s), p.unit, p.typical)
            for k, s in zip(e.chosen, e.sigma, strict=True)
            for p in [self.model.parameters[k]]
        )

    @property
    def not_identified(self) -> dict[str, str]:
        """Parameters that are not identified by themselves, and what does the same."""
        return {self.model.parameters[d.index].name: self._same(d) for d in self.dependent}

    def _same(self, d: Dependent) -> str:
        if not d.effect:
            return "has no effect on what is measured"
        if not d.combination:
            return "is the same as another place of the measuring device"
        parts = [f"{factor:+.4g} {self.model.parameters[j].name}" for j, factor in d.combination]
        return "does the same as " + " ".join(parts)

    def poses(self, q: ArrayLike) -> Array:
        """Poses of the tool (K, 4, 4) in the base at commanded positions q (K, n), all that was found counted."""
        return self.model.poses(self.estimate.theta, np.atleast_2d(np.asarray(q, dtype=np.float64)))

    def pose_covariance(self, q: ArrayLike) -> Array:
        """Covariance (K, 6, 6) [m, rad] of the poses that are predicted at q (K, n), from that of the estimate."""
        e = self.estimate
        _, J = self.model.jacobian(e.theta, np.atleast_2d(np.asarray(q, dtype=np.float64)))
        J = J[:, :, list(e.chosen)]
        return np.asarray(J @ e.covariance[e.unknowns :, e.unknowns :] @ np.swapaxes(J, 1, 2))

    def ikine(self, T: ArrayLike, q0: ArrayLike | None = None) -> Array:
        """The command (n,) that brings the tool of the robot as built to T (4, 4), compliance and eccentricity counted.

        An arm with fewer than six joints meets the place, and the nearest orientation.
        """
        goal = np.asarray(T, dtype=np.float64)
        q = self.calibrated.ikine(goal, q0=q0)
        extra = [k for k, p in enumerate(self.model.parameters) if p.kind in JOINT_ERRORS]
        if not np.any(self.estimate.theta[extra]) and not self.model.compliance:
            return q
        from servotwin.dynamics.ik.deviated import place_first

        for _ in range(IK_STEPS):
            error = pose_error(goal, self.poses(q)[0])
            step = place_first(self.calibrated.jacob0(q), error)
            q = q + step
            if np.abs(step).max() < 1e-13:
                break
        left = float(np.linalg.norm(pose_error(goal, self.poses(q)[0])[:3]))
        if left > 1e-9:
            raise UnreachableError(f"{self.robot.name}: the search ends {left:.3g} m away from the pose")
        return q


def calibrated_from(
    robot: Robot | RobotDescription | str | Path,
    measured: Measured | str | Path,
    *,
    parameters: Sequence[str] = DEFAULT,
    noise: Noise | None = None,
    prior: bool = False,
    held_out: float = HELD_OUT,
    validate: Measured | str | Path | None = None,
    base: bool = False,
    payload: float | None = None,
    seed: int = 0,
    changes: Mapping[str, str] | None = None,
    progress: Callable[[float], None] | None = None,
) -> Calibration:
    """See ``servotwin.calibrate``."""
    advance = progress or (lambda part: None)
    check_seed(seed)
    description, arm = robot_and_description(robot, changes)
    if payload is not None:
        arm = arm.with_payload(payload)
    data = measured if isinstance(measured, Measured) else read_measured_poses(measured, arm, base=base)
    noise = noise or Noise()
    arm = arm.with_deviations({})  # what the file states is found anew
    model = model_of(arm, data, parameters, description)
    check_measured(model, data)
    advance(0.1)
    units = np.random.default_rng(seed).permutation(data.units)
    test: Measured | None
    if validate is not None:
        test = validate if isinstance(validate, Measured) else read_measured_poses(validate, arm, base=base)
        test = _seen_alike(data, test)
        check_measured(model, test)
        train, left = data, np.arange(test.units)
    else:
        count = _held(data.units, held_out)
        left, kept = np.sort(units[:count]), np.sort(units[count:])
        train, test = data.part(kept), data.part(left) if count else None
    _check_bars(train)
    chosen, dependent = _told(model, train, noise, prior)
    advance(0.3)
    spread = np.array([p.typical for p in model.parameters]) if prior else None
    e = estimate(model, train, noise, chosen, prior=spread, progress=lambda part: advance(0.3 + 0.5 * part))
    e, stiff = _without_negative(model, train, noise, spread, e)
    if not prior:
        _require_known(model, train, e)
    zero = np.zeros(len(model.parameters))
    fitted = _errors(model, train, e, start(train, model.poses(zero, train.q)))
    other, ratio, predicted = fitted, float("nan"), float("nan")
    if test is not None:
        setup = start(test, model.poses(zero, test.q)) if validate is not None else None
        other, ratio, predicted = _validated(
            model, test, noise, e, fitted_setup=e.setup, before=setup, train=train
        )
    advance(0.95)
    notes = _notes(model, e, dependent, noise, stiff)
    return Calibration(
        description, model, data, noise, e, dependent, fitted, other, left, ratio, predicted, prior, notes
    )


def check_seed(seed: int) -> None:
    """Random numbers have seeds from zero on."""
    if seed < 0:
        raise InputError(f"{seed} is not accepted; expected a whole number from 0 on", field="--seed")


def robot_and_description(
    robot: Robot | RobotDescription | str | Path, changes: Mapping[str, str] | None
) -> tuple[RobotDescription | None, Robot]:
    """The description, if there is one, and the robot."""
    if isinstance(robot, Robot):
        return None, robot
    from servotwin.description.load import read_description
    from servotwin.robot.complete_model import robot_of

    description = (
        robot if isinstance(robot, RobotDescription) else read_description(robot, dict(changes or {}))
    )
    return description, robot_of(description)


def model_of(
    robot: Robot, measured: Measured, families: Sequence[str], description: RobotDescription | None = None
) -> CalibrationModel:
    """The robot with all parameters of the families, on the gears that its file states."""
    own = measured.base and measured.position is not None
    load = max(float(np.abs(robot.gravload(robot.q_home)).max(initial=0.0)), 1.0)
    found = parameters_of(robot.mechanism, families, load / LENGTH, base=own)
    return CalibrationModel(robot, tuple(found), stated_compliance(description, robot.n))


def stated_compliance(description: RobotDescription | None, n: int) -> tuple[float, ...]:
    """Compliances (n,) of the gears of a file, in the order of ``Actuators``; nothing where all are stiff."""
    if description is None:
        return ()
    drives = drives_of(description)
    owners = [drive.owner for drive in drives] if len(drives) == n else list(description.joint_names)
    found = tuple(gear_compliance(description, name) for name in owners)
    return found if any(found) else ()


def _seen_alike(measured: Measured, other: Measured) -> Measured:
    """Other measurements with the fixed points of the first ones; complain where those cannot predict them."""
    if other.words != measured.words:
        raise InputError(
            f"has {other.words}; expected {measured.words}, as the poses that are fitted",
            file=other.file or None,
            field="--validate",
        )
    if other.bar is None or not other.bars:
        return other
    for name in other.bars:
        if name not in measured.bars:
            raise InputError(
                f"fixed point {quoted(name)} is not known from the poses that are fitted; expected one of "
                f"{', '.join(measured.bars)}", file=other.file or None, field="--validate",
            )  # fmt: skip
    number = np.array([measured.bars.index(name) for name in other.bars])
    return replace(other, bar=number[other.bar], bars=measured.bars)


def _check_bars(measured: Measured) -> None:
    """Complain about fixed points with fewer distances than their place has coordinates."""
    if measured.bar is None:
        return
    counts = np.bincount(measured.bar, minlength=len(measured.bars))
    for b in np.flatnonzero(counts < 4):
        name = quoted(measured.bars[b]) if measured.bars else f"{b + 1}"
        raise InputError(
            f"fixed point {name} has {counts[b]} distances beside those held out; expected at least 4, since its own "
            "place is unknown", file=measured.file or None,
        )  # fmt: skip


def _held(units: int, part: float) -> int:
    if not 0.0 <= part < 1.0:
        raise InputError(f"{part:g} is not accepted; expected a part from 0 to below 1", field="--held-out")
    return round(part * units)


def check_measured(model: CalibrationModel, measured: Measured) -> None:
    """Complain about joints far outside their limits, wrong units, and measurements that are not this robot's."""
    robot, q = model.robot, measured.q
    wide = robot.limits.q_max - robot.limits.q_min
    for j, name in enumerate(robot.joint_names):
        over = np.maximum(robot.limits.q_min[j] - q[:, j], q[:, j] - robot.limits.q_max[j])
        limit = wide[j] if np.isfinite(wide[j]) else 1e3
        k = int(np.argmax(over if np.isfinite(wide[j]) else np.abs(q[:, j])))
        far = over[k] if np.isfinite(wide[j]) else abs(q[k, j])
        if far > limit:
            unit = robot.joint_units[j]
            raise InputError(
                f"{name} is at {q[k, j]:.4g} {unit}, far outside of its limits; is the unit in the name of its "
                "column the one of its numbers?", file=measured.file or None, line=_line(measured, k),
            )  # fmt: skip
    T = model.poses(np.zeros(len(model.parameters)), q)
    p, setup = T[:, :3, 3], start(measured, T)
    if measured.position is not None:
        spread, seen = (
            float(np.sqrt(((x - x.mean(axis=0)) ** 2).sum(axis=1).mean())) for x in (p, measured.position)
        )
        off = measured.position - (p @ setup.station[:3, :3].T + setup.station[:3, 3])
        miss = np.linalg.norm(off, axis=1)
        size = max(spread, 1e-3)
    else:
        assert measured.distance is not None
        predicted = _distance(measured, setup, p)
        spread, seen = float(np.median(predicted)), float(np.median(measured.distance))
        miss, size = np.abs(measured.distance - predicted), max(spread, 1e-3)
    ratio = seen / max(spread, 1e-12)
    if ratio > 30.0 or ratio < 1.0 / 30.0:
        raise InputError(
            f"the {measured.words} are {ratio:.3g} times as large as the robot makes them (median residual "
            f"{MM * float(np.median(miss)):.3g} mm); wrong units: expected mm under names in _mm, m under _m, and "
            "joints in the units of their names too",
            file=measured.file or None,
        )
    middle = float(np.median(miss))
    if middle > FAR * max(size, 0.2):
        raise InputError(
            f"the median residual is {MM * middle:.3g} mm before any calibration; expected less than "
            f"{MM * FAR * max(size, 0.2):.3g} mm: are joints, their signs and units, and the measured point those of "
            "this robot?", file=measured.file or None,
        )  # fmt: skip


def _line(measured: Measured, k: int) -> int | None:
    return measured.lines[k] if measured.lines else None


def _distance(measured: Measured, setup: Setup, p: Array) -> Array:
    if measured.pair is not None:
        return np.asarray(np.linalg.norm(p[measured.pair[:, 0]] - p[measured.pair[:, 1]], axis=1))
    assert measured.bar is not None
    return np.asarray(np.linalg.norm(p - setup.centres[measured.bar], axis=1))


def _told(
    model: CalibrationModel, measured: Measured, noise: Noise, prior: bool
) -> tuple[tuple[int, ...], tuple[Dependent, ...]]:
    """The parameters that are estimated: what measurements of this kind can tell, if these tell it."""
    zero = np.zeros(len(model.parameters))
    typical = np.array([p.typical for p in model.parameters])
    T, J = model.jacobian(zero, measured.q)
    setup = start(measured, T)
    _, D = residuals(measured, noise, setup, T, J)
    unknowns = D.shape[1] - len(typical)
    here = identified(D, typical, unknowns)
    if prior:
        return here.chosen, here.dependent
    could = _structure(model, measured, noise, setup, typical)
    needed = unknowns + len(could)
    if len(D) < needed:
        per = len(D) / measured.units
        least = int(np.ceil(needed / per))
        raise InputError(
            f"too few poses: {measured.units} of them give {len(D)} equations for {needed} unknowns; expected at least "
            f"{least}, beside those held out (--held-out), fewer --parameters, or --prior", file=measured.file or None,
        )  # fmt: skip
    missing = [model.parameters[k].name for k in could if k not in here.chosen]
    if missing and len(here.chosen) < len(could):
        raise _not_identified(missing[: max(1, len(could) - len(here.chosen))], measured)
    return here.chosen, here.dependent


def _structure(
    model: CalibrationModel, measured: Measured, noise: Noise, setup: Setup, typical: Array
) -> tuple[int, ...]:
    """What measurements of this kind tell at many positions all over the limits."""
    rng = np.random.default_rng(0)
    q = random_positions(model.robot, rng, STRUCTURE)
    count = len(q) - len(q) % 2
    q = q[:count]
    T, J = model.jacobian(np.zeros(len(typical)), q)
    made = Measured(q, base=measured.base)
    if measured.position is not None:
        seen = setup.station @ T
        turned = seen[:, :3, :3] if measured.rotation is not None else None
        made = Measured(q, seen[:, :3, 3], turned, base=measured.base)
    elif measured.pair is not None:
        pair = np.arange(count).reshape(-1, 2)
        made = Measured(q, distance=np.ones(len(pair)), pair=pair)
    else:
        bars = len(setup.centres)
        made = Measured(q, distance=np.ones(count), bar=np.arange(count) % bars)
    _, D = residuals(made, noise, setup, T, J)
    return identified(D, typical, D.shape[1] - len(typical)).chosen


def _without_negative(
    model: CalibrationModel, measured: Measured, noise: Noise, spread: Array | None, e: Estimate
) -> tuple[Estimate, list[str]]:
    """The estimate again without gears whose compliance came out negative, or as good as none, and their names.

    One after the other, the most negative first: they depend on each other.
    """
    stiff: list[str] = []
    while True:
        soft = [
            (model.value(e.theta, k) / model.parameters[k].typical, k)
            for k in e.chosen
            if model.parameters[k].kind is Kind.COMPLIANCE
        ]
        least, worst = min(soft, default=(np.inf, -1))
        if least > STIFF:
            return e, stiff
        stiff.append(model.parameters[worst].name)
        e = estimate(model, measured, noise, tuple(k for k in e.chosen if k != worst), prior=spread)


def _require_known(model: CalibrationModel, measured: Measured, e: Estimate) -> None:
    unit = [model.parameters[k] for k in e.chosen]
    weak = [p.name for p, s in zip(unit, e.sigma, strict=True) if s > UNKNOWN * p.typical / LENGTH]
    if weak:
        raise _not_identified(weak, measured)


def _not_identified(names: Sequence[str], measured: Measured) -> InputError:
    some = ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
    return InputError(
        f"the poses do not identify {some}; expected poses that move all joints through their ranges (--plan chooses "
        "them), fewer --parameters, or --prior", file=measured.file or None,
    )  # fmt: skip


def _errors(model: CalibrationModel, measured: Measured, e: Estimate, before: Setup) -> Errors:
    zero = np.zeros(len(model.parameters))
    sides = []
    for theta, setup in ((zero, before), (e.theta, e.setup)):
        T = model.poses(theta, measured.q)
        if measured.position is None:
            assert measured.distance is not None
            sides.append((np.abs(measured.distance - _distance(measured, setup, T[:, :3, 3])), np.zeros(0)))
            continue
        seen = setup.station @ T
        off = np.linalg.norm(measured.position - seen[:, :3, 3], axis=1)
        turn = np.zeros(0)
        if measured.rotation is not None:
            from servotwin.design.calibration.observation import turn_between

            turn = np.linalg.norm(turn_between(seen[:, :3, :3], measured.rotation), axis=1)
        sides.append((off, turn))
    return Errors(sides[0][0], sides[1][0], sides[0][1], sides[1][1])


def _validated(
    model: CalibrationModel,
    test: Measured,
    noise: Noise,
    e: Estimate,
    *,
    fitted_setup: Setup,
    before: Setup | None,
    train: Measured,
) -> tuple[Errors, float, float]:
    """Errors at poses held out, their white size over its prediction, and the prediction (eq:held-out)."""
    zero = np.zeros(len(model.parameters))
    if before is None:
        before = start(train, model.poses(zero, train.q))
    T, J = model.jacobian(e.theta, test.q)
    r, D = residuals(test, noise, fitted_setup, T, J[:, :, list(e.chosen)])
    variance = e.factor**2 + ((D @ e.covariance) * D).sum(axis=1)
    predicted = float(np.sqrt(variance.mean()))
    return _errors(model, test, e, before), float(np.sqrt(np.mean(r**2))) / predicted, predicted


def _notes(
    model: CalibrationModel, e: Estimate, dependent: Sequence[Dependent], noise: Noise, stiff: Sequence[str]
) -> tuple[str, ...]:
    notes = []
    if stiff:
        notes.append(
            f"no compliance as far as these poses tell, taken as the file has it: {', '.join(stiff)}"
        )
    weak = [
        model.parameters[k].name
        for k, s in zip(e.chosen, e.sigma, strict=True)
        if s > model.parameters[k].typical
    ]
    if weak:
        notes.append(f"hardly known (standard deviation above what is usual): {', '.join(weak)}")
    if not noise.stated:
        notes.append(
            f"the noise is not stated: its size is taken from the residuals, {e.factor:.3g} times "
            f"{MM * noise.position:g} mm"
        )
    elif (e.residual @ e.residual) / max(len(e.residual) - len(e.covariance), 1) > 1.5**2:
        size = float(np.sqrt((e.residual @ e.residual) / max(len(e.residual) - len(e.covariance), 1)))
        notes.append(
            f"residuals are {size:.2g} times the stated noise: something acts that these parameters do not have"
        )
    return tuple(notes)


def summary(found: Calibration) -> dict[str, Any]:
    """The numbers as plain data (SI)."""
    rms = Errors.rms
    held, fitted = found.held_out, found.fitted
    data = {
        "robot": found.robot.name,
        "measured": found.measured.words,
        "poses": found.measured.units,
        "poses_held_out": len(found.held_out_units),
        "error_before_m": rms(fitted.before),
        "error_after_m": rms(fitted.after),
        "held_out_before_m": rms(held.before),
        "held_out_after_m": rms(held.after),
        "held_out_worst_m": float(held.after.max(initial=0.0)),
        "held_out_over_prediction": found.ratio,
        "turn_before_rad": rms(held.turn_before),
        "turn_after_rad": rms(held.turn_after),
        "noise_factor": found.estimate.factor,
        "iterations": found.estimate.iterations,
        "parameters": [
            {"name": p.name, "value": p.value, "sigma": p.sigma, "unit": p.unit} for p in found.found
        ],
        "not_identified": found.not_identified,
        "notes": list(found.notes),
    }
    # what was not measured is null
    return {key: None if isinstance(v, float) and not np.isfinite(v) else v for key, v in data.items()}
