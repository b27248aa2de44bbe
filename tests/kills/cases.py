"""The commands that write, what they write over, and how to tell the old result, the new one and a mixture apart."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

MARK = ".servotwin-result"
RESULT_FILES = (
    *("summary.json", "signals.parquet", "zoom.parquet", "report.html", "instructions.json"),
    *("tuning.html", "tuning.json", "comparison.html", "comparison.json", "comparison.parquet"),
    *("model.html", "model.json", "model.mat", "model.m", "model.txt", "model.tex"),
    *("model_equations.c", "model_equations.py", "design.html", "design.json"),
    *("optimal.html", "optimal.json", "optimal.parquet", "link.parquet"),
    *("linetest.html", "linetest.json", "signals.mcap"),
    *("statics.html", "statics.json", "workspace.html", "workspace.json", "boundary.csv", "map.csv"),
    *("calibration.html", "calibration.json", "residuals.csv", "calibrated-robot.yaml"),
    *("sizing.html", "sizing.json", "sizing.csv"),
    *("accuracy.html", "accuracy.json", "accuracy.csv", "attained.csv"),
)
POINTS = """\
# the cell on the left
format: servotwin-points/1
robot: gsis-scara
points:
  # by hand
  P1: {joints: {A: 0 deg, B: 0 deg, Z: 0 mm, W: 0 deg}}  # corner
  P2: {joints: {A: 10 deg, B: 0 deg, Z: 0 mm, W: 0 deg}}
