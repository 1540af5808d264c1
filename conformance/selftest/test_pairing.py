# SPDX-License-Identifier: GPL-2.0-or-later
"""Two captures of one path: which packets are the same, what the path did to them, how the clocks differ."""

from __future__ import annotations

import gzip
import math
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from netblt_conformance.common import paths
from netblt_conformance.common.errors import JudgeError
from netblt_conformance.packets.packets import Forge, Kind, Message
from netblt_conformance.pairing.clock import estimate
from netblt_conformance.pairing.evidence import unseen_arrivals
from netblt_conformance.pairing.paths import Seen, pair, pair_files
from netblt_conformance.pairing.reading import points
from netblt_conformance.simlib import IutLibrary, PcapngWriter
from netblt_conformance.simlib.pcapng import ipv4_wrap
from selftest.scripts import nightly_script

TRANSFERS = 40
GOLDEN = paths.root() / "pcaps" / "golden" / "lossy-transfer.pcapng"
OFFLOADED = paths.root() / "pcaps" / "offload" / "offloaded-transfer.pcapng"


def test_losses_copies_and_clocks_are_those_of_the_flakeway() -> None:
    truth: Any = nightly_script("two_captures")
    plans = [truth.random_plan(4_000_000 + number, numbered=True) for number in range(TRANSFERS)]
    score = truth.tried(plans, IutLibrary(paths.build() / "lib" / "libnetblt_iut.so"))
    assert score.complaints == []
    expected = ("loss", "copy", "late", "damage", "not covered", "offset within 100 us", "bound of the offset")
    assert all(score.right[kind] > 5 for kind in expected), score.right


def test_without_ip_ids_times_tell_identical_packets_apart() -> None:
    truth: Any = nightly_script("two_captures")
    plans = [truth.random_plan(5_000_000 + number, numbered=False) for number in range(TRANSFERS)]
    score = truth.tried(plans, IutLibrary(paths.build() / "lib" / "libnetblt_iut.so"))
    assert score.unnumbered[False] <= truth.UNNUMBERED_WRONG_SHARE * score.unnumbered[True]


def test_the_golden_capture() -> None:
    first, second = points(GOLDEN)
    paired = pair(first, second)
    there, back = sorted(paired.directions, key=lambda one: one.at_source)
    assert [there.packets.count(one) for one in (Seen.ARRIVED, Seen.LOST)] == [125, 15]
    assert [back.packets.count(one) for one in (Seen.ARRIVED, Seen.LOST)] == [29, 3]
    assert int(there.delays_ns.min()) == int(back.delays_ns.min()) == 15_000_000
    assert paired.nearest_to("10.0.0.1") == 0
    assert paired.nearest_to("10.0.0.2") == 1


@pytest.mark.parametrize("drift", [0.0, 480e-6, -480e-6])
def test_the_line_between_the_packets_of_both_directions(drift: float) -> None:
    rng = random.Random(7)
    rows = []
    for number in range(4000):
        when, forward = number * 1_000_000, number % 3 != 0
        delay = 5_000_000 + rng.expovariate(1 / 400_000)
        offset = 3_000_000_000 + drift * when
        rows.append((when, round(when + offset + (delay if forward else -delay)), forward))
    table = np.array(rows, dtype=np.int64)
    clock = estimate(table[:, 0], table[:, 1], table[:, 2].astype(bool))
    assert abs(clock.drift - drift) < 2e-6
    assert abs(clock.offset_ns - 3_000_000_000) < 20_000
    assert 4_900_000 < clock.bound_ns < 5_400_000  # half of the shortest round trip, and the rest for the drift
    assert clock.steady


def test_a_clock_that_is_set_meanwhile_is_noticed() -> None:
    when = np.arange(0, 2_000_000_000, 1_000_000, dtype=np.int64)
    forward = np.arange(len(when)) % 2 == 0
    step = np.where(when > 1_000_000_000, 70_000_000, 0)
    clock = estimate(when, when + step + np.where(forward, 1_000_000, -1_000_000), forward)
    assert not clock.steady
    assert clock.bound_ns > 30_000_000


def test_packets_of_one_direction_leave_the_offset_open() -> None:
    when = np.arange(0, 10_000_000, 1_000_000, dtype=np.int64)
    clock = estimate(when, when + 42, np.ones(len(when), dtype=bool))
    assert math.isinf(clock.bound_ns)


