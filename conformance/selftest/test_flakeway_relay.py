# SPDX-License-Identifier: GPL-2.0-or-later
"""The flakeway between real interfaces: three network namespaces, raw frames, and what tshark reads in the capture."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import select
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from netblt_conformance.common import namespaces
from netblt_conformance.common.child import die_with_parent
from netblt_conformance.simlib import ipv4_wrap
from netblt_conformance.simlib.build import build_directory
from pyroute2 import IPRoute

ETH_P_ALL = 3
SOL_PACKET = 263
PACKET_IGNORE_OUTGOING = 23
FLAKEWAY = build_directory() / "bin" / "flakeway"
MAC_A, MAC_B = bytes.fromhex("02000000000a"), bytes.fromhex("02000000000b")
A, B = "10.0.0.1", "10.0.0.2"
DATA, CONTROL = 6, 9
QUIET_S = 0.3  # after this much silence nothing more comes
DEADLINE_S = 30.0

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root for network namespaces (or run in unshare -Urn)"),
    pytest.mark.skipif(not FLAKEWAY.exists(), reason=f"{FLAKEWAY} has not been built (tools/build)"),
]


class Namespace:
    """An anonymous network namespace: it vanishes with its last descriptor, socket or process."""

    def __init__(self) -> None:
        try:
            self.fd = namespaces.new_namespace()
        except OSError as error:
            pytest.skip(f"no network namespaces here: {error}")

    @contextlib.contextmanager
    def inside(self) -> Iterator[None]:
        with namespaces.elsewhere(self.fd):
            yield

    def close(self) -> None:
        os.close(self.fd)


class End:
    """One host's interface, as a raw socket: no kernel stack answers there."""

    def __init__(self, namespace: Namespace, interface: str, mac: bytes, peer: bytes) -> None:
        with namespace.inside():
            self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            self.socket.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
            self.socket.setsockopt(socket.SOL_SOCKET, 33, 8 << 20)  # SO_RCVBUFFORCE
            self.socket.bind((interface, ETH_P_ALL))
        self.mac, self.peer = mac, peer

    def send(self, packet: bytes, ethertype: int = 0x0800) -> None:
        self.socket.send(self.peer + self.mac + struct.pack("!H", ethertype) + packet)

    def receive(self, wanted: int, ethertype: int = 0x0800) -> list[bytes]:
        """The IPv4 packets, or others, without the Ethernet header: so many as are wanted, and what more comes until
        all is quiet."""
        packets: list[bytes] = []
        while select.select([self.socket], [], [], QUIET_S if len(packets) >= wanted else DEADLINE_S)[0]:
            frame = self.socket.recv(70000)
            if frame[12:14] == struct.pack("!H", ethertype):
                packets.append(frame[14:])
        return packets


class Lab:
    """a0 - left0 [the relay's namespace] right0 - b0."""

    def __init__(self, tmp_path: Path) -> None:
        self.namespaces = [Namespace() for _ in range(3)]
        self.middle = self.namespaces[1]
        with self.middle.inside(), IPRoute() as ipr:
            for near, far, namespace in (("left0", "a0", self.namespaces[0]), ("right0", "b0", self.namespaces[2])):
                ipr.link("add", ifname=near, kind="veth", peer={"ifname": far, "net_ns_fd": namespace.fd})
                ipr.link("set", index=ipr.link_lookup(ifname=near)[0], state="up")
        for name, namespace in (("a0", self.namespaces[0]), ("b0", self.namespaces[2])):
            with namespace.inside(), IPRoute() as ipr:
                ipr.link("set", index=ipr.link_lookup(ifname=name)[0], state="up")
        self.a = End(self.namespaces[0], "a0", MAC_A, MAC_B)
        self.b = End(self.namespaces[2], "b0", MAC_B, MAC_A)
        self.capture = tmp_path / "relay.pcapng"
        self.relays: list[subprocess.Popen[str]] = []

    def relay(self, *arguments: str) -> subprocess.Popen[str]:
        with self.middle.inside():
            relay = subprocess.Popen(
                [FLAKEWAY, "--left", "left0", "--right", "right0", "--json", *arguments],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                preexec_fn=die_with_parent,
            )
        self.relays.append(relay)
        assert relay.stdout is not None
        assert relay.stdout.readline().startswith("flakeway: seed ")
        assert relay.stdout.readline() == "flakeway: ready\n"
        return relay

    def remove_b(self) -> None:
        with self.namespaces[2].inside(), IPRoute() as ipr:
            ipr.link("del", index=ipr.link_lookup(ifname="b0")[0])

    def close(self) -> None:
        for relay in self.relays:
            relay.kill()
            relay.communicate()
        self.a.socket.close()
        self.b.socket.close()
        for namespace in self.namespaces:
            namespace.close()


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    lab = Lab(tmp_path)
    yield lab
    lab.close()


