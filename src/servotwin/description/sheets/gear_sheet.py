r"""Data sheets of strain-wave, RV and planetary gears, and of belts, as makers print them (SI once read).

Torques and angles are at the output, speeds and no-load torques at the input. The torsion is piecewise linear,

.. math:: \varphi(T) = \frac{\min(T, T_1)}{K_1} + \frac{\min(T, T_2) - T_1}{K_2}\Big|_{T > T_1}
          + \frac{T - T_2}{K_3}\Big|_{T > T_2}                                            (eq:sheet-torsion)

The losses are a torque without load, which depends on speed and temperature, and one proportional to the load:

.. math:: \tau_\mathrm{in} = \frac{T}{n\,\eta_L^{s}} + \tau_0(\omega, \vartheta)\,\mathrm{sgn}\,\omega, \qquad
          \frac{1}{\eta_L} = \frac{1}{\eta_N} - \frac{n\,\tau_0(\omega_N, \vartheta_N)}{T_N}  (eq:sheet-gear-loss)

with s = 1 where the motor drives and -1 where the load does, so that the printed efficiency holds at the rated point.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Annotated, Any

from pydantic import Field, model_validator

from servotwin.description.fields import Celsius, Choice, Measure, Part, Points, Reader, problem
from servotwin.description.nodes import quoted
from servotwin.description.parts import OptionalText
from servotwin.description.sheets.printed import HUGE, TINY, interpolated, rising_points

HOUR = 3600.0  # s
EXPONENTS = {"strain-wave": 3.0, "rv": 10.0 / 3.0, "planetary": 10.0 / 3.0, "belt": 3.0}
Torque = Annotated[float | None, Measure("N*m", minimum=TINY, maximum=HUGE)]
Speed = Annotated[float | None, Measure("rad/s", minimum=TINY, maximum=HUGE)]
Table = tuple[tuple[float, float], ...]


class TemperatureFactors(Reader):
    """A list of points, each a temperature and a factor."""

    def read(self, raw: object) -> Any:
        """The points [degC, -], a tuple of pairs."""
        if not isinstance(raw, list | tuple) or not 1 <= len(raw) <= 16:
            raise problem(f"{quoted(raw)}; expected a list of 1 to 16 points, each ['20 degC', 1.0]")
        found = []
        for item in raw:
            if not isinstance(item, list | tuple) or len(item) != 2:
                raise problem(f"{quoted(item)}; expected a point of temperature and factor, ['20 degC', 1.0]")
            found.append((Celsius().read(item[0]), Measure("", minimum=TINY, maximum=HUGE).read(item[1])))
        return tuple(found)


class Torsion(Part):
    """Torsional stiffness in up to three ranges of the output torque."""

    k1: Annotated[float, Measure("N*m/rad", angle_optional=True, minimum=TINY, maximum=HUGE)] = Field(
        description="stiffness from no torque to t1"
    )
    k2: Annotated[float | None, Measure("N*m/rad", angle_optional=True, minimum=TINY, maximum=HUGE)] = Field(
        default=None, description="stiffness from t1 to t2; default k1"
    )
    k3: Annotated[float | None, Measure("N*m/rad", angle_optional=True, minimum=TINY, maximum=HUGE)] = Field(
        default=None, description="stiffness above t2; default k2"
    )
    t1: Torque = Field(default=None, description="torque where k2 begins")
    t2: Torque = Field(default=None, description="torque where k3 begins")

    @model_validator(mode="after")
    def _ranges(self) -> Torsion:
        for k, t in (("k2", "t1"), ("k3", "t2")):
            if (getattr(self, k) is None) != (getattr(self, t) is None):
                missing = t if getattr(self, t) is None else k
                raise problem(f"{missing} is missing; {k} holds from {t} on, expected both or none", missing)
        if self.t2 is not None and (self.t1 is None or self.t2 <= self.t1):
            raise problem("t2 is not above t1; expected t1 < t2", "t2")
        return self

    def pieces(self) -> tuple[tuple[float, float], ...]:
        """Start [N m] and stiffness [N m/rad] of each range."""
        found = [(0.0, self.k1)]
        for t, k in ((self.t1, self.k2), (self.t2, self.k3)):
            if t is not None and k is not None:
                found.append((t, k))
        return tuple(found)

    def twist(self, torque: float) -> float:
        """Angle of the output against the input [rad] under an output torque [N m] (eq:sheet-torsion)."""
        size, angle, pieces = abs(torque), 0.0, self.pieces()
        ends = [start for start, _ in pieces[1:]] + [math.inf]
        for (start, k), end in zip(pieces, ends, strict=True):
            if size > start:
                angle += (min(size, end) - start) / k  # eq:sheet-torsion
        return math.copysign(angle, torque)

    def secant(self, torque: float) -> float:
        """Torque over twist at an output torque [N m/rad]."""
        return self.k1 if torque == 0.0 else torque / self.twist(torque)


_OTHER_NAMES = {
    "torque_limit": "repeated_peak_torque", "peak_torque": "repeated_peak_torque", "lost_motion": "backlash",
    "max_torque": "momentary_torque", "emergency_torque": "momentary_torque", "max_input_speed": "max_speed",
}  # fmt: skip


class GearSheet(Part):
    """The data sheet of a gear between two shafts."""

    other_names = _OTHER_NAMES

    kind: Annotated[str, Choice(tuple(EXPONENTS))] = Field(description="what it is")
    series: OptionalText = Field(default=None, description="series or maker's type")
    ratio: Annotated[float, Measure("", minimum=TINY, maximum=HUGE)] = Field(
        description="input turns per output turn"
    )
    rated_torque: Torque = Field(default=None, description="output torque that its life is stated for")
    rated_speed: Speed = Field(default=None, description="input speed that its life is stated for")
    average_torque: Torque = Field(default=None, description="limit of the average torque over the cycle")
    repeated_peak_torque: Torque = Field(
        default=None, description="limit of torques that come again in every cycle"
    )
    momentary_torque: Torque = Field(
        default=None, description="limit of rare torques: collision, emergency stop"
    )
    average_speed: Speed = Field(default=None, description="limit of the average input speed")
    max_speed: Speed = Field(default=None, description="limit of the input speed")
    life: Annotated[float | None, Measure("s", minimum=TINY, maximum=HUGE)] = Field(
        default=None, description="life at rated torque and rated speed"
    )
    life_percentile: Annotated[str | None, Choice(("L10", "L50"))] = Field(
        default=None, description="whether a tenth or half of the gears have failed by then"
    )
    life_exponent: Annotated[float | None, Measure("", above=0.0, maximum=20.0)] = Field(
        default=None, description="exponent of the torque in the life; default 3, of rv and planetary 10/3"
    )
    efficiency: Annotated[float | None, Measure("", minimum=TINY, maximum=1.0)] = Field(
        default=None, description="at rated torque, rated speed and reference_temperature"
    )
    no_load_torque: Annotated[
        Table | None,
        Points(Measure("rad/s", minimum=0.0, maximum=HUGE), Measure("N*m", minimum=0.0, maximum=HUGE)),
    ] = Field(default=None, description="input speed and torque at the input without load, speeds rising")
    starting_torque: Torque = Field(default=None, description="torque at the input that starts it")
    reference_temperature: Annotated[float, Celsius()] = Field(
        default=20.0, description="temperature at which efficiency and no_load_torque are stated"
    )
    temperature_factors: Annotated[Table | None, TemperatureFactors()] = Field(
        default=None, description="temperature and factor of the no-load torque; default 1"
    )
    torsion: Torsion | None = Field(default=None, description="torsional stiffness at the output")
    hysteresis: Annotated[float | None, Measure("rad", minimum=0.0, maximum=HUGE)] = Field(
        default=None, description="width of the torsion loop at zero torque"
    )
    backlash: Annotated[float | None, Measure("rad", minimum=0.0, maximum=HUGE)] = Field(
        default=None, description="play at the output, lost motion"
    )
    transmission_error: Annotated[
        Table | None,
        Points(Measure("", minimum=TINY, maximum=HUGE), Measure("rad", minimum=0.0, maximum=HUGE)),
    ] = Field(default=None, description="harmonic per input turn and its amplitude at the output")
    inertia: Annotated[float | None, Measure("kg*m^2", minimum=0.0, maximum=HUGE)] = Field(
        default=None, description="moment of inertia at the input"
    )
    mass: Annotated[float | None, Measure("kg", minimum=TINY, maximum=HUGE)] = Field(
        default=None, description="mass"
    )
    frame: Annotated[float | None, Measure("m", minimum=TINY, maximum=HUGE)] = Field(
        default=None, description="outer diameter, or edge of the flange"
    )
    price_index: Annotated[float | None, Measure("", minimum=TINY, maximum=HUGE)] = Field(
        default=None, description="price relative to the reference of the catalogue"
    )

    @model_validator(mode="after")
    def _possible(self) -> GearSheet:
        order = ("rated_torque", "average_torque", "repeated_peak_torque", "momentary_torque")
        _rising_fields(self, order[1:])
        _rising_fields(self, (order[0], *order[2:]))
        _rising_fields(self, ("average_speed", "max_speed"))
        _rising_fields(self, ("rated_speed", "max_speed"))
        if self.life is not None:
            for needed in ("rated_torque", "rated_speed", "life_percentile"):
                if getattr(self, needed) is None:
                    raise problem(
                        f"missing: the life is stated for it; expected {needed} beside life", needed
                    )
        rising_points(self.no_load_torque, "no_load_torque")
        rising_points(self.temperature_factors, "temperature_factors")
        rising_points(self.transmission_error, "transmission_error")
        _check_losses(self)
        return self

    @property
    def exponent(self) -> float:
        """Exponent of the torque in average torque and life."""
        return self.life_exponent if self.life_exponent is not None else EXPONENTS[self.kind]

    def no_load(self, speed: float, temperature: float | None = None) -> float:
        """Torque at the input without load [N m] at an input speed [rad/s] and a temperature [degC]."""
        if self.no_load_torque is None:
            return 0.0
        torque = interpolated(self.no_load_torque, abs(speed))
        if self.temperature_factors is None or temperature is None:
            return torque
        here, there = (
            interpolated(self.temperature_factors, t) for t in (temperature, self.reference_temperature)
        )
        return torque * here / there

    @property
    def load_efficiency(self) -> float:
        """Efficiency of the part of the loss that is proportional to the load (eq:sheet-gear-loss)."""
        eta = self.efficiency if self.efficiency is not None else 1.0
        if self.no_load_torque is None or self.rated_torque is None or self.rated_speed is None:
            return eta
        idle = self.ratio * self.no_load(self.rated_speed) / self.rated_torque
        return 1.0 / (1.0 / eta - idle)  # eq:sheet-gear-loss

    def input_torque(self, torque: float, speed: float, temperature: float | None = None) -> float:
        """Torque at the input [N m] for an output torque [N m] at an input speed [rad/s] (eq:sheet-gear-loss)."""
        eta = self.load_efficiency
        drives = torque * speed >= 0.0
        loaded = torque / (self.ratio * eta) if drives else torque * eta / self.ratio  # eq:sheet-gear-loss
        return loaded + (math.copysign(self.no_load(speed, temperature), speed) if speed else 0.0)

    def efficiency_at(self, torque: float, speed: float, temperature: float | None = None) -> float:
        """Power out over power in while the motor drives; 0 without load."""
        taken = self.input_torque(abs(torque), abs(speed), temperature)
        return abs(torque) / (self.ratio * taken) if torque else 0.0


def _rising_fields(sheet: Part, names: tuple[str, ...]) -> None:
    """Complain about limits that are not in order; what is missing is skipped."""
    stated = [(name, getattr(sheet, name)) for name in names if getattr(sheet, name) is not None]
    for (low, a), (high, b) in pairwise(stated):
        if b < a * (1.0 - 1e-9):
            raise problem(f"{b:.4g} is below the {low} {a:.4g} (SI); expected at least that", high)


def _check_losses(sheet: GearSheet) -> None:
    """The torque without load must not lose more at the rated point than the efficiency says."""
    if sheet.efficiency is None or sheet.no_load_torque is None:
        return
    for needed in ("rated_torque", "rated_speed"):
        if getattr(sheet, needed) is None:
            raise problem(
                f"missing: efficiency and no_load_torque meet at the rated point; expected {needed}", needed
            )
    idle = sheet.ratio * sheet.no_load(sheet.rated_speed or 0.0) / (sheet.rated_torque or 1.0)
    if 1.0 / sheet.efficiency - idle < 1.0 - 1e-9:
        raise problem(
            f"at the rated point it takes {idle:.3g} of the output torque, more than the loss of the efficiency"
            f" {sheet.efficiency:.3g}, {1.0 / sheet.efficiency - 1.0:.3g}; expected less, or another efficiency",
            "no_load_torque",
        )


class ScrewSheet(Part):
    """The data sheet of a ball screw."""

    kind: Annotated[str, Choice(("ball-screw",))] = Field(default="ball-screw", description="what it is")
    series: OptionalText = Field(default=None, description="series or maker's type")
    lead: Annotated[float, Measure("m", minimum=TINY, maximum=HUGE)] = Field(description="travel per turn")
    diameter: Annotated[float, Measure("m", minimum=TINY, maximum=HUGE)] = Field(
        description="nominal diameter of the screw"
    )
    dynamic_load: Annotated[float | None, Measure("N", minimum=TINY, maximum=HUGE)] = Field(
        default=None, description="axial load for a million turns, L10"
    )
    static_load: Annotated[float | None, Measure("N", minimum=TINY, maximum=HUGE)] = Field(
        default=None, description="largest axial load at rest"
    )
    max_speed: Speed = Field(default=None, description="limit of the speed, by its nut")
    efficiency: Annotated[float | None, Measure("", minimum=TINY, maximum=1.0)] = Field(
        default=None, description="turning to sliding"
    )
    stiffness: Annotated[float | None, Measure("N/m", minimum=TINY, maximum=HUGE)] = Field(
        default=None, description="axial stiffness of nut and screw"
    )
    backlash: Annotated[float | None, Measure("m", minimum=0.0, maximum=HUGE)] = Field(
        default=None, description="axial play"
    )
    inertia: Annotated[float | None, Measure("kg*m^2", minimum=0.0, maximum=HUGE)] = Field(
        default=None, description="moment of inertia of the screw at the length that its mass is stated for"
    )
    length: Annotated[float | None, Measure("m", minimum=TINY, maximum=HUGE)] = Field(
        default=None, description="length of the screw that mass and inertia are stated for"
    )
    mass: Annotated[float | None, Measure("kg", minimum=TINY, maximum=HUGE)] = Field(
        default=None, description="mass"
    )
    price_index: Annotated[float | None, Measure("", minimum=TINY, maximum=HUGE)] = Field(
        default=None, description="price relative to the reference of the catalogue"
    )

    @property
    def ratio(self) -> float:
        """Angle per travel [rad/m]."""
        return 2.0 * math.pi / self.lead

    def life_turns(self, mean_load: float) -> float:
        r"""Turns that nine of ten screws reach under a mean axial load [N].

        .. math:: L_{10} = 10^6\,(C_a/F_m)^3                                           (eq:screw-life)
        """
        if self.dynamic_load is None:
            raise problem("missing: the life follows from it", "dynamic_load")
        return 1e6 * (self.dynamic_load / mean_load) ** 3  # eq:screw-life
