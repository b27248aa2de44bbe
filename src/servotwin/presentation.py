"""How an object finds what shows it: robots and results belong to lower layers, pictures and pages to upper ones.

One table names for each class, and for each verb that it has (``plot``, ``to_frame``, ``report``, ``html``, ``show``),
the function that does it, as ``"module:function"``. The function is imported when it is asked for, so that a class of a
lower layer has ``result.plot()`` and imports nothing above itself. It gets the object as its first argument.

A class takes the verbs that it has from the small base classes below, and a line of ``SHOWN_BY`` for them. A test
compares the two.
"""

from __future__ import annotations

import importlib
from typing import Any

from servotwin.errors import ServotwinError

# class -> verb -> function. A derived class has what its base has.
SHOWN_BY: dict[str, dict[str, str]] = {
    "servotwin.robot.robot.Robot": {
        "plot": "servotwin.report.shown_figures:of_robot",
        "to_frame": "servotwin.report.frames:of_robot",
        "html": "servotwin.report.shown_html:of_robot",
        "show": "servotwin.scene.still:show",
        "teach": "servotwin.pendant.view.viewer:teach",
    },
    "servotwin.robot.derive.RobotEquations": {
        "to_frame": "servotwin.report.frames:of_equations",
        "report": "servotwin.report.shown_files:of_equations",
        "html": "servotwin.report.shown_html:of_equations",
    },
    "servotwin.simulation.scenario.scenario.Scenario": {
        "plot": "servotwin.report.shown_figures:of_scenario",
        "to_frame": "servotwin.report.frames:of_scenario",
        "html": "servotwin.report.shown_html:of_scenario",
    },
    "servotwin.simulation.results.result.Result": {
        "plot": "servotwin.report.shown_figures:of_result",
        "to_frame": "servotwin.report.frames:of_signals",
        "report": "servotwin.report.simulation_files:write_result",
        "html": "servotwin.report.shown_html:of_result",
    },
    "servotwin.simulation.job_run.JobRun": {
        "plot": "servotwin.report.shown_figures:of_job",
        "to_frame": "servotwin.report.frames:of_job",
        "report": "servotwin.report.shown_files:of_job",
        "html": "servotwin.report.shown_html:of_job",
    },
    "servotwin.simulation.job_plan.JobPlan": {
        "plot": "servotwin.report.shown_figures:of_plan",
        "to_frame": "servotwin.report.frames:of_plan",
        "report": "servotwin.report.small_pages:of_plan",
        "html": "servotwin.report.shown_html:of_plan",
    },
    "servotwin.description.sheets.catalogue.Catalogue": {
        "to_frame": "servotwin.report.frames:of_catalogue",
        "html": "servotwin.report.shown_html:of_catalogue",
    },
    "servotwin.design.tuning.Tuning": {
        "plot": "servotwin.report.shown_figures:of_tuning",
        "to_frame": "servotwin.report.frames:of_tuning",
        "report": "servotwin.report.shown_files:of_tuning",
        "html": "servotwin.report.shown_html:of_tuning",
    },
    "servotwin.design.model_study.ModelStudy": {
        "plot": "servotwin.report.shown_figures:of_study",
        "to_frame": "servotwin.report.frames:of_study",
        "report": "servotwin.report.model_page:write_model",
        "html": "servotwin.report.shown_html:of_study",
    },
    "servotwin.control.servo.state_feedback_design.StateFeedbackDesign": {
        "plot": "servotwin.report.shown_figures:of_design",
        "to_frame": "servotwin.report.frames:of_design",
        "report": "servotwin.report.shown_files:of_design",
        "html": "servotwin.report.shown_html:of_design",
    },
    "servotwin.design.line_test.LineTest": {
        "plot": "servotwin.report.shown_figures:of_line_test",
        "to_frame": "servotwin.report.frames:of_line_test",
        "report": "servotwin.report.line_test_page:write_line_test",
        "html": "servotwin.report.shown_html:of_line_test",
    },
    "servotwin.design.statics.Statics": {
        "plot": "servotwin.report.shown_figures:of_statics",
        "to_frame": "servotwin.report.frames:of_statics",
        "report": "servotwin.report.statics_page:write_statics",
        "html": "servotwin.report.shown_html:of_statics",
    },
    "servotwin.motion.optimal.result.OptimalMotion": {
        "plot": "servotwin.report.shown_figures:of_motion",
        "to_frame": "servotwin.report.frames:of_motion",
        "report": "servotwin.report.optimal_page:write_optimal_report",
        "html": "servotwin.report.shown_html:of_motion",
    },
    "servotwin.report.drawn_sizing.DrawnSizing": {
        "to_frame": "servotwin.report.frames:of_sizing",
        "html": "servotwin.report.shown_html:of_sizing",
    },
    "servotwin.report.drawn_accuracy.DrawnAccuracy": {
        "to_frame": "servotwin.report.frames:of_accuracy",
        "html": "servotwin.report.shown_html:of_accuracy",
    },
    "servotwin.report.drawn_calibration.DrawnCalibration": {
        "to_frame": "servotwin.report.frames:of_calibration",
        "html": "servotwin.report.shown_html:of_calibration",
    },
    "servotwin.report.drawn_calibration.DrawnPlan": {
        "to_frame": "servotwin.report.frames:of_pose_plan",
        "html": "servotwin.report.shown_html:of_pose_plan",
    },
    "servotwin.report.drawn_workspace.DrawnWorkspace": {
        "to_frame": "servotwin.report.frames:of_workspace",
        "html": "servotwin.report.shown_html:of_workspace",
    },
    "servotwin.hil.result.SubstitutionResult": {
        "plot": "servotwin.report.shown_figures:of_substitution",
        "to_frame": "servotwin.report.frames:of_substitution",
        "report": "servotwin.report.shown_files:of_substitution",
        "html": "servotwin.report.shown_html:of_substitution",
    },
    "servotwin.fieldbus.controller.run.ControlRun": {
        "plot": "servotwin.report.shown_figures:of_control",
        "to_frame": "servotwin.report.frames:of_control",
        "report": "servotwin.report.control_page:write_control",
        "html": "servotwin.report.shown_html:of_control",
    },
    "servotwin.fieldbus.robot.session.ServedDrives": {
        "to_frame": "servotwin.report.frames:of_served",
        "report": "servotwin.report.shown_files:of_served",
        "html": "servotwin.report.shown_html:of_served",
    },
    "servotwin.workbench.listing.Listing": {
        "to_frame": "servotwin.report.frames:of_rows",
        "html": "servotwin.report.shown_html:of_listing",
    },
    "servotwin.workbench.checks.Checks": {
        "to_frame": "servotwin.report.frames:of_rows",
        "html": "servotwin.report.shown_html:of_checks",
    },
    "servotwin.workbench.job_checks.FormattedJobs": {
        "to_frame": "servotwin.report.frames:of_rows",
        "html": "servotwin.report.shown_html:of_formatted",
    },
    "servotwin.workbench.robot_info.RobotInfo": {
        "plot": "servotwin.report.shown_figures:of_info",
        "to_frame": "servotwin.report.frames:of_rows",
        "report": "servotwin.report.small_pages:of_info",
        "html": "servotwin.report.shown_html:of_info",
    },
    "servotwin.workbench.files.Converted": {
        "html": "servotwin.report.shown_html:of_converted",
    },
    "servotwin.workbench.poses.Poses": {
        "plot": "servotwin.report.shown_figures:of_poses",
        "to_frame": "servotwin.report.frames:of_rows",
        "report": "servotwin.report.small_pages:of_poses",
        "html": "servotwin.report.shown_html:of_poses",
    },
    "servotwin.workbench.poses.Solutions": {
        "plot": "servotwin.report.shown_figures:of_solutions",
        "to_frame": "servotwin.report.frames:of_rows",
        "report": "servotwin.report.small_pages:of_solutions",
        "html": "servotwin.report.shown_html:of_solutions",
    },
    "servotwin.workbench.torques.Torques": {
        "plot": "servotwin.report.shown_figures:of_torques",
        "to_frame": "servotwin.report.frames:of_rows",
        "report": "servotwin.report.small_pages:of_torques",
        "html": "servotwin.report.shown_html:of_torques",
    },
    "servotwin.workbench.jogging.JogStep": {
        "plot": "servotwin.report.shown_figures:of_step",
        "to_frame": "servotwin.report.frames:of_rows",
        "html": "servotwin.report.shown_html:of_step",
    },
    "servotwin.workbench.taught.PointsEdit": {
        "to_frame": "servotwin.report.frames:of_rows",
        "html": "servotwin.report.shown_html:of_points",
    },
    "servotwin.workbench.comparing.Compared": {
        "plot": "servotwin.report.shown_figures:of_compared",
        "to_frame": "servotwin.report.frames:of_rows",
        "report": "servotwin.report.shown_files:of_compared",
        "html": "servotwin.report.shown_html:of_compared",
    },
    "servotwin.workbench.demonstration.Demo": {
        "plot": "servotwin.report.shown_figures:of_demo",
        "to_frame": "servotwin.report.frames:of_rows",
        "report": "servotwin.workbench.demonstration:write_demo",
        "html": "servotwin.report.shown_html:of_demo",
    },
}


