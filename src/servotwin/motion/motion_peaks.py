"""The compiled part of ``demands``: a law along a path, sampled where it is smooth, and its quickest instants."""

from __future__ import annotations

from servotwin.compiled.jit import kernel
from servotwin.mechanism.model import Array
from servotwin.motion.law_sampling import fill_cells, sample_path
from servotwin.motion.peaks import NODES, largest_peak


@kernel
def motion_peaks(
    kind: int,
    given: Array,
    knots: Array,
    c: Array,
    limits: Array,
    ignore: float,
    edges: Array,
    at: Array,
    motion: Array,
    peaks: Array,
) -> int:
    """Cells of a motion, its state at their nodes and where it is quickest; returns how many cells there are.

    Fills ``edges`` and nodes ``at`` [s], ``motion[:3]`` (k, n) and ``peaks`` (2, 5), the ``largest_peak`` of speeds and
    of accelerations as shares of the joints' ``limits`` (a ``MotionLimits.joint_table``). ``kind`` and ``given`` are
    ``LawNumbers``, the quintics c (m - 1, 6, n) lie between ``knots`` (m,); there is room for m + ``ROOM`` cells.
    """
    count = fill_cells(kind, given, knots[1:-1], edges, at)
    k = NODES * count
    sample_path(kind, given, knots, c, at[:k], motion)
    shares = motion[3]
    for rate in range(2):
        for i in range(k):
            for j in range(c.shape[2]):
                shares[i, j] = motion[1 + rate, i, j] / limits[2 + rate, j]
        size, column, cell, place, doubt = largest_peak(shares[:k], ignore)
        peaks[rate, 0], peaks[rate, 1], peaks[rate, 2] = size, column, cell
        peaks[rate, 3], peaks[rate, 4] = place, doubt
    return count
