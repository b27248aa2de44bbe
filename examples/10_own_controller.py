"""A control law of one's own in place of position and speed loops: in Python, and compiled into the loop."""

import numpy as np

import servotwin as st
from servotwin.control.servo.user_laws import Signals

MOVE = "scara-a-axis-100deg"
MOTORS = 4
GAIN = 30.0  # 1/s


def follow(time: float, signals: Signals) -> np.ndarray:
    """Speed commands [rad/s]: the speed of the path, and what the position error asks for."""
    return signals.speed_ref + GAIN * (signals.position_ref - signals.position)


# A Python law is called at its own rate; below it the servo drivers go on.
in_python = st.PythonLaw(follow, period=1.6e-3, level="speed")

inertia = np.array([7.6e-4, 2.0e-4, 5.9e-5, 2.04e-5])  # kg m2 at the motor shafts, with 4 kg
constant = np.array([0.1187, 0.0840, 0.0812, 0.0579])  # N m/A
STIFF, DAMP, SLOW = 60.0**2, 2 * 60.0, 60.0**3 / 5


def pid(time, signals, memory, command):
    """Currents [A] of a PID law; the integrals are in memory. Compiled, so it may only do arithmetic."""
    for j in range(MOTORS):
        error, rate = signals[0, j] - signals[3, j], signals[1, j] - signals[4, j]
        wanted = signals[2, j] + DAMP * rate + STIFF * error + SLOW * memory[j]  # rad/s2
        command[j] = inertia[j] / constant[j] * wanted
        memory[j] += 1e-3 * error


# A compiled law runs inside the loop, at its speed: good for fast rates and long runs.
compiled = st.CompiledLaw(pid, period=1e-3, motors=MOTORS, level="current", memory=MOTORS)

laws = {"cascade of the robot": None, "Python, speed": in_python, "compiled, current": compiled}
for name, law in laws.items():
    numbers = st.simulate(MOVE, controller=law).summary
    print(
        f"{name:21} tip error at most {1e3 * numbers['tip_error_max_m']:7.3f} mm, "
        f"at the end {1e3 * numbers['tip_error_final_m']:.3f} mm"
    )

# A law that commands nonsense is a run that shows it, or one that diverges; it is never cut short in silence.
wrong = st.PythonLaw(lambda time, s: -follow(time, s), period=1.6e-3, level="speed")
numbers = st.simulate(MOVE, controller=wrong).summary
print(f"wrong sign: {1e3 * numbers['tip_error_max_m']:.0f} mm;", numbers["warnings"][0])
