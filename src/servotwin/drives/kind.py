"""What a kind of actuator declares about itself; the kinds stand in folders of their own, the list in ``table``.

Nothing here is compiled, so that descriptions can be read without a compiler. What compiled code needs of a kind
stands in the kind's ``model``, and is called through ``simulation.plant.actuators``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Protocol

import numpy as np

UNIT_TORQUE_CONSTANT = 1.0  # N m/A: what is commanded to a motor without torque constant is its torque
PHASE = 2.0 / 3.0  # amplitude of a phase's back-EMF over the torque per amplitude of the q current


class Feed(IntEnum):
    """What the servo's command becomes at the actuator."""

    COMMAND = 0  # a current, which the drive itself brings about
    H_BRIDGE = 1  # the voltage of two legs
    THREE_PHASE = 2  # the voltages of three legs


@dataclass(frozen=True)
class Winding:
    """What turns the current of a driver into torque; amplitudes of one phase of a star where there are three.

    An ideal motor has neither resistance nor inductance, and one ampere is one newton metre unless a torque
    constant says otherwise.
    """

    resistance: float = 0.0  # [ohm], without that of the bridge
    inductance: float = 0.0  # [H]; 0: the current has no state of its own
    inductance_d: float = 0.0  # along the magnets [H]; with one phase the inductance
    inductance_q: float = 0.0  # across the magnets [H]; with one phase the inductance
    torque_constant: float = UNIT_TORQUE_CONSTANT  # [N m/A]
    has_torque_constant: bool = False  # it is stated; else nobody knows the current
    phases: int = 1
    pole_pairs: int = 0  # 0 with brushes
    flux: float = 0.0  # of the magnets [V s]

    @property
    def voltage_constant(self) -> float:
        """Back-EMF per speed [V s/rad]: the torque constant (eq:dc-motor), of a phase two thirds of it (eq:pmsm)."""
        return self.torque_constant if self.phases == 1 else PHASE * self.torque_constant


class Functions(Protocol):
    """What the equations of an actuator may call, on numbers or on symbols."""

    def sqrt(self, x: Any, /) -> Any:
        """Square root."""

    def exp(self, x: Any, /) -> Any:
        """Exponential."""

    def log(self, x: Any, /) -> Any:
        """Natural logarithm."""

    def step(self, x: Any, /) -> Any:
        """1 where x > 0, else 0."""


@dataclass(frozen=True)
class SupplyEquations:
    """States of what feeds several actuators: the line of a pump. Those that it feeds tell what they draw from it.

    ``name``: of its one state among the numbers of the actuators. ``numbers(data)``: of its equations, empty if it has
    no state. ``rates(x, drawn, p, f)``: from its states, what all actuators draw, and those numbers.
    ``start(data)``: where the search for an operating point begins. ``shortage(users)``: what it lacks, in words, with
    data, states and angle of every actuator that it feeds; empty if it can feed them.
    """

    name: str
    states: tuple[tuple[str, str], ...]
    numbers: Callable[[Any], Mapping[str, float]]
    rates: Callable[[Sequence[Any], Any, Mapping[str, Any], Functions], Sequence[Any]]
    start: Callable[[Any], Sequence[float]]
    shortage: Callable[[Sequence[tuple[Any, Sequence[float], float]]], str] = lambda users: ""


Rates = Callable[
    [Sequence[Any], Sequence[Any], Any, Any, Mapping[str, Any], Functions], tuple[Sequence[Any], Any]
]


