"""What a URDF file says that a description does not hold, and what it does not say: a line each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from servotwin.description.nodes import one_line, quoted
from servotwin.description.urdf_tree import Joint, Robot
from servotwin.errors import located

SHOWN = 8  # names in a line
_MEANINGS = {
    "robot/transmission": "state gear and motor of the axes instead",
    "robot/gazebo": "settings of a simulator",
    "robot/mujoco": "settings of a simulator",
    "robot/ros2_control": "interfaces of a controller",
    "robot/material": "colours",
    "visual/material": "colours",
    "link/contact": "settings of a simulator",
    "joint/safety_controller": "limits of a controller",
    "joint/calibration": "reference positions of encoders",
}


def notes(robot: Robot) -> Iterator[str]:
    """What is left out or called otherwise, without harm to the equations."""
    file = robot.element.file
    renamed = {name: new for name, new in robot.axis_names.items() if name != new}
    for name, new in renamed.items():
        yield located(f"joint {quoted(name)} is called {quoted(new)} here", file, None, None)
    for name, new in robot.link_names.items():
        if name != new:
            yield located(f"link {quoted(name)} is called {quoted(new)} here", file, None, None)
    yield from _skipped(robot)
    both = [name for name, link in robot.links.items() if link.all("visual") and link.all("collision")]
    if both:
        yield located(
            f"<collision> left out of {_listed(both)}: pictures use the visual shapes", file, None, None
        )


def warnings(robot: Robot, *, computed: bool) -> Iterator[str]:
    """What changes the equations; ``computed``: missing inertias were computed from shapes."""
    file = robot.element.file
    yield from _dynamics(robot)
    empty = _massless(robot, computed=computed)
    if empty:
        remedy = "expected <inertial>" if computed else "expected <inertial>, or a conversion with --density"
        yield located(f"without inertia, and so massless: {_listed(empty)}; {remedy}", file, None, None)


def _skipped(robot: Robot) -> Iterator[str]:
    """One line for each kind of element that is passed over; one of no known meaning is said with its place."""
    counts: Counter[tuple[str, str]] = Counter()
    for place, count in sorted(robot.element.skipped.items()):
        parent, _, tag = (one_line(part, 40) for part in place.partition("/"))
        meaning = _MEANINGS.get(place, "")
        counts[(f"<{tag}>" if meaning else f"<{tag}> in <{parent}>", f": {meaning}" if meaning else "")] += (
            count
        )
    for (what, why), count in counts.items():
        yield located(f"{what} left out, {_times(count)}{why}", robot.element.file, None, None)


def _dynamics(robot: Robot) -> Iterator[str]:
    """One line for the friction of all joints, at the first of them."""
    lost: dict[str, list[str]] = {}
    line = None
    for joint in robot.joints:
        dynamics = joint.element.only("dynamics")
        if dynamics is None or not joint.moves:
            continue
        for key in ("damping", "friction"):
            if _value(dynamics.attributes, key):
                lost.setdefault(key, []).append(joint.name)
                line = line or dynamics.line
    if lost:
        named = list(dict.fromkeys(name for names in lost.values() for name in names))
        text = (
            f"<dynamics> left out: {' and '.join(lost)} of joint{'s' if len(named) > 1 else ''} {_listed(named)};"
            " state friction: {viscous: ..., coulomb: ...} of the axis"
        )
        yield located(text, robot.element.file, line, None)


def _value(attributes: dict[str, str], key: str) -> bool:
    """True unless the attribute is missing or zero."""
    try:
        return float(attributes.get(key, "0")) != 0.0
    except ValueError:
        return True


def _massless(robot: Robot, *, computed: bool) -> list[str]:
    """The links on moving joints whose body, with all that is fixed to it, has no mass."""
    heavy: set[str] = set()
    body: dict[str, Joint] = {}
    for joint in robot.joints:  # parents first
        mover = joint if joint.moves else body.get(joint.parent)
        if mover is None:
            continue
        body[joint.child] = mover
        link = robot.links[joint.child]
        inertial = link.only("inertial")
        mass = inertial.only("mass") if inertial is not None else None
        shaped = computed and inertial is None and bool(link.all("visual") or link.all("collision"))
        if shaped or (mass is not None and mass.number("value", 0.0) != 0.0):
            heavy.add(mover.name)
    return [joint.child for joint in robot.joints if joint.moves and joint.name not in heavy]


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(one_line(name, 40) for name in names[:SHOWN])
    return f"{shown} and {len(names) - SHOWN} more" if len(names) > SHOWN else shown
