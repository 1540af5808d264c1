# SPDX-License-Identifier: GPL-2.0-or-later
"""The reference core beside an end of a captured connection: what it suspects, and what it does not."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from netblt_conformance.common import paths
from netblt_conformance.common.errors import JudgeError
from netblt_conformance.common.verdicts import Result, Verdict
from netblt_conformance.judges.tshark import plugin_folder
from netblt_conformance.links.base import IUT_ADDRESS, TESTER_ADDRESS
from netblt_conformance.packets.capture import Capture
from netblt_conformance.packets.packets import Forge, Kind, Message, Packet, Type, data_checksum
from netblt_conformance.reference import third
from netblt_conformance.reference.beside import Beside, explain, first_outside
from netblt_conformance.reference.receiver import ReceiverEnd
from netblt_conformance.reference.third import disagreements
from netblt_conformance.report.page.details import of_results
from netblt_conformance.simlib import Flakeway, IutLibrary, IutParams, PcapngWriter, run_pair

if TYPE_CHECKING:
    from selftest.conftest import Command

pytestmark = [
    pytest.mark.usefixtures("built_writer"),
    pytest.mark.skipif(not (paths.build() / "lib" / "libnetblt_guided.so").is_file(), reason="not built"),
]

LOSSY = ("latency 10ms", "loss 5%", "reorder 2% by 7ms", "duplicate 1%")
A, B = "10.0.0.1", "10.0.0.2"
TESTER, IUT = Forge(2, 1000, 1), Forge(2, 1, 1000)
FAR = 2**31 + 70_001  # more than half of all buffer numbers above 0
SENDS, RECEIVES = 1, 0  # flags of an OPEN: who sends the data
Step = tuple[str, bytes]


def opening(flags: int = SENDS, **fields: int) -> Packet:
    values = {"buffer_size": 512, "packet_size": 256, "burst_size": 4, "burst_interval_ms": 10, "max_buffers": 2}
    numbers: dict[str, Any] = {"unique_id": 7, "death_timer_s": 30, "flags": flags, **values} | fields
    return Packet(b"", string=b"\0\0\0\0", **numbers)


def data(number: int, buffer: int = 0, ack: int = 1, *, last: bool = False, content: bytes = bytes(256)) -> Packet:
    kind = Type.LDATA if number == 1 else Type.DATA
    total = data_checksum(content)
    return Packet(
        b"",
        type=kind,
        buffer=buffer,
        packet=number,
        high_seq=ack,
        flags=int(last),
        data=content,
        data_checksum=total,
    )


def from_one(number: int) -> Packet:
    """The packets of buffer 0, counted from 1 (AMB-10)."""
    return dataclasses.replace(data(number - 1), packet=number)


def go(seq: int, buffer: int) -> Message:
    return Message(Kind.GO, seq, buffer)


def ok(seq: int, buffer: int) -> Message:
    return Message(Kind.OK, seq, buffer, burst_size=4, burst_interval_ms=10, control_timer_ms=100)


def resend(seq: int, buffer: int, *packets: int) -> Message:
    return Message(Kind.RESEND, seq, buffer, packets=packets)


def theirs(packet: bytes) -> Step:
    return "tester", packet


def ours(packet: bytes) -> Step:
    return "iut", packet


def written(
    folder: Path, steps: Sequence[Step], gap_us: int = 10_000, udp_ports: tuple[int, int] | None = None
) -> Path:
    """A capture of the tester: one packet each `gap_us`."""
    capture = Capture(udp_ports)
    for number, (who, packet) in enumerate(steps):
        tester = who == "tester"
        ends = (TESTER_ADDRESS, IUT_ADDRESS) if tester else (IUT_ADDRESS, TESTER_ADDRESS)
        capture.add(gap_us * number, packet, *ends, sent=tester)
    path = folder / "capture.pcapng"
    capture.write(path)
    return path


def opened(flags: int) -> list[Step]:
    """The tester opens; the IUT is the data receiver where the tester sends."""
    values = opening(flags)
    return [theirs(TESTER.opening(Type.OPEN, values)), ours(IUT.opening(Type.RESPONSE, values))]


RECEIVER = opened(SENDS)
GOS = ours(IUT.control([go(1, 0), go(2, 1)]))
ALL_OF_0 = [theirs(TESTER.data(data(number, ack=2))) for number in (0, 1)]
SENDER = [*opened(RECEIVES), theirs(TESTER.control([go(1, 0), go(2, 1)]))]

# The last step is the one outside: its requirement, and a word of what is expected.
OUTSIDE = {
    "message left out": (
        [*RECEIVER, GOS, ours(IUT.control([go(2, 1)]))],
        ("CTRL-04", "#1 GO(0), #2 GO(1)"),
    ),
    "first number": ([*RECEIVER, ours(IUT.control([go(0, 0)]))], ("CTRL-01", "#1")),
    "changed": ([*RECEIVER, GOS, ours(IUT.control([go(1, 5), go(2, 1)]))], ("CTRL-02", "#1 GO(0)")),
    "descending": ([*RECEIVER, ours(IUT.control([go(2, 1), go(1, 0)]))], ("CTRL-03", "ascending")),
    "OK without data": (
        [*RECEIVER, GOS, ALL_OF_0[0], ours(IUT.control([go(1, 0), go(2, 1), ok(3, 0)]))],
        ("CTRL-14", "packets 1 are missing"),
    ),
    "second OK": (
        [*RECEIVER, GOS, *ALL_OF_0, ours(IUT.control([ok(3, 0), ok(4, 0)]))],
        ("CTRL-14", "one OK for buffer 0"),
    ),
    "request after the OK": (
        [*RECEIVER, GOS, *ALL_OF_0, ours(IUT.control([ok(3, 0), resend(4, 0, 1)]))],
        ("TIMER-08", "nothing more of buffer 0"),
    ),
    "early request": (
        [*RECEIVER, GOS, ours(IUT.control([go(1, 0), go(2, 1), resend(3, 0, 0)]))],
        ("TIMER-04", "GO #1"),
    ),
    "DONE": ([*RECEIVER, GOS, *ALL_OF_0, ours(IUT.packet(Type.DONE))], ("CLOSE-01", "last buffer")),
    "version": ([*RECEIVER, ours(Forge(3, 1, 1000).control([go(1, 0)]))], ("WIRE-02", "version 2")),
    "loose RESPONSE": (
        [RECEIVER[0], ours(IUT.opening(Type.RESPONSE, opening(packet_size=512)))],
        ("NEG-02", "packet size 256"),
    ),
    "unique ID": (
        [RECEIVER[0], ours(IUT.opening(Type.RESPONSE, opening(unique_id=8)))],
        ("OPEN-02", "0x00000007"),
    ),
    "data without GO": ([*SENDER, ours(IUT.data(data(0, buffer=2)))], ("DATA-01", "buffer 2")),
    "acknowledgement": ([*SENDER, ours(IUT.null_ack(3, 4, 10))], ("CTRL-06", "#2")),
    "size": ([*SENDER, ours(IUT.data(data(0, content=bytes(252))))], ("DATA-03", "256 bytes")),
    "not requested": (
        [*SENDER, ours(IUT.data(data(0))), ours(IUT.data(data(0)))],
        ("DATA-13", "once"),
    ),
    "other content": (
        [
            *SENDER,
            ours(IUT.data(data(0))),
            theirs(TESTER.control([resend(3, 0, 0)])),
            ours(IUT.data(data(0, content=b"x" * 256))),
        ],
        ("RESEND-03", "the same 256 bytes"),
    ),
    "last flag": (
        [*SENDER, ours(IUT.data(data(0, last=True))), ours(IUT.data(data(1)))],
        ("DATA-09", "L 1"),
    ),
    "repairs later": (
        [
            *SENDER,
            *(ours(IUT.data(data(number))) for number in (0, 1)),
            theirs(TESTER.control([resend(3, 0, 0)])),
            ours(IUT.data(data(0, buffer=1, ack=3))),
        ],
        ("ORDER-02", "packet 0 of buffer 0"),
    ),
    "QUITACK for nothing": ([*SENDER, ours(IUT.packet(Type.QUITACK))], ("ABORT-03", "QUIT")),
    "checksum": ([*SENDER, ours(b"\0\0" + IUT.packet(Type.KEEPALIVE)[2:])], ("CKSUM-01", "checksum 0x")),
    "long KEEPALIVE": ([*SENDER, ours(IUT.packet(Type.KEEPALIVE, bytes(4)))], ("WIRE-06", "header alone")),
}

INSIDE = {
    "a queue in parts": [
        *RECEIVER,
        ours(IUT.control([go(1, 0)])),
        theirs(TESTER.null_ack(1, 4, 10)),
        ours(IUT.control([go(2, 1)])),
    ],
    "one GO at a time": [*RECEIVER, ours(IUT.control([go(1, 0)])), *ALL_OF_0[:1]],
    "a request for each hole": [
        *RECEIVER,
        GOS,
        theirs(TESTER.null_ack(2, 4, 10)),
        ours(IUT.control([resend(3, 0, 0)])),
        ours(IUT.control([resend(3, 0, 0), resend(4, 0, 1)])),
    ],
    "a request after data": [*RECEIVER, GOS, ALL_OF_0[0], ours(IUT.control([resend(3, 0, 1)]))],
    "restricted": [RECEIVER[0], ours(IUT.opening(Type.RESPONSE, opening(packet_size=128, burst_interval_ms=20)))],
    "a far higher buffer number": [*RECEIVER, ours(IUT.control([go(1, 0), go(2, FAR)]))],
    "buffer numbers that wrap": [*RECEIVER, ours(IUT.control([go(1, 2**32 - 1), go(2, 0)]))],
    "requested": [*SENDER, ours(IUT.data(data(0))), theirs(TESTER.control([resend(3, 0, 0)])), ours(IUT.data(data(0)))],
    "packets from 1": [*SENDER, ours(IUT.data(from_one(1))), ours(IUT.data(from_one(2)))],
    "ABORT": [*SENDER, ours(IUT.reason(Type.ABORT, "no more"))],
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_the_packet_that_no_conforming_end_sends_is_named(tmp_path: Path, name: str) -> None:
    steps, (requirement, words) = OUTSIDE[name]
    outside = first_outside(written(tmp_path, steps), IUT_ADDRESS, virtual=True)
    assert outside is not None
    assert (outside.frame, outside.requirement) == (len(steps), requirement)
    assert words in outside.expected


@pytest.mark.parametrize(("gap_us", "outside"), [(1_000, True), (50_000, False)])
def test_data_above_the_agreed_pace_are_outside(tmp_path: Path, gap_us: int, outside: bool) -> None:
    values = opening(RECEIVES, buffer_size=20 * 256, burst_size=2, burst_interval_ms=100)
    steps = [theirs(TESTER.opening(Type.OPEN, values)), ours(IUT.opening(Type.RESPONSE, values))]
    steps += [theirs(TESTER.control([go(1, 0)])), *(ours(IUT.data(data(number))) for number in range(2, 8))]
    found = first_outside(written(tmp_path, steps, gap_us), IUT_ADDRESS, virtual=True)
    assert (found is not None) is outside
    if found is not None:
        assert (found.frame, found.requirement) == (8, "RATE-01")  # the fifth one: two bursts have four


@pytest.mark.parametrize("name", INSIDE)
def test_permitted_choices_are_not_outside(tmp_path: Path, name: str) -> None:
    assert first_outside(written(tmp_path, INSIDE[name]), IUT_ADDRESS, virtual=True) is None


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("rules", [(), LOSSY])
def test_the_reference_itself_is_never_outside(
    tmp_path: Path, built_library: Path, seed: int, rules: tuple[str, ...]
) -> None:
    library, octets = IutLibrary(built_library), bytes(range(256)) * 100
    capture, active = PcapngWriter(), bool(seed % 2)
    sender = IutParams(active=active, sender=True, seed=seed + 1, local_address=A, foreign_address=B)
    receiver = IutParams(active=not active, seed=seed + 1, local_address=B, foreign_address=A)
    ends = library.start(sender, octets), library.start(receiver)
    run_pair(*ends, Flakeway(seed, *rules), capture=capture)
    path = tmp_path / "transfer.pcapng"
    capture.save(path)
    followed = explain(path)
    assert {end.role for end in followed} == {"sender", "receiver"}
    assert [end.outside for end in followed if end.outside is not None] == []


def test_an_acknowledged_request_is_not_looked_at_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A receiver that requests the same thousands of times took this judge more than a minute."""
    looked: list[int] = []
    is_acknowledged = ReceiverEnd._is_acknowledged

    def counted(end: ReceiverEnd, seq: int) -> bool:
        looked.append(seq)
        return is_acknowledged(end, seq)

    monkeypatch.setattr(ReceiverEnd, "_is_acknowledged", counted)
    steps, count = [*RECEIVER, GOS], 60
    for seq in range(3, 3 + count):
        steps += [theirs(TESTER.null_ack(seq - 1, 4, 10)), ours(IUT.control([resend(seq, 0, 0)]))]
    assert first_outside(written(tmp_path, steps), IUT_ADDRESS, virtual=True) is None
    assert count <= len(looked) < 4 * count


