r"""State feedback as a law of the axis controller (eq:state-feedback), from positions alone.

All quantities are deviations from the reference at the motors: the error :math:`e = \theta_{ref} - \theta` is what the
encoders show, speeds and twists are estimated. Beside the feedback stands what the reference needs,
:math:`\tau_{ff} = M_m \alpha_{ref} + f \omega_{ref}`, unless the model of the robot feeds torque forward. In the place
of the torque of a servovalve's axis stands the current of the valve, and in that of f its current per speed: that of
the direction, as unequal areas take, under the load pressure that its driver measures,

.. math:: i_{ff} = F_\pm \sqrt{\frac{H_0}{H_\pm \mp \bar p_L}}\;\omega_{ref}                  (eq:valve-forward)

Observer and the integrators go on with the current that the limit has left of the command.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from servotwin.compiled.jit import helper, part
from servotwin.compiled.native_calls import records_at
from servotwin.control.servo.ports import MAX_AXES
from servotwin.control.servo.records import Saturation
from servotwin.control.servo.valve_loop import compiled_head_factor

MOST_STATES = 96
CURRENT = int(Saturation.CURRENT)
_REAL, _WHOLE = np.float64, np.int64
# Sizes; period [s]; matrices of eq:state-feedback and of the feed-forward; estimate before and after the measurement,
# integrals of the errors, errors and torques now.
STATE_FEEDBACK = np.dtype(
    [
        ("states", _WHOLE),
        ("motors", _WHOLE),
        ("T", _REAL),
        ("Phi", _REAL, (MOST_STATES, MOST_STATES)),
        ("Gamma", _REAL, (MOST_STATES, MAX_AXES)),
        ("C", _REAL, (MAX_AXES, MOST_STATES)),
        ("L", _REAL, (MOST_STATES, MAX_AXES)),
        ("K", _REAL, (MAX_AXES, MOST_STATES)),
        ("K_i", _REAL, (MAX_AXES, MAX_AXES)),
        ("M", _REAL, (MAX_AXES, MAX_AXES)),
        ("f", _REAL, (MAX_AXES,)),
        # of a valve: the same backward; pressures that drive its piston (eq:valve-loop), 0: its load is not counted
        ("f_back", _REAL, (MAX_AXES,)),
        ("head", _REAL, (MAX_AXES,)),
        ("head_forward", _REAL, (MAX_AXES,)),
        ("head_backward", _REAL, (MAX_AXES,)),
        ("amperes", _WHOLE, (MAX_AXES,)),  # the output of an axis is the current of its valve, not a torque
        ("before", _REAL, (MOST_STATES,)),
        ("after", _REAL, (MOST_STATES,)),
        ("sigma", _REAL, (MAX_AXES,)),
        ("error", _REAL, (MAX_AXES,)),
        ("torque", _REAL, (MAX_AXES,)),
    ]
)


@part
def state_feedback(servo: Any, axes: Any) -> None:
    """Current commands of all axes, then the observer and the integrators with what became of them."""
    law = records_at(servo.feedback_at, 1, STATE_FEEDBACK)[0]
    s, m = law.states, law.motors
    for j in range(m):
        axis = axes[j]
        law.error[j] = (axis.counts_ref - axis.count) / axis.counts_per_rad
        seen = law.error[j]
        for k in range(s):
            seen -= law.C[j, k] * law.before[k]
        law.torque[j] = seen  # for a moment: what the estimate does not explain
    for k in range(s):
        total = law.before[k]
        for j in range(m):
            total += law.L[k, j] * law.torque[j]
        law.after[k] = total
    for j in range(m):
        total = 0.0
        for k in range(s):
            total += law.K[j, k] * law.after[k]
        for i in range(m):
            total += law.K_i[j, i] * law.sigma[i]
        law.torque[j] = total  # eq:state-feedback
    for j in range(m):
        give_current(servo, axes, law, j)
    for k in range(s):
        total = 0.0
        for i in range(s):
            total += law.Phi[k, i] * law.after[i]
        for j in range(m):
            total -= law.Gamma[k, j] * law.torque[j]
        law.before[k] = total


@helper
def valve_ahead(law: Any, j: int, w: float, p_load: float) -> float:
    """What is fed forward to the valve of an axis [A] (eq:valve-forward)."""
    per_speed = law.f[j] if w >= 0.0 else law.f_back[j]
    head = compiled_head_factor(law.head[j], law.head_forward[j], law.head_backward[j], w, p_load)
    return per_speed * w * head  # type: ignore[no-any-return]  # eq:valve-forward


@part
def give_current(servo: Any, axes: Any, law: Any, j: int) -> None:
    """Command of one axis within its limit; an integrator that would push further against it stands still."""
    axis = axes[j]
    ahead, per_current = 0.0, axis.K_hat
    if law.amperes[j]:
        ahead, per_current = valve_ahead(law, j, axis.w_path, axis.p_slow), 1.0
    elif servo.share_torque == 0.0:
        ahead = law.f[j] * axis.w_path
        for i in range(law.motors):
            ahead += law.M[j, i] * axes[i].a_path
    if not servo.feeds:
        axis.i_feedforward = 0.0
    wanted = axis.i_feedforward + (ahead + law.torque[j]) / per_current
    axis.i_ref = min(max(wanted, -axis.i_max), axis.i_max)
    axis.saturation &= ~CURRENT
    if axis.i_ref != wanted:
        axis.saturation |= CURRENT
        law.torque[j] += (axis.i_ref - wanted) * per_current
    if (wanted - axis.i_ref) * law.error[j] <= 0.0:
        law.sigma[j] += law.T * law.error[j]
