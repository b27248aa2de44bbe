"""Closed forms: short as a textbook prints them, equal to the numeric engine, and executable in every dialect."""

from __future__ import annotations

import importlib.resources
import re
import runpy

import numpy as np
import pytest
import sympy
from matplotlib.mathtext import MathTextParser

import servotwin as st
from servotwin.description.load import catalogue_names
from servotwin.equations.derivation import Numbers
from servotwin.equations.readable import document, kinematics, laurent
from servotwin.equations.readable.dialects import DIALECTS
from servotwin.equations.readable.model import derive_tree
from servotwin.errors import ServotwinError, UnsupportedError
from servotwin.robot.robot import Robot
from tests.closed_by_numpy import ClosedByNumpy
from tests.random_trees import build_mechanism, random_mechanism

OPEN = ["gsis-scara", "daiv-1", "daiv-1-simplified", "met-two-link", "palletizer-4", "puma560"]


def close(got, want, tolerance=1e-10) -> None:
    scale = max(float(np.abs(want).max(initial=0.0)), 1e-6)
    assert np.abs(np.asarray(got) - want).max(initial=0.0) <= tolerance * scale


@pytest.fixture(scope="module", params=OPEN)
def derived(request):
    return st.derive(st.load_robot(request.param))


def test_scara_matrices_are_as_short_as_a_textbook_prints_them():
    e = st.derive(st.load_robot("gsis-scara"))
    assert e.entry("D", 1, 1) == "K1 + 2 K2 cos(q2)"
    assert e.entry("D", 1, 2) == "K3 + K2 cos(q2)"
    assert e.entry("D", 2, 2) == "K3"
    assert e.entry("D", 3, 3) == "K4"
    assert [e.entry("D", k, 4) for k in (1, 2, 4)] == ["Izz4"] * 3
    assert e.entry("H", 1, 2, 2) == "-K2 sin(q2)"
    assert e.entry("H", 2, 1, 1) == "K2 sin(q2)"
    assert e.entry("G", 3) == "-K5"
    assert e.entry("D", 1, 3) == "0"


def test_closed_form_equals_the_numeric_engine(derived):
    robot, e = derived.robot, derived.closed_form
    rng = np.random.default_rng(1)
    q, qd, qdd = robot.random_q(rng, 4), rng.normal(size=(4, robot.n)), rng.normal(size=(4, robot.n))
    close(e.mass_matrix(q), robot.inertia(q))
    close(e.coriolis_matrix(q, qd), robot.coriolis(q, qd))
    close(e.gravity_torque(q), robot.gravload(q))
    pi = derived.base_parameters.values(e)
    close(derived.regressor(q, qd, qdd) @ pi, robot.rne(q, qd, qdd))


def test_regressor_has_no_column_too_many(derived):
    """Base parameters are independent: a regressor over many states has full column rank."""
    robot = derived.robot
    rng = np.random.default_rng(2)
    q, qd, qdd = robot.random_q(rng, 60), rng.normal(size=(60, robot.n)), rng.normal(size=(60, robot.n))
    Y = derived.regressor(q, qd, qdd).reshape(-1, len(derived.base_parameters.names))
    sizes = np.linalg.svd(Y / np.linalg.norm(Y, axis=0), compute_uv=False)
    assert sizes[-1] > 1e-6 * sizes[0]


def test_kinematics_in_closed_form_equal_the_numeric_engine(derived):
    robot, e = derived.robot, derived.closed_form
    q = robot.random_q(np.random.default_rng(3))
    R, p = kinematics.frame_pose(e, robot.mechanism.tool, "t")
    T, J = robot.fkine(q), robot.jacob0(q)
    close([[kinematics.evaluate(R[i][j], e, q) for j in range(3)] for i in range(3)], T[:3, :3])
    close([kinematics.evaluate(x, e, q) for x in p], T[:3, 3])
    symbolic = kinematics.jacobian(e, robot.mechanism.tool, "t")
    close([[kinematics.evaluate(x, e, q) for x in row] for row in symbolic], J)


