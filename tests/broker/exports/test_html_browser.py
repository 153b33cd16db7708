"""The HTML report in a real browser: nothing asked for, nothing cut off, everything legible."""

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from browser import CHROMIUM, Browser, chromium
from report_plans import plan_of_nothing, report_plan
from tiny_cases import START

from broker.exports.extras import Extras, PricePath, PriceStep
from broker.exports.forms import export

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium here: apt-get install chromium"),
]

LOOKS = [(width, scheme) for width in (1280, 390) for scheme in ("light", "dark")]
_HEARD = ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown")

CHARTS = """
[...document.querySelectorAll('svg')].filter(svg => svg.checkVisibility()).map(svg => {
  const frame = svg.getBoundingClientRect();
  const marks = [...svg.querySelectorAll('g.role-mark path')]  // not axes, grids and frames
    .map(mark => mark.getBoundingClientRect())
    .filter(box => box.width > 2 || box.height > 2);
  return {name: svg.querySelector('title').id, width: frame.width, height: frame.height,
          marks: marks.length, texts: svg.querySelectorAll('text').length};
})
"""

OUTSIDE = """
[...document.querySelectorAll('body *')].filter(one => {
  if (!one.checkVisibility() || one.closest('desc, title')) return false;
  if (one.closest('thead') && getComputedStyle(one.closest('thead')).position === 'absolute')
    return false;
  const box = one.getBoundingClientRect();
  if (!box.width || !box.height) return false;
  const room = one instanceof HTMLElement && one.clientWidth;
  const cut = room && one.scrollWidth > room + 1;
  return box.left < -0.5 || box.right > document.documentElement.clientWidth + 0.5 || cut;
}).map(one => one.outerHTML.slice(0, 120))
"""

CHART_TEXTS = """
[...document.querySelectorAll('svg')].filter(svg => svg.checkVisibility()).flatMap(svg => {
  const frame = svg.getBoundingClientRect();
  const texts = [...svg.querySelectorAll('text')]
    .filter(text => getComputedStyle(text).opacity !== '0')
    .map(text => ({text: text.textContent, box: text.getBoundingClientRect()}))
    .filter(({text}) => text.trim());
  const wrong = texts.filter(({box}) => box.left < frame.left - 1 || box.right > frame.right + 1 ||
    box.top < frame.top - 1 || box.bottom > frame.bottom + 1).map(({text}) => 'outside: ' + text);
  texts.forEach((one, number) => texts.slice(number + 1).forEach(other => {
    const wide = Math.min(one.box.right, other.box.right) - Math.max(one.box.left, other.box.left);
    const high = Math.min(one.box.bottom, other.box.bottom) - Math.max(one.box.top, other.box.top);
    if (wide > 0.5 && high > 2) wrong.push(`over each other: ${one.text} / ${other.text}`);
  }));
  return wrong;
})
"""

FAINT = """
(() => {
  const parts = colour => (colour.match(/[0-9.]+/g) || []).map(Number);
  const light = colour => {
    const [r, g, b] = parts(colour).map(one => one / 255)
      .map(one => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (one, other) => {
    const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const paper = one => {
    for (let at = one; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (parts(colour).length === 3) return colour;
    }
    return 'rgb(255, 255, 255)';
  };
  const found = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const one = walk.currentNode.parentElement;
    if (!walk.currentNode.textContent.trim() || !one.checkVisibility() ||
        one.closest('title, desc')) continue;
    const style = getComputedStyle(one);
    const ink = one.closest('svg') ? style.fill : style.color;
    const contrast = ratio(ink, paper(one));
    if (!(contrast >= 4.5)) found.push(`${contrast} ${ink} ${walk.currentNode.textContent}`);
  }
  document.querySelectorAll('.swatch').forEach(one => {
    const fill = getComputedStyle(one).backgroundColor;
    const kinds = ['owned', 'reserved', 'ondemand', 'spot'];
    if (!kinds.some(kind => one.classList.contains('c-' + kind))) return;
    const contrast = ratio(fill, paper(one.parentElement));
    if (!(contrast >= 3)) found.push(`${contrast} ${fill} swatch ${one.className}`);
  });
  return found;
})()
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def page(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Browser:
    """Open the report of the plan in which everything occurs, with a price history."""
    plan = report_plan()
    steps = (
        PriceStep(START - timedelta(days=40), START - timedelta(days=20), Decimal("0.25")),
        PriceStep(START - timedelta(days=20), START - timedelta(days=12), Decimal(1), is_held=True),
        PriceStep(START - timedelta(days=12), START, Decimal("0.15")),
    )
    extras = Extras(prices=tuple(PricePath(one.offer, steps) for one in plan.purchases))
    return _opened(browser, tmp_path_factory.mktemp("page"), export(plan, "html", extras)[0].text)


def _opened(browser: Browser, folder: Path, text: str) -> Browser:
    file = folder / "plan.html"
    file.write_text(text, encoding="utf-8")
    browser.open(file.as_uri())
    return browser


def test_the_console_is_silent_and_nothing_is_asked_for(page: Browser) -> None:
    assert [event for kind in _HEARD for event in page.events(kind)] == []
    asked = [event["request"]["url"] for event in page.events("Network.requestWillBeSent")]
    assert [url for url in asked[1:] if not url.startswith("data:")] == []
    assert asked[0].startswith("file:///")
    assert page.run("performance.getEntriesByType('resource').length") == 0


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_every_chart_is_drawn(page: Browser, width: int, scheme: str) -> None:
    page.look(width, scheme=scheme)
    charts: list[dict[str, Any]] = page.run(CHARTS)
    assert len(charts) == 9  # a timeline, a service, weeks, providers, comparisons, four prices
    assert f"timeline-{'wide' if width > 720 else 'narrow'}-t" in {one["name"] for one in charts}
    for one in charts:
        assert one["width"] > 250, one
        assert one["height"] > 60, one
        assert one["marks"] >= 1, one
        assert one["texts"] >= 2, one


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_nothing_overflows(page: Browser, width: int, scheme: str) -> None:
    page.look(width, scheme=scheme)
    assert page.run("document.documentElement.scrollWidth") == width
    assert page.run(OUTSIDE) == []
    assert page.run(CHART_TEXTS) == []


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_contrast_is_sufficient(page: Browser, width: int, scheme: str) -> None:
    page.look(width, scheme=scheme)
    assert page.run(FAINT) == []


def test_night_is_dark_and_print_is_light_whatever_the_screen(page: Browser) -> None:
    paper = "getComputedStyle(document.body).backgroundColor"
    page.look(1280, scheme="dark")
    assert page.run(paper) == "rgb(18, 23, 29)"
    features = [{"name": "prefers-color-scheme", "value": "dark"}]
    page.ask("Emulation.setEmulatedMedia", media="print", features=features)
    assert page.run(paper) == "rgb(255, 255, 255)"
    assert page.run(FAINT) == []
    page.ask("Emulation.setEmulatedMedia", media="")


def test_it_prints_on_paper(page: Browser) -> None:
    printed = page.ask("Page.printToPDF", preferCSSPageSize=True, printBackground=True)
    assert len(printed["data"]) > 20_000


def test_the_page_without_a_plan_is_whole_too(browser: Browser, tmp_path: Path) -> None:
    opened = _opened(browser, tmp_path, export(plan_of_nothing(), "html")[0].text)
    for width, scheme in LOOKS:
        opened.look(width, scheme=scheme)
        assert opened.run(OUTSIDE) == []
        assert opened.run(FAINT) == []
    assert [event for kind in _HEARD for event in opened.events(kind)] == []
