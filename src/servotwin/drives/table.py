"""The table of actuators: every kind that a robot file can name; those of users are named by their files."""

from __future__ import annotations

from servotwin.drives.dc import DC
from servotwin.drives.dc_reduced import DC_REDUCED
from servotwin.drives.hydraulic import HYDRAULIC
from servotwin.drives.ideal import IDEAL
from servotwin.drives.kind import ActuatorKind
from servotwin.drives.own import is_own, own_kind
from servotwin.drives.pmsm import PMSM

KINDS: dict[str, ActuatorKind] = {kind.name: kind for kind in (DC, DC_REDUCED, PMSM, HYDRAULIC, IDEAL)}
DEFAULT = DC  # of a motor whose file names no kind
UNKNOWN = IDEAL  # how an axis without motor counts


def kind_named(name: str | None) -> ActuatorKind:
    """The kind that a file names."""
    if name is None:
        return DEFAULT
    return own_kind(name) if is_own(name) else KINDS[name]
