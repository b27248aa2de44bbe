"""The table of decoders: what makes a case, and what reads it. A new decoder is one row."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from fuzz import job_text, tables, values, xml_tree, yaml_tree
from servotwin.description.load import CATALOGUE
from servotwin.errors import InputError

SCENARIOS = CATALOGUE.parent / "scenarios"
JOBS = CATALOGUE.parent / "jobs" / "examples"
URDF = Path(__file__).resolve().parents[1] / "examples" / "six-axis" / "six-axis.urdf"

Files = Mapping[str, bytes]


@dataclass(frozen=True)
class Decoder:
    """``make`` gives the files of a case, ``read`` reads them from a folder; only ServotwinError may leave it.

    ``weight``: share of the cases.
    """

    make: Callable[[Random], Files]
    read: Callable[[Path], object]
    weight: int = 1


def case(decoder: Decoder, name: str, seed: int, number: int) -> Files:
    """The files of a case; the same for the same name, seed and number."""
    return decoder.make(Random(f"{seed}:{name}:{number}"))


# --- corpora ----------------------------------------------------------------------------------------


@cache
def _robots() -> list[Any]:
    # the generic series are too long to be mutated whole: see _sheets
    paths = [path for path in sorted(CATALOGUE.rglob("*.yaml")) if not path.name.startswith("generic-")]
    return [yaml_tree.tree_of(path) for path in paths]


@cache
def _scenarios() -> list[Any]:
    return [yaml_tree.tree_of(path) for path in sorted(SCENARIOS.rglob("*.yaml"))]


@cache
def _points() -> list[Any]:
    return [yaml_tree.tree_of(path) for path in sorted(JOBS.glob("*.points.yaml"))]


@cache
def _jobs() -> list[tuple[str, bytes]]:
    """Jobs and the points beside them."""
    found = sorted(JOBS.glob("*.job"))
    return [(p.read_text(encoding="utf-8"), p.with_suffix(".points.yaml").read_bytes()) for p in found]


@cache
def _urdf() -> str:
    return URDF.read_text(encoding="utf-8")


IO_SCRIPT = yaml_tree._pairs(
    {
        "format": "servotwin-io/1",
        "inputs": {"IN1": "on"},
        "events": [
            {"at": "0.5 s", "set": {"IN2": "on"}},
            {"when": {"OUT1": "on"}, "after": "50 ms", "set": {"IN3": "on"}},
            {"at": "1.2 s", "press": "override", "percent": "30"},
            {"at": "2 s", "press": "pause"},
        ],
    }
)
FAULT_PLAN = yaml_tree._pairs(
    {
        "format": "servotwin-drive-faults/1",
        "faults": [
            {"at": "0.5 s", "axis": "th1", "kind": "encoder-lost", "until": "0.8 s"},
            {"at": "1.5 s", "kind": "supply-voltage", "value": "150 V"},
        ],
    }
)
XACRO = """<robot name="x" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:arg name="length" default="0.5"/>
  <xacro:property name="half" value="${0.5/2}"/>
  <xacro:macro name="part" params="name mass"><link name="${name}"><inertial><mass value="${mass}"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link></xacro:macro>
  <link name="a"/>
  <xacro:part name="b" mass="2"/>
  <joint name="j" type="revolute"><parent link="a"/><child link="b"/><origin xyz="0 0 ${half}"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
