"""Whether the parts of a description fit together: topology, couplings, physical inertias."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from servotwin.description import inertia as inertias
from servotwin.description.controller_parts import time_text
from servotwin.description.display import of_joint
from servotwin.description.fields import FARTHEST, Measure, nanoseconds, problem, read_at, read_of_axis
from servotwin.description.nodes import join, quoted
from servotwin.description.units import did_you_mean

if TYPE_CHECKING:
    from servotwin.description.schema import Axis, Coupling, RobotDescription, Transmission

BASE = "base"
ROUNDING = 1e-9  # of a position: of units and of numbers written short
TOOL = "tool"


def known_axis(
    name: str, axes: Mapping[str, Axis], at: str, *, base: bool = False, moving: bool = False
) -> None:
    """Complain at ``at`` unless ``name`` is an axis (or the base; or one that moves)."""
    accepted = (base and name == BASE) or (name in axes and not (moving and axes[name].fixed))
    if not accepted:
        names = [n for n, axis in axes.items() if not (moving and axis.fixed)] + ([BASE] if base else [])
        what = "is a fixed joint" if name in axes else "is not an axis"
        listed = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
        raise problem(f"{quoted(name)} {what}; expected one of {listed}{did_you_mean(name, names)}", at)


def unique(names: Iterable[str], what: str, at: Sequence[str]) -> None:
    """Complain at the second of two equal names."""
    seen: set[str] = set()
    for name, place in zip(names, at, strict=True):
        if name in seen:
            raise problem(f"{quoted(name)} is already taken; {what} need different names", place)
        seen.add(name)


# --- one axis --------------------------------------------------------------------------------------


def check_axis(axis: Axis) -> None:
    """Whether the fields of one axis fit together."""
    placements = [name for name in ("dh", "mdh", "origin") if getattr(axis, name) is not None]
    if len(placements) > 1 or (not placements and axis.axis is None):
        given = f"{' and '.join(placements)} are given" if placements else "the placement is missing"
        raise problem(f"{given}; expected exactly one of dh, mdh and origin")
    if axis.axis is not None:
        if placements and placements != ["origin"]:
            raise problem(f"belongs to origin; with {placements[0]} the joint axis is z", "axis")
        if not any(axis.axis):
            raise problem("the zero vector has no direction; expected one such as [0, 0, 1]", "axis")
    if axis.direction == 0:
        raise problem("'0' is not accepted; expected 1 or -1", "direction")
    if axis.direction == -1 and axis.dh is None and axis.mdh is None:
        raise problem("belongs to dh and mdh; turn the joint round by axis: [0, 0, -1]", "direction")
    _check_motion(axis)
    _check_mass(axis)


def _check_motion(axis: Axis) -> None:
    if axis.fixed:
        for name in ("deviation", "limits", "friction", "gear", "motor", "brake", "encoder"):
            if name in axis.model_fields_set and getattr(axis, name) is not None:
                raise problem(f"a fixed joint has no {name}; remove it or choose another type", name)
    if axis.type == "continuous" and axis.limits.position is not None:
        raise problem("a continuous joint has none; write type: revolute", "limits.position")
    if axis.gear is not None and axis.gear.lead is not None and not axis.prismatic:
        at = "gear.lead" if axis.gear.screw_datasheet is None else "gear.screw_datasheet"
        raise problem("belongs to a prismatic joint; expected ratio", at)
    _check_datasheets(axis)
    _check_scale(axis)


def _check_datasheets(axis: Axis) -> None:
    """The data sheet of a gear is of two shafts; what it takes without load is friction of the motor's shaft."""
    if axis.gear is None:
        return
    if axis.gear.datasheet is not None and axis.prismatic:
        text = "is of a gear between two shafts, and this joint slides; expected screw_datasheet, or ratio in rad/m"
        raise problem(text, "gear.datasheet")
    if (
        axis.gear.no_load_torque is not None
        and axis.motor is not None
        and axis.motor.friction_table is not None
    ):
        text = "states friction of the shaft as the no_load_torque of its gear does; expected one of them"
        raise problem(text, "motor.friction_table")


