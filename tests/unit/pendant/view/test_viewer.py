"""The viewer in a real browser: sliders, branches, numbers, dropped files; and what its server refuses."""

from __future__ import annotations

import base64
import http.client
import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest

pytest.importorskip("uvicorn", reason="the extra 'pendant' is not installed")

from own_robots import FIVE, lift_files, written
from real_browser import launched, needs_browser, opened, snapshot, until
from servotwin.description.load import CATALOGUE
from servotwin.errors import InputError
from servotwin.pendant.view import Viewer, view
from servotwin.pendant.view.dropped_files import robot_file, sent_files
from servotwin.pendant.view.robot_state import state_of
from servotwin.pendant.view.viewer import _Shown
from servotwin.robot.load import load_robot
from servotwin.scene import body_poses_flat

URDF = Path(__file__).parents[4] / "examples/six-axis/six-axis.urdf"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with launched() as found:
        yield found


@pytest.fixture
def arm() -> Iterator[Viewer]:
    with view("sixaxis-5kg", browser=False) as found:
        yield found


def shown(browser: Any, viewer: Viewer) -> tuple[Any, list[str]]:
    page, wrong = opened(browser, 1280, 860)
    page.goto(viewer.url)
    page.wait_for_selector("body[data-ready]")
    until(page, "window.viewer.state")
    return page, wrong


def type_joint(page: Any, k: int, shown_value: float) -> None:
    page.evaluate(
        "([k, v]) => { const e = document.querySelectorAll('#joints input[type=number]')[k];"
        " e.value = v; e.dispatchEvent(new Event('change')); }",
        [k, shown_value],
    )


@needs_browser
def test_joints_move_the_arm_and_the_numbers_follow(browser: Any, arm: Viewer) -> None:
    page, wrong = shown(browser, arm)
    robot = arm.robot
    assert "token" not in page.url
    type_joint(page, 0, 20.0)
    type_joint(page, 2, -10.0)
    q = robot.q_home
    q[0], q[2] = np.radians([20.0, -10.0])
    until(page, "viewer.state.q[2] < -0.1")
    state = page.evaluate("viewer.state")
    np.testing.assert_allclose(state["q"], q, atol=1e-12)
    np.testing.assert_allclose(state["jacobian"], robot.jacob0(q), atol=1e-12)
    np.testing.assert_allclose(state["gravity"], robot.gravload(q), atol=1e-12)
    poses = page.evaluate("viewer.scene.getPoses()")
    np.testing.assert_allclose(poses, body_poses_flat(robot, q), rtol=0, atol=1e-9)
    # All other branches stand as ghosts with the tool at the same place.
    others = [other for other in robot.ikine_all(robot.fkine(q)) if np.abs(other - q).max() > 1e-6]
    until(page, f"viewer.scene.ghosts.length === {len(others)}")
    ghosts = np.array(page.evaluate("viewer.scene.ghosts.map(g => g.flat())"))
    wanted = body_poses_flat(robot, np.array(others))
    assert len(ghosts) == len(wanted)
    np.testing.assert_allclose(ghosts, wanted, rtol=0, atol=1e-9)
    picture = snapshot(page, "viewer.scene")
    assert (picture.min(axis=2) < 225).mean() > 0.01
    page.close()
    assert wrong == []


@needs_browser
def test_tool_moves_by_inverse_kinematics_and_says_what_is_out_of_reach(browser: Any, arm: Viewer) -> None:
    page, wrong = shown(browser, arm)
    x = page.evaluate("viewer.state.xyz[0]")
    change = (
        "v => { const e = document.querySelectorAll('#tool input[type=number]')[0];"
        " e.value = v; e.dispatchEvent(new Event('change')); }"
    )
    page.evaluate(change, 1e3 * x - 30.0)
    until(page, f"Math.abs(viewer.state.xyz[0] - {x - 0.03}) < 1e-6")
    q = page.evaluate("viewer.q")
    assert arm.robot.fkine(q)[0, 3] == pytest.approx(x - 0.03, abs=1e-9)
    page.evaluate(change, 9000.0)
    page.wait_for_selector("#unreachable:not([hidden])")
    assert "reach" in page.inner_text("#unreachable")
    assert page.evaluate("viewer.scene.targets.length") == 1
    page.close()
    assert wrong == []


