"""Text of a file stays data: in no export does a name or title become code, markup or a terminal command."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import servotwin as st
from servotwin.cli.main import main
from servotwin.description.load import CATALOGUE, read_description
from servotwin.description.nodes import parse_yaml
from servotwin.description.write import write_yaml, yaml_text
from servotwin.errors import InputError
from servotwin.jobs.language import parse
from servotwin.jobs.points_file import parse_points
from servotwin.report.animation import _html as animation_html
from servotwin.report.equations_page import equations_html
from servotwin.report.page import Card, Figure, Page
from servotwin.robot.derive import numbered
from servotwin.robot.model_export import export_model
from servotwin.robot.robot import Robot
from servotwin.simulation.comparing.measured_signals import read_measured
from servotwin.simulation.results.result_files import read_result

# What ends a comment, a string or an element somewhere; names hold no blank, '.', '#', '=' and ','.
NAMES = (
    '*/system("x");/*', '"""', "\\N{BULLET}", "*)Quit[](*", "**))Quit[]", "(*", "</script><script>", "'onload",
    "\\write18{x}", "^^5cinput", "%}", "$$", "`id`", "??/", "__import__('os')", "\\", "-->", "]]>", "{", "&lt;b>",
)  # fmt: skip
TITLES = (
    *NAMES, '*/ system("x"); /*', "%} x = 1; %{", r"\input{/etc/passwd} \write18{rm}", "% comment",
    '""" + exit() + """', "*) DeleteFile[x] (*", "</title></script><script>alert(1)</script>", "' onload='x' y=\"",
    "<img src=x onerror=y>", "[a](javascript:x)", "//*", "\\\\", "a?" + "?/\\",
)  # fmt: skip
FOURBAR = (CATALOGUE / "planar-fourbar.yaml").read_text(encoding="utf-8")
PAIR = """\
format: servotwin/1
name: pair
title: {title}
axes:
  {a}: {{type: revolute, mdh: {{}}, link: {{mass: 1 kg, center: [100 mm, 0 mm, 0 mm], name: {b}}}}}
  B: {{type: prismatic, mdh: {{a: 200 mm}}, link: {{mass: 1 kg, shapes: [{{mesh: {a}}}]}}}}
"""


def closed(tmp_path: Path, title: str, names: tuple[str, ...]) -> Robot:
    """A four-bar whose title, passive joints and loop are named so."""
    text = re.sub(r"(?m)^title: .*$", lambda _: f"title: {json.dumps(title)}", FOURBAR)
    for old, new in zip(("r2", "r3", "pin"), names, strict=True):
        text = re.sub(rf"\b{old}\b", lambda _, new=new: json.dumps(new), text)
    path = tmp_path / "bar.yaml"
    path.write_text(text, encoding="utf-8")
    return st.load_robot(path)


def pair(tmp_path: Path, title: str, name: str) -> Path:
    path = tmp_path / "pair.yaml"
    a, b = json.dumps(name), json.dumps(name + "y")
    path.write_text(PAIR.format(title=json.dumps(title), a=a, b=b), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def harmless(tmp_path_factory: pytest.TempPathFactory) -> Robot:
    return closed(tmp_path_factory.mktemp("h"), "plain", ("x", "y", "z"))


# Each name once, three to a robot; all titles in one, and those that end or begin something alone.
TRIPLES = [(*NAMES[k : k + 3], "u", "v")[:3] for k in range(0, len(NAMES), 3)]
ALONE = ['"""', "\\", "**))Quit[]", " ".join(TITLES), " ".join(reversed(TITLES)), "(*", "%"]
CASES = list(zip(ALONE, TRIPLES, strict=True))
PAIRS = [("plain", name) for name in NAMES] + [(title, "B2") for title in TITLES]


# --- Python, C, Mathematica: what is left without comments is the same code -------------------------


def python_code(text: str) -> str:
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef)
            and ast.get_docstring(node) is not None
        ):
            node.body = node.body[1:]
    return ast.dump(tree)


def c_code(text: str) -> list[str]:
    """The tokens, as a compiler sees them: splices and trigraphs first, then comments."""
    assert "??/" not in text
    assert "\\\n" not in text
    assert '"' not in re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.S).split()


