"""``st.info``: a robot, its sources and what is assumed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from servotwin.presentation import Plots, Reports, ShowsItself, Tabulates
from servotwin.workbench.info_data import robot_data

if TYPE_CHECKING:
    from servotwin.robot.described import Given
    from servotwin.robot.robot import Robot


@dataclass(frozen=True)
class RobotInfo(Plots, Tabulates, Reports, ShowsItself):
    """What is known about a robot as plain data in SI: axes, drives, frames, sources, assumptions."""

    values: dict[str, Any]
    robot: Robot

    def __repr__(self) -> str:
        """A line; ``data()`` has everything."""
        return f"<RobotInfo of {self['name']}: {self['dof']} coordinates, {len(self['assumptions'])} assumptions>"

    def __getitem__(self, key: str) -> Any:
        return self.values[key]

    def data(self) -> dict[str, Any]:
        """Everything as plain data."""
        return self.values

    def rows(self) -> list[dict[str, Any]]:
        """The axes, a row each, with the numbers of their limits."""
        return [
            {
                "axis": axis["name"],
                "type": axis["type"],
                "carried_by": axis["parent"],
                "mass_kg": axis["mass_kg"],
                **_limits(axis),
            }
            for axis in self.values["axes"]
        ]


def _limits(axis: Mapping[str, Any]) -> dict[str, Any]:
    """The limits of an axis; both ends of a range as one text."""
    return {
        key: " to ".join(f"{end:.4g}" for end in value) if isinstance(value, list) else value
        for key, value in axis.get("limits", {}).items()
    }


def info(robot: Given, overrides: Mapping[str, str] | None = None) -> RobotInfo:
    """What a robot file tells: axes, drives, frames, where its values come from, which of them are assumed and why.

    >>> import servotwin as st
    >>> st.info("gsis-scara")["dof"]
    4
    """
    from servotwin.mechanism.build import build_mechanism
    from servotwin.robot.described import description_of
    from servotwin.robot.robot import Robot

    description = description_of(robot, overrides)
    mechanism = build_mechanism(description)
    return RobotInfo(robot_data(description, mechanism), Robot(mechanism, title=description.title))
