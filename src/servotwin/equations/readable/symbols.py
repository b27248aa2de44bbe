"""The symbols of a closed form: coordinates, lengths, masses and their values in the robot at hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from servotwin.equations.derivation import Numbers
from servotwin.equations.readable import laurent
from servotwin.equations.readable.laurent import Poly, Rows, Vector
from servotwin.errors import UnsupportedError

AXES = "xyz"


@dataclass(frozen=True)
class Symbol:
    """A named number of the robot: what it means, its unit and its value."""

    name: str
    meaning: str
    unit: str
    value: float


@dataclass
class Symbols:
    """Places of all symbols in packed exponents: coordinates first, then lengths and cosines of the robot."""

    numbers: Numbers
    coordinates: list[str]
    general: bool = False  # keep zeros as symbols
    numeric: frozenset[str] = frozenset()  # of 'geometry', 'gravity': written as numbers
    geometry: list[Symbol] = field(default_factory=list)
    _places: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, numbers: Numbers, *, general: bool = False, numeric: frozenset[str] = frozenset()) -> Symbols:
        """Coordinates q1 .. qn of the free joints."""
        return cls(numbers, [f"q{k + 1}" for k in range(numbers.G.shape[1])], general, numeric)

    @property
    def count(self) -> int:
        """Number of fields in a packed key."""
        return len(self.coordinates) + len(self.geometry)

    def sliding(self) -> list[bool]:
        """Which coordinates are travels."""
        owner = [int(np.flatnonzero(column)[0]) for column in self.numbers.G.T]
        return [bool(self.numbers.tree.prismatic[i]) for i in owner]

    def number(self, name: str, meaning: str, unit: str, value: float) -> Poly:
        """0, 1 and -1 as they are, every other value as a symbol."""
        folds = (
            (0.0,) if unit in ("m", "m/s2") else (0.0, 1.0, -1.0)
        )  # a length of 1 m is a length all the same
        if value in folds and not (self.general and unit == "m"):
            return laurent.constant(value)
        if ("gravity" if unit == "m/s2" else "geometry") in self.numeric:
            return laurent.constant(value)
        place = self._places.get(name)
        if place is None:
            place = self._places[name] = self.count
            self.geometry.append(Symbol(name, meaning, unit, value))
        return laurent.symbol(place)

    def _turn(self, i: int, kind: str, meaning: str, c: float, s: float) -> tuple[Poly, Poly]:
        if c in (0.0, 1.0, -1.0) and s in (0.0, 1.0, -1.0):
            return laurent.constant(c), laurent.constant(s)
        cosine = self.number(f"c{kind}{i + 1}", f"cosine of the {meaning} of joint {i + 1}", "1", c)
        return cosine, self.number(f"s{kind}{i + 1}", f"sine of the {meaning} of joint {i + 1}", "1", s)

    def joint_turn(self, i: int) -> tuple[Poly, Poly]:
        """Cosine and sine of theta + q of tree joint i."""
        row = self.numbers.joint_rows[i]
        c, s = float(row[6]), float(row[7])
        if self.numbers.tree.prismatic[i]:
            return self._turn(i, "th", "turn about its axis", c, s)
        key = 0
        for j, factor in enumerate(self.numbers.G[i]):
            if factor != round(factor):
                raise UnsupportedError(
                    f"joint {i + 1} follows others by the factor {factor:g}; a closed form needs whole factors, "
                    "use the numbered form"
                )
            key += laurent.monomial(j, int(factor))
        right = {(1.0, 0.0): 1.0 + 0j, (0.0, 1.0): 1j, (-1.0, 0.0): -1.0 + 0j, (0.0, -1.0): -1j}
        offset = float(self.numbers.q0[i])
        turn = right.get((c, s))
        if turn is None or offset != 0.0:
            angle = float(self.numbers.tree.theta[i]) + offset
            c_k, s_k = self._turn(i, "th", "zero offset", float(np.cos(angle)), float(np.sin(angle)))
            cq, sq = laurent.cosine_sine(key)
            cosine = laurent.add(laurent.mul(c_k, cq), laurent.mul(s_k, sq), -1.0)
            return cosine, laurent.add(laurent.mul(s_k, cq), laurent.mul(c_k, sq))
        return laurent.cosine_sine(key, turn)

    def travel(self, i: int) -> Poly:
        """r, plus q of a sliding joint."""
        out = self.number(f"d{i + 1}", f"shift along axis {i + 1}", "m", float(self.numbers.tree.r[i]))
        if self.numbers.tree.prismatic[i]:
            out = laurent.add(out, laurent.constant(float(self.numbers.q0[i])))
            for j, factor in enumerate(self.numbers.G[i]):
                if factor:
                    out = laurent.add(out, laurent.symbol(j), complex(factor))
        return out

    def placement(self, i: int) -> tuple[Rows, Vector]:
        """Rotation and origin of body i in its parent (eq:tree-dh)."""
        cg, sg, cw, sw, ca, sa, *_ = (float(v) for v in self.numbers.joint_rows[i])
        tree = self.numbers.tree
        about = f"axis {int(tree.parent[i]) + 1}" if tree.parent[i] >= 0 else "the base"
        R = _rot_z(*self._turn(i, "g", f"turn about {about}", cg, sg))
        d = self.number(f"a{i + 1}", f"distance from {about} to axis {i + 1}", "m", float(tree.d[i]))
        b = self.number(f"b{i + 1}", f"shift along {about} to axis {i + 1}", "m", float(tree.b[i]))
        p = laurent.apply(R, (d, {}, b))
        tilt = _rot_x(*self._turn(i, "a", f"angle between axis {i + 1} and its parent's", ca, sa))
        if tree.twist[i]:
            R = laurent.times(R, _rot_z(*self._turn(i, "w", "turn before the tilt", cw, sw)))
        R = laurent.times(laurent.times(R, tilt), _rot_z(*self.joint_turn(i)))
        return R, laurent.plus(p, laurent.apply(R, ({}, {}, self.travel(i))))


def _rot_z(c: Poly, s: Poly) -> Rows:
    return ((c, laurent.scaled(s, -1), {}), (s, c, {}), ({}, {}, laurent.constant(1.0)))


def _rot_x(c: Poly, s: Poly) -> Rows:
    return ((laurent.constant(1.0), {}, {}), ({}, c, laurent.scaled(s, -1)), ({}, s, c))


def atoms(numbers: Numbers, *, general: bool) -> dict[str, Symbol]:
    """Inertial symbols of all bodies: mass, first moments, inertia about the joint origin; zeros left out."""
    out: dict[str, Symbol] = {}
    for i, row in enumerate(numbers.ungrouped):
        m, mx, my, mz, Jxx, Jxy, Jyy, Jxz, Jyz, Jzz = (float(v) for v in row)
        values = {"m": (m, "mass", "kg")}
        for axis, value in zip(AXES, (mx, my, mz), strict=True):
            values[f"m_c{axis}"] = (value, f"mass times {axis} of the mass centre", "kg m")
        tensor = {"xx": Jyy + Jzz, "yy": Jxx + Jzz, "zz": Jxx + Jyy, "xy": -Jxy, "xz": -Jxz, "yz": -Jyz}
        for entry, value in tensor.items():
            values[f"I{entry}"] = (value, f"inertia {entry} about the joint", "kg m2")
        size = max(abs(v) for v, *_ in values.values())
        for name, (value, meaning, unit) in values.items():
            if general or abs(value) > 1e-15 * size:
                out[f"{name}{i + 1}"] = Symbol(f"{name}{i + 1}", f"{meaning}, body {i + 1}", unit, value)
    return out


def free_names(names: Sequence[str]) -> dict[str, str]:
    """Symbol of every coordinate: q1 .. qn and the joint it stands for."""
    return {f"q{k + 1}": name for k, name in enumerate(names)}
