"""``servotwin view``: prints its address, serves until it is ended, refuses in one line."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
from urllib.parse import urlsplit

import pytest

pytest.importorskip("uvicorn", reason="the extra 'pendant' is not installed")

from servotwin.cli.main import main


def test_page_is_served_until_sigterm() -> None:
    command = [sys.executable, "-m", "servotwin", "view", "gsis-scara", "--no-browser", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        text = ""
        for line in process.stdout:
            text += line
            if line.rstrip() == "}":
                break
        found = json.loads(text)
        assert found["robot"] == "gsis-scara"
        parts = urlsplit(found["url"])
        assert (parts.hostname, parts.port) == ("127.0.0.1", found["port"])
        asked = http.client.HTTPConnection("127.0.0.1", found["port"], timeout=30)
        asked.request("GET", f"{parts.path}?{parts.query}")
        answer = asked.getresponse()
        assert answer.status == 200
        assert "ServoTwin" in answer.read().decode()
        asked.close()
        os.kill(process.pid, signal.SIGTERM)
        out, errors = process.communicate(timeout=30)
        assert process.returncode == 143
        assert (out, errors) == ("", "")
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--address", "0.0.0.0"], "stands for all interfaces"),
        (["--address", "somewhere"], "is no address"),
        (["--port", "70000"], "expected 0"),
        (["--q", "1 deg"], "--q"),
    ],
)
def test_view_refuses_in_one_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(["view", "gsis-scara", "--no-browser", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
