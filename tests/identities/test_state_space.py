"""The complete model of every robot against the simulator's right-hand side, and its derivatives against it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import servotwin as st
from servotwin.description.load import read_description
from servotwin.equations.differentiate import gradient
from servotwin.errors import InputError
from servotwin.robot.recursive_engine import RecursiveDynamics
from servotwin.robot.regular import regular_poses
from tests import hydraulic_axes as hydraulic
from tests import small_drives as small
from tests.closed_by_numpy import ClosedByNumpy
from tests.complex_steps import complex_jacobian
from tests.plant_rates import machine_of, plant_rates

CATALOGUE = sorted(p.stem for p in (Path(st.__file__).parent / "catalogue").glob("*.yaml"))
SIMULATED = [
    "daiv-1",
    "daiv-1-simplified",
    "double-pendulum",
    "gsis-scara",
    "manutec-r3",
    "manutec-r3-axis",
    "palletizer-4",
    "palletizer-4-loops",
    "planar-fourbar",
    "puma560",
    "sixaxis-5kg",
]


class NUMBERS:  # what the equations of actuators call, on floats
    sqrt, exp, log = np.sqrt, np.exp, np.log

    @staticmethod
    def step(x):
        return np.heaviside(x, 0.0)


def random_points(model: st.StateSpace, count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """States and inputs of the size that the robot has in operation."""
    rng = np.random.default_rng(seed)
    n = model.robot.n
    x = rng.uniform(-1.0, 1.0, (count, model.order))
    x[:, :n] = (
        regular_poses(model.robot, rng, count) if model.robot.closed else model.robot.random_q(rng, count)
    )
    sizes = {"rad/s": 2.0, "m/s": 0.3, "A": 5.0, "rad": 1e-2, "V": 30.0, "N*m": 1.0, "N": 10.0}
    sizes |= {"": 1.3, "1/s": 300.0, "Pa": 35e5}  # a spool at its stops too
    x[:, n:] *= [sizes[q.unit] for q in model.states[n:]]
    x[:, [q.unit == "Pa" for q in model.states]] += 37e5  # above the supply and below the tank as well
    u = rng.uniform(-1.0, 1.0, (count, len(model.inputs))) * [
        0.04 if q.name.endswith("valve_current") else sizes[q.unit] for q in model.inputs
    ]
    for k, j in enumerate(j for j, s in enumerate(model.shafts) if s.elastic):
        e = sum(s.elastic for s in model.shafts)
        x[:, 2 * n + e + k] = x[:, n : 2 * n] @ model.N[j] + 3.0 * rng.uniform(-1.0, 1.0, count)
    return x, u


def complete(name: str) -> st.StateSpace:
    try:
        return st.state_space(name)
    except InputError:  # a winding without data
        return st.state_space(name, motors="ideal")


@pytest.mark.parametrize("name", SIMULATED)
def test_complete_model_equals_the_plant_of_the_simulator(name):
    model, machine = st.state_space(name), machine_of(name)
    x, u = random_points(model, 6)
    got = model.rates(x, u)
    want = np.array([plant_rates(machine, model, *point) for point in zip(x, u, strict=True)])
    size = np.abs(want).max(axis=0) + 1e-300
    np.testing.assert_array_less(np.abs(got - want) / size, 1e-10)


@pytest.mark.parametrize("name", ["manutec-r3", "puma560", "sixaxis-5kg", "palletizer-4"])
def test_complete_model_with_stated_directions_has_the_dry_friction_of_the_plant(name):
    model, machine = st.state_space(name), machine_of(name)
    x, u = random_points(model, 4, seed=1)
    signs = np.sign(x @ model.speeds.T)
    got = model.rates(x, u, "sliding")
    want = np.array([plant_rates(machine, model, *p) for p in zip(x, u, signs, strict=True)])
    size = np.abs(want).max(axis=0)
    np.testing.assert_array_less(np.abs(got - want) / size, 1e-10)
    assert np.abs(got - model.rates(x, u)).max() > 1e-3  # there is some


@pytest.mark.parametrize("name", CATALOGUE)
def test_complete_model_of_every_robot_equals_forward_dynamics_with_the_torques_at_its_joints(name):
    """The other engine: recursion, or the closed chain's own forward dynamics."""
    arm = st.load_robot(name)
    model = st.state_space(arm)
    x, u = random_points(model, 5, seed=2)
    n = arm.n
    peer = arm if arm.closed else arm.with_engine("recursive")
    want = peer.accel(x[:, :n], x[:, n:], u, drives=True)
    got = model.rates(x, u)
    np.testing.assert_allclose(got[:, n:], want, rtol=1e-9, atol=1e-10 * np.abs(want).max())
    np.testing.assert_array_equal(got[:, :n], x[:, n:])


