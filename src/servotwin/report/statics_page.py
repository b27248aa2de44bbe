"""The page of a pose under a force: the arm, its ellipsoids, and torques against their limits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import plotly.graph_objects as go

from servotwin.description.display import MM
from servotwin.design.statics import Ellipsoid, Statics, actuator_units, without_noise
from servotwin.mechanism.model import Array
from servotwin.report.files import write_json, write_page
from servotwin.report.page import Card, Cell, Figure, Page
from servotwin.report.page_style import COLOURS, INK, axis, layout
from servotwin.scene.skeleton import body_poses, skeleton
from servotwin.simulation.results.folder import STATICS_FILES, replaced_folder
from servotwin.version import __version__

TORQUE = {"rad": "N m", "m": "N"}
SHOWN = 0.25  # length of the longest semi-axis in the picture, as part of the arm's extent


def write_statics(found: Statics, folder: str | Path, *, overwrite: bool = False) -> dict[str, str]:
    """Write ``statics.html`` and ``statics.json``."""
    with replaced_folder(folder, STATICS_FILES, overwrite=overwrite) as place:
        write_json(place / "statics.json", found.summary())
        write_page(place / "statics.html", statics_page(found))
    return {"report": str(Path(folder) / "statics.html"), "data": str(Path(folder) / "statics.json")}


def statics_page(found: Statics) -> str:
    """The page as HTML."""
    robot = found.robot
    at = ", ".join(f"{MM * v:.1f}" for v in found.pose[:3, 3])
    push = ", ".join(f"{v:g}" for v in found.wrench[:3])
    load = "" if found.payload is None else f" Payload {found.payload:g} kg in all."
    page = Page(f"{robot.name}: statics", f"'{found.frame}' at ({at}) mm exerts ({push}) N.{load}")
    worst = max(found.limits.items(), key=lambda item: item[1], default=None)
    cards = [
        Card("Manipulability", f"{found.plane_manipulability:.4g}", "", "product of the singular values"),
        Card(
            "Least over largest",
            f"{found.conditioning:.3f}",
            "",
            "singular value",
            "warn" if found.singular else "",
        ),
    ]
    if worst is not None:
        mark = "warn" if worst[1] > 1.0 else "good"
        cards.append(
            Card("Largest share", f"{100.0 * worst[1]:.1f}", "%", f"of the torque limit: {worst[0]}", mark)
        )
    page.cards(cards)
    for note in found.notes:
        page.note(note)
    if found.singular:
        page.warning("Singular: a direction of the tool is lost.")
    page.section(
        "Pose and ellipsoids", "Velocity of unit actuator velocities and force of unit actuator torques."
    )
    page.figures([Figure(statics_picture(found, *view), title) for title, view in _VIEWS.items()], columns=2)
    page.section("Torques", "tau = J^T F + g(q); actuators behind their gears.")
    _torque_tables(page, found)
    if found.limits:
        page.table(
            ["limit", "share [%]"],
            [[name, Cell(f"{100 * v:.1f}", "warn" if v > 1.0 else "")] for name, v in found.limits.items()],
        )
    if found.stiffness is not None:
        page.section("Stiffness at the tool", "Force per shift in N/mm, free to turn.")
        page.table(
            ["", "x", "y", "z"],
            [
                [name, *(f"{1e-3 * v:.4g}" for v in row)]
                for name, row in zip("xyz", without_noise(found.stiffness), strict=True)
            ],
        )
    return page.html(f"ServoTwin {__version__}. All numbers are in statics.json.")


def _torque_tables(page: Page, found: Statics) -> None:
    robot = found.robot
    weight, force, acting = (
        without_noise(tau) for tau in (found.tau_gravity, found.tau_force, found.tau_actuator)
    )
    page.table(
        ["joint", "weight", "force", "sum", "unit"],
        [
            [name, f"{g:.4g}", f"{f:.4g}", f"{g + f:.4g}", TORQUE[unit]]
            for name, unit, g, f in zip(robot.joint_names, robot.joint_units, weight, force, strict=True)
        ],
    )
    page.table(
        ["actuator", "torque", "unit"],
        [
            [name, f"{tau:.4g}", TORQUE[unit]]
            for name, tau, unit in zip(found.actuator_names, acting, actuator_units(robot), strict=True)
        ],
    )


_VIEWS = {"From the side": (0, 2), "From above": (0, 1)}


def statics_picture(found: Statics, right: int, up: int) -> go.Figure:
    """The arm and its ellipsoids seen along an axis of the base."""
    bones = skeleton(found.robot)
    place = MM * bones.positions(body_poses(found.robot, found.q[None]))[0][:, [right, up]]
    x: list[float | None] = []
    y: list[float | None] = []
    for path in bones.lines:
        x += [*(float(place[i, 0]) for i in path), None]
        y += [*(float(place[i, 1]) for i in path), None]
    figure = go.Figure(go.Scatter(x=x, y=y, mode="lines", line={"color": INK, "width": 3}, name="arm"))
    tool = MM * found.pose[[right, up], 3]
    size = SHOWN * float(np.ptp(place, axis=0).max())
    parts = [("velocity", found.velocity), ("force", found.force)]
    if found.stiffness_ellipsoid is not None:
        parts.append(("stiffness", found.stiffness_ellipsoid))
    for i, (name, ellipsoid) in enumerate(parts):
        outline = tool + size * _outline(ellipsoid, right, up)
        line = {"color": COLOURS[i], "width": 2}
        figure.add_trace(go.Scatter(x=outline[:, 0], y=outline[:, 1], mode="lines", name=name, line=line))
    figure.update_layout(
        **layout(
            420, hovermode="closest", xaxis=axis(f"{'xyz'[right]} [mm]"),
            yaxis=axis(f"{'xyz'[up]} [mm]", scaleanchor="x", scaleratio=1),
        )
    )  # fmt: skip
    return figure


def _outline(ellipsoid: Ellipsoid, right: int, up: int) -> Array:
    """Contour (k, 2) of an ellipsoid's shadow on a plane of the base, its longest finite semi-axis 1."""
    lengths = np.where(np.isfinite(ellipsoid.lengths), ellipsoid.lengths, 0.0)
    A = (ellipsoid.directions * (lengths / max(lengths.max(initial=0.0), 1e-300)))[[right, up]]
    U, s, _ = np.linalg.svd(A)
    angle = np.linspace(0.0, 2.0 * np.pi, 121)
    s = np.pad(s, (0, max(0, 2 - len(s))))
    return np.asarray((U * s[:2]) @ np.stack([np.cos(angle), np.sin(angle)])).T