@needs_browser
def test_limits_and_singularities_are_shown(browser: Any) -> None:
    with view("gsis-scara", browser=False) as viewer:
        page, _ = shown(browser, viewer)
        type_joint(page, 1, 0.0)  # the arm is stretched
        until(page, "viewer.state.q[1] === 0 && viewer.state.singular")
        assert page.inner_text("#singular") == "singular"
        type_joint(page, 0, 150.0)  # beyond its limit
        page.wait_for_selector("#joints .row.beyond")
        assert page.evaluate("viewer.state.outside") == ["A"]
        page.close()


def test_manipulability_of_a_planar_arm_is_that_within_its_plane() -> None:
    """As ``servotwin statics`` tells it: an arm with two directions is not singular because it has no third one."""
    robot = load_robot("met-two-link")
    told = state_of(robot, np.radians([40.0, 60.0]), size=1.0)
    assert told["manipulability"] == pytest.approx(np.prod(told["singular_values"]), rel=1e-9)
    assert told["manipulability"] > 0.01


def drop(page: Any, files: dict[str, bytes]) -> None:
    page.evaluate(
        "files => { const data = new DataTransfer();"
        " const bytes = text => Uint8Array.from(atob(text), c => c.charCodeAt(0));"
        " for (const [name, text] of files) data.items.add(new File([bytes(text)], name));"
        " window.dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true })); }",
        [[name, base64.b64encode(data).decode()] for name, data in files.items()],
    )


@needs_browser
def test_a_dropped_file_is_shown_or_its_mistake_is(browser: Any, arm: Viewer) -> None:
    page, _ = shown(browser, arm)
    drop(page, {"six-axis.urdf": URDF.read_bytes()})
    until(page, "viewer.description.name === 'six-axis'")
    until(page, "viewer.state && viewer.robot === 1")
    robot = load_robot(URDF)
    np.testing.assert_allclose(page.evaluate("viewer.state.jacobian"), robot.jacob0(robot.q_home), atol=1e-12)
    text = (CATALOGUE / "double-pendulum.yaml").read_bytes()
    drop(page, {"mine.yaml": text.replace(b"mass:", b"mas:", 1)})
    page.wait_for_selector("#message:not([hidden]):not(.note)")
    said = page.inner_text("#message span")
    assert re.match(r"mine\.yaml:\d+: .*mas", said), said
    assert "servotwin-drop" not in said
    drop(page, {"big.yaml": b"x" * 2_000_001})
    until(page, "document.querySelector('#message span').textContent.includes('at most')")
    page.close()


def ask(viewer: Viewer, method: str, path: str, body: bytes | None = None) -> tuple[int, str]:
    line = http.client.HTTPConnection(viewer.served.address, viewer.served.port, timeout=60)
    cookie = f"servotwin-{viewer.served.port}-viewer={viewer.served.keys.tokens['viewer']}"
    line.request(
        method, path, body=body, headers={"Cookie": cookie, "Origin": f"http://{viewer.served.host}"}
    )
    answer = line.getresponse()
    found = answer.status, answer.read().decode()
    line.close()
    return found


def headed(listed: str, data: bytes) -> bytes:
    return len(listed).to_bytes(4, "little") + listed.encode() + data


def packed(files: dict[str, bytes]) -> bytes:
    """The files as the page sends them."""
    listed = json.dumps([[name, len(data)] for name, data in files.items()])
    return headed(listed, b"".join(files.values()))


def sent(viewer: Viewer, files: dict[str, bytes]) -> tuple[int, str]:
    status, text = ask(viewer, "POST", "/drop", packed(files))
    return status, json.loads(text).get("error", "")


