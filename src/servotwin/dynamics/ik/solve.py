"""Inverse kinematics of any mechanism: picks the closed form that fits, the numeric search otherwise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from servotwin.description.display import DEG
from servotwin.dynamics.ik.branches import (
    AT_LIMIT,
    closest_equivalent,
    distinct,
    equivalents,
    limit_miss,
    principal,
    quantity_miss,
    within,
)
from servotwin.dynamics.ik.delta import DeltaSolver
from servotwin.dynamics.ik.geometry import ToolChain, tool_chain
from servotwin.dynamics.ik.numeric import (
    CONVERGED,
    Jacobian,
    OutsideRangesError,
    Pose,
    Task,
    checked_mask,
    ikine_numeric,
    polished,
    solutions,
    standing_motion,
)
from servotwin.dynamics.ik.palletizer import PalletizerSolver
from servotwin.dynamics.ik.pose import POSITION_ALONE, checked_poses, pose_error
from servotwin.dynamics.ik.scara import POSE, ScaraSolver
from servotwin.dynamics.ik.spherical_wrist import SphericalWristSolver
from servotwin.errors import ShapeError, UnreachableError, UnsupportedError
from servotwin.mechanism.model import Array, BoolArray, Mechanism, Quantities

REPRODUCED = 1e-9  # m and rad: every branch of a closed form meets the pose this well
ALL_STARTS = 100  # searches behind ``ikine_all`` where there is no closed form


Beyond = Callable[[Array], Array]


class ClosedForm(Protocol):
    """A closed form gives all branches of a pose, or raises UnreachableError with the reason."""

    def branches(self, T: Array, q_ref: Array) -> list[Array]:
        """All q of the pose T without regard to limits; joints without effect stay as in q_ref."""


@dataclass(frozen=True)
class InverseKinematics:
    """Inverse kinematics of one frame of a mechanism, prepared once and used for many poses."""

    mechanism: Mechanism
    chain: ToolChain
    solver: ClosedForm | None  # None: numeric search
    mask: Array  # (6,)
    fk: Pose
    jac: Jacobian
    beyond: Beyond | None = None  # of the quantities between frames, if there are any

    @classmethod
    def of(
        cls,
        mechanism: Mechanism,
        *,
        frame: str | None = None,
        mask: ArrayLike | None = None,
        fk: Pose | None = None,
        jac: Jacobian | None = None,
        beyond: Beyond | None = None,
    ) -> InverseKinematics:
        """Prepare for a frame (the tool if None) and for those components of the pose that ``mask`` names.

        ``fk(q) -> (4, 4)`` and ``jac(q) -> (6, n_q)`` of that frame, for instance compiled ones, serve the
        numeric search. ``beyond(q) -> (k,)``: how far quantities between frames are outside of their ranges.
        """
        chain = tool_chain(mechanism, frame)
        flags = checked_mask(mask)
        solver = _closed_form(mechanism, chain, flags, frame)
        if solver is None and mechanism.loops and (fk is None or jac is None):
            raise UnsupportedError(
                f"{mechanism.name}: a closed chain is searched with its own fk and jac, as Robot.ikine does"
            )
        return cls(mechanism, chain, solver, flags, fk or chain.fkine, jac or chain.jacobian, beyond)

    @property
    def q_home(self) -> Array:
        """The natural pose inside the limits, zero if the mechanism has none."""
        home, limits = self.mechanism.q_home, self.mechanism.limits
        home = home if home.shape == (self.mechanism.n_q,) else np.zeros(self.mechanism.n_q)
        return np.clip(home, limits.q_min, limits.q_max)

    @cached_property
    def moving(self) -> BoolArray:
        """Which joints move the frame, (n_q,)."""
        n = self.mechanism.n_q
        if self.mechanism.loops:  # any actuated joint may move the tool through the loops
            return np.ones(n, dtype=np.bool_)
        return np.isin(np.arange(n), self.chain.moving)

    @cached_property
    def period(self) -> Array:
        """Change of every joint after which the tool is back in place; infinite if there is none, (n_q,)."""
        if isinstance(self.solver, DeltaSolver):
            return np.full(3, 2.0 * np.pi)
        if self.mechanism.loops:
            return np.full(self.mechanism.n_q, np.inf)
        chain = self.chain
        gains = np.max(np.abs(chain.G), axis=0, initial=0.0)
        turns = self.moving & ~np.array(chain.sliding, dtype=np.bool_)
        return np.where(turns, 2.0 * np.pi / np.where(gains > 0.0, gains, 1.0), np.inf)

    def limits(self, respected: bool) -> tuple[Array, Array]:
        """Least and largest q; joints that do not move the frame are unlimited."""
        limits, limited = self.mechanism.limits, self.moving & respected
        return np.where(limited, limits.q_min, -np.inf), np.where(limited, limits.q_max, np.inf)

    def all(self, T: ArrayLike, *, q0: ArrayLike | None = None, respect_limits: bool = True) -> Array:
        """All branches for one pose T (4, 4), shape (k, n_q) with k > 0."""
        pose = checked_poses(T)
        if pose.shape != (4, 4):
            raise ShapeError(f"all branches are computed for one pose (4, 4), got shape {pose.shape}")
        q_ref = self._checked_q0(q0, ())
        found = self._found(pose, q_ref, respect_limits)
        low, high = self.limits(respect_limits)
        if not respect_limits:
            return np.array([principal(q, self.period) for q in found])
        inside = [q for branch in found for q in equivalents(branch, low, high, self.period)]
        if not inside:
            raise UnreachableError(limit_miss(found, self.chain, low, high, self.period))
        return np.array(self._kept(inside))

    def _kept(self, positions: list[Array]) -> list[Array]:
        """Those positions at which all quantities are in their ranges; UnreachableError if there is none."""
        kept = within(positions, self.mechanism.quantities)
        if not kept:
            raise UnreachableError(quantity_miss(positions, self.mechanism.quantities, self.chain.name))
        return self._clear(kept)

    def _clear(self, positions: list[Array]) -> list[Array]:
        """Those positions at which quantities between frames are in their ranges; UnreachableError if there is none."""
        if self.beyond is None:
            return positions
        far = [float(self.beyond(q).max()) for q in positions]
        kept = [q for q, over in zip(positions, far, strict=True) if over <= AT_LIMIT]
        if not kept:
            z = self.mechanism.frame_quantities
            k = int(np.argmax(self.beyond(positions[int(np.argmin(far))])))
            unit, factor = ("m", 1.0) if z.lengths[k] else ("deg", DEG)
            raise UnreachableError(
                f"{self.chain.name}: reachable only outside the limits: {z.names[k]} would be out of "
                f"{factor * z.low[k]:.4g} .. {factor * z.high[k]:.4g} {unit} by {factor * min(far):.4g} {unit}"
            )
        return kept

    def nearest(
        self,
        T: ArrayLike,
        *,
        q0: ArrayLike | None = None,
        respect_limits: bool = True,
        starts: int = 60,
        seed: int = 0,
    ) -> Array:
        """For poses (..., 4, 4) the branch nearest to q0 (Euclidean, rad and m), shape (..., n_q)."""
        poses = checked_poses(T)
        lead = poses.shape[:-2]
        refs = self._checked_q0(q0, lead).reshape(-1, self.mechanism.n_q)
        rows = [
            self._nearest(pose, q_ref, respect_limits, starts, seed)
            for pose, q_ref in zip(poses.reshape(-1, 4, 4), refs, strict=True)
        ]
        return np.array(rows).reshape(*lead, self.mechanism.n_q)

    def _nearest(self, T: Array, q_ref: Array, respect: bool, starts: int, seed: int) -> Array:
        low, high = self.limits(respect)
        period = self.period
        quantities = self.mechanism.quantities if respect else Quantities()
        if self.solver is None:
            self._require_in_reach(T)
            try:
                q = self._numeric(T, q_ref, self.mask, respect, starts, seed)
            except OutsideRangesError:
                raise  # its message names the quantity
            except UnreachableError as error:
                raise self._orientation_error(T, q_ref, respect, starts, seed) or error from None
            closest = closest_equivalent(q, q_ref, low, high, period)
            best = q if closest is None or not within([closest], quantities) else closest
            return self._clear([best])[0] if respect else best
        found = self._found(T, q_ref, respect)
        options = [closest_equivalent(q, q_ref, low, high, period) for q in found]
        inside = [q for q in options if q is not None]
        if not inside:
            raise UnreachableError(limit_miss(found, self.chain, low, high, period))
        if quantities.names or (
            respect and self.beyond is not None
        ):  # a full turn further may be allowed where the nearest is not
            inside = self._kept(inside + [q for each in found for q in equivalents(each, low, high, period)])
        return min(inside, key=lambda q: float(np.sum((q - q_ref) ** 2)))

    def _numeric(self, T: Array, q_ref: Array, mask: Array, respect: bool, starts: int, seed: int) -> Array:
        low, high = self.limits(respect)
        quantities = self.mechanism.quantities if respect else Quantities()
        return ikine_numeric(
            self.fk, self.jac, T, q0=q_ref, q_min=low, q_max=high, mask=mask, quantities=quantities,
            moving=self.moving, length=self.chain.size, starts=starts, seed=seed, name=self.chain.name,
        )  # fmt: skip

    def _orientation_error(
        self, T: Array, q_ref: Array, respect: bool, starts: int, seed: int
    ) -> UnreachableError | None:
        """The error for a pose whose position can be reached but not its orientation; None if neither can."""
        if not np.any(self.mask[:3]) or not np.any(self.mask[3:]):
            return None  # the mask leaves out the point or the orientation
        position = self.mask * np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
        try:
            q = self._numeric(T, q_ref, position, respect, starts, seed)
        except UnreachableError:
            return None
        turn = DEG * float(np.linalg.norm((self.mask * pose_error(T, self.fk(q)))[3:]))
        return UnreachableError(
            f"{self.chain.name}: the point can be reached, but not with this orientation: where a search reached the "
            f"point, the tool is off by {turn:.4g} deg{POSITION_ALONE}"
        )

    def _found(self, T: Array, q_ref: Array, respect: bool) -> list[Array]:
        """Branches of the pose, polished and distinct, without regard to limits."""
        if self.solver is None:
            return self._searched(T, q_ref, respect)
        raw = self.solver.branches(T, q_ref)
        if isinstance(self.solver, DeltaSolver):
            return distinct(raw, self.period)
        # Arms with fewer than six joints meet a slightly wrong pose as well as they can.
        tolerance = REPRODUCED if len(self.chain.moving) >= 6 else 10.0 * POSE * max(self.chain.size, 1.0)
        pairs = [polished(self.fk, self.jac, q, T, self.mask) for q in raw]
        kept = distinct([q for q, error in pairs if error <= tolerance], self.period)
        if not kept:
            raise UnreachableError(f"{self.chain.name}: the pose lies just outside the workspace")
        return kept

    def _searched(self, T: Array, q_ref: Array, respect: bool) -> list[Array]:
        if self.mechanism.loops:
            raise UnsupportedError(
                f"{self.mechanism.name}: all branches are known for the DELTA only among closed chains; ask for one"
            )
        if len(self.chain.moving) > int(np.sum(self.mask)):
            raise UnsupportedError(
                f"{self.chain.name}: {len(self.chain.moving)} joints for {int(np.sum(self.mask))} conditions "
                f"allow infinitely many positions; ask for one"
            )
        if self._rank() < len(self.chain.moving):
            raise UnsupportedError(
                f"{self.chain.name}: some joints have the same effect on the tool, so that infinitely many "
                "positions reach a pose; ask for one"
            )
        self._require_in_reach(T)
        low, high = self.limits(respect)
        low, high = np.where(self.moving, low, q_ref), np.where(self.moving, high, q_ref)
        task = Task(self.fk, self.jac, T, low, high, self.mask, self.chain.size)
        found = [
            q for q, error in solutions(task, q_ref, ALL_STARTS, 0) if np.linalg.norm(error) <= CONVERGED
        ]
        if not found:
            raise UnreachableError(
                f"{self.chain.name}: none of {ALL_STARTS} searches inside the joint limits reaches the pose"
            )
        self._require_isolated(found, task)
        return distinct(found, self.period)

    def _require_isolated(self, found: list[Array], task: Task) -> None:
        """UnsupportedError if the joints of a position that was found can move on while the tool stands still."""
        for q in found:
            direction = standing_motion(task, q)
            if direction is not None:
                joints = zip(self.mechanism.joint_names, np.abs(direction) > 1e-3, strict=True)
                moved = ", ".join(name for name, moves in joints if moves)
                raise UnsupportedError(
                    f"{self.chain.name}: infinitely many positions reach this pose, because {moved} can move together "
                    "while the tool stands; ask for one"
                )

    def _rank(self) -> int:
        """Largest rank of the Jacobian of the moving joints at a few random positions."""
        rng = np.random.default_rng(0)
        free = rng.uniform(-1.0, 1.0, (5, self.mechanism.n_q))
        moving = np.flatnonzero(self.moving)
        scale = np.array([1.0 / self.chain.size] * 3 + [1.0] * 3)[:, None]
        ranks = [np.linalg.matrix_rank(scale * self.jac(q)[:, moving], tol=1e-9) for q in free]
        return int(max(ranks))

    def _checked_q0(self, q0: ArrayLike | None, lead: tuple[int, ...]) -> Array:
        n = self.mechanism.n_q
        try:
            q_ref = self.q_home if q0 is None else np.asarray(q0, dtype=np.float64)
        except (ValueError, TypeError):
            raise ShapeError(f"q0 must be {n} real numbers") from None
        if not np.isfinite(q_ref).all():
            raise ShapeError("q0 has entries that are not finite numbers")
        accepted = f"({n},)" + (f" or {(*lead, n)}" if lead else "")
        if q_ref.ndim == 0 or q_ref.shape[-1] != n:
            raise ShapeError(f"q0 has shape {q_ref.shape}; expected {accepted} for {self.mechanism.name}")
        try:
            return np.broadcast_to(q_ref, (*lead, n))
        except ValueError:
            raise ShapeError(
                f"q0 has shape {q_ref.shape}; expected {accepted} for {self.mechanism.name}"
            ) from None

    def _require_in_reach(self, T: Array) -> None:
        """UnreachableError for a target farther away than the stretched arm is long."""
        if self.mechanism.loops:
            return
        chain, limits = self.chain, self.mechanism.limits
        extra = 0.0
        for k in np.flatnonzero(chain.prismatic):
            for j in np.flatnonzero(chain.G[k]):
                extent = max(abs(float(limits.q_min[j])), abs(float(limits.q_max[j])))
                extra += abs(float(chain.G[k, j])) * extent + abs(float(chain.offset[k]))
        if not len(chain.joints) or not np.all(self.mask[:3]):
            return
        distance = float(np.linalg.norm(T[:3, 3] - chain.points[0]))
        if distance > (chain.size + extra) * (1.0 + REPRODUCED):
            raise UnreachableError(
                f"{chain.name}: the target is {distance:.4g} m from the first joint; "
                f"all links in a row measure {chain.size + extra:.4g} m"
            )


def _closed_form(mechanism: Mechanism, chain: ToolChain, mask: Array, frame: str | None) -> ClosedForm | None:
    """The closed form named by the mechanism's family or recognised from its geometry; None: search."""
    position_only = bool(np.all(mask[:3]) and not np.any(mask[3:]))
    at_tool = frame is None or frame == mechanism.tool
    if mechanism.family == "delta" and at_tool:
        return DeltaSolver.of(mechanism)
    if mechanism.loops or not (np.all(mask) or position_only):
        return None
    solver: ClosedForm | None = ScaraSolver.match(chain, position_only)
    if solver is None and not position_only:
        solver = PalletizerSolver.match(chain) or SphericalWristSolver.match(chain)
    if solver is None and mechanism.family and at_tool and not position_only:
        raise UnsupportedError(
            f"{mechanism.name}: its joints do not form the arm that 'kinematics: {mechanism.family}' names"
        )
    return solver