def test_another_format_a_packed_file_and_offloaded_datagrams_are_read(tmp_path: Path) -> None:
    program = shutil.which("editcap")
    assert program is not None
    subprocess.run([program, "-F", "nsecpcap", str(OFFLOADED), str(tmp_path / "x.pcap")], check=True)
    (tmp_path / "x.pcap.gz").write_bytes(gzip.compress((tmp_path / "x.pcap").read_bytes()))
    [there], [here] = points(OFFLOADED), points(tmp_path / "x.pcap.gz")
    assert len(there) > len(set(there.frame.tolist()))  # several packets in one datagram
    assert (there.whole == here.whole).all()
    assert (there.time_ns == here.time_ns).all()


def two_points(tmp_path: Path, *, shift_s: int = 0, other: bool = False) -> tuple[Path, Path]:
    """Captures of both ends; the second of other packets, or between other hosts."""
    files = []
    for name, delay_ns in (("first", 0), ("second", 5_000_000)):
        writer = PcapngWriter()
        writer.interface("eth0")
        for number in range(20):
            body = bytes([number, 99 if other and delay_ns else 1] * 20)
            host = "10.9.9.9" if other and delay_ns else "10.0.0.2"
            when = 10**18 + number * 10**7 + delay_ns + (shift_s * 10**9 if delay_ns else 0)
            if shift_s and delay_ns:
                body = body[::-1] + b"later"
            writer.packet(0, when, ipv4_wrap("10.0.0.1", host, body, number))
        writer.save(tmp_path / f"{name}.pcapng")
        files.append(tmp_path / f"{name}.pcapng")
    return files[0], files[1]


def test_every_message_of_a_long_control_counts_as_received(tmp_path: Path) -> None:
    """An end acknowledges messages beyond byte 128 of a CONTROL; a later CONTROL with the last of them is lost."""
    here, there = Forge(2, 1001, 1002), Forge(2, 1002, 1001)
    gos = [Message(Kind.GO, seq, seq) for seq in range(1, 21)]
    packets = [  # by the end there or here; whether it arrives
        (False, there.control(gos), True),
        (True, here.null_ack(20, 8, 10), True),
        (False, there.control(gos[16:]), False),
        (False, there.control(gos[15:]), True),
    ]
    files = tmp_path / "here.pcapng", tmp_path / "there.pcapng"
    writers = PcapngWriter(), PcapngWriter()
    for at_here, writer in zip((True, False), writers, strict=True):
        writer.interface("eth0")
        for number, (by_here, packet, arrives) in enumerate([*packets, *packets[:2]]):
            if not arrives and by_here != at_here:
                continue
            ends = ("10.0.0.1", "10.0.0.2") if by_here else ("10.0.0.2", "10.0.0.1")
            when = 10**18 + number * 10**7 + (0 if by_here == at_here else 5_000_000)
            writer.packet(0, when, ipv4_wrap(*ends, packet, number + 1))
    for writer, file in zip(writers, files, strict=True):
        writer.save(file)
    paired = pair_files(*files)
    assert sum(one.packets.count(Seen.LOST) for one in paired.directions) == 1
    assert unseen_arrivals(paired, 0) == 0


def test_captures_that_cannot_be_paired_are_refused_with_the_reason(tmp_path: Path) -> None:
    first, second = two_points(tmp_path)
    pair_files(first, second)
    with pytest.raises(JudgeError, match="are the same file"):
        pair_files(first, first)
    shutil.copy(first, tmp_path / "copy.pcapng")
    with pytest.raises(JudgeError, match="copies of one capture"):
        pair_files(first, tmp_path / "copy.pcapng")
    with pytest.raises(JudgeError, match=r"not of one path: .* between 10\.0\.0\.1 and 10\.0\.0\.2, .*10\.9\.9\.9"):
        pair_files(*two_points(tmp_path, other=True))
    with pytest.raises(JudgeError, match=r"no packet in common: .* lie 99\.\d+ s"):
        pair_files(*two_points(tmp_path, shift_s=100))
    with pytest.raises(JudgeError, match=r"holds packets of 2 interfaces .*left.*right"):
        pair_files(GOLDEN, first)
    PcapngWriter().save(tmp_path / "empty.pcapng")
    with pytest.raises(JudgeError, match=r"empty\.pcapng: holds no NETBLT packet"):
        pair_files(tmp_path / "empty.pcapng", first)
    with pytest.raises(JudgeError, match="No such file"):
        pair_files(tmp_path / "missing.pcapng", first)
