"""Compiled code of all kinds of actuators, chosen by the kind of each motor: the compiled half of ``drives.table``.

The rest of the simulator knows what feeds a motor (``feed``) and how many states it has (``width``), not its kind.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from servotwin.compiled.jit import Piece, helper, part
from servotwin.compiled.native_calls import call_actuator, call_piece
from servotwin.drives.dc import DC as DC_KIND
from servotwin.drives.dc.interval import dc_interval
from servotwin.drives.dc.model import dc_current_rate, dc_rates, dc_speed_gain, dc_window_interval
from servotwin.drives.dc_reduced import DC_REDUCED as DC_REDUCED_KIND
from servotwin.drives.dc_reduced.model import (
    dc_reduced_current,
    dc_reduced_rates,
    dc_reduced_speed_gain,
    dc_reduced_window_interval,
)
from servotwin.drives.hydraulic import HYDRAULIC as HYDRAULIC_KIND
from servotwin.drives.hydraulic.model import effort
from servotwin.drives.kind import Feed
from servotwin.drives.own import CHARGE, CODE, EFFORT, LOSS, LOST, POWER, WORK
from servotwin.drives.pmsm import PMSM as PMSM_KIND
from servotwin.drives.pmsm.interval import pmsm_interval, turn_by
from servotwin.drives.pmsm.model import (
    currents_now,
    electrical_turn,
    pmsm_current_rates,
    pmsm_rates,
    pmsm_speed_gain,
    pmsm_torque,
    rotor_voltage,
    stator_currents,
)
from servotwin.simulation.plant.hydraulic_code import (
    hydraulic_rates,
    hydraulic_signals,
    hydraulic_step,
    hydraulic_supply,
    hydraulic_window,
)

DC, DC_REDUCED, PMSM, OWN = DC_KIND.code, DC_REDUCED_KIND.code, PMSM_KIND.code, CODE
HYDRAULIC = HYDRAULIC_KIND.code
# of what ``motor_interval`` gives
I, I_Q, COS, SIN, IMPULSE, MOMENT, SQUARE, ENERGY, CHARGED = range(9)
COMMAND, H_BRIDGE, THREE_PHASE = int(Feed.COMMAND), int(Feed.H_BRIDGE), int(Feed.THREE_PHASE)


@dataclass(frozen=True)
class ApartCode:
    """Code of a kind that is compiled apart, and only where a robot has it (``hydraulic_code``).

    ``rates``, ``signals``: of one motor; ``supply_rates``, ``after_step``, ``after_window``: of all of them together.
    One kind of a robot can have such code: there is one supply, and one place for signals that a kind alone has.
    """

    rates: Piece
    signals: Piece
    supply_rates: Piece
    after_step: Piece
    after_window: Piece

    @property
    def pieces(self) -> dict[str, Piece]:
        """All of them, by their names."""
        return {piece.function.__name__: piece for piece in vars(self).values()}

    @property
    def shared(self) -> dict[str, Piece]:
        """What the machine calls once for all motors of the kind, by the names in its record of addresses."""
        return {name: getattr(self, name) for name in ("supply_rates", "after_step", "after_window")}


APART = {
    HYDRAULIC: ApartCode(
        hydraulic_rates, hydraulic_signals, hydraulic_supply, hydraulic_step, hydraulic_window
    )
}


@helper
def is_dc(motor: Any) -> bool:
    """Whether a motor has one winding behind a commutator."""
    return bool(motor.kind == DC)


@helper
def actuator_rates(
    world: Any, motor: Any, u_bus: float, theta: float, w: float, y: Any, dy: Any, dz: Any
) -> tuple[float, float, float, float]:
    """Torque [N m], power from the supply [W], i^2 [A^2], current from the bus [A]; the rates of its states in dy."""
    if motor.kind == DC:
        return dc_rates(motor, u_bus, w, y, dy)
    if motor.kind == PMSM:
        return pmsm_rates(motor, u_bus, theta, w, y, dy)
    if motor.kind == DC_REDUCED:
        return dc_reduced_rates(motor, u_bus, w)
    if motor.kind == OWN:
        return own_rates(world, motor, u_bus, theta, w, dz)
    if motor.rates != 0:
        return apart_rates(world, motor, theta, w)
    tau = 0.0 if motor.open else motor.torque_command
    return tau, tau * w, 0.0, 0.0


@helper
def own_rates(
    world: Any, motor: Any, u_bus: float, theta: float, w: float, dz: Any
) -> tuple[float, float, float, float]:
    """The same of an actuator of the user's, whose current is its command; y and dy are always those of the record."""
    code, out, k = world.code, world.scratch.actuator_out, max(motor.current_at, 0)
    command, supply = (0.0, 0.0) if motor.open else (motor.current_command, u_bus)
    call_actuator(
        motor.own_rates, code.ys_at + 8 * k, code.dy_at + 8 * k, code.actuator_out_at, motor.own_parameters,
        theta, w, command, supply,
    )  # fmt: skip
    at = motor.loss_at
    dz[at + LOST], dz[at + WORK], dz[at + CHARGE] = out[LOSS], out[EFFORT] * w, command
    return out[EFFORT], out[POWER], command * command, 0.0


