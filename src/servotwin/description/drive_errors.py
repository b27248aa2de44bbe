r"""Error sources of one drive, at its motor's side, and the draws of a robot out of a series.

Amplitudes of a gear stand at the joint; at the motor they count ratio times. A harmonic per turn of the joint is one of
order :math:`o/n` of the motor. The width h of a torsion loop at zero torque is what the hysteresis of eq:hysteresis
leaves there in its spring tau_k: the twists at which this holds :math:`\mp k_h z_h`,

.. math:: \tau_k(h/2) = k_h z_h, \qquad z_h = h/2, \quad k_h = \tau_k(h/2)/z_h         (eq:hysteresis-width)

with the choice of z_h by which a stiffness k, that of the spring up to h/2, doubles on a reversal: sheets print no more
than the width.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from servotwin.description.drive_data import DriveData, DriveGear
from servotwin.description.error_parts import AxisErrors, Harmonic
from servotwin.description.error_sources import error_sources
from servotwin.description.schema import RobotDescription

Wave = tuple[float, float, float]
GEOMETRY, PHASES = 0, 1  # streams of the draws


@dataclass(frozen=True)
class DriveErrors:
    """Harmonics (order per turn, amplitude [rad], phase [rad]), noise [rad] and hysteresis of one drive."""

    encoder: tuple[Wave, ...] = ()
    noise: float = 0.0
    gear: tuple[Wave, ...] = ()
    hysteresis_stiffness: float = 0.0  # [N m/rad]
    hysteresis_limit: float = 0.0  # [rad]


def drive_errors(description: RobotDescription, drive: DriveData) -> DriveErrors:
    """What the error sources of a robot's file say about one drive; nothing where they are not enabled."""
    section, known = error_sources(description), known_waves(description, drive)
    if not section.enabled:
        return DriveErrors(gear=known)
    errors = section.axes.get(drive.owner, AxisErrors())
    phases = PhaseDraws(section.seed, section.trial, list(description.axes).index(drive.owner))
    encoder = [
        (order, amplitude, phases.phase(phase)) for order, amplitude, phase in errors.eccentricity or ()
    ]
    gear = gear_waves(description, drive, errors, phases)
    stiffness, limit = hysteresis_of(description, drive, errors)
    return DriveErrors(
        encoder=tuple(encoder) if "eccentricity" not in section.off else (),
        noise=errors.encoder_noise if "noise" not in section.off else 0.0,
        gear=known + (tuple(gear) if "transmission_error" not in section.off else ()),
        hysteresis_stiffness=stiffness,
        hysteresis_limit=limit,
    )


def known_waves(description: RobotDescription, drive: DriveData) -> tuple[Wave, ...]:
    """Harmonics of a drive that the controller knows and corrects (``deviation``), counted at its motor."""
    deviation, ratio = description.axes[drive.owner].deviation, drive.gear.ratio
    if deviation is None or not ratio:
        return ()
    return tuple((o / ratio, ratio * a, phase or 0.0) for o, a, phase in deviation.harmonics or ())


class PhaseDraws:
    """Phases of one axis that the file does not state: drawn evenly in a trial, else zero.

    They come in a fixed order whatever is switched off, so that a robot without one source is otherwise the same.
    """

    def __init__(self, seed: int, trial: int, axis: int) -> None:
        self.random = np.random.default_rng([seed, trial, PHASES, axis]) if trial else None

    def phase(self, stated: float | None) -> float:
        """The next phase [rad]: as stated, or drawn."""
        drawn = float(self.random.uniform(0.0, 2.0 * np.pi)) if self.random is not None else 0.0
        return drawn if stated is None else stated


def gear_waves(
    description: RobotDescription, drive: DriveData, errors: AxisErrors, phases: PhaseDraws
) -> list[Wave]:
    """Transmission error of a drive's gear, counted at its motor."""
    # a motor that turns against its joint has a joint that leads where it lags
    ratio, axis = max(drive.ratios, key=abs, default=0.0), description.axes[drive.owner]
    sheet = axis.gear.datasheet if axis.gear is not None else None
    stated: tuple[Harmonic, ...] = errors.transmission_error or ()
    if errors.transmission_error is None and sheet is not None:
        stated = tuple((order, amplitude, None) for order, amplitude in sheet.transmission_error or ())
    found = [(order, ratio * amplitude, phases.phase(phase)) for order, amplitude, phase in stated]
    if ratio:
        for order, amplitude, phase in errors.output_error or ():
            found.append((order / ratio, ratio * amplitude, phases.phase(phase)))
    return found


def hysteresis_of(description: RobotDescription, drive: DriveData, errors: AxisErrors) -> tuple[float, float]:
    """Stiffness on a reversal [N m/rad] and twist beyond which it slips [rad], at the motor (eq:hysteresis-width)."""
    gear = description.axes[drive.owner].gear
    width = errors.hysteresis
    if width is None and gear is not None and gear.datasheet is not None:
        width = gear.datasheet.hysteresis
    off = {"hysteresis", "torsion"} & set(error_sources(description).off)
    if not width or not drive.gear.ratio or drive.gear.stiffness is None or off:
        return 0.0, 0.0
    limit = 0.5 * width * drive.gear.ratio
    return spring_torque(drive.gear, limit) / limit, limit  # eq:hysteresis-width


def spring_torque(gear: DriveGear, twist: float) -> float:
    """Torque [N m] of an elastic gear without play at a twist of at least zero [rad] (eq:gear-stiffening)."""
    torque, begins, k = 0.0, 0.0, gear.stiffness or 0.0
    for bend, stiffer in gear.stiffening:
        bends = begins + (bend - torque) / k
        if twist <= bends:
            break
        torque, begins, k = bend, bends, stiffer
    return torque + k * (twist - begins)