def test_a_copy_of_the_response_may_have_the_pair_that_an_ok_has_offered(tmp_path: Path) -> None:
    """AMB-63. Stimulus: the OPEN is repeated after an OK. What was agreed holds further on."""
    again = [RECEIVER[0], ours(IUT.opening(Type.RESPONSE, opening(burst_size=2, burst_interval_ms=40)))]
    steps = [*RECEIVER, ours(IUT.control([go(1, 0)])), theirs(TESTER.null_ack(1, 4, 10)), *again]
    assert first_outside(written(tmp_path, [*steps, ours(IUT.control([go(2, 1)]))]), IUT_ADDRESS, virtual=True) is None
    other = [*steps[:-1], ours(IUT.opening(Type.RESPONSE, opening(packet_size=128)))]
    outside = first_outside(written(tmp_path, other), IUT_ADDRESS, virtual=True)
    assert outside is not None
    assert outside.requirement == "OPEN-07"


def test_a_go_remains_acknowledged_after_half_of_all_numbers(tmp_path: Path) -> None:
    """TIMER-04. Stimulus: a receiver requests a buffer packet by packet, until 33,000 messages are acknowledged."""
    packets, terms = 64, {"buffer_size": 64 * 256}
    steps = [theirs(TESTER.opening(Type.OPEN, opening(SENDS, **terms)))]
    steps += [ours(IUT.opening(Type.RESPONSE, opening(SENDS, **terms))), ours(IUT.control([go(1, 0)]))]
    for begin in range(2, 33_000, packets):
        steps.append(theirs(TESTER.null_ack(begin - 1, 4, 10)))
        steps.append(ours(IUT.control([resend(begin + packet, 0, packet) for packet in range(packets)])))
    assert first_outside(written(tmp_path, steps), IUT_ADDRESS, virtual=True) is None


