# SPDX-License-Identifier: GPL-2.0-or-later
"""Vectors that a reader has to turn down: wrong checksums, wrong lengths, unknown types, and another dialect."""

from __future__ import annotations

import struct

from pcaps.tools.octets import Packet, control, data, go, null_ack, ok, packet, reason, resend, setup, text_field
from pcaps.tools.vector import Vector, vector

EXTENT = "RFC 998 8, ROBUST-01"
UNKNOWN = "RFC 998 8, ROBUST-02"
CHECKSUM = "RFC 998 5.1, CKSUM-06"
# The least Length that each type's fixed part allows.
MINIMUM_BYTES = {
    "OPEN": 36,
    "RESPONSE": 36,
    "KEEPALIVE": 12,
    "QUIT": 12,
    "QUITACK": 12,
    "ABORT": 12,
    "DATA": 24,
    "LDATA": 24,
    "NULL-ACK": 20,
    "CONTROL": 12,
    "REFUSED": 12,
    "DONE": 12,
}


def one_of_each() -> list[Packet]:
    """A sound packet of every type, in the order of the type codes."""
    return [
        setup("OPEN", string="client"),
        setup("RESPONSE", string="server"),
        packet("KEEPALIVE"),
        reason("QUIT", "enough"),
        packet("QUITACK"),
        reason("ABORT", "broken"),
        data("DATA", b"data", summed=True),
        data("LDATA", b"last data", summed=True),
        null_ack(2),
        control([ok(1, 0), resend(2, 1, [3]), go(3, 4)]),
        reason("REFUSED", "nobody listens"),
        packet("DONE"),
    ]


def slug(sound: Packet) -> str:
    """The beginning of a vector's name."""
    return str(sound.type).lower()


def data_status(sound: Packet) -> str | None:
    """The data of `one_of_each` are summed rightly."""
    return "good" if sound.type in ("DATA", "LDATA") else None


def checksum_vectors() -> list[Vector]:
    """Header checksums that are wrong in ways a lax reader may let pass."""
    entries: list[Vector] = []
    for sound in one_of_each():
        right = sound.fields["checksum"]
        wrong = {
            "off-by-one": (right + 1) & 0xFFFF,
            "not-complemented": 0xFFFF - right,
            "bytes-swapped": (right & 0xFF) << 8 | right >> 8,
            "zero": 0,
        }
        for fault, value in wrong.items():
            about = f"the Checksum is wrong ({fault.replace('-', ' ')})"
            name = f"checksum-{slug(sound)}-{fault}"
            spoilt = sound.with_checksum(value)
            entries.append(vector(name, about, CHECKSUM, spoilt, error="checksum", data_checksum=data_status(sound)))
        entries.append(changed_header_vector(sound))
    return entries


def changed_header_vector(sound: Packet) -> Vector:
    """One bit of the Foreign Port turned on the way, the Checksum as it was."""
    port = sound.fields["foreign_port"] ^ 0x4000
    changed = Packet(
        sound.type,
        sound.octets[:8] + struct.pack(">H", port) + sound.octets[10:],
        {**sound.fields, "foreign_port": port},
    )
    return vector(
        f"checksum-{slug(sound)}-bit-turned",
        "one bit of the Foreign Port turned on the way",
        CHECKSUM,
        changed,
        error="checksum",
        data_checksum=data_status(sound),
    )


def short_vectors() -> list[Vector]:
    """Less than a header arrived."""
    whole = packet("KEEPALIVE")
    return [
        vector(f"short-{size}-bytes", f"{size} of 12 header bytes", EXTENT, whole.cut_to(size), error="short")
        for size in (0, 1, 2, 4, 8, 11)
    ]


def length_vectors() -> list[Vector]:
    """Length and payload, or Length and type, contradict each other."""
    entries: list[Vector] = []
    for sound in one_of_each():
        entries += below_minimum(sound)
        entries += truncations(sound)
    return entries


def below_minimum(sound: Packet) -> list[Vector]:
    """The octets are all there, but Length stops inside the fixed part. The checksum over Length bytes is right."""
    least = MINIMUM_BYTES[str(sound.type)]
    return [
        vector(
            f"length-{slug(sound)}-{stated}",
            f"Length {stated} where the type needs {least}",
            EXTENT,
            packet(sound.type, sound.octets[12:], length=stated),
            error="length",
        )
        for stated in sorted({0, 11, least - 1, least - 4})
    ]


def truncations(sound: Packet) -> list[Vector]:
    """Cut at every four bytes after the header, and one byte short."""
    whole = len(sound.octets)
    sizes = {*range(12, whole, 4), whole - 1} - {11}
    return [
        vector(
            f"truncated-{slug(sound)}-{size}-of-{whole}",
            "Length says more than what arrived",
            EXTENT,
            sound.cut_to(size),
            error="length",
        )
        for size in sorted(sizes)
    ]


def length_beyond_vectors() -> list[Vector]:
    """Length was written too large, with a checksum over what there is."""
    return [
        vector(
            f"length-{slug(sound)}-65535",
            "Length 65535 in a small packet",
            EXTENT,
            packet(sound.type, sound.octets[12:], length=0xFFFF),
            error="length",
        )
        for sound in one_of_each()
    ]


def unknown_type_vectors() -> list[Vector]:
    """Type codes that RFC 998 does not give away."""
    return [
        vector(
            f"type-{code}",
            f"packet type {code}, checksum right",
            UNKNOWN,
            packet(None, body, type_code=code),
            error="type",
        )
        for code, body in ((12, b""), (13, bytes(4)), (127, b"\x01\x02\x03\x04"), (254, bytes(24)), (255, b""))
    ]


def dialect_vectors() -> list[Vector]:
    """Version 4 gives other meanings to the type codes (AMB-01); a reader of RFC 998 alone skips these."""
    section = "draft-white-protocol-stack-00, AMB-01"
    opening = {
        "unique_id": 0x0BADCAFE,
        "buffer_size": 8192,
        "packet_size": 1024,
        "burst_size": 4,
        "burst_interval_ms": 20,
        "death_timer_s": 30,
        "write": True,
        "data_checksum_flag": False,
        "reserved_flags": 0,
        "max_buffers": 2,
    }
    body = struct.pack(">IIHHHHHH", 0x0BADCAFE, 8192, 1024, 4, 20, 30, 1, 2) + text_field("v4")
    return [
        vector(
            "version-4-open",
            "no transfer size: every field behind it lies four bytes earlier",
            section,
            packet("OPEN", body, {**opening, "string": "v4"}, version=4),
            dialect="version4",
        ),
        vector(
            "version-4-quit",
            "type 2 is KEEPALIVE in RFC 998",
            section,
            packet("QUIT", text_field("over"), {"string": "over"}, version=4, type_code=2),
            dialect="version4",
        ),
        vector(
            "version-4-quitack",
            "type 3 is QUIT in RFC 998",
            section,
            packet("QUITACK", version=4, type_code=3),
            dialect="version4",
        ),
    ]