def finish(relay: subprocess.Popen[str], sig: signal.Signals = signal.SIGTERM) -> dict[str, object]:
    relay.send_signal(sig)
    out, err = relay.communicate(timeout=DEADLINE_S)
    assert relay.returncode == 0, err
    result: dict[str, object] = json.loads(out.splitlines()[-1])
    return result


def way(report: dict[str, object], name: str) -> dict[str, int]:
    value = report[name]
    assert isinstance(value, dict)
    return value


def netblt(packet_type: int, body: bytes = b"") -> bytes:
    return struct.pack("!HBBHHHH", 0, 2, packet_type, 12 + len(body), 1, 1, 0) + body


def data(buffer: int, number: int, payload: bytes = b"x" * 100) -> bytes:
    return netblt(DATA, struct.pack("!IHHHH", buffer, 0, number, 0, 0) + payload)


def ok(sequence: int, buffer: int) -> bytes:
    return netblt(CONTROL, struct.pack("!BBHIHHHH", 1, 0, sequence, buffer, 8, 10, 100, 0))


def numbered(count: int) -> list[bytes]:
    return [ipv4_wrap(A, B, data(i // 100, i % 100, struct.pack("!I", i) * 20), i) for i in range(count)]


def tshark(capture: Path, *fields: str) -> list[list[str]]:
    command = ["tshark", "-r", str(capture), "-T", "fields", "-E", "separator=|"]
    for field in fields:
        command += ["-e", field]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [line.split("|") for line in done.stdout.splitlines()]


def test_without_rules_every_packet_arrives_unchanged_and_in_order(lab: Lab) -> None:
    relay = lab.relay("--capture", str(lab.capture))
    sent = numbered(2000)
    for packet in sent:
        lab.a.send(packet)
    assert lab.b.receive(len(sent)) == sent
    report = finish(relay)
    assert way(report, "a_to_b")["delivered"] == 2000
    assert way(report, "b_to_a")["seen"] == 0
    rows = tshark(lab.capture, "frame.interface_name", "ip.id")
    assert [row[0] for row in rows].count("left") == 2000
    assert [row[0] for row in rows].count("right") == 2000


def test_two_percent_loss_loses_about_two_percent_and_captures_the_lost_on_one_side(lab: Lab) -> None:
    relay = lab.relay("--seed", "5", "--loss", "2%", "--capture", str(lab.capture))
    sent = numbered(10000)
    for packet in sent:
        lab.a.send(packet)
    arrived = lab.b.receive(len(sent) - 270)
    report = way(finish(relay), "a_to_b")
    lost = report["dropped_by_loss"]
    assert 130 <= lost <= 270  # 200 expected, 5 standard deviations of 14
    they = set(arrived)
    assert arrived == [packet for packet in sent if packet in they]
    assert len(arrived) == 10000 - lost == report["delivered"]
    rows = tshark(lab.capture, "frame.interface_name", "frame.comment")
    assert sum(row[1] == "flakeway: dropped by loss 2%" for row in rows) == lost
    assert [row[0] for row in rows].count("left") == 10000
    assert [row[0] for row in rows].count("right") == 10000 - lost


def test_the_second_ok_is_dropped_and_nothing_else(lab: Lab) -> None:
    relay = lab.relay("--rule", "drop b>a nth=2 OK", "--capture", str(lab.capture))
    sent = [ipv4_wrap(B, A, ok(i, i), i) for i in range(4)]
    for packet in sent:
        lab.b.send(packet)
    assert lab.a.receive(3) == [sent[0], sent[2], sent[3]]
    finish(relay)
    rows = tshark(lab.capture, "frame.interface_name", "ip.id", "frame.comment")
    lost = [row for row in rows if row[1] == "0x0001"]
    assert lost == [["right", "0x0001", "flakeway: dropped by rule 1 (drop b>a nth=2 OK)"]]


def test_other_frames_pass_untouched_even_when_all_netblt_is_lost(lab: Lab) -> None:
    relay = lab.relay("--loss", "100%", "--capture", str(lab.capture))
    icmp = ipv4_wrap(A, B, b"\x08\x00" + bytes(30), 1, protocol=1)
    other_udp = ipv4_wrap(A, B, struct.pack("!HHHH", 5000, 5001, 12, 0) + b"four", 2, protocol=17)
    netblt_udp = ipv4_wrap(A, B, struct.pack("!HHHH", 5000, 9980, 8 + 12, 0) + netblt(2), 3, protocol=17)
    for packet in (icmp, other_udp, netblt_udp, ipv4_wrap(A, B, netblt(2), 4)):
        lab.a.send(packet)
    assert lab.b.receive(2) == [icmp, other_udp]
    lab.a.send(b"arp" + bytes(25), 0x0806)
    assert lab.b.receive(1, 0x0806) == [b"arp" + bytes(25)]
    report = finish(relay)
    assert way(report, "a_to_b")["seen"] == 2
    assert way(report, "a_to_b")["dropped"] == 2
    assert way(report, "a_to_b")["other_frames"] >= 3  # the kernel's own IPv6 chatter comes on top


def test_the_statistics_state_how_long_a_frame_waited_for_the_relay(lab: Lab) -> None:
    relay = lab.relay()
    relay.send_signal(signal.SIGSTOP)
    lab.a.send(ipv4_wrap(A, B, netblt(2), 1))
    time.sleep(0.3)
    relay.send_signal(signal.SIGCONT)
    assert len(lab.b.receive(1)) == 1
    assert way(finish(relay), "a_to_b")["longest_wait_us"] >= 300_000


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_under_load_leaves_a_complete_capture(lab: Lab, sig: signal.Signals) -> None:
    relay = lab.relay("--capture", str(lab.capture))
    sent = numbered(5000)
    for packet in sent:
        lab.a.send(packet)
    deadline = time.monotonic() + DEADLINE_S
    while lab.capture.stat().st_size == 0 and time.monotonic() < deadline:
        time.sleep(0.005)
    report = finish(relay, sig)
    delivered = way(report, "a_to_b")["delivered"]
    assert delivered > 0
    rows = tshark(lab.capture, "frame.interface_name")
    assert rows.count(["left"]) == way(report, "a_to_b")["seen"]
    assert rows.count(["right"]) == delivered


def test_a_vanished_interface_ends_the_relay_and_leaves_a_complete_capture(lab: Lab) -> None:
    relay = lab.relay("--capture", str(lab.capture))
    for packet in numbered(10):
        lab.a.send(packet)
    assert len(lab.b.receive(10)) == 10
    lab.remove_b()
    _, err = relay.communicate(timeout=DEADLINE_S)
    assert relay.returncode == 1
    assert err == "flakeway: the interface right0 has disappeared\n"
    assert len(tshark(lab.capture, "frame.number")) == 20


def test_delay_reorder_and_duplicate_show_at_the_other_end(lab: Lab) -> None:
    rules = ("delay 400ms DATA packet=1", "swap DATA packet=3", "duplicate DATA packet=6 count=2")
    relay = lab.relay("--capture", str(lab.capture), *(word for rule in rules for word in ("--rule", rule)))
    sent = numbered(8)
    for packet in sent:
        lab.a.send(packet)
    order = [sent.index(packet) for packet in lab.b.receive(10)]
    assert order == [0, 2, 4, 3, 5, 6, 6, 6, 7, 1]
    finish(relay)
    rows = tshark(lab.capture, "frame.interface_name", "ip.id", "frame.time_epoch")
    left = next(row for row in rows if row[:2] == ["left", "0x0001"])
    right = next(row for row in rows if row[:2] == ["right", "0x0001"])
    assert len(left[2].split(".")[1]) == 9  # nanoseconds
    # The relay waits by the monotonic clock, which differs from the clock of the stamps by what adjusts the latter.
    assert float(right[2]) - float(left[2]) >= 0.399


@pytest.mark.parametrize("udp", [False, True], ids=["ip", "udp"])
def test_corrupted_and_truncated_packets_arrive_with_sound_outer_headers(lab: Lab, udp: bool) -> None:
    relay = lab.relay("--rule", "corrupt nth=1 bit=200", "--rule", "truncate 30 nth=2", "--capture", str(lab.capture))

    def wrap(payload: bytes, number: int) -> bytes:
        if not udp:
            return ipv4_wrap(A, B, payload, number)
        return ipv4_wrap(A, B, struct.pack("!HHHH", 9980, 9980, 8 + len(payload), 1) + payload, number, protocol=17)

    for i in range(2):
        lab.a.send(wrap(data(0, i), i))
    payload_at = 28 if udp else 20
    corrupted, truncated = lab.b.receive(2)
    expected = bytearray(data(0, 0))
    expected[25] ^= 0x80
    assert corrupted[payload_at:] == bytes(expected)
    assert truncated[payload_at:] == data(0, 1)[:30]
    finish(relay)
    command = ["tshark", "-r", str(lab.capture), "-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"]
    command += ["-Y", 'frame.interface_name == "right"', "-T", "fields"]
    for field in ("ip.checksum.status", "udp.checksum.status", "ip.len"):
        command += ["-e", field]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    good = "1" if udp else ""
    lengths = [payload_at + 124, payload_at + 30]
    assert done.stdout.splitlines() == [f"1\t{good}\t{length}" for length in lengths]


def test_a_segmented_udp_send_crosses_as_the_packets_that_a_card_would_make(lab: Lab) -> None:
    """UDP_SEGMENT over veth arrives as one large frame without checksums; 9980 must still be packets."""
    if tuple(map(int, platform.release().split(".")[:2])) < (6, 2):
        pytest.skip("this kernel does not tell packet sockets about segmented UDP (6.2 does)")
    relay = lab.relay("--rule", "drop a>b nth=2")
    with lab.namespaces[0].inside(), IPRoute() as ipr:
        index = ipr.link_lookup(ifname="a0")[0]
        ipr.addr("add", index=index, address=A, prefixlen=24)
        ipr.neigh("add", dst=B, lladdr=MAC_B.hex(":"), ifindex=index)
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with sender:
        sender.setsockopt(socket.SOL_UDP, 103, 500)  # UDP_SEGMENT
        sender.sendto(b"".join(bytes([i]) * 500 for i in range(4))[:1800], (B, 9980))
    arrived = [packet for packet in lab.b.receive(3) if packet[9] == 17]
    report = finish(relay)
    assert way(report, "a_to_b")["seen"] == 4
    assert [packet[28:] for packet in arrived] == [b"\x00" * 500, b"\x02" * 500, b"\x03" * 300]
    assert all(_udp_checksum_holds(packet) for packet in arrived)


def _udp_checksum_holds(packet: bytes) -> bool:
    udp = packet[20:]
    summed = packet[12:20] + struct.pack("!HH", 17, len(udp)) + udp + b"\0" * (len(udp) % 2)
    total: int = sum(struct.unpack(f"!{len(summed) // 2}H", summed))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total == 0xFFFF


def _ends_after(arguments: tuple[str, ...]) -> Callable[[Lab], None]:
    def run(lab: Lab) -> None:
        relay = lab.relay(*arguments)
        for packet in numbered(30):
            lab.a.send(packet)
        out, _ = relay.communicate(timeout=DEADLINE_S)
        assert relay.returncode == 0
        assert json.loads(out.splitlines()[-1])["packets"] in (20, 30)

    return run


def test_max_packets_and_duration_end_the_relay(lab: Lab) -> None:
    _ends_after(("--max-packets", "20"))(lab)
    _ends_after(("--duration", "2"))(lab)


def test_mistakes_on_the_command_line_are_named(tmp_path: Path) -> None:
    rules = tmp_path / "rules"
    rules.write_text("loss 1%\n\n# fine\n  swap a>b LDTA\n")
    for arguments, words in (
        (["--left", "nosuch0", "--right", "lo"], "--left nosuch0: no such interface"),
        (["--left", "lo"], "--right IF is missing"),
        (["--left", "lo", "--right", "x", "--loss", "2"], 'column 1: "2" is not a percentage'),
        (["--left", "lo", "--right", "x", "--rule", "drop a>b nth=two"], 'column 14: "two" is not a number'),
        (["--left", "lo", "--right", "x", "--rules", str(rules)], 'line 4, column 12: "LDTA" is no'),
        (["--left", "lo", "--right", "x", "--rules", str(tmp_path / "none")], "No such file"),
        (["--left", "lo", "--right", "x", "--capture", str(tmp_path)], "no such interface"),
    ):
        done = subprocess.run([FLAKEWAY, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert words in done.stderr
        assert len(done.stderr.splitlines()) == 1