OFFLOADED = paths.root() / "pcaps" / "offload" / "offloaded-transfer.pcapng"


def test_packets_in_one_datagram_are_judged_one_by_one() -> None:
    followed = explain(OFFLOADED, "sender")
    assert [(end.role, end.outside) for end in followed] == [("sender", None), ("receiver", None)]


@pytest.mark.parametrize("kept", [65535, 100])
def test_packets_that_a_cut_datagram_hides_may_have_arrived(tmp_path: Path, kept: int) -> None:
    both = b"".join(TESTER.data(data(number, ack=2)) for number in (0, 1))
    path = written(tmp_path, [*RECEIVER, GOS, theirs(both), ours(IUT.control([ok(3, 0)]))], udp_ports=(9980, 9980))
    cut = tmp_path / "cut.pcapng"
    subprocess.run(["editcap", "-s", str(kept), str(path), str(cut)], check=True)
    assert [end.outside for end in explain(cut, "sender")] == [None, None]


def test_a_packet_that_may_have_been_damaged_accuses_nobody(tmp_path: Path) -> None:
    path = written(tmp_path, OUTSIDE["checksum"][0])
    assert first_outside(path, IUT_ADDRESS) is None
    assert first_outside(path, IUT_ADDRESS, virtual=True) is not None


def test_where_packets_may_be_missing_what_needs_them_is_not_judged(tmp_path: Path) -> None:
    steps = OUTSIDE["OK without data"][0]
    path = written(tmp_path, [step for step in steps if step not in RECEIVER])
    (followed,) = [end for end in explain(path) if end.role == "receiver"]
    assert followed.outside is None
    assert any("may be missing" in limit for limit in followed.limits)


