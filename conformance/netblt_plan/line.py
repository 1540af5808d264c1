# SPDX-License-Identifier: GPL-2.0-or-later
"""What packets cost on a line, and what a line loses by chance: from a scenario's words alone."""

from __future__ import annotations

import math

from netblt_plan import fields
from netblt_plan.tables import Tables

IP_AND_NETBLT_BYTES = 44  # IPv4 header and DATA header
_IP_HEADER_BYTES = 20
_FRAGMENT_UNIT_BYTES = 8
_DEFAULT_PACKET_SIZE = 1456
_DEFAULT_BUFFER_SIZE = 65_536


def packet_size(flow: Tables) -> int:
    size: int = flow.get("packet_size", _DEFAULT_PACKET_SIZE)
    return size


def buffer_size(flow: Tables) -> int:
    size: int = flow.get("buffer_size", _DEFAULT_BUFFER_SIZE)
    return size


def _bytes(text: str) -> int:
    return int(text.split()[0].rstrip("Bb"))


def _percent(text: str) -> float:
    return float(text.rstrip("%")) / 100


def line_bytes(direction: Tables, packet: float) -> float:
    """What an IP packet of so many bytes, which is not fragmented, costs on the line."""
    framed = packet + _bytes(direction.get("framing", "0B"))
    if "cells" not in direction:
        return framed
    payload, cell = (int(part) for part in direction["cells"].split()[0].split("/"))
    return math.ceil(framed / payload) * cell


def pieces(direction: Tables, size: int) -> list[int]:
    """The IP packets, in bytes, in which a DATA packet of `size` data bytes takes the line."""
    packet = size + IP_AND_NETBLT_BYTES
    if "mtu" not in direction or packet <= (mtu := _bytes(direction["mtu"])):
        return [packet]
    each = (mtu - _IP_HEADER_BYTES) // _FRAGMENT_UNIT_BYTES * _FRAGMENT_UNIT_BYTES
    payload = packet - _IP_HEADER_BYTES
    return [_IP_HEADER_BYTES + min(each, payload - at) for at in range(0, payload, each)]


def bits_of_frame(direction: Tables) -> float:
    return float(direction["frames"].split()[1].lower().removesuffix("bits"))


def largest_piece_bits(direction: Tables, size: int) -> float:
    return 8 * max(line_bytes(direction, piece) for piece in pieces(direction, size))


def capacity(direction: Tables, size: int) -> float:
    """Data bits a second that DATA packets of `size` data bytes can carry over it, before any loss."""
    sizes = pieces(direction, size)
    if "frames" in direction:
        per_frame = bits_of_frame(direction) / (8 * sum(line_bytes(direction, piece) for piece in sizes))
        if len(sizes) == 1:
            per_frame = math.floor(per_frame)  # a packet waits for a frame with room for all of it
        return per_frame * size * 8 / fields.seconds(direction["frames"].split()[0])
    if "rate" not in direction:
        return math.inf
    return fields.bits_per_second(direction["rate"]) * size / sum(line_bytes(direction, piece) for piece in sizes)


def chance_of_loss(direction: Tables, size: int) -> float:
    """Of a packet, whatever the load: independent loss of its pieces, and Gilbert and Elliott's in the long run."""
    kept = (1 - _percent(direction.get("loss", "0%").split()[0])) ** len(pieces(direction, size))
    if "gilbert" in direction:
        words = direction["gilbert"].split()
        options = dict(word.lower().split("=") for word in words[2:])
        to_bad, to_good = _percent(words[0]), _percent(words[1])
        bad = to_bad / (to_bad + to_good) if to_bad > 0 else 0.0
        kept *= 1 - bad * _percent(options.get("bad", "100%")) - (1 - bad) * _percent(options.get("good", "0%"))
    return 1 - kept