@dataclass(frozen=True)
class StateEquations:
    r"""What an actuator adds to the complete model of a robot, x' = A(x) + B(x) u, on numbers and on symbols alike.

    .. math:: \dot\xi = a(\xi, \theta_m, \omega_m) + b(\xi, \theta_m, \omega_m)\,u, \qquad
              \tau_e = c(\xi, \theta_m, \omega_m) + e(\xi, \theta_m, \omega_m)\,u         (eq:actuator-state)

    ``states`` and ``inputs``: name and unit of every one. ``numbers(data, bridge)``: what the equations need of the
    data of the actuator (a ``DriveData``; of a hydraulic one its axis and supply) and of the resistance of its bridge
    [ohm], SI, at the motor's side. ``rates(x, u, theta, w, p, f)``: the rates of the states and the effort [N m, N],
    from states, inputs, angle and speed of its shaft and those numbers, by + - * / and ``Functions`` alone. ``idle``:
    states that an operating point sets to zero, as many as there are inputs more than one. ``draws`` (arguments of
    ``rates``): what it takes from a ``supply`` that several share. ``start(data, theta, w, effort)``: states and inputs
    from which the search for an operating point begins, None: zeros. ``notes(data)``: what the equations leave out;
    ``notes_at(data, x)``: what is to be said about states.
    """

    states: tuple[tuple[str, str], ...]
    inputs: tuple[tuple[str, str], ...]
    numbers: Callable[[Any, float], Mapping[str, float]]
    rates: Rates
    idle: tuple[int, ...] = ()
    draws: Callable[[Sequence[Any], Sequence[Any], Any, Any, Mapping[str, Any], Functions], Any] | None = None
    supply: SupplyEquations | None = None
    start: Callable[[Any, float, float, float], tuple[Sequence[float], Sequence[float]]] | None = None
    notes: Callable[[Any], Sequence[str]] = lambda data: ()
    notes_at: Callable[[Any, Sequence[float]], Sequence[str]] = lambda data, x: ()


@dataclass(frozen=True)
class ActuatorKind:
    """One kind of actuator.

    ``needed``: fields of ``motor`` that its model cannot do without. ``states``: what it adds to the state of the
    plant, the current that a driver measures first. ``winding``: its electrical data from those fields, None if no
    current drives it. ``problem``: a field and what is wrong with it, or None. ``equations``: the same model for the
    complete model of the robot; None if there is none, or if only its code knows. ``valve``: a servovalve moves it,
    with the current of ``DRIVE_COMMAND.valve_current``. ``record``: numbers and extremes of its own, under its name in
    the record of a motor; ``supply``: the same of a supply that its actuators share. ``integrals``,
    ``supply_integrals``: how many powers and flows are integrated for each, beside those of all motors.
    """

    name: str
    code: int  # in the records of compiled code
    feed: Feed
    needed: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    winding: Callable[[Any], Winding] | None = None
    problem: Callable[[Any], tuple[str, str] | None] = lambda motor: None
    driver: str = ""  # drives that feed it: those of one driver feed all its kinds
    simulated: bool = True
    exact: bool = True  # its states are known in closed form over a window of the fast method
    meant: tuple[tuple[tuple[str, ...], str], ...] = ()  # words of people for it, and what to tell them
    valve: bool = False
    record: np.dtype[Any] | None = None
    supply: np.dtype[Any] | None = None
    integrals: int = 0
    supply_integrals: int = 0
    brushes: bool = False  # back-EMF of a DC motor: its driver leaves it to the current loop
    equations: StateEquations | None = None

    @property
    def three_phase(self) -> bool:
        """Whether a bridge of three legs feeds it."""
        return self.feed is Feed.THREE_PHASE

    @property
    def bridge(self) -> bool:
        """Whether a bridge on the intermediate circuit feeds it."""
        return self.feed in (Feed.H_BRIDGE, Feed.THREE_PHASE)

    @property
    def chambers_at(self) -> int:
        """Where the pressures of its two chambers stand among its states; -1: it has none."""
        return self.states.index("pressure_a") if "pressure_a" in self.states else -1


def stated_constant(motor: Any) -> tuple[float, bool]:
    """Torque constant of a motor [N m/A], and whether it is stated."""
    K = motor.torque_constant
    return (UNIT_TORQUE_CONSTANT, False) if K is None else (K, True)
