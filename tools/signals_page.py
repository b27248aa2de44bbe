"""Write the table of signals in docs/compare.md from the table that recorder and reader use.

python tools/signals_page.py            # in the folder of the repository; a test holds the page to the table
"""

from __future__ import annotations

from pathlib import Path

from servotwin.simulation.plant.signal_table import SIGNALS, Sampling, Side, Signal, Writer

PAGE = Path(__file__).parent.parent / "docs" / "compare.md"
BEGIN, END = "<!-- signals: written by tools/signals_page.py -->", "<!-- end of signals -->"
OWNER = "A"  # stands for the name of a joint or motor
IN_A_ROW = {
    Sampling.INSTANT: "instant",
    Sampling.MEAN: "mean since the row before",
    Sampling.ANY: "every bit set since the row before",
}
WRITTEN_BY = {Writer.PLANT: "plant", Writer.SERVO: "servo", Writer.READER: "after the run"}


def existence(signal: Signal) -> str:
    """On which axes a signal exists, in words."""
    if signal.side is not Side.MOTOR:
        return "always"
    words = (signal.exists.__doc__ or "").strip().rstrip(".")
    return words[0].lower() + words[1:]


def line(signal: Signal) -> str:
    """The line of one signal."""
    whole = ", whole number" if signal.whole else ""
    sliding = signal.full_name(OWNER, prismatic=True)
    piston = f", `{sliding}`" if signal.side is Side.MOTOR and sliding != signal.full_name(OWNER) else ""
    cells = (
        f"`{signal.full_name(OWNER)}`{piston}",
        signal.meaning,
        IN_A_ROW[signal.sampling] + whole,
        WRITTEN_BY[signal.writer],
        existence(signal),
    )
    return f"| {' | '.join(cells)} |"


def table() -> str:
    """The table, with its marks."""
    head = ["| column | meaning | in a row | written by | exists for |", "| --- | --- | --- | --- | --- |"]
    return "\n".join([BEGIN, "", *head, *map(line, SIGNALS), "", END])


def with_table(page: str) -> str:
    """The page with the present table between its marks."""
    before, rest = page.split(BEGIN)
    return before + table() + rest.split(END)[1]


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
