"""The robot's controller: sampling periods, control law, converters, sensors of the drive (SI)."""

from __future__ import annotations

import math
from typing import Annotated

from pydantic import Field, model_validator

from servotwin.description.fields import (
    Bits,
    Choice,
    Measure,
    Over256,
    Part,
    Period,
    Whole,
    nanoseconds,
    problem,
)
from servotwin.description.hydraulic_parts import PressureSensor, ValveControl
from servotwin.description.vibration_parts import MOST_FILTERS, Notch, Shaping, TorqueFilter

Share = Annotated[float, Measure("", minimum=0.0, maximum=1.0)]
OptionalGain = float | None
OptionalInteger = Annotated[int | None, Over256()]
MOST_BEATS = 10_000  # periods of the shorter one until speed and position loop sample together again


class CurrentSensor(Part):
    """The measurement of the motor current; a synchronous motor has two, in its phases a and b."""

    bits: Annotated[int, Bits()] = Field(
        default=12, description="bits of its converter; 0 for no quantisation"
    )
    range: Annotated[float | None, Measure("A", above=0.0)] = Field(
        default=None, description="largest current it can show; default 1.25 times the current limit"
    )
    offset: Annotated[float, Measure("A")] = Field(default=0.0, description="constant error")
    noise: Annotated[float, Measure("A", minimum=0.0)] = Field(
        default=0.0, description="standard deviation of its noise"
    )


class Feedforward(Part):
    """How much of the known motion is commanded ahead of the loops, 0 to 1."""

    velocity: Share = Field(default=0.0, description="share of the speed of the reference")
    acceleration: Share = Field(default=0.0, description="share of the torque of the reflected inertia")
    torque: Share = Field(default=0.0, description="share of the inverse dynamics of the model")
    gravity: Share = Field(default=0.0, description="share of the model's gravity torque")
    twist: Share = Field(
        default=0.0,
        description="share of the twist of elastic gears under the model's torque by which references are turned ahead",
    )
    gravity_twist: Share = Field(
        default=0.0, description="the same under the model's gravity torque alone; instead of twist"
    )

    @model_validator(mode="after")
    def _one_twist(self) -> Feedforward:
        if self.twist > 0.0 and self.gravity_twist > 0.0:
            raise problem("the twist under all torques contains it; expected one of them", "gravity_twist")
        return self


class IntegerGains(Part):
    """Gains of one motor as integers over 256, in the units of the fixed-point controller."""

    position: OptionalInteger = Field(default=None, description="counts per second per count, over 256")
    position_integral: OptionalInteger = Field(
        default=None, description="the same, added up every axis_period, over 256"
    )
    speed_proportional: OptionalInteger = Field(
        default=None, description="1/32768 of the current limit per count in a speed_period, over 256"
    )
    speed_integral: OptionalInteger = Field(
        default=None, description="the same, added up every speed_period, over 256"
    )
    current_proportional: OptionalInteger = Field(
        default=None, description="part of the bus voltage per part of the current limit, over 256"
    )
    current_integral: OptionalInteger = Field(
        default=None, description="the same, added up every current_period, over 256"
    )


class Gains(Part):
    """Gains of one motor that replace what the bandwidths would give."""

    position: Annotated[OptionalGain, Measure("1/s", minimum=0.0)] = Field(
        default=None, description="speed per position error"
    )
    position_integral: Annotated[OptionalGain, Measure("1/s^2", minimum=0.0)] = Field(
        default=None, description="speed per position error and time"
    )
    speed_proportional: Annotated[OptionalGain, Measure("A*s/rad", angle_optional=True, minimum=0.0)] = Field(
        default=None, description="current per speed error"
    )
    speed_integral: Annotated[OptionalGain, Measure("A/rad", angle_optional=True, minimum=0.0)] = Field(
        default=None, description="current per speed error and time"
    )
    current_proportional: Annotated[OptionalGain, Measure("V/A", minimum=0.0)] = Field(
        default=None, description="voltage per current error"
    )
    current_integral: Annotated[OptionalGain, Measure("V/(A*s)", minimum=0.0)] = Field(
        default=None, description="voltage per current error and time"
    )
    integers: IntegerGains | None = Field(
        default=None, description="gains as integers over 256, instead of those with units"
    )

    @model_validator(mode="after")
    def _stated_once(self) -> Gains:
        for name in IntegerGains.model_fields if self.integers is not None else ():
            if getattr(self, name) is not None and getattr(self.integers, name) is not None:
                raise problem(
                    f"{name} is stated with its unit as well; expected one of them", f"integers.{name}"
                )
        return self


