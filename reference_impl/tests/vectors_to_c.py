# SPDX-License-Identifier: BSD-2-Clause
"""Turns the byte vectors (pcaps/vectors/*.json) into a C header for vectors_test.

    vectors_to_c.py VECTOR_DIRECTORY OUTPUT_HEADER

It also decides which packets are canonical: valid, with every choice that a receiver ignores made as RFC 998 draws it.
Those are the packets that an encoder must reproduce byte for byte.
"""

from __future__ import annotations

import json
import struct
import sys
from pathlib import Path
from typing import Any

Vector = dict[str, Any]

HEADER_BYTES = 12
OPEN_BYTES = 36
STRING_MAX_BYTES = 255  # what our own fields hold
MESSAGE_TYPES = {"GO": 0, "OK": 1, "RESEND": 2}


def internet_checksum(octets: bytes) -> int:
    if len(octets) % 2:
        octets += b"\0"
    total: int = sum(struct.unpack(f">{len(octets) // 2}H", octets))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def string_is_canonical(field: bytes, text: str) -> bool:
    octets = text.encode("ascii")
    filled = octets + b"\0" * (4 - len(octets) % 4)
    return len(octets) <= STRING_MAX_BYTES and field == filled


def messages_are_canonical(body: bytes, messages: list[dict[str, Any]]) -> bool:
    rebuilt = b""
    for message in messages:
        rebuilt += struct.pack(">BxHL", MESSAGE_TYPES[message["type"]], message["seq"], message["buffer"])
        if message["type"] == "OK":
            names = ("burst_size", "burst_interval_ms", "control_timer_ms")
            rebuilt += struct.pack(">HHHxx", *(message[name] for name in names))
        elif message["type"] == "RESEND":
            packets = message["packets"]
            rebuilt += struct.pack(f">Hxx{len(packets)}H", message["count"], *packets)
            rebuilt += b"\0\0" * (len(packets) % 2)
    return rebuilt == body


def data_is_canonical(octets: bytes, vector: Vector) -> bool:
    fields = vector["fields"]
    filled = (fields["length"] + 3) // 4 * 4
    beyond = octets[fields["length"] :]
    sums = vector["data_checksum"] == "good" or fields["data_checksum"] == 0
    return sums and vector["data_checksum"] != "bad" and len(octets) == filled and not any(beyond)


def is_canonical(octets: bytes, vector: Vector) -> bool:
    fields = vector["fields"]
    if not vector["valid"] or vector["dialect"] != "rfc998":
        return False
    if fields["padding"] != 0 or fields.get("reserved_flags", 0) != 0:
        return False
    is_data = vector["type"] in ("DATA", "LDATA")
    covered = 24 if is_data else fields["length"]
    if fields["checksum"] != internet_checksum(b"\0\0" + octets[2:covered]):
        return False
    if is_data:
        return data_is_canonical(octets, vector)
    if len(octets) != fields["length"]:
        return False
    if vector["type"] in ("OPEN", "RESPONSE"):
        return string_is_canonical(octets[OPEN_BYTES:], fields["string"])
    if vector["type"] in ("QUIT", "ABORT", "REFUSED"):
        return string_is_canonical(octets[HEADER_BYTES:], fields["string"])
    if vector["type"] == "CONTROL":
        return messages_are_canonical(octets[HEADER_BYTES:], fields["messages"])
    if vector["type"] == "NULL-ACK":
        return octets[18:20] == b"\0\0"
    return True


def c_bytes(octets: bytes) -> str:
    """A string literal; octal escapes, because they end after three digits whatever follows."""
    return '"' + "".join(f"\\{octet:03o}" for octet in octets) + '"'


def c_messages(messages: list[dict[str, Any]], index: int) -> tuple[list[str], str]:
    lines: list[str] = []
    rows: list[str] = []
    for number, message in enumerate(messages):
        packets = message.get("packets")
        listed = "NULL"
        if packets:
            listed = f"vector_{index}_list_{number}"
            lines.append(f"static const uint16_t {listed}[] = {{{', '.join(map(str, packets))}}};")
        values = [MESSAGE_TYPES[message["type"]], message["seq"], message["buffer"]]
        values += [message.get(k, 0) for k in ("burst_size", "burst_interval_ms", "control_timer_ms", "count")]
        rows.append("{" + ", ".join(map(str, values)) + f", {listed}}}")
    if not rows:
        return lines, "NULL"
    lines.append(f"static const struct vector_message vector_{index}_messages[] = {{{', '.join(rows)}}};")
    return lines, f"vector_{index}_messages"


INTEGERS = [
    "checksum",
    "version",
    "type_code",
    "length",
    "local_port",
    "foreign_port",
    "padding",
    "unique_id",
    "buffer_size",
    "transfer_size",
    "packet_size",
    "burst_size",
    "burst_interval_ms",
    "death_timer_s",
    "write",
    "data_checksum_flag",
    "reserved_flags",
    "max_buffers",
    "buffer",
    "high_seq",
    "packet",
    "data_checksum",
    "last_buffer",
]


def c_vector(vector: Vector, index: int) -> list[str]:
    fields = vector["fields"]
    octets = bytes.fromhex(vector["hex"])
    messages = fields.get("messages", [])
    lines, messages_name = c_messages(messages, index)
    row = [
        f'.name = "{vector["name"]}"',
        f'.error = "{vector["error"] or ""}"',
        f'.type = "{vector["type"] or ""}"',
        f".rfc998 = {int(vector['dialect'] == 'rfc998')}",
        f".canonical = {int(is_canonical(octets, vector))}",
        f'.sum = "{vector.get("data_checksum", "")}"',
        f".octets = (const uint8_t *){c_bytes(octets)}",
        f".size = {len(octets)}",
        f".messages = {messages_name}",
        f".message_count = {len(messages)}",
        f".string = {c_bytes(fields.get('string', '').encode('ascii'))}",
        f".data = (const uint8_t *){c_bytes(bytes.fromhex(fields.get('data_hex', '')))}",
        f".data_length = {len(fields.get('data_hex', '')) // 2}",
    ]
    row += [f".{name} = {int(fields[name])}u" for name in INTEGERS if name in fields]
    return [*lines, f"static const struct vector vector_{index} = {{{', '.join(row)}}};"]


def main() -> int:
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    directory, output = Path(sys.argv[1]), Path(sys.argv[2])
    vectors: list[Vector] = []
    for path in sorted(directory.glob("*.json")):
        content = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(content, list):  # schema.json is an object
            vectors += content
    if not vectors:
        print(f"vectors_to_c.py: no vectors in {directory}", file=sys.stderr)
        return 1
    lines = ["/* Generated by vectors_to_c.py; do not edit. */", '#include "vectors.h"']
    for index, vector in enumerate(vectors):
        lines += c_vector(vector, index)
    lines.append("const struct vector *const vectors[] = {")
    lines += [f"    &vector_{index}," for index in range(len(vectors))]
    lines += ["};", f"const size_t vector_count = {len(vectors)};", ""]
    output.write_text("\n".join(lines), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
