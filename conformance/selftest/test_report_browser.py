# SPDX-License-Identifier: GPL-2.0-or-later
"""The HTML report in a real browser: Chromium opens it from a file, and a user clicks and types."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from netblt_conformance.common.verdicts import Result, Verdict
from netblt_conformance.report.page import render
from netblt_conformance.trace import encode
from netblt_plan import cli
from selftest import page_sample

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, ViewportSize
    from playwright.sync_api import Page as Tab

DESKTOP: ViewportSize = {"width": 1440, "height": 900}
PHONE: ViewportSize = {"width": 390, "height": 844}
ROWS, FAILURES = 40, 30
PATIENCE_MS = 300_000  # for a busy machine: what does not come in this time does not come


def chromium() -> str:
    """The distribution's browser; skips where there is none."""
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("chromium is not installed; tools/setup installs it where the distribution has it as a package")
    if "/snap/" in str(Path(program).resolve()) or b"snap install" in Path(program).read_bytes()[:4096]:
        pytest.skip("chromium of this distribution is a snap, which runs only where snapd does")
    return program


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = chromium()
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed; run tools/setup")
    # Its sandbox does not work for root.
    arguments = ["--disable-gpu", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=program, args=arguments)
        yield started
        started.close()


@contextlib.contextmanager
def opened(browser: Browser, **options: Any) -> Iterator[Tab]:
    """A tab of its own, on a desktop where the options name nothing else."""
    context = browser.new_context(**{"viewport": DESKTOP, **options})
    context.set_default_timeout(PATIENCE_MS)
    try:
        yield context.new_page()
    finally:
        context.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("page") / "report.html"
    file.write_text(page_sample.page(ROWS, FAILURES), encoding="utf-8")
    return file


class Complaints(list[str]):
    """What the browser's console shows."""

    def watch(self, tab: Tab) -> None:
        tab.on("console", lambda message: self.append(message.text) if message.type in ("error", "warning") else None)
        tab.on("pageerror", lambda error: self.append(str(error)))


@pytest.fixture
def complaints() -> Complaints:
    return Complaints()


@pytest.fixture
def tab(browser: Browser, report: Path, complaints: Complaints) -> Iterator[Tab]:
    """The page as it opens. At the end the console must be empty."""
    with opened(browser, color_scheme="light") as found:
        complaints.watch(found)
        found.goto(report.as_uri())
        yield found
    assert complaints == []


def press(element: Locator) -> None:
    """A click that has its effect on a busy machine too. A real one goes to a place, which the browser looks up in a
    frame that may be out of date: 6 of 50 were lost where six other processes ran."""
    element.dispatch_event("click")


def await_visible(tab: Tab, selector: str) -> None:
    """Asks again and again. The waits of Playwright need the browser to draw, which one that is busy may not do."""
    deadline_s = time.monotonic() + PATIENCE_MS / 1000
    while not tab.locator(selector).first.is_visible():
        assert time.monotonic() < deadline_s, f"{selector} did not appear; the address is {tab.url}"
        time.sleep(0.05)


def open_first(tab: Tab) -> None:
    press(tab.locator("#list .result").first)
    await_visible(tab, "#detail .ladder g.packet")


def shown(tab: Tab) -> int:
    return tab.locator("#list .result:visible").count()


def selected_label(tab: Tab) -> str:
    return tab.locator(".packet-card dd").first.inner_text()


def test_the_list_shows_every_result_and_tiles_choose_a_verdict(tab: Tab) -> None:
    assert shown(tab) == ROWS
    assert tab.locator("#shown").inner_text() == f"{ROWS} of {ROWS}"
    tile = tab.locator(".tile.fail")
    press(tile)
    assert shown(tab) == int(tile.locator("b").inner_text())
    assert set(tab.locator("#list .result:visible .badge").all_inner_texts()) == {"FAIL"}
    press(tab.locator("#clear"))
    assert shown(tab) == ROWS


