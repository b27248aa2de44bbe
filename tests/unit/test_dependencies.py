"""Dependencies: the table of the docs, the pins, the hashes; and the core works without the extras."""

from __future__ import annotations

import ast
import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import servotwin as st
from servotwin.errors import ServotwinError

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
# Modules of the extras that users may lack, and what they bring in.
BLOCKED = (
    "sympy",
    "control",
    "mpmath",
    "pyarrow",
    "trimesh",
    "collada",
    "xacrodoc",
    "xacro",
    "matplotlib",
    "pinocchio",
    "mujoco",
    "dask",
    "distributed",
    "starlette",
    "uvicorn",
    "websockets",
)
WITHOUT_EXTRAS = (
    f"import sys\nsys.modules.update(dict.fromkeys({BLOCKED!r}))\nfrom servotwin.cli.main import main\n"
)


def names(lines: list[str]) -> set[str]:
    return {re.split(r"[\[<>=!~; ]", line)[0] for line in lines} - {"servotwin"}


def declared() -> dict[str, set[str]]:
    """Every direct dependency and the groups that name it."""
    groups = {
        "core": names(PROJECT["dependencies"]),
        **{extra: names(lines) for extra, lines in EXTRAS.items()},
    }
    return {name: {g for g, held in groups.items() if name in held} for name in set.union(*groups.values())}


def table() -> dict[str, list[str]]:
    text = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    rows = [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in text.splitlines()
        if line[:2] == "| "
    ]
    return {row[0]: row[1:] for row in rows if row[0] not in ("dependency", "---")}