@pytest.mark.parametrize(("packets", "named"), [(3, False), (4, True)])
def test_data_that_do_not_acknowledge_their_own_go_are_outside(tmp_path: Path, packets: int, named: bool) -> None:
    """Three may have been made before the acknowledgement was."""
    values = opening(RECEIVES, buffer_size=1280)
    begun = [theirs(TESTER.opening(Type.OPEN, values)), ours(IUT.opening(Type.RESPONSE, values))]
    sent = [ours(IUT.data(dataclasses.replace(data(0, ack=0), packet=number))) for number in range(packets)]
    capture = written(tmp_path, [*begun, theirs(TESTER.control([go(1, 0)])), *sent])
    outside = first_outside(capture, IUT_ADDRESS, virtual=True)
    assert (outside is not None and outside.requirement == "CTRL-06") is named


@pytest.mark.parametrize(("position", "named"), [("sender", False), ("receiver", True)])
def test_data_that_pass_the_sender_before_their_go_may_reach_the_receiver_after_it(
    tmp_path: Path, position: str, named: bool
) -> None:
    """The sender begins buffer 0 too early. The receiver gives GO for it before the data arrive, and then OK."""
    early = [theirs(TESTER.data(data(number, ack=0))) for number in (0, 1)]
    later = [ours(IUT.control([go(1, 0)])), ours(IUT.control([go(1, 0), ok(2, 0)]))]
    capture = written(tmp_path, [*RECEIVER, *early, *later, theirs(TESTER.null_ack(2, 4, 10))])
    outside = first_outside(capture, IUT_ADDRESS, position)
    assert (outside is not None) is named
    assert first_outside(capture, TESTER_ADDRESS, position) is not None, "the sender had no GO"