def test_the_matrix_chooses_requirement_and_role(tab: Tab) -> None:
    cell = tab.locator("button[data-cell='ABORT-02']").first
    press(cell)
    assert shown(tab) == 1
    assert tab.locator("#list .result:visible").get_attribute("data-requirements") == "ABORT-02"
    assert "requirement=ABORT-02" in tab.url


def test_filters_for_role_and_origin_work_together(tab: Tab) -> None:
    tab.select_option("#filter-role", "passive-sender")
    tab.select_option("#filter-origin", "monitor")
    rows = tab.locator("#list .result:visible")
    assert rows.count() > 3
    assert {row.get_attribute("data-role") for row in rows.all()} == {"passive-sender"}
    assert {row.get_attribute("data-origin") for row in rows.all()} == {"monitor"}


def test_the_ladder_draws_packets_lost_ones_with_a_cross_and_highlights_the_deciding_one(tab: Tab) -> None:
    tab.goto(f"{tab.url}#r={key_with_losses()}")
    await_visible(tab, "#detail .ladder g.packet.deciding .band")
    assert tab.locator(".ladder g.packet.deciding").count() == 1
    tab.evaluate("document.querySelector('.ladder').scrollTop = 0")
    lost = tab.locator(".ladder g.packet.lost")
    lost.first.wait_for()
    assert lost.count() == tab.locator(".ladder g.packet.lost .cross").count() >= 1
    assert tab.locator(".ladder g.packet.lost .head").count() == 0, "an arrow that does not arrive has no head"
    head = tab.locator(".ladder-head").inner_text()
    assert "10.0.0.1:5000" in head
    assert "under test" in head
    assert re.search(r"DATA 1/\d+ hs", " ".join(tab.locator(".ladder .label").all_text_contents()))


def key_with_losses() -> str:
    """A result of the sample in whose first packets one is lost."""
    results, found = page_sample.run(ROWS, FAILURES)
    names = render.keys(results)
    fate = encode.FIELDS.index("fate")
    return next(
        names[number]
        for number, detail in found.items()
        if any(row[fate] == "lost" and row[0] == page_sample.SENDER for row in detail["events"][:16])
    )


def test_a_long_ladder_draws_only_what_is_in_view(tab: Tab) -> None:
    results, _found = page_sample.run(3, 3)
    long = page_sample.transfer(1, 60, 20)
    file = Path(tab.url.removeprefix("file://")).with_name("long.html")
    file.write_text(render.page(page_sample.HEADER, results, {0: long}), encoding="utf-8")
    tab.goto(file.as_uri())
    open_first(tab)
    assert len(long["events"]) > 1200
    assert tab.locator(".ladder g.packet").count() < 250
    tab.keyboard.press("d")
    assert tab.locator(".ladder g.packet.deciding").count() == 1


def test_a_click_on_a_packet_selects_it_and_shows_its_fields(tab: Tab) -> None:
    open_first(tab)
    tab.evaluate("document.querySelector('.ladder').scrollTop = 0")
    row = tab.locator(".ladder g.packet[data-event='3']")
    row.locator(".label").click()
    assert "selected" in (row.get_attribute("class") or "")
    assert selected_label(tab) == row.locator(".label").text_content()
    assert "arrived" in tab.locator(".packet-card").inner_text()


def test_a_click_on_a_point_of_the_plot_selects_the_packet_in_the_ladder(tab: Tab) -> None:
    open_first(tab)
    before = selected_label(tab)
    # The first DATA packet is at the lower left: try the places around it, as a user does.
    over = tab.locator(".chart .u-over")
    box = over.bounding_box()
    assert box is not None
    for left in range(0, 60, 4):
        for up in range(0, 60, 6):
            tab.mouse.click(box["x"] + left, box["y"] + box["height"] - up)
            if "DATA 1/" in selected_label(tab):
                break
        if "DATA 1/" in selected_label(tab):
            break
    label = selected_label(tab)
    assert label != before
    assert "DATA 1/" in label
    assert tab.locator(".ladder g.packet.selected .label").text_content() == label


