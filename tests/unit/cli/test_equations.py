"""``servotwin equations``: every format, clear refusals."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from servotwin.cli.main import main


def test_equations_text_shows_the_textbook_matrix(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["equations", "gsis-scara", "--form", "DHG"]) == 0
    out = capsys.readouterr().out
    assert "D11 = K1 + 2 K2 cos(q2)" in out
    assert "H122 = -K2 sin(q2)" in out


def test_equations_json_holds_entries_constants_and_values(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["equations", "met-two-link", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["M"][0][0] == "K1 + 2*K2*cos(q2)"
    assert data["constants"]["K2"]["value"] == pytest.approx(26.4 * 0.89 * 0.32, rel=1e-12)
    assert data["coordinates"] == {"q1": "J1", "q2": "J2"}


@pytest.mark.parametrize("ending", [".txt", ".md", ".tex", ".m", ".py", ".html", ".c"])
def test_equations_writes_every_format(ending: str, tmp_path: Path) -> None:
    out = tmp_path / f"equations{ending}"
    assert main(["equations", "met-two-link", "--out", str(out)]) == 0
    text = out.read_text(encoding="utf-8")
    assert len(text) > 500
    if ending == ".html":
        assert "<math" in text
        assert re.search(r"<(script|link|img|iframe)[^>]*(src|href)=", text) is None
    if ending == ".c":
        command = ["cc", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-c", str(out)]
        subprocess.run([*command, "-o", str(tmp_path / "equations.o")], check=True)


def test_equations_of_a_closed_chain_lists_closures(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["equations", "delta"]) == 0
    out = capsys.readouterr().out
    assert "Loop closures" in out
    assert "s1 = " in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["gsis-scara", "--form", "XY"], "expected one of MCg, ABCG, DHG"),
        (["gsis-scara", "--out", "a.pdf"], "expected a name that ends in"),
        (["gsis-scara", "--numeric", "mass"], "expected some of geometry"),
        (["gsis-scara", "--numbered", "--out", "a.html"], "not drawn as a page"),
        (["gsis-scara", "--general", "--out", "a.c"], "has no effect"),
        (["gsis-scara", "--form", "DHG", "--out", "a.py"], "has no effect"),
    ],
)
def test_equations_refuses_in_one_line(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["equations", *arguments]) == 2
    err = capsys.readouterr().err
    assert words in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("ending", [".txt", ".md", ".tex", ".m", ".py", ".html"])
def test_equations_ratio_of_a_sliding_joint_is_in_radians_per_metre(ending: str, tmp_path: Path) -> None:
    out = tmp_path / f"equations{ending}"
    assert main(["equations", "gsis-scara", "--drives", "--out", str(out)]) == 0
    text = out.read_text(encoding="utf-8")
    between = r"(?:\s|[|&#\[]|</?td[^>]*>)+"
    assert re.search(rf"motor Z per coordinate 3{between}rad/m\b", text)
    assert re.search(rf"motor W per coordinate 4{between}1\b", text)
