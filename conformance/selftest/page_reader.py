# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads the HTML report for tests: its tags, its rows, and the details inside its compressed blocks."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

from netblt_conformance.report.page import blocks

VOID = {"meta", "link", "br", "hr", "img", "input"}


class PageReader(HTMLParser):
    """Checks that tags are closed, and collects rows, blocks, and what a browser would have to fetch."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.fetched: list[str] = []
        self.words = ""
        self.rows: list[dict[str, str]] = []  # the data attributes of each result
        self.blocks: dict[int, str] = {}
        self._block = -1
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        self.fetched += [f"{tag} {name}={value}" for name, value in attrs if name in ("src", "srcset")]
        self.fetched += [f"{tag} {name}={value}" for name, value in attrs if tag == "link"]
        given = {name: value or "" for name, value in attrs}
        self._block = int(given["id"].partition("-")[2]) if given.get("id", "").startswith("block-") else -1
        if given.get("class") == "result":
            self.rows.append({name.removeprefix("data-"): value for name, value in given.items()})

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        self._block = -1

    def handle_data(self, data: str) -> None:
        if self._block >= 0:
            self.blocks[self._block] = data
        else:
            self.words += data

    def detail(self, row: dict[str, str]) -> dict[str, Any]:
        return blocks.unpack(self.blocks, row["detail"].split())
