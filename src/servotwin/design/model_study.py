"""A robot's complete model about one point: its modes, what motors reach and encoders show, its transfer functions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from servotwin.description.schema import RobotDescription
from servotwin.errors import InputError
from servotwin.linear.modes import Mode, modes
from servotwin.linear.rank import Reach, controllability, observability
from servotwin.linear.response import Complex, Transfer, frequency_response, transfer
from servotwin.linear.sampling import sampled
from servotwin.linear.system import LinearSystem
from servotwin.mechanism.model import Array
from servotwin.presentation import Plots, Reports, ShowsItself, Tabulates
from servotwin.robot.complete_model import Motors, Power, state_space
from servotwin.robot.robot import Robot
from servotwin.robot.state_space import Affine, Directions, OperatingPoint, Outputs, StateSpace

DECADES = (-1.0, 4.5)  # of frequency responses, log10 of rad/s
POINTS = 400
LOW_DAMPING = 0.1


@dataclass(frozen=True)
class ModelStudy(Plots, Tabulates, Reports, ShowsItself):
    """The model, the point, and the linear system there."""

    model: StateSpace
    point: OperatingPoint
    linear: LinearSystem
    directions: Directions = None
    period: float | None = None  # of a hold whose sampled system is wanted as well [s]

    @cached_property
    def notes(self) -> list[str]:
        """What the model leaves out, and what is to be said about the point."""
        return [*self.model.notes, *self.model.notes_at(self.point.x)]

    @cached_property
    def affine(self) -> Affine:
        """A(x), B(x), E(x) at the point."""
        return self.model.affine(self.point.x, self.directions)

    @cached_property
    def rates(self) -> Array:
        """x' at the point."""
        return self.model.rates(self.point.x, self.point.u, self.directions)

    @cached_property
    def sizes(self) -> Array:
        """Sizes of the terms that add up to x', to tell a rate from what rounding leaves of one."""
        A, B = np.abs(self.linear.A), np.abs(self.linear.B)
        return np.asarray(A @ np.abs(self.point.x) + B @ np.abs(self.point.u) + np.abs(self.affine.A))

    @cached_property
    def still(self) -> bool:
        """Whether nothing but the positions moves at the point."""
        n = self.model.robot.n
        return bool((np.abs(self.rates[n:]) <= 1e-7 * self.sizes[n:] + 1e-6).all())

    @cached_property
    def modes(self) -> list[Mode]:
        """Modes of the linear system, slowest first."""
        return modes(self.linear)

    @cached_property
    def controllable(self) -> Reach:
        """What the inputs reach."""
        return controllability(self.linear)

    @cached_property
    def observable(self) -> Reach:
        """What the outputs show."""
        return observability(self.linear)

    @cached_property
    def sampled(self) -> LinearSystem | None:
        """The system behind a hold of the period that was asked for."""
        return None if self.period is None else sampled(self.linear, self.period)

    @property
    def drives(self) -> list[int]:
        """For every motor the place of the input that gives torque."""
        places, at = [], 0
        for shaft in self.model.shafts:
            count = len(shaft.equations.inputs)
            places.append(at + count - 1)
            at += count
        return places

    def channel(self, motor: int) -> tuple[int, int]:
        """Output and input that belong to a motor: its own where there is one output for each, else the first."""
        own = len(self.linear.outputs) == len(self.model.shafts)
        return (motor if own else 0), self.drives[motor]

    def transfer(self, motor: int) -> Transfer:
        """Transfer function of a motor's channel."""
        return transfer(self.linear, *self.channel(motor))

    def response(self) -> tuple[Array, Complex]:
        """Frequencies [rad/s] and the response of all outputs to all inputs."""
        w = np.logspace(*DECADES, POINTS)
        return w, frequency_response(self.linear, w)

    def main_states(self, mode: Mode, most: int = 3) -> list[tuple[str, float]]:
        """The states that take most part in a mode, and their shares."""
        order = np.argsort(mode.participation)[::-1][:most]
        return [(self.linear.states[i].name, float(mode.participation[i])) for i in order]

    def data(self) -> dict[str, Any]:
        """Everything as plain data in SI units."""
        return {
            "robot": self.model.robot.name,
            "notes": self.notes,
            "still": self.still,
            "drift": self.affine.A.tolist(),
            "gain": self.affine.B.tolist(),
            "linear": self.linear.data(),
            "sampled": None if self.sampled is None else self.sampled.data(),
            "modes": [self._mode_data(mode) for mode in self.modes],
            "controllable": _reach_data(self.controllable),
            "observable": _reach_data(self.observable),
            "transfer_functions": [self._transfer_data(j) for j in range(len(self.model.shafts))],
        }

    def _mode_data(self, mode: Mode) -> dict[str, Any]:
        infinite = not np.isfinite(mode.time_constant)
        return {
            "pole_1_per_s": [mode.pole.real, mode.pole.imag],
            "frequency_rad_per_s": mode.frequency,
            "damping": mode.damping,
            "time_constant_s": None if infinite else mode.time_constant,
            "shape": [[float(v.real), float(v.imag)] for v in mode.shape],
            "participation": mode.participation.tolist(),
        }

    def _transfer_data(self, j: int) -> dict[str, Any]:
        output, source = self.channel(j)
        G = self.transfer(j)
        return {
            "from": self.linear.inputs[source].name,
            "to": self.linear.outputs[output].name,
            "zeros_1_per_s": [[z.real, z.imag] for z in G.zeros],
            "poles_1_per_s": [[p.real, p.imag] for p in G.poles],
            "gain": G.gain,
        }


def _reach_data(reach: Reach) -> dict[str, Any]:
    return {
        "rank": reach.rank,
        "order": reach.order,
        "margins": [
            {"pole_1_per_s": [pole.real, pole.imag], "margin": value} for pole, value in reach.margins
        ],
    }


def study_model(
    robot: str | Path | RobotDescription | Robot | StateSpace,
    q: ArrayLike | None = None,
    qd: ArrayLike | None = None,
    *,
    x: ArrayLike | None = None,
    u: ArrayLike | None = None,
    outputs: Outputs = "encoders",
    friction: bool = False,
    motors: Motors = "described",
    gears: Power = "lossless",
    period: float | None = None,
) -> ModelStudy:
    """The complete model of a robot about a point, analysed.

    The point: a state ``x`` (and inputs ``u``, default zero), or else the operating point that holds the arm at ``q``
    or carries it through q at ``qd`` (defaults: home, at rest). ``friction`` counts dry friction of what moves, in the
    direction in which it moves. ``period`` [s] adds the system behind a hold.

    >>> import servotwin as st
    >>> study = st.study_model("manutec-r3-axis")
    >>> study.controllable.complete, study.observable.complete
    (True, True)
    """
    model = robot if isinstance(robot, StateSpace) else state_space(robot, motors=motors, gears=gears)
    directions: Directions = "sliding" if friction else None
    if x is None:
        if u is not None:
            raise InputError("belongs to a state; without one the inputs follow from q", field="u")
        point = model.operating_point(q, qd, directions)
    else:
        if q is not None or qd is not None:
            raise InputError("is part of the state x; expected one of the two", field="q")
        state = np.asarray(x, dtype=np.float64)
        inputs = np.zeros(len(model.inputs)) if u is None else np.asarray(u, dtype=np.float64)
        point = OperatingPoint(state, inputs)
    return ModelStudy(model, point, model.linear(point, outputs, directions), directions, period)
