"""The page of a workspace, and its data as JSON and CSV."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from servotwin.description.display import MM
from servotwin.design.statics import actuator_yield, rigid_note
from servotwin.design.workspace.maps import Measure
from servotwin.design.workspace.workspace import PlaneSet, Workspace
from servotwin.mechanism.model import Array
from servotwin.report.files import write_bytes, write_json, write_page
from servotwin.report.page import Card, Figure, Page
from servotwin.report.workspace_figures import map_figure, map_grid, measures_of, solid_figure, view_figure
from servotwin.simulation.results.folder import WORKSPACE_FILES, replaced_folder
from servotwin.version import __version__

Maps = tuple[Array, Array, dict[str, Array]]


def write_workspace(ws: Workspace, folder: str | Path, *, overwrite: bool = False) -> dict[str, str]:
    """Write ``workspace.html``, ``workspace.json``, ``boundary.csv`` and ``map.csv``."""
    maps = map_grid(ws)
    with replaced_folder(folder, WORKSPACE_FILES, overwrite=overwrite) as place:
        write_json(place / "workspace.json", {**workspace_data(ws), "boundary": boundary_data(ws)})
        write_bytes(place / "boundary.csv", boundary_csv(ws).encode())
        write_bytes(place / "map.csv", map_csv(ws, maps).encode())
        write_page(place / "workspace.html", workspace_page(ws, maps))
    at = Path(folder)
    return {
        "report": str(at / "workspace.html"), "data": str(at / "workspace.json"), "boundary": str(at / "boundary.csv"),
        "map": str(at / "map.csv"),
    }  # fmt: skip


def workspace_data(ws: Workspace) -> dict[str, Any]:
    """Numbers of a workspace as plain data (SI)."""
    cube = ws.cube
    return {
        "robot": ws.robot.name,
        "frame": ws.frame,
        "payload_kg": ws.payload,
        "tolerance_m": ws.tolerance,
        "area_m2": ws.area,
        "volume_m3": ws.volume,
        "volume_error_m3": ws.volume_error,
        "surface_deviation_m": None if ws.space is None or ws.mesh is None else ws.mesh.deviation,
        "views": [_view_data(view) for view in ws.views],
        "rectangle": {"low_m": ws.rectangle.low.tolist(), "high_m": ws.rectangle.high.tolist()},
        "cube": None if cube is None else {"center_m": cube.center.tolist(), "edge_m": cube.edge},
        "notes": list(ws.notes),
    }


def _view_data(view: PlaneSet) -> dict[str, Any]:
    low, high = view.region.extent
    return {
        "name": view.name,
        "axes": list(view.axis_names),
        "area_m2": view.region.area,
        "low_m": low.tolist(),
        "high_m": high.tolist(),
        "binding_m": view.binding(),
    }


def boundary_data(ws: Workspace) -> dict[str, Any]:
    """Rings of all views: points, and the limit from each to the next."""
    return {
        view.name: [
            {"points_m": ring.round(9).tolist(), "limits": [view.limits[k].name for k in labels]}
            for ring, labels in zip(view.region.rings, view.region.labels, strict=True)
        ]
        for view in ws.views
    }


def boundary_csv(ws: Workspace) -> str:
    """One row for each point of a boundary."""
    rows = ["view,ring,first_m,second_m,x_m,y_m,z_m,limit"]
    for view in ws.views:
        for number, (ring, labels) in enumerate(zip(view.region.rings, view.region.labels, strict=True)):
            for p, space, k in zip(ring, view.in_space(ring), labels, strict=True):
                numbers = ",".join(f"{v:.9g}" for v in (*p, *space))
                rows.append(f"{view.name},{number},{numbers},{_cell(view.limits[k].name)}")
    return "\n".join(rows) + "\n"


def _cell(text: str) -> str:
    """A cell of a CSV file, which no spreadsheet takes for a formula."""
    safe = "'" + text if text[:1] in "=+-@\t\r" else text
    return '"' + safe.replace('"', '""') + '"'


def map_csv(ws: Workspace, maps: Maps) -> str:
    """One row for each point of the map that is reached."""
    x, y, values = maps
    first, second = ws.views[0].axis_names
    rows = [",".join([f"{first}_m", f"{second}_m", *values])]
    if values:
        grid = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
        columns = np.stack([value.ravel() for value in values.values()], axis=1)
        for p, cells in zip(grid, columns, strict=True):
            if np.isfinite(cells).any():
                rows.append(",".join(f"{v:.9g}" if np.isfinite(v) else "" for v in (*p, *cells)))
    return "\n".join(rows) + "\n"


def workspace_page(ws: Workspace, maps: Maps) -> str:
    """The page as HTML."""
    load = (
        "" if ws.payload is None else f" with a payload of {ws.payload:g} kg in all, torques at rest counted"
    )
    page = Page(
        f"{ws.robot.name}: workspace",
        f"What '{ws.frame}' reaches within all limits{load}; boundaries of views are followed to "
        f"{MM * ws.tolerance:g} mm.",
    )
    page.cards(_cards(ws))
    for note in ws.notes:
        page.note(note)
    for view in ws.views:
        page.section(_title(view.name), _words(ws, view))
        page.figures([Figure(view_figure(ws, view), f"{_title(view.name)} of {ws.robot.name}")])
        _binding(page, view)
    if ws.mesh is not None:
        page.section("In space", _surface_words(ws))
        page.figures([Figure(solid_figure(ws), "Workspace in space")])
    _maps(page, ws, maps)
    return page.html(f"ServoTwin {__version__}. Boundaries are in boundary.csv, maps in map.csv.")


def _surface_words(ws: Workspace) -> str:
    text = "Surfaces by the limit that binds. Drag to turn, scroll to zoom."
    if ws.space is None or ws.mesh is None:
        what = "volume comes" if ws.cube is None else "volume and cube come"
        return f"{text} Facets are for the picture; {what} from the view."
    return (
        f"{text} Corners of the facets lie on the surface to 0.01 mm; 99 % of the edges between them are nearer to it "
        f"than {MM * ws.mesh.deviation:.2g} mm, others cut across creases. Volume and cube do not depend on them."
    )


def _title(name: str) -> str:
    return name[:1].upper() + name[1:]


def _words(ws: Workspace, view: PlaneSet) -> str:
    low, high = MM * view.region.extent[0], MM * view.region.extent[1]
    a, b = view.axis_names
    return (
        f"{a} from {low[0]:.1f} to {high[0]:.1f} mm, {b} from {low[1]:.1f} to {high[1]:.1f} mm, area "
        f"{view.region.area:.4f} m2."
    )


def _cards(ws: Workspace) -> list[Card]:
    size = MM * (ws.rectangle.high - ws.rectangle.low)
    cards = [Card("Area", f"{ws.area:.4f}", "m2", ws.views[0].name)]
    if ws.volume is not None:
        remark = f"+- {ws.volume_error:.2g}" if ws.volume_error else ""
        cards.append(Card("Volume", f"{ws.volume:.4f}", "m3", remark))
    cards.append(
        Card("Largest rectangle", f"{size[0]:.1f} x {size[1]:.1f}", "mm", f"{ws.rectangle.area:.4f} m2")
    )
    if ws.cube is not None:
        at = ", ".join(f"{MM * v:.0f}" for v in ws.cube.center)
        cards.append(
            Card("Largest cube", f"{MM * ws.cube.edge:.1f}", "mm", f"after ISO 9283, about ({at}) mm")
        )
    return cards


def _binding(page: Page, view: PlaneSet) -> None:
    lengths = view.binding()
    total = sum(lengths.values())
    kinds = {limit.name: limit.kind for limit in view.limits}
    words = {"joint": "joint", "quantity": "named quantity", "payload": "payload", "singular": "singularity"}
    page.table(
        ["limit", "kind", "boundary [mm]", "share [%]"],
        [
            [name, words.get(kinds[name], kinds[name]), f"{MM * length:.1f}", f"{100.0 * length / total:.1f}"]
            for name, length in lengths.items()
        ],
        text_columns=2,
    )


def _maps(page: Page, ws: Workspace, maps: Maps) -> None:
    x, y, values = maps
    shown = measures_of(values)
    if not shown:
        return
    page.section("Maps", "Over the first view, the other joints at rest.")
    page.figures(
        [
            Figure(map_figure(ws.views[0], x, y, values[m.key], m), m.title, _caption(ws, values[m.key], m))
            for m in shown
        ],
        columns=2,
    )


def _caption(ws: Workspace, values: Array, measure: Measure) -> str:
    rigid = rigid_note(actuator_yield(ws.robot, ws.drives)) if measure.key == "stiffness" else ()
    return " ".join([_range(values, measure), *(f"{_title(note)}." for note in rigid)])


def _range(values: Array, measure: Measure) -> str:
    finite = measure.factor * values[np.isfinite(values)]
    return f"{_CAPTIONS[measure.key]} {finite.min():.3g} to {finite.max():.3g} {measure.unit}".strip() + "."


_CAPTIONS = {
    "dexterity": "Least over largest singular value of the Jacobian at the actuators;",
    "manipulability": "Product of the singular values;",
    "torque_margin": "What is left of effort limits and rated motor torques;",
    "stiffness": "Of the gears, at the tool;",
    "speed": "Within the speeds of joints and motors;",
    "acceleration": "From rest, within the torques of joints and motors' peaks;",
}