@pytest.mark.parametrize("name", catalogue_names())
def test_closed_form_equals_both_roads_for_every_catalogue_robot(name):
    """Closed chains: the opened tree in all free coordinates."""
    opened = st.load_robot(name).mechanism.opened
    e = derive_tree(Numbers.of(opened))
    rng = np.random.default_rng(11)
    x, xd, xdd = rng.uniform(-1, 1, (3, opened.n_q))
    for engine in ("graph", "recursive"):
        robot = Robot(opened, engine=engine)
        torque = e.mass_matrix(x) @ xdd + e.coriolis_matrix(x, xd) @ xd + e.gravity_torque(x)
        close(robot.rne(x, xd, xdd), torque)
        if engine == "graph" and opened.n_tree > 16:
            continue  # the torque has shown it; compiling the matrices of the Stewart platform's tree takes a minute
        close(e.mass_matrix(x), robot.inertia(x))
        close(e.coriolis_matrix(x, xd), robot.coriolis(x, xd))
        close(e.gravity_torque(x), robot.gravload(x))


@pytest.mark.parametrize("seed", range(12))
def test_closed_form_equals_the_numeric_engine_on_random_trees(seed):
    rng = np.random.default_rng(seed)
    robot = Robot(random_mechanism(rng, int(rng.integers(1, 4))))
    e = derive_tree(Numbers.of(robot.mechanism))
    q, qd = rng.uniform(-1, 1, (2, robot.n))
    close(e.mass_matrix(q), robot.inertia(q))
    close(e.coriolis_matrix(q, qd), robot.coriolis(q, qd))
    close(e.gravity_torque(q), robot.gravload(q))


def test_forms_of_song_and_lee_give_the_torque():
    robot = st.load_robot("palletizer-4")
    e = st.derive(robot).closed_form
    rng = np.random.default_rng(4)
    q, qd, qdd = robot.random_q(rng), rng.normal(size=4), rng.normal(size=4)
    products = np.array([qd[j] * qd[k] for j, k in e.pairs])
    A, B, C = (e._matrix(m, q) for m in (e.M, e.B, e.C))
    assert B.shape == (4, 6)
    assert np.all(np.diag(C) == 0.0)
    close(A @ qdd + 2 * B @ products + C @ qd**2 + e.gravity_torque(q), robot.rne(q, qd, qdd))


def test_symbols_are_truly_symbolic_a_second_robot_of_the_same_topology_fits():
    """Derive with general symbols, then put in the numbers of another SCARA."""
    first, second = st.load_robot("gsis-scara"), st.load_robot("gsis-scara", {"variables.load": "3 kg"})
    moved = second.with_payload(1.0, [0.05, 0.02, 0.1], np.diag([0.01, 0.02, 0.015]))
    e = st.derive(first, general=True).closed_form
    other = st.derive(moved, general=True).closed_form
    values = {s.name: s for s in [*other.symbols.geometry, *other.inertial.values()]}
    e.symbols.geometry[:] = [values[s.name] for s in e.symbols.geometry]
    e.inertial.update({name: values[name] for name in e.inertial})
    q = moved.random_q(np.random.default_rng(5))
    close(e.mass_matrix(q), moved.inertia(q))
    close(e.gravity_torque(q), moved.gravload(q))


def test_rotors_add_their_reflected_inertia():
    robot = st.load_robot("palletizer-4")
    q = robot.random_q(np.random.default_rng(6))
    e = st.derive(robot, drives=True).closed_form
    close(e.mass_matrix(q), robot.inertia(q, drives=True))


def test_numeric_parts_are_written_as_numbers():
    robot = st.load_robot("daiv-1-simplified")
    e = st.derive(robot, drives=True, numeric=["geometry", "gravity", "inertia"])
    found = re.fullmatch(r"([0-9.]+) \+ ([0-9.]+) cos\(q2\)", e.entry("M", 1, 1))
    M = robot.inertia([0.0, 0.0], drives=True)
    assert float(found[1]) + float(found[2]) == pytest.approx(M[0, 0], rel=1e-8)
    with pytest.raises(ServotwinError, match="expected some of geometry, gravity, inertia"):
        st.derive(robot, numeric=["colour"])


def test_python_export_runs_and_agrees(derived):
    space: dict = {}
    exec(compile(derived.python(), "exported", "exec"), space)  # noqa: S102 - this is what the export is for
    robot = derived.robot
    rng = np.random.default_rng(7)
    q, qd = robot.random_q(rng, (2, 3)), rng.normal(size=(2, 3, robot.n))
    close(space["mass_matrix"](q), robot.inertia(q))
    close(space["coriolis_matrix"](q, qd), robot.coriolis(q, qd))
    close(space["gravity_torque"](q), robot.gravload(q))


