"""The table of recorded signals: one line for each, read by the compiled recorder and by whoever reads its rows.

A line gives the name of a signal, its unit, its side, what a row holds of it, who writes it, and on which axes it
exists. The constant in front of a line of robot or motor is its number in the table; ``recording`` enters its value
by that number and ``row_layout`` says in which column it stands, if it has one. So a new signal is a line here and a
value there; what an axis does not have gets no column and is never written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from servotwin.control.servo.records import Law, Level
from servotwin.drives.kind import Feed


class Side(Enum):
    """What a signal belongs to; the first part of its name."""

    ROBOT = "robot"
    JOINT = "joint"
    MOTOR = "motor"
    TIP = "tip"


class Sampling(Enum):
    """What a row holds of a signal."""

    INSTANT = "instant"  # its value at the instant of the row
    MEAN = "mean"  # its mean since the row before
    ANY = "any"  # every bit that was set since the row before


class Writer(Enum):
    """Who knows the value of a signal."""

    PLANT = "plant"
    SERVO = "servo"  # a value inside the servo: not there while the servo runs elsewhere, unless it crosses the border
    READER = "reader"  # computed from the rows and the commanded motion after the run


@dataclass(frozen=True)
class Drive:
    """One axis, to ask which signals it has: records of its motor and of its axis in the servo."""

    motor: Any
    axis: Any
    servo_elsewhere: bool = False


# --- on which axes a signal exists; the docstrings stand in the documentation ------------------------------


def every_axis(drive: Drive) -> bool:
    """Every axis."""
    return True


def no_axis(drive: Drive) -> bool:
    """No axis."""
    return False


def behind_a_bridge(drive: Drive) -> bool:
    """Motors with a winding behind a bridge."""
    return bool(drive.motor["feed"] != Feed.COMMAND)


def takes_a_command(drive: Drive) -> bool:
    """Ideal motors and actuators of the user's, to which the servo hands a current."""
    return not behind_a_bridge(drive)


def with_current(drive: Drive) -> bool:
    """All but ideal motors without a torque constant."""
    return behind_a_bridge(drive) or bool(drive.motor["has_constant"])


def with_chambers(drive: Drive) -> bool:
    """Hydraulic axes."""
    return bool(drive.motor["chambers_at"] >= 0)


def with_thermal_data(drive: Drive) -> bool:
    """Motors with thermal data."""
    return bool(drive.motor["C_w"] > 0.0)


def commanded_by_speed(drive: Drive) -> bool:
    """Drivers that get a speed, not a current or a voltage past the speed loop."""
    return bool(drive.axis["level"] == Level.SPEED and drive.axis["law"] != Law.COMPUTED_TORQUE)


def integrates_position(drive: Drive) -> bool:
    """Position loops that run and have an integrator."""
    return bool(drive.axis["law"] == Law.CASCADE and (drive.axis["K_xi"] or drive.axis["ki_x"]))


def integrates_speed(drive: Drive) -> bool:
    """Speed loops that run, all but those of ideal motors without a torque constant."""
    known = with_current(drive) or with_chambers(drive)
    return (commanded_by_speed(drive) or bool(drive.axis["law"] == Law.CASCADE)) and known


def integrates_current(drive: Drive) -> bool:
    """Current loops of bridges that run; of synchronous motors always."""
    return field_oriented(drive) or (behind_a_bridge(drive) and bool(drive.axis["level"] != Level.VOLTAGE))


def field_oriented(drive: Drive) -> bool:
    """Synchronous motors, whose driver finds the voltage vector whatever is commanded."""
    return bool(drive.motor["feed"] == Feed.THREE_PHASE)


# --- the table ----------------------------------------------------------------------------------------------

Condition = Callable[[Drive], bool]


