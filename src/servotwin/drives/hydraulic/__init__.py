"""An electrohydraulic axis: described, and counted in equations; its own model is not simulated yet."""

from __future__ import annotations

from servotwin.drives.kind import ActuatorKind, Feed

HYDRAULIC = ActuatorKind(name="hydraulic", code=-1, feed=Feed.COMMAND, driver="hydraulic", simulated=False)