def _check_scale(axis: Axis) -> None:
    """A cylinder slides: no lead makes turns of its travel, and a scale shows it; everything else turns."""
    cylinder = axis.motor is not None and axis.motor.cylinder is not None
    if cylinder and axis.gear is not None and axis.gear.lead is not None:
        raise problem("a cylinder does not turn; expected no gear", "gear.lead")
    if axis.encoder is None:
        return
    resolution = axis.encoder.resolution
    if cylinder and resolution is None:
        field = "bits" if axis.encoder.bits is not None else "lines"
        text = "counts turns, and a cylinder slides; expected resolution, such as '5 um'"
        raise problem(text, f"encoder.{field}")
    ratio = axis.gear.motor_per_joint if axis.gear is not None else None
    slides = cylinder or (
        axis.prismatic and (ratio is None or abs(ratio) == 1.0)
    )  # 1 rad of a linear motor is 1 m
    if resolution is not None and axis.motor is not None and not slides:
        text = "is of a linear scale at a cylinder, and this motor turns; expected lines or bits per turn"
        raise problem(text, "encoder.resolution")


def _check_mass(axis: Axis) -> None:
    link = axis.link
    if link.mass == 0.0:
        needs = "center" if any(link.center) else ""
        if link.inertia is not None and link.inertia.gyration is not None:
            needs = "inertia"
        if needs:
            raise problem("the link has no mass; expected a mass, such as '2.5 kg'", f"link.{needs}")


def inertia_problems(robot: RobotDescription) -> Iterator[tuple[str, str]]:
    """Path and reason of every inertia that no body has."""
    if robot.base is not None and robot.base.inertia is not None:
        trouble = inertias.physical_problem(inertias.base_inertia(robot.base)[2])
        if trouble:
            yield "base.inertia", trouble
    for name, axis in robot.axes.items():
        if axis.link.inertia is not None:
            trouble = inertias.physical_problem(inertias.link_inertia(axis)[2])
            if trouble:
                yield f"axes.{name}.link.inertia", trouble
    if robot.payload is not None and robot.payload.inertia is not None:
        trouble = inertias.physical_problem(inertias.payload_inertia(robot.payload)[2])
        if trouble:
            yield "payload.inertia", trouble


# --- values that are measured by the joint they belong to ------------------------------------------


def named_axes(raw: object) -> object:
    """The raw axes, if they are a mapping of well-formed names."""
    if not isinstance(raw, dict) or not raw:
        raise problem("expected a mapping with at least one axis, such as {A: {type: revolute, dh: {...}}}")
    for name in raw:
        if not re.fullmatch(r"[^\s.#=,]{1,100}", str(name)) or name == BASE:
            expected = "a name without blanks, '.', '#', '=' and ',', other than 'base'"
            raise problem(f"{quoted(name)} cannot name an axis; expected {expected}", str(name))
    return raw


def read_couplings(raw: object, axes: Mapping[str, Axis]) -> object:
    """The raw couplings with their factors and offsets read."""
    if not isinstance(raw, list | tuple):
        return raw
    return tuple(_read_coupling(item, axes, str(i)) for i, item in enumerate(raw))


def _read_coupling(raw: object, axes: Mapping[str, Axis], at: str) -> object:
    if not (isinstance(raw, dict) and isinstance(raw.get("joint"), str) and isinstance(raw.get("of"), dict)):
        return raw
    joint = raw["joint"]
    known_axis(joint, axes, join(at, "joint"), moving=True)
    linear = axes[joint].prismatic
    factors = {}
    for name, value in raw["of"].items():
        place = f"{at}.of.{name}"
        known_axis(name, axes, place, moving=True)
        units = {(False, False): "", (True, True): "", (True, False): "m/rad", (False, True): "rad/m"}
        factors[name] = read_at(place, Measure(units[linear, axes[name].prismatic]), value, False)
    read = {**raw, "of": factors}
    if raw.get("offset") is not None:
        read["offset"] = read_at(f"{at}.offset", Measure("rad", linear="m"), raw["offset"], linear)
    return read