def ikine_all(
    mechanism: Mechanism,
    T: ArrayLike,
    *,
    q0: ArrayLike | None = None,
    frame: str | None = None,
    mask: ArrayLike | None = None,
    respect_limits: bool = True,
) -> Array:
    """All joint positions that bring the tool (or ``frame``) to the pose T (4, 4), shape (k, n_q), k > 0.

    With ``respect_limits`` only positions inside the joint limits, each also one full turn further where the
    limits allow; otherwise one per branch, turning joints within half a turn of zero. Closed forms (parallel
    axes, palletizers, DELTA, spherical wrists) find every branch; other arms are searched from many starts,
    which is no proof of completeness. In singular positions a joint without effect keeps its value of q0
    (q_home if None). UnreachableError says why there is no position.
    """
    return InverseKinematics.of(mechanism, frame=frame, mask=mask).all(
        T, q0=q0, respect_limits=respect_limits
    )


def ikine(
    mechanism: Mechanism,
    T: ArrayLike,
    *,
    q0: ArrayLike | None = None,
    frame: str | None = None,
    mask: ArrayLike | None = None,
    respect_limits: bool = True,
    fk: Pose | None = None,
    jac: Jacobian | None = None,
    starts: int = 60,
    seed: int = 0,
) -> Array:
    """The joint position nearest to q0 (q_home if None) that brings the tool to T; (..., 4, 4) -> (..., n_q).

    ``mask`` are six flags (x y z and turns about x y z of the base): components of the pose that matter.
    Poses that the arm cannot attain are refused with the reason (UnreachableError), never approximated: for
    arms with fewer than six joints this includes orientations that are off by more than 1e-6 rad.
    """
    solver = InverseKinematics.of(mechanism, frame=frame, mask=mask, fk=fk, jac=jac)
    return solver.nearest(T, q0=q0, respect_limits=respect_limits, starts=starts, seed=seed)