"""
JOBS = ("# pick\nMOVEJ P1 SPEED 50%  # go\nMOVEJ P2\n", "MOVEJ P1 SPEED 50%   # go\n")


class Mixture(AssertionError):
    """What a killed command left is neither the old nor the new result."""


@dataclass(frozen=True)
class Case:
    """A command that writes.

    ``words(k)``: its command line for the k-th version of the result, in the folder ``place``; ``prepare`` fills that
    folder; ``state`` tells what is there, and raises ``Mixture`` for parts of two. ``keys``: typed into its terminal.
    ``reset`` puts the first version back before each try, where the command leads one way only.
    ``fixed``: a version is the same however often it is written, so that there are exactly two states.
    ``in_child``: called in the process of the command before it.
    """

    name: str
    words: Callable[[int], list[str]]
    state: Callable[[Path], str]
    prepare: Callable[[Path], None] = lambda place: None
    keys: Callable[[int], str] | None = None
    reset: Callable[[Path], None] | None = None
    fixed: bool = True
    in_child: Callable[[], None] = lambda: None

    @property
    def folder(self) -> bool:
        """Whether it writes a result folder."""
        return self.state in (whole_result, whole_job_result, current_folder)


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def visible(place: Path) -> dict[str, str]:
    """All files below a folder but the hidden ones that a killed process may leave, with their digests."""
    files = (path for path in sorted(place.rglob("*")) if path.is_file())
    return {
        path.relative_to(place).as_posix(): digest(path)
        for path in files
        if not any(part.startswith(".servotwin-") for part in path.relative_to(place).parts[:-1])
        and (path.name == MARK or not path.name.startswith(".servotwin-"))
    }


def whole_result(place: Path) -> str:
    """The state of a result folder: every file as its mark lists it, none of ours beside; notes untouched."""
    out = place / "out" if (place / "out").exists() else place
    marks = [path for path in out.rglob(MARK) if ".servotwin-" not in path.parent.as_posix()]
    if not marks:
        raise Mixture("no mark")
    for mark in marks:
        listed = json.loads(mark.read_bytes())["files"]
        for name, sha in listed.items():
            if not (mark.parent / name).is_file() or digest(mark.parent / name) != sha:
                raise Mixture(f"{mark.parent / name} is not of the same result as its mark")
        extra = [n for n in RESULT_FILES if (mark.parent / n).exists() and n not in listed]
        if extra:
            raise Mixture(f"{extra} beside a result that they do not belong to")
    if (out / "notes.txt").read_text(encoding="utf-8") != "mine":
        raise Mixture("the user's notes were changed")
    return "".join(digest(mark) for mark in sorted(marks))


def whole_job_result(place: Path) -> str:
    """The same for the run of a job; instructions and summary have as many entries."""
    state = whole_result(place)
    summary = json.loads((place / "out" / "summary.json").read_bytes())
    steps = json.loads((place / "out" / "instructions.json").read_bytes())
    if len(steps) != len(summary["job"]["entries"]):
        raise Mixture("instructions of another run")
    return state


def all_files(place: Path) -> str:
    """The state of plain files."""
    return json.dumps(visible(place), sort_keys=True)


def current_folder(place: Path) -> str:
    """The state of a result in the current folder, once the next command has completed what was begun."""
    from servotwin.simulation.results.folder import recover

    recover(place)
    return whole_result(place)


def points_and_job(place: Path) -> str:
    """The state of a points file and its job, as the next reader finds them."""
    from servotwin.jobs.language import read_job
    from servotwin.jobs.points_file import read_points

    points, job = read_points(place / "pick.points.yaml"), read_job(place / "pick.job")
    for name in ("P1", "Q1"):
        if (name in points) != (f"'{name}'" in repr(job) or f'"{name}"' in repr(job)):
            raise Mixture(f"points and job differ about {name}")
    text = (place / "pick.points.yaml").read_text(encoding="utf-8")
    if "# by hand" not in text or "# corner" not in text:
        raise Mixture("a comment is lost")
    return text


def notes(place: Path) -> None:
    (place / "out").mkdir()
    (place / "out" / "notes.txt").write_text("mine", encoding="utf-8")


def poses(place: Path) -> None:
    """Measured poses of a SCARA arm as drawn, beside what the user keeps."""
    import numpy as np

    from servotwin.robot.load import load_robot

    notes(place)
    rows = ["A_deg,B_deg,Z_mm,W_deg,x_mm,y_mm,z_mm"]
    robot = load_robot("gsis-scara")
    for q in robot.random_q(np.random.default_rng(0), 40):
        x, y, z = robot.fkine(q)[:3, 3]
        a, b, w = np.degrees(q[[0, 1, 3]])
        rows.append(f"{a:.9f},{b:.9f},{1e3 * q[2]:.9f},{w:.9f},{1e3 * x:.6f},{1e3 * y:.6f},{1e3 * z:.6f}")
    (place / "poses.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")


def notes_here(place: Path) -> None:
    (place / "notes.txt").write_text("mine", encoding="utf-8")


def taught(place: Path) -> None:
    (place / "pick.points.yaml").write_text(POINTS, encoding="utf-8")
    (place / "pick.job").write_text(JOBS[0], encoding="utf-8")


def two_poses(place: Path) -> None:
    notes(place)
    (place / "poses.csv").write_text(
        "x_mm,y_mm,z_mm,yaw_deg\n400,0,-50,90\n380,40,-60,90\n", encoding="utf-8"
    )


def listed(place: Path) -> None:
    for k in (0, 1):
        rows = "".join(f"m{i},{i + k + 1}\n" for i in range(500))
        (place / f"list{k}.csv").write_text(f"name,rated_torque [N*m]\n{rows}", encoding="utf-8")


def unformatted(place: Path) -> None:
    (place / "a.job").write_text("movej P1  # go\n" * 2000, encoding="utf-8")


def other_firmware(place: Path) -> None:
    (place / "a.c").write_text("/* of another version */\n" * 400, encoding="utf-8")


def other_esi(place: Path) -> None:
    (place / "a.xml").write_text("<!-- of another version -->\n" * 400, encoding="utf-8")


def without_wire() -> None:
    """Slaves in the process of the controller instead of an interface, and a socket without a peer for drives."""
    import socket
    from collections.abc import Iterator
    from contextlib import contextmanager

    from servotwin.fieldbus import interface, serving
    from servotwin.fieldbus.cia402.application import Drives, ideal_plant
    from servotwin.fieldbus.controller import run
    from servotwin.fieldbus.ethercat.master.port import Port, SegmentPort
    from servotwin.fieldbus.ethercat.slave.records import ClockKind
    from servotwin.fieldbus.ethercat.slave.segment import Segment
    from servotwin.robot.load import load_robot

    @contextmanager
    def opened_port(*_: object, **__: object) -> Iterator[Port]:
        robot, drives = load_robot("palletizer-4"), Drives((1, 1, 1, 1))
        drives.attach(ideal_plant(drives))
        drives.drives["feedback"]["position"] = robot.mechanism.rotors.N @ robot.q_home
        yield SegmentPort(Segment(drives.application(), clock=ClockKind.LOCK_STEP))

    def pair(_: str) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        theirs.detach()
        ours.setblocking(False)
        return ours

    interface.check_interface = lambda name: None  # type: ignore[assignment]
    run.opened_port = opened_port  # type: ignore[assignment]
    serving.open_raw = pair  # type: ignore[assignment]
    serving.drop_rights = list  # type: ignore[assignment]


def cell_here() -> None:
    """The pendant's cell and workbench in this process, with one key pressed: what is written there is what is killed.

    The number of the port says which version is written: below 10 points are renamed in the cell, else a job is saved.
    """
    from contextlib import nullcontext
    from types import SimpleNamespace

    from servotwin.pendant.cell.run import Cell
    from servotwin.pendant.cell.setup import CellSettings
    from servotwin.pendant.page import pendant
    from servotwin.pendant.page.workbench import Workbench
    from servotwin.robot.load import load_robot

    def press(folder: str, k: int) -> None:
        answers: list[dict[str, object]] = []
        cell = Cell(CellSettings("gsis-scara", "ideal", folder), answers.append)
        cell.period(0)
        old, new = NAMES[k]
        cell.take({"key": "load", "with": {"job": "pick.job"}})
        cell.take({"key": "rename", "with": {"name": old, "new": new}})
        assert all(answer["ok"] for answer in answers), answers

    def teach_pendant(robot: str, changes: object, *, folder: str, port: int, **_: object) -> object:
        def wait() -> None:
            if port < 10:
                press(str(Path(folder).absolute()), port)
            else:
                bench = Workbench(CellSettings("gsis-scara", "ideal", folder), load_robot("gsis-scara"))
                bench.save("pick.job", JOBS[port - 10] * 2000)

        return nullcontext(SimpleNamespace(url="", viewer_url="", wait=wait))

    pendant.teach_pendant = teach_pendant  # type: ignore[assignment]


def measured(place: Path) -> None:
    import numpy as np

    from servotwin.cli.main import main

    notes(place)
    run = place.parent / "run"
    shutil.rmtree(run, ignore_errors=True)
    assert main(["simulate", "scara-a-axis-100deg", "--out", str(run), "--no-report"]) == 0
    t = np.arange(0.0, 1.0, 0.005)
    for k in (0, 1):
        rows = [f"{a:.4f},{1e-3 * (k + 1) * a:.6f}" for a in t]
        text = "\n".join(["time_s,joint_A_position_rad", *rows])
        (place.parent / f"measured{k}.csv").write_text(text, encoding="utf-8")


def _teach(*words: str) -> list[str]:
    return ["teach", "pick.points.yaml", *words]


def _q(k: int) -> str:
    return f"{k + 1} deg, 0 deg, 0 mm, 0 deg"


ROBOTS = ("met-two-link", "gsis-scara")
ANGLES = ("20 deg", "30 deg")
NAMES = (("P1", "Q1"), ("Q1", "P1"))
OVER = "--overwrite"
RECORD = ("--points", "pick.points.yaml", "--record")

CASES = [
    Case(
        "simulate",
        lambda k: [
            "simulate",
            "scara-a-axis-100deg",
            "--out",
            "out",
            OVER,
            "--no-report",
            "--seed",
            str(k + 1),
        ],
        whole_result,
        notes,
        fixed=False,
    ),
    Case(
        "simulate with report",
        lambda k: ["simulate", "scara-a-axis-100deg", "--out", "out", OVER, "--seed", str(k + 1)],
        whole_result,
        notes,
        fixed=False,
    ),
    Case(
        "simulate here",
        lambda k: [
            "simulate",
            "scara-a-axis-100deg",
            "--out",
            ".",
            OVER,
            "--seed",
            str(k + 1),
            *(["--no-report"] if k else []),
        ],
        current_folder,
        notes_here,
        fixed=False,
    ),
    Case(
        "job run",
        lambda k: [
            "job",
            "run",
            "scara-line",
            "--out",
            "out",
            OVER,
            "--seed",
            str(k + 1),
            *(["--no-report"] if k else []),
        ],
        whole_job_result,
        notes,
        fixed=False,
    ),
    Case(
        "tune",
        lambda k: ["tune", "gsis-scara", "--out", "out", OVER, "--speed", f"{100 + k} rad/s"],
        whole_result,
        notes,
    ),
    Case(
        "model",
        lambda k: ["model", "gsis-scara", "--out", "out", OVER, "--q", f"{10 + k} deg, 0 deg, 0 mm, 0 deg"],
        whole_result,
        notes,
    ),
    Case(
        "design",
        lambda k: ["design", "gsis-scara", "--out", "out", OVER, "--bandwidth", f"{50 + k} rad/s"],
        whole_result,
        notes,
    ),
    Case(
        "statics",
        lambda k: ["statics", "gsis-scara", "--out", "out", OVER, "--force", f"0 N, {10 + k} N, 0 N"],
        whole_result,
        notes,
    ),
    Case(
        "calibrate",
        lambda k: [
            "calibrate",
            "gsis-scara",
            "--measured",
            "poses.csv",
            "--out",
            "out",
            OVER,
            "--seed",
            f"{k}",
        ],
        whole_result,
        poses,
    ),
    Case(
        "linetest",
        lambda k: ["linetest", "palletizer-4", "--out", "out", OVER, "--speed", f"{1.0 + 0.01 * k} m/s"],
        whole_result,
        notes,
        fixed=False,
    ),
    Case(
        "workspace",
        lambda k: ["workspace", "gsis-scara", "--out", "out", OVER, "--tolerance", f"{1 + k} mm"],
        whole_result,
        notes,
    ),
    Case(
        "iso9283",
        lambda k: [
            *(
                "iso9283",
                "gsis-scara",
                "--poses",
                "poses.csv",
                "--cycles",
                "2",
                "--workers",
                "1",
                "--out",
                "out",
                OVER,
            ),
            *("--rest", "0.3 s", "--off", "torsion,hysteresis,transmission_error", "--seed", str(k + 1)),
        ],
        whole_result,
        two_poses,
    ),
    Case(
        "size",
        lambda k: [
            *("size", "palletizer-4", "--job", "palletizer-line", "--out", "out", OVER),
            *("--rest", f"{1 + k} s"),
        ],
        whole_result,
        notes,
    ),
    Case(
        "optimise",
        lambda k: [
            *("optimise", "gsis-scara", "--out", "out", OVER),
            *("--to", f"{20 + k} deg, 10 deg, 0 mm, 0 deg", "--intervals", "20"),
        ],
        whole_result,
        notes,
        fixed=False,
    ),
    Case(
        "optimise played",
        lambda k: [
            *("optimise", "gsis-scara", "--play", "out", OVER),
            *("--to", f"{5 + k} deg, 3 deg, 0 mm, 0 deg", "--intervals", "20"),
        ],
        whole_result,
        notes,
        fixed=False,
    ),
    Case(
        "simulate substituted",
        lambda k: ["simulate", "met-substituted", "--out", "out", OVER, "--seed", str(k + 1)],
        whole_result,
        notes,
        fixed=False,
    ),
    Case(
        "hil",
        lambda k: [
            *("hil", "met-substituted", "--simulated-time", "--out", "out", OVER, "--seed", str(k + 1)),
            *(["--no-report"] if k else []),
        ],
        whole_result,
        notes,
        fixed=False,
    ),
    Case(
        "rig firmware",
        lambda k: ["rig", "--firmware", "a.c", OVER],
        all_files,
        other_firmware,
        reset=other_firmware,
    ),
    Case(
        "drives esi",
        lambda k: ["drives", "palletizer-4", "--esi", "a.xml", OVER],
        all_files,
        other_esi,
        reset=other_esi,
    ),
    Case(
        "drives eni",
        lambda k: ["drives", "palletizer-4", "--eni", "a.xml", OVER],
        all_files,
        other_esi,
        reset=other_esi,
    ),
    Case(
        "drives record",
        lambda k: [
            *("drives", "palletizer-4", "--interface", "x", "--for", "0.3 s", "--record", "out", OVER),
            *("--seed", str(k + 1)),
        ],
        whole_result,
        notes,
        fixed=False,
        in_child=without_wire,
    ),
    Case(
        "control",
        lambda k: [
            *("control", "palletizer-4", "--interface", "x", "--lock-step", "--job", "palletizer-line"),
            *("--out", "out", OVER, "--mcap", "--override", str(100 - 50 * k)),
        ],
        whole_result,
        notes,
        fixed=False,
        in_child=without_wire,
    ),
    Case(
        "compare",
        lambda k: ["compare", "../run", f"../measured{k}.csv", "--out", "out", OVER],
        whole_result,
        measured,
    ),
    Case(
        "demo",
        lambda k: ["demo", "--out", "out", OVER, "--set", f"variables.load={k + 1} kg"],
        whole_result,
        notes,
        fixed=False,
    ),
    Case("equations page", lambda k: ["equations", ROBOTS[k], "--out", "a.html", OVER], all_files),
    Case("equations code", lambda k: ["equations", ROBOTS[k], "--out", "a.c", OVER], all_files),
    Case("schema", lambda k: ["schema", ("robot", "scenario")[k], "--out", "a.json", OVER], all_files),
    Case(
        "catalogue import",
        lambda k: ["catalogue", "import", f"list{k}.csv", "--out", "a.yaml", OVER],
        all_files,
        listed,
    ),
    Case(
        "catalogue export",
        lambda k: [
            "catalogue",
            "export",
            "generic-gears.yaml",
            "--kind",
            ("gears", "screws")[k],
            "--out",
            "a.csv",
            OVER,
        ],
        all_files,
    ),
    Case("convert to yaml", lambda k: ["convert", ROBOTS[k], "a.yaml", OVER], all_files),
    Case("convert to urdf", lambda k: ["convert", ROBOTS[k], "a.urdf", OVER], all_files),
    Case(
        "teach record",
        lambda k: _teach("record", "P2", "--q", _q(k), "--replace"),
        points_and_job,
        taught,
        fixed=False,
    ),
    Case("teach edit", lambda k: _teach("edit", "P2", f"A={ANGLES[k]}"), points_and_job, taught),
    Case("teach frame", lambda k: _teach("frame", "table", f"x={k + 1} mm"), all_files, taught),
    Case("teach tool", lambda k: _teach("tool", "gripper", f"z={k + 1} mm"), all_files, taught),
    Case(
        "teach delete",
        lambda k: _teach("record", "P2", "--q", _q(k)) if k else _teach("delete", "P2"),
        points_and_job,
        taught,
        fixed=False,
    ),
    Case(
        "jog record",
        lambda k: ["jog", "gsis-scara", "--joint", "A", "--by", "1 deg", *RECORD, f"N{time.time_ns()}"],
        points_and_job,
        taught,
        fixed=False,
    ),
    Case("job format", lambda k: ["job", "format", "a.job"], all_files, unformatted, reset=unformatted),
    Case("teach rename", lambda k: _teach("rename", *NAMES[k]), points_and_job, taught),
    Case(
        "console rename",
        lambda k: ["console", "gsis-scara", "--job", "pick.job"],
        points_and_job,
        taught,
        keys=lambda k: f"n{' '.join(NAMES[k])}\rQ",
    ),
    Case(
        "pendant rename",
        lambda k: ["pendant", "gsis-scara", "--folder", ".", "--no-browser", "--port", str(k)],
        points_and_job,
        taught,
        in_child=cell_here,
    ),
    Case(
        "pendant save",
        lambda k: ["pendant", "gsis-scara", "--folder", ".", "--no-browser", "--port", str(10 + k)],
        all_files,
        taught,
        in_child=cell_here,
    ),
    Case(
        "console record",
        lambda k: ["console", "gsis-scara", "--job", "pick.job"],
        points_and_job,
        taught,
        keys=lambda k: f"A{('P2', 'P1')[k]}\rQ",
        fixed=False,
    ),
]