def test_the_plot_zooms_with_wheel_and_drag_and_goes_back(tab: Tab) -> None:
    open_first(tab)
    over = tab.locator(".chart .u-over")
    box = over.bounding_box()
    assert box is not None

    def picture() -> str:
        return str(tab.evaluate("document.querySelector('.chart canvas').toDataURL()"))

    whole = picture()
    tab.mouse.move(box["x"] + 100, box["y"] + 100)
    tab.mouse.wheel(0, -300)
    tab.wait_for_timeout(50)
    wheeled = picture()
    assert wheeled != whole
    tab.mouse.down()
    tab.mouse.move(box["x"] + 250, box["y"] + 250, steps=4)
    tab.mouse.up()
    tab.wait_for_timeout(50)
    assert picture() not in (whole, wheeled)
    tab.keyboard.press("z")
    tab.mouse.move(0, 0)
    tab.wait_for_timeout(50)
    assert picture() == whole


def test_hovering_a_packet_shows_all_its_fields(tab: Tab) -> None:
    open_first(tab)
    tab.locator(".ladder g.packet.deciding .label").hover()
    tip = tab.locator("#tooltip")
    tip.wait_for()
    for word in ("from", "sent", "frame", "fate"):
        assert word in tip.inner_text()


def test_the_detail_view_says_everything_that_a_reader_needs(tab: Tab) -> None:
    open_first(tab)
    text = tab.locator("#detail").inner_text()
    for part in (
        *("violates CTRL-04", "RFC 998", "CONTROL with GO #4, OK #5", "CONTROL with OK #5 alone", "excluded"),
        *("buffer 4, sent 3 times", "netblt-conformance run", "frame.number == 13", "drop nth=2 OK", ".pcapng"),
    ):
        assert part in text, part
    press(tab.locator("#detail summary", has_text="decoded"))
    assert "NETBLT CONTROL" in tab.locator("#detail .tools").inner_text()


def test_the_command_can_be_copied(browser: Browser, report: Path) -> None:
    with opened(browser, permissions=["clipboard-read", "clipboard-write"]) as tab:
        tab.goto(report.as_uri())
        open_first(tab)
        line = tab.locator(".copyable").first
        press(line.locator("button"))
        line.locator("button", has_text="copied").wait_for()
        assert tab.evaluate("navigator.clipboard.readText()") == line.locator("code").inner_text()


def test_the_search_finds_words_of_the_reason_and_of_titles(tab: Tab) -> None:
    tab.keyboard.press("/")
    tab.keyboard.type("number 17 control timer")
    assert shown(tab) == 1
    assert "q=number+17" in tab.url
    tab.keyboard.press("Enter")
    tab.keyboard.press("Enter")
    await_visible(tab, "#detail .top")
    assert "number 17" in tab.locator("#detail .label").first.inner_text()


def test_an_address_opens_the_same_result_in_another_tab(tab: Tab, browser: Browser) -> None:
    press(tab.locator("#list .result").nth(4))
    await_visible(tab, "#detail .top")
    with opened(browser) as other:
        other.goto(tab.url)
        await_visible(other, "#detail .top")
        assert other.locator("#detail .top").inner_text() == tab.locator("#detail .top").inner_text()


def test_the_keyboard_goes_through_the_results_and_back(tab: Tab) -> None:
    for key in ("j", "j", "k", "j"):
        tab.keyboard.press(key)
    second = tab.locator("#list .result").nth(1)
    assert second.get_attribute("aria-current") == "true"
    tab.keyboard.press("Enter")
    await_visible(tab, "#detail .top")
    assert tab.locator(".bar .place").inner_text() == f"2 of {ROWS}"
    tab.keyboard.press("j")
    tab.wait_for_function(f"document.querySelector('.bar .place').textContent === '3 of {ROWS}'")
    before = selected_label(tab)
    tab.keyboard.press("ArrowUp")
    assert selected_label(tab) != before
    tab.keyboard.press("Escape")
    await_visible(tab, "#overview:visible")
    assert tab.locator("#list .result").nth(2).get_attribute("aria-current") == "true"
    assert tab.locator("#detail").is_hidden()
    tab.keyboard.press("?")
    assert tab.locator("#help").is_visible()
    tab.keyboard.press("Escape")
    assert tab.locator("#help").is_hidden()