@pytest.mark.parametrize("name", ["gsis-scara", "palletizer-4"])
def test_sympy_export_evaluates_to_the_torque(name):
    robot = st.load_robot(name)
    objects = st.derive(robot).sympy()
    rng = np.random.default_rng(8)
    state = {}
    q, qd, qdd = robot.random_q(rng), rng.normal(size=robot.n), rng.normal(size=robot.n)
    for k in range(robot.n):
        state.update({f"q{k + 1}": q[k], f"q{k + 1}d": qd[k], f"q{k + 1}dd": qdd[k]})
    tau = objects["tau"].subs(objects["constants"]).subs(objects["values"]).subs(state)
    close(np.array(tau.evalf(), dtype=float).ravel(), robot.rne(q, qd, qdd))


def test_mathematica_export_evaluates_to_the_mass_matrix():
    from sympy.parsing.mathematica import parse_mathematica

    robot = st.load_robot("palletizer-4")
    derived = st.derive(robot)
    q = robot.random_q(np.random.default_rng(9))
    known = {s.name.replace("_", ""): s.value for s in derived.closed_form.symbols.geometry}
    known.update({s.name.replace("_", ""): s.value for s in derived.closed_form.inertial.values()})
    known.update({f"q{k + 1}": value for k, value in enumerate(q)})
    for line in derived.mathematica().splitlines():
        match = re.fullmatch(r"(K[0-9]+|M[0-9]+) = (.*);", line)
        if match:
            known[match[1]] = float(parse_mathematica(match[2]).subs(known))
    M = robot.inertia(q)
    close([known["M11"], known["M22"], known["M23"]], [M[0, 0], M[1, 1], M[1, 2]])


def test_symbols_with_two_digit_indices_keep_names_of_their_own_in_every_dialect():
    """S1_13 and S11_3 are two numbers; so are C1_11 and C11_1."""
    from servotwin.equations.readable.dialects import DIALECTS

    names = ["S1_13", "S11_3", "S1_1", "C1_11", "C11_1", "H1_1_11", "H1_11_1", "H11_1_1", "n1_2", "n12"]
    for dialect in DIALECTS.values():
        assert len({dialect.symbol(name) for name in names}) == len(names)


def test_stewart_platform_assigns_every_name_once_in_mathematica():
    """Its opened tree has more than ten coordinates."""
    derived = st.derive(st.load_robot("stewart"))
    assert derived.closed_form.n > 10
    names = re.findall(r"^([A-Za-z][A-Za-z0-9$]*) = ", derived.mathematica(), flags=re.MULTILINE)
    assert len(names) == len(set(names)) > 20
    assert "S1$13" in names or any("$1" in name for name in names)


def test_latex_lines_are_drawn_by_a_real_renderer(derived):
    parser = MathTextParser("path")
    body = derived.latex()
    assert body.count(r"\begin{align*}") == body.count(r"\end{align*}") > 0
    for block in re.findall(r"\\begin{align\*}\n(.*?)\n\\end{align\*}", body, flags=re.DOTALL)[:60]:
        for line in block.split(r"\\"):
            parser.parse(f"${line.replace('&', '').strip()}$")


def test_markdown_and_text_name_every_constant_they_use(derived):
    for text in (derived.text("DHG"), derived.text("ABCG"), derived.text()):
        defined = set(re.findall(r"^  (K[0-9]+) = ", text, flags=re.MULTILINE))
        assert set(re.findall(r"\bK[0-9]+\b", text)) <= defined
    assert derived.markdown().count("$$") % 2 == 0


def test_closed_chain_document_lists_its_closures():
    robot = st.load_robot("delta")
    derived = st.derive(robot)
    text = derived.text()
    assert "Loop closures" in text
    assert "Elimination of the multipliers" in text
    x = robot._engine.full(np.array([0.1, -0.2, 0.15]))
    for _, poly in kinematics.closures(derived.closed_form):
        assert abs(kinematics.evaluate(poly, derived.closed_form, x)) < 1e-10


def test_large_trees_are_refused_with_the_alternative():
    robot = Robot(random_mechanism(np.random.default_rng(0), 12))
    with pytest.raises(UnsupportedError, match="export the numbered form"):
        st.derive(robot)


