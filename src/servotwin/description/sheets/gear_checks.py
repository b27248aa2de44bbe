"""Printed values of one gear's data sheet that are odd together: worth a line, no reason to refuse."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from servotwin.description.sheets.gear_sheet import GearSheet


def gear_contradictions(sheet: GearSheet) -> Iterator[tuple[str, str]]:
    """One field and line for each oddity within the sheet of a gear."""
    torsion = sheet.torsion
    if torsion is not None:
        ks = [k for _, k in torsion.pieces()]
        if any(b < a for a, b in pairwise(ks)):
            yield (
                "torsion",
                "gets softer with torque; gears get stiffer: k1 and k3, or t1 and t2, may be exchanged",
            )
        if (
            sheet.momentary_torque is not None
            and torsion.t2 is not None
            and torsion.t2 > sheet.momentary_torque
        ):
            yield (
                "torsion.t2",
                f"{torsion.t2:.4g} N*m is above the momentary_torque {sheet.momentary_torque:.4g} N*m",
            )
    idle, start = sheet.no_load_torque, sheet.starting_torque
    if idle is not None and start is not None and start > 3.0 * max(t for _, t in idle):
        yield (
            "starting_torque",
            f"{start:.4g} N*m is far above the no_load_torque; expected that at the input, not that to drive it back",
        )
    if sheet.life is not None and sheet.life > 1e6 * 3600.0:
        yield "life", f"{sheet.life / 3600.0:.4g} h is beyond all gears; expected hours, such as '35000 h'"