@helper
def own_effort(world: Any, motor: Any, u_bus: float, theta: float, w: float, y: Any) -> float:
    """Torque [N m] of an actuator of the user's in a state y; its rates are left at its place in ``scratch.dy``."""
    scratch = world.scratch
    for k in range(motor.current_at, motor.current_at + motor.width):
        scratch.ys[k] = y[k]
    return own_rates(world, motor, u_bus, theta, w, scratch.dz)[0]


@helper
def apart_rates(world: Any, motor: Any, theta: float, w: float) -> tuple[float, float, float, float]:
    """The same of a kind whose code is compiled apart; its supply is its own, and y and dy are those of the record."""
    code = world.code
    call_piece(motor.rates, code.world_at, code.power_at, code.motors_at, motor.number, theta, w)
    return world.scratch.actuator_out[EFFORT], 0.0, 0.0, 0.0


@helper
def current_and_torque(
    world: Any, motor: Any, u_bus: float, theta: float, w: float, y: Any
) -> tuple[float, float]:
    """Current [A] and torque [N m] in a state y; the current of a synchronous motor is its amplitude.

    The torque is computed from y: ``motor.tau`` is that of the last stage, which may be of a step that was rejected.
    """
    k = motor.current_at
    if motor.kind == DC:
        return y[k], motor.K * y[k]
    if motor.kind == PMSM:
        return math.sqrt(y[k] * y[k] + y[k + 1] * y[k + 1]), pmsm_torque(motor, y[k], y[k + 1])
    if motor.kind == OWN:
        return asked_current(motor), own_effort(world, motor, u_bus, theta, w, y)
    if motor.kind == HYDRAULIC:
        p = motor.chambers_at
        return asked_current(motor), effort(motor.hydraulic, y[p], y[p + 1])
    if motor.open:
        return 0.0, 0.0
    if motor.kind == DC_REDUCED:
        i = dc_reduced_current(motor, motor.s_a * u_bus, w)
        return i, motor.K * i
    return motor.torque_command / motor.K, motor.torque_command


@helper
def asked_current(motor: Any) -> float:
    """Current that the servo asks for, and that the wire carries [A]."""
    return 0.0 if motor.open else motor.current_command


@helper
def shown_current(world: Any, motor: Any, u_bus: float, theta: float, w: float, y: Any) -> float:
    """Current of the winding, or of phase a of three [A]."""
    if motor.kind == PMSM:
        return stator_currents(motor, theta, y[motor.current_at], y[motor.current_at + 1])[0]
    return current_and_torque(world, motor, u_bus, theta, w, y)[0]


@helper
def currents_at_start(motor: Any, y: Any) -> tuple[float, float, float, float, float, float, float, float]:
    """Currents i and i_q, fluxes d and q, cosine and sine of the electrical angle, size of current and torque."""
    k = motor.current_at
    if motor.kind != PMSM:
        i = y[k] if k >= 0 else 0.0
        return i, 0.0, 0.0, 0.0, 0.0, 0.0, abs(i), abs(motor.K * i)
    i, i_q = y[k], y[k + 1]
    cos, sin = electrical_turn(motor)
    flux_d, flux_q = motor.L_d * i + motor.psi, motor.L_q * i_q
    return i, i_q, flux_d, flux_q, cos, sin, math.sqrt(i * i + i_q * i_q), abs(pmsm_torque(motor, i, i_q))


