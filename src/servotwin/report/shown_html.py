"""``_repr_html_``: what a notebook shows of robots, equations, scenarios, plans, catalogues and results."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from servotwin.description.display import MM, MS, RPM, UM, of_unit
from servotwin.report import frames
from servotwin.report.fragments import fragment
from servotwin.report.labels import joint_units, unit_key

if TYPE_CHECKING:
    from servotwin.control.servo.state_feedback_design import StateFeedbackDesign
    from servotwin.description.sheets.catalogue import Catalogue
    from servotwin.design.line_test import LineTest
    from servotwin.design.model_study import ModelStudy
    from servotwin.design.statics import Statics
    from servotwin.design.tuning import Tuning
    from servotwin.fieldbus.controller.run import ControlRun
    from servotwin.fieldbus.robot.session import ServedDrives
    from servotwin.hil.result import SubstitutionResult
    from servotwin.motion.optimal.result import OptimalMotion
    from servotwin.robot.derive import RobotEquations
    from servotwin.robot.robot import Robot
    from servotwin.simulation.job_plan import JobPlan
    from servotwin.simulation.job_run import JobRun
    from servotwin.simulation.results.result import Result
    from servotwin.simulation.scenario.scenario import Scenario

LONGEST_FORMULAS = 60_000  # characters of MathML that a notebook is given at once
SHOWN_MOTORS = 6


def of_robot(robot: Robot) -> str:
    """Joints with their limits in the units of people, mass and tool."""
    rows = []
    for row in frames.joint_rows(robot):
        unit = joint_units(row["unit"])

        def scaled(key: str, row: dict[str, Any] = row, factor: float = unit.factor) -> float | None:
            return None if row[key] is None else factor * row[key]

        rows.append(
            {
                "joint": f"{row['joint']} [{unit.shown}]",
                **{key: scaled(key) for key in ("min", "max", "home")},
                "speed [1/s]": scaled("speed"),
                "effort [N m, N]": row["effort"],
            }
        )
    facts = {
        "joints": str(robot.n),
        "moving mass": f"{float(robot.mechanism.phi[:, 0].sum()):.4g} kg",
        "motors": str(len(robot.mechanism.rotors.names)),
        "tool": robot.mechanism.tool,
        "chain": "closed" if robot.closed else "open",
    }
    return fragment(robot.name, robot.title, facts=facts, rows=rows, warnings=robot.warnings)


def of_equations(equations: RobotEquations) -> str:
    """Torques in closed form, drawn by the browser from MathML; the rest behind a click."""
    from servotwin.equations.readable.dialects import DIALECTS
    from servotwin.equations.readable.document import Document

    about = equations.about
    document = Document(equations.closed_form, about, DIALECTS["mathml"])
    formulas = "".join(
        f'<div class="formula"><math displaystyle="true"><mrow>{left}<mo>=</mo>{right}</mrow></math></div>'
        for left, right in document.torques().equations
    )
    if len(formulas) > LONGEST_FORMULAS:
        html = (
            '<div class="note">Too long to read here: .report("equations.html") writes them as a page.</div>'
        )
    else:
        sections = equations.html_sections().replace("<h2>", "<h4>").replace("</h2>", "</h4>")
        html = (
            f'<div class="scrolled">{formulas}</div><details><summary>symbols, constants, kinematics, matrices'
            f'</summary><div class="scrolled">{sections}</div></details>'
        )
    facts = {
        "coordinates": ", ".join(about.joints),
        "base parameters": str(len(equations.base_parameters.names)),
        **{f"{name} operations": str(mul + add) for name, mul, add, _ in about.operations[:2]},
    }
    return fragment(f"{equations.robot.name}: equations of motion", about.title, facts=facts, html=html)


def of_scenario(scenario: Scenario) -> str:
    """Robot, solver and moves."""
    solver = scenario.solver
    facts = {
        "robot": scenario.robot,
        "moves": f"{len(scenario.moves)} x {scenario.repeat}"
        if scenario.repeat > 1
        else str(len(scenario.moves)),
        "method": f"{solver.method}, {solver.pwm} PWM",
        "seed": str(scenario.seed),
    }
    hidden = [f"only the plant has: {field} = {value}" for field, value in scenario.plant_set.items()]
    return fragment(scenario.name, scenario.title, facts=facts, rows=frames.move_rows(scenario), notes=hidden)


def of_result(result: Result) -> str:
    """Errors, energy, and the load of every motor."""
    numbers = result.summary
    facts = {"simulated": f"{numbers['simulated_s']:.4g} s"}
    if numbers.get("tip_error_max_m") is not None:
        facts["tip error"] = (
            f"{MM * numbers['tip_error_max_m']:.4g} mm at most, {MM * numbers['tip_error_final_m']:.4g} mm at the end"
        )
    if numbers.get("settling_s") is not None:
        facts["settled after"] = f"{MS * numbers['settling_s']:.3g} ms"
    balance = (numbers.get("energy") or {}).get("balance_error_relative")
    if balance is not None:
        facts["energy unaccounted for"] = f"{abs(balance):.1e}"
    rows = [
        {
            "motor": axis.get("motor"), "peak torque [N m]": axis.get("peak_torque_N_m"),
            "RMS torque [N m]": axis.get("rms_torque_N_m"), "rated [N m]": axis.get("rated_torque_N_m"),
            "peak speed [rpm]": _times(RPM, axis.get("peak_speed_rad_per_s")),
            "peak current [A]": axis.get("peak_current_A"),
        }
        for axis in numbers.get("axes", [])
    ]  # fmt: skip
    early = () if result.complete else (f"ended early, at {numbers['simulated_s']:.4g} s",)
    return fragment(
        result.scenario.name, result.scenario.title, facts=facts, rows=rows,
        warnings=(*early, *numbers.get("warnings", ())), notes=numbers.get("notes", ()),
    )  # fmt: skip


def _times(factor: float, value: float | None) -> float | None:
    return None if value is None else factor * value


def of_job(run: JobRun) -> str:
    """Cycle time, and what every instruction took."""
    log = run.log
    facts = {
        "robot": run.player.robot.name,
        "state": "finished" if log.finished else "stopped",
        "cycle time": "" if log.cycle_time_s is None else f"{log.cycle_time_s:.3f} s",
    }
    off = [row["off_path_m"] for row in frames.instruction_rows(run) if row["off_path_m"] is not None]
    if off:
        facts["off the path"] = f"{MM * max(off):.3g} mm at most"
    rows = [
        {
            "line": row["line"], "instruction": row["instruction"], "time [s]": row["duration_s"],
            "energy [J]": row["energy_J"], "off the path [mm]": _times(MM, row["off_path_m"]),
        }
        for row in frames.instruction_rows(run)
    ]  # fmt: skip
    told = (*log.alarms, *((log.reason,) if log.reason and log.reason not in log.alarms else ()))
    return fragment(f"job {log.job}", facts=facts, rows=rows, warnings=told)


def of_plan(plan: JobPlan) -> str:
    """Cycle time as planned and at best, path by path."""
    facts = {"robot": plan.robot}
    if plan.duration is not None and plan.time_optimal_duration is not None:
        facts |= {
            "cycle time": f"{plan.duration:.3f} s",
            "with time-optimal paths": f"{plan.time_optimal_duration:.3f} s",
        }
    return fragment(
        f"plan of job {plan.log.job}", facts=facts, rows=frames.path_rows(plan), warnings=plan.log.alarms
    )


def of_catalogue(catalogue: Catalogue) -> str:
    """How many motors, gears and screws there are, and the first motors."""
    facts = {kind: str(len(getattr(catalogue, kind))) for kind in ("motors", "gears", "screws")}
    rows = [
        {
            "motor": name, "torque [N m]": sheet.rated_torque, "peak [N m]": sheet.peak_torque,
            "speed [rpm]": _times(RPM, sheet.rated_speed), "mass [kg]": sheet.mass, "price index": sheet.price_index,
        }
        for name, sheet in catalogue.motors.items()
    ]  # fmt: skip
    about = f"{catalogue.title}{' (generic: no products)' if catalogue.generic else ''}"
    return fragment(catalogue.name, about, facts=facts, rows=rows, warnings=catalogue.warnings)


def of_tuning(tuning: Tuning) -> str:
    """Bandwidths, and the margins of every loop."""
    facts = {
        "current": f"{tuning.current_bandwidth:.4g} rad/s",
        "speed": f"{tuning.speed_bandwidth:.4g} rad/s",
        "position": f"{tuning.position_bandwidth:.4g} 1/s",
        "payload": f"{tuning.payload:g} to {tuning.payload_max:g} kg",
    }
    rows = [
        {
            "axis": row["axis"], "load": row["load"], "loop": row["loop"],
            "phase margin [deg]": row["phase_margin_deg"], "gain margin": row["gain_margin"],
            "crossover [rad/s]": row["crossover_rad_per_s"],
        }
        for row in frames.margin_rows(tuning)
        if row["load"] == "heaviest"
    ]  # fmt: skip
    return fragment(
        f"{tuning.robot.name}: servo gains",
        facts=facts,
        rows=rows,
        notes=tuning.remarks,
        warnings=tuning.warnings,
    )


def of_study(study: ModelStudy) -> str:
    """Order and modes of the linear model at a point."""
    facts = {
        "states": str(len(study.model.states)),
        "inputs": str(len(study.model.inputs)),
        "at rest": "yes" if study.still else "no",
    }
    return fragment(
        f"{study.model.robot.name}: complete model",
        facts=facts,
        rows=frames.mode_rows(study),
        notes=study.notes,
    )


def of_design(design: StateFeedbackDesign) -> str:
    """Whether the law can be used, and its gains."""
    facts = {
        "law": "usable" if design.usable else "not usable",
        "loop": f"{design.bandwidth:.4g} rad/s",
        "observer": f"{design.observer_bandwidth:.4g} rad/s",
    }
    return fragment(
        f"{design.coupled.name}: state feedback", f"{design.method}, gains in {design.output_words}", facts=facts,
        rows=frames.gain_rows(design), warnings=design.warnings,
    )  # fmt: skip


def of_line_test(test: LineTest) -> str:
    """Delay and errors of the tool with every law."""
    rows = [
        {
            "law": row["law"], "delay [ms]": MS * row["delay_s"], "error [mm]": MM * row["error_max_m"],
            "off the line [mm]": MM * row["off_line_m"], "at the end [mm]": MM * row["error_end_m"],
        }
        for row in frames.law_rows(test)
    ]  # fmt: skip
    facts = {
        "speed": f"{test.speed:g} m/s",
        "duration": f"{test.duration:.3f} s",
        "1 / K_x": f"{MS * test.predicted_delay:.2f} ms",
    }
    return fragment(f"{test.robot.name}: line test", facts=facts, rows=rows)


def of_statics(found: Statics) -> str:
    """Torques at the joints, singular values, the limit that is used most."""
    facts = {
        "manipulability": f"{found.plane_manipulability:.4g}",
        "least over largest": f"{found.conditioning:.3g}",
    }
    if found.limits:
        name, share = max(found.limits.items(), key=lambda item: item[1])
        facts["largest share"] = f"{100.0 * share:.1f} % of {name}"
    at = ", ".join(f"{MM * v:.1f}" for v in found.pose[:3, 3])
    rows = [
        {
            "joint": row["joint"],
            "position": of_unit(row["position_unit"]).text(row["position"]),
            **{key: f"{row[key]:.4g} {row['unit']}" for key in ("weight", "force", "sum")},
        }
        for row in frames.static_rows(found)
    ]
    singular = ("singular: a direction of the tool is lost",) if found.singular else ()
    return fragment(
        f"{found.robot.name}: statics", f"'{found.frame}' at ({at}) mm", facts=facts,
        rows=rows, notes=found.notes, warnings=singular,
    )  # fmt: skip


def of_motion(motion: OptimalMotion) -> str:
    """Duration beside the best S-curve, and the limits that are reached."""
    from servotwin.report.limit_words import is_reached, limit_name, limit_value

    facts = {"duration": f"{motion.duration:.4f} s"}
    if motion.baseline is not None:
        facts["best S-curve"] = f"{motion.baseline:.4f} s"
    facts["energy"] = f"{motion.energy:.4g} J"
    rows = [
        {
            "limit": limit_name(use),
            "of": use.who,
            "value": limit_value(use),
            "time at it [%]": 100.0 * use.active,
        }
        for use in motion.limits
        if is_reached(use)
    ]
    return fragment(f"{motion.robot}: least {motion.objective}", facts=facts, rows=rows, notes=motion.notes)


def of_sizing(sizing: Any) -> str:
    """The set that is used or chosen, and what uses it most."""
    from servotwin.report.sizing_data import table_rows

    found = sizing.assessment
    facts = {"payload": f"{sizing.payload:g} kg"}
    if found is not None:
        facts["verdict"] = "passes" if found.passes else "fails"
        if found.worst is not None:
            demand, check = found.worst
            facts["used most"] = f"{demand.name}: {100.0 * check.share:.0f} % of {check.name}"
    if sizing.choice is not None:
        facts[f"least {sizing.minimised}"] = f"{sizing.choice.cost:.4g}"
    keys = ("axis", "name", "motor", "gear", "ratio", "share", "limit", "worst_share", "worst_check", "unit")
    rows = [{key: row[key] for key in keys if key in row} for row in table_rows(sizing)]
    return fragment(f"{sizing.description.name}: sizing", facts=facts, rows=rows, notes=sizing.notes)


def of_accuracy(found: Any) -> str:
    """AP and RP of every pose."""
    rows = [
        {
            "speed [%]": 100.0 * row["speed"],
            "pose": row["pose"],
            "AP [mm]": MM * row["AP_m"],
            "RP [um]": UM * row["RP_m"],
        }
        for row in frames.pose_rows(found)
    ]
    facts = {"payload": f"{found.payload:g} kg", "robot of the series": str(found.trial)}
    if rows:
        facts["RP, largest"] = f"{max(row['RP [um]'] for row in rows):.1f} um"
        facts["AP, largest"] = f"{max(row['AP [mm]'] for row in rows):.3f} mm"
    return fragment(
        f"{found.description.name}: accuracy after ISO 9283", "Sources: " + ", ".join(found.sources), facts=facts,
        rows=rows, notes=found.notes,
    )  # fmt: skip


def of_calibration(found: Any) -> str:
    """Errors before and after, and the parameters."""

    def rms(values: Any) -> str:
        return f"{MM * float(np.sqrt(np.mean(np.square(values)))):.3f} mm" if len(values) else ""

    errors = found.held_out if len(found.held_out_units) else found.fitted
    facts = {
        "before": rms(errors.before),
        "after": rms(errors.after),
        "over the noise bound": f"{found.ratio:.2f}",
        "parameters": str(len(found.found)),
    }
    return fragment(
        f"{found.robot.name}: calibration", facts=facts, rows=frames.parameter_rows(found), notes=found.notes
    )


def of_pose_plan(plan: Any) -> str:
    """How many poses to measure."""
    facts = {"poses": str(len(plan.q)), "parameters": str(len(plan.model.parameters))}
    names = plan.model.robot.joint_names
    rows = [dict(zip(names, map(float, row), strict=True)) for row in plan.q]
    return fragment(f"{plan.model.robot.name}: poses to measure", "[rad, m]", facts=facts, rows=rows)


def of_workspace(ws: Any) -> str:
    """Area, volume, and the largest rectangle and cube inside."""
    facts = {"area": f"{ws.area:.4f} m2"}
    if ws.volume is not None:
        facts["volume"] = f"{ws.volume:.4f} m3"
    if ws.cube is not None:
        facts["largest cube"] = f"{MM * ws.cube.edge:.0f} mm"
    return fragment(f"{ws.robot.name}: workspace of '{ws.frame}'", facts=facts, notes=ws.notes)


def of_substitution(result: SubstitutionResult) -> str:
    """Differences between the arm with and without its rig."""
    rows = [
        {"joint": gap.joint, "largest": gap.largest, "RMS": gap.rms, "unit": gap.unit, "at [s]": gap.at}
        for gap in result.differences.values()
    ]
    facts = {
        "duration": f"{float(result.run.time[-1]):.4g} s",
        "on the rig": ", ".join(result.scenario.substituted) or "none",
    }
    return fragment(
        result.scenario.name, result.scenario.file.title, facts=facts, rows=rows, warnings=result.run.warnings
    )


def of_control(run: ControlRun) -> str:
    """Cycles of the bus, and what was lost of them."""
    facts = {
        "state": "finished" if run.finished else "stopped",
        "slaves": str(len(run.slaves)),
        "cycles": str(run.counts["cycles"]),
        "lost": str(run.counts["lost"]),
    }
    return fragment(
        f"{run.name} over the bus", run.title, facts=facts, warnings=(*run.alarms, *run.emergencies)
    )


def of_served(served: ServedDrives) -> str:
    """Frames and cycles."""
    facts = {
        "frames": str(served.frames),
        "refused": str(served.refused),
        "cycles": str(served.cycles),
        "simulated": f"{served.simulated_s:.3f} s in {served.wall_s:.3f} s",
    }
    errors = [f"{name}: error {code:04X}" for name, code in served.errors.items()]
    return fragment("Drives on the bus", facts=facts, warnings=errors)


# --- what the workbench gives ---------------------------------------------------------------------------


def of_listing(listing: Any) -> str:
    """All entries."""
    return fragment(listing.title, f"{len(listing)} entries", rows=listing.rows())


def of_checks(checks: Any) -> str:
    """A row for each file."""
    return fragment("Checked", "all can be used" if checks.ok else "not all can be used", rows=checks.rows())


def of_formatted(jobs: Any) -> str:
    """A row for each job."""
    return fragment("Layout of jobs", rows=jobs.rows())


def of_info(info: Any) -> str:
    """Axes, sources and what is assumed."""
    facts = {
        "joints": str(info["dof"]),
        "moving mass": f"{info['total_mass_kg']:.4g} kg",
        "payload": f"{info['payload_kg']:g} kg",
    }
    if info["reach_m"] is not None:
        facts["reach"] = f"{MM * info['reach_m']:.0f} mm"
    assumed = [f"assumed: {a['field']} = {a['value']} ({a['why']})" for a in info["assumptions"]]
    more = [f"and {len(assumed) - SHOWN_MOTORS} more assumptions"] if len(assumed) > SHOWN_MOTORS else []
    return fragment(
        info["name"],
        info["title"],
        facts=facts,
        rows=[_axis_row(axis) for axis in info["axes"]],
        notes=[*assumed[:SHOWN_MOTORS], *more],
        warnings=info["warnings"],
    )


def _axis_row(axis: dict[str, Any]) -> dict[str, Any]:
    """An axis with its limits in the units of people, whether it turns or slides."""
    unit, limits = joint_units("m" if axis["type"] == "prismatic" else "rad"), axis.get("limits", {})
    ends, speed = (limits.get(unit_key(what, getattr(unit, what))) for what in ("position", "speed"))
    effort = limits.get(unit_key("effort", unit.effort))
    return {
        "axis": axis["name"],
        "type": axis["type"],
        "carried by": axis["parent"],
        "mass [kg]": axis["mass_kg"],
        "position": ends and f"{' to '.join(f'{unit.factor * end:.4g}' for end in ends)} {unit.shown}",
        "speed": speed and f"{unit.factor * speed:.4g} {unit.shown}/s",
        "effort": effort and f"{effort:.4g} {unit.effort.replace('*', ' ')}",
    }


def of_converted(made: Any) -> str:
    """Where a robot was written, and what is missing there."""
    lost = [f"left out: {', '.join(made.left_out)}"] if made.left_out else []
    return fragment(
        made.robot, f"{made.source} as {made.target}", notes=[*lost, *made.notes], warnings=made.warnings
    )


def of_poses(poses: Any) -> str:
    """Positions and angles of the frames."""
    beyond = [f"outside the limits: {', '.join(poses.outside_limits)}"] if poses.outside_limits else []
    return fragment(f"{poses.robot.name}: frames in the base", rows=poses.rows(), warnings=beyond)


def of_solutions(solutions: Any) -> str:
    """Joint positions, a row for each branch."""
    return fragment(f"{solutions.robot.name}: joint positions that reach the pose", rows=solutions.rows())


def of_torques(torques: Any) -> str:
    """Torque and parts of every joint."""
    return fragment(
        f"{torques.robot.name}: inverse dynamics", "tau = M qdd + C qd + g - J^T f", rows=torques.rows()
    )


def of_step(step: Any) -> str:
    """Joint positions before and after."""
    facts = {"duration": f"{step.duration:.3f} s"}
    return fragment(
        f"{step.robot.name}: a planned step",
        "nothing was moved",
        facts=facts,
        rows=step.rows(),
        notes=step.notes,
    )


def of_points(edit: Any) -> str:
    """Points, frames and tools of a file."""
    about = f"robot {edit.points.robot}" if edit.points.robot else ""
    done = [edit.done] if edit.done else []
    return fragment(edit.file, about, rows=edit.rows(), notes=[*done, *edit.notes], warnings=edit.warnings)


def of_compared(compared: Any) -> str:
    """Differences of every signal."""
    facts = {"measured clock lags": f"{MS * compared.shift:.3f} ms"}
    return fragment(
        "Simulated beside measured", str(compared.measured.file), facts=facts, rows=compared.rows()
    )


def of_demo(demo: Any) -> str:
    """Both runs."""
    return "".join(of_result(run) for run in demo.runs) or f"<p>{escape('no run')}</p>"
