# SPDX-License-Identifier: GPL-2.0-or-later
"""The reader of pcapng captures: every form of the format, pieces of a stream, and damaged files."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import pytest
from netblt_conformance.common import paths
from netblt_conformance.packets import captures
from netblt_conformance.packets.captures import BrokenCaptureError, CapturedPacket, CaptureStream, Statistics
from netblt_conformance.simlib import LinkType, PcapngWriter, Record, ipv4_wrap, pcapng_file

LONG = paths.root() / "pcaps" / "golden" / "lossy-transfer.pcapng"
NAME, RESOLUTION, OFFSET, DROPPED, COMMENT = 2, 9, 14, 5, 1


class Forge:
    """Blocks of either byte order, made of struct alone."""

    def __init__(self, order: str) -> None:
        self.order = order

    def block(self, kind: int, body: bytes) -> bytes:
        body += bytes(-len(body) % 4)
        length = struct.pack(f"{self.order}I", len(body) + 12)
        return struct.pack(f"{self.order}I", kind) + length + body + length

    def option(self, code: int, value: bytes) -> bytes:
        return struct.pack(f"{self.order}HH", code, len(value)) + value + bytes(-len(value) % 4)

    def section(self) -> bytes:
        return self.block(0x0A0D0D0A, struct.pack(f"{self.order}IHHq", 0x1A2B3C4D, 1, 0, -1))

    def interface(self, *options: bytes, link_type: int = 1, snap: int = 0) -> bytes:
        return self.block(1, struct.pack(f"{self.order}HHI", link_type, 0, snap) + b"".join(options))

    def packet(self, number: int, ticks: int, data: bytes, *options: bytes, original: int | None = None) -> bytes:
        head = (number, ticks >> 32, ticks & 0xFFFFFFFF, len(data), len(data) if original is None else original)
        body = struct.pack(f"{self.order}5I", *head) + data + bytes(-len(data) % 4)
        return self.block(6, body + b"".join(options))


def written(tmp_path: Path, contents: bytes) -> list[CapturedPacket]:
    path = tmp_path / "x.pcapng"
    path.write_bytes(contents)
    return list(captures.read(path))


def test_what_our_writer_writes_comes_back(tmp_path: Path) -> None:
    writer = PcapngWriter()
    writer.interface("left")
    writer.interface("right", LinkType.ETHERNET)
    writer.packet(1, 1_700_000_000_123_456_789, b"abcde", comment="two\nlines, dräpped", original_length=9)
    writer.packet(0, 0, b"")
    writer.save(tmp_path / "x.pcapng")
    first, second = captures.read(tmp_path / "x.pcapng")
    assert (first.number, first.interface.number, first.interface.name, first.interface.link_type) == (1, 1, "right", 1)
    assert (first.time_ns, first.data, first.original_length) == (1_700_000_000_123_456_789, b"abcde", 9)
    assert first.comments == ("two\nlines, dräpped",)
    assert (second.number, second.interface.link_type, second.data, second.comments) == (2, 101, b"", ())


@pytest.mark.parametrize("order", ["<", ">"])
def test_both_byte_orders_and_every_resolution(order: str, tmp_path: Path) -> None:
    forge = Forge(order)
    made = forge.section()
    others = forge.option(11, b"\0udp"), forge.option(12, b"Linux"), forge.option(8, bytes(8))
    made += forge.interface(*others, forge.option(NAME, b"micro"))
    made += forge.interface(forge.option(NAME, b"nano"), forge.option(RESOLUTION, b"\x09"))
    made += forge.interface(forge.option(RESOLUTION, b"\x8a"), forge.option(OFFSET, struct.pack(f"{order}q", 100)))
    made += forge.packet(0, 1_700_000_000_000_001, b"a")
    made += forge.packet(1, 1_700_000_000_000_000_001, b"b", forge.option(COMMENT, b"one"), forge.option(COMMENT, b"2"))
    made += forge.packet(2, 1024 * 5 + 512, b"c", original=70)
    found = written(tmp_path, made)
    assert [one.time_ns for one in found] == [1_700_000_000_000_001_000, 1_700_000_000_000_000_001, 105_500_000_000]
    assert [one.interface.name for one in found] == ["micro", "nano", "interface 2"]
    assert [one.data for one in found] == [b"a", b"b", b"c"]
    assert found[1].comments == ("one", "2")
    assert found[2].original_length == 70


def test_the_other_packet_blocks_and_a_second_section(tmp_path: Path) -> None:
    forge = Forge("<")
    simple = forge.block(3, struct.pack("<I", 6) + b"simple\0\0")
    obsolete = forge.block(2, struct.pack("<HHIIII", 0, 0, 0, 7, 3, 3) + b"old\0")
    unknown = forge.block(0x8000_0B17, bytes(8))
    made = forge.section() + forge.interface(forge.option(NAME, b"a")) + simple + unknown + obsolete
    made += forge.section() + forge.interface(forge.option(NAME, b"b")) + forge.packet(0, 1, b"x")
    found = written(tmp_path, made)
    assert [(one.number, one.interface.name, one.time_ns, one.data) for one in found] == [
        (1, "a", 0, b"simple"),
        (2, "a", 7000, b"old"),
        (3, "b", 1000, b"x"),
    ]


def test_a_capture_program_says_what_it_dropped() -> None:
    forge = Forge("<")
    known = forge.block(5, struct.pack("<III", 0, 0, 0) + forge.option(DROPPED, struct.pack("<Q", 3)))
    not_known = forge.block(5, struct.pack("<III", 0, 0, 0))
    items = list(CaptureStream().feed(forge.section() + forge.interface() + known + not_known))
    assert [item.dropped for item in items if isinstance(item, Statistics)] == [3, None]


@pytest.mark.parametrize("size", [1, 13, 4096])
def test_blocks_come_out_whole_however_they_come_in(size: int) -> None:
    data, stream, whole, found = LONG.read_bytes(), CaptureStream(), b"", []
    for at in range(0, len(data), size):
        found += list(stream.feed(data[at : at + size]))
        whole += stream.whole
    assert whole == data
    assert stream.between_blocks
    assert [item for item in found if isinstance(item, CapturedPacket)] == list(captures.read(LONG))


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda data: data[:-1], r"truncated: the pcapng block at byte \d+ is not complete"),
        (lambda data: data[:30], "truncated: the pcapng block at byte 28 is not complete"),
        (lambda data: data[:10], "truncated: the pcapng block at byte 0 is not complete"),
        (lambda _: b"", "the file is empty"),
        (lambda _: bytes(64), "its first bytes are not those of a pcapng or pcap file"),
        (gzip.compress, "a compressed file, and pcapng is needed here; editcap -F pcapng converts it"),
        (lambda data: data[:-4] + b"\1\0\0\0", r"broken pcapng block at byte \d+: Mismatching block lengths"),
        (lambda data: data + Forge("<").packet(7, 0, b""), r"at byte \d+: interface 7 is not described"),
    ],
)
def test_a_damaged_file_is_named_with_the_place(damage: object, words: str, tmp_path: Path) -> None:
    assert callable(damage)
    with pytest.raises(BrokenCaptureError, match=rf"x\.pcapng: .*{words}"):
        written(tmp_path, damage(pcapng_file(["a"], [Record(0, 1, b"packet")])))


def test_a_capture_is_cut_behind_a_frame(tmp_path: Path) -> None:
    for frames in (0, 1, 7, 100_000):
        captures.cut(LONG, frames, tmp_path / "cut.pcapng")
        assert list(captures.read(tmp_path / "cut.pcapng")) == list(captures.read(LONG))[:frames]


def test_the_emitter_of_a_frame(tmp_path: Path) -> None:
    path = tmp_path / "x.pcapng"
    path.write_bytes(pcapng_file(["a"], [Record(0, 1, ipv4_wrap("10.0.0.9", "10.0.0.2", b"x", 1))]))
    assert captures.emitter(path, 1) == bytes([10, 0, 0, 9])
    assert captures.emitter(path, 2) == b""
