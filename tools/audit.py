"""Ask for known vulnerabilities of the versions in requirements-ci.txt.

Exit codes: 0 none is known, 1 some are known (each on a line), 3 no service could be asked, or none knows some of the
packages. Both services of pip-audit are tried, the package index and OSV; a finding of one is never hidden by the
silence of the other, and a package that was skipped does not count as free of them, as it does for pip-audit itself.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SERVICES = ("pypi", "osv")
CLEAN, FOUND, UNREACHED = 0, 1, 3
Answer = dict[str, Any] | None


def ask(service: str) -> Answer:
    """What pip-audit says of the pins, None where it gets no answer."""
    command = [
        *(sys.executable, "-m", "pip_audit", "--requirement", "requirements-ci.txt"),
        *("--require-hashes", "--disable-pip", "--format", "json", "--progress-spinner", "off"),
        *("--vulnerability-service", service, "--timeout", "15"),
    ]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        return None
    return answer if isinstance(answer, dict) and "dependencies" in answer else None


def findings(answer: dict[str, Any]) -> list[str]:
    """A line for every known vulnerability."""
    return [
        f"{package['name']} {package['version']}: {bug['id']}, fixed in {', '.join(bug['fix_versions']) or 'none'}"
        for package in answer["dependencies"]
        for bug in package.get("vulns", [])
    ]


def examined(answer: dict[str, Any]) -> set[str]:
    """Packages that the service knows."""
    return {package["name"] for package in answer["dependencies"] if "skip_reason" not in package}


def audit(asked: Callable[[str], Answer] = ask) -> int:
    """Ask the services, print what they know; the exit code."""
    answers = [answer for service in SERVICES if (answer := asked(service)) is not None]
    known = sorted({line for answer in answers for line in findings(answer)})
    if known:
        print("\n".join(known))
        return FOUND
    every = {package["name"] for answer in answers for package in answer["dependencies"]}
    silent = every.difference(*map(examined, answers))
    if not every or silent == every:
        print(
            "no vulnerability service could be asked: nothing is known of the pinned versions",
            file=sys.stderr,
        )
        return UNREACHED
    if silent:
        print(f"no vulnerability service knows {', '.join(sorted(silent))}", file=sys.stderr)
        return UNREACHED
    print(f"no known vulnerability in {len(every)} packages")
    return CLEAN


if __name__ == "__main__":
    sys.exit(audit())