def test_dark_follows_the_system_and_the_switch_overrules_it(tab: Tab) -> None:
    paper = "getComputedStyle(document.body).backgroundColor"
    light = tab.evaluate(paper)
    tab.emulate_media(color_scheme="dark")
    dark = tab.evaluate(paper)
    assert dark != light
    open_first(tab)
    picture = "document.querySelector('.chart canvas').toDataURL()"
    drawn = tab.evaluate(picture)
    press(tab.locator("#theme"))
    assert tab.locator("#theme").inner_text() == "theme: light"
    assert tab.evaluate(paper) == light
    tab.wait_for_timeout(50)
    assert tab.evaluate(picture) != drawn, "the plot has the colours of the theme"
    tab.keyboard.press("t")
    tab.emulate_media(color_scheme="light")
    assert tab.evaluate(paper) == dark


def test_a_phone_shows_verdicts_and_packets_without_scrolling_sideways(browser: Browser, report: Path) -> None:
    with opened(browser, viewport=PHONE, has_touch=True, is_mobile=True, device_scale_factor=2) as tab:
        tab.goto(report.as_uri())
        width = "document.documentElement.scrollWidth"
        assert tab.evaluate(width) == PHONE["width"]
        tab.locator("#list .result").first.tap()
        await_visible(tab, "#detail .ladder g.packet")
        assert tab.evaluate(width) == PHONE["width"]
        ladder = tab.locator(".ladder").bounding_box()
        assert ladder is not None
        assert ladder["width"] > 0.85 * PHONE["width"]
        size = tab.locator(".ladder .label").first.evaluate("e => parseFloat(getComputedStyle(e).fontSize)")
        assert size >= 10
        tab.locator(".ladder g.packet.deciding .label").tap()
        assert selected_label(tab)


def test_names_and_reasons_from_outside_are_text(tab: Tab) -> None:
    evil = "</script><img src=x onerror=alert(1)><b>bold"
    result = Result(
        evil, ["CTRL-04"], "active-sender", Verdict.FAIL, evil, capture=evil, observed={evil: evil}, expected=evil
    )
    found = {0: {**page_sample.transfer(), "sentence": evil, "expected": evil, "command": evil, "tree": evil}}
    found[0]["ends"][0]["name"] = evil
    file = Path(tab.url.removeprefix("file://")).with_name("evil.html")
    file.write_text(render.page(page_sample.HEADER, [result], found), encoding="utf-8")
    tab.goto(file.as_uri())
    open_first(tab)
    assert tab.locator("#detail img, #overview img, .sentence b").count() == 0
    assert tab.locator(".sentence").inner_text() == evil


def test_a_result_without_packets_says_why(tab: Tab) -> None:
    press(tab.locator("#list .result", has=tab.locator(".badge.pass")).first)
    await_visible(tab, "#detail .top")
    assert "--details all" in tab.locator("#detail .none").first.inner_text()


def test_the_page_of_an_experiment_draws_charts_that_zoom(browser: Browser, tmp_path: Path) -> None:
    assert cli.main(["run", "section8-parallel", "--report", str(tmp_path)]) == 0
    complaints = Complaints()
    with opened(browser) as tab:
        complaints.watch(tab)
        tab.goto((tmp_path / "index.html").as_uri())
        titles = tab.locator("figcaption").all_inner_texts()
        assert tab.locator("figure canvas").count() == len(titles) == 15
        assert any("Runs compared: throughput" in title for title in titles)
        assert tab.locator("th").first.get_attribute("title")
        picture = "document.querySelector('figure canvas').toDataURL()"
        before = tab.evaluate(picture)
        tab.locator("figure .u-over").first.hover()
        tab.mouse.wheel(0, -300)
        tab.wait_for_timeout(50)
        assert tab.evaluate(picture) != before
        tab.set_viewport_size(PHONE)
        tab.reload()
        assert tab.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    assert complaints == []
