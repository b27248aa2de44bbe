"""A robot's equations as a document: sections of equations and tables, independent of how it is written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from servotwin.equations.readable import kinematics
from servotwin.equations.readable.dialects import Dialect
from servotwin.equations.readable.laurent import Poly
from servotwin.equations.readable.model import Equations
from servotwin.equations.readable.motors import MotorEquations
from servotwin.equations.readable.regressor import BaseParameters
from servotwin.equations.readable.writer import Writer
from servotwin.mechanism.model import Rotors

FormName = Literal["MCg", "ABCG", "DHG"]
LONG = 400  # terms beyond which a section is left to the numbered form


@dataclass
class Section:
    """A heading, sentences, equations (left, right) and a table."""

    heading: str
    text: list[str] = field(default_factory=list)
    equations: list[tuple[str, str]] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)


@dataclass(frozen=True)
class About:
    """What the document says beside the equations."""

    title: str
    joints: tuple[str, ...]
    units: tuple[str, ...]
    tool: str
    base: BaseParameters
    rotors: Rotors | None = None  # N over the joints with motors, which come first
    independent: tuple[int, ...] = ()  # closures that the others do not imply
    actuated: int = 0  # closed chains: how many of the joints have motors; they come first
    drives: bool = False  # the torques already count the rotors
    notes: tuple[str, ...] = ()
    operations: tuple[tuple[str, int, int, int], ...] = ()  # function, mul, add, other


class Document:
    """Builds the sections in one dialect."""

    def __init__(self, equations: Equations, about: About, dialect: Dialect, form: FormName = "MCg") -> None:
        self.e, self.about, self.d, self.form = equations, about, dialect, form
        self.w = Writer(equations, dialect)

    def sections(self) -> list[Section]:
        """All sections that apply to the robot."""
        kinematic = [self.tool_pose(), self.tool_jacobian()]  # first: they may introduce further symbols
        closures = self.closures()
        parts = [self.coordinates(), self.symbols(), self.constants(), *kinematic, self.energies()]
        parts += {"MCg": self.mass_coriolis, "ABCG": self.song, "DHG": self.lee}[self.form]()
        parts += [self.torques(), self.base()]
        if closures.rows:
            parts += [closures, self.closure_jacobian(), self.elimination()]
        parts += [self.motor_space()] if self.about.rotors else []
        parts += [self.counts()] if self.about.operations else []
        return [part for part in parts if part.equations or part.rows or part.text]

    # --- what the symbols are -----------------------------------------------------------------------
    def coordinates(self) -> Section:
        """Coordinates and the placements of the joints."""
        out = Section("Coordinates", columns=["symbol", "joint", "unit"])
        named = zip(self.e.coordinates, self.about.joints, self.about.units, strict=True)
        out.rows = [[self.d.symbol(symbol), joint, unit] for symbol, joint, unit in named]
        out.text = list(self.about.notes)
        return out

    def symbols(self) -> Section:
        """Every symbol with meaning, unit and value."""
        out = Section("Symbols", columns=["symbol", "meaning", "unit", "value"])
        used = self._used()
        for symbol in [*self.e.symbols.geometry, *self.e.inertial.values()]:
            if symbol.name in used or symbol in self.e.symbols.geometry:
                name = self.d.symbol(symbol.name)
                out.rows.append([name, symbol.meaning, symbol.unit, f"{symbol.value:.9g}"])
        return out

    def _used(self) -> set[str]:
        names = {atom for form in self.e.constants.forms.values() for _, atom in form}
        entries = [entry for row in self.e.M for entry in row] + [*self.e.gravity, self.e.V]
        return names | {name for entry in entries for name, _ in entry}

    def constants(self) -> Section:
        """Definitions of the named constants."""
        out = Section("Constants", columns=["constant", "value"])
        for name, form in self.e.constants.forms.items():
            out.equations.append((self.d.symbol(name), self.w.form(form)))
            out.rows.append([self.d.symbol(name), f"{self.e.constants.value(name):.9g}"])
        return out

    # --- kinematics ---------------------------------------------------------------------------------
    def _polys(self, out: Section, named: Iterable[tuple[str, Poly]]) -> Section:
        listed = [(name, self.e.reader.plain(poly)) for name, poly in named]
        if sum(len(form) for _, parts in listed for form in parts.values()) > LONG:
            out.text.append("Too long to read; see the numbered form.")
            return out
        out.equations = [(name, self.w.plain(parts)) for name, parts in listed]
        return out

    def tool_pose(self) -> Section:
        """Entries of the transform from base to tool."""
        R, p = kinematics.frame_pose(self.e, self.about.tool, "t")
        named = [(f"T{i + 1}{j + 1}", R[i][j]) for i in range(3) for j in range(3)]
        named += [(f"T{i + 1}4", p[i]) for i in range(3)]
        return self._polys(Section("Pose of the tool"), [(self.d.symbol(n), poly) for n, poly in named])

    def tool_jacobian(self) -> Section:
        """Entries of the Jacobian."""
        J = kinematics.jacobian(self.e, self.about.tool, "t")
        places = [(i, j) for i, row in enumerate(J) for j, entry in enumerate(row) if entry]
        named = [(self.d.symbol(f"J{i + 1}{j + 1}"), J[i][j]) for i, j in places]
        rows = "Rows 1-3: velocity of the origin; rows 4-6: angular velocity."
        return self._polys(Section("Jacobian of the tool", [rows]), named)

    def closures(self) -> Section:
        """Loop closures."""
        out = Section("Loop closures", ["Each expression is zero when the loop is closed."])
        named = kinematics.closures(self.e)
        out = self._polys(out, [(self.d.symbol(f"s{k + 1}"), poly) for k, (_, poly) in enumerate(named)])
        for k, (name, _) in enumerate(named):
            use = "independent" if k in self.about.independent else "implied by the others"
            out.rows.append([self.d.symbol(f"s{k + 1}"), name, use])
        out.columns = ["closure", "of", ""]
        return out

    def closure_jacobian(self) -> Section:
        """S = ds/dx, which the multipliers act through."""
        S = kinematics.closure_jacobian(self.e)
        places = [(k, j) for k, row in enumerate(S) for j, entry in enumerate(row) if entry]
        named = [(self.d.symbol(f"S{k + 1}_{j + 1}"), S[k][j]) for k, j in places]
        return self._polys(
            Section("Jacobian of the closures", ["S = ds/dq; what is not listed is zero."]), named
        )

    def elimination(self) -> Section:
        """How multipliers are eliminated (Song 1995, eq 3-6), joint by joint."""
        lines = [
            "With the rows of S that belong to independent closures, split into the columns of actuated and of "
            "passive joints, "
            "and the torques of the opened tree above: passive joints carry no torque, so the multipliers solve "
            "S_passive^T lambda = tau_passive, and the actuators give tau_a = tau_active - S_active^T lambda "
            "(Song, Cho and Lee 1995, eq 3-6).",
            "The same by virtual work: tau_a = T^T tau, with T = [1; -S_passive^-1 S_active], which gives the rates of "
            "all joints from those of the actuated ones.",
        ]
        S = kinematics.closure_jacobian(self.e)
        out = Section("Elimination of the multipliers", lines)
        for j in range(self.e.n):
            tau = self.d.symbol(f"tau{j + 1}")
            acting = [k for k in self.about.independent if S[k][j]]
            forces = [
                self.d.product([self.d.symbol(f"S{k + 1}_{j + 1}"), self.d.symbol(f"lambda{k + 1}")])
                for k in acting
            ]
            if j < self.about.actuated:
                terms = [(False, tau), *((True, force) for force in forces)]
                out.equations.append((self.d.symbol(f"tau_a{j + 1}"), self.d.sum(terms)))
            else:
                out.equations.append((self.d.sum([(False, force) for force in forces]), tau))
        return out

    # --- dynamics -----------------------------------------------------------------------------------
    def energies(self) -> Section:
        """Kinetic and potential energy."""
        names = (self.d.symbol("T"), self.d.symbol("V"))
        pairs = list(zip(names, (self.w.kinetic_energy(), self.w.potential_energy()), strict=True))
        return Section("Energies", equations=pairs if self._short() else [])

    def _short(self) -> bool:
        return sum(len(entry) for row in self.e.M for entry in row) <= LONG

    def _indexed(self, letter: str, *at: int) -> str:
        """A symbol with indices from 1; marked off where they have two digits, so that 1,11 is not 11,1."""
        return self.d.symbol(letter + ("" if self.e.n < 10 else "_").join(str(i + 1) for i in at))

    def _upper(self, letter: str) -> list[tuple[str, str]]:
        n = range(self.e.n)
        return [
            (self._indexed(letter, i, j), self.w.entry(self.e.M[i][j]))
            for i in n
            for j in n
            if j >= i and self.e.M[i][j]
        ]

    def _gravity(self, letter: str) -> list[tuple[str, str]]:
        listed = [(i, entry) for i, entry in enumerate(self.e.gravity) if entry]
        return [(self.d.symbol(f"{letter}{i + 1}"), self.w.entry(entry)) for i, entry in listed]

    def mass_coriolis(self) -> list[Section]:
        """M, C, g."""
        n = range(self.e.n)
        C = [
            (self._indexed("C", i, j), self.w.coriolis_entry(i, j))
            for i in n
            for j in n
            if self.e.coriolis[i][j]
        ]
        return [
            Section("Mass matrix", ["Symmetric; entries that are not listed are zero."], self._upper("M")),
            Section("Coriolis matrix (Christoffel symbols)", [], C),
            Section("Gravity", [], self._gravity("g")),
        ]

    def song(self) -> list[Section]:
        """A, B, C, G."""
        e = self.e
        size = f"{e.n} x {len(e.pairs)}"
        B = [
            (self._indexed("B", i, c), self.w.entry(e.B[i][c]))
            for i in range(e.n)
            for c in range(len(e.pairs))
            if e.B[i][c]
        ]
        C = [
            (self._indexed("C", i, j), self.w.entry(e.C[i][j]))
            for i in range(e.n)
            for j in range(e.n)
            if e.C[i][j]
        ]
        pairs = ", ".join(f"{j + 1}{'' if e.n < 10 else '-'}{k + 1}" for j, k in e.pairs)
        return [
            Section(
                f"A ({e.n} x {e.n}, symmetric)",
                ["tau = A qdd + 2 B [qd qd] + C [qd^2] + G"],
                self._upper("A"),
            ),
            Section(f"B ({size})", [f"Columns: products of velocities {pairs}."], B),
            Section(f"C ({e.n} x {e.n}, zero diagonal)", [], C),
            Section(f"G ({e.n} x 1)", [], self._gravity("G")),
        ]

    def lee(self) -> list[Section]:
        """D, H, G."""
        n = range(self.e.n)
        H = [
            (self._indexed("H", i, j, k), self.w.entry(self.e.christoffel[i][j][k]))
            for i in n
            for j in n
            for k in n
            if self.e.christoffel[i][j][k]
        ]
        return [
            Section("D", ["tau_i = sum_j D_ij qdd_j + sum_jk H_ijk qd_j qd_k + G_i"], self._upper("D")),
            Section("H", [], H),
            Section("G", [], self._gravity("G")),
        ]

    def torques(self) -> Section:
        """The torques written out."""
        out = Section("Torques")
        if self._short():
            out.equations = [(self.d.symbol(f"tau{i + 1}"), self.w.torque(i)) for i in range(self.e.n)]
        else:
            out.text.append("Too long to read; see the numbered form.")
        friction = self._friction()
        if friction:
            out.text.append("tau_f, the friction of the motors seen at the joints, is added to tau.")
            out.equations += friction
        return out

    def _friction(self) -> list[tuple[str, str]]:
        """N^T (f_m w_m + tau_c sign w_m) at the joints that one motor moves alone; only with the drives."""
        rotors = self.about.rotors
        if rotors is None or not self.about.drives or not rotors.f_m.size:
            return []
        out = []
        for k in range(len(rotors.names)):
            joints = np.flatnonzero(rotors.N[k])
            if len(joints) != 1 or not (rotors.f_m[k] or rotors.tau_c[k]):
                continue
            speed = self.d.rate(self.e.coordinates[joints[0]], 1)
            ratio = self.d.symbol(f"n{k + 1}")
            terms = []
            if rotors.f_m[k]:
                parts = [self.d.power(ratio, 2), self.d.symbol(f"f_m{k + 1}"), speed]
                terms.append((False, self.d.product(parts)))
            if rotors.tau_c[k]:
                sign = self.d.function("sign", speed)
                size = ratio if rotors.N[k, joints[0]] > 0 else self.d.function("abs", ratio)
                terms.append((False, self.d.product([size, self.d.symbol(f"tau_c{k + 1}"), sign])))
            out.append((self.d.symbol(f"tau_f{joints[0] + 1}"), self.d.sum(terms)))
        return out

    def base(self) -> Section:
        """Base parameters."""
        base = self.about.base
        names = ", ".join(base.names)
        out = Section("Base parameters")
        count = f"depend on {len(base.names)} combinations: {names}."
        if self.about.independent:
            out.text = [f"Over the motions that the loops allow, the torques of the actuated joints {count}"]
            out.columns = ["parameter", "sum of constants, with this robot's lengths and gravity"]
            out.rows = [[self.d.symbol(name), _sum(base.sums[name])] for name in base.names]
            return out
        out.text = [f"The torques {count}"]
        out.columns = ["constant", "in base parameters, with this robot's lengths and gravity"]
        for name, parts in base.combination.items():
            if name not in base.names:
                out.rows.append([self.d.symbol(name), _sum(parts)])
        return out

    def motor_space(self) -> Section:
        """The integrated model of motors and arm, currents as states."""
        rotors = self.about.rotors
        assert rotors is not None
        out = Section("In motor space, with currents as states (Lee 1989, eq 11-22)")
        equations = MotorEquations(self.d, rotors, closed=bool(self.about.actuated))
        out.text = equations.words(drives=self.about.drives)
        for k, name in enumerate(rotors.names):
            if not np.any(rotors.N[k]):
                out.text.append(f"{name} is not moved by a motor through a gear; it is left out.")
                continue
            out.equations += equations.of(k)
            out.rows.append([self.d.symbol(f"J_m{k + 1}"), name, rotors.kind(k), *equations.values(k)])
        out.columns = ["motor", "name", "kind", "J_m [kg m2]", "f_m [N m s/rad]", "tau_c [N m]", "N (row)"]
        return out

    def counts(self) -> Section:
        """Operation counts of the generated code."""
        out = Section("Operations of the generated code", columns=["function", "mul", "add", "other"])
        out.rows = [[name, str(mul), str(add), str(other)] for name, mul, add, other in self.about.operations]
        return out


def _sum(parts: Mapping[str, float]) -> str:
    """Numbers times names, added."""
    words = [name if number == 1.0 else f"{number:.9g} {name}" for name, number in parts.items()]
    return " + ".join(words) or "0"
