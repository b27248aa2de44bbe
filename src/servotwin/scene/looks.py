"""What the links of a robot file look like: its boxes, cylinders, spheres and meshes, in the frames of the bodies."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from servotwin.description.mesh_files import mesh_path
from servotwin.description.nodes import quoted
from servotwin.description.reach import Reach
from servotwin.description.regular_file import MESH, read_bytes
from servotwin.errors import InputError, ServotwinError
from servotwin.mechanism.model import Array, Mechanism
from servotwin.mechanism.spatial import rot_rpy, transform
from servotwin.robot.robot import Robot
from servotwin.scene.body_shapes import Shape, flat, numbers
from servotwin.scene.mesh_read import Mesh, read_mesh, reduced

if TYPE_CHECKING:
    from servotwin.description.parts import Shape as WrittenShape
    from servotwin.description.schema import RobotDescription

MOST_TRIANGLES = 120_000  # of all meshes of a robot together, in a page that is served
INK = "#b9c3ce"


@dataclass
class Looks:
    """Shapes by the number of their body, the meshes they name, and what could not be drawn."""

    shapes: dict[int, list[Shape]] = field(default_factory=dict)
    meshes: list[dict[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def read_looks(
    description: RobotDescription, mechanism: Mechanism, file: str, most: int = MOST_TRIANGLES
) -> Looks:
    """The looks of a description from ``file``; meshes lie within its reach and have ``most`` triangles in all."""
    found = Looks()
    placed = list(_placed(description, mechanism))
    reach = Reach.of_package(file, Reach.of(file))
    loaded: dict[tuple[str, tuple[float, ...]], Mesh] = {}
    for _, _, shape in placed:
        if shape.mesh is not None and (shape.mesh, tuple(shape.scale)) not in loaded:
            try:
                loaded[shape.mesh, tuple(shape.scale)] = _loaded(shape, file, reach)
            except InputError as error:
                found.notes.append(f"mesh {quoted(shape.mesh)} {error.message}")
    shares = _shares([len(mesh.triangles) for mesh in loaded.values()], most)
    at = {}
    for (key, mesh), share in zip(loaded.items(), shares, strict=True):
        at[key] = len(found.meshes)
        found.meshes.append(packed(reduced(mesh, share)))
    for body, X, shape in placed:
        drawn = _drawn(shape, X, at)
        if drawn is not None:
            found.shapes.setdefault(body, []).append(drawn)
    found.notes = list(dict.fromkeys(found.notes))
    return found


def looks_of(robot: Robot, most: int = MOST_TRIANGLES) -> Looks:
    """The looks that the file of a robot states; none, with a note, if it cannot be read any more."""
    if not robot.source:
        return Looks()
    from servotwin.description.load import read_description

    try:
        return read_looks(read_description(robot.source), robot.mechanism, robot.source, most)
    except ServotwinError as error:
        return Looks(notes=[str(error)])


def packed(mesh: Mesh) -> dict[str, str]:
    """A mesh for the script: numbers of four bytes, in base64."""
    return {
        "positions": base64.b64encode(mesh.points.astype("<f4").tobytes()).decode(),
        "triangles": base64.b64encode(mesh.triangles.astype("<u4").tobytes()).decode(),
    }


def _placed(description: RobotDescription, mechanism: Mechanism) -> Iterable[tuple[int, Array, WrittenShape]]:
    """Every shape with its body and its pose there."""
    frames = {frame.name: frame for frame in mechanism.frames}
    base = description.base
    links: list[tuple[str, Sequence[WrittenShape]]] = []
    if base is not None:
        links.append((base.name or "base", base.shapes))
    for name, axis in description.axes.items():
        links.append((axis.link.name or f"{name}-link", axis.link.shapes))
    for name, shapes in links:
        for shape in shapes:
            frame = frames.get(name)
            if frame is None:
                continue  # a robot that was changed since
            X = frame.X_body_frame @ transform(rot_rpy(shape.rpy), np.array(shape.xyz))
            yield frame.body, X, shape


def _loaded(shape: WrittenShape, file: str, reach: Reach) -> Mesh:
    address = str(shape.mesh)
    path = mesh_path(address, file)
    if path is None:
        raise InputError("is not there; expected it beside the robot file, or its package in a folder above")
    outside = reach.problem(path, address)
    if outside is not None:
        raise InputError(f"is not read: {outside}")
    mesh = read_mesh(read_bytes(path, MESH), Path(path).suffix.lower().removeprefix("."))
    with np.errstate(over="ignore"):
        points = (mesh.points * np.array(shape.scale)).astype(np.float32)
    if not np.isfinite(points).all():
        raise InputError("has corners that are not finite in its scale")
    return Mesh(points, mesh.triangles)


def _shares(counts: Sequence[int], most: int) -> list[int]:
    """How many triangles each mesh keeps: all small ones whole, the large ones alike."""
    if sum(counts) <= most or not counts:
        return list(counts)
    level, left, rest = 0, most, sorted(counts)
    while rest:
        level = left // len(rest)
        if rest[0] > level:
            break
        left -= rest.pop(0)
    return [min(count, max(level, 60)) for count in counts]


def _drawn(shape: WrittenShape, X: Array, at: dict[Any, int]) -> Shape | None:
    if shape.mesh is not None:
        number = at.get((shape.mesh, tuple(shape.scale)))
        return None if number is None else {"kind": "mesh", "mesh": number, "pose": flat(X), "ink": INK}
    if shape.box is not None:
        return {"kind": "box", "pose": flat(X), "size": numbers(np.array(shape.box)), "ink": INK}
    if shape.cylinder is not None:
        half = 0.5 * shape.cylinder.length * X[:3, 2]
        ends = numbers(X[:3, 3] - half), numbers(X[:3, 3] + half)
        return {"kind": "cylinder", "a": ends[0], "b": ends[1], "r": float(shape.cylinder.radius), "ink": INK}
    return {"kind": "sphere", "a": numbers(X[:3, 3]), "r": float(shape.sphere or 0.0), "ink": INK}