def shown_by(kind: type, verb: str) -> str | None:
    """The function, as 'module:function', that carries out a verb for a class; None if there is none.

    >>> shown_by(int, "plot") is None
    True
    """
    for base in kind.__mro__:
        found = SHOWN_BY.get(f"{base.__module__}.{base.__qualname__}", {}).get(verb)
        if found is not None:
            return found
    return None


def present(subject: object, verb: str, *args: Any, **options: Any) -> Any:
    """Carry out a verb for an object with the function that the table names; the object itself does not change."""
    named = shown_by(type(subject), verb)
    if named is None:
        raise ServotwinError(f"a {type(subject).__name__} has no '{verb}'")
    module, _, function = named.partition(":")
    return getattr(importlib.import_module(module), function)(subject, *args, **options)


class Plots:
    """An object that draws itself."""

    __slots__ = ()

    def plot(self, *args: Any, **options: Any) -> Any:
        """Itself as a Plotly figure; the function that draws it says what may be asked for."""
        return present(self, "plot", *args, **options)


class Tabulates:
    """An object that is a table."""

    __slots__ = ()

    def to_frame(self, *args: Any, **options: Any) -> Any:
        """Itself as a table of pandas, or of polars with ``library='polars'``."""
        return present(self, "to_frame", *args, **options)


class Reports:
    """An object that writes a report of itself."""

    __slots__ = ()

    def report(self, *args: Any, **options: Any) -> Any:
        """Write its report; the paths of what was written."""
        return present(self, "report", *args, **options)


class ShowsItself:
    """An object that notebooks show as a small page."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return str(present(self, "html"))
