"""What a plan is refused for, with the place and the axis."""

from __future__ import annotations

from servotwin.errors import ServotwinError


class PathError(ServotwinError):
    """A path cannot be followed.

    ``index`` of the request in the plan (0-based), ``place`` along its path as a share of it (0 to 1),
    ``place_m`` the same in metres if it is a path of the tool, ``axis`` the name of the joint, and
    ``what``: 'workspace', 'singularity', 'position', 'speed', 'acceleration', 'torque', 'tool speed',
    'tool acceleration' or 'time'.
    """

    def __init__(
        self,
        message: str,
        *,
        index: int,
        what: str,
        place: float = 0.0,
        place_m: float | None = None,
        axis: str | None = None,
    ) -> None:
        self.message, self.index, self.what = message, index, what
        self.place, self.place_m, self.axis = place, place_m, axis
        where = (
            f"{100.0 * place:.4g} % of the path"
            if place_m is None
            else f"{1e3 * place_m:.6g} mm along the path"
        )
        super().__init__(f"move {index + 1}, {where}: {message}")
