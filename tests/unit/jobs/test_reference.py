"""The reference in docs/job-language.md shows what is: instructions, grammar, examples."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from servotwin.jobs.language import GRAMMAR, format_job, parse
from servotwin.jobs.points_file import parse_points
from servotwin.jobs.words import INSTRUCTIONS, KEYWORDS, PROFILES

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "job-language.md").read_text(encoding="utf-8")
CODE = re.findall(r"`([^`\n]+)`", re.sub(r"(?ms)^```.*?^```", "", PAGE))


def blocks(language: str) -> list[str]:
    return re.findall(rf"(?ms)^```{language}\n(.*?)^```", PAGE)


def test_every_instruction_and_keyword_is_shown() -> None:
    shown = {word for text in CODE for word in re.findall(r"[A-Z]+", text)}
    assert shown >= KEYWORDS
    first = {row.split("`")[1].split()[0] for row in PAGE.splitlines() if row.startswith("| `")}
    alone = {
        row.split("`")[3].split()[0]
        for row in PAGE.splitlines()
        if row.startswith("| `") and row.count("`") > 4
    }
    assert set(INSTRUCTIONS) - {"ELSE", "END"} <= first | alone
    assert set(PROFILES) <= set(CODE)


@pytest.mark.parametrize("text", blocks("job"))
def test_job_of_the_page_is_in_the_one_layout(text: str) -> None:
    assert format_job(parse(text)) == text


def test_points_of_the_page_are_read() -> None:
    (text,) = blocks("yaml")
    assert set(parse_points(text).points) == {"ready", "pick", "place"}


def test_grammar_of_the_page_is_the_grammar() -> None:
    (text,) = blocks("lark")
    assert text.strip() in GRAMMAR.read_text(encoding="utf-8")


def test_python_of_the_page_runs() -> None:
    (text,) = blocks("python")
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


PARTS = ("ACC", "TIME", "BLEND", "SPEED")  # of moves
LINES = [
    text
    for text in CODE
    if text.split()[0] in {*INSTRUCTIONS, *PARTS} - {"IF", "REPEAT", "SUB", "PALLET"}
    and " " in text
    and not re.search(r"ELSE|\.\.|target|PROFILE name", text)
]


@pytest.mark.parametrize("line", LINES)
def test_instruction_of_the_page_is_read(line: str) -> None:
    parse(f"MOVEL P1 {line}" if line.startswith(PARTS) else line)
