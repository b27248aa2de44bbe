r"""The motors' own equations, as symbols: DC (Lee 1989, eq 8-10), DC without inductance, synchronous, ideal.

They are those that the simulation integrates: eq:dc-motor, eq:dc-reduced and eq:pmsm of docs/theory/motors.md.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from servotwin.equations.readable.dialects import Dialect
from servotwin.mechanism.model import Rotors

Equation = tuple[str, str]
WORDS = {
    "dc-reduced": "dc-reduced: the inductance counts zero, so the current follows the voltage at once and is no state.",
    "pmsm": (
        "pmsm: i_d, i_q, v_d, v_q are amplitudes in axes that turn with the rotor, d along the magnets; p pole pairs, "
        "psi the flux of the magnets, psi = K_t / (3/2 p)."
    ),
    "ideal": "ideal: tau_e is the torque that the driver asks for; there is no current.",
    "hydraulic": "hydraulic: tau_e is what the actuator gives; its own equations are not written here.",
}


class MotorEquations:
    """Mechanical and electrical equations of the motors of one robot in one dialect.

    What loads the motors of a closed chain are tau_a, the torques of its actuated joints, not those of the tree.
    """

    def __init__(self, dialect: Dialect, rotors: Rotors, *, closed: bool = False) -> None:
        self.d, self.rotors, self.closed = dialect, rotors, closed
        self.torque = "tau_a" if closed else "tau"

    def words(self, *, drives: bool) -> list[str]:
        """What the symbols of these motors mean."""
        N = self.rotors.N
        rest = "without the parts with J_m, which stand here" if drives else "as above"
        out = [
            f"theta_m = N q; joint torques {self.torque} {rest}; tau_load is the motor's row of N^-T {self.torque}."
        ]
        if self.closed:
            out[0] = (
                "q are the actuated joints alone, tau_a the torques there with the loops closed (elimination of the "
                f"multipliers), not those of the opened tree. {out[0]}"
            )
        moving = [k for k in range(len(self.rotors.names)) if np.any(N[k])]
        kinds = list(dict.fromkeys(self.rotors.kind(k) for k in moving))
        if N.shape[0] == N.shape[1] == np.linalg.matrix_rank(N):
            torque = "K_t I_a" if set(kinds) <= {"dc", "dc-reduced"} else "tau_e"
            inertia, bias = "D", "(H[qd qd] + G)"
            if (
                self.closed
            ):  # D, H, G are those of the opened tree, and all its joints accelerate with dT/dt too
                inertia, bias = (
                    "T^T D T",
                    "T^T (D dT/dt N^-1 w_m + H[qd qd] + G), rates of all joints T N^-1 w_m",
                )
            out.append(
                f"With D_e = diag(J_m) + N^-T {inertia} N^-1 and T_d = N^-T {bias}: "
                f"dw_m/dt = D_e^-1 ({torque} - friction - T_d)."
            )
            if torque == "tau_e" and {"dc", "dc-reduced"} & set(kinds):
                out.append("tau_e of a dc motor is K_t I_a.")
        if self.rotors.spinning:
            names = ", ".join(self.rotors.names[k] for k in self.rotors.spinning)
            out.append(
                f"The rotors of {names} spin on moving links: to the torque at their shafts comes J_m a . dw_c/dt, and "
                "the links receive J_m (dw_m/dt a + w_m w_c x a), with a the rotor's axis and w_c the link's angular "
                "velocity. The mass matrix with the drives counts both."
            )
        return out + [WORDS[kind] for kind in kinds if kind != "dc"]

    def of(self, k: int) -> list[Equation]:
        """Torque balance at the shaft, equations of the winding, and the shaft's angle."""
        d, i, kind = self.d, k + 1, self.rotors.kind(k)
        torque = d.symbol(f"tau_e{i}")
        if kind in ("dc", "dc-reduced"):
            torque = d.product([d.symbol(f"K_t{i}"), d.symbol(f"I_a{i}")])
        winding = {"dc": self._dc, "dc-reduced": self._dc_reduced, "pmsm": self._pmsm}.get(kind)
        electric = [] if winding is None else winding(i)
        return [(torque, self._shaft(k)), *electric, (d.rate(f"th{i}", 1), d.symbol(f"w{i}"))]

    def values(self, k: int) -> list[str]:
        """Inertia, friction and ratios of motor k for the table."""
        rotors = self.rotors
        friction = [f"{values[k]:.6g}" if values.size else "" for values in (rotors.f_m, rotors.tau_c)]
        return [f"{rotors.J_m[k]:.6g}", *friction, ", ".join(f"{ratio:.6g}" for ratio in rotors.N[k])]

    def _shaft(self, k: int) -> str:
        """J_m dw/dt + friction + load."""
        d, i, rotors = self.d, k + 1, self.rotors
        speed = d.symbol(f"w{i}")
        terms = []
        if rotors.J_m[k]:
            terms.append(d.product([d.symbol(f"J_m{i}"), d.rate(f"w{i}", 1)]))
        if rotors.f_m.size and rotors.f_m[k]:
            terms.append(d.product([d.symbol(f"f_m{i}"), speed]))
        if rotors.tau_c.size and rotors.tau_c[k]:
            terms.append(d.product([d.symbol(f"tau_c{i}"), d.function("sign", speed)]))
        joints = np.flatnonzero(rotors.N[k])
        if len(joints) == 1 and np.count_nonzero(rotors.N[:, joints[0]]) == 1:
            load = d.power(d.symbol(f"n{i}"), -1)
            terms.append(d.product([load, d.symbol(f"{self.torque}{joints[0] + 1}")]))
        else:
            terms.append(d.symbol(f"tau_load{i}"))
        return d.sum([(False, term) for term in terms])

    def _dc(self, i: int) -> list[Equation]:
        """eq:dc-motor."""
        names = (f"V_a{i}", f"K_b{i} w{i}", f"R_a{i} I_a{i}")
        return [(self.d.rate(f"I_a{i}", 1), self._over(f"L_a{i}", names, "+--"))]

    def _dc_reduced(self, i: int) -> list[Equation]:
        """eq:dc-reduced."""
        return [(self.d.symbol(f"I_a{i}"), self._over(f"R_a{i}", (f"V_a{i}", f"K_b{i} w{i}"), "+-"))]

    def _pmsm(self, i: int) -> list[Equation]:
        """eq:pmsm."""
        d = self.d
        along = self._over(f"L_d{i}", (f"v_d{i}", f"R_a{i} i_d{i}", f"p{i} w{i} L_q{i} i_q{i}"), "+-+")
        against = (f"v_q{i}", f"R_a{i} i_q{i}", f"p{i} w{i} L_d{i} i_d{i}", f"p{i} w{i} psi{i}")
        across = self._over(f"L_q{i}", against, "+---")
        pull = (f"psi{i} i_q{i}", f"L_d{i} i_d{i} i_q{i}", f"L_q{i} i_d{i} i_q{i}")
        torque = [d.number(1.5), d.symbol(f"p{i}"), d.bracket(self._signed(pull, "++-"))]
        return [
            (d.symbol(f"tau_e{i}"), d.product(torque)),
            (d.rate(f"i_d{i}", 1), along),
            (d.rate(f"i_q{i}", 1), across),
        ]

    def _over(self, divisor: str, products: Sequence[str], signs: str) -> str:
        """(a - b c ...) / divisor; products are names with blanks between."""
        inner = self._signed(products, signs)
        return self.d.product([self.d.power(self.d.symbol(divisor), -1), self.d.bracket(inner)])

    def _signed(self, products: Sequence[str], signs: str) -> str:
        written = [self.d.product([self.d.symbol(name) for name in p.split()]) for p in products]
        return self.d.sum([(sign == "-", text) for sign, text in zip(signs, written, strict=True)])
