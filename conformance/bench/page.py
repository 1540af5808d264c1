#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Size and first paint of the HTML report of a large run that is made up: 1,000 rows, 900 of them failures.
First paint is the median of several starts of headless Chromium. With --screenshots it also makes the pictures of
docs/conformance.md. Exit status 1: the page is larger than 5 MB, or the first paint takes longer than 1 s.

Usage: page.py [--rows N] [--failures N] [--starts N] [--screenshots DIR]"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for the sample
from selftest import page_sample

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SIZE_MOST_BYTES = 5_000_000
PAINT_MOST_MS = 1_000
PAINT = "performance.getEntriesByName('first-contentful-paint').map(entry => entry.startTime)"
# Name, width and height, theme, options of the browser's window. A phone is drawn with two pixels for one.
PICTURES: tuple[tuple[str, int, int, str, dict[str, Any]], ...] = (
    ("report-list", 1240, 760, "light", {}),
    ("report-detail", 1360, 1180, "light", {}),
    ("report-detail-dark", 1360, 1180, "dark", {}),
    ("report-phone", 390, 1250, "light", {"is_mobile": True, "has_touch": True}),
)
SHOWN_ROWS, SHOWN_FAILURES = 60, 24


def first_paint_ms(browser: Browser, file: Path) -> float:
    """Milliseconds from the start of loading until something is to be seen."""
    tab = browser.new_page(viewport={"width": 1440, "height": 900})
    tab.goto(file.as_uri())
    tab.wait_for_function(f"{PAINT}.length")
    found = float(tab.evaluate(PAINT)[0])
    tab.close()
    return found


def take_pictures(browser: Browser, folder: Path, work: Path) -> None:
    """The list and one result, as they look on a desktop and on a phone."""
    file = work / "shown.html"
    file.write_text(page_sample.page(SHOWN_ROWS, SHOWN_FAILURES), encoding="utf-8")
    for name, width, height, theme, options in PICTURES:
        size: Any = {"width": width, "height": height}
        context = browser.new_context(viewport=size, color_scheme=theme, **options)  # type: ignore[arg-type]
        tab = context.new_page()
        tab.goto(file.as_uri())
        if "detail" in name or "phone" in name:
            tab.locator("#list .result").nth(6).click()
            tab.wait_for_selector("#detail .ladder g.packet.deciding")
            tab.wait_for_timeout(200)
        tab.screenshot(path=folder / f"{name}.png")
        context.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--failures", type=int, default=900)
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--screenshots", type=Path, metavar="DIR")
    given = parser.parse_args()
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium")
    if program is None:
        raise SystemExit("chromium is not installed; run tools/setup")
    with tempfile.TemporaryDirectory(prefix="netblt-page-") as name, sync_playwright() as driver:
        file = Path(name) / "report.html"
        file.write_text(page_sample.page(given.rows, given.failures), encoding="utf-8")
        size = file.stat().st_size
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []  # its sandbox does not work for root
        browser = driver.chromium.launch(executable_path=program, args=arguments)
        paint = statistics.median(first_paint_ms(browser, file) for _ in range(given.starts))
        if given.screenshots is not None:
            take_pictures(browser, given.screenshots, Path(name))
        browser.close()
    print(f"{given.rows} rows, {given.failures} failures: {size / 1e6:.2f} MB, first paint {paint:.0f} ms")
    return int(size > SIZE_MOST_BYTES or paint > PAINT_MOST_MS)


if __name__ == "__main__":
    sys.exit(main())
