"""``st.calibrate`` and ``st.plan_calibration``: results that draw and write themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from servotwin.description.display import DEG, MM
from servotwin.description.file_write import atomic_write_text
from servotwin.description.schema import RobotDescription
from servotwin.design.calibration.calibrate import HELD_OUT, calibrated_from, check_seed
from servotwin.design.calibration.calibrated_file import calibrated_text
from servotwin.design.calibration.calibration_result import Calibration, summary
from servotwin.design.calibration.model import CalibrationModel
from servotwin.design.calibration.noise import Noise, Tracker
from servotwin.design.calibration.observation import Measured, Setup
from servotwin.design.calibration.parameters import DEFAULT
from servotwin.design.calibration.plan import PosePlan, default_station, plan_poses, simulated
from servotwin.design.calibration.robot_model import model_of, robot_and_description
from servotwin.errors import InputError
from servotwin.mechanism.model import Array
from servotwin.presentation import ShowsItself, Tabulates
from servotwin.robot.robot import Robot

if TYPE_CHECKING:
    import plotly.graph_objects as go


class DrawnCalibration(Calibration, Tabulates, ShowsItself):
    """A calibration with its pictures and files."""

    def summary(self) -> dict[str, Any]:
        """Its numbers as plain data (SI)."""
        return summary(self)

    def plot(self) -> go.Figure:
        """Errors before and after as a plotly figure."""
        from servotwin.report.calibration_page import histogram

        return histogram(self)

    def robot_text(self) -> str | None:
        """The calibrated robot as the text of a file; None if the robot has none."""
        return calibrated_text(self)

    def report(self, folder: str | Path, *, overwrite: bool = False) -> dict[str, str]:
        """Write page, JSON, residuals and the calibrated robot to a folder; where they are."""
        from servotwin.report.calibration_page import write_calibration

        return write_calibration(self, folder, overwrite=overwrite)


def calibrate(
    robot: Robot | RobotDescription | str | Path,
    measured: Measured | str | Path,
    *,
    parameters: Sequence[str] = DEFAULT,
    noise: Noise | None = None,
    readings: int = 1,
    prior: bool = False,
    held_out: float = HELD_OUT,
    validate: Measured | str | Path | None = None,
    base: bool = False,
    payload: float | None = None,
    seed: int = 0,
    changes: Mapping[str, str] | None = None,
    progress: Callable[[float], None] | None = None,
) -> DrawnCalibration:
    """Deviations of a robot from its drawing, from measured poses, positions or distances.

    ``measured``: a CSV file or ``Measured``; ``parameters``: some of geometry, offsets, scale, compliance,
    eccentricity. ``noise``: what the device leaves unknown, ``Noise`` or ``Tracker``; without it its size follows from
    the residuals; ``readings``: of which every row is the mean. ``prior`` weighs every parameter by its usual size.
    ``held_out``: part of the poses that are not used but predicted; or ``validate``, others. ``base``: positions are
    told in the base frame. ``payload`` [kg] at the tool besides that of the file, for compliances.
    """
    found = calibrated_from(
        robot, measured, parameters=parameters, noise=noise, readings=readings, prior=prior, held_out=held_out,
        validate=validate, base=base, payload=payload, seed=seed, changes=changes, progress=progress,
    )  # fmt: skip
    return DrawnCalibration(**{item.name: getattr(found, item.name) for item in fields(found)})


@dataclass(frozen=True)
class DrawnPlan(Tabulates, ShowsItself):
    """Poses to measure, and what a campaign with them may bring."""

    model: CalibrationModel
    plan: PosePlan
    noise: Noise  # of the mean of the readings at a pose
    setup: Setup
    orientation: bool
    readings: int = 1

    def __repr__(self) -> str:
        """The robot and how many poses, on one line."""
        return f"<DrawnPlan of {self.model.robot.name}: {len(self.plan.q)} poses>"

    @property
    def random_prediction(self) -> float:
        """Prediction [m] of random poses, each read once."""
        return self.plan.random_prediction * float(np.sqrt(self.readings))

    @property
    def q(self) -> Array:
        """Positions (k, n) [rad, m]."""
        return self.plan.q

    def simulate(self, seed: int = 0, size: float = 0.3) -> tuple[Measured, Array]:
        """A campaign at these poses with a robot that deviates by ``size`` times what is usual: it, and the truth."""
        rng = np.random.default_rng(seed)
        typical = np.array([p.typical for p in self.model.parameters])
        theta = size * typical * rng.standard_normal(len(typical))
        made = simulated(self.model, theta, self.q, self.noise, self.setup, rng, orientation=self.orientation)
        return made, theta

    def csv(self) -> str:
        """The positions as a table, to be measured and filled in."""
        robot = self.model.robot
        names = [
            f"{name}_{'deg' if unit == 'rad' else 'mm'}"
            for name, unit in zip(robot.joint_names, robot.joint_units, strict=True)
        ]
        factor = np.array([DEG if unit == "rad" else MM for unit in robot.joint_units])
        rows = [",".join(f"{v:.6f}" for v in row * factor) for row in self.q]
        return "\n".join([",".join(names), *rows]) + "\n"

    def write(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the table."""
        if Path(path).exists() and not overwrite:
            raise InputError(
                "there is such a file already; expected another name, or --overwrite", file=str(path)
            )
        atomic_write_text(path, self.csv())


def plan_calibration(
    robot: Robot | RobotDescription | str | Path,
    count: int,
    *,
    parameters: Sequence[str] = DEFAULT,
    noise: Noise | None = None,
    orientation: bool = False,
    criterion: Literal["D", "prediction"] = "D",
    readings: int = 1,
    payload: float | None = None,
    seed: int = 0,
    changes: Mapping[str, str] | None = None,
    progress: Callable[[float], None] | None = None,
) -> DrawnPlan:
    """``count`` poses that tell most about a robot, out of random ones within its limits.

    ``noise`` defaults to a laser tracker in front of the robot; ``orientation``: orientations are measured too;
    ``criterion``: D-optimal, or the least variance of the predicted place of the tool; ``readings``: of which the
    mean is taken at every pose.
    """
    if count < 1:
        raise InputError(f"{count} poses; expected at least 1", field="--plan")
    check_seed(seed)
    description, arm = robot_and_description(robot, changes)
    arm = arm.with_deviations({})
    if payload is not None:
        arm = arm.with_payload(payload)
    model = model_of(arm, Measured(np.zeros((0, arm.n)), np.zeros((0, 3))), parameters, description)
    setup, device = default_station(model), (noise or Tracker()).of_mean(readings)
    plan = plan_poses(
        model,
        count,
        device,
        setup,
        orientation=orientation,
        criterion=criterion,
        seed=seed,
        progress=progress,
    )
    return DrawnPlan(model, plan, device, setup, orientation, readings)