def matlab_code(text: str) -> list[str]:
    """The lines without their comments; none is a block comment."""
    assert not re.search(r"^\s*[%#][{}]\s*$", text, re.MULTILINE)
    return [re.sub(r"%.*", "", re.sub(r"'[^']*'", "''", line)).rstrip() for line in text.splitlines()]


def mathematica_code(text: str) -> str:
    """The text outside of comments, which nest."""
    depth, out = 0, []
    for part in re.split(r"(\(\*|\*\))", text):
        depth += {"(*": 1, "*)": -1}.get(part, 0)
        assert depth >= 0
        if depth == 0 and part not in ("(*", "*)"):
            out.append(part)
    assert depth == 0
    return "".join(out)


def tex_code(text: str) -> tuple[list[str], int, int]:
    """Commands other than those of escaped characters, comments, signs of mathematics."""
    spelled = re.sub(
        r"\\(textbackslash|textasciitilde|textasciicircum|textless|textgreater|textbar|textquotedbl)\{\}|\\[#$%&_{}]",
        "", text,
    )  # fmt: skip
    assert spelled.count("{") == spelled.count("}")
    assert "^^" not in spelled
    commands = re.findall(r"\\(?:[A-Za-z]+|.)", spelled)
    return commands, len(re.findall("%", spelled)), spelled.count("$")


EXPORTS: list[tuple[str, Callable[[Robot], str], Callable[[str], Any]]] = [
    ("python", lambda r: st.derive(r).python(), python_code),
    ("python, numbered", lambda r: numbered(r, "python"), python_code),
    ("c99", lambda r: numbered(r, "c99"), c_code),
    ("matlab", lambda r: numbered(r, "matlab"), matlab_code),
    ("mathematica", lambda r: st.derive(r).mathematica(), mathematica_code),
    ("mathematica, numbered", lambda r: numbered(r, "mathematica"), mathematica_code),
    ("latex", lambda r: st.derive(r).latex(), tex_code),
    ("latex, numbered", lambda r: numbered(r, "latex"), tex_code),
]


@pytest.mark.parametrize(("title", "names"), CASES)
def test_export_of_a_nasty_robot_is_the_code_of_a_harmless_one(
    title: str, names: tuple[str, ...], harmless: Robot, tmp_path: Path
) -> None:
    nasty = closed(tmp_path, title, names)
    for language, export, code in EXPORTS:
        assert code(export(nasty)) == code(export(harmless)), language


MODEL_EXPORTS = [
    ("python", python_code), ("c99", c_code), ("matlab", matlab_code), ("mathematica", mathematica_code),
    ("latex", tex_code),
]  # fmt: skip


@pytest.mark.parametrize(("language", "code"), MODEL_EXPORTS)
def test_complete_model_of_nasty_names_is_the_code_of_harmless_ones(
    language: str, code: Callable[[str], Any], harmless: Robot, tmp_path: Path
) -> None:
    """States, inputs and drives carry the names of axes into comments and notes."""
    want = code(export_model(st.state_space(pair(tmp_path, "plain", "A")), language))
    for title, name in PAIRS:
        assert code(export_model(st.state_space(pair(tmp_path, title, name)), language)) == want, (
            title,
            name,
        )
    want = code(export_model(st.state_space(harmless), language))
    for title, names in CASES:
        assert code(export_model(st.state_space(closed(tmp_path, title, names)), language)) == want, names


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc here")
def test_c_export_of_nasty_names_compiles_without_a_warning(tmp_path: Path) -> None:
    for title, names in CASES:
        (tmp_path / "x.c").write_text(numbered(closed(tmp_path, title, names), "c99"), encoding="utf-8")
        words = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-trigraphs", "-fsyntax-only", "x.c"]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_sympy_objects_are_made_of_symbols_only(tmp_path: Path) -> None:
    objects = st.derive(closed(tmp_path, TITLES[-1], ("__import__('os')", "exit()", "(*"))).sympy()
    names = {str(s) for s in objects["tau"].free_symbols}
    assert all(re.fullmatch(r"[A-Za-z]+_?[a-z]*[0-9]+(d|dd)?", name) for name in names)


