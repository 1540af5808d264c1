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
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for the sample
from netblt_conformance.common import paths
from netblt_conformance.common.verdicts import ExitCode
from netblt_conformance.mutants import mutants, mutation
from netblt_conformance.report.page import render
from PIL import Image
from selftest import page_sample

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SIZE_MOST_BYTES = 5_000_000
PAINT_MOST_MS = 1_000
COLOURS = 96  # of a picture
PAINT = "performance.getEntriesByName('first-contentful-paint').map(entry => entry.startTime)"
# Name, width and height, theme, options of the browser's window. A phone is drawn with two pixels for one.
PICTURES: tuple[tuple[str, int, int, str, dict[str, Any]], ...] = (
    ("report-list", 1240, 760, "light", {}),
    ("report-detail", 1360, 1180, "light", {}),
    ("report-detail-dark", 1360, 1180, "dark", {}),
    ("report-phone", 390, 1500, "light", {"is_mobile": True, "has_touch": True}),
)
# What they show: a fault that is planted, and the cases that find it.
LIBRARY = "implementation.so"
MUTANT, SELECT = "only-new-messages", "CTRL-02,CTRL-04,DATA-01,QUIT-01"


def first_paint_ms(browser: Browser, file: Path) -> float:
    """Milliseconds from the start of loading until something is to be seen."""
    tab = browser.new_page(viewport={"width": 1440, "height": 900})
    tab.goto(file.as_uri())
    tab.wait_for_function(f"{PAINT}.length")
    found = float(tab.evaluate(PAINT)[0])
    tab.close()
    return found


def planted(work: Path) -> Path:
    """The report of a run against an implementation with a planted fault."""
    with mutation.workshop(paths.root() / "reference_impl" / "core") as made:
        (mutant,) = mutants.chosen(mutants.every(), [MUTANT])
        shutil.copy(made.build(mutant), work / LIBRARY)
    words = ["run", "--iut-library", LIBRARY, "--report", "report", "--select", SELECT, "--no-sweep"]
    command = [sys.executable, "-m", "netblt_conformance", *words]
    done = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False)
    if done.returncode != ExitCode.FAILED:
        raise SystemExit(f"the run against the mutant {MUTANT} did not fail: {done.stdout}{done.stderr}")
    return work / "report" / render.NAME


def take_pictures(browser: Browser, folder: Path, work: Path) -> None:
    """The list and one result, as they look on a desktop and on a phone."""
    file = planted(work)
    for name, width, height, theme, options in PICTURES:
        size: Any = {"width": width, "height": height}
        context = browser.new_context(viewport=size, color_scheme=theme, **options)  # type: ignore[arg-type]
        tab = context.new_page()
        tab.goto(file.as_uri())
        if "list" not in name:
            tab.locator("#causes a", has_text="see what happened").first.click()
            tab.wait_for_selector("#detail .ladder g.packet.deciding")
            tab.wait_for_timeout(200)
        file_of_it = folder / f"{name}.png"
        tab.screenshot(path=file_of_it)
        # A palette makes the file a third as large.
        with Image.open(file_of_it) as picture:
            picture.quantize(COLOURS, dither=Image.Dither.NONE).save(file_of_it, optimize=True)
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