def test_drops_are_bounded_and_read_as_data(arm: Viewer, tmp_path: Path) -> None:
    assert ask(arm, "POST", "/drop", packed({"a.yaml": b"x" * 24_000_001}))[0] == 413
    status, said = sent(arm, {"a.yaml": b"x" * 2_000_001})
    assert (status, said) == (422, "a.yaml: 2000001 bytes; expected at most 2000000")
    status, said = sent(arm, {"evil.sh": b"rm"})
    assert status == 422
    assert "expected .yaml, .yml or .urdf" in said
    secret = tmp_path / "secret.yaml"
    secret.write_text("format: servotwin/1\n")
    for name, content in (
        ("include.yaml", f"format: servotwin/1\nextends: {secret}\n"),
        ("tag.yaml", "!!python/object/apply:os.system ['touch /tmp/no']\n"),
        ("aliases.yaml", "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n"),
        ("deep.yaml", "[" * 5000),
        ("broken.urdf", "<robot"),
        ("entity.urdf", '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><robot name="&x;"/>'),
    ):
        status, said = sent(arm, {name: content.encode()})
        assert status == 422, name
        assert said.startswith(name), said
        assert "Traceback" not in said
        assert "root:" not in said


def test_a_file_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    from servotwin.pendant.view import dropped

    monkeypatch.setattr(dropped, "READ", "while True: pass")
    monkeypatch.setattr(dropped, "SECONDS", 1.0)
    with pytest.raises(InputError, match="within 1 s"):
        dropped.read_dropped({"a.yaml": b"x: 1"})
    monkeypatch.setattr(dropped, "READ", "x = bytearray(8_000_000_000)")
    monkeypatch.setattr(dropped, "SECONDS", 20.0)
    with pytest.raises(InputError, match="GB"):
        dropped.read_dropped({"a.yaml": b"x: 1"})


def test_an_answer_that_is_too_large_is_not_sent_to_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    from servotwin.pendant.view import dropped

    small = "from servotwin.pendant.view import dropped; dropped.ANSWER = 1000; dropped.answer()"
    monkeypatch.setattr(dropped, "READ", small)
    with pytest.raises(
        InputError, match=r"its shapes and meshes take \d+ bytes in a picture; expected at most 1000"
    ):
        dropped.read_dropped({"five.yaml": FIVE.encode()})


def test_nothing_is_left_on_the_disk_by_a_process_that_was_killed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from servotwin.pendant.view import dropped

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    killed = "import os; from servotwin.pendant.view import dropped; dropped._read = lambda *_: os._exit(9)"
    monkeypatch.setattr(dropped, "READ", f"{killed}; dropped.answer()")
    with pytest.raises(InputError, match=r"a\.yaml: cannot be read within"):
        dropped.read_dropped({"a.yaml": b"x: 1"})
    assert list(tmp_path.iterdir()) == []


MOTORS = b"big: {kind: ideal, rotor_inertia: 1e-4 kg*m^2}\n"


def with_motor(place: str) -> bytes:
    motor = f"    gear: {{ratio: 100}}\n    motor: {{include: {place}#big}}\n"
    return FIVE.replace("  J2:\n", motor + "  J2:\n").encode()


@pytest.mark.parametrize(
    "place", ["motors.yaml", "../motors.yaml", "../../parts/motors.yaml", "parts/motors.yaml"]
)
def test_a_robot_is_read_with_the_parts_that_were_dropped_with_it(place: str) -> None:
    from servotwin.pendant.view.dropped import read_dropped

    found = read_dropped({"five.yaml": with_motor(place), "motors.yaml": MOTORS})
    assert found.robot.joint_names == ("J1", "J2", "J3", "J4", "J5")


def test_words_that_look_like_paths_spoil_no_drop() -> None:
    from servotwin.pendant.view.dropped import read_dropped

    text = (
        with_motor("motors.yaml")
        + b"# see five.yaml/motors.yaml, ../../in/motors.yaml, "
        + b"x" * 290
        + b"/motors.yaml\n"
    )
    assert read_dropped({"motors.yaml": MOTORS, "five.yaml": text}).robot.n == 5


