# SPDX-License-Identifier: GPL-2.0-or-later
"""One entry of a vector file: octets, what they mean, and what a reader has to report about them."""

from __future__ import annotations

from typing import Any

from pcaps.tools.octets import Packet

Vector = dict[str, Any]
HEADER_FIELDS = ("checksum", "version", "type_code", "length", "local_port", "foreign_port", "padding")


def vector(
    name: str,
    about: str,
    section: str,
    packet: Packet,
    *,
    error: str | None = None,
    data_checksum: str | None = None,
    dialect: str = "rfc998",
) -> Vector:
    """Writes an entry down. With `error`, only those fields stay that a reader can still read."""
    entry: Vector = {
        "name": name,
        "about": about,
        "section": section,
        "hex": packet.octets.hex(),
        "dialect": dialect,
        "valid": error is None,
        "error": error,
        "type": None if error in ("short", "type") else packet.type,
        "fields": readable_fields(packet, error),
    }
    if "data_hex" in entry["fields"]:
        if data_checksum is None:
            raise ValueError(f"{name}: a DATA vector says whether its data checksum is good, bad or unchecked")
        entry["data_checksum"] = data_checksum
    return entry


def readable_fields(packet: Packet, error: str | None) -> dict[str, Any]:
    """A packet whose extent is unknown has a header at most; a wrong checksum or message leaves the rest readable."""
    if error == "short":
        return {}
    if error in ("length", "type"):
        return {name: packet.fields[name] for name in HEADER_FIELDS}
    return packet.fields
