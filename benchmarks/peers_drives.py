"""Other ways to simulate servo drives at a 0.2 ms current loop: packages, and what a user would write.

Every peer moves the A axis of the GSIS SCARA between 0 and 100 deg, with the motors of its catalogue file.
``python -m benchmarks.peers_drives`` runs each on its own and prints how much faster than real time it is.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

import numpy as np

import servotwin as st
from servotwin.description.load import read_description

T_S = 2e-4  # s, period of the current loop and of the carrier
SPEED_EVERY, POSITION_EVERY = 5, 8  # periods of the speed (1.0 ms) and the position loop (1.6 ms), in T_S
BUS = 75.0  # V
POSITION_BANDWIDTH, SPEED_BANDWIDTH, CURRENT_BANDWIDTH = 30.0, 150.0, 1200.0  # 1/s, rad/s, rad/s
STROKE, TOP_SPEED, RAMP, DWELL = math.radians(100.0), math.radians(200.0), 0.25, 0.25  # rad, rad/s, s, s


@dataclass
class Peer:
    """A contender: ``run(seconds)`` simulates that long from rest and returns the simulated time [s]."""

    name: str
    what: str  # what is simulated, and how finely
    run: Callable[[float], float]
    error: dict[str, float] = field(default_factory=dict)  # last run: joint A behind its reference [rad]


@dataclass(frozen=True)
class Axis:
    """One axis as a controller and an averaged motor model need it (SI, motor side unless joint is said)."""

    R: float
    L: float
    K_t: float
    K_b: float
    f_m: float
    n: float
    J: float  # rotor and, at home, the link it carries
    i_max: float


@cache
def axes() -> tuple[Axis, ...]:
    """The four axes of the GSIS SCARA."""
    robot = st.load_robot("gsis-scara")
    M = np.diag(robot.inertia(robot.q_home, drives=True))
    found = []
    for inertia, axis in zip(M, read_description("gsis-scara").axes.values(), strict=True):
        motor, n = axis.motor, axis.gear.motor_per_joint
        found.append(
            Axis(
                motor.resistance, motor.inductance, motor.torque_constant, motor.voltage_constant,
                motor.viscous_friction, n, float(inertia) / n**2, motor.current_limit,
            )
        )  # fmt: skip
    return tuple(found)


def reference(t: float) -> tuple[float, float]:
    """Position and velocity of joint A: up and down again for ever, with ramps V (3 s^2 - 2 s^3)."""
    top = STROKE / TOP_SPEED  # when braking begins
    leg = top + RAMP + DWELL
    number, t = divmod(t, leg)
    if t < RAMP:
        s = t / RAMP
        x, v = RAMP * (s**3 - 0.5 * s**4), 3 * s**2 - 2 * s**3
    elif t < top:
        x, v = t - 0.5 * RAMP, 1.0
    else:
        s = min((t - top) / RAMP, 1.0)
        x, v = top - 0.5 * RAMP + RAMP * (s - s**3 + 0.5 * s**4), 1.0 - 3 * s**2 + 2 * s**3
    q, qd = TOP_SPEED * x, TOP_SPEED * v
    return (q, qd) if number % 2 == 0 else (STROKE - q, -qd)


class Servo:
    """Position (P), speed (PI) and current (PI) loop of one motor, in plain floats."""

    def __init__(self, axis: Axis) -> None:
        self.current_p, self.current_i = CURRENT_BANDWIDTH * axis.L, CURRENT_BANDWIDTH * axis.R * T_S
        self.speed_p = SPEED_BANDWIDTH * axis.J / axis.K_t
        self.speed_i = self.speed_p * SPEED_BANDWIDTH / 5.0 * SPEED_EVERY * T_S
        self.i_max, self.n = axis.i_max, axis.n
        self.w_ref = self.i_ref = self.i_sum = self.u_sum = 0.0

    def voltage(self, step: int, q_ref: float, qd_ref: float, theta: float, w: float, i: float) -> float:
        """Mean voltage of the coming period; reference at the joint, ``theta`` and ``w`` at the motor."""
        if step % POSITION_EVERY == 0:
            self.w_ref = self.n * qd_ref + POSITION_BANDWIDTH * (self.n * q_ref - theta)
        if step % SPEED_EVERY == 0:
            e = self.w_ref - w
            wanted = self.speed_p * e + self.i_sum
            self.i_ref = min(max(wanted, -self.i_max), self.i_max)
            if wanted == self.i_ref:
                self.i_sum += self.speed_i * e
        e = self.i_ref - i
        wanted = self.current_p * e + self.u_sum
        u = min(max(wanted, -BUS), BUS)
        if wanted == u:
            self.u_sum += self.current_i * e
        return u


# ------------------------------------------------------------------------------------------- packages


def motulator_pmsm() -> Peer:
    """Motulator: one permanent-magnet motor like A's, three-phase bridge with switched PWM, vector control."""
    from motulator.drive import model
    from motulator.drive.control import sm
    from motulator.drive.utils import SynchronousMachinePars

    axis, pole_pairs = axes()[0], 4
    par = SynchronousMachinePars(
        n_p=pole_pairs, R_s=axis.R, L_d=axis.L, L_q=axis.L, psi_f=axis.K_t / (1.5 * pole_pairs)
    )
    top = pole_pairs * axis.n * TOP_SPEED
    settings = sm.CurrentReferenceCfg(par, max_i_s=axis.i_max, nom_w_m=top)
    error: dict[str, float] = {}

    def run(seconds: float) -> float:
        plant = model.Drive(
            model.VoltageSourceConverter(u_dc=BUS),
            model.SynchronousMachine(par),
            model.StiffMechanicalSystem(J=axis.J, B_L=axis.f_m),
        )
        plant.pwm = model.CarrierComparison()
        servo = sm.CurrentVectorControl(
            par, settings, T_s=T_S, J=axis.J, alpha_c=CURRENT_BANDWIDTH, sensorless=False
        )
        servo.speed_ctrl = sm.SpeedController(axis.J, SPEED_BANDWIDTH)
        servo.ref.w_m = lambda t: pole_pairs * axis.n * reference(t)[1]
        simulation = model.Simulation(plant, servo)
        simulation.simulate(t_stop=seconds)
        theta = np.unwrap(plant.mechanics.data.theta_M)
        error["A"] = reference(plant.t0)[0] - float(theta[-1]) / axis.n
        return float(plant.t0)

    return Peer("motulator", "1 motor, no arm, switched PWM", run, error)