</robot>
"""
MESHED = """<robot name="x"><link name="a"/>
<link name="b"><collision><geometry><mesh filename="link.{kind}"/></geometry></collision></link>
<joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint></robot>
"""
LEFT = "left"  # the folder that a killed run left behind


# --- making -----------------------------------------------------------------------------------------


def make_robot(rng: Random) -> Files:
    """A robot file and a second one that it may extend or include."""
    robots = _robots()
    whole = [tree for tree in robots if any(key == "axes" for key, _ in tree)]
    first = yaml_tree.mutated_yaml(rng, rng.choice(whole), robots)
    other = yaml_tree.mutated_yaml(rng, rng.choice(robots), robots)
    return {"first.yaml": first, "other.yaml": other}


def make_scenario(rng: Random) -> Files:
    """A scenario, and files beside it."""
    scenarios = _scenarios()
    first, other = (
        yaml_tree.mutated_yaml(rng, rng.choice(scenarios), [*scenarios, *_robots()]) for _ in range(2)
    )
    return {"first.yaml": first, "other.yaml": other}


@cache
def _substitutions() -> list[Any]:
    return [yaml_tree.tree_of(path) for path in sorted((SCENARIOS / "substitution").glob("*.yaml"))]


@cache
def _rigs() -> list[Any]:
    return [yaml_tree.tree_of(path) for path in sorted((CATALOGUE / "parts").glob("*-rig*.yaml"))]


def make_substitution(rng: Random) -> Files:
    """A substitution scenario, and a rig file beside it that it may name."""
    scenarios = _substitutions()
    first = yaml_tree.mutated_yaml(rng, rng.choice(scenarios), [*scenarios, *_rigs()])
    return {"first.yaml": first, "rig.yaml": yaml_tree.mutated_yaml(rng, rng.choice(_rigs()), _rigs())}


@cache
def _sheets() -> list[Any]:
    """Short catalogues, and a robot whose motor and gear are described by data sheets."""
    from servotwin.description.sheets.catalogue import catalogue_tree

    gears = catalogue_tree("generic-gears.yaml").plain()
    motors = catalogue_tree("generic-motors.yaml").plain()["motors"]
    named = ("gsw-20-100", "grv-170-121", "gp-80-5", "gb-25-2")
    short = {
        "format": "servotwin-catalogue/1",
        "name": "short",
        "motors": {name: motors[name] for name in ("gm-400-3000-low-280", "gm-50-3000-low-48")},
        "gears": {name: gears["gears"][name] for name in named},
        "screws": {"gs-16x5": gears["screws"]["gs-16x5"]},
    }
    axis = {
        "dh": {"a": "300 mm"},
        "link": {"mass": "5 kg"},
        "gear": {"datasheet": gears["gears"]["gsw-20-100"], "linear_stiffness": "secant"},
        "motor": {"datasheet": motors["gm-400-3000-low-280"]},
    }
    robot = {"format": "servotwin/1", "name": "sheets", "axes": {"A": axis}}
    return [yaml_tree._pairs(short), yaml_tree._pairs(robot)]


def make_sheets(rng: Random) -> Files:
    """A catalogue, a robot with data sheets, and a CSV list."""
    catalogue, robot = (yaml_tree.mutated_yaml(rng, tree, _sheets()) for tree in _sheets())
    return {"catalogue.yaml": catalogue, "first.yaml": robot, "list.csv": tables.mutated_list(rng)}


def read_sheets(folder: Path) -> object:
    """Catalogue, robot and list are read, or refused each by itself; what is accepted is written and reads back."""
    from servotwin.description.sheets.catalogue import read_catalogue
    from servotwin.description.sheets.csv_list import export_list, import_list
    from servotwin.description.write import write_yaml

    with contextlib.suppress(InputError):
        read_robot(folder)
    with contextlib.suppress(InputError):
        made = import_list(folder / "list.csv", keep_contradictions=True)
        write_yaml(made.tree, folder / "made.yaml")
        if read_catalogue(folder / "made.yaml").motors != made.catalogue.motors:
            raise AssertionError("an imported list does not read back")
    found = read_catalogue(folder / "catalogue.yaml")
    if found.motors:
        export_list(folder / "catalogue.yaml")
    return found


def make_points(rng: Random) -> Files:
    """A points file."""
    return {"first.points.yaml": yaml_tree.mutated_yaml(rng, rng.choice(_points()), _points())}


def make_job(rng: Random) -> Files:
    """Two jobs that may call each other, with points."""
    (text, points), (second, _) = rng.choice(_jobs()), rng.choice(_jobs())
    return {
        "first.job": job_text.mutated_job(rng, text),
        "first.points.yaml": points if rng.random() < 0.8 else make_points(rng)["first.points.yaml"],
        "second.job": job_text.mutated_job(rng, second),
    }


def make_mesh(rng: Random) -> Files:
    """A URDF with a mutated mesh."""
    kind = rng.choice(("stl", "stl", "obj", "ply", "off"))
    data = (
        values.changed_bytes(rng, _meshes()[kind])
        if rng.random() < 0.95
        else rng.randbytes(rng.choice((0, 84, 300)))
    )
    return {"arm.urdf": MESHED.format(kind=kind).encode(), f"link.{kind}": data}


@cache
def _meshes() -> dict[str, bytes]:
    import trimesh

    box = trimesh.creation.box((0.1, 0.2, 0.3))
    found = {kind: box.export(file_type=kind) for kind in ("stl", "obj", "ply", "off")}
    return {kind: data if isinstance(data, bytes) else data.encode() for kind, data in found.items()}


def make_quantities(rng: Random) -> Files:
    """Quantities and expressions, one per line."""
    words = (
        "1",
        "2.5",
        "mm",
        "m",
        "deg",
        "/",
        "*",
        "^",
        "(",
        ")",
        "-",
        "kg",
        "s",
        "N",
        " ",
        "1e",
        "pi",
        "sqrt(",
        "=",
        "%",
    )
    lines = []
    for _ in range(40):
        lines.append(
            values.nasty(rng)
            if rng.random() < 0.4
            else "".join(rng.choice(words) for _ in range(rng.randint(1, 12)))
        )
    return {"lines.txt": "\x1e".join(lines).encode("utf-8", "surrogatepass")}


# --- reading ----------------------------------------------------------------------------------------


def read_robot(folder: Path) -> object:
    """A description that is accepted can be built, written, and read back."""
    from servotwin.description.load import read_description
    from servotwin.description.write import yaml_text
    from servotwin.mechanism.build import build_mechanism

    description = read_description(folder / "first.yaml")
    build_mechanism(description)
    description.assumptions()
    return yaml_text(description)


def read_scenario(folder: Path) -> object:
    """A scenario with its plan."""
    from servotwin.simulation.scenario.scenario import read_scenario as read

    return read(folder / "first.yaml").plain()


def read_substitution(folder: Path) -> object:
    """A substitution scenario with the data of its joints, and the records of a rig."""
    from servotwin.hil.joint_data import joint_records
    from servotwin.hil.rig_file import read_rig
    from servotwin.hil.scenario import read_substitution as read

    with contextlib.suppress(InputError):
        read_rig(folder / "rig.yaml").records()
    scenario = read(folder / "first.yaml")
    joint_records(scenario)
    return scenario.plain()


def read_urdf(folder: Path) -> object:
    """A URDF, as it is and with its shapes filled."""
    from servotwin.description.load import read_description
    from servotwin.mechanism.build import build_mechanism
    from servotwin.mechanism.urdf_export import urdf_text

    with contextlib.suppress(InputError):
        read_description(folder / "arm.urdf", density=2700.0)
    return urdf_text(build_mechanism(read_description(folder / "arm.urdf")))


@cache
def _network_files() -> tuple[str, str]:
    """An ESI and an ENI file of drives."""
    from servotwin.fieldbus.eni import build_eni
    from servotwin.fieldbus.esi import build_esi
    from servotwin.fieldbus.objects.communication import Identity
    from servotwin.fieldbus.objects.dictionary import Dictionary, new_axes

    line = [Dictionary(Identity(serial=k), new_axes(1)) for k in range(2)]
    return build_esi(line[0]), build_eni(line, 1_000_000)


def make_network(rng: Random) -> Files:
    """An ESI and an ENI file."""
    esi, eni = (xml_tree.mutated_texts(rng, text) for text in _network_files())
    return {"esi.xml": esi, "eni.xml": eni}


def read_network(folder: Path) -> object:
    """Both of them; an ESI file is also searched."""
    from servotwin.fieldbus.files.eni_read import read_eni
    from servotwin.fieldbus.files.esi_read import read_esi

    with contextlib.suppress(InputError):
        read_esi(folder / "esi.xml").find(1, 2, 3)
    return read_eni(folder / "eni.xml")


def make_looks(rng: Random) -> Files:
    """A URDF with a mutated mesh, seen and not filled."""
    files = make_mesh(rng)
    return {name: data.replace(b"collision", b"visual") for name, data in files.items()}


def read_looks(folder: Path) -> object:
    """What a picture shows of a robot file: plain data with finite numbers."""
    from servotwin.robot.load import load_robot
    from servotwin.scene import describe, looks_of

    robot = load_robot(folder / "arm.urdf")
    looks = looks_of(robot, 2_000)
    assert all("\n" not in note for note in looks.notes)
    return json.dumps(describe(robot, looks=looks), allow_nan=False)


def make_question(rng: Random) -> Files:
    """What a page of the viewer sends: questions with strange numbers, and broken ones."""
    numbers = (0, 0.5, -3, 1e9, 1e400, None, True, "x", [], {}, float("nan"), values.nasty(rng))
    asked = {
        "ask": rng.choice(("state", "pose", "branches", "workspace", "eval", 3)),
        "q": [
            rng.choice(numbers) if rng.random() < 0.2 else rng.uniform(-1, 1)
            for _ in range(rng.choice((4, 4, 4, 3)))
        ],
        "xyz": [rng.choice((0.4, rng.choice(numbers))) for _ in range(3)],
        "rpy": [rng.choice((0.0, rng.choice(numbers))) for _ in range(3)],
        "robot": rng.choice((0, 0, 0, 1, -1, "0", *numbers)),
        "number": rng.choice((1, *numbers)),
        "size": rng.choice((1.0, *numbers)),
    }
    data = json.dumps(asked).encode("utf-8", "surrogatepass")
    return {"question.json": values.changed_bytes(rng, data) if rng.random() < 0.4 else data}


@cache
def _viewer() -> Any:
    from servotwin.pendant.view.viewer import _Shown
    from servotwin.robot.load import load_robot

    robot = load_robot("gsis-scara")
    return _Shown(robot, robot.q_home)


def read_question(folder: Path) -> object:
    """The viewer's answer: plain data, or one line."""
    answer = _viewer().answer((folder / "question.json").read_bytes().decode("utf-8", "replace"))
    assert "\n" not in answer.get("error", "")
    return json.dumps(answer, allow_nan=False)


