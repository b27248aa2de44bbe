"""Objects of lower layers find what shows them; the table and the classes agree."""

from __future__ import annotations

import importlib
import inspect

import pytest

from servotwin import presentation
from servotwin.errors import ServotwinError
from servotwin.presentation import SHOWN_BY, Plots, Reports, ShowsItself, Tabulates, present, shown_by

METHODS = {"plot": "plot", "to_frame": "to_frame", "report": "report", "html": "_repr_html_"}


class Reading(Plots, Tabulates, Reports, ShowsItself):
    """A stand-in of a lower layer."""


class FineReading(Reading):
    """What derives from it."""


def drawn(subject: object, *args: object, **options: object) -> tuple[object, ...]:
    return (subject, args, options)


@pytest.fixture(autouse=True)
def line_of_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"{Reading.__module__}.{Reading.__qualname__}"
    monkeypatch.setitem(SHOWN_BY, name, dict.fromkeys(METHODS, f"{__name__}:drawn"))
    monkeypatch.setitem(importlib.sys.modules, __name__, inspect.getmodule(drawn))  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", [Reading, FineReading])
def test_object_is_shown_by_the_function_of_its_line(kind: type[Reading]) -> None:
    reading = kind()
    assert reading.plot(1, view=2) == (reading, (1,), {"view": 2})
    assert reading.to_frame() == (reading, (), {})
    assert reading.report("here") == (reading, ("here",), {})
    assert "Reading object" in reading._repr_html_()


def test_object_without_a_line_says_what_it_has_not() -> None:
    with pytest.raises(ServotwinError, match="a int has no 'plot'"):
        present(3, "plot")


@pytest.mark.parametrize("name", sorted(SHOWN_BY))
def test_every_line_names_a_class_with_that_method_and_a_function_that_exists(name: str) -> None:
    module, _, kind = name.rpartition(".")
    found = getattr(importlib.import_module(module), kind)
    for verb, function in SHOWN_BY[name].items():
        assert callable(getattr(found, METHODS.get(verb, verb))), verb
        home, _, called = function.partition(":")
        assert callable(getattr(importlib.import_module(home), called)), function


def every_class_that_shows_itself() -> list[type]:
    found: list[type] = []
    waiting = [Plots, Tabulates, Reports, ShowsItself]
    while waiting:
        for kind in waiting.pop().__subclasses__():
            if kind.__module__.startswith("servotwin.") and kind not in found:
                found.append(kind)
            waiting.append(kind)
    return found


def test_every_class_with_a_verb_has_its_line() -> None:
    for name in SHOWN_BY:
        if name.startswith("servotwin."):
            importlib.import_module(name.rpartition(".")[0])
    for kind in every_class_that_shows_itself():
        for base, verb in (
            (Plots, "plot"),
            (Tabulates, "to_frame"),
            (Reports, "report"),
            (ShowsItself, "html"),
        ):
            overridden = getattr(kind, METHODS[verb], None) is not getattr(base, METHODS[verb])
            if issubclass(kind, base) and not overridden:
                assert shown_by(kind, verb), f"{kind.__name__} has {verb} but no line"


def test_presentation_imports_errors_alone() -> None:
    text = inspect.getsource(presentation)
    assert [
        line for line in text.splitlines() if line.startswith(("import servotwin", "from servotwin"))
    ] == ["from servotwin.errors import ServotwinError"]