def gym_electric_motor_dc(solver: str = "default") -> Peer:
    """gym-electric-motor: A's DC motor, an averaged four-quadrant bridge, its default solver or Euler."""
    import gym_electric_motor as gem
    from gym_electric_motor.physical_systems.solvers import EulerSolver, ScipyOdeSolver

    axis = axes()[0]
    limits = {"omega": 500.0, "i": 2.0 * axis.i_max, "u": BUS, "torque": 2.0 * axis.i_max * axis.K_t}
    env = gem.make(
        "Cont-SC-PermExDc-v0",  # its own control period is 0.1 ms
        tau=T_S,
        visualization=(),
        disable_env_checker=True,
        ode_solver=EulerSolver() if solver == "euler" else ScipyOdeSolver(),
        supply={"u_nominal": BUS},
        motor={
            "motor_parameter": {"r_a": axis.R, "l_a": axis.L, "psi_e": axis.K_t, "j_rotor": axis.J},
            "limit_values": limits,
            "nominal_values": limits,
        },
        load={"load_parameter": {"a": 0.0, "b": axis.f_m, "c": 0.0, "j_load": 1e-12}},
    )
    w_scale, i_scale = limits["omega"], limits["i"]
    error: dict[str, float] = {}

    def run(seconds: float) -> float:
        servo = Servo(axis)
        env.reset(seed=1)
        theta = w = i = q_ref = qd_ref = 0.0
        steps = round(seconds / T_S)
        action = np.zeros(1)
        for step in range(steps):
            if step % POSITION_EVERY == 0:
                q_ref, qd_ref = reference(step * T_S)
            action[0] = servo.voltage(step, q_ref, qd_ref, theta, w, i) / BUS
            (state, _), _, terminated, _, _ = env.step(action)
            if terminated:
                raise RuntimeError(f"the environment ended at {step * T_S} s: {state}")
            before, w, i = w, float(state[0]) * w_scale, float(state[2]) * i_scale
            theta += 0.5 * T_S * (before + w)  # the environment has no angle
        error["A"] = reference(steps * T_S)[0] - theta / axis.n
        return steps * T_S

    name = "gym-electric-motor" + (" (Euler)" if solver == "euler" else "")
    return Peer(name, "1 motor, no arm, averaged PWM", run, error)


# ------------------------------------------------------------------------- what a user would write


