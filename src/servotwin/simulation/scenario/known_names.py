"""Names in scenario files that must be among those of the robot."""

from __future__ import annotations

from servotwin.description.fields import problem
from servotwin.description.nodes import quoted
from servotwin.description.units import did_you_mean


def known(name: str, names: list[str], what: str, at: str) -> None:
    """Complain at ``at`` unless ``name`` is one of ``names``."""
    if name not in names:
        listed = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
        raise problem(
            f"{quoted(name)} is not {what}; expected one of {listed}{did_you_mean(name, names)}", at
        )
