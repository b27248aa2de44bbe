"""The functions of ``st`` by subject: writes docs/python.md, and the pages of the reference that the site has.

python tools/python_page.py
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "python.md"

# Every public name stands under one subject; a test fails for one that does not.
GROUPS: dict[str, tuple[str, ...]] = {
    "Robots": (
        "list_robots", "load_robot", "info", "check", "convert", "schema", "Robot", "Hybrid", "RobotInfo", "Listing",
        "Checks", "Converted",
    ),
    "Kinematics and dynamics": (
        "fkine", "ikine", "rne", "statics", "workspace", "Poses", "Solutions", "Torques", "Statics", "DrawnWorkspace",
    ),
    "Seen and taught": ("view", "teach_pendant", "RobotPicture", "Viewer", "Pendant"),
    "Equations and models": (
        "derive", "numbered", "state_space", "study_model", "hydraulic_model", "RobotEquations", "StateSpace",
        "ModelStudy",
    ),
    "Simulation": (
        "list_scenarios", "read_scenario", "simulate", "demo", "compare", "read_result", "Scenario", "Result", "Saved",
        "Demo", "Compared", "Actuator", "EFFORT", "LOSS", "POWER",
    ),
    "Control": (
        "tune", "arm_modes", "shaper", "design_state_feedback", "compare_laws", "line_test", "CompiledLaw", "PythonLaw",
        "Tuning", "Shaper", "StateFeedbackDesign", "LawRun", "LineTest",
    ),
    "Jobs and points": (
        "list_jobs", "check_job", "format_job", "plan_job", "run_job", "jog", "open_console", "list_points",
        "record_point", "rename_point", "delete_point", "edit_point", "place_frame", "place_tool", "JobSettings",
        "JobPlan", "JobRun", "JogStep", "PointsEdit", "FormattedJobs", "LiveRobot",
    ),
    "Optimal motion": ("optimise_motion", "play_motion", "Region", "OptimalMotion"),
    "Sizing and data sheets": (
        "size", "read_catalogue", "datasheets", "import_list", "export_list", "Catalogue", "MotorSheet", "GearSheet",
        "ScrewSheet", "DrawnSizing",
    ),
    "Accuracy and calibration": (
        "iso9283", "plan_calibration", "commanded_poses", "calibrate", "Noise", "Tracker", "DrawnAccuracy", "DrawnPlan",
        "DrawnCalibration",
    ),
    "Test beds": (
        "read_substitution", "substitute", "serve_rig", "rig_firmware", "RealTime", "SubstitutionScenario",
        "SubstitutionRun", "SubstitutionResult",
    ),
    "Fieldbus": (
        "robot_drives", "serve_drives", "opened_port", "scan_bus", "read_object", "write_object", "watch_objects",
        "control_job", "read_eni", "read_esi", "BusRobot", "BusSettings", "ControlRun", "RobotDrives", "ServedDrives",
    ),
    "Errors": (
        "ServotwinError", "InputError", "ShapeError", "KinematicsError", "UnreachableError", "UnsupportedError",
        "SimulationError", "RobotWarning",
    ),
}  # fmt: skip

HEAD = """# Python

Everything that the command line can do is one function of the package. What a result has of these, the
[table of results](#results) says:

- it draws itself: `result.plot()` is a Plotly figure, the one of the report that says most, others by name;
- it is a table: `result.to_frame()` is a pandas DataFrame, or one of polars with `library="polars"`;
- it writes its report: `result.report("out/run")`, a folder with the files that the command writes, or with
  a page and its numbers;
- it shows itself in a notebook: a small table, offline, without scripts.

None of them changes the result. Where a function asks for a robot it takes a catalogue name or a file; most take a
description or a `Robot` too. A `Robot` knows neither motors nor controller: `st.tune`, `st.jog`, `st.info` and others
read them from its file again, and refuse a robot that is not as its file describes it any more. Arguments are SI and
radians; where a command takes text with units, most functions do too. Commands and functions side by side:
`servotwin simulate` is `st.simulate`, `servotwin job run` is `st.run_job`.

```python
import servotwin as st

run = st.simulate("scara-a-axis-100deg")
print(f"{1e3 * run.summary['tip_error_max_m']:.2f} mm at most")
table = run.to_frame("motor_A_*")
figure = run.plot("torque A")
```

The tables below are made from the docstrings (`python tools/python_page.py`); `help(st.simulate)` has the arguments,
and the site (`make docs`) has all of them on pages of their own.
"""


RESULTS = """
## Results

Lists of files or jobs and what was found of them have no picture worth drawing, equations neither; a table that is
its own report is written by its `to_frame().to_csv(file)`.

| result | `plot` | `to_frame` | `report` | in notebooks |
| --- | --- | --- | --- | --- |"""
METHODS = ("plot", "to_frame", "report", "_repr_html_")


def result_rows() -> list[tuple[str, list[str]]]:
    """Every public class that has one of the methods, with a mark for each that it has."""
    import servotwin as st

    names = [name for group in GROUPS.values() for name in group]
    found = {name: [hasattr(getattr(st, name), method) for method in METHODS] for name in names}
    return [
        (name, ["yes" if has else "" for has in marks])
        for name, marks in found.items()
        if any(marks) and isinstance(getattr(st, name), type)
    ]


def page_name(title: str) -> str:
    """The page of a subject within the site."""
    return f"reference/{title.lower().replace(' ', '-')}.md"


def first_sentence(name: str) -> str:
    """The first line of a docstring; of a constant its value."""
    import servotwin as st

    value = getattr(st, name)
    if not callable(value):
        return f"a name for actuators of your own, `{value!r}`"
    return (inspect.getdoc(value) or "").split("\n\n")[0].replace("\n", " ").replace("|", "\\|")


def page_text() -> str:
    """The text of docs/python.md."""
    parts = [HEAD]
    for title, names in GROUPS.items():
        parts.append(f"\n## {title}\n\n| name | what it is |\n| --- | --- |")
        parts += [f"| `st.{name}` | {first_sentence(name)} |" for name in names]
    parts += [RESULTS, *(f"| `st.{name}` | {' | '.join(marks)} |" for name, marks in result_rows())]
    return "\n".join(parts) + "\n"


def reference_text(title: str) -> str:
    """A page of the reference: every name of a subject with signature and docstring."""
    import servotwin as st

    parts = [f"# {title}\n"]
    for name in GROUPS[title]:
        value = getattr(st, name)
        if not callable(value):
            parts.append(f"## st.{name}\n\n{first_sentence(name)}\n")
            continue
        place = f"{value.__module__}.{value.__qualname__}"
        parts.append(f"::: {place}\n    options:\n      heading: st.{name}\n      toc_label: {name}\n")
    return "\n".join(parts)


def main() -> int:
    """Write the page, or with ``--check`` say if it is not what the docstrings say."""
    if "--check" in sys.argv[1:]:
        fits = PAGE.read_text(encoding="utf-8") == page_text()
        if not fits:
            print(
                "docs/python.md does not say what the docstrings say; python tools/python_page.py writes it"
            )
        return 0 if fits else 1
    PAGE.write_text(page_text(), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
