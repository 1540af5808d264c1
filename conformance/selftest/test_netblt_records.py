# SPDX-License-Identifier: GPL-2.0-or-later
"""--pcap and --qlog: what `netblt` writes down of itself, read by others."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.packet import Packet, Raw
from scapy.utils import PcapNgReader, RawPcapReader
from selftest.netblt_command_helpers import (
    DONE,
    INTERRUPTED,
    LOCAL,
    SLOW,
    has_received,
    make_file,
    needs_root,
    one_line,
)
from selftest.netblt_command_lab import REPOSITORY, Lab
from selftest.netblt_command_relay import LossyRelay
from selftest.netblt_tree_helpers import tree_bytes

pytest_plugins = ["selftest.netblt_command_fixtures"]

assert PcapNgReader  # RawPcapReader's sibling: what is read here must be plain pcap

LINKTYPE_RAW = 101
NANOSECOND_MAGIC = b"\x4d\x3c\xb2\xa1"
TYPE_OPEN, TYPE_DATA, TYPE_LDATA = 0, 6, 7


def records(path: Path) -> list[Any]:
    """The packets of a capture, parsed from the IP header on."""
    return [(IP if data[0] >> 4 == 4 else IPv6)(data) for data, _ in RawPcapReader(str(path))]


def netblt_bytes(packet: Any) -> bytes:
    """What follows the IP header, or the UDP header."""
    return bytes(packet[UDP].payload if UDP in packet else packet.payload)


def move_with(lab: Lab, size: int, here: Sequence[str], there: Sequence[str], directory: Path) -> None:
    source = make_file(directory / "source", size)
    receiver = lab.wait_for_peer(lab.there, "recv", directory / "target", *there)
    sender = lab.start(lab.here, "send", source, lab.there.address, *here)
    assert (sender.wait(), receiver.wait()) == (DONE, DONE), sender.errors + receiver.errors


def tshark(*arguments: str) -> str:
    if shutil.which("tshark") is None or not any((REPOSITORY / "build" / "plugins").glob("*/epan/netblt.so")):
        pytest.skip("tshark or the plugin is missing: tools/setup, tools/build")
    done = subprocess.run(
        [str(REPOSITORY / "tools" / "tshark"), *arguments], capture_output=True, text=True, timeout=120, check=True
    )
    return done.stdout


def with_raw_payload(packet: Packet, data: bytes, header_bytes: int) -> None:
    """Puts bytes in the place of the NETBLT layer, whose padding scapy leaves out of lengths."""
    last = packet.getlayer(UDP) or packet
    last.remove_payload()
    last.add_payload(Raw(data[header_bytes:]))


class TestCaptures:
    def test_both_ends_write_the_packets_that_passed_between_them(self, lab: Lab, tmp_path: Path) -> None:
        mine, theirs = tmp_path / "mine.pcap", tmp_path / "theirs.pcap"
        move_with(lab, 500_000, ["--pcap", str(mine)], ["--pcap", str(theirs)], tmp_path)
        head = mine.read_bytes()[:24]
        assert head[:4] == NANOSECOND_MAGIC
        assert int.from_bytes(head[20:24], "little") == LINKTYPE_RAW

        assert sorted(map(netblt_bytes, records(mine))) == sorted(map(netblt_bytes, records(theirs)))
        own = {"here": records(mine), "there": records(theirs)}
        for packets in own.values():
            for source, destination in (("here", "there"), ("there", "here")):
                address = getattr(lab, source).address
                sent = [packet for packet in packets if packet[IP].src == address]
                assert {packet[IP].dst for packet in sent} == {getattr(lab, destination).address}
                here = packets is own["here"]
                wanted = [i % 65536 if here == (source == "here") else 0 for i in range(len(sent))]
                assert [packet[IP].id for packet in sent] == wanted, "only of its own packets an end knows the order"
                assert {packet[IP].proto for packet in sent} == {17 if lab.encap == "udp" else 30}
        if lab.encap == "udp":
            assert all(lab.udp_port in (packet[UDP].sport, packet[UDP].dport) for packet in packets)

    def test_headers_are_right(self, lab: Lab, tmp_path: Path) -> None:
        """scapy computes lengths and checksums again when they are removed: nothing may change."""
        capture = tmp_path / "c.pcap"
        move_with(lab, 20_000, ["--pcap", str(capture)], [], tmp_path)
        for data, _ in RawPcapReader(str(capture)):
            again = IP(data)
            with_raw_payload(again, data, 28 if UDP in again else 20)
            del again[IP].chksum, again[IP].len
            if UDP in again:
                del again[UDP].chksum, again[UDP].len
            assert bytes(again) == data

    @needs_root
    def test_packets_are_those_of_the_wire(self, udp_lab: Lab, tmp_path: Path) -> None:
        """Runs that one system call sends or receives are single packets in the capture: as many as were sent."""
        capture = tmp_path / "c.pcap"
        source = make_file(tmp_path / "source", 2_000_000)
        receiver = udp_lab.wait_for_peer(udp_lab.there, "recv", tmp_path / "target", "--pcap", str(capture))
        sender = udp_lab.start(udp_lab.here, "send", source, udp_lab.there.address, "--json",
                               "--burst-size", "40", "--burst-interval", "1")  # fmt: skip
        assert (sender.wait(), receiver.wait()) == (DONE, DONE)
        packets = [netblt_bytes(packet) for packet in records(capture)]
        data = [packet for packet in packets if packet[3] in (TYPE_DATA, TYPE_LDATA)]

        size = sender.report["negotiated"]["packet_size"]
        assert max(map(len, data)) == 24 + size
        assert len(data) >= -(-2_000_000 // size)
        times = [(meta.sec, meta.usec) for _, meta in RawPcapReader(str(capture))]
        assert times == sorted(times)

    def test_wireshark_finds_nothing_wrong(self, lab: Lab, tmp_path: Path) -> None:
        capture = tmp_path / "c.pcap"
        move_with(lab, 300_000, ["--pcap", str(capture)], [], tmp_path)
        port = ["-d", f"udp.port=={lab.udp_port},netblt"]

        types = tshark("-r", str(capture), *port, "-T", "fields", "-e", "netblt.type").split()
        assert len(types) == len(records(capture)), "each packet is one of NETBLT"
        wrong = "netblt.analysis.verdict || _ws.malformed || netblt.checksum.status == 0"
        assert tshark("-r", str(capture), *port, "-2", "-Y", wrong) == ""

    def test_what_the_network_does_is_blamed_on_nobody(self, udp_lab: Lab, tmp_path: Path) -> None:
        """What arrived late was not sent late, and a copy was not sent twice."""
        captures = tmp_path / "here.pcap", tmp_path / "there.pcap"
        port = udp_lab.udp_port
        with LossyRelay(udp_lab.there, port, loss=0.05, reorder=0.2) as relay:
            source = make_file(tmp_path / "source", 300_000)
            receiver = udp_lab.wait_for_peer(udp_lab.there, "recv", tmp_path / "target", "--pcap", captures[1])
            udp_lab.udp_port = relay.port
            sender = udp_lab.start(udp_lab.here, "send", source, udp_lab.there.address, "--pcap", captures[0])
            assert (sender.wait(60), receiver.wait(60)) == (DONE, DONE), sender.errors + receiver.errors
        assert relay.dropped
        assert relay.reordered
        for capture, own_port in zip(captures, (relay.port, port), strict=True):
            verdicts = tshark("-r", str(capture), "-d", f"udp.port=={own_port},netblt", "-2", "-T", "fields",
                              "-Y", 'netblt.analysis.verdict == "violation"', "-e", "_ws.expert.message")  # fmt: skip
            assert verdicts == "", capture.name

    def test_ipv6_packets_have_ipv6_headers(self, tmp_path: Path, udp_lab: Lab) -> None:
        capture = tmp_path / "c.pcap"
        receiver = udp_lab.wait_for_peer(udp_lab.there, "recv", tmp_path / "target", "-6", "--bind", "::1")
        sender = udp_lab.start(udp_lab.there, "send", make_file(tmp_path / "source", 30_000), "[::1]",
                               "--pcap", capture)  # fmt: skip
        assert (sender.wait(), receiver.wait()) == (DONE, DONE), sender.errors + receiver.errors

        for data, _ in RawPcapReader(str(capture)):
            again = IPv6(data)
            assert (again.src, again.dst, again.nh) == ("::1", "::1", 17)
            with_raw_payload(again, data, 48)
            del again.plen, again[UDP].chksum, again[UDP].len
            assert bytes(again) == data

    def test_an_interrupted_capture_is_whole(self, udp_lab: Lab, tmp_path: Path) -> None:
        capture = tmp_path / "c.pcap"
        receiver = udp_lab.wait_for_peer(udp_lab.there, "recv", tmp_path / "target")
        sender = udp_lab.start(udp_lab.here, "send", make_file(tmp_path / "source", 4_000_000),
                               udp_lab.there.address, "--pcap", capture, *SLOW)  # fmt: skip
        receiver.wait_until(lambda: has_received(receiver), "data has arrived")
        sender.send_signal(signal.SIGINT)
        assert sender.wait(20) == INTERRUPTED

        packets = records(capture)
        assert netblt_bytes(packets[0])[3] == TYPE_OPEN
        assert any(b"interrupted by the user" in netblt_bytes(packet) for packet in packets), "the QUIT is in it"
        assert capture.stat().st_size == 24 + sum(16 + len(packet) for packet in packets)

    @pytest.mark.parametrize("option", ["--pcap", "--qlog"])
    def test_a_file_that_cannot_be_written_is_named(self, udp_lab: Lab, tmp_path: Path, option: str) -> None:
        process = udp_lab.start(udp_lab.here, "recv", tmp_path / "t", "--passive", option, tmp_path / "no" / "c")

        assert process.wait() == LOCAL
        assert "cannot write" in one_line(process)
        assert "/no/c" in one_line(process)

    @pytest.mark.parametrize("option", ["--pcap", "--qlog"])
    def test_a_full_disk_is_told(self, udp_lab: Lab, tmp_path: Path, option: str) -> None:
        receiver = udp_lab.wait_for_peer(udp_lab.there, "recv", tmp_path / "target", option, "/dev/full")
        sender = udp_lab.start(udp_lab.here, "send", make_file(tmp_path / "s", 100_000), udp_lab.there.address)

        assert (sender.wait(), receiver.wait()) == (DONE, DONE), "the transfer does not suffer"
        assert "cannot write all of /dev/full" in receiver.errors


def read_qlog(path: Path) -> list[dict[str, Any]]:
    """RFC 7464: each record begins with RS and ends with LF."""
    text = path.read_text(encoding="utf-8")
    assert text.startswith("\x1e")
    texts = text.split("\x1e")[1:]
    assert all(record.endswith("\n") for record in texts)
    return [json.loads(record) for record in texts]


def names_of(events: list[dict[str, Any]]) -> list[str]:
    return [event["name"] for event in events]


DOCUMENTED = {
    "transport:packet_sent", "transport:packet_received", "transport:packet_dropped", "transport:state_updated",
    "transport:buffer_done", "recovery:timer_updated", "recovery:rate_updated",
}  # fmt: skip


class TestEventLogs:
    def test_a_log_tells_the_whole_story(self, lab: Lab, tmp_path: Path) -> None:
        mine, theirs = tmp_path / "mine.qlog", tmp_path / "theirs.qlog"
        move_with(lab, 300_000, ["--qlog", str(mine), *SLOW, "--burst-interval", "1"],
                  ["--qlog", str(theirs)], tmp_path)  # fmt: skip
        for path, kind, role in ((mine, "client", "sender"), (theirs, "server", "receiver")):
            header, *events = read_qlog(path)
            assert header["file_schema"] == "urn:ietf:params:qlog:file:sequential"
            assert header["serialization_format"] == "application/qlog+json-seq"
            assert header["trace"]["vantage_point"]["type"] == kind
            assert header["trace"]["encapsulation"] == lab.encap
            assert set(names_of(events)) <= DOCUMENTED
            times = [event["time"] for event in events]
            assert times == sorted(times)
            states = [event["data"]["new"] for event in events if event["name"] == "transport:state_updated"]
            assert "open" in states
            assert states[-1] == "closed"
            assert {event["data"]["role"] for event in events if event["name"] == "transport:state_updated"} == {role}
            done = [event["data"] for event in events if event["name"] == "transport:buffer_done"]
            assert sum(buffer["length"] for buffer in done) == tree_bytes("source", 300_000)
            assert len({event["group_id"] for event in events if "group_id" in event}) == 1

    def test_packets_are_those_of_the_capture(self, udp_lab: Lab, tmp_path: Path) -> None:
        log, capture = tmp_path / "l.qlog", tmp_path / "c.pcap"
        move_with(udp_lab, 100_000, ["--qlog", str(log), "--pcap", str(capture), *SLOW, "--burst-interval", "1"],
                  [], tmp_path)  # fmt: skip
        _, *events = read_qlog(log)
        sent = [event["data"] for event in events if event["name"] == "transport:packet_sent"]
        packets = [p for p in records(capture) if p[IP].src == udp_lab.here.address]

        captured = [netblt_bytes(packet) for packet in packets]
        data = [packet for packet in captured if packet[3] in (TYPE_DATA, TYPE_LDATA)]
        logged = [packet for packet in sent if packet["header"]["packet_type"] in ("DATA", "LDATA")]
        assert [(p["buffer"], p["packet"]) for p in logged] == [
            (int.from_bytes(p[12:16], "big"), int.from_bytes(p[18:20], "big")) for p in data
        ]
        assert sent[0]["header"]["packet_type"] == "OPEN"
        assert sent[0]["buffer_size"] == 8000
        assert sum(p["data_length"] for p in logged) == tree_bytes("source", 100_000)
        received = [event["data"] for event in events if event["name"] == "transport:packet_received"]
        messages = [message for packet in received for message in packet.get("messages", [])]
        assert {message["type"] for message in messages} >= {"GO", "OK"}

    def test_strange_packets_are_logged_and_harmless(self, udp_lab: Lab, tmp_path: Path) -> None:
        import socket

        log = tmp_path / "l.qlog"
        receiver = udp_lab.wait_for_peer(udp_lab.there, "recv", tmp_path / "target", "--qlog", log, "--bind",
                                         udp_lab.there.address)  # fmt: skip
        with udp_lab.here.inside(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as noise:
            for i in range(300):
                head = bytes([0, 0, 2, i % 16]) + i.to_bytes(2, "big") + bytes([0, 9, 0, 1, 0, 0])
                noise.sendto(head + os.urandom(i), (udp_lab.there.address, udp_lab.udp_port))
        receiver.wait_until(lambda: log.exists(), "it logs")
        sender = udp_lab.start(udp_lab.here, "send", make_file(tmp_path / "s", 10_000), udp_lab.there.address)
        assert (sender.wait(), receiver.wait()) == (DONE, DONE)

        _, *events = read_qlog(log)
        dropped = [event for event in events if event["name"] == "transport:packet_dropped"]
        assert dropped
        assert all("trigger" in event["data"] for event in dropped)