@pytest.mark.parametrize("name", CATALOGUE)
def test_complete_model_is_affine_in_its_inputs(name):
    model = complete(name)
    x, u = random_points(model, 3, seed=3)
    A, B, _ = model.affine(x)
    want = model.rates(x, u)
    got = A + np.einsum("kij,kj->ki", B, u)
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-11 * np.abs(want).max())


@pytest.mark.parametrize("name", CATALOGUE)
def test_derivatives_of_the_complete_model_equal_difference_quotients(name):
    """Central differences of sixth order: their own error is some 1e-9 of the largest rate."""
    model = complete(name)
    (x,), (u,) = random_points(model, 1, seed=4)
    _, A, B, _ = model.linearise(x, u)
    for k, column in enumerate(np.hstack([A, B]).T):
        step = 1e-2 * max(1e-2, abs(np.concatenate([x, u])[k]))
        e = np.eye(len(x) + len(u))[k]
        weights = {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}
        slope = sum(
            c * (model.rates(*_moved(x, u, j * step * e)) - model.rates(*_moved(x, u, -j * step * e)))
            for j, c in weights.items()
        )
        scale = np.abs(column).max() + np.abs(model.rates(x, u)).max()
        np.testing.assert_allclose(slope / step, column, atol=1e-6 * scale)


def _moved(x, u, step):
    return x + step[: len(x)], u + step[len(x) :]


@pytest.mark.parametrize("name", ["gsis-scara", "palletizer-4", "five-bar", "manutec-r3-axis", "puma560"])
def test_second_derivatives_equal_difference_quotients_of_the_first(name):
    model = st.state_space(name)
    (x,), (u,) = random_points(model, 1, seed=5)
    w = np.random.default_rng(6).uniform(-1, 1, model.order)
    H = model.hessian(x, u, w)
    np.testing.assert_allclose(H, H.T, atol=1e-9 * np.abs(H).max())

    def slope(x, u):
        _, A, B, _ = model.linearise(x, u)
        return w @ np.hstack([A, B])

    for k in range(len(x) + len(u)):
        e = np.eye(len(x) + len(u))[k] * 1e-3
        got = sum(
            c * (slope(*_moved(x, u, j * e)) - slope(*_moved(x, u, -j * e)))
            for j, c in {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}.items()
        )
        np.testing.assert_allclose(got / 1e-3, H[k], atol=3e-7 * np.abs(H).max())


@pytest.mark.parametrize("name", ["gsis-scara", "manutec-r3", "palletizer-4-loops", "sixaxis-5kg", "daiv-1"])
def test_operating_point_holds_the_arm_with_the_torque_of_gravity(name):
    model = st.state_space(name)
    n = model.robot.n
    q = (
        regular_poses(model.robot, np.random.default_rng(7), 1)[0]
        if model.robot.closed
        else 0.5 * model.state()[:n] + np.where(np.array(model.robot.joint_units) == "m", -0.01, 0.1)
    )
    x, u = model.operating_point(q)
    rates = model.rates(x, u)
    assert np.abs(rates).max() < 1e-6 * max(1.0, np.abs(model.affine(x).A).max())
    # the effort of every actuator is its share of gravity: N^T tau = g(q)
    efforts = []
    at, given = 2 * n + 2 * sum(s.elastic for s in model.shafts), 0
    for shaft in model.shafts:
        own, count = len(shaft.equations.states), len(shaft.equations.inputs)
        efforts.append(
            shaft.equations.rates(
                x[at : at + own], u[given : given + count], 0.0, 0.0, shaft.numbers, NUMBERS
            )[1]
        )
        at, given = at + own, given + count
    g = st.load_robot(name).gravload(q)
    np.testing.assert_allclose(model.N.T @ efforts, g, rtol=1e-7, atol=1e-7 * (np.abs(g).max() + 1e-3))