def script(name: str) -> Any:
    """A module of ``tools``."""
    spec = importlib.util.spec_from_file_location(f"tools_{name}", ROOT / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_table_of_dependencies_names_each_with_its_groups() -> None:
    assert {name: set(row[3].split(", ")) for name, row in table().items()} == declared()


def test_table_of_dependencies_is_complete() -> None:
    for name, row in table().items():
        what, megabytes, licence, _, instead = row
        assert what, name
        assert int(megabytes) > 0, name
        assert licence, name
        assert instead, name


def test_dev_brings_what_users_may_lack() -> None:
    brought = set(re.findall(r"\w+", EXTRAS["dev"][0].partition("[")[2]))
    assert {"sympy", "control", "arrow", "urdf"} <= brought


# ------------------------------------------------------------------------------------------------ pins
HASHES = r"((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)"
PIN = re.compile(rf"^([a-z0-9.-]+)==([^\s;]+)(?: ; [^\\\n]+)? \\\n{HASHES}", re.MULTILINE)


def hashed() -> dict[str, str]:
    text = (ROOT / "requirements-ci.txt").read_text(encoding="utf-8")
    rest = PIN.sub("", text)
    assert all(line.startswith("#") for line in rest.splitlines()), rest  # no address, no option, no bare pin
    return {found[1]: found[2] for found in PIN.finditer(text)}


def test_hashed_versions_are_those_of_the_constraints() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = dict(line.split("==") for line in lines if not line.startswith("#"))
    found = hashed()
    found.pop("colorama", None)  # Windows only
    assert {name: pinned.get(name) for name in found} == found


def test_every_dependency_of_ci_is_hashed() -> None:
    wanted = {
        name
        for name, groups in declared().items()
        if groups & {"core", "sympy", "control", "arrow", "urdf", "dev", "verify"}
    }
    assert {name.replace(".", "-") for name in wanted} <= set(hashed())


def test_ci_installs_by_hash_and_uses_the_package() -> None:
    text = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    steps = [line for line in text.splitlines() if line.startswith("make")]
    again = "make test || make test PYTEST_ARGS="
    assert [again if step.startswith(again) else step for step in steps] == [
        "make hashed",
        "make lint",
        again,
        "make docs",
        "make package",
        "make fresh",
    ]
    assert "--require-hashes -r requirements-ci.txt" in (ROOT / "Makefile").read_text(encoding="utf-8")


# ----------------------------------------------------------------------------------------------- audit
def answer(*packages: dict[str, Any]) -> dict[str, Any]:
    return {"dependencies": list(packages)}


GOOD = {"name": "a", "version": "1", "vulns": []}
BAD = {"name": "a", "version": "1", "vulns": [{"id": "PYSEC-1", "fix_versions": ["2"]}]}
SKIPPED = {"name": "a", "skip_reason": "not found"}


@pytest.mark.parametrize(
    ("pypi", "osv", "code", "words"),
    [
        (answer(GOOD), None, 0, "no known vulnerability in 1 packages"),
        (answer(BAD), None, 1, "a 1: PYSEC-1, fixed in 2"),
        (None, answer(BAD), 1, "a 1: PYSEC-1, fixed in 2"),
        (answer(GOOD), answer(BAD), 1, "a 1: PYSEC-1, fixed in 2"),
        (answer(SKIPPED), answer(GOOD), 0, "no known vulnerability"),
        (None, None, 3, "no vulnerability service could be asked"),
        (answer(SKIPPED), None, 3, "no vulnerability service could be asked"),
        (
            answer({"name": "b", "version": "1", "vulns": []}, SKIPPED),
            None,
            3,
            "no vulnerability service knows a",
        ),
    ],
)
def test_audit_never_hides_a_finding_nor_takes_silence_for_one(
    pypi: Any, osv: Any, code: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert script("audit").audit({"pypi": pypi, "osv": osv}.get) == code
    said = "".join(capsys.readouterr())
    assert words in said
    assert said.count("\n") == 1


# ------------------------------------------------------------------------------------ without the extras
# Where an extra may be imported: behind a message that names it.
GUARDED = {
    "workers.py": {"dask", "distributed"},
    "to_sympy.py": {"sympy"},
    "system.py": {"control"},
    "tables.py": {"pyarrow"},
    "mesh_files.py": {"trimesh"},
    "mesh_read.py": {"trimesh"},
    "guard.py": {"starlette"},
    "pages.py": {"starlette"},
    "serving.py": {"uvicorn"},
    "viewer.py": {"starlette"},
    "pendant.py": {"starlette"},
    "station.py": {"starlette"},
    "xacro_file.py": {"xacrodoc", "xacro"},
}


def imported(path: Path) -> set[str]:
    """The packages that a module imports, anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add(str(node.module).partition(".")[0])
    return found


def test_core_imports_no_package_that_it_does_not_declare() -> None:
    """Heavy libraries are imported where they are used, so a missing one would show at run time only."""
    core = names(PROJECT["dependencies"]) | {"ruamel", "pydantic_core", "servotwin"}
    for path in sorted((ROOT / "src").rglob("*.py")):
        beyond = imported(path) - core - set(sys.stdlib_module_names) - GUARDED.get(path.name, set())
        assert not beyond, f"{path.name} imports {', '.join(beyond)}"


def without_extras(code: str, tmp_path: Path) -> str:
    command = [sys.executable, "-c", WITHOUT_EXTRAS + code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["demo", "--out", "out"],
        ["simulate", "scara-a-axis-100deg", "--set", "move.0.to={A: 1 deg}", "--out", "out"],
        ["job", "run", "scara-line", "--out", "out"],
        ["equations", "gsis-scara", "--out", "out.html"],
        ["tune", "gsis-scara", "--out", "out"],
        ["info", "gsis-scara"],
    ],
    ids=lambda words: words[0],
)
def test_command_works_without_the_extras(arguments: list[str], tmp_path: Path) -> None:
    assert without_extras(f"assert main({arguments!r}) == 0", tmp_path)


COMPARED = """
arguments = ["simulate", "scara-a-axis-100deg", "--set", "move.0.to={A: 1 deg}", "--out", "out"]
assert main(arguments) == 0
import numpy as np
from servotwin.simulation.results.result_files import read_result
names = ["time_s", "joint_A_position_rad"]
rows = np.stack([read_result("out").signals[name] for name in names], axis=1)
np.savetxt("log.csv", rows, delimiter=",", header=",".join(names), comments="")
assert main(["compare", "out", "log.csv", "--out", "compared"]) == 0
"""


def test_result_is_compared_with_a_log_without_the_extras(tmp_path: Path) -> None:
    assert without_extras(COMPARED, tmp_path)
    assert (tmp_path / "compared" / "comparison.parquet").stat().st_size > 0


@pytest.mark.parametrize("command", ["view", "pendant"])
def test_page_without_its_extra_is_refused_in_one_line_that_names_it(command: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_EXTRAS + f"sys.exit(main([{command!r}, 'gsis-scara', '--no-browser']))"],
        capture_output=True, text=True, timeout=300, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == "pages in the browser need further packages: pip install 'servotwin[pendant]'\n"
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("call", ["st.derive(robot).sympy()", "to_sympy(None)"])
def test_sympy_objects_without_sympy_name_the_extra(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from servotwin.equations.export import to_sympy

    monkeypatch.setitem(sys.modules, "sympy", None)
    robot = st.load_robot("gsis-scara")
    with pytest.raises(
        ServotwinError, match=r"^SymPy objects need the package sympy: pip install 'servotwin\[sympy\]'$"
    ):
        _ = st.derive(robot).sympy() if "derive" in call else to_sympy(None)  # type: ignore[arg-type]


def test_python_control_objects_without_python_control_name_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    linear = st.study_model("double-pendulum").linear
    monkeypatch.setitem(sys.modules, "control", None)
    with pytest.raises(
        ServotwinError, match=r"need the package control: pip install 'servotwin\[control\]'$"
    ):
        linear.control()
