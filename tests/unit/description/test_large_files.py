"""Large robot files: work grows no faster than the text, and messages stay short."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

import pytest

from counted_work import growth
from servotwin.description.load import read_description
from servotwin.description.units import did_you_mean
from servotwin.errors import InputError
from servotwin.jobs.points_file import parse_points

LINEAR = 4.6  # work at four times the size over work at the size; 16 if it grows with the square
HEAD = "format: servotwin/1\nname: big\n"
SHAPES: dict[str, Callable[[int], str]] = {
    "axes": lambda n: f"{HEAD}axes:\n" + "".join(f"  A{i}: {{dh: {{a: 1 m}}}}\n" for i in range(n)),
    "axes with mistakes": lambda n: f"{HEAD}axes:\n" + "".join(f"  A{i}: {{typ: 1}}\n" for i in range(n)),
    "variables": lambda n: (
        f"{HEAD}variables:\n  v0: 1 m\n"
        + "".join(f"  v{i}: = v{i - 1} + 1 m\n" for i in range(1, n))
        + "axes: {A: {dh: {a: 1 m}}}\n"
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_read_description_four_times_the_file_is_four_times_the_work(tmp_path: Path, shape: str) -> None:
    def work(n: int) -> Callable[[], object]:
        path = tmp_path / f"robot{n}.yaml"
        path.write_text(SHAPES[shape](n))

        def read() -> None:
            with contextlib.suppress(InputError):
                read_description(path)

        return read

    assert growth(work, 50) < LINEAR


def test_parse_points_unknown_frame_among_many_lists_some() -> None:
    frames = "".join(f"  F{i}: {{x: 1 mm}}\n" for i in range(500))
    text = f"format: servotwin-points/1\nframes:\n{frames}points:\n  P: {{x: 1 mm, frame: nix}}\n"
    with pytest.raises(InputError, match="no frame 'nix'; expected one of base, F0, F1") as caught:
        parse_points(text)
    assert len(str(caught.value)) < 200


def test_did_you_mean_long_words_and_many_names_are_not_compared_letter_by_letter() -> None:
    assert did_you_mean("ration", ["ratio"]) == "; did you mean 'ratio'?"
    assert did_you_mean("x" * 5000, ["x" * 5001]) == ""
    assert did_you_mean("near", [f"n{i}" for i in range(3000)] + ["nearx"]) == ""
    assert did_you_mean("NEAR", [f"n{i}" for i in range(3000)] + ["near"]) == "; did you mean 'near'?"