def row(verdict: Verdict, requirement: str = "CTRL-02", frame: int | None = None) -> Result:
    capture = "capture.pcapng"
    return Result("case", [requirement], "passive-receiver", verdict, "y", capture=capture, frame=frame, expected="x")


def test_a_packet_outside_that_the_suite_passes_is_an_error_of_the_suite(tmp_path: Path) -> None:
    written(tmp_path, OUTSIDE["changed"][0])
    (found,) = disagreements([row(Verdict.PASS)], tmp_path, lambda _done, _of: None)
    assert (found.verdict, found.requirements, found.frame) == (Verdict.ERROR, ["CTRL-02"], 4)
    assert "#1 GO(0) as before" in found.seen


@pytest.mark.parametrize("verdict", [Verdict.FAIL, Verdict.WARN])
def test_a_packet_outside_that_the_suite_sees_too_is_none(tmp_path: Path, verdict: Verdict) -> None:
    written(tmp_path, OUTSIDE["changed"][0])
    assert disagreements([row(verdict)], tmp_path, lambda _done, _of: None) == []


@pytest.mark.parametrize(("requirement", "known"), [("RATE-02", True), ("DATA-13", False)])
def test_a_pace_that_the_suite_fails_under_another_rule_of_the_pace_is_no_disagreement(
    tmp_path: Path, requirement: str, known: bool
) -> None:
    """Stimulus: 9 packets at once at a pace of 4 in 10 ms. The core knows RATE-01 only."""
    terms = {"buffer_size": 64 * 256}
    steps = [theirs(TESTER.opening(Type.OPEN, opening(RECEIVES, **terms)))]
    steps += [ours(IUT.opening(Type.RESPONSE, opening(RECEIVES, **terms))), theirs(TESTER.control([go(1, 0)]))]
    written(tmp_path, [*steps, *(ours(IUT.data(data(number))) for number in range(2, 11))], gap_us=100)
    elsewhere = dataclasses.replace(row(Verdict.FAIL, requirement), capture=None)
    found = disagreements([row(Verdict.PASS), elsewhere], tmp_path, lambda _done, _of: None)
    assert [one.requirements for one in found] == ([] if known else [["RATE-01"]])


def test_what_the_tester_made_undecidable_is_no_disagreement(tmp_path: Path) -> None:
    written(tmp_path, OUTSIDE["changed"][0])
    provoked = dataclasses.replace(row(Verdict.PASS), provoked=["CTRL-02"])
    assert disagreements([provoked], tmp_path, lambda _done, _of: None) == []


def test_a_failing_result_shows_what_the_reference_expects(tmp_path: Path) -> None:
    written(tmp_path, OUTSIDE["changed"][0])
    beside = Beside(tmp_path, virtual=True)
    expected = "#1 GO(0) as before; observed there: #1 GO(5)."
    assert beside.text(row(Verdict.FAIL, frame=4)) == f"The reference core expects {expected}"
    assert beside.text(row(Verdict.FAIL, frame=3)) == f"The reference core expects in frame 4 {expected}"
    details = of_results(tmp_path, [row(Verdict.FAIL, frame=4)], (), delay_ns=1_000_000)
    assert details[0]["expected"].endswith(expected)


