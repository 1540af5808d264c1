# SPDX-License-Identifier: GPL-2.0-or-later
"""Details of results as compressed blocks inside the page, which inflates one when a result of it is opened.

A block is a JSON list of items, zlib, base64. What several results share (a capture's packets) is one item.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Detail = dict[str, Any]  # what docs/conformance.md calls the detail object

# The keys that belong to a capture and not to one result in it.
SHARED = ("ends", "position", "terms", "notes", "fields", "events", "messages", "window", "left_out")
# Of a block before compression: enough for the compressor to find what repeats, quick to inflate.
BLOCK_BYTES = 128 * 1024
# Of all blocks: with a thousand rows beside them the page keeps below 5 MB.
BUDGET_CHARACTERS = 3_900_000
_WITHOUT_PACKETS = "The packets are left out: the page would become too large. They are in the capture."
# Shared items stop at this part of the budget, so that the texts of the other results have room.
_PACKETS_SHARE = 0.85


@dataclass(frozen=True, slots=True)
class Packed:
    """The blocks, and for each result where its items are: "block.item"."""

    blocks: tuple[str, ...]
    places: Mapping[int, tuple[str, ...]]
    without_packets: int = 0  # results whose packets had no room


class _Packer:
    def __init__(self) -> None:
        self.blocks: list[str] = []
        self.characters = 0
        self._items: list[str] = []
        self._bytes = 0
        self._known: dict[str, str] = {}

    def add(self, value: Detail) -> str:
        """The place of an item; equal items have one place."""
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        if text not in self._known:
            self._known[text] = f"{len(self.blocks)}.{len(self._items)}"
            self._items.append(text)
            self._bytes += len(text)
        place = self._known[text]
        if self._bytes >= BLOCK_BYTES:
            self.finish()
        return place

    def finish(self) -> None:
        if self._items:
            packed = zlib.compress(f"[{','.join(self._items)}]".encode(), 9)
            self.blocks.append(base64.b64encode(packed).decode("ascii"))
            self.characters += len(self.blocks[-1])
            self._items, self._bytes = [], 0


def pack(details: Iterable[tuple[int, Detail]], budget: int = BUDGET_CHARACTERS) -> Packed:
    """`details`: number of the result and its detail object, the most important first: the packets of the last ones are
    left out when all of them do not fit."""
    packer = _Packer()
    places: dict[int, tuple[str, ...]] = {}
    left_out = 0
    for number, detail in details:
        shared = {key: detail[key] for key in SHARED if key in detail}
        own = {key: value for key, value in detail.items() if key not in SHARED}
        if shared and packer.characters > budget * _PACKETS_SHARE:
            shared, left_out = {}, left_out + 1
            own.pop("tree", None)
            own |= {"no_events": _WITHOUT_PACKETS, "deciding": -1}
        places[number] = tuple(packer.add(part) for part in (shared, own) if part)
    packer.finish()
    return Packed(tuple(packer.blocks), places, left_out)


def unpack(blocks: Mapping[int, str], places: Iterable[str]) -> Detail:
    """The detail object of one result, as the page puts it together. For tests and programs that read a page."""
    found: Detail = {}
    for place in places:
        number, item = map(int, place.split("."))
        found |= json.loads(zlib.decompress(base64.b64decode(blocks[number])))[item]
    return found
