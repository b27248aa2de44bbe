"""Which parameters a set of measurements is asked for: what measurements of this kind can tell, if these tell it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from servotwin.design.calibration.identify import Dependent, Estimate, identified
from servotwin.design.calibration.model import CalibrationModel
from servotwin.design.calibration.noise import Noise
from servotwin.design.calibration.observation import Measured, Setup, residuals, start
from servotwin.design.calibration.parameters import LENGTH
from servotwin.design.calibration.plan import random_positions, require_some
from servotwin.errors import InputError
from servotwin.mechanism.model import Array

STRUCTURE = 120  # random positions at which it is seen what measurements of this kind could tell
UNKNOWN = 0.2  # m, rad: a parameter with a larger standard deviation is not known at all


def told_parameters(
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
    require_some(could)
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


def require_known(model: CalibrationModel, measured: Measured, e: Estimate) -> None:
    """Complain about parameters whose standard deviation says that they are not known at all."""
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