@pytest.mark.skipif(not list(plugin_folder().glob("*/epan/netblt.so")), reason="no plugin")
def test_of_a_few_mutants_the_frame_of_the_plugin_is_named() -> None:
    """conformance/nightly/beside.py does it with all of them."""
    script = paths.root() / "conformance" / "nightly" / "beside.py"
    names = "progress-before-repairs,go-again-after-ok,packet-size-upward"
    done = subprocess.run(
        [sys.executable, str(script), f"mutants={names}"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("same ") == 3


def test_check_explain_prints_the_frame_and_what_was_expected(tmp_path: Path, command: Command) -> None:
    path = written(tmp_path, [*OUTSIDE["changed"][0], theirs(TESTER.packet(Type.KEEPALIVE))])
    done = command("check", "--explain", "--captured-at", "receiver", str(path))
    assert done.status == 1
    assert "frame 4 leaves what a conforming implementation may have sent" in done.output
    assert "#1 GO(0) as before" in done.output
    document = json.loads(command("check", "--explain", "--json", str(path)).output)
    assert [end["outside"] and end["outside"]["requirement"] for end in document["files"][0]["ends"]] == [
        None,
        "CTRL-02",
    ]


def test_check_explain_of_a_conforming_capture_is_0_and_of_no_capture_2(tmp_path: Path, command: Command) -> None:
    assert command("check", "--explain", str(written(tmp_path, INSIDE["restricted"]))).status == 0
    (tmp_path / "no.pcapng").write_bytes(b"no capture")
    assert command("check", "--explain", str(tmp_path / "no.pcapng")).status == 2


@pytest.mark.parametrize("magic", ["a1b2c3d4", "d4c3b2a1", "a1b23c4d", "4d3cb2a1"])
def test_check_explain_names_the_format_that_it_does_not_read(tmp_path: Path, command: Command, magic: str) -> None:
    (tmp_path / "old.pcap").write_bytes(bytes.fromhex(magic) + bytes(20))
    done = command("check", "--explain", str(tmp_path / "old.pcap"))
    assert done.status == 2
    assert "a pcap file, and pcapng is needed here" in done.errors
    assert "broken" not in done.errors


def test_check_explain_of_a_folder_without_a_capture_says_so(tmp_path: Path, command: Command) -> None:
    done = command("check", "--explain", str(tmp_path))
    assert done.status == 2
    assert f"error: {tmp_path}: holds no capture" in done.errors


def _report(folder: Path, count: int) -> list[Result]:
    """So many rows, each with a capture of its own: every third one leaves what is permitted."""
    found = []
    for number in range(count):
        steps = OUTSIDE["changed"][0] if number % 3 == 0 else INSIDE["restricted"]
        written(folder, steps).rename(folder / f"{number}.pcapng")
        found.append(Result(f"case {number}", ["OPEN-01"], "active-sender", Verdict.PASS, capture=f"{number}.pcapng"))
    return found


def test_several_processes_judge_as_one_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = _report(tmp_path, 9)
    alone = third.disagreements(results, tmp_path, lambda _done, _of: None)
    assert [row.case for row in alone] == ["case 0", "case 3", "case 6"]
    monkeypatch.setattr(third, "_FOR_A_PROCESS", 2)
    done: list[int] = []
    assert third.disagreements(results, tmp_path, lambda count, _of: done.append(count)) == alone
    assert (done[0], done[-1]) == (0, 9)


def test_a_packet_that_fails_a_control_arm_is_no_contradiction(tmp_path: Path) -> None:
    (row,) = _report(tmp_path, 1)
    (error,) = third.disagreements([row], tmp_path, lambda _done, _of: None)
    for frame, contradicted in ((error.frame, 0), (None, 1)):
        undecided = dataclasses.replace(row, verdict=Verdict.INCONC, frame=frame)
        assert len(third.disagreements([undecided], tmp_path, lambda _done, _of: None)) == contradicted


def test_a_judge_that_breaks_is_an_error_that_names_the_reason(tmp_path: Path) -> None:
    results = _report(tmp_path, 1)
    (tmp_path / "0.pcapng").write_bytes(b"no capture")
    with pytest.raises(JudgeError, match="pcapng"):
        third.disagreements(results, tmp_path, lambda _done, _of: None)
