"""The page builder: self-contained, escaped, readable by machines."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import plotly.graph_objects as go
import pytest
from plotly.offline import get_plotlyjs

from servotwin.report.page import Card, Cell, Figure, Page, row_lengths
from servotwin.report.page_style import CARDS_IN_ROW

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


@pytest.mark.parametrize("count", range(14))
def test_rows_of_cards_differ_by_one_card_at_most(count: int) -> None:
    for most in CARDS_IN_ROW:
        lengths = row_lengths(count, most)
        assert len(lengths) == count
        assert max(lengths, default=0) <= most
        assert max(lengths, default=0) - min(lengths, default=0) <= 1
        for length in set(lengths):
            assert lengths.count(length) % length == 0  # whole rows


def test_seven_cards_stand_as_four_and_three_on_a_wide_page() -> None:
    page = Page("cards")
    page.cards([Card(f"number {k}", "1", "mm") for k in range(7)])
    styles = [a["style"] for tag, a in Tags(page.html()).found if str(a.get("class")).startswith("card ")]
    assert len(styles) == 7
    for most in (4, 5, 6):  # windows of 760 px and more
        rows = [int(str(style).split(f"--of-{most}: ")[1].split(";")[0]) for style in styles]
        assert rows == [4, 4, 4, 4, 3, 3, 3]


def test_wide_tables_scroll_on_the_screen_show_it_and_are_whole_on_paper() -> None:
    from servotwin.report.page_style import STYLE

    screen, paper = STYLE.split("@media print")
    rule = screen[screen.index(".table {") : screen.index("}", screen.index(".table {"))]
    assert "overflow-x: auto" in rule
    assert rule.count("local") == rule.count("scroll,") + rule.count("scroll;") == 2  # a shade at either edge
    assert ".table, .formulas { overflow-x: visible; }" in paper
    page = Page("wide", "")
    page.table(["a", "b"], [["1", "2"]])
    assert '<div class="table" tabindex="0">' in page.html()  # arrow keys scroll it
