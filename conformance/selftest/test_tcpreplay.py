# SPDX-License-Identifier: GPL-2.0-or-later
"""tcpreplay on the wire link: golden captures come through a live path as they are, storms hit what they should."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from netblt_conformance.cases import replayed
from netblt_conformance.common import namespaces, paths
from netblt_conformance.common.errors import HarnessError, NotSupportedError
from netblt_conformance.common.model import Encapsulation
from netblt_conformance.common.verdicts import Verdict
from netblt_conformance.judges.tshark import Tshark, plugin_folder
from netblt_conformance.links import netns, replay
from netblt_conformance.links.base import IUT_ADDRESS, TESTER_ADDRESS
from netblt_conformance.links.veth import VethTransport
from netblt_conformance.packets import captures, ipv4, packets
from netblt_conformance.packets.packets import Forge, Type

if TYPE_CHECKING:
    from selftest.conftest import Command

GOLDEN = sorted((paths.root() / "pcaps" / "golden").glob("*.pcapng"))
VIOLATIONS = paths.root() / "pcaps" / "violations"
# Captures with violations: that nothing is found in a clean one proves little.
GUILTY = [VIOLATIONS / "ctrl04-lowest-forgotten.pcapng", VIOLATIONS / "ctrl04-new-messages-alone.pcapng"]
LINE_S = 0.3  # after this much silence nothing more comes
COPIES = 8  # of each packet in a storm: suite/replay.py

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="namespaces in this process need root"),
    pytest.mark.skipif(shutil.which("tcpreplay") is None, reason="tcpreplay is not installed: run tools/setup"),
]


def sound(raw: bytes) -> bool:
    """Whether the checksum of a NETBLT header that can be read holds."""
    packet = packets.read(raw)
    if packet.error is not None or packet.length < 12:
        return False
    return ipv4.ones_complement_sum(raw[: 24 if packet.is_data else packet.length]) == 0xFFFF


def through_a_veth(captured: list[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
    """What the opposite end of a veth gets when tcpreplay sends these packets with their own timing."""
    transport = VethTransport(Encapsulation.IP)
    try:
        head = transport.wire.tester_mac + transport.wire.iut_mac + b"\x08\x00"
        frames = [(time_ns, head + packet) for time_ns, packet in captured]
        iut = transport.wire.iut_namespace
        replay.replay(netns.IUT_INTERFACE, frames, lambda: namespaces.enter(iut), top_speed=False)
        heard = []
        while (one := transport.receive(LINE_S)) is not None:
            assert not one.sent
            heard.append((one.time_ns, one.packet))
        return heard
    finally:
        transport.close()


@pytest.mark.parametrize("path", [*GOLDEN, *GUILTY], ids=lambda path: path.stem)
def test_a_capture_comes_through_a_live_path_with_the_same_packets_and_findings(
    path: Path, tmp_path: Path, built_writer: None
) -> None:
    del built_writer
    if not list(plugin_folder().glob("*/epan/netblt.so")):
        pytest.skip("the dissector is not built: run tools/build")
    from netblt_conformance.simlib import PcapngWriter

    captured = list(captures.read(path))
    before = [(one.time_ns, one.data) for one in captured if one.interface == captured[0].interface]
    after = through_a_veth(before)
    assert [packet for _, packet in after] == [packet for _, packet in before]
    findings = []
    for name, rows in (("before", before), ("after", after)):
        writer = PcapngWriter()
        number = writer.interface("tester")
        for time_ns, packet in rows:
            writer.packet(number, time_ns - rows[0][0], packet)
        writer.save(tmp_path / f"{name}.pcapng")
        with Tshark() as tshark:
            found = tshark.findings(tmp_path / f"{name}.pcapng")
        findings.append([(f.frame, f.requirement, f.verdict, f.offender) for f in found if f.verdict == "violation"])
    assert findings[0] == findings[1]
    assert bool(findings[0]) == (path in GUILTY)


def test_other_ports_get_a_fitting_checksum_and_a_wrong_one_stays_wrong() -> None:
    packet = Forge(2, 5, 6).reason(Type.QUIT, "why")
    moved = packets.read(replay.rewrite(packet, 7, 8))
    assert (moved.local_port, moved.foreign_port) == (7, 8)
    assert sound(replay.rewrite(packet, 7, 8))
    bad = bytes([packet[0] ^ 1]) + packet[1:]
    assert not sound(replay.rewrite(bad, 7, 8))


def test_what_is_stale_repeats_only_what_is_done() -> None:
    """The golden sender's data of buffers 0 and 1, and nothing that a live connection could take for new."""
    for raw in replayed.stale((5, 6), 4, range(2), from_sender=True):
        packet = packets.read(raw)
        assert sound(raw)
        assert (packet.local_port, packet.foreign_port) == (5, 6)
        assert packet.type is not Type.OPEN
        assert not packet.is_data or packet.buffer in (0, 1)
        assert not packet.acks or packet.high_seq <= 4
    assert len(replayed.stale((5, 6), 4, range(2), from_sender=True)) > 8
    assert not replayed.stale((5, 6), 0, range(0), from_sender=False)