def mujoco_arm() -> Peer:
    """MuJoCo for the arm, averaged motors and control loops in Python, one step of 0.2 ms at a time."""
    import mujoco

    from benchmarks.mujoco_drives import with_rotors
    from benchmarks.mujoco_model import joint_order

    robot, motors = st.load_robot("gsis-scara"), axes()
    model = with_rotors(robot, viscous=True)
    model.opt.timestep = T_S
    order = joint_order(model, robot.mechanism)
    if list(order) != list(range(robot.n)):
        raise ValueError("MuJoCo orders the joints differently")
    # Solution of L i' = u - R i - K_b w over a period with constant u and w.
    fade = [math.exp(-a.R / a.L * T_S) for a in motors]
    gain = [(1.0 - f) / a.R for f, a in zip(fade, motors, strict=True)]
    everything = list(zip(range(robot.n), motors, fade, gain, strict=True))
    error: dict[str, float] = {}

    def run(seconds: float) -> float:
        data = mujoco.MjData(model)
        servos = [Servo(a) for a in motors]
        current = [0.0] * robot.n
        refs = [(0.0, 0.0)] * robot.n
        steps = round(seconds / T_S)
        for step in range(steps):
            if step % POSITION_EVERY == 0:
                refs[0] = reference(step * T_S)
            q, qd, torque = data.qpos.tolist(), data.qvel.tolist(), []
            for k, a, f, g in everything:
                w = a.n * qd[k]
                u = servos[k].voltage(step, *refs[k], a.n * q[k], w, current[k])
                i = f * current[k] + g * (u - a.K_b * w)
                torque.append(a.n * a.K_t * 0.5 * (i + current[k]))
                current[k] = i
            data.qfrc_applied[:] = torque
            mujoco.mj_step(model, data)
        error["A"] = reference(steps * T_S)[0] - float(data.qpos[0])
        return steps * T_S

    return Peer("MuJoCo + Python", "4 motors and arm, averaged PWM", run, error)


def solve_ivp_arm(method: str = "RK45", rtol: float = 1e-3, atol: float = 1e-6) -> Peer:
    """scipy's solve_ivp on positions, velocities and currents, begun anew in every period."""
    from scipy.integrate import solve_ivp

    robot, motors = st.load_robot("gsis-scara"), axes()
    R, L, K_t, K_b, f_m, n = np.array([(a.R, a.L, a.K_t, a.K_b, a.f_m, a.n) for a in motors]).T
    resistance, back_emf, inductance = R / L, K_b * n / L, L
    per_current, damping = n * K_t, n * n * f_m
    error: dict[str, float] = {}

    def rhs(_t: float, x: np.ndarray, drive: np.ndarray) -> np.ndarray:
        qd, i = x[4:8], x[8:]
        out = np.empty(12)
        out[:4] = qd
        out[4:8] = robot.accel(x[:4], qd, per_current * i - damping * qd, drives=True)
        out[8:] = drive - resistance * i - back_emf * qd
        return out

    def run(seconds: float) -> float:
        servos = [Servo(a) for a in motors]
        x = np.zeros(12)
        refs = [(0.0, 0.0)] * 4
        steps = round(seconds / T_S)
        for step in range(steps):
            if step % POSITION_EVERY == 0:
                refs[0] = reference(step * T_S)
            theta, w, i = (n * x[:4]).tolist(), (n * x[4:8]).tolist(), x[8:].tolist()
            u = [s.voltage(step, *refs[k], theta[k], w[k], i[k]) for k, s in enumerate(servos)]
            solution = solve_ivp(
                rhs, (0.0, T_S), x, method=method, args=(u / inductance,), rtol=rtol, atol=atol
            )
            x = solution.y[:, -1]
        error["A"] = reference(steps * T_S)[0] - float(x[0])
        return steps * T_S

    return Peer(f"scipy solve_ivp {method}", "4 motors and arm, averaged PWM", run, error)


PEERS: dict[str, Callable[[], Peer]] = {
    "motulator": motulator_pmsm,
    "gym-electric-motor": gym_electric_motor_dc,
    "gym-electric-motor-euler": lambda: gym_electric_motor_dc("euler"),
    "mujoco": mujoco_arm,
    "solve_ivp-RK45": solve_ivp_arm,
    "solve_ivp-LSODA": lambda: solve_ivp_arm("LSODA"),
}


def real_time_factor(run: Callable[[float], float], seconds: float, rounds: int = 3) -> float:
    """Simulated over wall time: the best of several rounds, after a short one that warms up."""
    run(0.02)
    best = 0.0
    for _ in range(rounds):
        start = time.perf_counter()
        simulated = run(seconds)
        best = max(best, simulated / (time.perf_counter() - start))
    return best


def main() -> None:
    """One line per peer."""
    for make in PEERS.values():
        peer = make()
        factor = real_time_factor(peer.run, 1.0)
        behind = math.degrees(peer.error["A"])
        print(f"{peer.name:28} {factor:8.3g} x real time   {peer.what:32} A at 1 s: {behind:+.2e} deg")


if __name__ == "__main__":
    main()
