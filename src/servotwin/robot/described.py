"""The description behind whatever stands for a robot: a name, a file, a description, or a robot loaded from one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from servotwin.description.load import catalogue_names, read_description
from servotwin.description.nodes import quoted
from servotwin.description.placed import override_mapping, override_text
from servotwin.description.schema import RobotDescription
from servotwin.errors import InputError
from servotwin.mechanism.build import build_mechanism
from servotwin.mechanism.store import pack
from servotwin.robot.robot import Robot

Given = Robot | RobotDescription | str | os.PathLike[str]
EXPECTED = "expected a catalogue name, a file, a description, or a robot that was loaded from one"


def description_of(robot: Given, overrides: Mapping[str, Any] | None = None) -> RobotDescription:
    """The description of a robot, whichever way it is given; ``overrides`` go with a name or file.

    >>> from servotwin.robot.load import load_robot
    >>> description_of(load_robot("gsis-scara")).name
    'gsis-scara'
    """
    if isinstance(robot, Robot | RobotDescription) and overrides:
        raise InputError("overrides go with a name or file; expected a robot that is not loaded yet")
    if isinstance(robot, RobotDescription):
        return robot
    changes = {field: override_text(value) for field, value in override_mapping(overrides).items()}
    return read_description(source_of(robot), changes)


def source_of(robot: Given) -> str | Path:
    """Name or file of a robot; a description has none. A Robot does for its own if it is still what its file describes.

    A robot knows neither motors nor controller, and its file would describe another one after a change.
    """
    if isinstance(robot, str | Path):
        return robot
    if isinstance(robot, os.PathLike):
        return Path(robot)
    if isinstance(robot, RobotDescription):
        raise InputError(
            f"the description of {quoted(robot.name)} is given; expected a catalogue name, a file, or a robot "
            "that was loaded from one",
            field="robot",
        )
    if not isinstance(robot, Robot):
        raise InputError(f"a {type(robot).__name__} is no robot; {EXPECTED}", field="robot")
    source = robot.source or (robot.name if robot.name in catalogue_names() else "")
    if not source:
        raise InputError(
            f"{quoted(robot.name)} comes from no file, and a robot knows no motors and no controller; {EXPECTED}",
            field="robot",
        )
    if pack(build_mechanism(read_description(source))) != pack(robot.mechanism):
        raise InputError(
            f"{quoted(robot.name)} is not as its file describes it; expected its name or file, with overrides",
            field="robot",
        )
    return source
