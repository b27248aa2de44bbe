"""Pictures of reports and served pages for the documentation, made by the product and drawn by chromium.

    python tools/pictures.py                      into out/pictures, which `make docs` takes for the site
    python tools/pictures.py --into docs/images   for readers of the plain files
    python tools/pictures.py tuning sizing        some of them

Without chromium or playwright it says so, and the pictures of the repository stay.
"""

from __future__ import annotations

import argparse
import importlib.util
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
CHROMIUM = "/usr/bin/chromium"
QUIET = (
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--no-first-run", "--disable-quic", "--use-gl=angle", "--use-angle=swiftshader",
)  # fmt: skip
WIDTH, HEIGHT, SERVED_HEIGHT = 1180, 1080, 780


def run(folder: Path) -> Path:
    """A run with all axes over their full range."""
    import servotwin as st

    return page_of(st.simulate("scara-full-range").report(folder))


def job(folder: Path) -> Path:
    """A job on the drives."""
    import servotwin as st

    return page_of(st.run_job("scara-pick-and-place").report(folder, gripper="OUT1"))


def tuning(folder: Path) -> Path:
    """Gains of the SCARA."""
    import servotwin as st
    from servotwin.description.load import read_description

    return page_of(st.tune(read_description("gsis-scara"), payload_max=4.0).report(folder))


def sizing(folder: Path) -> Path:
    """What a job asks of the drives of a palletizer."""
    import servotwin as st

    return page_of(st.size("palletizer-4", job="palletizer-line").report(folder))


def workspace(folder: Path) -> Path:
    """What the palletizer reaches."""
    import servotwin as st

    return page_of(st.workspace("palletizer-4").report(folder))


def statics(folder: Path) -> Path:
    """A force at the tool of the palletizer."""
    import servotwin as st

    return page_of(st.statics("palletizer-4", force=[0.0, 0.0, -200.0]).report(folder))


def equations(folder: Path) -> Path:
    """The equations of the SCARA."""
    import servotwin as st

    folder.mkdir(parents=True)
    return st.derive(st.load_robot("gsis-scara")).report(folder / "equations.html")


def model(folder: Path) -> Path:
    """The linear model of the SCARA at home."""
    import servotwin as st

    return page_of(st.study_model("gsis-scara").report(folder))


def linetest(folder: Path) -> Path:
    """Laws on a straight line."""
    import servotwin as st

    return page_of(st.line_test("palletizer-4").report(folder))


def notebook(folder: Path) -> Path:
    """What a notebook shows of a robot, its equations and a run."""
    import servotwin as st

    robot = st.load_robot("met-two-link")
    cells = {
        'st.load_robot("gsis-scara")': st.load_robot("gsis-scara"),
        'st.derive(st.load_robot("met-two-link"))': st.derive(robot),
        'st.simulate("scara-a-axis-100deg")': st.simulate("scara-a-axis-100deg"),
    }
    body = "".join(
        f'<pre style="background:#f5f6f8;border:1px solid #dde2e8;padding:8px 12px;font-size:14px">{source}</pre>'
        f'<div style="padding:4px 12px 18px">{shown._repr_html_()}</div>'
        for source, shown in cells.items()
    )
    folder.mkdir(parents=True)
    page = folder / "notebook.html"
    page.write_text(
        f'<!DOCTYPE html><meta charset="utf-8"><body style="margin:28px">{body}', encoding="utf-8"
    )
    return page


def viewer(tab: Any, folder: Path) -> AbstractContextManager[Any]:
    """An arm in the viewer: its workspace, an ellipsoid, the other branches."""
    import servotwin as st

    served = st.view("sixaxis-5kg", [0.5, -0.3, 0.2, 0.6, 1.2, 0.0], browser=False)
    tab.goto(served.url)
    tab.wait_for_selector("body[data-ready]")
    for name in ("velocity", "workspace"):
        tab.check(f"[data-show={name}]")
    awaited(tab, "viewer.scene.workspace && viewer.scene.ghosts.length && viewer.state")
    return served