LAWS = ("cascade", "computed-torque", "state-feedback")
TOGETHER = {
    "computed-torque": "computed torque",
    "state-feedback": "state feedback",
}  # laws of all motors together
COMMANDS = ("speed", "current")  # what a servo driver takes from the axis controller


class AxisControl(Part):
    """Law, command, bandwidths and filters of one motor; what it leaves out is that of the whole robot."""

    law: Annotated[str | None, Choice(LAWS)] = Field(
        default=None,
        description="its law; computed torque and state feedback are laws of all motors together",
    )
    level: Annotated[str | None, Choice(COMMANDS)] = Field(
        default=None, description="what its servo driver takes: a speed, or a current"
    )
    position_bandwidth: Annotated[float | None, Measure("1/s", above=0.0)] = Field(
        default=None, description="of its position loop"
    )
    speed_bandwidth: Annotated[float | None, Measure("rad/s", above=0.0)] = Field(
        default=None, description="of its speed loop"
    )
    current_bandwidth: Annotated[float | None, Measure("rad/s", above=0.0)] = Field(
        default=None, description="of its current loop"
    )
    notches: tuple[Notch, ...] = Field(default=(), description="notches in its torque command")
    torque_filter: TorqueFilter | None = Field(default=None, description="low-pass of its torque command")

    @property
    def filtered(self) -> bool:
        """Whether its torque command passes filters."""
        return bool(self.notches) or self.torque_filter is not None


class StateFeedback(Part):
    """State feedback of positions that encoders measure; speeds and twists are estimated."""

    method: Annotated[str, Choice(("lqr", "poles"))] = Field(
        default="lqr", description="optimal for a quadratic cost, or poles placed"
    )
    plant: Annotated[str, Choice(("coupled", "separate"))] = Field(
        default="coupled", description="one law for the coupled arm, or one for each axis, the others held"
    )
    bandwidth: Annotated[float | None, Measure("rad/s", above=0.0)] = Field(
        default=None,
        description="of the closed loop; default the geometric mean of those of position and speed loop",
    )
    integral_time: Annotated[float | None, Measure("s", above=0.0)] = Field(
        default=None, description="of the integral action; default 3 over the bandwidth"
    )
    observer_bandwidth: Annotated[float | None, Measure("rad/s", above=0.0)] = Field(
        default=None, description="of the observer; default 4 times the bandwidth"
    )


class Margins(Part):
    """What loops must keep, or they are warned of."""

    phase: Annotated[float, Measure("rad", above=0.0, maximum=math.pi / 2)] = Field(
        default=math.radians(30.0), description="least phase margin of a loop"
    )
    gain: Annotated[float, Measure("", minimum=1.0)] = Field(
        default=2.0, description="least gain margin of a loop, as a factor; 2 are 6 dB"
    )