_QUANTITY_RANGE = Measure("rad", linear="m", size=2, rising=True)


def read_quantities(raw: object, axes: Mapping[str, Axis]) -> object:
    """The raw named quantities with their factors, offsets and limits read."""
    if not isinstance(raw, dict):
        return raw
    return {name: _read_quantity(item, axes, str(name)) for name, item in raw.items()}


def _read_quantity(raw: object, axes: Mapping[str, Axis], at: str) -> object:
    """A sum of sliding joints alone is a length, any other one an angle."""
    if not (isinstance(raw, dict) and isinstance(raw.get("of"), dict)):
        return raw
    for name in raw["of"]:
        known_axis(name, axes, f"{at}.of.{name}", moving=True)
    length = all(axes[name].prismatic for name in raw["of"])
    factors = {}
    for name, value in raw["of"].items():
        unit = "" if length or not axes[name].prismatic else "rad/m"
        factors[name] = read_at(f"{at}.of.{name}", Measure(unit), value, False)
    read = {**raw, "of": factors}
    if raw.get("offset") is not None:
        read["offset"] = read_at(f"{at}.offset", Measure("rad", linear="m"), raw["offset"], length)
    if raw.get("limits") is not None:
        read["limits"] = read_at(f"{at}.limits", _QUANTITY_RANGE, raw["limits"], length)
    return read


def read_frame_quantities(raw: object) -> object:
    """The raw quantities between frames with their limits read: an angle's are angles, a distance's lengths."""
    if not isinstance(raw, dict):
        return raw
    read = {}
    for name, item in raw.items():
        read[name] = item
        if isinstance(item, dict) and item.get("limits") is not None:
            length = item.get("distance") is not None
            read[name] = {
                **item,
                "limits": read_at(f"{name}.limits", _QUANTITY_RANGE, item["limits"], length),
            }
    return read


def check_range(limits: tuple[float, float] | None) -> None:
    """Complain about a lowest value above the highest."""
    if limits is not None and limits[0] > limits[1]:
        raise problem("minimum is above maximum; expected [min, max]", "limits")


def read_transmission(raw: object, axes: Mapping[str, Axis], names: Sequence[str]) -> object:
    """The raw transmission with its matrix read; columns belong to the independent joints ``names``."""
    if not isinstance(raw, dict) or not isinstance(raw.get("matrix"), list | tuple):
        return raw
    rows = []
    ratio = Measure("", linear="rad/m")
    for i, row in enumerate(raw["matrix"]):
        if not isinstance(row, list | tuple) or len(row) != len(names):
            columns = ", ".join(names)
            raise problem(f"expected a list of {len(names)} values, one for each of {columns}", f"matrix.{i}")
        # zero is zero in every unit; it saves writing '0 rad/m' all over a sparse matrix
        rows.append(
            tuple(
                0.0 if entry in ("0", 0) else read_at(f"matrix.{i}.{j}", ratio, entry, axes[name].prismatic)
                for j, (entry, name) in enumerate(zip(row, names, strict=True))
            )
        )
    return {**raw, "matrix": tuple(rows)}


def read_home(raw: object, axes: Mapping[str, Axis]) -> object:
    """The raw home pose with its positions read."""
    if not isinstance(raw, dict):
        return raw
    position = Measure("rad", linear="m", minimum=-FARTHEST, maximum=FARTHEST)
    read = {}
    for name, value in raw.items():
        known_axis(name, axes, name, moving=True)
        read[name] = read_of_axis(name, position, value, axes[name].prismatic)
    return read


# --- the whole robot -------------------------------------------------------------------------------


def independent(
    axes: Mapping[str, Axis], couplings: Sequence[Coupling], active: Sequence[str] | None
) -> tuple[str, ...]:
    """The independent joints in the order of q."""
    if active is not None:
        return tuple(active)
    following = {coupling.joint for coupling in couplings}
    return tuple(name for name, axis in axes.items() if not axis.fixed and name not in following)


