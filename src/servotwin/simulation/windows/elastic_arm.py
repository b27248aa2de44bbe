r"""The arm in the window of elastic gears: how its joints accelerate, what it feels of the motors, one step of it.

It gets of motors behind stiff gears lines with the same impulse and moment (eq:moment-match), of springs the parabola
that begins with the torque of the spring,

.. math:: a_2 = \frac{36}{S^4} \Bigl(Q - \tfrac23 S P\Bigr), \quad a_1 = \frac{2}{S^2} P - \tfrac23 S a_2, \quad
          P = \int (\tau - \tau_0)\,dt, \quad Q = \int (\tau - \tau_0)\,t\,dt                     (eq:spring-parabola)

Its step shows the rate of the loads' accelerations that would have been right,

.. math:: \dot a = \frac{2}{S} (a_m - a)                                                              (eq:seen-rate)

with a_m those in its middle.
"""

from __future__ import annotations

from typing import Any

from servotwin.compiled.jit import helper, part
from servotwin.drives.friction import joint_friction_torque
from servotwin.drives.gears import torsion_torque
from servotwin.simulation.plant.event_steps import FAR
from servotwin.simulation.windows.held_joints import call_arm, holding_margin
from servotwin.simulation.windows.motor_coordinates import at_joint, at_motor
from servotwin.simulation.windows.motor_inverse_inertia import refresh_rate


@helper
def drift_of_stiff(world: Any) -> None:
    """Accelerations of the motors behind stiff gears without their own torques, and their rate."""
    elastic = world.elastic_window
    for r in range(elastic.stiff_count):
        j = elastic.stiff[r]
        world.stiff_lanes.drift[0, r] = at_motor(world, j, elastic.drift, 0)
        world.stiff_lanes.drift[1, r] = at_motor(world, j, elastic.drift_rate, 0)


@part
def begin_motion(world: Any, motors: Any, stops: Any) -> None:
    """Accelerations of the joints without motors behind stiff gears, their rate, and the springs' torques now."""
    state, scratch, elastic = world.state, world.scratch, world.elastic_window
    n = world.n
    for j in range(world.m):
        motor, e = motors[j], motors[j].flexible
        elastic.begins[j] = 0.0
        if e >= 0:
            twist = state.y[world.at_theta + e] - at_motor(world, j, state.y, 0)
            slip = state.y[world.at_w + e] - at_motor(world, j, state.y, n)
            elastic.begins[j] = torsion_torque(motor, twist, slip)
    for i in range(n):
        v = state.y[n + i]
        scratch.inputs[i], scratch.inputs[n + i] = state.y[i], v
        scratch.inputs[2 * n + i] = at_joint(world, i, elastic.begins)
        if stops[i].has_friction:
            scratch.inputs[2 * n + i] -= joint_friction_torque(stops[i], v)
    call_arm(world)
    elastic.first_margin = holding_margin(world, stops)
    windows, per = min(world.prediction.windows, elastic.smooth_windows), elastic.per_last
    for i in range(n):
        elastic.drift[i] = scratch.outputs[i]
        rate = (elastic.drift[i] - elastic.drift_last[i]) * per if windows > 0 else 0.0
        # from the middles of the two windows before to that of this one
        elastic.drift_rate[i] = 2.0 * rate - elastic.rate_last[i] if windows > 1 else rate
        elastic.drift_last[i], elastic.rate_last[i] = elastic.drift[i], rate
        scratch.k[1, i], scratch.k[1, n + i] = state.y[n + i], elastic.drift[i]
    drift_of_stiff(world)


@part
def refresh_gain(world: Any) -> None:
    """Accelerations of all joints per torque of a motor behind a stiff gear, and how fast they change."""
    scratch, elastic = world.scratch, world.elastic_window
    n, per = world.n, refresh_rate(world)
    for i in range(2 * n):
        scratch.inputs[i] = world.state.y[i]
    for i in range(n):
        scratch.inputs[2 * n + i] = 0.0
    call_arm(world)
    for i in range(n):
        scratch.qdd[i], scratch.force[i] = scratch.outputs[i], elastic.holding[i]
    for r in range(elastic.stiff_count):
        k = elastic.stiff[r]
        for i in range(n):
            scratch.inputs[2 * n + i] = world.N[k, i]
        call_arm(world)
        for i in range(n):
            value = scratch.outputs[i] - scratch.qdd[i]
            elastic.gain_rate[i, k] = (value - elastic.gain_last[i, k]) * per
            elastic.gain[i, k] = elastic.gain_last[i, k] = value
            elastic.held_gain[i, k] = elastic.holding[i] - scratch.force[i]


@helper
def extrapolate_gain(world: Any, span: float) -> None:
    """Carry the gains on to the next window at their last rate of change."""
    elastic = world.elastic_window
    for i in range(world.n):
        for r in range(elastic.stiff_count):
            k = elastic.stiff[r]
            elastic.gain[i, k] += elastic.gain_rate[i, k] * span


