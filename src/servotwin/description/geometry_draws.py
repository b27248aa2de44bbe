r"""Geometry of one robot out of a series: deviations drawn from the tolerances of its file.

Every joint frame is displaced by a shift and by small turns about x and y of its own axes, and its zero by an offset,
each normal with the standard deviation tolerance over ``sigmas``,

.. math:: \delta \sim \mathcal N\bigl(0, (\mathrm{tol}/s)^2\bigr)                                    (eq:tolerance)

Each axis has a stream of its own, by seed, trial and its place in the file: another tolerance, or a source that is
switched off, changes no other draw.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from servotwin.description.error_parts import GeometryTolerances
from servotwin.description.error_sources import error_sources
from servotwin.description.schema import RobotDescription

GEOMETRY = 0  # stream of the draws, beside that of phases
OF_BASE, OF_TOOL = 10**6, 10**6 + 1  # places behind those of all axes
BASE, TOOL = "base", "tool"

Vector = tuple[float, float, float]


@dataclass(frozen=True)
class Displacement:
    """Shift [m], rotation vector [rad] and offset [rad, m] of a place."""

    position: Vector
    rotation: Vector
    offset: float = 0.0


def drawn_geometry(description: RobotDescription) -> dict[str, Displacement]:
    """Displacements by axis, ``base`` and ``tool``; none in trial 0 and where geometry is switched off."""
    section = error_sources(description)
    tolerances = section.geometry
    if not section.enabled or tolerances is None or section.trial == 0 or "geometry" in section.off:
        return {}
    found = {}
    for place, (name, axis) in enumerate(description.axes.items()):
        if not axis.fixed:
            independent = name in description.joint_names
            draws = _normals(section.seed, section.trial, place)
            found[name] = _joint(tolerances, draws, prismatic=axis.prismatic, independent=independent)
    for name, place, length, angle in (
        (BASE, OF_BASE, tolerances.base_position, tolerances.base_angle),
        (TOOL, OF_TOOL, tolerances.tool_position, tolerances.tool_angle),
    ):
        draws = _normals(section.seed, section.trial, place) / tolerances.sigmas
        if length or angle:
            found[name] = Displacement(_vector(length * draws[:3]), _vector(angle * draws[3:6]))
    return found


def _normals(seed: int, trial: int, place: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Seven normal numbers of one place."""
    return np.random.default_rng([seed, trial, GEOMETRY, place]).standard_normal(7)


def _joint(
    tolerances: GeometryTolerances,
    draws: np.ndarray[tuple[int], np.dtype[np.float64]],
    *,
    prismatic: bool,
    independent: bool,
) -> Displacement:
    """A joint frame; the zero of a joint that follows others is a turn about, or a shift along, its axis."""
    scaled = draws / tolerances.sigmas  # eq:tolerance
    shift, turn = tolerances.length * scaled[:3], tolerances.angle * scaled[3:6]
    turn[2] = 0.0
    offset = float((tolerances.slide_offset if prismatic else tolerances.joint_offset) * scaled[6])
    if independent:
        return Displacement(_vector(shift), _vector(turn), offset)
    (shift if prismatic else turn)[2] += offset
    return Displacement(_vector(shift), _vector(turn))


def _vector(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Vector:
    return float(values[0]), float(values[1]), float(values[2])
