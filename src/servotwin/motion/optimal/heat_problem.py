"""Heat of the windings of a motion that is repeated for ever, on graph nodes: between two nodes, and at rest."""

from __future__ import annotations

from typing import Any, Protocol

from servotwin.dynamics.vector import Scalar
from servotwin.equations.derivation import Derivation
from servotwin.motion.optimal.block_nlp import BlockFunction
from servotwin.motion.optimal.point_problem import square_mean


class HeatForm(Protocol):
    """What of a motion's form decides about its heat."""

    @property
    def heated(self) -> tuple[int, ...]:
        """Motors whose winding temperature is a variable."""
        ...


def heat_function(d: Derivation, form: HeatForm) -> BlockFunction:
    r"""What a repeated motion heats the windings with between two nodes, less what they give away; adds up to zero.

    .. math:: \int_0^{T_c} \frac{\vartheta}{R_{wh} + R_{ha}} - c R (1 + \alpha \vartheta)\, i^2 dt = 0   (eq:cycle-heat)

    The mean rise over the surroundings follows from the mean loss, whatever the heat capacities are. The rows are
    parts of what leaves at the largest rise.
    """
    count = len(form.heated)
    one, two, hot = (d.inputs(name, count) for name in ("ia", "ib", "hot"))
    z_time, share = d.inputs("T", 1)[0], d.inputs("share", 1)[0]
    rows = []
    for k, j in enumerate(form.heated):
        scale = d.number(f"oZsi{j}")
        square = scale * scale * square_mean(one[k], two[k])
        rows.append(z_time * share * (hot[k] - copper_share(d, j, hot[k], square)))  # eq:cycle-heat
    return BlockFunction(d, [*one, *two, z_time, *hot], [share], 0.0, rows)


def copper_share(d: Derivation, j: int, hot: Scalar, square: Any) -> Any:
    """Copper loss of a motor with the mean squared current ``square``, as part of what leaves at the largest rise."""
    rise = d.number(f"oTh{j}")
    loss = d.number(f"oPh{j}") * d.number(f"oR{j}") * (1.0 + d.number(f"oAl{j}") * rise * hot) * square
    return loss * d.number(f"oRth{j}") / rise


def rest_heat_function(d: Derivation, form: HeatForm) -> BlockFunction:
    """The same over the rest of a cycle at the goal, where the current that holds the arm heats on.

    The last current of the motion itself may jump to it, so it does not count.
    """
    count = len(form.heated)
    last, hot = (d.inputs(name, count) for name in ("iN", "hot"))
    part = d.number("oRest") / d.number("oZT")
    rows = []
    for k, j in enumerate(form.heated):
        held = d.number(f"oHold{j}")
        rows.append(part * (hot[k] - copper_share(d, j, hot[k], held * held)))
    return BlockFunction(d, [*last, *hot], [], 0.0, rows)
