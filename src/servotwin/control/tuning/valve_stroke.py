r"""Pressure feedback over the whole stroke: oil is stiffest at the ends, and there a gain for its middle oscillates.

The stiffness of both chambers, c_h = beta A_A^2 / V_A + beta A_B^2 / V_B, is least about mid stroke (for equal areas
exactly there) and grows towards the ends with the chamber that vanishes. The gain of the pressure loop grows with it,
and the swing becomes faster than the valve; a lighter load does the same. A fixed gain is therefore the largest that
keeps the margins at every position, and at most what the asked damping takes; a scheduled one is that of every position
by itself.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from servotwin.control.tuning.loops import pressure_response
from servotwin.control.tuning.sampled import Complex, Timing
from servotwin.control.tuning.valve import ValveModel, pressure_feedback
from servotwin.description.controller_parts import Margins

HALVINGS = 9  # of the part of a gain that is kept
CLEARANCE = 1.02  # times the margins: a gain between the frequencies that were looked at


def with_feedback(
    model: ValveModel, timing: Timing, damping: float, margins: Margins, lightest: float, *, scheduled: bool
) -> ValveModel:
    """The valve with its pressure feedback: fixed for all positions, or scheduled over the stroke.

    ``lightest``: least load [kg] with which margins are kept.
    """
    wanted, corner = pressure_feedback(model, timing, damping)
    model = replace(model, pressure_corner=corner, wanted_gain=wanted)
    if wanted <= 0.0 and not (scheduled and model.stroke):
        return model

    def loaded(x: float | None) -> list[ValveModel]:
        masses = [lightest] if lightest == model.J else [lightest, model.J]
        return [replace(model.linearise(mass, x), pressure_corner=corner) for mass in masses]

    middle = kept_gain(loaded(None), wanted, timing, margins)
    if not model.stroke:
        return replace(model, pressure_gain=middle)
    places = [loaded(x) for x in model.stroke]
    stiffest = sorted((place for at in places for place in at), key=lambda place: -place.natural_frequency)
    fixed = kept_gain(stiffest, middle, timing, margins)
    if not scheduled:
        return replace(model, pressure_gain=fixed)
    own = [kept_gain(at, pressure_feedback(at[-1], timing, damping)[0], timing, margins) for at in places]
    return replace(model, pressure_gain=middle, schedule=tuple(max(gain, fixed) for gain in own))


def kept_gain(places: list[ValveModel], gain: float, timing: Timing, margins: Margins) -> float:
    """The largest part of a gain with which the pressure loop keeps its margins at all places."""
    for place in places:
        if gain <= 0.0:
            return 0.0
        opened, stable = pressure_response(place, timing)
        if _keeps(gain * opened, margins) and stable(gain):
            continue
        low, high = 0.0, gain
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            good = _keeps(middle * opened, margins) and stable(middle)
            low, high = (middle, high) if good else (low, middle)
        gain = low
    return gain


def _keeps(opened: Complex, margins: Margins) -> bool:
    """Whether an open loop stays clear of -1: straight lines between its frequencies, and a little more than asked."""
    near, far = opened[:-1], opened[1:]
    size = np.abs(opened) - 1.0
    crossing = np.signbit(size[:-1]) != np.signbit(size[1:])
    part = (size[:-1] / np.where(crossing, size[:-1] - size[1:], 1.0))[crossing]
    phases = np.abs(np.angle(near[crossing] + part * (far - near)[crossing]))
    if (np.pi - phases < CLEARANCE * margins.phase).any():
        return False
    turning = np.signbit(near.imag) != np.signbit(far.imag)
    part = (near.imag / np.where(turning, near.imag - far.imag, 1.0))[turning]
    real = near.real[turning] + part * (far - near).real[turning]
    return not (np.append(real, opened[-1].real) < -1.0 / (CLEARANCE * margins.gain)).any()