def read_xacro(folder: Path) -> object:
    """A xacro file, refused without permission and expanded with it."""
    from servotwin.description.load import read_description

    try:
        read_description(folder / "arm.urdf.xacro")
    except InputError:
        return read_description(folder / "arm.urdf.xacro", allow_code={})
    raise AssertionError("a xacro file was read without permission")


def read_job(folder: Path) -> object:
    """A job with its points, checked for a robot, and in the one layout."""
    from servotwin.jobs.language import format_job, parse
    from servotwin.jobs.program import load_program

    program = load_program(folder / "first.job")
    for problem in program.check(("A", "B", "Z", "W"), None, (False, False, True, False)):
        str(problem)
    text = format_job(program.job)
    if format_job(parse(text)) != text:
        raise AssertionError("the layout of a job is not stable")
    return text


def read_points(folder: Path) -> object:
    """Points that are accepted read back to the same points, also after an edit of their file."""
    from servotwin.jobs.points import Point, Pose
    from servotwin.jobs.points_file import parse_points, points_text, text_with
    from servotwin.jobs.points_file import read_points as read

    points = read(folder / "first.points.yaml")
    if parse_points(points_text(points)) != points:
        raise AssertionError("points do not read back")
    edits = [
        points.with_frame("added", Pose(x=0.1)),
        points.with_point("added", Point({"A": 0.1}), replace_old=True),
    ]
    for name in list(points.points)[:2]:
        edits += [points.without(name), points.renamed(name, "new-name")]
        edits.append(points.with_point(name, Point(pose=Pose(z=0.2), note="x"), replace_old=True))
    for edited in edits:
        if parse_points(text_with(edited, folder / "first.points.yaml")) != edited:
            raise AssertionError("an edited points file does not read back")
    return points


