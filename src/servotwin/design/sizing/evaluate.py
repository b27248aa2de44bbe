r"""What a cycle asks of one actuator, and how much of motor and gear that uses.

.. math:: \tau_m = (J_m + J_g)\,n\,\ddot\phi + \frac{T}{n}\,\eta^{-s} + \tau_f, \qquad
          s = \mathrm{sign}(T\,\dot\phi)                                                  (eq:motor-load)

``n`` gear ratio, T and phi at the gear's output (eq:actuator-load), eta its efficiency, tau_f friction at the motor
(eq:friction-curve). RMS values are taken over the whole cycle with its rests, in which the motor gives the most that
friction may ask of it (eq:stick-band).

An emergency stop with the torque tau_b of brake or motor puts on the gear

.. math:: T_{stop} = \frac{-\mathrm{sign}(\dot\phi)\,n\,\tau_b\,I + n^2 J\,S}{I + n^2 J}          (eq:stop-torque)

with the inertia I felt at the output, J that of motor and gear, and the torque S of the motion without acceleration.
Theory: docs/theory/sizing.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from servotwin.description.power_parts import Power
from servotwin.description.sheets.gear_life import average_speed, average_torque
from servotwin.design.sizing.actuators import Actuator, MotorChoice
from servotwin.design.sizing.gear_life import holding_torque, lives
from servotwin.design.sizing.load import Load
from servotwin.design.sizing.standstill import stick_band
from servotwin.design.sizing.temperature import Heating, steady_cycle
from servotwin.mechanism.model import Array
from servotwin.motion.motor_limits import NO_VALVE, DriveLimits

HOURS = 3600.0
LOW_VOLTAGE = 0.9  # of the bus voltage, that peaks have to do with
CLASS_F = 155.0  # degC: a hot winding where no limit is stated


@dataclass(frozen=True)
class Rules:
    """What every choice is judged by.

    ``low_voltage``: lowest bus voltage over the stated one; ``reserve``: factor by which every limit must be missed;
    ``life`` [s] that gears must reach with 90 % probability; ``inertia_ratio``: largest load over motor inertia;
    ``ambient`` [degC].
    """

    low_voltage: float = LOW_VOLTAGE
    reserve: float = 1.0
    life: float | None = None
    inertia_ratio: float | None = None
    ambient: float | None = None


@dataclass(frozen=True)
class Check:
    """A need beside its limit; ``share`` of the limit that is used, above 1 is too much."""

    name: str
    part: str  # 'motor' or 'gear'
    need: float
    limit: float
    unit: str
    share: float


@dataclass(frozen=True, eq=False, repr=False)
class ActuatorDemand:
    """One actuator over a cycle, motor side unless a name says gear; ``torque``, ``speed`` (k,) of the motor."""

    name: str
    actuator: Actuator
    unit: str  # of the output: 'rad' or 'm'
    torque: Array
    speed: Array
    output_torque: Array
    electric_power: Array  # from the bus [W]
    seconds: Array
    peak_torque: float
    rms_torque: float  # with the most that a motor at rest may give (eq:stick-band)
    rms_least: float  # with the least
    peak_speed: float
    mean_speed: float
    rms_speed: float
    peak_power: float  # mechanical, of the shaft [W]
    mean_power: float
    regenerated: float  # at the shaft in one cycle [J]
    copper_loss: float | None  # mean in the steady cycle [W]
    inertia_ratio: float  # largest of the cycle
    heating: Heating | None
    gear_peak: float
    gear_average: float
    gear_average_speed: float  # of the input [rad/s]
    gear_holding: float
    gear_stop: float | None
    life_10: float | None  # [s]
    life_50: float | None
    checks: tuple[Check, ...] = field(default=())

    @property
    def worst(self) -> Check | None:
        """What is used most; None if no limit is known."""
        return max(self.checks, key=lambda check: check.share, default=None)

    @property
    def passes(self) -> bool:
        """True if no limit is exceeded."""
        worst = self.worst
        return worst is None or worst.share <= 1.0


def motor_torque(load: Load, j: int, actuator: Actuator) -> Array:
    """Torque (k,) [N m] that the motor of actuator j must give (eq:motor-load)."""
    n, eta = actuator.gear.ratio, actuator.gear.efficiency
    T, w = load.arm.torque[:, j], load.speed[:, j]
    passed = T / n
    if eta < 1.0:
        way = np.sign(T * w)
        passed = passed * np.where(way > 0.0, 1.0 / eta, np.where(way < 0.0, eta, 1.0))
    friction = actuator.friction + load.friction[j].at_motor(n)
    return np.asarray(actuator.inertia * n * load.acceleration[:, j] + passed + friction.torque(n * w))


def drive_limits_of(motor: MotorChoice, power: Power | None, rules: Rules) -> DriveLimits:
    """Torque and speed that a motor reaches at the lowest bus voltage with its winding as hot as it may be."""
    winding, speed = motor.winding, motor.top_speed or math.inf
    rows: tuple[float, ...] = (motor.torque_limit, speed, math.inf, 0.0, 1.0, 0.0, 0.0)
    if winding is not None and power is not None and winding.resistance > 0.0 and winding.has_torque_constant:
        U = rules.low_voltage * power.bus_voltage / (math.sqrt(3.0) if winding.phases == 3 else 1.0)
        R = winding.resistance * hot_factor(motor) + power.bridge.on_resistance
        reactance = winding.pole_pairs * winding.inductance_q
        K, K_b = winding.torque_constant, winding.voltage_constant
        rows = (motor.torque_limit, speed, U, R, K, K_b, reactance)
    return DriveLimits(*(np.array([x]) for x in (*rows, *NO_VALVE)))


def hot_factor(motor: MotorChoice) -> float:
    """Resistance of the hot winding over the stated one (eq:resistance-drift)."""
    thermal = motor.thermal
    if thermal is None:
        return 1.0
    hot = CLASS_F if thermal.limit is None else thermal.limit
    return 1.0 + thermal.temperature_coefficient * (hot - thermal.reference_temperature)


def continuous_torques(motor: MotorChoice, speeds: Array) -> Array:
    """Torque of the continuous curve at speeds (k,) [N m]; zero beyond its last point, infinite without a curve."""
    curve = motor.curve
    if not curve:
        return np.full(len(speeds), math.inf)
    w, tau = np.array(curve).T
    beyond = (speeds > w[-1] * (1.0 + 1e-9)) & (len(w) > 1)
    return np.where(beyond, 0.0, np.interp(speeds, w, tau))


def demand_of(
    load: Load, j: int, actuator: Actuator, power: Power | None = None, rules: Rules | None = None
) -> ActuatorDemand:
    """What the cycle asks of actuator j, and how much of it that uses."""
    chosen = rules or Rules()
    n, motor, gear = actuator.gear.ratio, actuator.motor, actuator.gear
    seconds = load.seconds
    share = seconds / seconds.sum()
    tau, w, T = motor_torque(load, j, actuator), n * load.speed[:, j], load.arm.torque[:, j]
    shaft = tau * w
    least, most = stick_band(load, j, actuator, tau)
    loss, heating, electric = _electric(motor, most, shaft, seconds, power, chosen)
    gear_average = average_torque(T, w, seconds, gear.exponent)
    gear_speed = average_speed(w, seconds)
    life_10, life_50 = lives(gear, gear_average, gear_speed)
    found = ActuatorDemand(
        name=load.names[j],
        actuator=actuator,
        unit=load.units[j],
        torque=tau,
        speed=w,
        output_torque=T,
        electric_power=electric,
        seconds=seconds,
        peak_torque=float(np.abs(tau).max()),
        rms_torque=math.sqrt(float(np.sum(share * most**2))),
        rms_least=math.sqrt(float(np.sum(share * least**2))),
        peak_speed=float(np.abs(w).max()),
        mean_speed=gear_speed,
        rms_speed=math.sqrt(float(np.sum(share * w**2))),
        peak_power=float(np.abs(shaft).max()),
        mean_power=float(np.sum(share * shaft)),
        regenerated=float(np.sum(np.maximum(-shaft, 0.0) * seconds)),
        copper_loss=loss,
        inertia_ratio=float(load.arm.inertia[:, j].max() / (n**2 * actuator.inertia))
        if actuator.inertia > 0.0
        else math.inf,
        heating=heating,
        gear_peak=float(np.abs(T).max()),
        gear_average=gear_average,
        gear_average_speed=gear_speed,
        gear_holding=holding_torque(T, w),
        gear_stop=stop_torque(load, j, actuator),
        life_10=life_10,
        life_50=life_50,
    )
    checks = (
        *_motor_checks(found, power, chosen),
        *_brake_checks(found, load.arm.gravity[:, j]),
        *_gear_checks(found, chosen),
    )
    return _with_checks(found, checks, chosen.reserve)


def _with_checks(found: ActuatorDemand, checks: tuple[Check, ...], reserve: float) -> ActuatorDemand:
    held = tuple(replace(check, share=check.share * reserve) for check in checks)
    return replace(found, checks=held)


def copper_factor(motor: MotorChoice) -> float:
    """Copper loss over R i^2: three phases with the amplitude i carry one and a half times as much."""
    return 1.5 if motor.winding is not None and motor.winding.phases == 3 else 1.0


def _electric(
    motor: MotorChoice, tau: Array, shaft: Array, seconds: Array, power: Power | None, rules: Rules
) -> tuple[float | None, Heating | None, Array]:
    """Mean copper loss [W], temperatures, and power from the bus (k,) [W], all in the steady cycle."""
    winding = motor.winding
    if winding is None or not motor.electric or not winding.has_torque_constant:
        return None, None, shaft if motor.electric else np.zeros_like(shaft)
    square = copper_factor(motor) * (tau / winding.torque_constant) ** 2
    cold = winding.resistance * square
    heating, factor = None, 1.0
    if motor.thermal is not None:
        heating = steady_cycle(motor.thermal, cold, seconds, rules.ambient)
        rise = heating.winding_mean - motor.thermal.reference_temperature
        factor = 1.0 + motor.thermal.temperature_coefficient * rise if math.isfinite(rise) else math.inf
    copper = float(np.sum(cold * seconds) / seconds.sum())
    bridge = power.bridge.on_resistance if power is not None else 0.0
    hot = factor if math.isfinite(factor) else 1.0
    return factor * copper if copper > 0.0 else 0.0, heating, shaft + hot * cold + bridge * square


def stop_torque(load: Load, j: int, actuator: Actuator) -> float | None:
    """Largest torque at the gear when brake or motor stops the axis out of the cycle (eq:stop-torque)."""
    motor, n = actuator.motor, actuator.gear.ratio
    tau_b = motor.brake_torque if motor.brake_torque is not None else motor.torque_limit
    if not math.isfinite(tau_b):
        return None
    at = np.unique(np.linspace(0, len(load.speed) - 1, len(load.arm.coasting)).astype(np.int64))
    way, inertia, S = np.sign(load.speed[at, j]), load.arm.inertia[:, j], load.arm.coasting[:, j]
    own = n**2 * actuator.inertia
    T = (-way * n * tau_b * inertia + own * S) / (inertia + own)  # eq:stop-torque
    return float(np.abs(T[way != 0.0]).max(initial=0.0))


def _motor_checks(found: ActuatorDemand, power: Power | None, rules: Rules) -> list[Check]:
    motor = found.actuator.motor
    out = []
    limit = float(continuous_torques(motor, np.array([found.rms_speed]))[0])
    if math.isfinite(limit):
        out.append(_check("RMS torque", "motor", found.rms_torque, limit, "N m"))
    drive = drive_limits_of(motor, power, rules)
    voltage = drive.parts(found.torque[:, None], found.speed[:, None])[1][:, 0]
    peak = _peak_check(motor, found.torque, found.speed)
    if peak is not None:
        out.append(peak)
    if np.isfinite(drive.voltage[0]):
        at = int(np.argmax(voltage))
        need = float(voltage[at] * drive.voltage[0])
        out.append(Check("voltage", "motor", need, float(drive.voltage[0]), "V", float(voltage[at])))
    if motor.top_speed is not None:
        out.append(_check("speed", "motor", found.peak_speed, motor.top_speed, "rad/s"))
    thermal, heating = motor.thermal, found.heating
    if thermal is not None and heating is not None and thermal.limit is not None:
        around = thermal.reference_temperature if rules.ambient is None else rules.ambient
        room = thermal.limit - around
        use = (heating.winding_peak - around) / room if room > 0.0 else math.inf
        out.append(Check("winding temperature", "motor", heating.winding_peak, thermal.limit, "degC", use))
    if rules.inertia_ratio is not None:
        out.append(_check("inertia ratio", "motor", found.inertia_ratio, rules.inertia_ratio, ""))
    return out


def _brake_checks(found: ActuatorDemand, gravity: Array) -> list[Check]:
    """The brake against the weight (k,) [N m, N] at the output in every pose of the cycle, without friction."""
    brake = found.actuator.motor.brake_torque
    if brake is None:
        return []
    return [
        _check(
            "brake holding torque",
            "motor",
            float(np.abs(gravity).max()) / found.actuator.gear.ratio,
            brake,
            "N m",
        )
    ]


def short_torques(motor: MotorChoice, speed: Array) -> Array:
    """Torque that a motor gives for a short time at speeds (k,) [N m]: of its own curve and its driver."""
    if not motor.peak_curve:
        return np.full(speed.shape, motor.torque_limit)
    w, tau = np.array(motor.peak_curve).T
    return np.asarray(np.minimum(np.interp(np.abs(speed), w, tau), motor.torque_limit))


def _peak_check(motor: MotorChoice, torque: Array, speed: Array) -> Check | None:
    if not math.isfinite(motor.torque_limit) and not motor.peak_curve:
        return None
    limit = np.maximum(short_torques(motor, speed), 1e-12)
    at = int(np.argmax(np.abs(torque) / limit))
    return _check("peak torque", "motor", float(abs(torque[at])), float(limit[at]), "N m")


def _gear_checks(found: ActuatorDemand, rules: Rules) -> list[Check]:
    gear, unit = found.actuator.gear, "N m" if found.unit == "rad" else "N"
    out = []
    held = gear.average_torque if gear.average_torque is not None else gear.rated_torque
    for name, need, limit, of in (
        ("gear average torque", found.gear_average, held, unit),
        ("gear holding torque", found.gear_holding, held, unit),
        ("gear repeated peak", found.gear_peak, gear.repeated_torque, unit),
        ("gear stopping torque", found.gear_stop, gear.momentary_torque, unit),
        ("gear mean input speed", found.gear_average_speed, gear.average_speed, "rad/s"),
        ("gear input speed", found.peak_speed, gear.max_speed, "rad/s"),
    ):
        if need is not None and limit is not None:
            out.append(_check(name, "gear", need, limit, of))
    if rules.life is not None and found.life_10 is not None:
        use = rules.life / found.life_10
        out.append(Check("gear life L10", "gear", found.life_10 / HOURS, rules.life / HOURS, "h", use))
    return out


def _check(name: str, part: str, need: float, limit: float, unit: str) -> Check:
    return Check(name, part, need, limit, unit, need / limit if limit > 0.0 else math.inf)