def parent_names(axes: Mapping[str, Axis], parents: Sequence[int] | None) -> dict[str, str]:
    """The axis (or base) that carries each axis."""
    names = list(axes)
    if parents is not None:
        return {name: names[k - 1] if k else BASE for name, k in zip(names, parents, strict=True)}
    previous = [BASE, *names]
    return {name: axes[name].parent or previous[i] for i, name in enumerate(names)}


def check_robot(robot: RobotDescription) -> None:
    """Whether the parts of the robot fit together."""
    if all(axis.fixed for axis in robot.axes.values()):
        raise problem("every joint is fixed; expected at least one that moves", "axes")
    _check_parents(robot)
    _check_frame_names(robot)
    _check_couplings(robot)
    _check_active(robot)
    _check_quantities(robot)
    _check_frame_quantities(robot)
    _check_loops(robot)
    _check_transmission(robot)
    _check_mounts(robot)
    _check_electronics(robot)
    _check_home(robot)
    _check_deviations(robot)
    if robot.tool is not None and robot.tool.parent is not None:
        known_axis(robot.tool.parent, robot.axes, "tool.parent")
    if robot.inertia_check == "error":
        for path, trouble in inertia_problems(robot):
            raise problem(f"{trouble}; expected those of a real body, or inertia_check: warn", path)


def _check_deviations(robot: RobotDescription) -> None:
    """Offsets and scales belong to joints that have a position of their own; names of places are unique."""
    for place, part in ((BASE, robot.base), (TOOL, robot.tool)):
        if place in robot.axes and part is not None and part.deviation is not None:
            raise problem(f"there is an axis {quoted(place)} too; rename it", f"{place}.deviation")
    for name, axis in robot.axes.items():
        if axis.deviation is not None and axis.deviation.harmonics:
            _check_harmonics(name, axis)
        if axis.deviation is None or name in robot.joint_names:
            continue
        for field in ("offset", "scale"):
            if getattr(axis.deviation, field):
                text = f"{quoted(name)} follows other joints; expected a rotation about z, which displaces it alone"
                raise problem(text, f"axes.{name}.deviation.{field}")


def _check_harmonics(name: str, axis: Axis) -> None:
    """Harmonics come again in every turn of a gear's output."""
    if axis.prismatic:
        raise problem("a prismatic joint has no turns; expected scale", f"axes.{name}.deviation.harmonics")


def _check_parents(robot: RobotDescription) -> None:
    count = len(robot.axes)
    if robot.parents is not None:
        for name, axis in robot.axes.items():
            if axis.parent is not None:
                text = "the array `parents` is given as well; expected one of the two"
                raise problem(text, f"axes.{name}.parent")
        if len(robot.parents) != count:
            raise problem(f"{len(robot.parents)} numbers; expected {count}, one for each axis", "parents")
        for i, number in enumerate(robot.parents):
            if number > count:
                raise problem(f"there is no axis {number}; expected 0 (base) to {count}", f"parents.{i}")
    carriers = robot.parent_names
    place = {name: f"parents.{i}" for i, name in enumerate(robot.axes)}
    if robot.parents is None:
        place = {name: f"axes.{name}.parent" for name in robot.axes}
    for name, parent in carriers.items():
        known_axis(parent, robot.axes, place[name], base=True)
    settled = {BASE}
    for name in carriers:
        path = [name]
        while carriers[path[-1]] not in settled:
            path.append(carriers[path[-1]])
            if path[-1] in path[:-1]:
                loop = path[path.index(path[-1]) :]
                cycle = " -> ".join(loop[:8]) + (" -> ..." if len(loop) > 8 else "")
                raise problem(f"the tree has a cycle {cycle}; close a chain with `loops`", place[path[-1]])
        settled.update(path)


def _check_frame_names(robot: RobotDescription) -> None:
    names = robot.link_names
    places = [f"axes.{name}.link.name" for name in names]
    unique(names.values(), "links", places)
    base = robot.base_name
    if base == TOOL:
        raise problem(f"{quoted(base)} is the name of the tool frame; expected a different one", "base.name")
    for link, place in zip(names.values(), places, strict=True):
        # without a tool section, a link called `tool` is the tool
        if link == base or (link == TOOL and robot.tool is not None):
            raise problem(f"{quoted(link)} is the name of another frame; expected a different one", place)