@dataclass(frozen=True)
class Signal:
    """A line of the table; ``sliding_unit`` is that of sliding joints and of pistons, ``sliding_name`` what a piston
    has in its place, ``on_wire`` says where a servo's value is known to the plant too, because it crosses the border
    (``control.servo.ports``)."""

    name: str
    unit: str
    side: Side
    sampling: Sampling
    writer: Writer
    meaning: str
    exists: Condition = every_axis
    whole: bool = False
    sliding_unit: str = ""
    sliding_name: str = ""
    on_wire: Condition = no_axis

    @property
    def of_oil(self) -> bool:
        """Whether only hydraulic axes have it."""
        return self.exists is with_chambers

    def column(self, *, prismatic: bool = False) -> str:
        """Name with unit, such as ``current_ref_A``; ``prismatic``: of a sliding joint or a piston."""
        unit = self.sliding_unit if prismatic and self.sliding_unit else self.unit
        name = self.sliding_name if prismatic and self.sliding_name else self.name
        return f"{name}_{unit}" if unit else name

    def full_name(self, owner: str = "", *, prismatic: bool = False) -> str:
        """The name in a result, such as ``motor_A_current_ref_A``; ``owner``: name of the joint or motor."""
        place = f"{self.side.value}_{owner}_" if self.side in (Side.JOINT, Side.MOTOR) else ""
        return place + self.column(prismatic=prismatic)

    def is_recorded(self, drive: Drive) -> bool:
        """Whether a run records this signal of an axis."""
        hidden = self.writer is Writer.SERVO and drive.servo_elsewhere and not self.on_wire(drive)
        return self.exists(drive) and not hidden


_TABLE: dict[Side, list[Signal]] = {side: [] for side in Side}
_INSTANT, _MEAN, _ANY = Sampling.INSTANT, Sampling.MEAN, Sampling.ANY
_PLANT, _SERVO, _READER = Writer.PLANT, Writer.SERVO, Writer.READER


def _line(side: Side, name: str, unit: str, what: Sampling, who: Writer, meaning: str, **more: Any) -> int:
    """Enter a signal; its number among those of its side."""
    _TABLE[side].append(Signal(name, unit, side, what, who, meaning, **more))
    return len(_TABLE[side]) - 1


def _robot(name: str, unit: str, what: Sampling, meaning: str) -> int:
    return _line(Side.ROBOT, name, unit, what, _PLANT, meaning)


def _joint(name: str, unit: str, sliding: str, who: Writer, meaning: str) -> int:
    return _line(Side.JOINT, name, unit, _INSTANT, who, meaning, sliding_unit=sliding)


def _motor(
    name: str, unit: str, what: Sampling, who: Writer, on: Condition, meaning: str, **more: Any
) -> int:
    return _line(Side.MOTOR, name, unit, what, who, meaning, exists=on, **more)


def _tip(name: str, meaning: str) -> int:
    return _line(Side.TIP, name, "m", _INSTANT, _READER, meaning)


# fmt: off
TIME = _robot("time", "s", _INSTANT, "instant of the row")
BUS_VOLTAGE = _robot("bus_voltage", "V", _INSTANT, "voltage of the bus")
BUS_ENERGY = _robot("bus_energy", "J", _INSTANT, "energy that all electrical sources have given since the start: that "
                    "of the bus, and those of ideal and own actuators")
BUS_POWER = _robot("bus_power", "W", _MEAN, "power from all electrical sources")

POSITION = _joint("position", "rad", "m", _PLANT, "joint")
POSITION_REF = _joint("position_ref", "rad", "m", _READER, "joint as commanded")
VELOCITY = _joint("velocity", "rad_per_s", "m_per_s", _PLANT, "joint")
VELOCITY_REF = _joint("velocity_ref", "rad_per_s", "m_per_s", _READER, "joint as commanded")

ANGLE = _motor("angle", "rad", _INSTANT, _PLANT, every_axis, "rotor, or piston", sliding_unit="m",
               sliding_name="position")
SPEED = _motor("speed", "rad_per_s", _INSTANT, _PLANT, every_axis, "rotor, or piston", sliding_unit="m_per_s")
CURRENT = _motor("current", "A", _MEAN, _PLANT, with_current, "current; by kind of motor: [simulation](simulation.md)")
CURRENT_REF = _motor("current_ref", "A", _MEAN, _SERVO, with_current, "what the current loop is asked for",
                     on_wire=takes_a_command)
