"""Settings of every test."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# The same examples in every run, so that a failure on one machine is a failure on all; no deadline, because
# the first call of a kernel includes its compilation.
settings.register_profile(
    "servotwin",
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("servotwin")