def read_io(folder: Path) -> object:
    """A script of inputs and keys."""
    from servotwin.simulation.scenario.io_script import read_io_script

    return read_io_script(folder / "io.yaml")


def read_csv(folder: Path) -> object:
    """A log."""
    from servotwin.simulation.comparing.measured_signals import read_measured

    return read_measured(folder / "log.csv", tables.SIGNALS)


def make_poses(rng: Random) -> Files:
    """Measured poses: a log whose columns are named like joints and places, with mistakes."""
    columns = [
        "A_deg",
        "B_deg",
        "Z_mm",
        "W_deg",
        "x_mm",
        "y_mm",
        "z_mm",
        "distance_mm",
        "pair",
        "roll_deg",
        "qw",
        "A [rad]",
    ]
    names = rng.sample(columns, rng.randint(1, len(columns)))
    if rng.random() < 0.7:
        names = columns[: rng.choice((4, 7, 8))]
    cells = ("1", "-0.5", "nan", "", "1e400", "a", "0", "12.5", "\x00")
    rows = [
        ",".join(rng.choice(cells[:2] if rng.random() < 0.9 else cells) for _ in names)
        for _ in range(rng.randint(0, 12))
    ]
    text = "\n".join([",".join(names), *rows]) + "\n"
    return {"poses.csv": text.encode() if rng.random() < 0.8 else tables.mutated_csv(rng)}