def pendant(tab: Any, folder: Path) -> AbstractContextManager[Any]:
    """The teach pendant with the preview of a job."""
    import servotwin as st

    examples = Path(st.__file__).parent / "jobs/examples"
    folder.mkdir(parents=True)
    for ending in ("job", "points.yaml"):
        shutil.copy(examples / f"scara-palletising.{ending}", folder)
    served = st.teach_pendant("gsis-scara", folder=folder)
    tab.goto(served.url)
    tab.click("[data-tab=job]")
    awaited(tab, "[...document.querySelectorAll('#jobs option')].some(e => e.value.includes('scara'))")
    tab.evaluate(
        "() => { const e = document.getElementById('jobs');"
        " e.value = [...e.options].find(o => o.value.includes('scara')).value; e.dispatchEvent(new Event('change')); }"
    )
    awaited(tab, "document.getElementById('text').value.includes('MOVE') && pendant.picture")
    tab.click("#preview")
    awaited(tab, "document.querySelector('#plan .bars')")
    return served


# Pages that are served: they are opened and prepared in a tab, and live until the picture is taken.
SERVED: dict[str, Callable[[Any, Path], AbstractContextManager[Any]]] = {"viewer": viewer, "pendant": pendant}
PICTURES: dict[str, Callable[[Path], Path]] = {
    "run": run, "job": job, "tuning": tuning, "sizing": sizing, "workspace": workspace, "statics": statics,
    "equations": equations, "model": model, "linetest": linetest, "notebook": notebook,
}  # fmt: skip


def page_of(files: Any) -> Path:
    """The page among written files, however they are told."""
    return Path(files["report"] if isinstance(files, dict) else files.page)


def awaited(tab: Any, expression: str, seconds: float = 60.0) -> None:
    """Wait for an expression of a page; asked from outside, for the pages' policy forbids evaluation within."""
    end = time.monotonic() + seconds
    while not tab.evaluate(f"Boolean({expression})"):
        if time.monotonic() > end:
            raise SystemExit(f"the page never came so far: {expression}")
        tab.wait_for_timeout(50)


def draw_served(names: Sequence[str], place: Path, into: Path) -> None:
    """A picture of every served page; it may ask for nothing but its own server."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        for name in names:
            print(f"{name} ...", flush=True)
            tab = browser.new_page(viewport={"width": WIDTH, "height": SERVED_HEIGHT})
            asked: list[str] = []
            tab.on("request", lambda request, asked=asked: asked.append(request.url))
            with SERVED[name](tab, place / name):
                tab.wait_for_timeout(1500)
                target = into / f"gallery-{name}.png"
                tab.screenshot(path=str(target))
            outside = [url for url in asked if not url.startswith(("http://127.0.0.1:", "data:", "blob:"))]
            if outside:
                raise SystemExit(f"{name}: the page asks for {outside[0]}")
            tab.close()
            print(f"{target}: {target.stat().st_size // 1000} kB")
        browser.close()


def draw(pages: dict[str, Path], into: Path) -> None:
    """A picture of the first screen of every page; a page that asks for anything else is a mistake."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        for name, page in pages.items():
            tab = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
            asked: list[str] = []
            tab.on("request", lambda request, asked=asked: asked.append(request.url))
            tab.goto(page.as_uri())
            tab.wait_for_timeout(1500)
            outside = [url for url in asked if not url.startswith(("file:", "data:", "blob:"))]
            if outside:
                raise SystemExit(f"{name}: the page asks for {outside[0]}")
            target = into / f"gallery-{name}.png"
            tab.screenshot(path=str(target))
            tab.close()
            print(f"{target}: {target.stat().st_size // 1000} kB")
        browser.close()


def without_browser() -> str:
    """Why no picture can be drawn here; empty if it can."""
    if shutil.which(CHROMIUM) is None:
        return "no chromium here"
    if importlib.util.find_spec("playwright") is None:
        return "no playwright here"
    return ""


def main() -> int:
    """Make pictures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of {', '.join([*PICTURES, *SERVED])}")
    parser.add_argument("--into", default="out/pictures", help="folder of the pictures")
    options = parser.parse_args()
    known = [*PICTURES, *SERVED]
    unknown = sorted(set(options.names) - set(known))
    if unknown:
        parser.error(f"no picture {unknown[0]}; expected some of {', '.join(known)}")
    missing = without_browser()
    if missing:
        print(f"{missing}: the pictures of docs/images stay as they are")
        return 0
    into = ROOT / options.into
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        pages = {}
        chosen = options.names or known
        for name in [name for name in chosen if name in PICTURES]:
            print(f"{name} ...", flush=True)
            pages[name] = PICTURES[name](Path(place) / name)
        draw(pages, into)
        draw_served([name for name in chosen if name in SERVED], Path(place), into)
    return 0


if __name__ == "__main__":
    sys.exit(main())
