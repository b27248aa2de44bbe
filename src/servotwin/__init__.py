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

if TYPE_CHECKING:
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
    from servotwin.drives.own import EFFORT, LOSS, POWER, Actuator
    from servotwin.fieldbus.controller.robot import BusRobot, BusSettings
    from servotwin.fieldbus.controller.run import ControlRun, control_job, opened_port
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
    from servotwin.report.drawn_accuracy import DrawnAccuracy, iso9283
    from servotwin.report.drawn_calibration import DrawnCalibration, DrawnPlan, calibrate, plan_calibration
    from servotwin.report.drawn_sizing import DrawnSizing, size
    from servotwin.report.drawn_workspace import DrawnWorkspace, workspace
    from servotwin.robot.complete_model import state_space
    from servotwin.robot.derive import RobotEquations, derive
    from servotwin.robot.load import load_robot
    from servotwin.robot.robot import Hybrid, Robot
    from servotwin.robot.state_space import StateSpace
    from servotwin.simulation.job_plan import JobPlan, plan_job
    from servotwin.simulation.job_run import run_job
    from servotwin.simulation.play_motion import play_motion
    from servotwin.simulation.results.result import Result
    from servotwin.simulation.run import simulate
    from servotwin.simulation.scenario.job_settings import JobSettings
    from servotwin.simulation.scenario.scenario import Scenario, read_scenario

__version__ = "0.1.0"
__all__ = [
    "EFFORT",
    "LOSS",
    "POWER",
    "Actuator",
    "BusRobot",
    "BusSettings",
    "Catalogue",
    "CompiledLaw",
    "ControlRun",
    "DrawnAccuracy",
    "DrawnCalibration",
    "DrawnPlan",
    "DrawnSizing",
    "DrawnWorkspace",
    "GearSheet",
    "Hybrid",
    "InputError",
    "JobPlan",
    "JobSettings",
    "KinematicsError",
    "LawRun",
    "LineTest",
    "ModelStudy",
    "MotorSheet",
    "Noise",
    "OptimalMotion",
    "PythonLaw",
    "RealTime",
    "Region",
    "Result",
    "Robot",
    "RobotDrives",
    "RobotEquations",
    "RobotWarning",
    "Scenario",
    "ScrewSheet",
    "ServedDrives",
    "ServotwinError",
    "ShapeError",
    "Shaper",
    "SimulationError",
    "StateFeedbackDesign",
    "StateSpace",
    "Statics",
    "SubstitutionResult",
    "SubstitutionRun",
    "SubstitutionScenario",
    "Tracker",
    "UnreachableError",
    "UnsupportedError",
    "__version__",
    "arm_modes",
    "calibrate",
    "commanded_poses",
    "compare_laws",
    "control_job",
    "datasheets",
    "derive",
    "design_state_feedback",
    "export_list",
    "hydraulic_model",
    "import_list",
    "iso9283",
    "line_test",
    "load_robot",
    "opened_port",
    "optimise_motion",
    "plan_calibration",
    "plan_job",
    "play_motion",
    "read_catalogue",
    "read_object",
    "read_scenario",
    "read_substitution",
    "robot_drives",
    "run_job",
    "scan_bus",
    "serve_drives",
    "shaper",
    "simulate",
    "size",
    "state_space",
    "statics",
    "study_model",
    "substitute",
    "watch_objects",
    "workspace",
    "write_object",
]