def _check_couplings(robot: RobotDescription) -> None:
    joints = [coupling.joint for coupling in robot.couplings]
    unique(joints, "coupled joints", [f"couplings.{i}.joint" for i in range(len(joints))])
    for i, coupling in enumerate(robot.couplings):
        if not coupling.of:
            raise problem("empty; expected the joints it follows, such as {th2: -1}", f"couplings.{i}.of")
        for name in coupling.of:
            if name in joints:
                text = f"{quoted(name)} follows others itself; expected independent joints only"
                raise problem(text, f"couplings.{i}.of.{name}")
    for name in robot.home:
        if name in joints:
            raise problem("this joint follows others; expected independent joints only", f"home.{name}")


def _check_home(robot: RobotDescription) -> None:
    """Complain about a home pose that no joint could hold."""
    for name, q in robot.home.items():
        axis = robot.axes[name]
        low, high = axis.limits.position or (-math.inf, math.inf)
        slack = ROUNDING * max(abs(q), 1.0)
        if not low - slack <= q <= high + slack:
            shown = of_joint(axis.prismatic)
            raise problem(
                f"{shown.text(q, '.6g')} is outside limits.position of the joint; expected "
                f"{shown.text(low, '.6g')} to {shown.text(high, '.6g')}",
                f"home.{name}",
            )


def _check_quantities(robot: RobotDescription) -> None:
    """Quantities follow from joints that have a value without closing loops, and have names of their own."""
    passive = set(independent(robot.axes, robot.couplings, None)) - set(robot.joint_names)
    for name, quantity in robot.quantities.items():
        at = f"quantities.{name}"
        if name in robot.axes or not re.fullmatch(r"[^\s.#=,]{1,100}", name):
            raise problem(f"{quoted(name)} cannot name a quantity; expected a word that is no axis", at)
        if not quantity.of:
            raise problem("empty; expected the joints it follows from, such as {th3: 1}", f"{at}.of")
        for joint in quantity.of:
            following = [c for c in robot.couplings if c.joint == joint]
            if passive & ({joint} | {j for c in following for j in c.of}):
                text = f"{quoted(joint)} is moved by the loops; expected joints of `active`"
                raise problem(text, f"{at}.of.{joint}")


def _check_frame_quantities(robot: RobotDescription) -> None:
    """Quantities between frames name links that there are, and have names of their own."""
    for name, quantity in robot.frame_quantities.items():
        at = f"frame_quantities.{name}"
        taken = name in robot.axes or name in robot.quantities
        if taken or not re.fullmatch(r"[^\s.#=,]{1,100}", name):
            raise problem(f"{quoted(name)} cannot name a quantity; expected a word that is no axis", at)
        form = "angle" if quantity.angle is not None else "distance"
        for i, word in enumerate(quantity.angle or quantity.distance or ()):
            frame = word.rpartition(".")[0] if quantity.angle is not None else word
            if frame != "tool":
                known_axis(frame, robot.axes, f"{at}.{form}.{i}", base=True)


def _check_active(robot: RobotDescription) -> None:
    if robot.active is None:
        return
    following = {coupling.joint for coupling in robot.couplings}
    for i, name in enumerate(robot.active):
        known_axis(name, robot.axes, f"active.{i}", moving=True)
        if name in following:
            raise problem(f"{quoted(name)} follows others; expected independent joints", f"active.{i}")
    unique(robot.active, "active joints", [f"active.{i}" for i in range(len(robot.active))])
    left = [n for n in independent(robot.axes, robot.couplings, None) if n not in robot.active]
    if left and not robot.loops:
        raise problem(f"{', '.join(left)} are not listed; only closed chains have passive joints", "active")
    if not robot.active:
        raise problem("empty; expected at least one joint", "active")