# --- gears with losses and play -----------------------------------------------------------------------
def lossy(tmp_path, **gear):
    machine = small.robot(axes={"A": small.axis(gear={"ratio": 50, **gear}, origin=small.HORIZONTAL)})
    path = tmp_path / "robot.yaml"
    path.write_text(json.dumps(machine), encoding="utf-8")
    return read_description(path)


@pytest.mark.parametrize(("power", "sign"), [("driving", 1.0), ("braking", -1.0)])
def test_stiff_gear_with_losses_equals_the_plant_for_the_stated_flow_of_power(tmp_path, power, sign):
    description = lossy(tmp_path, efficiency=0.7)
    model, machine = st.state_space(description, gears=power), machine_of(description)
    w, current = 20.0, sign * 30.0  # a torque along the motion drives, one against it brakes
    x = np.array([0.3, w / 50.0, current])
    want = plant_rates(machine, model, x, np.array([4.0]), np.array([1.0, 1.0]))
    np.testing.assert_allclose(model.rates(x, [4.0]), want, rtol=1e-10)
    plain = st.state_space(description)
    assert abs(plain.rates(x, [4.0])[1] / want[1] - 1.0) > 0.03
    assert any("losses" in note for note in plain.notes)


@pytest.mark.parametrize(("power", "twist"), [("driving", 0.05), ("braking", -0.05)])
def test_elastic_gear_with_losses_equals_the_plant_away_from_standstill(tmp_path, power, twist):
    description = lossy(tmp_path, efficiency=0.7, stiffness="2e4 N*m/rad", damping="0 N*m*s/rad")
    model, machine = st.state_space(description, gears=power), machine_of(description)
    x = np.array([0.3, 1.0, twist, 50.0, 2.0])
    want = plant_rates(machine, model, x, np.array([4.0]))
    np.testing.assert_allclose(model.rates(x, [4.0]), want, rtol=1e-10)


# --- hydraulic axes ------------------------------------------------------------------------------------
CUSHION = {"cylinder": {"cushion": {"length": "40 mm", "flow": "0.5 L/min"}}}
UNEQUAL = {"cylinder": {"rod_side_area": "1.3 cm^2", "external_leakage": "2e-14 m^3/(s*Pa)"}}
CHECKED = {"valve": {"check_valve": True, "overlap": 0.05, "null_leakage": "0 L/min"}}
ROTARY = {"cylinder": None, "hydraulic_motor": {"displacement": "2 cm^3/rad", "dead_volume": "4 cm^3"}}
AXES = {"plain": {}, "cushions": CUSHION, "unequal": UNEQUAL, "check": CHECKED, "pump": {}, "rotary": ROTARY}


def hydraulic_robot(tmp_path, name):
    change: dict = {"motor": AXES[name]}
    if name == "rotary":
        change |= {"type": "revolute", "limits": {"position": ["-90 deg", "90 deg"], "speed": "2 rad/s"}}
        change |= {"encoder": {"resolution": None, "lines": 1000}}
        change |= {"link": {"mass": "4 kg", "center": ["0.1 m", "0 m", "0 m"]}}
    machine = hydraulic.lift(hydraulic.PUMP if name == "pump" else None, **change)
    path = tmp_path / "robot.yaml"
    path.write_text(json.dumps(machine), encoding="utf-8")
    return read_description(path)


@pytest.mark.parametrize("name", AXES)
def test_hydraulic_axis_equals_the_plant_in_every_regime_of_its_valves(tmp_path, name):
    description = hydraulic_robot(tmp_path, name)
    model, machine = st.state_space(description), machine_of(description)
    assert (model.states[-1].name == "supply.pressure") == (name == "pump")
    x, u = random_points(model, 40, seed=8)
    got = model.rates(x, u)
    want = np.array([plant_rates(machine, model, *point) for point in zip(x, u, strict=True)])
    np.testing.assert_array_less(np.abs(got - want) / np.abs(want).max(axis=0), 1e-10)
    spool = x[:, [q.name.endswith("spool") for q in model.states]]
    assert (np.abs(spool) > 1.0).any()
    assert (np.abs(spool) < 1.0).any()