_HOMES = {
    "BusRobot": "servotwin.fieldbus.controller.robot",
    "BusSettings": "servotwin.fieldbus.controller.robot",
    "ControlRun": "servotwin.fieldbus.controller.run",
    "control_job": "servotwin.fieldbus.controller.run",
    "opened_port": "servotwin.fieldbus.controller.run",
    "read_object": "servotwin.fieldbus.tools",
    "scan_bus": "servotwin.fieldbus.tools",
    "watch_objects": "servotwin.fieldbus.tools",
    "write_object": "servotwin.fieldbus.tools",
    "DrawnCalibration": "servotwin.report.drawn_calibration",
    "DrawnPlan": "servotwin.report.drawn_calibration",
    "Noise": "servotwin.design.calibration.noise",
    "Tracker": "servotwin.design.calibration.noise",
    "calibrate": "servotwin.report.drawn_calibration",
    "commanded_poses": "servotwin.design.calibration.commanded",
    "plan_calibration": "servotwin.report.drawn_calibration",
    "Actuator": "servotwin.drives.own",
    "Catalogue": "servotwin.description.sheets.catalogue",
    "GearSheet": "servotwin.description.sheets.gear_sheet",
    "MotorSheet": "servotwin.description.sheets.motor_sheet",
    "ScrewSheet": "servotwin.description.sheets.gear_sheet",
    "datasheets": "servotwin.description.sheets.both_ways",
    "export_list": "servotwin.description.sheets.csv_list",
    "import_list": "servotwin.description.sheets.csv_list",
    "read_catalogue": "servotwin.description.sheets.catalogue",
    "CompiledLaw": "servotwin.control.servo.user_laws",
    "EFFORT": "servotwin.drives.own",
    "LOSS": "servotwin.drives.own",
    "POWER": "servotwin.drives.own",
    "OptimalMotion": "servotwin.motion.optimal.result",
    "RealTime": "servotwin.hil.real_time",
    "RobotDrives": "servotwin.fieldbus.robot.build",
    "ServedDrives": "servotwin.fieldbus.robot.session",
    "robot_drives": "servotwin.fieldbus.robot.build",
    "serve_drives": "servotwin.fieldbus.robot.session",
    "Region": "servotwin.motion.optimal.task",
    "optimise_motion": "servotwin.motion.optimal.optimise",
    "PythonLaw": "servotwin.control.servo.user_laws",
    "JobSettings": "servotwin.simulation.scenario.job_settings",
    "Result": "servotwin.simulation.results.result",
    "Scenario": "servotwin.simulation.scenario.scenario",
    "read_scenario": "servotwin.simulation.scenario.scenario",
    "run_job": "servotwin.simulation.job_run",
    "plan_job": "servotwin.simulation.job_plan",
    "JobPlan": "servotwin.simulation.job_plan",
    "play_motion": "servotwin.simulation.play_motion",
    "simulate": "servotwin.simulation.run",
    "Hybrid": "servotwin.robot.robot",
    "Robot": "servotwin.robot.robot",
    "RobotEquations": "servotwin.robot.derive",
    "derive": "servotwin.robot.derive",
    "hydraulic_model": "servotwin.design.hydraulic",
    "LawRun": "servotwin.design.law_comparison",
    "StateFeedbackDesign": "servotwin.control.servo.state_feedback_design",
    "compare_laws": "servotwin.design.law_comparison",
    "design_state_feedback": "servotwin.control.servo.state_feedback_design",
    "DrawnAccuracy": "servotwin.report.drawn_accuracy",
    "iso9283": "servotwin.report.drawn_accuracy",
    "DrawnSizing": "servotwin.report.drawn_sizing",
    "size": "servotwin.report.drawn_sizing",
    "ModelStudy": "servotwin.design.model_study",
    "study_model": "servotwin.design.model_study",
    "StateSpace": "servotwin.robot.state_space",
    "Statics": "servotwin.design.statics",
    "statics": "servotwin.design.statics",
    "LineTest": "servotwin.design.line_test",
    "arm_modes": "servotwin.design.mode_table",
    "line_test": "servotwin.design.line_test",
    "Shaper": "servotwin.linear.shapers",
    "shaper": "servotwin.linear.shapers",
    "DrawnWorkspace": "servotwin.report.drawn_workspace",
    "workspace": "servotwin.report.drawn_workspace",
    "SubstitutionResult": "servotwin.hil.result",
    "SubstitutionRun": "servotwin.hil.result",
    "SubstitutionScenario": "servotwin.hil.scenario",
    "read_substitution": "servotwin.hil.scenario",
    "substitute": "servotwin.hil.run",
    "load_robot": "servotwin.robot.load",
    "state_space": "servotwin.robot.complete_model",
}


def __getattr__(name: str) -> Any:
    """Public names are imported at first use, so that the package itself loads at once."""
    if name in _HOMES:
        import importlib

        value = getattr(importlib.import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'servotwin' has no attribute '{name}'")
