"""Where no entry of a catalogue fits an axis: the pair that comes nearest, and the limit that it breaks."""

from __future__ import annotations

import math

import numpy as np

from servotwin.description.sheets.gear_life import average_torque
from servotwin.design.sizing.axis_choices import AxisChoices
from servotwin.design.sizing.evaluate import ActuatorDemand, Check, demand_of
from servotwin.design.sizing.load import Load
from servotwin.errors import InputError
from servotwin.mechanism.model import Array, IntArray

NEAREST = 12  # pairs that are looked at closely where none fits


class NoChoiceError(InputError):
    """No entry of a catalogue satisfies a cycle; ``axis``, and the pair that comes nearest with what it lacks."""

    def __init__(self, axis: str, nearest: ActuatorDemand | None, check: Check | None) -> None:
        self.axis, self.nearest, self.check = axis, nearest, check
        text = "the catalogue has no motor and gear that turn as fast as the cycle asks"
        if nearest is not None and check is not None:
            lacks = "the winding heats without end"
            if math.isfinite(check.need):
                lacks = f"{check.name} {check.need:.4g} {check.unit} of {check.limit:.4g} {check.unit}"
                lacks += f", {100.0 * check.share:.0f} %"
            text = (
                f"no entry of the catalogue satisfies the cycle; nearest is {nearest.actuator.name}: {lacks}"
            )
        super().__init__(text, field=f"axis {axis}")


class NoTimeError(InputError):
    """A search found no set in its time, and does not know whether there is one."""

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"no set was found in {seconds:.0f} s, and it is not certain that there is none; expected more time or a "
            "smaller catalogue",
            field="--time-limit",
        )


def nearest_pair(axis: AxisChoices, load: Load) -> ActuatorDemand | None:
    """The pair that exceeds its limits least under a load of this axis alone; None if none is fast enough."""
    if not axis.possible.any():
        return None
    torque = load.arm.torque[:, 0]
    m, g = np.nonzero(axis.possible)
    use = uses(axis, torque, m, g)
    order = np.argsort(use)[:NEAREST]
    pairs = list(zip(m[order], g[order], strict=True))
    demands = [demand_of(load, 0, axis.pair(int(m), int(g)), axis.power, axis.rules) for m, g in pairs]
    return min(demands, key=lambda demand: demand.worst.share if demand.worst is not None else 0.0)


def uses(axis: AxisChoices, torque: Array, m: IntArray, g: IntArray) -> Array:
    """About what share (p,) of their limits pairs use: RMS and peak torque, and the peak of the gear."""
    peak = np.abs(axis.torques_at(torque, axis.extremes(torque), m, g)).max(axis=1, initial=0.0)
    use = np.maximum(axis.rms(torque, m, g) / axis.rms_limit[m, g], peak / axis.torque_limits[m])
    most = float(np.abs(torque).max())
    gears = [0.0 if gear.repeated_torque is None else most / gear.repeated_torque for gear in axis.gears]
    mean = {
        e: average_torque(torque, axis.v, axis.seconds, e) for e in {gear.exponent for gear in axis.gears}
    }
    means = [0.0 if x.average_torque is None else mean[x.exponent] / x.average_torque for x in axis.gears]
    return np.asarray(np.maximum(use, np.maximum(gears, means)[g]))