def test_laurent_product_of_cosines_is_the_sum_of_angles():
    c1, s1 = laurent.cosine_sine(laurent.monomial(0))
    c2, s2 = laurent.cosine_sine(laurent.monomial(1))
    both = laurent.add(laurent.mul(c1, c2), laurent.mul(s1, s2), -1.0)
    assert both == laurent.cosine_sine(laurent.monomial(0) + laurent.monomial(1))[0]
    assert laurent.add(laurent.mul(c1, c1), laurent.mul(s1, s1)) == {0: 1.0}
    assert laurent.exponents(laurent.monomial(0, -3) + laurent.monomial(2, 2), 3) == [-3, 0, 2]


def test_closed_form_that_nobody_would_read_is_refused_soon():
    """A 6R arm with six arbitrary twist angles has millions of terms."""
    mechanism = build_mechanism(list(range(-1, 5)), [False] * 6, [False] * 6, np.random.default_rng(0))
    with pytest.raises(UnsupportedError, match="too many terms to be read"):
        st.derive(Robot(mechanism))


@pytest.mark.parametrize("name", ["four-bar", "delta", "five-bar"])
def test_regressor_of_a_closed_chain_gives_the_torques_of_the_actuated_joints(name):
    robot = st.load_robot(name)
    derived = st.derive(robot)
    rng = np.random.default_rng(12)
    q = robot.q_home + rng.uniform(-0.1, 0.1, robot.n)
    qd, qdd = rng.normal(size=(2, robot.n))
    Y = derived.regressor(q, qd, qdd)
    close(Y @ derived.base_parameters.values(derived.closed_form), robot.rne(q, qd, qdd))


def test_operation_counts_of_closed_chains_are_those_of_the_kernels_that_run():
    robot = st.load_robot("delta")
    counts = {name: (mul, add) for name, mul, add, _ in st.derive(robot).about.operations}
    kernel = robot._engine.kernel("rne").compiled.operations
    assert counts["rne"] == (kernel["mul"], kernel["add"])


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda e: e.entry("M", 0, 0), "expected 2 indices from 1"),
        (lambda e: e.entry("M", 1), "expected 2 indices"),
        (lambda e: e.entry("M", 5, 5), "M is 4 x 4"),
        (lambda e: e.entry("Q", 1, 1), "expected one of M, D, A"),
        (lambda e: e.entry("M", 1, 1, dialect="esperanto"), "expected one of text"),
        (lambda e: e.text("XYZ"), "expected one of MCg"),
        (lambda e: e.regressor([np.nan] * 4, [0] * 4, [0] * 4), "must be finite"),
        (lambda e: e.regressor([0, 0], [0] * 4, [0] * 4), r"q has shape \(2,\)"),
        (lambda e: st.derive("gsis-scara"), "expected a Robot"),
    ],
)
def test_equations_explain_what_they_cannot_answer(ask, words):
    derived = st.derive(st.load_robot("gsis-scara"))
    with pytest.raises(ServotwinError, match=words):
        ask(derived)
    assert derived.entry("B", 1, 1) == "-K2 sin(q2)"


def test_friction_and_rotors_appear_with_the_drives():
    text = st.derive(st.load_robot("puma560"), drives=True).text()
    assert "tau_f2 = n2^2 f_m2 q2d + n2 tau_c2 sign(q2d)" in text
    assert "J_m1" in text
    assert "tau_f" not in st.derive(st.load_robot("puma560")).text()


@pytest.mark.parametrize("name", ["four-bar", "five-bar", "delta", "palletizer-4-loops"])
def test_symbolic_closures_are_closed_and_their_jacobian_is_orthogonal_to_the_motion(name):
    robot = st.load_robot(name)
    derived = st.derive(robot)
    e = derived.closed_form
    x = robot.coordinates(robot.q_home + 0.07)
    T = robot.projection(x)
    S = np.array([[kinematics.evaluate(p, e, x) for p in row] for row in kinematics.closure_jacobian(e)])
    assert np.abs(S @ T).max() < 1e-12
    assert max(abs(kinematics.evaluate(s, e, x)) for _, s in kinematics.closures(e)) < 1e-12
    rows = list(derived.about.independent)
    assert len(rows) == np.linalg.matrix_rank(S) == len(x) - robot.n
    assert np.linalg.matrix_rank(S[rows][:, robot.n :]) == len(rows)


def test_sympy_closures_vanish_on_the_assembled_robot():
    robot = st.load_robot("delta")
    objects = st.derive(robot).sympy()
    state = {f"q{k + 1}": value for k, value in enumerate(robot.coordinates([0.1, 0.2, 0.3]))}
    s = np.array(objects["s"].subs(objects["values"]).subs(state).evalf(), dtype=float)
    assert np.abs(s).max() < 1e-12
    assert objects["S"].shape == (6, 9)


