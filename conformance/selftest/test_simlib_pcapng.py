# SPDX-License-Identifier: GPL-2.0-or-later
"""What tshark reads in our captures."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from netblt_conformance.simlib import CaptureDirection, LinkType, PcapngWriter, ipv4_wrap

pytestmark = pytest.mark.skipif(shutil.which("tshark") is None, reason="needs tshark")


def tshark(path: Path, *fields: str) -> list[list[str]]:
    command = ["tshark", "-r", str(path), "-T", "fields", "-E", "separator=|", "-o", "ip.check_checksum:TRUE"]
    for field in fields:
        command += ["-e", field]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [line.split("|") for line in done.stdout.splitlines()]


def test_tshark_reads_back_interfaces_nanoseconds_directions_and_comments(tmp_path: Path) -> None:
    writer = PcapngWriter()
    left = writer.interface("left")
    right = writer.interface("right", LinkType.ETHERNET, "side B")
    packet = ipv4_wrap("10.0.0.1", "10.0.0.2", b"payload", 65535)
    writer.packet(left, 1_700_000_000_123_456_789, packet, comment="flakeway: dräpped", packet_id=1)
    writer.packet(
        right, 1_700_000_000_123_456_790, b"\2" * 12 + b"\x08\x00" + packet, direction=CaptureDirection.OUTBOUND
    )
    writer.packet(left, 1, packet[:-1] + b"!", direction=CaptureDirection.INBOUND)
    writer.save(tmp_path / "x.pcapng")
    fields = ["frame.interface_name", "frame.interface_description", "frame.time_epoch", "frame.comment"]
    fields += ["frame.packet_flags_direction", "frame.len", "ip.id", "ip.proto", "ip.ttl", "ip.checksum.status"]
    ip = ["0xffff", "30", "64", "1"]
    assert tshark(tmp_path / "x.pcapng", *fields) == [
        ["left", "", "1700000000.123456789", "flakeway: dräpped", "", "27", *ip],
        ["right", "side B", "1700000000.123456790", "", "0x00000002", "41", *ip],
        ["left", "", "0.000000001", "", "0x00000001", "27", *ip],
    ]


def test_an_empty_capture_can_be_read(tmp_path: Path) -> None:
    writer = PcapngWriter(None)
    writer.interface("tester")
    writer.save(tmp_path / "x.pcapng")
    assert tshark(tmp_path / "x.pcapng", "frame.number") == []


def test_a_packet_of_no_interface_is_refused() -> None:
    with pytest.raises(OSError, match="cannot be written"):
        PcapngWriter().packet(0, 0, b"x")