def test_many_words_that_look_like_paths_take_none_of_the_servers_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from servotwin.pendant.view import dropped

    here: list[str] = []
    monkeypatch.setattr(dropped, "robot_file", here.append)
    monkeypatch.setattr(dropped, "placed", here.append)
    assert dropped.read_dropped({"five.yaml": with_motor("motors.yaml"), "motors.yaml": MOTORS}).robot.n == 5
    assert here == []


def test_a_dropped_folder_keeps_its_paths_and_what_is_missing_is_named() -> None:
    from servotwin.pendant.view.dropped import read_dropped

    text = with_motor("../parts/motors.yaml")
    assert read_dropped({"cell/robot/five.yaml": text, "cell/parts/motors.yaml": MOTORS}).robot.n == 5
    for files in ({"five.yaml": text}, {"five.yaml": with_motor("../../../../etc/m.yaml"), "m.yaml": MOTORS}):
        with pytest.raises(InputError) as error:
            read_dropped(files)
        said = str(error.value)
        assert re.match(r"five\.yaml:\d+: axes\.J1\.motor\.include: ", said), said
        assert said.endswith("drop all files of the robot together, or their folder"), said
        assert "allow" not in said
        assert "/tmp" not in said
        assert "servotwin-drop" not in said


def test_shapes_and_meshes_that_were_dropped_are_drawn() -> None:
    from servotwin.pendant.view.dropped import read_dropped

    files = lift_files()
    loose = {path.rpartition("/")[2]: data for path, data in files.items()}
    packaged = {f"lift_description/{path}": data for path, data in files.items()}
    for given in (loose, packaged):
        looks = read_dropped(given).looks
        assert looks.notes == []
        assert len(looks.meshes) == 2
        assert [shape["kind"] for shapes in looks.shapes.values() for shape in shapes] == [
            "mesh",
            "box",
            "mesh",
        ]
    alone = read_dropped({"lift.urdf": files["lift.urdf"]}).looks
    assert alone.meshes == []
    assert [shape["kind"] for shapes in alone.shapes.values() for shape in shapes] == ["box"]
    assert len(alone.notes) == 2
    assert all("drop all files of the robot together" in note for note in alone.notes), alone.notes


def test_no_package_around_the_folder_lets_dropped_files_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Somebody else's package.xml in the folder of temporary files makes none of them a part of the drop."""
    from servotwin.pendant.view.dropped import read_dropped

    files = lift_files()
    mesh = next(path for path in files if path.endswith(".stl"))
    (tmp_path / "package.xml").write_text("<package><name>theirs</name></package>")
    (tmp_path / "theirs.stl").write_bytes(files[mesh])
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    text = re.sub(rb'filename="[^"]*"', b'filename="../../theirs.stl"', files["lift.urdf"])
    looks = read_dropped({"cell/lift.urdf": text}).looks
    assert looks.meshes == []
    assert all("is not there" in note for note in looks.notes), looks.notes


