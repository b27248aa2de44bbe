"""Equations of motion of a robot, for people and for other programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from servotwin.dynamics.forward import NoInertiaError
from servotwin.equations.closed_programs import CLOSED_PROGRAMS
from servotwin.equations.derivation import Cut, Derivation, Numbers
from servotwin.equations.programs import PROGRAMS
from servotwin.equations.readable import kinematics, render
from servotwin.equations.readable.dialects import DIALECTS
from servotwin.equations.readable.document import About, FormName
from servotwin.equations.readable.model import Equations, derive_tree
from servotwin.equations.readable.regressor import BaseParameters, base_parameters, on_motions, regressor
from servotwin.equations.readable.writer import Writer
from servotwin.errors import ServotwinError, ShapeError, UnsupportedError
from servotwin.mechanism.model import Array
from servotwin.presentation import Reports, ShowsItself, Tabulates
from servotwin.robot.arguments import joint_array
from servotwin.robot.regular import regular_poses
from servotwin.robot.robot import Robot

NUMERIC = ("geometry", "gravity", "inertia")
CLOSED_COUNTED = ("rne", "inertia", "gravload", "accel", "jacob0")
COUNTED = ("rne", "inertia", "coriolis", "gravload", "accel", "fkine", "jacob0")
READABLE_JOINTS = 9  # beyond, a closed form has too many terms to be read, or to be worth computing


def derive(
    robot: Robot, *, drives: bool = False, general: bool = False, numeric: Iterable[str] = ()
) -> RobotEquations:
    """Derive the equations of motion in closed form.

    ``drives`` adds the reflected inertia of the rotors; ``general`` keeps zeros of this robot as symbols, so
    that the result holds for every robot of the same topology and twist angles; ``numeric`` writes 'geometry',
    'gravity' or 'inertia' as numbers.

    >>> import servotwin as st
    >>> print(st.derive(st.load_robot("met-two-link")).entry("M", 1, 1))
    K1 + 2 K2 cos(q2)
    """
    if not isinstance(robot, Robot):
        raise ServotwinError(f"robot is {robot!r}; expected a Robot, such as load_robot('gsis-scara')")
    chosen = frozenset([numeric] if isinstance(numeric, str) else numeric)
    if not chosen <= set(NUMERIC):
        raise ServotwinError(f"numeric is {sorted(chosen)}; expected some of {', '.join(NUMERIC)}")
    mechanism = robot.mechanism
    opened = mechanism.opened
    if opened.n_tree > READABLE_JOINTS + len(mechanism.loops) * 3:
        raise UnsupportedError(
            f"{robot.name} has {opened.n_tree} joints; a closed form of that size cannot be read, "
            "export the numbered form instead"
        )
    cut = None
    if mechanism.loops:
        loops = tuple((loop.kind, loop.frame_a, loop.frame_b) for loop in mechanism.loops)
        cut = Cut(loops, (), mechanism.n_q)
    numbers = Numbers.of(opened, cut)
    rotors = opened.rotors if drives else None
    equations = derive_tree(numbers, rotors=rotors, general=general, numeric=chosen)
    return RobotEquations(robot, equations, drives)


def numbered(robot: Robot, language: str, functions: Sequence[str] | None = None, **options: Any) -> str:
    """The functions of any robot, however large, as source text with numbered intermediate variables.

    ``functions``: such as ``("rne", "inertia")``, default the usual ones; ``options``: ``drives``, ``numeric``,
    ``frame`` (see ``servotwin.equations.export``).
    """
    from servotwin.equations.export import export_robot

    options.setdefault("frame", robot.mechanism.tool)
    names = robot.mechanism.opened.tree_joint_names
    return export_robot(robot.numbers, language, functions, name=robot.name, joints=names, **options)


@dataclass(frozen=True)
class RobotEquations(Tabulates, Reports, ShowsItself):
    """Closed forms of one robot and the ways to write them down."""

    robot: Robot
    closed_form: Equations
    drives: bool = False

    def __repr__(self) -> str:
        """A line; ``text()`` and its like write the equations."""
        return f"<RobotEquations of {self.robot.name}: {self.closed_form.n} coordinates>"

    @cached_property
    def about(self) -> About:
        """Names, units, notes and operation counts for documents."""
        opened = self.robot.mechanism.opened
        kinds = dict(zip(opened.tree_joint_names, opened.prismatic, strict=True))
        notes = ["SI units; frames by modified Denavit-Hartenberg parameters, z on the joint axis."]
        if self.robot.mechanism.loops:
            passive = ", ".join(self.robot.mechanism.passive_names)
            notes.append(
                f"The loops are cut open; passive joints: {passive}. Jacobian, energies, matrices, torques and "
                "constants on this page are those of the opened tree in all these coordinates; the closures tie "
                "them together. Dynamics in the actuated joints alone: Robot.rne and its like, the numbered form, and "
                "closed_torque of the Python module."
            )
        return About(
            title=self.robot.title or self.robot.name,
            joints=opened.joint_names,
            units=tuple("m" if kinds[name] else "rad" for name in opened.joint_names),
            tool=opened.tool,
            base=self.base_parameters,
            rotors=self.robot.mechanism.rotors if np.any(opened.rotors.N) else None,
            independent=self._independent_closures() if self.robot.closed else (),
            actuated=self.robot.n if self.robot.closed else 0,
            drives=self.drives,
            notes=tuple(notes),
            operations=tuple(self._counts()),
        )

    def _independent_closures(self) -> tuple[int, ...]:
        """Closures in base axes that the earlier ones do not imply, at a few positions around home."""
        rng = np.random.default_rng(0)
        S = kinematics.closure_jacobian(self.closed_form)
        blocks = []
        for step in rng.uniform(-0.05, 0.05, (3, self.robot.n)):
            x = self.robot.coordinates(self.robot.q_home + step)
            values = [[kinematics.evaluate(entry, self.closed_form, x) for entry in row] for row in S]
            blocks.append(np.array(values)[:, self.robot.n :])
        chosen: list[int] = []
        for row in range(len(S)):
            trial = [*chosen, row]
            if min(np.linalg.matrix_rank(block[trial], tol=1e-8) for block in blocks) == len(trial):
                chosen = trial
        return tuple(chosen)

    def _counts(self) -> list[tuple[str, int, int, int]]:
        """Operations of the kernels that the robot runs; for closed chains in the actuated joints."""
        numbers = self.robot.numbers
        closed = bool(self.robot.mechanism.loops)
        out = []
        for kind in CLOSED_COUNTED if closed else COUNTED:
            frame = self.robot.mechanism.tool if kind in ("fkine", "jacob0") else None
            derivation = Derivation(numbers, numbers.table(frame=frame))
            build = CLOSED_PROGRAMS[f"closed_{kind}"] if closed else PROGRAMS[kind]
            try:
                program = build(derivation, **({} if frame is None else {"frame": frame}))
            except NoInertiaError:
                continue  # forward dynamics without rotors does not exist for this robot
            entries = [entry for block in program.outputs for entry in block.entries]
            count = derivation.graph.operations(entries)
            out.append((kind, count["mul"], count["add"], count["div"] + count["trig"] + count["neg"]))
        return out

    # --- numbers ----------------------------------------------------------------------------------
    @cached_property
    def base_parameters(self) -> BaseParameters:
        """The fewest combinations of constants that the torques of all motions depend on (eq:regressor-closed)."""
        tree = base_parameters(self.closed_form)
        if not self.robot.closed or not tree.names:
            return tree
        rng = np.random.default_rng(1995)
        count = 20 + 4 * len(tree.names) // self.robot.n
        q = regular_poses(self.robot, rng, count)
        qd, qdd = rng.normal(size=(2, *q.shape))
        return on_motions(tree, self._projected(tree, q, qd, qdd).reshape(-1, len(tree.names)))

    def regressor(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
        """Y (..., n, p) with tau = Y pi, pi = ``base_parameters.values(closed_form)`` (eq:regressor).

        For a closed chain n are the actuated joints: the tree's regressor, projected by virtual work.
        """
        joints = self.robot.joint_names
        sliding = [unit == "m" for unit in self.robot.joint_units]
        given = (("q", q), ("qd", qd), ("qdd", qdd))
        arrays = [joint_array(name, value, joints, sliding) for name, value in given]
        if not all(np.isfinite(array).all() for array in arrays):
            raise ShapeError("q, qd and qdd must be finite")
        if not self.robot.closed:
            return regressor(self.closed_form, self.base_parameters, *arrays)
        return self._projected(self.base_parameters, *arrays)

    def _projected(self, base: BaseParameters, q: Array, qd: Array, qdd: Array) -> Array:
        """T^T Y of the opened tree at motions of the actuated joints."""
        x, xd, xdd = self.robot.full_motion(q, qd, qdd)
        T = self.robot.projection(x)
        return np.swapaxes(T, -1, -2) @ regressor(self.closed_form, base, x, xd, xdd)

    # --- words ------------------------------------------------------------------------------------
    def entry(self, matrix: str, *indices: int, dialect: str = "text") -> str:
        """One entry, counted from 1: ``entry("M", 1, 2)``, ``entry("H", 1, 2, 2)``, ``entry("g", 3)``.

        M, D or A: mass matrix; H: Christoffel symbols; C: Coriolis matrix; B: Song's products of velocities;
        g or G: gravity; tau: torques. ``dialect``: text, latex, mathematica, python, sympy or mathml.
        """
        e = self.closed_form
        writer = Writer(e, DIALECTS[_one_of("dialect", dialect, DIALECTS)])
        n, pairs = e.n, len(e.pairs)
        shapes = {"M": (n, n), "D": (n, n), "A": (n, n), "H": (n, n, n), "C": (n, n), "B": (n, pairs)}
        shapes.update({"g": (n,), "G": (n,), "tau": (n,)})
        shape = shapes[_one_of("matrix", matrix, shapes)]
        whole = all(isinstance(i, int) for i in indices)
        if (
            len(indices) != len(shape)
            or not whole
            or any(not 1 <= i <= m for i, m in zip(indices, shape, strict=True))
        ):
            size = " x ".join(map(str, shape))
            raise ServotwinError(f"{matrix} is {size}; expected {len(shape)} indices from 1, not {indices}")
        i, j, k = (*(index - 1 for index in indices), 0, 0)[:3]
        if matrix in ("M", "D", "A"):
            return writer.entry(e.M[i][j])
        if matrix == "C":
            return writer.coriolis_entry(i, j)
        if matrix == "tau":
            return writer.torque(i)
        return writer.entry(
            {"H": lambda: e.christoffel[i][j][k], "B": lambda: e.B[i][j]}.get(matrix, lambda: e.gravity[i])()
        )

    def text(self, form: FormName = "MCg") -> str:
        """Plain text."""
        return render.text(self.closed_form, self.about, _form(form))

    def markdown(self, form: FormName = "MCg") -> str:
        """Markdown with LaTeX formulas."""
        return render.markdown(self.closed_form, self.about, _form(form))

    def latex(self, form: FormName = "MCg") -> str:
        """A LaTeX document."""
        return render.latex(self.closed_form, self.about, _form(form))

    def mathematica(self, form: FormName = "MCg") -> str:
        """Assignments for Mathematica."""
        return render.mathematica(self.closed_form, self.about, _form(form))

    def python(self) -> str:
        """A Python module with mass_matrix(q), coriolis_matrix(q, qd), gravity_torque(q).

        That of a closed chain has them for the opened tree, and close(actuated, start), projection(q),
        closed_mass_matrix(q) and closed_torque(q, qd, qdd) for the chain itself.
        """
        return render.python(self.closed_form, self.about)

    def numbered(self, language: str, functions: Sequence[str] | None = None, **options: Any) -> str:
        """Generated code with numbered variables: python, c99, mathematica, text, markdown or latex."""
        return numbered(self.robot, language, functions, **options)

    def c99(self, functions: Sequence[str] | None = None) -> str:
        """One C99 file without dependencies: inverse and forward dynamics, matrices, kinematics."""
        return self.numbered("c99", functions)

    def sympy(self) -> dict[str, Any]:
        """SymPy objects M, C, g, tau, T, V, the definitions of the constants and all values."""
        return render.sympy_objects(self.closed_form)

    def html_sections(self, form: FormName = "MCg") -> str:
        """HTML with MathML, for a page."""
        return render.html_sections(self.closed_form, self.about, _form(form))


def _one_of(what: str, value: str, accepted: Iterable[str]) -> str:
    known = list(accepted)
    if value not in known:
        raise ServotwinError(f"{what} is {value!r}; expected one of {', '.join(known)}")
    return value


def _form(form: str) -> Any:
    return _one_of("form", form, ("MCg", "ABCG", "DHG"))