@pytest.mark.parametrize("name", [*OPEN, "four-bar", "five-bar", "delta"])
def test_general_regressor_gives_the_torques_although_constants_of_this_robot_are_zero(name):
    robot = st.load_robot(name)
    derived = st.derive(robot, general=True)
    rng = np.random.default_rng(21)
    q = robot.q_home + rng.uniform(-0.1, 0.1, (5, robot.n))
    qd, qdd = rng.normal(size=(2, 5, robot.n))
    pi = derived.base_parameters.values(derived.closed_form)
    close(derived.regressor(q, qd, qdd) @ pi, robot.rne(q, qd, qdd))


@pytest.mark.parametrize(
    ("name", "count"),
    [("four-bar", 5), ("five-bar", 7), ("delta-4", 7), ("palletizer-4-loops", 8), ("stewart", 37)],
)
def test_base_parameters_of_a_closed_chain_are_the_fewest_that_its_motions_need(name, count):
    """Rank over other motions than those that the base parameters were found with."""
    robot = st.load_robot(name)
    derived = st.derive(robot)
    assert len(derived.base_parameters.names) == count
    rng = np.random.default_rng(22)
    k = 40 + 4 * count // robot.n
    q = robot.q_home + rng.uniform(-0.1, 0.1, (k, robot.n))
    qd, qdd = rng.normal(size=(2, k, robot.n))
    Y = derived.regressor(q, qd, qdd)
    close(Y @ derived.base_parameters.values(derived.closed_form), robot.rne(q, qd, qdd), 1e-9)
    W = Y.reshape(-1, count)
    sizes = np.linalg.svd(W / np.linalg.norm(W, axis=0), compute_uv=False)
    assert sizes[-1] > 1e-7 * sizes[0]
    assert f"depend on {count} combinations: P1" in derived.text()


MIXED = """\
format: servotwin/1
name: mixed
axes:
  A:
    dh: {a: 400 mm, alpha: 90 deg}
    link: {mass: 2 kg}
    gear: {ratio: 80}
    motor: {kind: pmsm, rotor_inertia: 1e-4 kg*m^2, torque_constant: 0.5 N*m/A, resistance: 1 ohm,
            inductance_d: 3 mH, inductance_q: 5 mH, pole_pairs: 4, viscous_friction: 1e-4 N*m*s/rad}
  B:
    dh: {a: 300 mm}
    link: {mass: 1 kg}
    gear: {ratio: 50}
    motor: {kind: dc-reduced, rotor_inertia: 1e-4 kg*m^2, torque_constant: 0.1 N*m/A, resistance: 1 ohm}
  C:
    dh: {a: 200 mm}
    link: {mass: 1 kg}
    gear: {ratio: 50}
    motor: {kind: ideal, rotor_inertia: 1e-4 kg*m^2}
  D:
    dh: {a: 100 mm}
    link: {mass: 1 kg}
    gear: {ratio: 50}
    motor: {kind: dc, rotor_inertia: 1e-4 kg*m^2, torque_constant: 0.1 N*m/A, resistance: 1 ohm, inductance: 1 mH}
"""


@pytest.fixture(scope="module")
def mixed(tmp_path_factory) -> st.Robot:
    path = tmp_path_factory.mktemp("mixed") / "mixed.yaml"
    path.write_text(MIXED)
    return st.load_robot(path)


def motor_section(robot: st.Robot, dialect: str) -> document.Section:
    derived = st.derive(robot)
    return document.Document(derived.closed_form, derived.about, DIALECTS[dialect]).motor_space()


def value(text: str, at: dict[str, float]) -> float:
    return float(sympy.sympify(text, locals={name: sympy.Symbol(name) for name in at}).subs(at))