@needs_browser
def test_a_urdf_dropped_with_its_meshes_is_drawn_with_them(browser: Any, arm: Viewer) -> None:
    page, wrong = shown(browser, arm)
    drop(page, {path.rpartition("/")[2]: data for path, data in lift_files().items()})
    until(page, "viewer.description.name === 'lift'")
    until(page, "viewer.state && viewer.description.meshes.length === 2")
    # The column of 1.2 m is in the picture from its foot to its top.
    x, y = page.evaluate("viewer.scene.project([0, 0, 1.2])")
    assert 0 < x < 908
    assert 0 < y < 860
    assert snapshot(page, "viewer.scene")[int(y) + 40, int(x)].min() < 225
    page.close()
    assert wrong == []


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "told apart"),
        (b"\x02\0\0\0[]", "0 files"),
        (b"\xff\xff\xff\xff[", "told apart"),
        (packed({"../a.yaml": b""}), "no path"),
        (packed({"a//b.yaml": b""}), "no path"),
        (packed({"a\0.yaml": b""}), "no path"),
        (packed({"/".join("abcdefghijkl"): b""}), "no path"),
        (packed({f"{k}.yaml": b"" for k in range(201)}), "201 files"),
        (headed('[["a.yaml", 9]]', b"12345678"), "told apart"),
        (headed('[["a.yaml", -1]]', b"x"), "told apart"),
        (headed('[["a.yaml", true]]', b"x"), "told apart"),
        (headed('[["a.yaml", 0], ["a.yaml", 0]]', b""), "told apart"),
        (headed('{"a.yaml": 0}', b""), "told apart"),
        (headed("[" * 100_000, b""), "told apart"),
        (headed('[["\\ud800.yaml", 0]]', b""), "no path"),
        (headed('[["a.yaml", 0], ["a.yaml/b.yaml", 0]]', b""), "a file and a folder"),
        (headed("[" + '["a",0],' * 150_000 + '["b",0]]', b""), "told apart"),
    ],
)
def test_requests_that_hold_no_files_are_refused_in_one_line(body: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        sent_files(body)
    assert "\n" not in str(error.value)


def test_the_robot_among_several_files_is_the_one_that_no_other_names() -> None:
    own = b"format: servotwin/1\nname: own\nextends: arm.urdf\n"
    assert robot_file({"arm.urdf": b"<robot/>", "own.yaml": own, "motors.yaml": MOTORS}) == "own.yaml"
    with pytest.raises(InputError, match=r"several robots: a\.urdf, b\.urdf; expected one"):
        robot_file({"a.urdf": b"", "b.urdf": b""})
    with pytest.raises(InputError, match="no robot among 2 files"):
        robot_file({"a.yaml": MOTORS, "b.yaml": MOTORS})


@needs_browser
def test_tool_of_a_five_axis_arm_follows_its_sliders(browser: Any, tmp_path: Path) -> None:
    with view(written(tmp_path, "five.yaml", FIVE), browser=False) as viewer:
        page, wrong = shown(browser, viewer)
        page.evaluate(
            "() => { const e = document.querySelectorAll('#tool input[type=number]')[1];"
            " e.value = 200; e.dispatchEvent(new Event('change')); }"
        )
        until(page, "Math.abs(viewer.state.xyz[1] - 0.2) < 1e-6")
        assert "5 joints hold the place" in page.inner_text("#unreachable")
        # Sliders end near what is reached.
        ends = page.evaluate("[...document.querySelectorAll('#tool input[type=range]')].map(e => +e.max)")
        assert 1000 < ends[0] < 1600
        # What was said of one robot does not stay under the next.
        drop(page, {"pendulum.yaml": (CATALOGUE / "double-pendulum.yaml").read_bytes()})
        until(page, "viewer.description.name === 'double-pendulum'")
        until(page, "viewer.state && viewer.robot === 1")
        assert page.is_hidden("#unreachable")
        page.close()
        assert wrong == []


@needs_browser
@pytest.mark.parametrize("renderer", ["webgl", "canvas"])
def test_workspace_is_drawn_as_a_surface_that_fits_the_picture(browser: Any, renderer: str) -> None:
    with view("gsis-scara", browser=False) as viewer:
        page, wrong = opened(browser, 1280, 860)
        page.goto(f"{viewer.url}#renderer={renderer}")
        page.wait_for_selector("body[data-ready]")
        until(page, "viewer.state")
        before = snapshot(page, "viewer.scene")
        page.check("[data-show=workspace]")
        until(page, "viewer.scene.workspace && viewer.scene.workspace.shapes")
        with_surface = snapshot(page, "viewer.scene")
        tips = viewer.robot.fkine(viewer.robot.random_q(np.random.default_rng(3), 200))[:, :3, 3]
        at = np.array(page.evaluate("all => all.map(p => viewer.scene.project(p))", tips.tolist()))
        assert (at > 0).all()
        assert (at < [908, 860]).all()
        # Where the tool can be the paper is tinted.
        tinted = [with_surface[int(y), int(x)].min() < 253 for x, y in at]
        assert np.mean(tinted) > 0.95
        page.uncheck("[data-show=workspace]")
        until(page, "!viewer.scene.workspace")
        assert (np.abs(snapshot(page, "viewer.scene") - before).max(axis=2) > 40).mean() < 0.01
        page.close()
        assert wrong == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "3",
        "{",
        "null",
        '{"ask": "state"}',
        '{"ask": "state", "q": [1]}',
        '{"ask": "state", "q": "abc"}',
        '{"ask": "state", "q": [NaN, 0, 0, 0, 0, 0]}',
        '{"ask": "state", "q": [1e99, 0, 0, 0, 0, 0]}',
        '{"ask": "state", "q": [[1, 2], 0]}',
        '{"ask": "pose", "q": [0, 0, 0, 0, 0, 0], "xyz": [1], "rpy": {}}',
        '{"ask": "pose", "q": [0, 0, 0, 0, 0, 0], "xyz": [9, 9, 9], "rpy": [0, 0, 0]}',
        '{"ask": "os.system", "q": [0, 0, 0, 0, 0, 0]}',
        '{"ask": "state", "robot": "../1", "q": [0, 0, 0, 0, 0, 0]}',
        '{"ask": "state", "robot": 99, "q": [0, 0, 0, 0, 0, 0]}',
        '{"ask": "state", "number": "x", "q": [0, 0, 0, 0, 0, 0]}',
        '{"ask": "state", "number": 1e999, "q": [0, 0, 0, 0, 0, 0]}',
        '{"ask": "state", "q": [1' + "0" * 400 + ", 0, 0, 0, 0, 0]}",
        "[" * 30_000,
    ],
)
def test_questions_that_make_no_sense_get_one_line(text: str) -> None:
    robot = load_robot("sixaxis-5kg")
    answer = _Shown(robot, robot.q_home).answer(text)
    assert "\n" not in answer["error"]
    json.dumps(answer, allow_nan=False)


