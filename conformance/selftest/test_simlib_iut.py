# SPDX-License-Identifier: GPL-2.0-or-later
"""Shared libraries as implementations, and the event loop of two of them: tested with a library that does nothing."""

from __future__ import annotations

import dataclasses
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from netblt_conformance.common.model import Status
from netblt_conformance.simlib import (
    Direction,
    Flakeway,
    Iut,
    IutError,
    IutLibrary,
    IutParams,
    PairEnd,
    PairResult,
    PcapngWriter,
    run_pair,
)
from netblt_conformance.simlib.build import SIM

A, B = "10.0.0.1", "10.0.0.2"


def compile_fake(folder: Path, name: str, *options: str) -> Path:
    source = Path(__file__).with_name("test_simlib_fake_iut.c")
    output = folder / f"{name}.so"
    command = ["cc", "-shared", "-fPIC", "-Wall", "-Werror", f"-I{SIM}", *options, str(source), "-o", str(output)]
    subprocess.run(command, check=True)
    return output


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> IutLibrary:
    return IutLibrary(compile_fake(tmp_path_factory.mktemp("fake"), "fake"))


def start(library: IutLibrary, kind: str, address: str, data: bytes = b"") -> Iut:
    other = B if address == A else A
    return library.start(IutParams(client_string=kind, local_address=address, foreign_address=other), data)


def test_every_parameter_arrives_under_its_name(library: IutLibrary) -> None:
    params = IutParams(
        active=True,
        sender=True,
        version_byte=3,
        data_checksum=False,
        local_port=4,
        foreign_port=5,
        buffer_size=6,
        packet_size=7,
        burst_size=8,
        burst_interval_ms=9,
        death_timer_s=10,
        max_buffers=11,
        client_stall_from=12,
        client_stall_until_us=13,
        seed=14,
        local_address="1.2.3.15",
        foreign_address="1.2.3.16",
        client_string="name",
    )
    assert library.start(params).reason == "1 1 3 0 4 5 6 7 8 9 10 11 12 13 14 15 16 name"


def test_a_parameter_that_does_not_fit_is_named(library: IutLibrary) -> None:
    with pytest.raises(IutError, match="packet_size = 65536 does not fit"):
        library.start(IutParams(packet_size=65536))
    with pytest.raises(IutError, match="client_string has 256 bytes"):
        library.start(IutParams(client_string="x" * 256))


def test_packets_go_in_and_out(library: IutLibrary) -> None:
    iut = start(library, "echo", A)
    assert iut.output(0) is None
    assert iut.deadline is None
    iut.packet("10.9.8.7", b"\x01abc", 5)
    assert iut.output(5) == (bytes([10, 0, 0, 2]), b"\x02abc")
    assert iut.outputs(5) == []
    assert iut.delivered == bytes([10, 9, 8, 7])
    assert iut.status is Status.OPENING
    assert not iut.stop(6, "why")
    assert iut.stop(6, "because", abort=True)


def test_a_refusal_to_start_tells_the_reason(library: IutLibrary) -> None:
    with pytest.raises(IutError, match="asked to refuse at 77"):
        library.start(IutParams(client_string="refuse"), now_us=77)


def test_libraries_that_do_not_fit_are_refused_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(IutError, match="has no function netblt_iut_stop"):
        IutLibrary(compile_fake(tmp_path, "incomplete", "-DFAKE_WITHOUT_STOP"))
    with pytest.raises(IutError, match=r"speaks version 99 of netblt_iut\.h"):
        IutLibrary(compile_fake(tmp_path, "future", "-DFAKE_ABI_VERSION=99"))
    with pytest.raises(IutError, match="No such file"):
        IutLibrary(tmp_path / "missing.so")
    (tmp_path / "text.so").write_text("not a library")
    with pytest.raises(IutError, match=r"text\.so"):
        IutLibrary(tmp_path / "text.so")


def test_two_ends_play_until_both_have_closed(library: IutLibrary) -> None:
    a, b = start(library, "begin", A, b"\x01x"), start(library, "echo", B)
    flakeway = Flakeway(1, "latency 10ms")
    capture = PcapngWriter()
    result = run_pair(a, b, flakeway, capture=capture)
    assert result.end is PairEnd.CLOSED
    assert result.end_us == 10 * 10_000  # ten packets, one after the other, arrive
    assert result.packets == (6, 5)  # a's answer to the tenth is sent, and the run does not wait for it
    assert result.bytes == (12, 10)
    assert capture.packets == 6 + 5 + 10
    assert a.status.succeeded
    assert a.status.closed
    assert b.delivered == bytes([10, 0, 0, 1])


def test_what_the_flakeway_does_reaches_the_other_end(library: IutLibrary) -> None:
    a, b = start(library, "begin", A, b"\x01x" * 20), start(library, "echo", B)
    flakeway = Flakeway(1, "latency 10ms", "truncate 3 a>b nth=1", "drop b>a nth=2")
    result = run_pair(a, b, flakeway)
    assert result.end is PairEnd.IDLE  # b's second packet is lost and not repeated
    assert result.packets == (2, 2)
    assert result.bytes == (40 + 3, 3 + 3)
    assert [event.description for event in flakeway.events] == [
        "truncated by rule 1 (truncate 3 a>b nth=1)",
        "dropped by rule 2 (drop b>a nth=2)",
    ]
    assert flakeway.stats(Direction.A_TO_B).truncated == 1


def test_runs_that_never_close_end_with_the_reason(library: IutLibrary) -> None:
    def run(kind: str, **limits: int) -> PairEnd:
        a, b = start(library, kind, A, b"\x01x"), start(library, "echo", B)
        return run_pair(a, b, Flakeway(1, "latency 10ms"), **limits).end  # type: ignore[arg-type]

    assert run("echo") is PairEnd.IDLE
    assert run("begin", limit_us=45_000) is PairEnd.TIME_LIMIT
    assert run("begin", limit_packets=4) is PairEnd.PACKET_LIMIT
    assert run("spin") is PairEnd.SPINNING


def test_a_hook_decides_in_a_run_and_its_exception_ends_up_with_the_caller(library: IutLibrary) -> None:
    def run(hook: Callable[..., str | None]) -> PairResult:
        a, b = start(library, "begin", A, b"\x01x"), start(library, "echo", B)
        flakeway = Flakeway(1, "hook b>a")
        flakeway.set_hook(hook)
        return run_pair(a, b, flakeway)

    assert run(lambda _rule, _direction, packet, _now: "drop" if packet[0] == 4 else None).packets == (2, 2)
    with pytest.raises(ZeroDivisionError):
        run(lambda *_: str(1 // 0))


def test_a_packet_to_a_stranger_is_captured_and_not_delivered(library: IutLibrary) -> None:
    a, b = start(library, "stray", A, b"\x01x"), start(library, "echo", B)
    capture = PcapngWriter()
    result = run_pair(a, b, Flakeway(1), capture=capture)
    assert result.packets == (1, 0)
    assert capture.packets == 1
    assert b"flakeway: no host has the destination address" in capture.bytes()


def test_params_can_be_reused(library: IutLibrary) -> None:
    params = IutParams(client_string="echo", seed=1)
    first = library.start(params)
    params.seed = 2
    second = library.start(dataclasses.replace(params, seed=3))
    assert (first.params.seed, second.params.seed) == (1, 3)