@helper
def lines_of_stiff(world: Any, span: float) -> None:
    """Torque lines of the motors behind stiff gears (eq:moment-match), and how all loads turn under them."""
    elastic, line = world.elastic_window, world.line
    for r in range(elastic.stiff_count):
        j = elastic.stiff[r]
        slope = line.per_cube * (elastic.passed[j, 1] - 0.5 * span * elastic.passed[j, 0])
        elastic.torque_line[j, 1], elastic.torque_line[j, 2] = slope, 0.0
        elastic.torque_line[j, 0] = elastic.passed[j, 0] * line.per_span - 0.5 * span * slope
    for i in range(world.n):
        a, jerk = elastic.drift[i], elastic.drift_rate[i]
        for r in range(elastic.stiff_count):
            k = elastic.stiff[r]
            a += elastic.gain[i, k] * elastic.torque_line[k, 0]
            jerk += elastic.gain[i, k] * elastic.torque_line[k, 1]
        elastic.load[i, 0], elastic.load[i, 1] = a, jerk


@helper
def spring_parabola(world: Any, j: int, span: float) -> None:
    """The torque of an elastic gear over the window (eq:spring-parabola)."""
    elastic = world.elastic_window
    begins, s2 = elastic.begins[j], span * span
    P, Q = elastic.passed[j, 0] - begins * span, elastic.passed[j, 1] - begins * s2 / 2.0
    a2 = 36.0 / (s2 * s2) * (Q - 2.0 / 3.0 * span * P)  # eq:spring-parabola
    elastic.torque_line[j, 0], elastic.torque_line[j, 2] = begins, a2
    elastic.torque_line[j, 1] = 2.0 / s2 * P - 2.0 / 3.0 * span * a2


@part
def move_joints(world: Any, stops: Any, h: float) -> None:
    """Classic step of the arm under the torques of the window; leaves y1, and the stages' slopes in k[1] to k[4].

    Without motors behind stiff gears its first stage is known already.
    """
    state, scratch, elastic = world.state, world.scratch, world.elastic_window
    n, line = world.n, elastic.torque_line
    for i in range(n):
        elastic.joint_friction[i] = 0.0
    elastic.joint_margin = elastic.first_margin if elastic.stiff_count == 0 else FAR
    for s in range(4):
        a = 0.0 if s == 0 else (h if s == 3 else 0.5 * h)
        known = s == 0 and elastic.stiff_count == 0
        for j in range(world.m):
            elastic.torque_now[j] = line[j, 0] + a * (line[j, 1] + a * line[j, 2])
        for i in range(n):
            v = state.y[n + i] + a * scratch.k[s, n + i] if s > 0 else state.y[n + i]
            scratch.inputs[i] = state.y[i] + a * scratch.k[s, i] if s > 0 else state.y[i]
            scratch.inputs[n + i] = v
            scratch.inputs[2 * n + i] = at_joint(world, i, elastic.torque_now)
            if stops[i].has_friction:
                friction = joint_friction_torque(stops[i], v)
                scratch.inputs[2 * n + i] -= friction
                elastic.joint_friction[i] += (h / 6.0 if s in (0, 3) else h / 3.0) * friction * v
            scratch.k[s + 1, i] = v
        if not known:
            call_arm(world)
            elastic.joint_margin = min(elastic.joint_margin, holding_margin(world, stops))
            for i in range(n):
                scratch.k[s + 1, n + i] = scratch.outputs[i]
    for i in range(n):
        A1, A23, A4 = scratch.k[1, n + i], scratch.k[2, n + i] + scratch.k[3, n + i], scratch.k[4, n + i]
        scratch.y1[i] = state.y[i] + h * (scratch.k[1, i] + h * (A1 + A23) / 6.0)
        scratch.y1[n + i] = state.y[n + i] + h * (A1 + 2.0 * A23 + A4) / 6.0


@part
def missed_motion(world: Any, span: float) -> tuple[float, float]:
    """How far a load ends from where its motor saw it, and how far its path is from a cubic [rad], the most of all.

    Leaves the rates of the drift under which the loads would have ended as the arm has them (eq:seen-rate).
    """
    elastic, k, n = world.elastic_window, world.scratch.k, world.n
    worst = bent = 0.0
    for i in range(n):
        middle = 0.5 * (k[2, n + i] + k[3, n + i])
        bent = max(bent, abs(k[1, n + i] - 2.0 * middle + k[4, n + i]))
        for r in range(elastic.stiff_count):
            j = elastic.stiff[r]
            middle -= elastic.gain[i, j] * (
                elastic.torque_line[j, 0] + 0.5 * span * elastic.torque_line[j, 1]
            )
        rate = 2.0 * (middle - elastic.drift[i]) * world.line.per_span  # eq:seen-rate
        worst = max(worst, abs(rate - elastic.drift_rate[i]))
        elastic.rate_seen[i] = rate
    return worst * span * span * span / 6.0, bent * span * span


@helper
def see_motion(world: Any) -> None:
    """Let the motors see loads as the arm has moved them."""
    elastic = world.elastic_window
    for i in range(world.n):
        elastic.drift_rate[i] = elastic.rate_seen[i]
    drift_of_stiff(world)