@pytest.mark.parametrize("name", ["gsis-scara", "delta", "palletizer-4-loops", "stewart", "daiv-1"])
def test_every_kind_of_robot_is_answered(name: str) -> None:
    robot = load_robot(name)
    shown_robots = _Shown(robot, robot.q_home)
    for kind in ("state", "branches", "workspace"):
        answer = shown_robots.answer(json.dumps({"ask": kind, "q": robot.q_home.tolist(), "size": 1.0}))
        assert "error" not in answer, answer
        json.dumps(answer, allow_nan=False)


def test_viewer_opens_from_python_and_closes() -> None:
    robot = load_robot("gsis-scara")
    viewer = robot.teach(browser=False)
    assert viewer.served.running
    assert "served at http://127.0.0.1" in repr(viewer)
    token = viewer.url.partition("=")[2]
    assert len(token) > 16
    assert token not in repr(viewer)
    assert ask(viewer, "GET", "/scene")[0] == 200
    viewer.close()
    viewer.close()
    assert not viewer.served.running
    assert "closed" in repr(viewer)


def test_a_socket_that_sends_bytes_is_closed_without_a_traceback(
    arm: Viewer, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    from websockets.exceptions import ConnectionClosed
    from websockets.sync.client import connect

    status, cookie = ask_cookie(arm)
    assert status == 200
    host = urlsplit(arm.url).netloc
    headers = {"Cookie": cookie}
    with connect(f"ws://{host}/ws", origin=f"http://{host}", additional_headers=headers) as socket:  # type: ignore[arg-type]
        socket.send(b"{}")
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv(10)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1003
    assert "Traceback" not in caplog.text + capfd.readouterr().err


def ask_cookie(viewer: Viewer) -> tuple[int, str]:
    """Status of the page, and the cookie that it gives."""
    parts = urlsplit(viewer.url)
    link = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=10)
    link.request("GET", f"/?{parts.query}")
    answer = link.getresponse()
    answer.read()
    cookie = answer.headers["Set-Cookie"].split(";")[0]
    link.close()
    return answer.status, cookie


def test_position_of_another_robot_is_refused() -> None:
    with pytest.raises(InputError, match="expected 4 numbers"):
        view("gsis-scara", [0.0, 0.0], browser=False)