def check_hessian(model):
    (x,), (u,) = random_points(model, 1, seed=9)
    w = np.random.default_rng(10).uniform(-1, 1, model.order) / np.maximum(1.0, np.abs(model.rates(x, u)))
    complete = model.complete_model()
    graph = complete.derivation.graph
    slope = gradient(
        sum(v * r for v, r in zip(w, complete.rates, strict=True)), [*complete.q, *complete.rest, *complete.u]
    )
    names = [graph.inputs[graph.a[e.id]] for e in (*complete.q, *complete.rest, *complete.u)]
    at = dict(zip(names, (*x, *u), strict=True)) | {f"d{k}": 0.0 for k in range(len(model.disturbances))}
    params = [model.table[name] for name in graph.params]
    want = complex_jacobian(graph, slope, names, at, params)
    got = model.hessian(x, u, w)
    size = np.sqrt(np.outer(np.abs(want).max(axis=0), np.abs(want).max(axis=0))) + 1e-300
    np.testing.assert_array_less(np.abs(got - want) / size, 1e-10)


@pytest.mark.parametrize("name", AXES)
def test_second_derivatives_of_a_hydraulic_axis_equal_complex_steps_of_the_first(tmp_path, name):
    """Complex steps have no truncation and no cancellation: what is left is rounding."""
    model = st.state_space(hydraulic_robot(tmp_path, name))
    check_hessian(model)


# --- closed chains in minimal coordinates ---------------------------------------------------------------
@pytest.mark.parametrize("name", ["planar-fourbar", "delta", "palletizer-4-loops", "five-bar"])
def test_derivatives_of_a_closed_chain_equal_brute_force_on_its_forward_dynamics(name):
    """Differences of another implementation: loops closed by Newton's method in NumPy, T and its rate by solving."""
    arm = st.load_robot(name)
    peer = ClosedByNumpy(arm.mechanism, RecursiveDynamics(arm.mechanism.opened), arm._engine.closure.x_home)
    model = st.state_space(arm)
    (x,), (u,) = random_points(model, 1, seed=11)
    n = arm.n

    def accel(z):
        return peer.accel(z[:n], z[n : 2 * n], z[2 * n :], drives=True)

    z = np.concatenate([x, u])
    f, A, B, _ = model.linearise(x, u)
    np.testing.assert_allclose(f[n:], accel(z), rtol=1e-8, atol=1e-9 * np.abs(f).max())
    got = np.hstack([A, B])[n:]
    for k, step in enumerate(np.diag(np.full(len(z), 1e-3))):
        slope = sum(
            c * (accel(z + j * step) - accel(z - j * step))
            for j, c in {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}.items()
        )
        np.testing.assert_allclose(slope / 1e-3, got[:, k], atol=1e-6 * (np.abs(got).max() + np.abs(f).max()))


@pytest.mark.parametrize("name", ["gsis-scara", "manutec-r3-axis", "daiv-1", "double-pendulum"])
def test_second_derivatives_of_a_robot_equal_complex_steps_of_the_first(name):
    check_hessian(st.state_space(name))


def test_two_hydraulic_axes_share_the_pressure_of_their_supply(tmp_path):
    axes = {"A": hydraulic.LIFT, "B": {**hydraulic.LIFT, "axis": [1, 0, 0]}}
    machine = small.robot({"hydraulics": hydraulic.PUMP, "power": None}, axes=axes)
    path = tmp_path / "robot.yaml"
    path.write_text(json.dumps(machine), encoding="utf-8")
    description = read_description(path)
    model, plant = st.state_space(description), machine_of(description)
    assert [q.name for q in model.states].count("supply.pressure") == 1
    x, u = random_points(model, 20, seed=12)
    got = model.rates(x, u)
    want = np.array([plant_rates(plant, model, *point) for point in zip(x, u, strict=True)])
    np.testing.assert_array_less(np.abs(got - want) / np.abs(want).max(axis=0), 1e-10)
    point = model.operating_point([-0.07, -0.03])
    _, A, _, _ = model.linearise(*point)
    pressures = [k for k, q in enumerate(model.states) if q.name.endswith("pressure_a")]
    assert (A[-1, pressures] > 0.0).all()  # a higher pressure in either chamber draws less
    assert (A[pressures, -1] > 0.0).all()