@pytest.mark.parametrize(("title", "names"), CASES)
def test_markdown_of_a_nasty_title_has_no_markup(title: str, names: tuple[str, ...], tmp_path: Path) -> None:
    robot = closed(tmp_path, title, names)
    for text in (st.derive(robot).markdown(), numbered(robot, "markdown")):
        outside = re.sub(r"(?s)```.*?```|\$\$.*?\$\$|(?<!\\)\$[^$\n]*\$", "", text)
        assert not re.search(r"(?<!\\)(\\\\)*[<`]", re.sub(r"(?<!\\)`[A-Za-z0-9_]+`", "", outside))
        assert not re.search(r"(?<!\\)(?:\\\\)*\]\(", outside)
        assert outside.splitlines()[0].startswith("# ")


# --- HTML -------------------------------------------------------------------------------------------


class Elements(HTMLParser):
    """Elements with the names of their attributes; contents of scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, tuple[str, ...]]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, tuple(name for name, _ in attrs)))


@pytest.mark.parametrize(("title", "names"), CASES)
def test_equations_page_has_the_elements_of_a_harmless_one(
    title: str, names: tuple[str, ...], harmless: Robot, tmp_path: Path
) -> None:
    page = equations_html(st.derive(closed(tmp_path, title, names)))
    assert Elements(page).found == Elements(equations_html(st.derive(harmless))).found


def page_of(text: str) -> str:
    """A page with the text at every place that takes one."""
    import plotly.graph_objects as go

    page = Page(text, text)
    page.section(text, text)
    page.paragraph(text)
    page.note(text)
    page.warning(text)
    page.cards([Card(text, text, text, text)])
    trace = go.Scatter(
        x=[text, "b"], y=[1, 2], name=text, text=[text, ""], customdata=[[text, 0], ["", 1]],
        hovertemplate="%{customdata[0]}<br>%{y}<extra></extra>",
    )  # fmt: skip
    figure = go.Figure([trace])
    figure.add_annotation(x=0, y=0, text=text)
    page.figures([Figure(figure, text, text)])
    page.table([text], [[text]])
    page.details(text, [text], [[text]])
    page.fragment(animation_html({"labels": [text], "arm": None}, text, text, reference=False))
    return page.html(text)


@pytest.mark.parametrize("text", TITLES)
def test_page_and_its_figures_have_the_elements_of_a_harmless_one(text: str) -> None:
    page = page_of(text)
    assert Elements(page).found == Elements(page_of("plain")).found
    figure = page[page.index("Plotly.newPlot(") :].partition("</script>")[0]
    for code, sign in (("\\u003c", "<"), ("\\u003e", ">"), ("\\u002f", "/")):  # as plotly writes them
        figure = figure.replace(code, sign)
    assert "<br>" in figure  # that of our own template
    written = json.dumps(text)[1:-1]
    assert written.replace("<", "&lt;") in figure
    assert "<" not in text or written not in figure


# --- URDF, YAML, terminal ---------------------------------------------------------------------------


URDF_TAGS = {
    "robot", "link", "joint", "inertial", "origin", "mass", "inertia", "visual", "geometry", "mesh", "parent", "child",
    "axis", "limit",
}  # fmt: skip


@pytest.mark.parametrize(("title", "name"), PAIRS)
def test_urdf_and_yaml_read_back_to_the_same_names(title: str, name: str, tmp_path: Path) -> None:
    path = pair(tmp_path, title, name)
    assert main(["convert", str(path), str(tmp_path / "out.urdf")]) == 0
    robot = ET.parse(tmp_path / "out.urdf").getroot()
    assert {element.tag for element in robot.iter()} <= URDF_TAGS
    assert {name, name + "y"} <= {element.attrib["name"] for element in robot}
    description = read_description(path)
    assert description.title == " ".join(title.split())
    write_yaml(description, tmp_path / "out.yaml")
    assert read_description(tmp_path / "out.yaml").title == description.title
    assert parse_yaml(yaml_text(description), "x").plain()["axes"].keys() == description.axes.keys()


@pytest.mark.parametrize("words", [["info"], ["check"], ["fkine", "--q", "0 deg, 0 mm"], ["equations"]])
def test_terminal_sees_no_control_character(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for title, name in PAIRS[:: 1 if words[0] == "check" else 5]:
        assert main([words[0], str(pair(tmp_path, title, name)), *words[1:]]) == 0
        said = capsys.readouterr()
        assert all(c == "\n" or c.isprintable() for c in said.out + said.err)


# --- what is not visible is refused where it is read ------------------------------------------------

HIDDEN = {"\\e[31m": "U+001B", "\\u202e": "U+202E", "\\ud800": "U+D800", "\\x9b": "U+009B", "\\0": "U+0000"}


@pytest.mark.parametrize(("written", "code"), HIDDEN.items())
@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('title: "a{}b"', "x.yaml:1: title: "),
        ('axes:\n  "A{}": {{}}', "x.yaml:2: axes: "),
        ('axes:\n  A: {{source: "{}"}}', "x.yaml:2: axes.A.source: "),
        ('variables: {{l: [1, "{}"]}}', "x.yaml:1: variables.l: "),
    ],
)
def test_hidden_character_in_yaml_is_refused_with_line_and_field(
    text: str, place: str, written: str, code: str
) -> None:
    with pytest.raises(InputError) as caught:
        parse_yaml(text.format(written), "x.yaml")
    assert str(caught.value).startswith(place)
    assert code in str(caught.value)
    assert str(caught.value).isprintable()


def test_hidden_character_in_points_jobs_urdf_csv_and_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"p\.yaml:3: points\.P1\.note: a control character \(U\+001B\)"):
        parse_points('format: servotwin-points/1\npoints:\n  P1: {x: 1 mm, note: "\\e]0;x"}\n', "p.yaml")
    for hidden in ("\x1b[2J", "\u202e", "\ud800", "\x9b"):
        with pytest.raises(InputError, match="is not accepted; expected printable text"):
            parse(f"WAIT 1 s  # {hidden}\n")
    urdf = tmp_path / "x.urdf"
    for hidden in ("&#x202e;", "&#x9b;"):
        urdf.write_text(f'<robot name="a">\n<link name="b{hidden}"/></robot>')
        with pytest.raises(InputError, match=r"x\.urdf:2: link 'b.*': <link name=...>: a c.* U?"):
            read_description(urdf)
    csv = tmp_path / "m.csv"
    csv.write_text("time_s,joint_A_position_rad,\x1b[31mred\n" + "0,0,0\n1,0,0\n2,0,0\n3,0,0\n")
    with pytest.raises(InputError, match=r"m\.csv: the name of column 3 has a control character"):
        read_measured(csv, ["joint_A_position_rad"])
    import pyarrow
    import pyarrow.parquet

    pyarrow.parquet.write_table(
        pyarrow.table({"time_s": [0.0, 1.0], "\x1b[31m": [0.0, 1.0]}), tmp_path / "signals.parquet"
    )
    with pytest.raises(InputError, match=r"signals\.parquet: is not a Parquet table"):
        read_result(tmp_path)


def test_option_that_is_no_unicode_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Bytes of a command line that are not UTF-8 arrive as lone surrogates, which no file can hold."""
    path = pair(tmp_path, "a", "A")
    assert main(["convert", str(path), str(tmp_path / "o.yaml"), "--set", "title=a\udcff"]) == 2
    assert "--set title: a lone surrogate (U+DCFF)" in capsys.readouterr().err
    points = tmp_path / "p.points.yaml"
    words = [
        "teach",
        str(points),
        "record",
        "P1",
        "--q",
        "0 deg, 0 mm",
        "--robot",
        str(path),
        "--note",
        "\x1b[2J",
    ]
    assert main(words) == 2
    assert "note: a control character (U+001B)" in capsys.readouterr().err
    assert not points.exists()


def test_name_of_a_written_file_is_shown_not_sent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "a\x1b[31m.yaml"
    assert main(["convert", str(pair(tmp_path, "a", "A")), str(target)]) == 0
    said = capsys.readouterr().out
    assert target.exists()
    assert r"a\x1b[31m.yaml" in said
    assert "\x1b" not in said
