"""The site: every page has its place, links lead somewhere, nothing comes from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytest.importorskip("mkdocs")
pytest.importorskip("material")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built strictly: a warning is a failure."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT, capture_output=True, text=True, check=False,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


class Page(HTMLParser):
    """What a page refers to, and the places within it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.places |= {value for key, value in found.items() if key in ("id", "name") and value}
        if tag == "a" and found.get("href"):
            self.links.append(str(found["href"]))
        if tag == "link" and found.get("rel") in ("stylesheet", "icon", "preconnect") and found.get("href"):
            self.loaded.append(str(found["href"]))
        if tag in ("script", "img", "iframe", "source") and found.get("src"):
            self.loaded.append(str(found["src"]))


def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    for path in site.rglob("*.html"):
        outside = [
            url for url in Page(path.read_text(encoding="utf-8")).loaded if re.match(r"(https?:)?//", url)
        ]
        assert not outside, path.name
    for path in site.rglob("*.css"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"@import|url\(['\"]?(https?:)?//", text), path.name


def test_every_link_within_the_site_leads_to_a_page_and_a_place_on_it(site: Path) -> None:
    pages = {path.resolve(): Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    broken = []
    for path, page in pages.items():
        if path.name == "404.html":  # its links begin at the root of a server
            continue
        for link in (*page.links, *page.loaded):
            target, place = urldefrag(link)
            if re.match(r"[a-z]+:|//", target):
                continue
            there = path if not target else (path.parent / unquote(target.split("?")[0])).resolve()
            if not there.exists() or (place and there in pages and unquote(place) not in pages[there].places):
                broken.append(f"{path.relative_to(site.resolve())}: {link}")
    assert not broken


def test_reference_has_every_public_name(site: Path) -> None:
    import servotwin as st

    text = "".join(path.read_text(encoding="utf-8") for path in (site / "reference").glob("*.html"))
    missing = [name for name in st.__all__ if name != "__version__" and f"st.{name}" not in text]
    assert not missing
