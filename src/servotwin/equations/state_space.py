r"""The complete model of a robot: arm, gears and actuators as one system x' = A(x) + B(x) u, on symbols.

State x: joint positions q, joint speeds, twist of elastic gears :math:`\delta = \theta_m - N q`, speeds of their
motors, states :math:`\xi` of the actuators. Inputs u are those of the actuators. With eq:integrated-model and
eq:gear-torsion

.. math::

    \bigl(M(q) + N_s^T \tfrac{J_m}{g} N_s\bigr)\,\ddot q &= N_s^T \tfrac1g (\tau_e - f\,\omega_m + d)
        + N_e^T \tfrac1g \tau_s - f_q\,\dot q + d_q - h(q, \dot q) \\
    \dot\delta &= \omega_m - N_e\,\dot q, \qquad J_m\,\dot\omega_m = \tau_e - f\,\omega_m + d - \tau_s  \\
    \dot\xi &= a(\xi, \theta_m, \omega_m) + b(\xi, \theta_m, \omega_m)\,u               (eq:complete-model)

(s: stiff gears, e: elastic ones). d and d_q are torques at motors and joints from outside; dry friction enters there
with a sign that is stated. The derivative of the acceleration follows from inverse dynamics
:math:`\tau = \mathrm{ID}(q, \dot q, \ddot q)`, whose graph is short:

.. math:: \frac{\partial\ddot q}{\partial z}
    = M^{-1} \Bigl(\frac{\partial Q}{\partial z} - \frac{\partial\,\mathrm{ID}}{\partial z}\Big|_{\ddot q}\Bigr)
    (eq:acceleration-derivative)

with Q the torques at the joints. In closed chains q are the actuated joints; a derivative with respect to q is then
the one along the closed manifold, :math:`\partial/\partial q = T^T \partial/\partial x` (eq:closed).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from servotwin.drives.kind import StateEquations, SupplyEquations
from servotwin.dynamics.crba import mass_matrix
from servotwin.dynamics.forward import factor, is_zero, solve
from servotwin.dynamics.vector import Scalar
from servotwin.equations.closed_chain import Closed
from servotwin.equations.derivation import Derivation
from servotwin.equations.differentiate import jacobian, pullback, pushforward, sparsity, substitute
from servotwin.equations.graph import Expr, Graph
from servotwin.equations.programs import (
    Matrix,
    Program,
    flat,
    output,
    plus_rotors,
    plus_spins,
    reduced,
    torque,
    vector,
)
from servotwin.errors import UnsupportedError


@dataclass(frozen=True)
class Shaft:
    """A motor in the complete model, at its own side (SI)."""

    name: str
    equations: StateEquations
    numbers: Mapping[str, float]  # of its equations
    ratios: tuple[float, ...]  # motor angle per joint motion
    rotor_inertia: float = 0.0
    viscous: float = 0.0
    elastic: bool = False
    stiffness: float = 0.0
    damping: float = 0.0
    loss: float = 1.0  # g: motor torque per torque that the gear passes on (eq:gear-efficiency)
    data: Any = None  # what ``equations.start`` reads
    unit: str = "rad"  # of its coordinate; m for a piston

    @property
    def effort_unit(self) -> str:
        """N*m, or N of a piston."""
        return "N*m" if self.unit == "rad" else "N"

    def table(self, j: int) -> dict[str, float]:
        """Its numbers for the table of a derivation."""
        out = {f"N{j}_{i}": ratio for i, ratio in enumerate(self.ratios)}
        out |= {f"f{j}_": self.viscous, f"ig{j}_": 1.0 / self.loss}
        if self.elastic:
            out |= {f"k{j}_": self.stiffness, f"c{j}_": self.damping, f"iJ{j}_": 1.0 / self.rotor_inertia}
        return out | {f"D{j}_{name}": value for name, value in self.numbers.items()}


@dataclass(frozen=True)
class SharedSupply:
    """What feeds several actuators and has states of its own."""

    equations: SupplyEquations
    numbers: Mapping[str, float]
    data: Any = None  # what ``equations.start`` reads

    def table(self) -> dict[str, float]:
        """Its numbers for the table of a derivation."""
        return {f"supply_{name}": value for name, value in self.numbers.items()}


class SymbolFunctions:
    """The functions of ``drives.kind.Functions`` on nodes of a graph."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def sqrt(self, x: Scalar) -> Expr:
        """Square root."""
        return self._graph.sqrt(self._graph.lift(x))

    def exp(self, x: Scalar) -> Expr:
        """Exponential."""
        return self._graph.exp(self._graph.lift(x))

    def log(self, x: Scalar) -> Expr:
        """Natural logarithm."""
        return self._graph.log(self._graph.lift(x))

    def step(self, x: Scalar) -> Expr:
        """1 where x > 0, else 0."""
        return self._graph.step(self._graph.lift(x))