def read_poses(folder: Path) -> object:
    """Measured poses."""
    from servotwin.design.calibration.measured_file import read_measured_poses
    from servotwin.robot.load import load_robot

    return read_measured_poses(folder / "poses.csv", load_robot("gsis-scara"))


def read_result(folder: Path) -> object:
    """A result, and its comparison with a log, whose clock is looked for if it may be: numbers and page."""
    from servotwin.report.compare_page import compare_page
    from servotwin.simulation.comparing.compare import compare, comparison_summary
    from servotwin.simulation.comparing.measured_signals import read_measured
    from servotwin.simulation.results.result_files import read_result as read

    saved = read(folder)
    measured = read_measured(folder / "log.csv", saved.signals)
    try:
        comparison = compare(saved, measured)
    except InputError:
        comparison = compare(saved, measured, 0.0)
    comparison_summary(comparison, saved, measured)
    return compare_page(comparison, saved, measured)


def make_folder(rng: Random) -> Files:
    """A result folder: its mark, what a killed run left to do in it, and perhaps a summary."""
    from servotwin.simulation.results.folder import TO_DO
    from servotwin.simulation.results.mark import MARK, mark_text

    mark = mark_text({"summary.json": "0" * 64, "report.html": "1" * 64, "../x": "2" * 64}).encode()
    to_do = b'{"replace": {"summary.json": null, "../x": null, "a/b": null}, "remove": {"report.html": "00"}}'
    left = {f"{LEFT}/{TO_DO}": to_do, f"{LEFT}/a/b": b"new"}
    files = {f"out/{MARK}": mark, "out/summary.json": tables.summary_bytes(rng), **left}
    return {
        name: values.changed_bytes(rng, data) if rng.random() < 0.7 else data for name, data in files.items()
    }


