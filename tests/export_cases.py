"""Robots whose programs are exported in tests, and the numeric engine's answers for them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from servotwin.description.load import read_description
from servotwin.dynamics.forward import NoInertiaError
from servotwin.equations.closed_programs import CLOSED_PROGRAMS
from servotwin.equations.derivation import Cut, Derivation, Numbers
from servotwin.equations.export import robot_script
from servotwin.equations.export.script import Script
from servotwin.equations.programs import PROGRAMS, Program
from servotwin.kernels.kernel_store import kernel
from servotwin.mechanism.build import build_mechanism
from servotwin.mechanism.model import Array, Mechanism
from tests.random_trees import random_mechanism

CATALOGUE = (
    "daiv-1", "daiv-1-simplified", "double-pendulum", "gsis-scara", "manutec-r3", "manutec-r3-axis", "met-two-link",
    "palletizer-4", "palletizer-4-elastic", "puma560", "sixaxis-5kg",
)  # fmt: skip
TREES = {f"tree-{seed}": (seed, n) for seed, n in ((1, 3), (5, 4), (11, 5))}

OPEN = (*CATALOGUE, *TREES)
ALL = (*OPEN, "delta")


@dataclass(frozen=True)
class Case:
    """A robot, the names of its tree joints, and a pose around which states are drawn."""

    name: str
    numbers: Numbers
    joints: tuple[str, ...]
    center: Array
    frame: str
    rotors: bool

    @property
    def functions(self) -> tuple[str, ...]:
        """Every program that this robot has."""
        if self.numbers.cut is not None:
            return ("fkine", "fkine_all", *(name.removeprefix("closed_") for name in CLOSED_PROGRAMS))
        return tuple(kind for kind in PROGRAMS if kind != "accel" or _has_accel(self.name))

    def build(self, kind: str, *, drives: bool = False) -> Program:
        """The program behind a function, on a graph of its own."""
        make, options = self._program(kind, drives)
        table = self.numbers.table(
            energy=kind == "energy", drives="drives" in options, frame=options.get("frame")
        )
        return make(Derivation(self.numbers, table), **options)

    def _program(self, kind: str, drives: bool) -> tuple[Callable[..., Program], dict]:
        make = PROGRAMS.get(kind)
        if self.numbers.cut is not None:
            make = CLOSED_PROGRAMS.get(f"closed_{kind}", make)
        accepted = inspect.signature(make).parameters
        options = {"frame": self.frame} if "frame" in accepted else {}
        if drives and "drives" in accepted:
            options["drives"] = True
        return make, options

    def engine(self, kind: str, arguments: Sequence[Array], *, drives: bool = False) -> Array:
        """The compiled kernel's answer."""
        make, options = self._program(kind, drives)
        return kernel(make.__name__, self.numbers, **options).call(*arguments)

    def script(self, functions: Sequence[str] | None = None, **options) -> Script:
        """The script of these functions."""
        return robot_script(
            self.numbers,
            functions or self.functions,
            name=self.name,
            joints=self.joints,
            frame=self.frame,
            **options,
        )

    def arguments(self, shapes: Sequence[tuple[int, ...]], count: int = 3) -> list[Array]:
        """Random arrays (count, *shape); the first are coordinates, near the centre."""
        rng = np.random.default_rng(7)
        out = [rng.uniform(-1.0, 1.0, (count, *shape)) for shape in shapes]
        out[0] = self.center + 0.3 * out[0]
        return out


def _case(name: str, mechanism: Mechanism) -> Case:
    cut = None
    opened = mechanism.opened if mechanism.loops else mechanism
    if mechanism.loops:
        loops = tuple((loop.kind, loop.frame_a, loop.frame_b) for loop in mechanism.loops)
        # The closures of spherical cuts are independent as long as there are as many as passive joints.
        cut = Cut(loops, tuple(range(opened.n_q - mechanism.n_q)), mechanism.n_q)
    numbers = Numbers.of(opened, cut, reflected=mechanism.rotors)
    rotors = bool(np.any(numbers.reflected))
    return Case(name, numbers, opened.tree_joint_names, opened.q_home, opened.tool, rotors)


@cache
def case(name: str) -> Case:
    """A catalogue robot or a random tree."""
    if name in TREES:
        seed, n = TREES[name]
        return _case(name, random_mechanism(np.random.default_rng(seed), n))
    return _case(name, build_mechanism(read_description(name)))


@cache
def full_script(name: str) -> Script:
    """Every function of a robot."""
    return case(name).script()


@cache
def _has_accel(name: str) -> bool:
    robot = case(name)
    try:
        robot.build("accel")
    except NoInertiaError:
        return False
    return True


def assert_close(actual: Array, expected: Array, case_name: str = "") -> None:
    """Equal up to rounding: sums are associated differently, so 1e-12 of the largest entry of an answer."""
    scale = max(float(np.abs(expected).max(initial=0.0)), 1e-3)
    np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-12 * scale, err_msg=case_name)
