"""ServoTwin: a robot described once; its equations, compiled dynamics, drives, control and design answers.

>>> import servotwin as st
>>> robot = st.load_robot("gsis-scara")
>>> robot.joint_names
('A', 'B', 'Z', 'W')
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from servotwin.errors import (
    InputError,
    KinematicsError,
    RobotWarning,
    ServotwinError,
    ShapeError,
    SimulationError,
    UnreachableError,
    UnsupportedError,
)
from servotwin.version import __version__

if TYPE_CHECKING:
    from servotwin.cli.console import open_console
    from servotwin.control.servo.state_feedback_design import StateFeedbackDesign, design_state_feedback
    from servotwin.control.servo.user_laws import CompiledLaw, PythonLaw
    from servotwin.description.sheets.both_ways import datasheets
    from servotwin.description.sheets.catalogue import Catalogue, read_catalogue
    from servotwin.description.sheets.csv_list import export_list, import_list
    from servotwin.description.sheets.gear_sheet import GearSheet, ScrewSheet
    from servotwin.description.sheets.motor_sheet import MotorSheet
    from servotwin.design.calibration.commanded import commanded_poses
    from servotwin.design.calibration.noise import Noise, Tracker
    from servotwin.design.hydraulic import hydraulic_model
    from servotwin.design.law_comparison import LawRun, compare_laws
    from servotwin.design.line_test import LineTest, line_test
    from servotwin.design.mode_table import arm_modes
    from servotwin.design.model_study import ModelStudy, study_model
    from servotwin.design.statics import Statics, statics
    from servotwin.design.tuning import Tuning, tune
    from servotwin.drives.own import EFFORT, LOSS, POWER, Actuator
    from servotwin.fieldbus.controller.robot import BusRobot, BusSettings
    from servotwin.fieldbus.controller.run import ControlRun, control_job, opened_port
    from servotwin.fieldbus.files.eni_read import read_eni
    from servotwin.fieldbus.files.esi_read import read_esi
    from servotwin.fieldbus.robot.build import RobotDrives, robot_drives
    from servotwin.fieldbus.robot.session import ServedDrives, serve_drives
    from servotwin.fieldbus.tools import read_object, scan_bus, watch_objects, write_object
    from servotwin.hil.real_time import RealTime
    from servotwin.hil.result import SubstitutionResult, SubstitutionRun
    from servotwin.hil.run import substitute
    from servotwin.hil.scenario import SubstitutionScenario, read_substitution
    from servotwin.linear.shapers import Shaper, shaper
    from servotwin.motion.optimal.optimise import optimise_motion
    from servotwin.motion.optimal.result import OptimalMotion
    from servotwin.motion.optimal.task import Region
    from servotwin.pendant.page.pendant import Pendant, teach_pendant
    from servotwin.pendant.view.viewer import Viewer, view
    from servotwin.report.drawn_accuracy import DrawnAccuracy, iso9283
    from servotwin.report.drawn_calibration import DrawnCalibration, DrawnPlan, calibrate, plan_calibration
    from servotwin.report.drawn_sizing import DrawnSizing, size
    from servotwin.report.drawn_workspace import DrawnWorkspace, workspace
    from servotwin.robot.complete_model import state_space
    from servotwin.robot.derive import RobotEquations, derive, numbered
    from servotwin.robot.load import load_robot
    from servotwin.robot.robot import Hybrid, Robot
    from servotwin.robot.state_space import StateSpace
    from servotwin.scene.still import RobotPicture
    from servotwin.simulation.job_plan import JobPlan, plan_job
    from servotwin.simulation.job_run import JobRun, run_job
    from servotwin.simulation.live_robot import LiveRobot
    from servotwin.simulation.play_motion import play_motion
    from servotwin.simulation.results.result import Result
    from servotwin.simulation.results.result_files import Saved, read_result
    from servotwin.simulation.run import simulate
    from servotwin.simulation.scenario.job_settings import JobSettings
    from servotwin.simulation.scenario.scenario import Scenario, read_scenario
    from servotwin.workbench.checks import Checks, check
    from servotwin.workbench.comparing import Compared, compare
    from servotwin.workbench.demonstration import Demo, demo
    from servotwin.workbench.files import Converted, convert, schema
    from servotwin.workbench.job_checks import FormattedJobs, check_job, format_job
    from servotwin.workbench.jogging import JogStep, jog
    from servotwin.workbench.listing import Listing, list_jobs, list_robots, list_scenarios
    from servotwin.workbench.poses import Poses, Solutions, fkine, ikine
    from servotwin.workbench.rig import rig_firmware, serve_rig
    from servotwin.workbench.robot_info import RobotInfo, info
    from servotwin.workbench.taught import (
        PointsEdit,
        delete_point,
        edit_point,
        list_points,
        place_frame,
        place_tool,
        record_point,
        rename_point,
    )
    from servotwin.workbench.torques import Torques, rne

__all__ = [
    "EFFORT",
    "LOSS",
    "POWER",
    "Actuator",
    "BusRobot",
    "BusSettings",
    "Catalogue",
    "Checks",
    "Compared",
    "CompiledLaw",
    "ControlRun",
    "Converted",
    "Demo",
    "DrawnAccuracy",
    "DrawnCalibration",
    "DrawnPlan",
    "DrawnSizing",
    "DrawnWorkspace",
    "FormattedJobs",
    "GearSheet",
    "Hybrid",
    "InputError",
    "JobPlan",
    "JobRun",
    "JobSettings",
    "JogStep",
    "KinematicsError",
    "LawRun",
    "LineTest",
    "Listing",
    "LiveRobot",
    "ModelStudy",
    "MotorSheet",
    "Noise",
    "OptimalMotion",
    "Pendant",
    "PointsEdit",
    "Poses",
    "PythonLaw",
    "RealTime",
    "Region",
    "Result",
    "Robot",
    "RobotDrives",
    "RobotEquations",
    "RobotInfo",
    "RobotPicture",
    "RobotWarning",
    "Saved",
    "Scenario",
    "ScrewSheet",
    "ServedDrives",
    "ServotwinError",
    "ShapeError",
    "Shaper",
    "SimulationError",
    "Solutions",
    "StateFeedbackDesign",
    "StateSpace",
    "Statics",
    "SubstitutionResult",
    "SubstitutionRun",
    "SubstitutionScenario",
    "Torques",
    "Tracker",
    "Tuning",
    "UnreachableError",
    "UnsupportedError",
    "Viewer",
    "__version__",
    "arm_modes",
    "calibrate",
    "check",
    "check_job",
    "commanded_poses",
    "compare",
    "compare_laws",
    "control_job",
    "convert",
    "datasheets",
    "delete_point",
    "demo",
    "derive",
    "design_state_feedback",
    "edit_point",
    "export_list",
    "fkine",
    "format_job",
    "hydraulic_model",
    "ikine",
    "import_list",
    "info",
    "iso9283",
    "jog",
    "line_test",
    "list_jobs",
    "list_points",
    "list_robots",
    "list_scenarios",
    "load_robot",
    "numbered",
    "open_console",
    "opened_port",
    "optimise_motion",
    "place_frame",
    "place_tool",
    "plan_calibration",
    "plan_job",
    "play_motion",
    "read_catalogue",
    "read_eni",
    "read_esi",
    "read_object",
    "read_result",
    "read_scenario",
    "read_substitution",
    "record_point",
    "rename_point",
    "rig_firmware",
    "rne",
    "robot_drives",
    "run_job",
    "scan_bus",
    "schema",
    "serve_drives",
    "serve_rig",
    "shaper",
    "simulate",
    "size",
    "state_space",
    "statics",
    "study_model",
    "substitute",
    "teach_pendant",
    "tune",
    "view",
    "watch_objects",
    "workspace",
    "write_object",
]

_HOMES = {
    "RobotPicture": "servotwin.scene.still",
    "Viewer": "servotwin.pendant.view.viewer",
    "view": "servotwin.pendant.view.viewer",
    "Actuator": "servotwin.drives.own",
    "arm_modes": "servotwin.design.mode_table",
    "Pendant": "servotwin.pendant.page.pendant",
    "teach_pendant": "servotwin.pendant.page.pendant",
    "BusRobot": "servotwin.fieldbus.controller.robot",
    "BusSettings": "servotwin.fieldbus.controller.robot",
    "calibrate": "servotwin.report.drawn_calibration",
    "Catalogue": "servotwin.description.sheets.catalogue",
    "check": "servotwin.workbench.checks",
    "check_job": "servotwin.workbench.job_checks",
    "Checks": "servotwin.workbench.checks",
    "commanded_poses": "servotwin.design.calibration.commanded",
    "compare": "servotwin.workbench.comparing",
    "compare_laws": "servotwin.design.law_comparison",
    "Compared": "servotwin.workbench.comparing",
    "CompiledLaw": "servotwin.control.servo.user_laws",
    "control_job": "servotwin.fieldbus.controller.run",
    "ControlRun": "servotwin.fieldbus.controller.run",
    "convert": "servotwin.workbench.files",
    "Converted": "servotwin.workbench.files",
    "datasheets": "servotwin.description.sheets.both_ways",
    "delete_point": "servotwin.workbench.taught",
    "Demo": "servotwin.workbench.demonstration",
    "demo": "servotwin.workbench.demonstration",
    "derive": "servotwin.robot.derive",
    "design_state_feedback": "servotwin.control.servo.state_feedback_design",
    "DrawnAccuracy": "servotwin.report.drawn_accuracy",
    "DrawnCalibration": "servotwin.report.drawn_calibration",
    "DrawnPlan": "servotwin.report.drawn_calibration",
    "DrawnSizing": "servotwin.report.drawn_sizing",
    "DrawnWorkspace": "servotwin.report.drawn_workspace",
    "edit_point": "servotwin.workbench.taught",
    "EFFORT": "servotwin.drives.own",
    "export_list": "servotwin.description.sheets.csv_list",
    "fkine": "servotwin.workbench.poses",
    "format_job": "servotwin.workbench.job_checks",
    "FormattedJobs": "servotwin.workbench.job_checks",
    "GearSheet": "servotwin.description.sheets.gear_sheet",
    "Hybrid": "servotwin.robot.robot",
    "hydraulic_model": "servotwin.design.hydraulic",
    "ikine": "servotwin.workbench.poses",
    "import_list": "servotwin.description.sheets.csv_list",
    "info": "servotwin.workbench.robot_info",
    "iso9283": "servotwin.report.drawn_accuracy",
    "JobPlan": "servotwin.simulation.job_plan",
    "JobRun": "servotwin.simulation.job_run",
    "JobSettings": "servotwin.simulation.scenario.job_settings",
    "jog": "servotwin.workbench.jogging",
    "JogStep": "servotwin.workbench.jogging",
    "LawRun": "servotwin.design.law_comparison",
    "line_test": "servotwin.design.line_test",
    "LineTest": "servotwin.design.line_test",
    "list_jobs": "servotwin.workbench.listing",
    "list_points": "servotwin.workbench.taught",
    "list_robots": "servotwin.workbench.listing",
    "list_scenarios": "servotwin.workbench.listing",
    "Listing": "servotwin.workbench.listing",
    "LiveRobot": "servotwin.simulation.live_robot",
    "load_robot": "servotwin.robot.load",
    "LOSS": "servotwin.drives.own",
    "ModelStudy": "servotwin.design.model_study",
    "MotorSheet": "servotwin.description.sheets.motor_sheet",
    "Noise": "servotwin.design.calibration.noise",
    "numbered": "servotwin.robot.derive",
    "open_console": "servotwin.cli.console",
    "opened_port": "servotwin.fieldbus.controller.run",
    "OptimalMotion": "servotwin.motion.optimal.result",
    "optimise_motion": "servotwin.motion.optimal.optimise",
    "place_frame": "servotwin.workbench.taught",
    "place_tool": "servotwin.workbench.taught",
    "plan_calibration": "servotwin.report.drawn_calibration",
    "plan_job": "servotwin.simulation.job_plan",
    "play_motion": "servotwin.simulation.play_motion",
    "PointsEdit": "servotwin.workbench.taught",
    "Poses": "servotwin.workbench.poses",
    "POWER": "servotwin.drives.own",
    "PythonLaw": "servotwin.control.servo.user_laws",
    "read_catalogue": "servotwin.description.sheets.catalogue",
    "read_eni": "servotwin.fieldbus.files.eni_read",
    "read_esi": "servotwin.fieldbus.files.esi_read",
    "read_object": "servotwin.fieldbus.tools",
    "read_result": "servotwin.simulation.results.result_files",
    "read_scenario": "servotwin.simulation.scenario.scenario",
    "read_substitution": "servotwin.hil.scenario",
    "RealTime": "servotwin.hil.real_time",
    "record_point": "servotwin.workbench.taught",
    "Region": "servotwin.motion.optimal.task",
    "rename_point": "servotwin.workbench.taught",
    "Result": "servotwin.simulation.results.result",
    "rig_firmware": "servotwin.workbench.rig",
    "rne": "servotwin.workbench.torques",
    "Robot": "servotwin.robot.robot",
    "robot_drives": "servotwin.fieldbus.robot.build",
    "RobotDrives": "servotwin.fieldbus.robot.build",
    "RobotEquations": "servotwin.robot.derive",
    "RobotInfo": "servotwin.workbench.robot_info",
    "run_job": "servotwin.simulation.job_run",
    "Saved": "servotwin.simulation.results.result_files",
    "scan_bus": "servotwin.fieldbus.tools",
    "Scenario": "servotwin.simulation.scenario.scenario",
    "schema": "servotwin.workbench.files",
    "ScrewSheet": "servotwin.description.sheets.gear_sheet",
    "serve_drives": "servotwin.fieldbus.robot.session",
    "serve_rig": "servotwin.workbench.rig",
    "ServedDrives": "servotwin.fieldbus.robot.session",
    "Shaper": "servotwin.linear.shapers",
    "shaper": "servotwin.linear.shapers",
    "simulate": "servotwin.simulation.run",
    "size": "servotwin.report.drawn_sizing",
    "Solutions": "servotwin.workbench.poses",
    "state_space": "servotwin.robot.complete_model",
    "StateFeedbackDesign": "servotwin.control.servo.state_feedback_design",
    "StateSpace": "servotwin.robot.state_space",
    "Statics": "servotwin.design.statics",
    "statics": "servotwin.design.statics",
    "study_model": "servotwin.design.model_study",
    "substitute": "servotwin.hil.run",
    "SubstitutionResult": "servotwin.hil.result",
    "SubstitutionRun": "servotwin.hil.result",
    "SubstitutionScenario": "servotwin.hil.scenario",
    "Torques": "servotwin.workbench.torques",
    "Tracker": "servotwin.design.calibration.noise",
    "tune": "servotwin.design.tuning",
    "Tuning": "servotwin.design.tuning",
    "watch_objects": "servotwin.fieldbus.tools",
    "workspace": "servotwin.report.drawn_workspace",
    "write_object": "servotwin.fieldbus.tools",
}


def __getattr__(name: str) -> Any:
    """Public names are imported at first use, so that the package itself loads at once."""
    if name in _HOMES:
        import importlib

        value = getattr(importlib.import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'servotwin' has no attribute '{name}'")
