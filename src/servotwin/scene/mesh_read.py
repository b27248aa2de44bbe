"""Meshes from bytes: STL and OBJ by ourselves, other formats by trimesh where it is installed; and fewer triangles."""

from __future__ import annotations

import io
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from servotwin.description.mesh_files import FORMATS
from servotwin.errors import InputError

MOST_TRIANGLES = 2_000_000  # that are read at all
GRIDS = (400, 256, 160, 100, 64, 40, 24, 12)  # cells along the longest side, tried in turn


class Mesh(NamedTuple):
    """Corners (v, 3) [m] and triangles (t, 3) by the corners' numbers."""

    points: NDArray[np.float32]
    triangles: NDArray[np.uint32]


def read_mesh(data: bytes, kind: str) -> Mesh:
    """The mesh in the bytes of a file of a kind ('stl', 'obj', ...); InputError in one line if it is none."""
    try:
        if kind == "stl":
            found = _stl(data)
        elif kind == "obj":
            found = _obj(data.decode("utf-8", errors="replace"))
        else:
            found = _by_trimesh(data, kind)
    except InputError:
        raise
    except (ValueError, IndexError, OverflowError) as error:
        raise InputError(f"cannot be read as {kind.upper()}: {' '.join(str(error).split())[:80]}") from None
    if not len(found.triangles):
        raise InputError("has no triangles")
    if not np.isfinite(found.points).all():
        raise InputError("has corners that are not finite")
    if int(found.triangles.max()) >= len(found.points):
        raise InputError("has triangles of corners that are not there")
    return found


def reduced(mesh: Mesh, most: int) -> Mesh:
    """The mesh with at most about ``most`` triangles: corners in one cell of a grid become one."""
    if len(mesh.triangles) <= most:
        return mesh
    low = mesh.points.min(axis=0)
    side = float(np.ptp(mesh.points, axis=0).max()) or 1.0
    found = mesh
    for cells in GRIDS:
        found = _merged(mesh, low, side / cells)
        if len(found.triangles) <= most:
            return found
    return Mesh(found.points, found.triangles[:: -(-len(found.triangles) // most)])


def _merged(mesh: Mesh, low: NDArray[np.float32], step: float) -> Mesh:
    """Corners of one cell at their mean; triangles with corners in fewer than three cells are dropped."""
    cells = np.floor((mesh.points - low) / step).astype(np.int64)
    _, number = np.unique(cells @ np.array([1, 1 << 20, 1 << 40]), return_inverse=True)
    number = number.reshape(-1)
    count = np.bincount(number)
    points = np.stack([np.bincount(number, weights=column) / count for column in mesh.points.T], axis=1)
    t = number[mesh.triangles.astype(np.int64)]
    kept = (t[:, 0] != t[:, 1]) & (t[:, 1] != t[:, 2]) & (t[:, 0] != t[:, 2])
    _, first = np.unique(np.sort(t[kept], axis=1), axis=0, return_index=True)
    return Mesh(points.astype(np.float32), t[kept][np.sort(first)].astype(np.uint32))


def _stl(data: bytes) -> Mesh:
    count = int.from_bytes(data[80:84], "little") if len(data) >= 84 else -1
    if count >= 0 and len(data) == 84 + 50 * count:
        _check(count)
        rows = np.frombuffer(data, dtype=[("n", "<f4", 3), ("p", "<f4", (3, 3)), ("a", "<u2")], offset=84)
        corners = rows["p"].reshape(-1, 3)
    elif data[:5].lower() == b"solid":
        words = [line.split()[1:4] for line in data.splitlines() if line.lstrip()[:6].lower() == b"vertex"]
        _check(len(words) // 3)
        corners = np.array(words[: len(words) // 3 * 3], dtype=np.float32).reshape(-1, 3)
    else:
        raise InputError(
            f"{len(data)} bytes are no STL file of {max(count, 0)} triangles; expected 84 + 50 each"
        )
    points, number = np.unique(corners, axis=0, return_inverse=True)
    return Mesh(points.astype(np.float32), number.reshape(-1, 3).astype(np.uint32))


def _obj(text: str) -> Mesh:
    points: list[list[float]] = []
    triangles: list[tuple[int, int, int]] = []
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["v"]:
            points.append([float(word) for word in words[1:4]])
        elif words[:1] == ["f"]:
            corner = [int(word.partition("/")[0]) for word in words[1:]]
            corner = [k - 1 if k > 0 else len(points) + k for k in corner]
            if any(not 0 <= k < len(points) for k in corner):
                raise InputError("has triangles of corners that are not there")
            triangles += [(corner[0], corner[i], corner[i + 1]) for i in range(1, len(corner) - 1)]
            _check(len(triangles))
    shaped = np.array(points, dtype=np.float32).reshape(-1, 3)
    return Mesh(shaped, np.array(triangles, dtype=np.uint32).reshape(-1, 3))


def _by_trimesh(data: bytes, kind: str) -> Mesh:
    if kind not in FORMATS:
        raise InputError(f"is no mesh; expected one of {', '.join(FORMATS)}")
    try:
        import trimesh
    except ImportError:
        raise InputError(
            f"of the kind {kind} needs the package trimesh: pip install 'servotwin[urdf]'"
        ) from None
    try:  # from memory, so that a mesh cannot name further files
        mesh: Any = trimesh.load(io.BytesIO(data), file_type=kind, force="mesh")
        points, triangles = np.asarray(mesh.vertices), np.asarray(mesh.faces)
    except Exception as error:  # noqa: BLE001 -- readers of a dozen formats raise errors of their own
        raise InputError(f"cannot be read as {kind.upper()}: {' '.join(str(error).split())[:80]}") from None
    _check(len(triangles))
    return Mesh(points.astype(np.float32).reshape(-1, 3), triangles.astype(np.uint32).reshape(-1, 3))


def _check(count: int) -> None:
    if count > MOST_TRIANGLES:
        raise InputError(f"has {count} triangles; expected at most {MOST_TRIANGLES}")