@helper
def window_interval(
    world: Any, motor: Any, u: float, u_b: float, i: float, i_q: float, flux_d: float, flux_q: float,
    cos: float, sin: float, c: float, s: float, passed: float, tau: float,
) -> tuple[
    float, float, float, float, float, float, float, float, float, float, float, float, float
]:  # fmt: skip
    """A motor over ``tau`` seconds of a window, between two edges, exactly.

    ``u``, ``u_b``: voltage, of three phases alpha and beta; ``passed``: time since the window began; ``cos``, ``sin``
    and ``c``, ``s``: of the electrical angle when the window and when the interval began. Gives i, i_q, fluxes, c, s,
    then impulse and moment of the torque, integral of i^2, energy, integral of i_q, largest current and torque.
    """
    w = motor.w + passed * (motor.w_dot + passed * motor.w_ddot / 2)
    slope = motor.w_dot + motor.w_ddot * passed
    first = lever = square = gained = charge = 0.0
    if motor.kind == DC:
        i, first, lever, square, gained = dc_window_interval(motor, u, i, w, slope, tau)
    elif motor.kind == PMSM:
        if not motor.open:
            g_d, g_q = 1.0 / motor.L_d, 1.0 / motor.L_q
            flux_d, flux_q, c, s, first, lever, _, _, gained, square, charge = pmsm_interval(
                world.scratch.flux_points, motor.R + motor.R_bridge, g_d, g_q, motor.psi, motor.pole_pairs,
                motor.w, motor.w_dot, motor.w_ddot, cos, sin, c, s, u, u_b, flux_d, flux_q, passed, tau, passed,
            )  # fmt: skip
            i, i_q = (flux_d - motor.psi) * g_d, flux_q * g_q
        most, strongest = math.sqrt(i * i + i_q * i_q), abs(pmsm_torque(motor, i, i_q))
        return i, i_q, flux_d, flux_q, c, s, first, lever, square, gained, charge, most, strongest
    elif motor.kind == DC_REDUCED:
        i, before, first, lever, square, gained = dc_reduced_window_interval(motor, u, w, slope, tau)
        most = max(abs(before), abs(i))
        return i, i_q, flux_d, flux_q, c, s, first, lever, square, gained, charge, most, abs(motor.K) * most
    return i, i_q, flux_d, flux_q, c, s, first, lever, square, gained, charge, abs(i), abs(motor.K * i)


@helper
def motor_torque(motor: Any, i: float, i_q: float) -> float:
    """Torque [N m] by the currents, of a synchronous motor i_d and i_q."""
    if motor.kind == DC:
        return motor.K * i  # type: ignore[no-any-return]
    return pmsm_torque(motor, i, i_q)


@helper
def torque_rate(
    motor: Any, u_a: float, u_b: float, i: float, i_q: float, cos: float, sin: float, w: float
) -> float:
    """How fast the torque changes [N m/s]."""
    if motor.kind == DC:
        return motor.K * dc_current_rate(motor, u_a, i, w)  # type: ignore[no-any-return]
    di_d, di_q = pmsm_current_rates(motor, cos * u_a + sin * u_b, cos * u_b - sin * u_a, i, i_q, w)
    salient = motor.L_d - motor.L_q
    return 1.5 * motor.pole_pairs * ((motor.psi + salient * i) * di_q + salient * di_d * i_q)  # type: ignore[no-any-return]


@part
def motor_interval(
    world: Any, motor: Any, u_a: float, u_b: float, i: float, i_q: float, cos: float, sin: float,
    w: float, alpha: float, jerk: float, tau: float,
) -> tuple[float, float, float, float, float, float, float, float, float]:  # fmt: skip
    """Currents, cosine and sine of the electrical angle after ``tau`` seconds, and integrals over them.

    Impulse of the torque and its moment about the beginning, integrals of i^2 (of three phases 3/2 of it), of the
    power from the bridge and of the current that makes torque.
    """
    R = motor.R + motor.R_bridge
    if motor.kind == DC:
        i, charge, lever, square = dc_interval(R, motor.L, motor.K, u_a, i, w, alpha, jerk, tau)
        return i, 0.0, cos, sin, motor.K * charge, motor.K * lever, square, u_a * charge, charge
    g_d, g_q = 1.0 / motor.L_d, 1.0 / motor.L_q
    D, Q, cos, sin, impulse, moment, _, _, energy, square, charge = pmsm_interval(
        world.scratch.flux_points, R, g_d, g_q, motor.psi, motor.pole_pairs, w, alpha, jerk, cos, sin, cos, sin,
        u_a, u_b, motor.L_d * i + motor.psi, motor.L_q * i_q, 0.0, tau, 0.0,
    )  # fmt: skip
    return (D - motor.psi) * g_d, Q * g_q, cos, sin, impulse, moment, square, energy, charge


@helper
def winding_decay(motor: Any) -> float:
    """R / L of the winding of a DC or synchronous motor, the quicker one of its two axes [1/s]."""
    L = motor.L if motor.kind == DC else min(motor.L_d, motor.L_q)
    return (motor.R + motor.R_bridge) / L  # type: ignore[no-any-return]


def winding_rate(motors: Any) -> float:
    """How fast the quickest winding decays, or swings with a rotor that nothing holds [1/s]; 0 without inductance."""
    found = 0.0
    for motor in motors[np.isin(motors["kind"], (DC, PMSM))]:
        L = motor["L"] if motor["kind"] == DC else min(motor["L_d"], motor["L_q"])
        if L > 0.0:
            decay = (motor["R"] + motor["R_bridge"]) / L
            found = max(found, decay, motor["K"] / np.sqrt(L * motor["J"]) if motor["J"] > 0.0 else 0.0)
    return float(found)


