"""``servotwin workspace``."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from servotwin.cli.arguments import read_overrides, read_positions, read_quantities, read_quantity
from servotwin.cli.output import (
    fixed,
    print_heading,
    print_json,
    print_line,
    print_note,
    print_table,
    working,
)
from servotwin.cli.signals import finishing
from servotwin.cli.simulate import progress_bar
from servotwin.description.display import MM
from servotwin.description.nodes import one_line

if TYPE_CHECKING:
    from servotwin.report.drawn_workspace import DrawnWorkspace


def workspace(
    name: str,
    overrides: Sequence[str] | None,
    *,
    joints: str | None,
    q: str | None,
    payload: str | None,
    cube: str | None,
    tolerance: str,
    frame: str | None,
    out: str | None,
    overwrite: bool,
    json: bool,
) -> None:
    """Print a workspace, or write it with its pictures."""
    changes = read_overrides(overrides)
    mass = None if payload is None else read_quantity("--payload", payload, "kg", example="20 kg")
    near = read_quantity("--tolerance", tolerance, "m", example="0.1 mm")
    box = None if cube is None else read_quantities("--cube", cube, ("x", "y", "z", "edge"), ("m",) * 4)
    with ExitStack() as claimed:
        if out is not None:  # a folder that is refused comes before the work is done
            from servotwin.simulation.results.folder import WORKSPACE_FILES, claimed_folder

            claimed.enter_context(claimed_folder(out, WORKSPACE_FILES, overwrite=overwrite))
        with progress_bar(f"following the workspace of {one_line(name)}") as advance:
            from servotwin.description.load import read_description
            from servotwin.report.drawn_workspace import workspace as run
            from servotwin.robot.complete_model import robot_of

            description = read_description(name, changes)
            place = None if q is None else read_positions("--q", q, robot_of(description))
            pair = None if joints is None else tuple(part.strip() for part in joints.split(","))
            found = run(
                description, frame=frame, joints=pair, q=place, payload=mass, cube=box, tolerance=near,
                progress=lambda words, part: advance(part),
            )  # fmt: skip
            advance(0.85)
            data = found.summary()
            advance(1.0)
    places = {}
    if out is not None:
        with working("drawing"), finishing():
            places = found.report(out, overwrite=overwrite)
    if json:
        print_json({**places, **data})
        return
    _print(found)
    for what, where in places.items():
        print_line(f"{what + ':':<10}{where}")
    for note in found.notes:
        print_note(f"note: {note}")


def _print(found: DrawnWorkspace) -> None:
    load = "" if found.payload is None else f", payload {found.payload:g} kg in all"
    print_line(
        f"{found.robot.name}: '{found.frame}' within all limits{load}, views to {MM * found.tolerance:g} mm"
    )
    rows = []
    for view in found.views:
        low, high = MM * view.region.extent[0], MM * view.region.extent[1]
        ranges = [
            f"{axis} {fixed(a, 1)} .. {fixed(b, 1)}"
            for axis, a, b in zip(view.axis_names, low, high, strict=True)
        ]
        rows.append((view.name, *ranges, f"{view.region.area:.5f}"))
    print_table(("view", "first [mm]", "second [mm]", "area [m2]"), rows)
    size = MM * (found.rectangle.high - found.rectangle.low)
    corner = MM * found.rectangle.low
    print_line(
        f"largest rectangle: {size[0]:.1f} x {size[1]:.1f} mm from ({corner[0]:.1f}, {corner[1]:.1f}) mm"
    )
    if found.volume is not None:
        doubt = f" +- {found.volume_error:.2g}" if found.volume_error else ""
        print_line(f"volume: {found.volume:.5f}{doubt} m3")
    if found.cube is not None:
        at = ", ".join(f"{MM * v:.1f}" for v in found.cube.center)
        print_line(f"largest cube (after ISO 9283): {MM * found.cube.edge:.1f} mm about ({at}) mm")
    print_heading(f"Limits on the boundary of the {found.views[0].name}")
    lengths = found.views[0].binding()
    total = sum(lengths.values())
    print_table(
        ("limit", "boundary [mm]", "share [%]"),
        [(name, f"{MM * length:.1f}", f"{100.0 * length / total:.1f}") for name, length in lengths.items()],
    )
