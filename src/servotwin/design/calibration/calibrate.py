"""``calibrate``: from measured poses to the robot as it is built."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from servotwin.description.display import MM
from servotwin.description.schema import RobotDescription
from servotwin.design.calibration.calibration_result import Calibration
from servotwin.design.calibration.identify import Estimate, estimate
from servotwin.design.calibration.measured_checks import check_bars, check_measured, seen_alike
from servotwin.design.calibration.measured_file import read_measured_poses
from servotwin.design.calibration.model import CalibrationModel
from servotwin.design.calibration.noise import Noise
from servotwin.design.calibration.observation import Measured, start
from servotwin.design.calibration.parameters import DEFAULT, Kind
from servotwin.design.calibration.robot_model import model_of, robot_and_description
from servotwin.design.calibration.told_parameters import require_known, told_parameters
from servotwin.design.calibration.validation import errors_at, validated
from servotwin.errors import InputError
from servotwin.mechanism.model import Array
from servotwin.robot.robot import Robot

HELD_OUT = 0.2
STIFF = 0.01  # of a compliance that is usual: one below is none


def calibrated_from(
    robot: Robot | RobotDescription | str | Path,
    measured: Measured | str | Path,
    *,
    parameters: Sequence[str] = DEFAULT,
    noise: Noise | None = None,
    readings: int = 1,
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
    noise = (noise or Noise()).of_mean(readings)
    arm = arm.with_deviations({})  # what the file states is found anew
    model = model_of(arm, data, parameters, description)
    check_measured(model, data)
    advance(0.1)
    units = np.random.default_rng(seed).permutation(data.units)
    test: Measured | None
    if validate is not None:
        test = validate if isinstance(validate, Measured) else read_measured_poses(validate, arm, base=base)
        test = seen_alike(data, test)
        check_measured(model, test)
        train, left = data, np.arange(test.units)
    else:
        count = _held(data.units, held_out)
        left, kept = np.sort(units[:count]), np.sort(units[count:])
        train, test = data.part(kept), data.part(left) if count else None
    check_bars(train)
    chosen, dependent = told_parameters(model, train, noise, prior)
    advance(0.3)
    spread = np.array([p.typical for p in model.parameters]) if prior else None
    e = estimate(model, train, noise, chosen, prior=spread, progress=lambda part: advance(0.3 + 0.5 * part))
    e, stiff = _without_negative(model, train, noise, spread, e)
    if not prior:
        require_known(model, train, e)
    zero = np.zeros(len(model.parameters))
    fitted = errors_at(model, train, e, start(train, model.poses(zero, train.q)))
    other, ratio, predicted = fitted, float("nan"), float("nan")
    if test is not None:
        setup = start(test, model.poses(zero, test.q)) if validate is not None else None
        other, ratio, predicted = validated(
            model, test, noise, e, fitted_setup=e.setup, before=setup, train=train
        )
    advance(0.95)
    notes = _notes(model, e, noise, stiff)
    return Calibration(
        description, model, data, noise, e, dependent, fitted, other, left, ratio, predicted, prior, notes
    )


def check_seed(seed: int) -> None:
    """Random numbers have seeds from zero on."""
    if seed < 0:
        raise InputError(f"{seed} is not accepted; expected a whole number from 0 on", field="--seed")


def _held(units: int, part: float) -> int:
    if not 0.0 <= part < 1.0:
        raise InputError(f"{part:g} is not accepted; expected a part from 0 to below 1", field="--held-out")
    count = round(part * units)
    if count == units:
        raise InputError(
            f"{part:g} of {units} poses leaves none to fit; expected a smaller part", field="--held-out"
        )
    return count


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


def _notes(model: CalibrationModel, e: Estimate, noise: Noise, stiff: Sequence[str]) -> tuple[str, ...]:
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
