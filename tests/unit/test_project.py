"""The repository around the code: documents, versions and pins agree with each other."""

from __future__ import annotations

import ast
import importlib.metadata
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import servotwin
from tests.campaign import VARIABLE, cases

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
VERSION = PROJECT["version"]
FIRST_SCREEN = 40  # lines that a code host shows before one scrolls
NOT_FOR_CONTROL = {"drives", "mechanism", "simulation"}

# Absolute paths of one machine: /home/..., /Users/..., drive letters. A preceding letter, dot or slash
# makes it a part of a relative path or of an address.
MACHINE_PATH = re.compile(r"(?<![\w./:}*-])(?:/(?:home|root|work|Users|opt)/\w|[A-Z]:\\Users\\)")
MARKDOWN_LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)")


def tracked_files() -> list[Path]:
    """Files under version control, or every file beside the caches if this is an unpacked archive."""
    if (ROOT / ".git").exists():
        command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
        names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
        return [ROOT / name for name in names.split("\0") if name and (ROOT / name).is_file()]
    skipped = {".venv", "out", "build", "dist", "__pycache__"}
    return [
        path
        for path in ROOT.rglob("*")
        if path.is_file() and not any(p in skipped or p.endswith(("_cache", ".egg-info")) for p in path.parts)
    ]


def text_of(path: Path) -> str | None:
    """The text of a file, None if it is not text."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None


def documents() -> list[Path]:
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def imported_packages(source: str) -> set[str]:
    """Names of the packages directly below ``servotwin`` that a module of ``servotwin.control`` imports."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif (
            isinstance(node, ast.ImportFrom) and node.level >= 2
        ):  # from .. import drives, from ..drives import x
            names = [f"servotwin.{node.module or ''}.{alias.name}".replace("..", ".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        found |= {name.split(".")[1] for name in names if name.startswith("servotwin.")}
    return found


@pytest.mark.parametrize("command", ["make demo", "make test"])
def test_readme_first_screen_shows_command(command: str) -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert command in "\n".join(lines[:FIRST_SCREEN])


def test_version_everywhere_is_the_same() -> None:
    assert importlib.metadata.version("servotwin") == VERSION
    assert getattr(servotwin, "__version__", VERSION) == VERSION
    assert f"\nversion: {VERSION}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_changelog_of_current_version_has_numbers_change_section() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    sections = {part.split("]")[0]: part for part in text.split("\n## [")[1:]}
    assert "### Numbers change" in sections[VERSION]


def test_tracked_text_contains_no_machine_path() -> None:
    hits = [
        f"{path.relative_to(ROOT)}: {match.group()}"
        for path in tracked_files()
        if (text := text_of(path)) is not None
        for match in MACHINE_PATH.finditer(text)
    ]
    assert hits == []


@pytest.mark.parametrize("document", documents(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_document_relative_links_lead_to_files(document: Path) -> None:
    targets = MARKDOWN_LINK.findall(document.read_text(encoding="utf-8"))
    missing = [t for t in targets if "://" not in t and not (document.parent / t).exists()]
    assert missing == []


def test_constraints_pin_every_direct_dependency_exactly() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[a-z0-9.-]+==[\w.!+-]+", pin) for pin in pins)
    pinned = {pin.split("==")[0] for pin in pins}
    groups = [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()]
    names = {re.split(r"[\[<>=!~; ]", entry)[0] for group in groups for entry in group} - {"servotwin"}
    assert {name.replace(".", "-") for name in names} <= pinned


@pytest.mark.parametrize(
    "line",
    [
        "import servotwin.drives.dc",
        "from servotwin import simulation",
        "from servotwin.mechanism import model",
        "from ..mechanism.model import Mechanism",
        "from .. import drives",
    ],
)
def test_control_import_of_plant_is_recognised(line: str) -> None:
    assert imported_packages(line) & NOT_FOR_CONTROL


def test_control_imports_neither_drives_nor_mechanism_nor_simulation() -> None:
    modules = sorted((ROOT / "src" / "servotwin" / "control").rglob("*.py"))
    broken = {m.name: imported_packages(m.read_text(encoding="utf-8")) & NOT_FOR_CONTROL for m in modules}
    assert not any(broken.values()), broken


def test_benchmarks_need_nothing_beyond_their_extra() -> None:
    """``make bench`` installs the package with its extra ``bench``, without test tools."""
    extras = PROJECT["optional-dependencies"]
    wanted = [*PROJECT["dependencies"], *extras["bench"], *extras["verify"]]
    names = {re.split(r"[<>=\[]", line)[0].replace("-", "_") for line in wanted}
    modules = {"pinocchio", "roboticstoolbox", "gym_electric_motor", "servotwin", "benchmarks", "ruamel"}
    allowed = sys.stdlib_module_names | names | modules
    for path in sorted((ROOT / "benchmarks").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            found = []
            if isinstance(node, ast.Import):
                found = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                found = [node.module or ""]
            roots = {name.partition(".")[0] for name in found}
            assert roots <= allowed, f"{path.name} imports {', '.join(sorted(roots - allowed))}"


def test_ci_proves_demo_test_and_bench_in_a_fresh_clone() -> None:
    assert "make fresh" in (ROOT / ".ci/run").read_text(encoding="utf-8").splitlines()
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    recipe = makefile.partition("\nfresh:")[2].partition("\n\n")[0]
    assert recipe.startswith("  ##")  # nothing is installed before
    assert "tools/fresh_clone.py" in recipe
    targets = re.findall(
        r'^    "(\w+)": \["(\w+)"', (ROOT / "tools/fresh_clone.py").read_text(encoding="utf-8"), re.M
    )
    assert targets == [(name, name) for name in ("demo", "test", "bench")]


def test_makefile_lists_every_target_among_the_phony_ones() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    phony = re.search(r"^\.PHONY: (.*)$", makefile, re.M)
    assert phony is not None
    assert set(re.findall(r"^([a-z-]+):", makefile, re.M)) == set(phony[1].split())


def test_tests_that_take_a_sample_are_found_by_the_campaign() -> None:
    """``make campaign`` runs what bears the mark, with all cases; a sample without it would be all that is ever run."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert f"{VARIABLE}=1 $(BIN)/python -m pytest -q $(PYTEST_ARGS) -m campaign" in makefile
    sampled = 0
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        if path == Path(__file__).resolve():
            continue
        text = path.read_text(encoding="utf-8")
        marked = len(re.findall(r"^@campaign$", text, re.M))
        assert len(re.findall(r"\bcases\([\d_]+, [\d_]+\)", text)) == marked, path.name
        sampled += marked
    assert sampled > 5


def test_campaign_takes_all_cases_and_the_tests_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert cases(3, 9) == 3
    monkeypatch.setenv(VARIABLE, "1")
    assert cases(3, 9) == 9


FACTOR = re.compile(
    r"180(?:\.0)? ?/ ?(?:math|np)\.pi|(?:30|60)\.0 ?/ ?\(?(?:2\.0 \* )?(?:math|np)\.pi|\.degrees\(|rad2deg"
)


def test_factors_of_shown_units_stand_in_one_module() -> None:
    """Degrees, turns per minute: from ``description/display.py``; only doctests convert by themselves."""
    for path in sorted((ROOT / "src" / "servotwin").rglob("*.py")):
        if path.name in ("display.py", "units.py"):
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            assert ">>>" in line or not FACTOR.search(line), f"{path.name}:{number}: {line.strip()}"