def read_folder(folder: Path) -> object:
    """A folder that gets a result: what was left in it is completed, and its mark is written anew.

    What was left gets the name that only this user's processes can give; any other is not looked at.
    """
    from servotwin.simulation.results.folder import MOVING, RUN_FILES, SUMMARY, hidden_name, replaced_folder

    out = (folder / "out").resolve()
    (folder / LEFT).rename(out / hidden_name(out, MOVING))
    for overwrite in (False, True):
        with (
            contextlib.nullcontext() if overwrite else contextlib.suppress(InputError),
            replaced_folder(out, RUN_FILES, overwrite=overwrite) as fresh,
        ):
            (fresh / SUMMARY).write_text("{}", encoding="utf-8")
    return (out / SUMMARY).read_text(encoding="utf-8")


def read_quantities(folder: Path) -> object:
    """Every line as a quantity of several dimensions, as an expression and as an override."""
    from servotwin.description.compose import resolve
    from servotwin.description.nodes import parse_yaml
    from servotwin.description.units import parse_quantity

    for line in (folder / "lines.txt").read_bytes().decode("utf-8", "surrogatepass").split("\x1e"):
        for unit in ("m", "rad", "", "kg*m^2"):
            try:
                parse_quantity(line, unit)
            except ValueError as error:
                if "\n" in str(error):
                    raise AssertionError(f"more than one line: {error}") from None
        for text in (line, f"= {line}"):
            try:
                resolve(parse_yaml("variables: {a: 2 m}\nb: 1", "x.yaml"), {"b": text, "variables.a": text})
            except InputError:
                continue
    return None


def make_state(rng: Random) -> Files:
    """A state of a model: names and values."""
    words = ("A.position", "A.current", "Z.speed", "A.voltage", "B.wheel", values.nasty(rng))
    numbers = ("2 A", 0.3, -7, "0.1 rad", None, True, 1e400, [1], {"a": 1}, values.nasty(rng))
    found = {rng.choice(words): rng.choice(numbers) for _ in range(rng.randint(0, 5))}
    data = json.dumps(found).encode("utf-8", "surrogatepass")
    return {"state.json": values.changed_bytes(rng, data) if rng.random() < 0.5 else data}


@cache
def _quantities_of_a_model() -> list[Any]:
    from servotwin.robot.complete_model import state_space

    model = state_space("gsis-scara")
    return [*model.states, *model.inputs]


def read_state(folder: Path) -> object:
    """States and inputs by name: finite numbers, or a refusal."""
    from math import isfinite

    from servotwin.cli.model import read_state_file

    found = read_state_file(folder / "state.json", _quantities_of_a_model())
    assert all(isfinite(value) for value in found.values())
    return found


def read_faults(folder: Path) -> object:
    """A plan of faults: instants in order of time and axes that exist, or a refusal."""
    from servotwin.fieldbus.robot.faults import read_fault_plan

    plan = read_fault_plan(folder / "faults.yaml", ("th1", "th2"))
    assert all(each.at >= 0 and -1 <= each.axis < 2 for each in plan)
    return plan


def make_frames(rng: Random) -> Files:
    """Frames of a rig and of its simulator: good ones, changed ones, those with strange numbers, random bytes."""
    from fuzz.rig_frames import frames

    return {"frames.bin": frames(rng)}


def read_frames(folder: Path) -> object:
    """Every frame through both compiled decoders, the handshake's, and the serial line's."""
    from fuzz.rig_frames import read_all

    return read_all((folder / "frames.bin").read_bytes())


def read_pose_table(folder: Path) -> object:
    """A table of poses."""
    from servotwin.design.accuracy.pose_table import parse_poses

    return parse_poses(folder / "poses.csv")


def make_bus_answers(rng: Random) -> Files:
    """What slaves answer to our master."""
    from fuzz.bus_answers import make_answers

    return {"answers.bin": make_answers(rng)}


def read_bus_answers(folder: Path) -> object:
    """A master meets such slaves."""
    from fuzz.bus_answers import read_answers

    return read_answers((folder / "answers.bin").read_bytes())


def make_bus(rng: Random) -> Files:
    """EtherCAT frames with datagrams of all commands, and with SDOs in mailboxes."""
    from fuzz.bus_frames import frames

    return {"frames.bin": frames(rng)}


