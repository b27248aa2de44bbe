"""The motors of a description: whose data they have, and what a model of each kind needs."""

from __future__ import annotations

from servotwin.description.checks import motor_names
from servotwin.description.problems import refuse
from servotwin.description.schema import Axis, Motor, RobotDescription
from servotwin.errors import InputError

NEEDED = {
    "dc": ("torque_constant", "resistance", "inductance"),
    "dc-reduced": ("torque_constant", "resistance"),
    "pmsm": ("torque_constant", "resistance", "pole_pairs"),
    "ideal": (),
}
EXAMPLES = {
    "torque_constant": "'0.12 N*m/A'",
    "resistance": "'0.4 ohm'",
    "inductance": "'0.6 mH'",
    "pole_pairs": "'4'",
    "rotor_inertia": "'1.5e-4 kg*m^2'",
    "current_limit": "'16 A'",
}


def owners(description: RobotDescription) -> list[str]:
    """The axis that carries each motor's data, in the order of the motors.

    A motor takes the data of the axis with its name, or else of the joint in the same place of q.
    """
    names, joints = motor_names(description), description.joint_names
    places = joints if len(joints) == len(names) else names
    return [name if name in description.axes else place for name, place in zip(names, places, strict=True)]


def owner_by_motor(description: RobotDescription) -> dict[str, str]:
    """The same, by the names of the motors."""
    return dict(zip(motor_names(description), owners(description), strict=True))


def motor_of(description: RobotDescription, owner: str) -> tuple[Axis, Motor, str]:
    """The axis, its motor and the kind of its electrical model, with everything that the model needs."""
    axis = description.axes.get(owner)
    path = f"axes.{owner}.motor"
    if axis is None or axis.motor is None:
        raise refuse(
            description,
            path,
            "missing: the loops need the data of every motor; expected a motor with torque_constant, "
            "resistance and inductance, or 'kind: ideal'",
        )
    motor, kind = axis.motor, axis.motor.kind or "dc"
    if kind not in NEEDED:
        raise refuse(
            description, f"{path}.kind", f"'{kind}' has no current loop; expected one of {', '.join(NEEDED)}"
        )
    for field in NEEDED[kind]:
        if getattr(motor, field) is None:
            raise refuse(
                description, f"{path}.{field}", f"missing: '{kind}' needs it; expected {EXAMPLES[field]}"
            )
    problem = _inductance_problem(description, path, motor, kind)
    if problem is not None:
        raise problem
    if not motor.rotor_inertia and axis.gear is not None and axis.gear.stiffness is not None:
        raise refuse(
            description,
            f"{path}.rotor_inertia",
            f"missing: behind an elastic gear the rotor moves by itself; expected {EXAMPLES['rotor_inertia']}",
        )
    return axis, motor, kind


def _inductance_problem(
    description: RobotDescription, path: str, motor: Motor, kind: str
) -> InputError | None:
    """A winding whose current would have no state of its own."""
    nothing = "0 H leaves no current to integrate; expected more"
    if kind == "dc" and motor.inductance == 0.0:
        return refuse(description, f"{path}.inductance", f"{nothing}, or 'kind: dc-reduced'")
    if kind != "pmsm" or motor.inductance:
        return None
    for field in ("inductance_d", "inductance_q"):
        if getattr(motor, field) is not None:
            continue
        if motor.inductance is not None:
            return refuse(description, f"{path}.inductance", f"{nothing}, or inductance_d and inductance_q")
        text = f"missing: 'pmsm' needs it; expected {EXAMPLES['inductance']}, or an inductance for both"
        return refuse(description, f"{path}.{field}", text)
    return None


def dq_inductances(motor: Motor) -> tuple[float, float]:
    """Inductances of a synchronous motor along and across its magnets [H]."""
    return motor.inductance_d or motor.inductance or 0.0, motor.inductance_q or motor.inductance or 0.0


def required_current_limit(description: RobotDescription, owner: str, why: str) -> float:
    """Limit of the driver's current [A], or an error that says for what (``why``) it is needed."""
    limit = motor_of(description, owner)[1].largest_current
    if limit is None:
        raise refuse(
            description,
            f"axes.{owner}.motor.current_limit",
            f"missing, and neither peak nor rated torque tell it{why}; expected {EXAMPLES['current_limit']}",
        )
    return limit