def _check_loops(robot: RobotDescription) -> None:
    unique([loop.name for loop in robot.loops], "loops", [f"loops.{i}.name" for i in range(len(robot.loops))])
    for i, loop in enumerate(robot.loops):
        at = f"loops.{i}.between"
        for k, side in enumerate(loop.between):
            known_axis(side.link, robot.axes, f"{at}.{k}.link", base=True)
        link = loop.between[0].link
        if link == loop.between[1].link:
            raise problem(f"both sides are on {quoted(link)}; expected two links", f"{at}.1.link")


def _check_ratio_of_matrix(transmission: Transmission, name: str, axis: Axis, ratio: float) -> None:
    """Complain about a ratio beside a transmission matrix, unless a data sheet of the gear prints the same."""
    if axis.gear is None or axis.gear.datasheet is None or name not in transmission.motors:
        field = "ratio" if axis.gear and axis.gear.lead is None else "lead"
        text = "the transmission matrix holds the ratios; expected one of them"
        raise problem(text, f"axes.{name}.gear.{field}")
    held = max(map(abs, transmission.matrix[transmission.motors.index(name)]))
    if abs(abs(ratio) - held) > 1e-6 * held:
        text = f"{ratio:g}, but the transmission matrix has {held:g}; expected the same"
        raise problem(text, f"axes.{name}.gear.datasheet.ratio")


def _check_transmission(robot: RobotDescription) -> None:
    if robot.transmission is not None:
        motors, rows = robot.transmission.motors, len(robot.transmission.matrix)
        unique(motors, "motors", [f"transmission.motors.{i}" for i in range(len(motors))])
        if rows != len(motors):
            raise problem(f"{rows} rows; expected {len(motors)}, one for each motor", "transmission.matrix")
        matrix = np.array(robot.transmission.matrix, dtype=np.float64)
        if np.linalg.matrix_rank(matrix) < matrix.shape[1]:
            text = "some motion of the joints turns no motor; expected independent columns"
            raise problem(text, "transmission.matrix")
    for name, axis in robot.axes.items():
        ratio = axis.gear.motor_per_joint if axis.gear else None
        if robot.transmission is not None and ratio is not None:
            _check_ratio_of_matrix(robot.transmission, name, axis, ratio)
        motor = axis.motor
        turns = motor is not None and motor.hydraulic_motor is not None and motor.cylinder is None
        moves_mass = turns or (motor is not None and motor.rotor_inertia)
        if robot.transmission is None and axis.prismatic and ratio is None and moves_mass:
            text = "the motor turns and the joint slides; expected gear: {lead: ...} or {ratio: ... rad/m}"
            raise problem(text, f"axes.{name}.gear" if axis.gear else f"axes.{name}")


def _check_mounts(robot: RobotDescription) -> None:
    for name, axis in robot.axes.items():
        if axis.motor is not None and axis.motor.mount is not None:
            known_axis(axis.motor.mount.link, robot.axes, f"axes.{name}.motor.mount.link", base=True)


def _check_electronics(robot: RobotDescription) -> None:
    controller = robot.controller
    if controller is None:
        return
    motors = motor_names(robot)
    for part, names in (("gains", controller.gains), ("axes", controller.axes)):
        for name in names:
            if name not in motors:
                listed = f"{', '.join(motors[:12])}{did_you_mean(name, motors)}"
                raise problem(
                    f"{quoted(name)} is not a motor; expected one of {listed}", f"controller.{part}.{name}"
                )
    if robot.power is not None:
        bridge = robot.power.bridge
        lost = bridge.dead_time + bridge.storage_time
        # each of the two legs switches twice in a period
        if lost >= controller.current_period / 4:
            both, period = time_text(nanoseconds(lost)), time_text(controller.current_period_ns)
            raise problem(
                f"dead and storage time together, {both}, leave no pulse of the current_period {period};"
                " expected less than a quarter of it",
                "power.bridge.dead_time",
            )


def motor_names(robot: RobotDescription) -> list[str]:
    """The motors: rows of the transmission, or the independent joints, which each have one."""
    if robot.transmission is not None:
        return list(robot.transmission.motors)
    return list(robot.joint_names)
