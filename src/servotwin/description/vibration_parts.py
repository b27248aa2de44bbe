"""What a controller does against vibration: filters of the torque command, shapers of the motion (SI)."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from servotwin.description.fields import Choice, Measure, Part, Whole

LEAST_FREQUENCY = 0.1  # Hz
MOST_FILTERS = 4  # notches and torque filter of an axis
SHAPERS = ("none", "zv", "zvd", "ei", "two-hump")
POSES = ("home", "end", "path")
Share = Annotated[float, Measure("", minimum=0.0, maximum=1.0)]


class Notch(Part):
    """A notch in the torque command of an axis: a resonance there is not answered."""

    frequency: Annotated[float, Measure("Hz", minimum=LEAST_FREQUENCY)] = Field(
        description="middle of the notch; below half of the sampling frequency of the speed loop"
    )
    width: Annotated[float, Measure("", above=0.0, maximum=4.0)] = Field(
        default=0.7, description="frequencies that it takes half of, over its middle"
    )
    depth: Share = Field(default=0.1, description="part of the command that it leaves in its middle")


class TorqueFilter(Part):
    """A low-pass filter of the torque command of an axis."""

    frequency: Annotated[float, Measure("Hz", minimum=LEAST_FREQUENCY)] = Field(
        description="corner; below half of the sampling frequency of the speed loop"
    )
    order: Annotated[int, Whole(1, 2)] = Field(default=1, description="a lag of first or of second order")
    damping: Annotated[float, Measure("", above=0.0, maximum=2.0)] = Field(
        default=0.7, description="of a lag of second order"
    )


class Shaping(Part):
    """Input shaping: the main controller delays parts of every motion so that the arm does not swing after it."""

    shaper: Annotated[str, Choice(SHAPERS)] = Field(
        default="none", description="impulses that motions are convolved with"
    )
    modes: Annotated[int, Whole(1, 3)] = Field(
        default=1, description="how many modes are shaped, the slowest first"
    )
    frequency: Annotated[float | None, Measure("Hz", minimum=LEAST_FREQUENCY)] = Field(
        default=None, description="natural frequency of the mode, if measured; default: from the model"
    )
    damping: Annotated[float | None, Measure("", minimum=0.0, maximum=0.9)] = Field(
        default=None, description="damping of the mode, if measured; default: from the model"
    )
    tolerance: Annotated[float, Measure("", above=0.0, maximum=0.5)] = Field(
        default=0.05, description="part of the vibration that ei and two-hump allow"
    )
    pose: Annotated[str, Choice(POSES)] = Field(
        default="end",
        description="whose frequencies of the model count: home for one shaper of all motions, the end of each motion, "
        "or path for a shaper that follows them along the motion",
    )
