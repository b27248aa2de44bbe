"""What the site has beside the pages of docs/: README and its like, the reference of all functions, fresh pictures.

Pages stay plain Markdown that a code host shows as it is. Links that leave docs/ lead to copies within the site; those
to folders of the repository become plain text.
"""

from __future__ import annotations

import posixpath
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
BESIDE = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
# Made by tools/pictures.py; those of the repository where there are none.
PICTURES = ROOT / "out" / "pictures"
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
REMARK = re.compile(r"^(```\w+) [^\n`]*$", re.MULTILINE)  # such as `no-run`, which tests read
FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


def on_config(config: Any) -> Any:
    """Put the pages of the reference into the navigation."""
    sys.path.insert(0, str(ROOT))  # mkdocs restores it after loading this file
    from tools.python_page import GROUPS, page_name

    pages = [{title: page_name(title)} for title in GROUPS]
    config.nav = _filled(config.nav, pages)
    return config


def _filled(nav: Any, pages: list[dict[str, str]]) -> Any:
    if isinstance(nav, list):
        return [_filled(item, pages) for item in nav]
    if isinstance(nav, dict):
        return {title: pages if item == "REFERENCE" else _filled(item, pages) for title, item in nav.items()}
    return nav


def on_files(files: Files, config: Any) -> Files:
    """Add what does not lie in docs/."""
    from tools.python_page import GROUPS, page_name, reference_text

    for name in BESIDE:
        files.append(File.generated(config, name, content=(ROOT / name).read_text(encoding="utf-8")))
    for title in GROUPS:
        files.append(File.generated(config, page_name(title), content=reference_text(title)))
    for path in sorted(PICTURES.glob("*.png")):
        uri = f"images/{path.name}"
        there = files.get_file_from_path(uri)
        if there is not None:
            files.remove(there)
        files.append(File.generated(config, uri, abs_src_path=str(path)))
    for path in _linked_files():
        files.append(File.generated(config, f"files/{path}", abs_src_path=str(ROOT / path)))
    return files


def _linked_files() -> list[str]:
    """Files of the repository that pages link to, but for pages."""
    found = set()
    for page in (*(ROOT / "docs").rglob("*.md"), *(ROOT / name for name in BESIDE)):
        for _, _, target in LINK.findall(page.read_text(encoding="utf-8")):
            path = _in_repository(page.relative_to(ROOT).as_posix(), target)
            if path and not path.startswith("docs/") and path not in BESIDE and (ROOT / path).is_file():
                found.add(path)
    return sorted(found)


def _in_repository(page: str, target: str) -> str | None:
    """The path in the repository that a link of a page leads to; None if it leads elsewhere."""
    name = target.partition("#")[0]
    if not name or "://" in name or name.startswith("mailto:"):
        return None
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), name))


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Lead links to where things are within the site; code stays as it is."""
    uri = page.file.src_uri
    source = uri if uri in BESIDE else f"docs/{uri}"
    parts = FENCE.split(REMARK.sub(r"\1", markdown))
    return "".join(
        part if i % 2 else LINK.sub(lambda m: _led(m, source, uri), part) for i, part in enumerate(parts)
    )


def _led(match: re.Match[str], source: str, uri: str) -> str:
    image, text, target = match.groups()
    path = _in_repository(source, target)
    if path is None:
        return match[0]
    if path.startswith("docs/"):
        place = path.removeprefix("docs/")
    elif path in BESIDE:
        place = path
    elif (ROOT / path).is_file():
        place = f"files/{path}"
    else:
        return text  # a folder of the repository
    anchor = target.partition("#")[2]
    there = posixpath.relpath(place, posixpath.dirname(uri) or ".")
    return f"{image}[{text}]({there}{'#' + anchor if anchor else ''})"