def form_of(shafts: Sequence[Shaft], supply: SharedSupply | None = None) -> str:
    """What of shafts and supply decides the graph beside the pattern of the numbers."""
    words = []
    for shaft in shafts:
        functions = shaft.equations.rates
        words.append(f"{functions.__module__}.{functions.__qualname__}{'~' if shaft.elastic else ''}")
    if supply is not None:
        words.append(f"{supply.equations.rates.__module__}+")
    return ",".join(words)


class CompleteModel:
    """Inputs, rates and derivatives of the complete model as nodes of one graph."""

    def __init__(
        self, derivation: Derivation, shafts: Sequence[Shaft], supply: SharedSupply | None = None
    ) -> None:
        self.derivation, self.shafts, self.supply = derivation, shafts, supply
        graph = derivation.graph
        self.closed = Closed.of(derivation) if derivation.numbers.cut is not None else None
        if self.closed is not None:
            self.coordinates = self.closed.x  # actuated joints, then passive ones
            self.n = self.closed.n
        else:
            self.n = derivation.numbers.G.shape[1]
            self.coordinates = derivation.inputs("q", self.n)
        elastic = sum(shaft.elastic for shaft in shafts)
        self.q = self.coordinates[: self.n]
        self.qd = derivation.inputs("qd", self.n)
        self.twist = derivation.inputs("twist", elastic)
        self.w = derivation.inputs("w", elastic)
        shared = 0 if supply is None else len(supply.equations.states)
        self.xi = derivation.inputs("xi", sum(len(s.equations.states) for s in shafts) + shared)
        self.u = derivation.inputs("u", sum(len(s.equations.inputs) for s in shafts))
        self.d = derivation.inputs("d", len(shafts) + self.n)
        self._zero = graph.zero

    @property
    def rest(self) -> list[Expr]:
        """The state without the positions of the joints."""
        return [*self.qd, *self.twist, *self.w, *self.xi]

    @property
    def order(self) -> int:
        """Number of states."""
        return self.n + len(self.rest)

    # --- arm --------------------------------------------------------------------------------------
    @cached_property
    def _chain(self):  # type: ignore[no-untyped-def]
        return self.derivation.chain(self.derivation.expand(self.coordinates, offset=True))

    def _inverse_dynamics(self, qdd: Sequence[Scalar]) -> list[Scalar]:
        """Torques at the joints for accelerations, rotors behind stiff gears included."""
        if self.closed is not None:
            tau = self.closed.torque(self.qd, qdd, spins=True)
        else:
            tau = torque(self.derivation, self._chain, self.qd, qdd, spins=True)
        n = range(self.n)
        rotors = [_sum(self.derivation.number(f"Jr{i}_{j}") * qdd[j] for j in n) for i in n]
        return [a + b for a, b in zip(tau, rotors, strict=True)]

    @cached_property
    def _factors(self) -> tuple[Matrix, list[Scalar]]:
        """L and 1/D of the mass matrix with the rotors behind stiff gears."""
        if self.closed is not None:
            return factor(self.closed.mass(drives=True))
        M = reduced(self.derivation, mass_matrix(self._chain))
        return factor(plus_rotors(self.derivation, plus_spins(self.derivation, self._chain, M)))

    # --- rates ------------------------------------------------------------------------------------
    @cached_property
    def _driven(self) -> tuple[list[Scalar], list[Scalar], list[Scalar], list[Scalar]]:
        """Torques at the joints, and the rates of twists, motor speeds and actuator states (eq:complete-model)."""
        number, graph = self.derivation.number, self.derivation.graph
        n, m = range(self.n), len(self.shafts)
        Q = [self.d[m + i] - number(f"fq{i}_") * self.qd[i] for i in n]
        twists: list[Scalar] = []
        speeds: list[Scalar] = []
        states: list[Scalar] = []
        at_x = at_u = 0
        drawn: Scalar = 0.0
        functions = SymbolFunctions(graph)
        for j, shaft in enumerate(self.shafts):
            N = [number(f"N{j}_{i}") for i in n]
            theta = _sum(N[i] * self.q[i] for i in n)
            w = w_l = _sum(N[i] * self.qd[i] for i in n)
            e = len(twists)
            if shaft.elastic:
                theta, w = theta + self.twist[e], self.w[e]
            own, given = len(shaft.equations.states), len(shaft.equations.inputs)
            p = {name: number(f"D{j}_{name}") for name in shaft.numbers} | self._shared
            arguments = (
                self.xi[at_x : at_x + own], self.u[at_u : at_u + given], graph.lift(theta), graph.lift(w), p, functions,
            )  # fmt: skip
            rates, effort = shaft.equations.rates(*arguments)
            if self.supply is not None and shaft.equations.draws is not None:
                drawn = drawn + shaft.equations.draws(*arguments)
            states += rates
            at_x, at_u = at_x + own, at_u + given
            passed = net = effort - number(f"f{j}_") * w + self.d[j]
            if shaft.elastic:
                rate = w - w_l
                passed = number(f"k{j}_") * self.twist[e] + number(f"c{j}_") * rate  # eq:gear-torsion
                twists.append(rate)
                speeds.append(number(f"iJ{j}_") * (net - passed))
            for i in n:
                if not is_zero(N[i]):
                    Q[i] = Q[i] + N[i] * (number(f"ig{j}_") * passed)
        if self.supply is not None:
            p = {name: number(f"supply_{name}") for name in self.supply.numbers}
            states += self.supply.equations.rates(self.xi[at_x:], drawn, p, functions)
        return Q, twists, speeds, states

    @property
    def _shared(self) -> dict[str, Scalar]:
        """The state of the supply under the name that actuators know it by."""
        return {} if self.supply is None else {self.supply.equations.name: self.xi[-1]}

    @cached_property
    def qdd(self) -> list[Expr]:
        """Accelerations of the joints."""
        rest: list[Scalar] = [0.0] * self.n
        free = [a - b for a, b in zip(self._driven[0], self._inverse_dynamics(rest), strict=True)]
        return [self.derivation.graph.lift(a) for a in solve(*self._factors, free)]

    @cached_property
    def rates(self) -> list[Expr]:
        """x'."""
        _, twists, speeds, states = self._driven
        lift = self.derivation.graph.lift
        return [*self.qd, *self.qdd, *(lift(value) for value in (*twists, *speeds, *states))]

    # --- derivatives ------------------------------------------------------------------------------
    def _by_state(self, outputs: Sequence[Expr]) -> list[list[Expr]]:
        """Derivatives of outputs with respect to the state; those to q along the closed manifold."""
        if self.closed is None:
            return jacobian(outputs, [*self.q, *self.rest]).dense()
        lift = self.derivation.graph.lift
        columns = [
            pushforward(outputs, self.coordinates, [lift(row[j]) for row in self.closed.T])
            for j in range(self.n)
        ]
        other = jacobian(outputs, self.rest).dense()
        return [[*(c[i] for c in columns), *row] for i, row in enumerate(other)]

    @cached_property
    def _accelerations(self) -> tuple[list[list[Expr]], list[list[Expr]]]:
        """d qdd by the state, and by inputs and torques from outside (eq:acceleration-derivative)."""
        lift = self.derivation.graph.lift
        at = self.derivation.inputs("qdd", self.n)
        inverse = [lift(value) for value in self._inverse_dynamics(at)]
        Q = [lift(value) for value in self._driven[0]]
        by_state = self._by_state(inverse)
        moved = substitute(flat(by_state), dict(zip(at, self.qdd, strict=True)))
        width = self.order
        pull = self._by_state(Q)
        out = [[pull[i][k] - moved[width * i + k] for k in range(width)] for i in range(self.n)]
        driven = jacobian(Q, [*self.u, *self.d]).dense()
        return self._solved(out), self._solved(driven)

    def _solved(self, rows: Sequence[Sequence[Expr]]) -> list[list[Expr]]:
        """M^-1 times a matrix."""
        lift = self.derivation.graph.lift
        columns = [solve(*self._factors, list(column)) for column in zip(*rows, strict=True)]
        return [[lift(value) for value in row] for row in zip(*columns, strict=True)]

    @cached_property
    def by_state(self) -> list[list[Expr]]:
        """d x'/d x."""
        graph = self.derivation.graph
        top = [
            [graph.one if k == self.n + i else graph.zero for k in range(self.order)] for i in range(self.n)
        ]
        return [*top, *self._accelerations[0], *self._by_state(self.rates[2 * self.n :])]

    @cached_property
    def by_input(self) -> list[list[Expr]]:
        """d x'/d (u, d)."""
        width = len(self.u) + len(self.d)
        top = [[self._zero] * width for _ in range(self.n)]
        others = self.rates[2 * self.n :]
        rest = jacobian(others, [*self.u, *self.d]).dense() if others else []
        table = [*top, *self._accelerations[1], *rest]
        if any(sparsity(flat(table), self.u)):
            raise UnsupportedError(
                "an actuator is not affine in its inputs, so there is no x' = A(x) + B(x) u"
            )
        return table

    def second(self, weights: Sequence[Expr]) -> list[list[Expr]]:
        """Weighted Hessian of x' over (x, u) (eq:weighted-hessian)."""
        width, lift = self.order, self.derivation.graph.lift
        lower = [*self.coordinates, *self.rest, *self.u]
        slope = self._projected(pullback(self.rates, weights, lower))
        table = jacobian(slope, lower, mode="forward").dense()
        if self.closed is not None:
            table = [self._projected(row) for row in table]
        count = width + len(self.u)
        return [[lift(table[max(i, j)][min(i, j)]) for j in range(count)] for i in range(count)]

    def _projected(self, row: Sequence[Expr]) -> list[Expr]:
        """A row of derivatives over all coordinates, along the closed manifold."""
        if self.closed is None:
            return list(row)
        n_x, lift = len(self.coordinates), self.derivation.graph.lift
        T = self.closed.T
        along = [lift(_sum(row[i] * T[i][j] for i in range(n_x))) for j in range(self.n)]
        return [*along, *row[n_x:]]

    # --- programs ---------------------------------------------------------------------------------
    @property
    def arguments(self) -> list[list[Expr]]:
        """The blocks of a kernel's inputs: positions (of a closed chain all of them), the rest of the state, u, d."""
        return [self.coordinates, self.rest, self.u, self.d]

    def program(
        self, entries: Sequence[tuple[Sequence[Scalar], tuple[int, ...]]], *more: list[Expr]
    ) -> Program:
        """A program of the arguments with these results."""
        inputs = [vector(block) for block in (*self.arguments, *more)]
        results = [output(self.derivation, values, shape) for values, shape in entries]
        return Program(self.derivation, inputs, results)


