"""The page builder: self-contained, escaped, readable by machines."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from servotwin.report.page import Card, Cell, Figure, Page

EVIL = "<script>alert('x')</script> & \"quotes\""


class Tags(HTMLParser):
    """Collects the tags and their attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def page_of_everything(text: str) -> str:
    page = Page(text, text)
    page.section(text, text)
    page.note(text)
    page.cards([Card(text, text, text, text)])
    page.table([text, text], [[text, Cell(text, "good")]])
    page.details(text, [text], [[text]])
    plot = go.Figure(go.Scatter(y=np.arange(3.0), name=text))
    page.figures([Figure(plot, text, text)], columns=2)
    return page.html(text)


def test_text_is_escaped_everywhere() -> None:
    html = page_of_everything(EVIL).replace(get_plotlyjs(), "")
    assert "<script>alert" not in html
    plain = page_of_everything("plain").replace(get_plotlyjs(), "")
    assert [tag for tag, _ in Tags(html).found] == [tag for tag, _ in Tags(plain).found]


def test_page_refers_to_nothing_outside() -> None:
    html = page_of_everything("text")
    for tag, attributes in Tags(html).found:
        assert not {"src", "href", "srcset", "action"} & attributes.keys(), tag
        assert tag not in {"link", "iframe", "object", "embed", "img"}
    assert "http" not in html.replace(get_plotlyjs(), "").replace("http-equiv", "")
    assert "default-src 'none'" in html
    assert "@import" not in html.replace(get_plotlyjs(), "")


def test_plot_library_is_included_once_and_only_with_figures() -> None:
    assert page_of_everything("text").count(get_plotlyjs()) == 1
    page = Page("no figures")
    page.section("text")
    assert get_plotlyjs() not in page.html()


def test_page_is_the_same_every_time() -> None:
    assert page_of_everything("text") == page_of_everything("text")