@pytest.mark.parametrize(("base", "enough"), [(0, True), (1, True), (7, False)])
def test_a_storm_that_does_not_fit_the_numbers_of_the_buffers_blames_nobody(base: int, *, enough: bool) -> None:
    with contextlib.nullcontext() if enough else pytest.raises(NotSupportedError, match="begin at 7"):
        assert replayed.storm((5, 6), 4, range(base, base + 2), from_sender=True)


def test_rubbish_is_nothing_that_a_receiver_may_act_on() -> None:
    rubbish = replayed.rubbish((5, 6), random.Random(1), from_sender=True)
    assert len(rubbish) > 300
    assert not [raw.hex() for raw in rubbish if sound(raw)]


def sent(transport: VethTransport) -> list[bytes | None]:
    """What the tester has sent, as seen; there is no listener at the peer, so ICMP comes back."""
    heard = []
    while (one := transport.receive(LINE_S)) is not None:
        heard += [one.payload] if one.sent else []
    return heard


def test_a_flood_stays_out_of_the_capture_and_a_storm_is_in_it() -> None:
    transport = VethTransport(Encapsulation.IP)
    try:
        packet = Forge(2, 5, 6).packet(Type.KEEPALIVE)
        transport.replay([packet] * 3, TESTER_ADDRESS, 1)
        assert sent(transport) == [packet] * 3
        transport.replay([packet] * 3, TESTER_ADDRESS, 50)
        assert not sent(transport)
        datagram = ipv4.unwrap(transport.send(packet, TESTER_ADDRESS, 9)[-1].packet)
        assert (datagram.source, datagram.destination) == (TESTER_ADDRESS, IUT_ADDRESS)
    finally:
        transport.close()


@pytest.mark.long
def test_storms_and_floods_hit_a_live_transfer(command: Command, built_writer: None) -> None:
    del built_writer
    if not (paths.build() / "bin" / "netblt").is_file():
        pytest.skip("netblt is not built: run tools/build")
    words = ("run", "--link", "wire", "--select", "replay.py", "--role", "passive-receiver")
    done = command(*words)
    assert done.status == 0, done.output + done.errors
    # The reference's buffers start at a random number: what an earlier connection sent is of its future, not its past.
    unforeseen = [result for result in done.results if result.verdict is Verdict.NA]
    assert all("no buffers that are old" in result.seen for result in unforeseen), unforeseen
    assert {result.verdict for result in done.results} - {Verdict.NA} == {Verdict.PASS}
    storm = next(done.report.glob("*a_storm_of_duplicates*.pcapng"))
    copies = [one.data for one in captures.read(storm) if one.data[12:16] == TESTER_ADDRESS]
    seen = Counter(replayed.netblt(packet) for packet in copies)
    stormed = [count for count in seen.values() if count > COPIES]
    assert len(stormed) > 4, "the capture does not show eight more copies of what was sent before the storm"


def test_the_command_says_when_tcpreplay_fails() -> None:
    transport = VethTransport(Encapsulation.IP)
    try:
        with pytest.raises(HarnessError, match=r"tcpreplay failed: .*nowhere"):
            replay.replay("nowhere", [(0, b"x" * 60)], lambda: None, top_speed=True)
    finally:
        transport.close()