def _sum(terms: object) -> Scalar:
    total: Scalar = 0.0
    for term in terms:  # type: ignore[attr-defined]
        total = total + term
    return total


def rates_program(model: CompleteModel) -> Program:
    """(q, rest, u, d) -> x'."""
    return model.program([(model.rates, (model.order,))])


def affine_program(model: CompleteModel) -> Program:
    """(q, rest, u, d) -> A(x), B(x), E(x) with x' = A + B u + E d; u and d have no effect on them."""
    graph = model.derivation.graph
    off = dict.fromkeys((*model.u, *model.d), graph.zero)
    drift = substitute(model.rates, off)
    table = model.by_input
    k, n = len(model.u), model.order
    return model.program(
        [
            (drift, (n,)),
            ([value for row in table for value in row[:k]], (n, k)),
            ([value for row in table for value in row[k:]], (n, len(model.d))),
        ]
    )


def linear_program(model: CompleteModel) -> Program:
    """(q, rest, u, d) -> x', dx'/dx, dx'/du, dx'/dd."""
    k, n, table = len(model.u), model.order, model.by_input
    return model.program(
        [
            (model.rates, (n,)),
            (flat(model.by_state), (n, n)),
            ([value for row in table for value in row[:k]], (n, k)),
            ([value for row in table for value in row[k:]], (n, len(model.d))),
        ]
    )


def hessian_program(model: CompleteModel) -> Program:
    """(q, rest, u, d, weights) -> weighted Hessian of x' over (x, u)."""
    weights = model.derivation.inputs("lam", model.order)
    count = model.order + len(model.u)
    return model.program([(flat(model.second(weights)), (count, count))], weights)


STATE_PROGRAMS: dict[str, Callable[[CompleteModel], Program]] = {
    "rates": rates_program,
    "affine": affine_program,
    "linear": linear_program,
    "hessian": hessian_program,
}