def test_motor_space_equations_of_a_synchronous_motor_balance_the_power_of_its_phases(mixed):
    """3/2 (v i) = 3/2 R i^2 + d/dt 3/4 (L_d i_d^2 + L_q i_q^2) + tau_e w, at any currents, voltages and speed."""
    written = dict(motor_section(mixed, "python").equations)
    rng = np.random.default_rng(3)
    names = ("v_d1", "v_q1", "i_d1", "i_q1", "w1", "R_a1", "L_d1", "L_q1", "psi1", "p1")
    at = dict(zip(names, rng.uniform(0.5, 2.0, len(names)), strict=True))
    rate_d, rate_q, torque = (value(written[name], at) for name in ("i_d1d", "i_q1d", "tau_e1"))
    given = 1.5 * (at["v_d1"] * at["i_d1"] + at["v_q1"] * at["i_q1"])
    copper = 1.5 * at["R_a1"] * (at["i_d1"] ** 2 + at["i_q1"] ** 2)
    magnetic = 1.5 * (at["L_d1"] * at["i_d1"] * rate_d + at["L_q1"] * at["i_q1"] * rate_q)
    assert given == pytest.approx(copper + magnetic + torque * at["w1"], rel=1e-12)
    still = {**at, "i_d1": 0.0}
    assert value(written["tau_e1"], still) == pytest.approx(
        1.5 * at["p1"] * at["psi1"] * at["i_q1"], rel=1e-12
    )


def test_motor_space_equations_say_of_every_motor_what_it_is(mixed):
    section = motor_section(mixed, "text")
    lines = [f"{left} = {right}" for left, right in section.equations]
    assert "I_a2 = R_a2^-1 (V_a2 - K_b2 w2)" in lines
    assert "I_a4d = L_a4^-1 (V_a4 - K_b4 w4 - R_a4 I_a4)" in lines
    assert "tau_e3 = J_m3 w3d + n3^-1 tau3" in lines
    assert not any(f"{name}{i}" in line for line in lines for name, i in (("I_a", 1), ("V_a", 1), ("I_a", 3)))
    assert [row[2] for row in section.rows] == ["pmsm", "dc-reduced", "ideal", "dc"]
    words = " ".join(section.text)
    for part in (
        "the inductance counts zero",
        "the torque that the driver asks for",
        "(tau_e - friction - T_d)",
        "p pole pairs",
    ):
        assert part in words
    assert r"\psi_{1}" in st.derive(mixed).latex()
    assert "ψ" in st.derive(mixed).html_sections()
    scara = st.derive(st.load_robot("gsis-scara")).text()
    assert "K_t1 I_a1 = J_m1 w1d" in scara
    assert "(K_t I_a - friction - T_d)" in scara
    assert "tau_e" not in scara


def five_bar_with_motors(path) -> st.Robot:
    """The five-bar of the catalogue behind gears of 30 and -40."""
    source = (importlib.resources.files("servotwin") / "catalogue" / "five-bar.yaml").read_text()
    motor = "    motor: {kind: ideal, rotor_inertia: 1e-4 kg*m^2}\n"
    for name, ratio in (("left", 30), ("right", -40)):
        source = source.replace(f"\n  {name}:\n", f"\n  {name}:\n    gear: {{ratio: {ratio}}}\n{motor}")
    path.write_text(source)
    return st.load_robot(path)


def printed_torques(derived, x, xd, xdd) -> tuple[dict[str, float], document.Document]:
    """Values of all that the document prints up to tau_a, with the multipliers solved from their printed lines."""
    page = document.Document(derived.closed_form, derived.about, DIALECTS["sympy"])
    e = derived.closed_form
    rotors, at = derived.about.rotors, {}
    for k, name in enumerate(e.coordinates):
        at.update({name: x[k], f"{name}d": xd[k], f"{name}dd": xdd[k]})
    for k, (viscous, dry) in enumerate(zip(rotors.f_m, rotors.tau_c, strict=True)):
        at.update({f"f_m{k + 1}": viscous, f"tau_c{k + 1}": dry})
    sections = [page.closure_jacobian(), page.torques()]
    at.update({s.name: s.value for s in [*e.symbols.geometry, *e.inertial.values()]})
    for section in [page.constants(), *sections]:
        at.update({left: value(right, at) for left, right in section.equations})
    lines = page.elimination().equations
    multipliers = [f"lambda{k + 1}" for k in derived.about.independent]
    passive = [(left, right) for left, right in lines if not left.startswith("tau_a")]
    unit = [dict.fromkeys(multipliers, 0.0) | {name: 1.0} for name in multipliers]
    A = np.array([[value(left, at | one) for one in unit] for left, _ in passive])
    at.update(zip(multipliers, np.linalg.solve(A, [at[right] for _, right in passive]), strict=True))
    at.update({left: value(right, at) for left, right in lines if left.startswith("tau_a")})
    return at, page


