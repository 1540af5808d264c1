# SPDX-License-Identifier: GPL-2.0-or-later
"""The reference core as a shared library: whole transfers in virtual time, the same every time; mutants beside it."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from netblt_conformance.common import paths
from netblt_conformance.common.model import Status
from netblt_conformance.simlib import (
    Direction,
    Flakeway,
    IutLibrary,
    IutParams,
    PairEnd,
    PairResult,
    PcapngWriter,
    run_pair,
)
from netblt_conformance.simlib.build import SIM

CORE = paths.core()
A, B = "10.0.0.1", "10.0.0.2"
LOSSY = ("latency 10ms", "loss 3%", "reorder 2% by 7ms", "duplicate 1%", "corrupt 1%")

pytestmark = pytest.mark.skipif(not any(CORE.rglob("*.c")), reason="the reference core is not there")


def build_iut(core: Path, output: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SIM / "build_iut.py"), str(core), str(output)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="session")
def library(built_library: Path) -> IutLibrary:
    return IutLibrary(built_library)


def octets(count: int) -> bytes:
    block = b"".join(hashlib.sha256(str(i).encode()).digest() for i in range(256))
    return (block * (count // len(block) + 1))[:count]


def transfer(
    library: IutLibrary,
    data: bytes,
    rules: tuple[str, ...],
    seed: int = 1,
    *,
    active_sender: bool = True,
    capture: PcapngWriter | None = None,
    sender_library: IutLibrary | None = None,
    stall_us: int = 0,
) -> tuple[PairResult, bytes, list[Status], Flakeway]:
    sender = IutParams(active=active_sender, sender=True, seed=seed, local_address=A, foreign_address=B)
    sender.client_stall_until_us = stall_us
    receiver = IutParams(active=not active_sender, seed=seed + 1, local_address=B, foreign_address=A)
    flakeway = Flakeway(seed, *rules)
    with (sender_library or library).start(sender, data) as a, library.start(receiver) as b:
        result = run_pair(a, b, flakeway, capture=capture)
        return result, b.delivered, [a.status, b.status], flakeway


@pytest.mark.parametrize("active_sender", [True, False], ids=["active-sender", "active-receiver"])
@pytest.mark.parametrize("size", [0, 1, 4096, 4097, 100_000])
def test_a_transfer_over_a_bad_network_arrives_whole(library: IutLibrary, size: int, active_sender: bool) -> None:
    result, delivered, statuses, flakeway = transfer(library, octets(size), LOSSY, active_sender=active_sender)
    assert result.end is PairEnd.CLOSED
    assert delivered == octets(size)
    assert statuses == [Status.CLOSED_DONE] * 2
    if size == 100_000:
        assert flakeway.stats(Direction.A_TO_B).dropped > 0


def test_equal_seeds_give_byte_identical_captures_and_others_do_not(library: IutLibrary) -> None:
    def captured(seed: int) -> bytes:
        capture = PcapngWriter()
        transfer(library, octets(30_000), LOSSY, seed, capture=capture)
        return capture.bytes()

    first = captured(4)
    assert captured(4) == first
    assert captured(5) != first


def test_a_capture_holds_each_packet_on_both_sides_but_the_lost(library: IutLibrary, tmp_path: Path) -> None:
    if shutil.which("tshark") is None:
        pytest.skip("needs tshark")
    capture = PcapngWriter()
    result, _, _, flakeway = transfer(library, octets(30_000), ("latency 1ms", "loss 5%"), capture=capture)
    capture.save(tmp_path / "x.pcapng")
    command = ["tshark", "-r", str(tmp_path / "x.pcapng"), "-T", "fields", "-E", "separator=|"]
    for field in ("frame.interface_name", "ip.src", "ip.id", "frame.comment"):
        command += ["-e", field]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    rows = [tuple(line.split("|")) for line in lines]
    for direction, entry, address, sent in (
        (Direction.A_TO_B, "left", A, result.packets[0]),
        (Direction.B_TO_A, "right", B, result.packets[1]),
    ):
        mine = [row for row in rows if row[1] == address]
        entered = [row for row in mine if row[0] == entry]
        lost = {row[2] for row in entered if row[3] == "flakeway: dropped by loss 5%"}
        assert [row[2] for row in entered] == [f"0x{i:04x}" for i in range(sent)]
        assert len(lost) == flakeway.stats(direction).dropped
        assert {row[2] for row in mine if row[0] != entry} == {row[2] for row in entered} - lost


def test_a_client_that_stalls_is_waited_for(library: IutLibrary) -> None:
    result, delivered, _, _ = transfer(library, octets(9_000), ("latency 10ms",), stall_us=3_000_000)
    assert result.end is PairEnd.CLOSED
    assert result.end_us > 3_000_000
    assert delivered == octets(9_000)


def test_a_mutant_beside_the_reference_differs_only_where_it_was_changed(library: IutLibrary, tmp_path: Path) -> None:
    copy = tmp_path / "core"
    shutil.copytree(CORE, copy)
    names = copy / "endpoint" / "names.c"
    text = names.read_text()
    assert '"done"' in text
    names.write_text(text.replace('"done"', '"dune"'))
    done = build_iut(copy, tmp_path / "mutant.so")
    assert done.returncode == 0, done.stderr
    mutant = IutLibrary(tmp_path / "mutant.so")
    for sender_library, word in ((library, "done"), (mutant, "dune"), (library, "done")):
        sender = IutParams(active=True, sender=True, local_address=A, foreign_address=B)
        receiver = IutParams(local_address=B, foreign_address=A)
        with sender_library.start(sender, b"x") as a, library.start(receiver) as b:
            assert run_pair(a, b, Flakeway(1, "latency 1ms")).end is PairEnd.CLOSED
            assert (a.reason.split(":")[0], b.reason.split(":")[0]) == (word, "done")


@pytest.mark.parametrize(
    "code",
    [
        "int f(void) { return oops; }",
        "int f(void) { return oops(1); }",
        "char *f(int oops) { return oops; }",
        "int *f(char *oops) { return oops; }",
    ],
    ids=["error", "implicit declaration", "integer to pointer", "wrong pointer"],
)
def test_sources_that_do_not_compile_are_reported(tmp_path: Path, code: str) -> None:
    (tmp_path / "core").mkdir()
    (tmp_path / "core" / "x.c").write_text(f"{code}\n")
    done = build_iut(tmp_path / "core", tmp_path / "x.so")
    assert done.returncode == 1
    assert "oops" in done.stderr
    assert "undefined reference" not in done.stderr  # it is the compiler that refuses them, not the linker
    assert not (tmp_path / "x.so").exists()


def test_a_folder_that_is_missing_is_a_wrong_call(tmp_path: Path) -> None:
    assert build_iut(tmp_path / "nothing", tmp_path / "x.so").returncode == 2
