"""``st.size``: a sizing that draws itself and writes its report."""

from __future__ import annotations

from dataclasses import fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from servotwin.design.sizing.result import Sizing
from servotwin.design.sizing.size import size as _size
from servotwin.presentation import ShowsItself, Tabulates

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from servotwin.report.sizing_page import SizingFiles


class DrawnSizing(Sizing, Tabulates, ShowsItself):
    """A sizing with pictures."""

    def data(self) -> dict[str, Any]:
        """The answer as plain data in SI units, units in the names of the keys."""
        from servotwin.report.sizing_data import sizing_data

        return sizing_data(self)

    def plot(self, axis: str | None = None) -> go.Figure:
        """The cycle of one actuator (default: the one that is used most) in the plane of torque and speed."""
        from servotwin.report.sizing_figures import torque_speed_of

        return torque_speed_of(self, axis)

    def overrides(self) -> dict[str, str]:
        """Changes of the robot file that give it the chosen set, for ``st.run_job`` or ``st.load_robot``."""
        from servotwin.design.sizing.sized_robot import sized_overrides

        return sized_overrides(self)

    def report(self, folder: str | Path, *, overwrite: bool = False) -> SizingFiles:
        """Write page, JSON, CSV, and the robot file with the chosen set into a folder."""
        from servotwin.report.sizing_page import write_sizing

        return write_sizing(self, folder, overwrite=overwrite)


@wraps(_size)
def size(*args: Any, **kwargs: Any) -> DrawnSizing:
    """As in ``servotwin.design.sizing.size``, whose words it takes over."""
    found = _size(*args, **kwargs)
    return DrawnSizing(**{item.name: getattr(found, item.name) for item in fields(found)})
