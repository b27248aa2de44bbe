r"""Links that lengthen as they warm up.

Every placement in a link that is warmer by :math:`\Delta T` than when the robot was measured grows in proportion,

.. math:: p \to (1 + \alpha\,\Delta T)\, p                                              (eq:thermal-growth)

from the frame of the link's own joint to the joints and frames that it carries. The base keeps its size; masses and
inertias, which change by as little, stay.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from servotwin.description.error_sources import error_sources, link_temperatures
from servotwin.description.schema import RobotDescription
from servotwin.mechanism.build import build_mechanism
from servotwin.mechanism.model import Frame, Mechanism


def grown(mechanism: Mechanism, expansion: float, rises: Mapping[str, float]) -> Mechanism:
    """The mechanism whose links are warmer by ``rises`` [K], by joint; ``expansion`` [1/K]."""
    factor = np.array([1.0 + expansion * rises.get(name, 0.0) for name in mechanism.tree_joint_names] + [1.0])
    if (factor == 1.0).all():
        return mechanism
    X_tree = np.array(mechanism.X_tree)
    X_tree[:, :3, 3] *= factor[mechanism.parent, None]  # eq:thermal-growth; the base, -1, is the last
    frames = []
    for frame in mechanism.frames:
        X = np.array(frame.X_body_frame)
        X[:3, 3] *= factor[frame.body]
        frames.append(Frame(frame.name, frame.body, X))
    return mechanism.with_(X_tree=X_tree, frames=tuple(frames))


def true_mechanism(
    description: RobotDescription, elapsed: float | None = None, losses: Mapping[str, float] | None = None
) -> Mechanism:
    """The mechanism of a robot as it is, its links as warm as its file says or ``elapsed`` seconds after the start."""
    rises, section = link_temperatures(description, elapsed, losses), error_sources(description)
    mechanism = build_mechanism(description)
    if section.thermal is None or not rises:
        return mechanism
    return grown(mechanism, section.thermal.expansion, rises)