class Controller(Part):
    """Main controller, axis controller and servo drivers."""

    main_period: Annotated[float, Period()] = Field(description="period of the path points")
    axis_period: Annotated[float, Period()] = Field(description="period of the position loop")
    speed_period: Annotated[float, Period()] = Field(description="period of the speed loop")
    current_period: Annotated[float, Period()] = Field(
        description="period of the current loop and of the pulses"
    )
    arithmetic: Annotated[str, Choice(("float", "fixed"))] = Field(
        default="float", description="numbers of the axis controller and servo drivers"
    )
    word_bits: Annotated[int, Whole(8, 64)] = Field(
        default=32,
        description="word length of the integers of fixed arithmetic; a gain beyond it is warned of",
    )
    computation_delay: Annotated[int, Whole(0, 1)] = Field(
        default=0, description="current periods from the measurement until the voltage acts"
    )
    speed_delay: Annotated[int, Whole(0, 1)] = Field(
        default=0, description="speed periods from the measurement until the current command acts"
    )
    axis_delay: Annotated[int, Whole(0, 1)] = Field(
        default=0, description="axis periods from the measurement until the axis controller's commands act"
    )
    jitter: Annotated[float, Measure("s", minimum=0.0)] = Field(
        default=0.0,
        description="largest lateness of main controller, position and speed loop; below the shortest of their periods",
    )
    law: Annotated[str, Choice(LAWS)] = Field(
        default="cascade",
        description="position, speed and current loops; inverse dynamics; or state feedback with an observer",
    )
    state_feedback: StateFeedback = Field(
        default_factory=StateFeedback, description="how the law state-feedback is designed"
    )
    level: Annotated[str | None, Choice(COMMANDS)] = Field(
        default=None,
        description="what the servo drivers take from the axis controller: a speed (default), or a current, the speed "
        "loop then closed by the axis controller; with computed-torque and state-feedback always a current",
    )
    axes: dict[str, AxisControl] = Field(
        default={},
        description="by motor: law, level and bandwidths where they differ from those of the whole robot; filters",
    )
    position_bandwidth: Annotated[float, Measure("1/s", above=0.0)] = Field(
        description="bandwidth of the position loop, its proportional gain"
    )
    speed_bandwidth: Annotated[float, Measure("rad/s", above=0.0)] = Field(
        description="bandwidth of the speed loop"
    )
    current_bandwidth: Annotated[float, Measure("rad/s", above=0.0)] = Field(
        description="bandwidth of the current loop"
    )
    speed_integral_time: Annotated[float | None, Measure("s", above=0.0)] = Field(
        default=None, description="integral time of the speed loop; default from its bandwidth"
    )
    speed_sensing: Annotated[str, Choice(("counted", "inverse-time", "filtered"))] = Field(
        default="counted", description="how the speed is found from encoder pulses"
    )
    speed_filter: Annotated[float | None, Measure("s", above=0.0)] = Field(
        default=None, description="time constant of the speed filter"
    )
    command_bits: Annotated[int, Bits()] = Field(
        default=12, description="bits of the speed command's converters; 0 for no quantisation"
    )
    command_voltage: Annotated[float, Measure("V", above=0.0)] = Field(
        default=10.0,
        description="range of the converters: the speed command's voltage for the largest motor speed",
    )
    current_sensor: CurrentSensor = Field(
        default_factory=CurrentSensor, description="measurement of the motor currents"
    )
    pressure_sensor: PressureSensor = Field(
        default_factory=PressureSensor, description="measurement of the pressures of hydraulic axes"
    )
    valve: ValveControl = Field(
        default_factory=ValveControl, description="what the drivers of servovalves do besides their loops"
    )
    margins: Margins = Field(
        default_factory=Margins,
        description="margins below which loops are warned of, and valves are not driven",
    )
    feedforward: Feedforward = Field(
        default_factory=Feedforward, description="what is commanded ahead of the loops"
    )
    shaping: Shaping = Field(default_factory=Shaping, description="input shaping of motions")
    gains: dict[str, Gains] = Field(
        default={}, description="by motor: gains that replace those of the bandwidths"
    )

    def bandwidth(self, name: str, motor: str) -> float:
        """A bandwidth ('speed_bandwidth', ...) of a motor: its own, or that of the whole robot."""
        own = getattr(self.axes.get(motor), name, None)
        return float(getattr(self, name) if own is None else own)

    def level_of(self, motor: str) -> str:
        """What the servo driver of a motor takes from the axis controller: 'speed' or 'current'."""
        own = self.axes.get(motor)
        stated = own.level if own is not None and own.level is not None else self.level
        return "current" if self.law in TOGETHER else stated or "speed"

    def speed_in_axis_controller(self, motor: str) -> bool:
        """Whether the axis controller closes the speed loop of a motor, whose driver takes a current."""
        return self.law == "cascade" and self.level_of(motor) == "current"

    @property
    def main_period_ns(self) -> int:
        """Period of the path points [ns]."""
        return nanoseconds(self.main_period)

    @property
    def axis_period_ns(self) -> int:
        """Period of the position loop [ns]."""
        return nanoseconds(self.axis_period)

    @property
    def speed_period_ns(self) -> int:
        """Period of the speed loop [ns]."""
        return nanoseconds(self.speed_period)

    @property
    def current_period_ns(self) -> int:
        """Period of the current loop [ns]."""
        return nanoseconds(self.current_period)

    @model_validator(mode="after")
    def _consistent(self) -> Controller:
        for long, short in (("speed", "current"), ("axis", "current"), ("main", "axis")):
            self._check_divides(f"{long}_period", f"{short}_period")
        if self.speed_sensing == "filtered" and self.speed_filter is None:
            raise problem("the filtered sensing needs speed_filter, such as '2 ms'", "speed_sensing")
        self._check_beat()
        self._check_jitter()
        self._check_laws()
        self._check_filters()
        return self

    def _check_laws(self) -> None:
        """Complain about motors that the robot's law does not go with."""
        together = self.law in TOGETHER
        if together and self.level == "speed":
            raise problem(f"{self.law} commands currents; expected current, or the law cascade", "level")
        for name, own in self.axes.items():
            if own.law is not None and own.law != self.law:
                law = own.law if own.law in TOGETHER else self.law
                raise problem(
                    f"{own.law} beside {self.law} of the whole robot: {TOGETHER[law]} is one law of all motors "
                    f"together; expected {self.law}, or {law} as controller.law and nowhere else",
                    f"axes.{name}.law",
                )
            if together and own.level == "speed":
                raise problem(
                    f"{self.law} commands currents; expected current, or the law cascade",
                    f"axes.{name}.level",
                )

    def _check_filters(self) -> None:
        """Complain about filters that the loops of a motor do not have, or that their samples do not know."""
        for name, own in self.axes.items():
            for loop in ("position_bandwidth", "speed_bandwidth"):
                if getattr(own, loop) is not None and self.law in TOGETHER:
                    raise problem(
                        f"of a loop that {self.law} does not have for one motor; expected none, or the law cascade",
                        f"axes.{name}.{loop}",
                    )
            if not own.filtered:
                continue
            if self.law != "cascade":
                raise problem(
                    f"filters of a speed loop, which {self.law} does not have; expected none, or the law cascade",
                    f"axes.{name}.{'notches' if own.notches else 'torque_filter'}",
                )
            if self.arithmetic == "fixed":
                raise problem(
                    "filters compute with floating-point numbers; expected none, or the arithmetic float",
                    f"axes.{name}.{'notches' if own.notches else 'torque_filter'}",
                )
            if len(own.notches) + (own.torque_filter is not None) > MOST_FILTERS:
                raise problem(
                    f"{len(own.notches)}; expected {MOST_FILTERS} filters at most", f"axes.{name}.notches"
                )
            period = self.axis_period if self.speed_in_axis_controller(name) else self.speed_period
            highest = 0.45 / period
            stated = [(f"notches.{k}", notch.frequency) for k, notch in enumerate(own.notches)]
            stated += (
                [("torque_filter", own.torque_filter.frequency)] if own.torque_filter is not None else []
            )
            for place, frequency in stated:
                if frequency > highest:
                    raise problem(
                        f"{frequency:.4g} Hz is not below half of the speed loop's sampling frequency; expected "
                        f"{highest:.4g} Hz at most",
                        f"axes.{name}.{place}.frequency",
                    )

    def _check_beat(self) -> None:
        """Complain about two loops whose samples hardly ever coincide: their beat could not be computed."""
        shorter = min(self.speed_period_ns, self.axis_period_ns)
        beat = math.lcm(self.speed_period_ns, self.axis_period_ns)
        if beat // shorter > MOST_BEATS:
            raise problem(
                f"{time_text(self.axis_period_ns)} and the speed_period {time_text(self.speed_period_ns)} meet every "
                f"{time_text(beat)} only; expected periods of which one is a multiple of the other, or nearly",
                "axis_period",
            )

    def _check_jitter(self) -> None:
        """Complain about a lateness in which a task would be overtaken by its own next run."""
        name = min(
            ("main_period", "axis_period", "speed_period"), key=lambda name: float(getattr(self, name))
        )
        shortest: int = getattr(self, f"{name}_ns")
        late = nanoseconds(self.jitter)
        if late >= shortest:
            raise problem(
                f"{time_text(late)} is not below the {name} {time_text(shortest)},"
                f" the shortest of what is late; expected at most {time_text(shortest - 1)}",
                "jitter",
            )

    def _check_divides(self, long: str, short: str) -> None:
        """Complain unless the period ``short`` fits into ``long`` a whole number of times."""
        whole, part = getattr(self, f"{long}_ns"), getattr(self, f"{short}_ns")
        count, left = divmod(whole, part)
        if not left:
            return
        nearby = [time_text(k * part) for k in (count, count + 1) if k]
        raise problem(
            f"{time_text(whole)} is {whole / part:.6g} times the {short} {time_text(part)};"
            f" expected a whole multiple, such as {' or '.join(nearby)}",
            long,
        )


def time_text(ns: int) -> str:
    """A time of whole nanoseconds, exactly, in the unit that reads best.

    >>> time_text(1_600_000)
    '1.6 ms'
    """
    for size, unit in ((10**9, "s"), (10**6, "ms"), (10**3, "us")):
        if ns >= size:
            # whole digits and up to nine decimals, no rounding
            text = f"{ns // size}.{ns % size:0{len(str(size)) - 1}d}".rstrip("0").rstrip(".")
            return f"{text} {unit}"
    return f"{ns} ns" if ns else "0 s"