@pytest.mark.parametrize("drives", [False, True])
@pytest.mark.parametrize("name", ["five-bar", "palletizer-4-loops"])
def test_motor_space_of_a_closed_chain_printed_load_is_that_of_the_actuated_joints(name, drives, tmp_path):
    """What is printed, evaluated: tau_a and the shafts, against the plain numpy version of the tests."""
    robot = five_bar_with_motors(tmp_path / "bars.yaml") if name == "five-bar" else st.load_robot(name)
    witness = ClosedByNumpy(robot.mechanism, robot._engine.tree)
    q, qd, qdd = robot.q_home + 0.05, np.full(robot.n, 0.7), np.full(robot.n, 2.0)
    at, page = printed_torques(st.derive(robot, drives=drives), *robot.full_motion(q, qd, qdd))
    tau = np.array([at[f"tau_a{i + 1}"] for i in range(robot.n)])
    close(tau, witness.rne(q, qd, qdd, drives), 1e-9)
    load = witness.rne(q, qd, qdd, False)
    if name == "five-bar":
        np.testing.assert_allclose(load, [-0.950, 1.008], atol=5e-4)
    rotors, section = robot.mechanism.rotors, page.motor_space()
    N = np.array([[float(cell) for cell in row[-1].split(",")] for row in section.rows])
    np.testing.assert_allclose(N, rotors.N, rtol=1e-5)  # as printed: over the actuated joints
    words = " ".join(section.text)
    assert "N^-T tau_a" in words
    assert "N^-T T^T D T N^-1" in words
    w, wd = rotors.N @ qd, rotors.N @ qdd
    at.update({"tau_a" + str(i + 1): load[i] for i in range(robot.n)})
    for k in range(len(N)):
        i = k + 1
        at.update({f"w{i}": w[k], f"w{i}d": wd[k], f"J_m{i}": rotors.J_m[k], f"n{i}": rotors.N[k, k]})
        at[f"tau_load{i}"] = np.linalg.solve(rotors.N.T, load)[k]
        shaft = next(right for left, right in section.equations if left == f"tau_e{i}" and "J_m" in right)
        friction = rotors.f_m[k] * w[k] + rotors.tau_c[k] * np.sign(w[k])
        want = rotors.J_m[k] * wd[k] + friction + np.linalg.solve(rotors.N.T, load)[k]
        assert value(shaft, at) == pytest.approx(want, rel=1e-9)


@pytest.mark.parametrize("name", ["four-bar", "five-bar", "delta", "palletizer-4-loops"])
def test_python_module_of_a_closed_chain_gives_the_torques_of_the_chain(name, tmp_path):
    """Against the plain numpy version of the tests: walk from home, pseudo-inverse, virtual work."""
    robot = st.load_robot(name)
    witness = ClosedByNumpy(robot.mechanism, robot._engine.tree)
    (tmp_path / "chain.py").write_text(st.derive(robot).python())
    module = runpy.run_path(str(tmp_path / "chain.py"))
    rng = np.random.default_rng(31)
    q, (qd, qdd) = robot.q_home + rng.uniform(-0.1, 0.1, robot.n), rng.normal(size=(2, robot.n))
    x = module["close"](q, witness.home)
    assert np.abs(witness.residual(x)).max() < 1e-12
    close(module["closed_mass_matrix"](x), witness.inertia(q, False), 1e-9)
    close(module["closed_torque"](x, qd, qdd), witness.rne(q, qd, qdd, False), 1e-9)


def test_python_module_of_a_closed_chain_says_where_its_loops_do_not_close(tmp_path):
    robot = st.load_robot("four-bar", {"variables.crank": "450 mm"})  # too long to turn round
    (tmp_path / "chain.py").write_text(st.derive(robot).python())
    module = runpy.run_path(str(tmp_path / "chain.py"))
    with pytest.raises(ValueError, match="the loops do not close from this start"):
        module["close"](robot.q_home + np.pi / 2, np.append(robot.q_home, robot.mechanism.passive_home))


def test_numbers_of_a_mechanism_with_loops_are_not_those_of_its_tree_by_accident():
    robot = st.load_robot("five-bar")
    with pytest.raises(
        UnsupportedError, match=r"five-bar has loops: take the numbers .* from Robot\.numbers"
    ):
        Numbers.of(robot.mechanism)
    assert Numbers.of(robot.mechanism.opened).cut is None
    assert robot.numbers.cut is not None
