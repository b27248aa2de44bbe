"""What the numbers of a robot are called, mean and are measured in.

The table of a robot (``Numbers.table``) counts bodies from 0. Exports count as
people do, from ``first`` (1 unless asked otherwise), and keep the table's name
beside it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from servotwin.equations.derivation import JOINT_NUMBERS, Numbers
from servotwin.equations.export.terms import Kind, Symbol
from servotwin.mechanism.grouping import MOMENTS

OWN = "b"  # marks moments of a body by itself, before grouping: mb2 beside m2
_PLACEMENT = {
    "cg": "cosine of gamma, first turn about the carrier's z, of",
    "sg": "sine of gamma, first turn about the carrier's z, of",
    "cw": "cosine of the twist, turn about z before alpha, of",
    "sw": "sine of the twist, turn about z before alpha, of",
    "ca": "cosine of alpha, angle from the carrier's z to the axis of",
    "sa": "sine of alpha, angle from the carrier's z to the axis of",
    "ct": "cosine of theta, constant turn about the axis of",
    "st": "sine of theta, constant turn about the axis of",
    "b": "shift along the carrier's z before",
    "d": "distance from the carrier's z to the axis of",
    "r": "shift along the axis of",
    "th": "theta, constant turn about the axis of",
}
_JOINT_NAME = re.compile(rf"({'|'.join((*JOINT_NUMBERS, 'th'))})(\d+)")
_BODY_NAME = re.compile(rf"({'|'.join(sorted(MOMENTS, key=len, reverse=True))})({OWN}?)(\d+)")
_MATRIX_NAME = re.compile(r"(G|Jr|X)(\d+)_(\d+)")
_LOOP_NAME = re.compile(r"([AB])(\d+)_(\d+)_(\d+)")
# Numbers of the drives in the complete model (``equations.state_space``), by their letters: name, meaning and unit.
_DRIVE = {
    "f": ("f_m", "viscous friction of the shaft of motor", "N m s/rad"),
    "ig": ("eta_g", "transmitted per motor torque of the gear of motor", "1"),
    "k": ("k_g", "stiffness of the gear of motor", "N m/rad"),
    "c": ("c_g", "damping of the gear of motor", "N m s/rad"),
    "iJ": ("invJ", "inverse of the rotor inertia of motor", "1/(kg m2)"),
    "fq": ("f_q", "viscous friction of coordinate", "SI"),
}
_DRIVE_NAME = re.compile(r"(f|ig|k|c|iJ|fq)(\d+)_")
_RATIO_NAME = re.compile(r"N(\d+)_(\d+)")
_ACTUATOR_NAME = re.compile(r"D(\d+)_(\w+)")


GROUPS = ("geometry", "gravity", "inertia")


def group_of(table_name: str) -> str:
    """'geometry', 'gravity' or 'inertia': what a number of the table describes."""
    if table_name in ("gx", "gy", "gz"):
        return "gravity"
    return "inertia" if _BODY_NAME.fullmatch(table_name) or table_name.startswith("Jr") else "geometry"


@dataclass(frozen=True)
class Parameter:
    """A number of the robot: symbol, name in ``Numbers.table``, meaning, SI unit, value."""

    symbol: Symbol
    table_name: str
    meaning: str
    unit: str
    value: float


class Glossary:
    """Names and meanings for one robot; ``joints`` are the names of its tree joints, if known.

    ``motor_units``: of the coordinates of its motors, m for a piston; rad where there is none.
    """

    def __init__(
        self, numbers: Numbers, joints: Sequence[str] = (), first: int = 1, motor_units: Sequence[str] = ()
    ) -> None:
        self.prismatic = [bool(p) for p in numbers.tree.prismatic]
        self.joints = tuple(joints)
        self.active = numbers.cut.n if numbers.cut else None
        self.first = first
        self.pistons = {j for j, unit in enumerate(motor_units) if unit == "m"}
        self.free = [self._tree_joint(numbers, j) for j in range(numbers.G.shape[1])]
        self.units = [self._unit(i) for i in self.free]

    @staticmethod
    def _tree_joint(numbers: Numbers, j: int) -> int:
        """The tree joint that coordinate j is; the others follow it through couplings."""
        for i, row in enumerate(numbers.G):
            if row[j] == 1.0 and sum(v != 0.0 for v in row) == 1:
                return i
        return j

    def _unit(self, i: int) -> str:
        return "m" if self.prismatic[i] else "rad"

    def joint(self, i: int) -> str:
        """'joint 2 (elbow)'."""
        label = f"joint {i + self.first}"
        return f"{label} ({self.joints[i]})" if i < len(self.joints) else label

    def coordinates(self) -> list[str]:
        """'q2: joint 2 (elbow) [rad]' for every coordinate; x for those of a closed chain."""
        letters = "q" if self.active is None else "x"
        lines = []
        for j, (i, unit) in enumerate(zip(self.free, self.units, strict=True)):
            text = f"{letters}{j + self.first}: {self.joint(i)} [{unit}]"
            if self.active is not None:
                text += ", actuated" if j < self.active else ", passive"
            lines.append(text)
        return lines

    def parameter(self, table_name: str, value: float) -> Parameter:
        """Describe one entry of the table; a name of unknown kind keeps itself."""
        letters, index, meaning, unit = self._describe(table_name)
        shown = tuple(str(i + self.first) for i in index)
        separator = "_" if len(index) > 1 or letters == "q0" else ""
        head = "q0_" if letters == "q0" else letters
        name = head + separator.join(shown) if index else table_name
        return Parameter(Symbol(name, Kind.PARAMETER, letters, shown), table_name, meaning, unit, value)

    def _describe(self, name: str) -> tuple[str, tuple[int, ...], str, str]:
        if match := _JOINT_NAME.fullmatch(name):
            letters, i = match[1], int(match[2])
            unit = {"b": "m", "d": "m", "r": "m", "th": "rad"}.get(letters, "1")
            return letters, (i,), f"{_PLACEMENT[letters]} {self.joint(i)}", unit
        if match := _BODY_NAME.fullmatch(name):
            letters, own, i = match[1], match[2], int(match[3])
            what = ("mass", f"first moment {letters[1:]}", f"second moment {letters[1:]}")[len(letters) - 1]
            state = "by itself" if own else "grouped"
            text = f"{what} of the body of {self.joint(i)}, {state}"
            return letters + own, (i,), text, ("kg", "kg m", "kg m2")[len(letters) - 1]
        if name in ("gx", "gy", "gz"):
            return name, (), f"free-fall acceleration along {name[1]} of the base", "m/s2"
        if match := re.fullmatch(r"q0_(\d+)", name):
            i = int(match[1])
            return "q0", (i,), f"constant part of the coordinate of {self.joint(i)}", self._unit(i)
        return self._describe_matrix(name)

    def _describe_matrix(self, name: str) -> tuple[str, tuple[int, ...], str, str]:
        if match := _MATRIX_NAME.fullmatch(name):
            letters, i, j = match[1], int(match[2]), int(match[3])
            if letters == "X":
                return letters, (i, j), *self._pose_entry("the frame in its body", i, j)
            if letters == "G":
                unit = "1" if self._unit(i) == self.units[j] else f"{self._unit(i)}/{self.units[j]}"
                text = f"coordinate of {self.joint(i)} per coordinate {j + self.first}"
                return letters, (i, j), text, unit
            metres = (self.units[i] == "m") + (self.units[j] == "m")
            text = f"reflected rotor inertia, coordinates {i + self.first} and {j + self.first}"
            return letters, (i, j), text, ("kg m2", "kg m", "kg")[metres]
        if match := re.fullmatch(r"(SJ|Sa|SN)(\d+)(?:_(\d+))?", name):
            letters, k = match[1], int(match[2])
            index = (k,) if match[3] is None else (k, int(match[3]))
            return letters, index, *self._spin(letters, index)
        if match := _LOOP_NAME.fullmatch(name):
            letters, k, i, j = match[1], int(match[2]), int(match[3]), int(match[4])
            side = "first" if letters == "A" else "second"
            text, unit = self._pose_entry(f"the {side} side of loop {k + self.first} in its body", i, j)
            return letters, (k, i, j), text, unit
        return self._describe_drive(name)

    def _describe_drive(self, name: str) -> tuple[str, tuple[int, ...], str, str]:
        if match := _DRIVE_NAME.fullmatch(name):
            letters, meaning, unit = _DRIVE[match[1]]
            if match[1] == "f" and int(match[2]) in self.pistons:
                meaning, unit = "viscous friction of the piston of actuator", "N s/m"
            return letters, (int(match[2]),), f"{meaning} {int(match[2]) + self.first}", unit
        if match := _RATIO_NAME.fullmatch(name):
            j, i = int(match[1]), int(match[2])
            what, own = ("travel of piston", "m") if j in self.pistons else ("angle of motor", "rad")
            text = f"{what} {j + self.first} per coordinate {i + self.first}"
            return "N", (j, i), text, "1" if self.units[i] == own else f"{own}/{self.units[i]}"
        if match := _ACTUATOR_NAME.fullmatch(name):
            j = int(match[1])
            return f"{match[2]}_m", (j,), f"{match[2]} of actuator {j + self.first}", "SI"
        if match := re.fullmatch(r"supply_(\w+)", name):
            return name, (), f"{match[1]} of the supply that actuators share", "SI"
        return name, (), "number of the robot", "SI"

    def _spin(self, letters: str, index: tuple[int, ...]) -> tuple[str, str]:
        """Meaning and unit of a number of a rotor on a moving link."""
        rotor = f"rotor {index[0] + self.first} on a moving link"
        if letters == "SJ":
            return f"inertia of {rotor} about its axis", "kg m2"
        if letters == "Sa":
            return f"{'xyz'[index[1]]} of the axis of {rotor}", "1"
        unit = "1" if self.units[index[1]] == "rad" else "rad/m"
        return f"turns of {rotor} per coordinate {index[1] + self.first}", unit

    def _pose_entry(self, what: str, i: int, j: int) -> tuple[str, str]:
        if j == 3:
            return f"origin of {what}, {'xyz'[i]}", "m"
        return f"rotation of {what}, row {i + self.first}, column {j + self.first}", "1"