TORQUE = _motor("torque", "N_m", _MEAN, _PLANT, every_axis, "torque in the air gap, force of the piston",
                sliding_unit="N", sliding_name="force")
VOLTAGE = _motor("voltage", "V", _MEAN, _PLANT, behind_a_bridge,
                 "voltage of the bridge; by kind of motor: [simulation](simulation.md)")
WINDING_TEMPERATURE = _motor("winding_temperature", "degC", _INSTANT, _PLANT, with_thermal_data, "winding")
COUNT = _motor("count", "", _INSTANT, _PLANT, every_axis, "encoder, counts per line as its counting says", whole=True)
SATURATION = _motor("saturation", "", _ANY, _PLANT, every_axis, "limits met, bit by bit: [simulation](simulation.md)",
                    whole=True)
SPEED_COMMAND = _motor("speed_command", "V", _INSTANT, _SERVO, commanded_by_speed,
                       "speed command as the servo driver reads it, in volts of `controller.command_voltage`")
POSITION_INTEGRATOR = _motor("position_integrator", "rad_per_s", _INSTANT, _SERVO, integrates_position,
                             "integrator of the position loop: the speed that it gives", sliding_unit="m_per_s")
SPEED_INTEGRATOR = _motor("speed_integrator", "A", _INSTANT, _SERVO, integrates_speed,
                          "integrator of the speed loop: the current that it gives")
CURRENT_INTEGRATOR = _motor("current_integrator", "V", _INSTANT, _SERVO, integrates_current,
                            "integrator of the current loop (of i_q): the voltage that it gives")
D_CURRENT_INTEGRATOR = _motor("d_current_integrator", "V", _INSTANT, _SERVO, field_oriented,
                              "integrator of the loop of i_d: the voltage that it gives")
PRESSURE_A = _motor("pressure_a", "Pa", _INSTANT, _PLANT, with_chambers, "chamber that drives forward")
PRESSURE_B = _motor("pressure_b", "Pa", _INSTANT, _PLANT, with_chambers, "chamber that drives backward")
SUPPLY_PRESSURE = _motor("supply_pressure", "Pa", _INSTANT, _PLANT, with_chambers, "hydraulic supply")
VALVE_COMMAND = _motor("valve_command", "A", _INSTANT, _PLANT, with_chambers, "current of the servovalve")
VALVE_OPENING = _motor("valve_opening", "", _INSTANT, _PLANT, with_chambers, "spool, 1 at rated current")
FLOW = _motor("flow", "m3_per_s", _MEAN, _PLANT, with_chambers, "oil from the supply, as volume at the surroundings")
HYDRAULIC_POWER = _motor("hydraulic_power", "W", _MEAN, _PLANT, with_chambers, "power from the hydraulic supply")
HYDRAULIC_LOSS = _motor("hydraulic_loss", "W", _MEAN, _PLANT, with_chambers, "lost at edges, leaks and cushions")

TIP_X, TIP_Y, TIP_Z = (_tip(f"tip_{axis}", "tool in the base") for axis in "xyz")
TIP_REF_X, TIP_REF_Y, TIP_REF_Z = (_tip(f"tip_ref_{axis}", "tool in the base as commanded") for axis in "xyz")
TIP_ERROR_ALONG = _tip("tip_error_along", "error of the tool along its path")
TIP_ERROR_ACROSS = _tip("tip_error_across", "error of the tool across its path")
# fmt: on

ROBOT, JOINT, MOTOR, TIP = (tuple(_TABLE[side]) for side in Side)
SIGNALS = (*ROBOT, *JOINT, *MOTOR, *TIP)
OF_CHAMBERS = sum(signal.of_oil for signal in MOTOR)  # from PRESSURE_A on, one after the other
HEAD = len(ROBOT)  # columns of a row before the coordinates of the arm