def read_bus(folder: Path) -> object:
    """Every frame through slaves in OP: registers, mailboxes, SDOs, states, drives."""
    from fuzz.bus_frames import read_all

    return read_all((folder / "frames.bin").read_bytes())


def make_cell(rng: Random) -> Files:
    """Messages to the pendant's cell, and a job with its points that they may name."""
    from fuzz.cell_messages import messages

    text, points = rng.choice(_jobs())
    return {"messages.bin": messages(rng), "a.job": text.encode(), "a.points.yaml": points}


def read_cell(folder: Path) -> object:
    """A cell takes every message."""
    from fuzz.cell_messages import take_all

    return take_all((folder / "messages.bin").read_bytes(), folder)


def make_dropped(rng: Random) -> Files:
    """A request with a robot, in one file or in several, as a page of the viewer sends it."""
    from fuzz.dropped_files import request

    kind = rng.random()
    if kind < 0.4:
        found = dict(make_robot(rng))
    elif kind < 0.7:
        found = dict(make_looks(rng))
    else:
        found = {"arm.urdf": xml_tree.mutated_xml(rng, _urdf())}
    return {"request.bin": request(rng, found)}


def read_dropped(folder: Path) -> object:
    """The robot of such a request, or a refusal."""
    from fuzz.dropped_files import read_request

    return read_request((folder / "request.bin").read_bytes(), folder)


DECODERS: dict[str, Decoder] = {
    "bus": Decoder(make_bus, read_bus, 2),
    "bus-answers": Decoder(make_bus_answers, read_bus_answers),
    "bus-files": Decoder(make_network, read_network, 2),
    "cell": Decoder(make_cell, read_cell, 2),
    "dropped": Decoder(make_dropped, read_dropped, 2),
    "frames": Decoder(make_frames, read_frames, 2),
    "folder": Decoder(make_folder, read_folder),
    "robot": Decoder(make_robot, read_robot, 4),
    "sheets": Decoder(make_sheets, read_sheets, 3),
    "scenario": Decoder(make_scenario, read_scenario, 3),
    "substitution": Decoder(make_substitution, read_substitution, 2),
    "urdf": Decoder(lambda rng: {"arm.urdf": xml_tree.mutated_xml(rng, _urdf())}, read_urdf, 3),
    "xacro": Decoder(lambda rng: {"arm.urdf.xacro": xml_tree.mutated_xml(rng, XACRO, code=True)}, read_xacro),
    "mesh": Decoder(make_mesh, read_urdf),
    "looks": Decoder(make_looks, read_looks),
    "questions": Decoder(make_question, read_question),
    "job": Decoder(make_job, read_job, 3),
    "points": Decoder(make_points, read_points, 2),
    "io": Decoder(
        lambda rng: {"io.yaml": yaml_tree.mutated_yaml(rng, IO_SCRIPT, [IO_SCRIPT, *_points()])}, read_io
    ),
    "poses": Decoder(make_poses, read_poses, 2),
    "faults": Decoder(
        lambda rng: {"faults.yaml": yaml_tree.mutated_yaml(rng, FAULT_PLAN, [FAULT_PLAN, IO_SCRIPT])},
        read_faults,
    ),
    "csv": Decoder(lambda rng: {"log.csv": tables.mutated_csv(rng)}, read_csv, 2),
    "result": Decoder(
        lambda rng: {
            "signals.parquet": tables.parquet_bytes(rng),
            **({"zoom.parquet": tables.parquet_bytes(rng)} if rng.random() < 0.3 else {}),
            "summary.json": tables.summary_bytes(rng),
            "log.csv": tables.plain_csv(rng) if rng.random() < 0.8 else tables.mutated_csv(rng),
        },
        read_result,
        2,
    ),
    "pose-table": Decoder(lambda rng: {"poses.csv": tables.mutated_poses(rng)}, read_pose_table),
    "quantities": Decoder(make_quantities, read_quantities),
    "state": Decoder(make_state, read_state),
}