@helper
def late_speed(
    motor: Any, u_a: float, u_b: float, i_0: float, i_q0: float, i: float, i_q: float, cos: float, sin: float,
    rest: float, tau: float,
) -> tuple[float, float, float, float, float, float]:  # fmt: skip
    r"""What a speed that ends an interval ``rest`` above its parabola changes in a motor, to first order.

    The excess grows as the cube of time: with :math:`g` the current's rate per speed, -K/L of a DC motor,

    .. math:: \Delta i = \frac{g\,\tau\,r}{4 + \tfrac45\lambda\tau}, \qquad
              \Delta\!\int i = \frac{g\,\tau^2 r}{20 + \tfrac{10}3\lambda\tau}, \qquad
              \Delta\!\int i^2 = \tfrac13 (5 i_1 + i_0)\,\Delta\!\int i                                (eq:late-speed)

    ``i``, ``i_q``, ``cos``, ``sin`` as they are at its end, ``i_0``, ``i_q0`` as it begins. Gives the changes of both
    currents and of the integrals of torque, i^2, power and the current that makes torque.
    """
    R = motor.R + motor.R_bridge
    if motor.kind == DC:
        slow, g, g_q = R / motor.L * tau, -motor.K / motor.L, 0.0
        u, u_q, share, torque = u_a, 0.0, 1.0, motor.K * g
    else:
        slow, p, salient = R / motor.L_q * tau, motor.pole_pairs, motor.L_d - motor.L_q
        g, g_q = p * motor.L_q / motor.L_d * i_q, -p * (motor.L_d * i + motor.psi) / motor.L_q
        u, u_q, share = cos * u_a + sin * u_b, cos * u_b - sin * u_a, 1.5
        torque = 1.5 * p * ((motor.psi + salient * i) * g_q + salient * i_q * g)
    at_end = tau * rest / (4.0 + 0.8 * slow)  # eq:late-speed
    area = tau * tau * rest / (20.0 + slow * (10.0 / 3.0))
    square = share * ((5.0 * i + i_0) * g + (5.0 * i_q + i_q0) * g_q) / 3.0
    power = share * (u * g + u_q * g_q)
    charge = g if motor.kind == DC else g_q
    return g * at_end, g_q * at_end, torque * area, square * area, power * area, charge * area


@helper
def speed_gain(motor: Any, span: float) -> float:
    """Speed of the rotor by the current that a missed acceleration makes in a window [s]."""
    if motor.kind == DC:
        return dc_speed_gain(motor, span)
    if motor.kind == PMSM:
        return pmsm_speed_gain(motor, span)
    if motor.kind == DC_REDUCED:
        return dc_reduced_speed_gain(motor, span)
    return 0.0


@helper
def true_currents(world: Any, motor: Any) -> tuple[float, float]:
    """Current of a winding [A], or the alpha and beta components of three phases."""
    k = motor.current_at
    if motor.feed == THREE_PHASE:
        return currents_now(motor, world.state.y[k], world.state.y[k + 1])
    if not motor.exact:
        return 0.0 if motor.open else motor.current_command, 0.0
    return world.state.y[k] if k >= 0 else motor.tau / motor.K, 0.0


@helper
def phase_emf(motor: Any, ahead: float, emf: float) -> tuple[float, float]:
    """Alpha and beta components of the back-EMF of three phases, whose amplitude is ``emf``, ``ahead`` rad from now."""
    (cos, sin), (c, s) = electrical_turn(motor), turn_by(motor.pole_pairs * ahead)
    return -(sin * c + cos * s) * emf, (cos * c - sin * s) * emf


@helper
def torque_voltage(motor: Any, theta: float, s_a: float, s_b: float, u_bus: float) -> float:
    """Voltage of a winding [V] under a modulation, of three phases the component that makes torque."""
    if motor.feed == THREE_PHASE:
        return rotor_voltage(motor, theta, s_a, s_b, u_bus)[1]
    return s_a * u_bus


@helper
def charge_integral(motor: Any) -> int:
    """Where the integral of the current stands that makes torque, where that is not in proportion to it; else -1.

    The current of an actuator of the user's is its command; what effort comes of it is its own affair.
    """
    return motor.loss_at + CHARGE if motor.kind == OWN else motor.charge_at  # type: ignore[no-any-return]


@helper
def heat_loss(world: Any, motor: Any, i2: float) -> float:
    """What a motor turned to heat in the window [J]; ``i2``: integral of its squared current [A^2 s]."""
    if motor.kind == OWN:
        at = motor.loss_at + LOST
        return world.state.z[at] - world.state.z_mark[at]  # type: ignore[no-any-return]
    return motor.R * i2  # type: ignore[no-any-return]
