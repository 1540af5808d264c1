# SPDX-License-Identifier: BSD-2-Clause
"""Outages, a NAT that changes the peer's port, full disks, read errors, files that change while they are sent.

Checked: what both ends report, what is stored, and that the same command goes on where it was."""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import lab
import trees
from field import Program
from relay import Relay
from ways import resumes

FILE_BYTES = 3_000_000
PACED = ("--burst-size", "8", "--burst-interval", "10", "--packet-size", "1448")  # 2.6 s for the file
FEW_BUFFERS = ("--buffer-size", "64k", "--max-buffers", "4")  # most of the file is not read before it is needed
UDP_PORT, RELAY_PORT = 9980, 9970
CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x00020000, 0x4000, 0x40000
FAILED = 1
AT_ONCE = 8
DISK_BYTES = 1_000_000
REST = 0.9  # of the file's bytes at most are retransmitted when it is resumed about half way


class Place:
    """One host with a source and a directory for the copy."""

    def __init__(self, netblt: str, folder: Path) -> None:
        self.netblt, self.folder = netblt, folder
        self.host = lab.Host()
        self.source, self.target = folder / "from" / "what", folder / "to" / "what"
        self.source.parent.mkdir()
        self.target.parent.mkdir()
        self.source.write_bytes(os.urandom(FILE_BYTES))
        self.programs: list[Program] = []

    def start(self, *words: str | Path) -> Program:
        program = Program(self.host, self.folder, *words)
        self.programs.append(program)
        return program

    def end(self) -> None:
        for program in self.programs:
            program.end()

    def receiver(self, *words: str) -> Program:
        program = self.start(self.netblt, "recv", self.target, "--passive", "--encap", "udp", *words)
        program.wait_for_words("waiting")
        return program

    def sender(self, *words: str, port: int = UDP_PORT, before: tuple[str, ...] = ()) -> Program:
        where = ("127.0.0.1", "--encap", "udp", "--udp-port", str(port))
        return self.start(*before, self.netblt, "send", self.source, *where, *PACED, *words)

    def stored(self) -> bool:
        return self.target.exists() and self.target.read_bytes() == self.source.read_bytes()

    def nothing_left(self) -> bool:
        return not trees.leftovers(self.target.parent)

    def sent_bytes(self) -> int:
        """All bytes that have passed the loopback interface."""
        lines = self.host.run("cat", "/proc/net/dev").splitlines()
        return next(int(line.partition(":")[2].split()[8]) for line in lines if line.strip().startswith("lo:"))

    def wait_for_share(self, share: float) -> None:
        lab.wait_until(lambda: self.sent_bytes() > share * FILE_BYTES, f"{share:.0%} of the file have passed")


def succeeded(*programs: Program, within_s: float) -> None:
    for program in programs:
        assert program.result(within_s) == 0, program.words


# ---- outages -------------------------------------------------------------------------------------------------------


def outage(place: Place, outage_s: float, sender_words: tuple[str, ...], receiver_words: tuple[str, ...]
           ) -> tuple[Program, Program]:  # fmt: skip
    """Nothing passes for so long in the middle of a transfer."""
    with Relay(place.host, RELAY_PORT, UDP_PORT) as relay:
        receiver = place.receiver(*receiver_words)
        sender = place.sender(*sender_words, port=RELAY_PORT)
        lab.wait_until(lambda: relay.from_active > 0.4 * FILE_BYTES, "the transfer is half way")
        relay.blocked = True
        time.sleep(outage_s)
        relay.blocked = False
        for program in (sender, receiver):
            program.result(lab.PATIENCE_S + outage_s)
    return sender, receiver


def an_outage_shorter_than_the_death_timer_delays(place: Place, outage_s: float) -> None:
    timer = ("--death-timer", str(round(outage_s * 2 + 3)))
    sender, receiver = outage(place, outage_s, timer, timer)
    succeeded(sender, receiver, within_s=1)
    assert place.stored()


def an_outage_longer_than_the_death_timer_fails_at_both_ends(place: Place, _outage_s: float) -> None:
    timer = ("--death-timer", "1")
    sender, receiver = outage(place, 4, timer, timer)
    for program in (sender, receiver):
        assert program.result() == FAILED, program.words
        assert "no packet" in program.words or "dead" in program.words or "silent" in program.words, program.words
    assert not place.target.exists()
    if resumes(place.netblt):
        before = place.sent_bytes()
        receiver, sender = place.receiver(), place.sender()
        succeeded(sender, receiver, within_s=lab.PATIENCE_S)
        assert place.stored()
        assert place.nothing_left()
        assert place.sent_bytes() - before < REST * FILE_BYTES, "it was sent again from the beginning"


def a_sender_that_retries_goes_on_after_an_outage(place: Place, outage_s: float) -> None:
    if not resumes(place.netblt):
        return
    words = ("--death-timer", "1", "--retry", "forever")
    sender, receiver = outage(place, outage_s + 2, words, words)
    succeeded(sender, receiver, within_s=1)
    assert place.stored()
    assert place.nothing_left()


# ---- NAT -----------------------------------------------------------------------------------------------------------


def a_changed_port_of_the_active_end(place: Place, _outage_s: float) -> None:
    """RFC 998 knows a connection by addresses and ports; so does this implementation."""
    with Relay(place.host, RELAY_PORT, UDP_PORT) as relay:
        words = ("--death-timer", "2", *(("--retry", "forever") if resumes(place.netblt) else ()))
        receiver = place.receiver(*words)
        sender = place.sender(*words, port=RELAY_PORT)
        lab.wait_until(lambda: relay.from_active > 0.4 * FILE_BYTES, "the transfer is half way")
        relay.change_port()
        results = [program.result() for program in (sender, receiver)]
    print(f"   after the change: {results} {sender.words.splitlines()[-1:]} {receiver.words.splitlines()[-1:]}")
    if results == [0, 0]:
        assert place.stored()
        assert place.nothing_left()
    else:
        assert not resumes(place.netblt), (results, sender.words, receiver.words)
        assert not place.target.exists()


# ---- disks ---------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """A file system of DISK_BYTES, which only this process and its children see."""
    libc = lab.libc
    if libc.unshare(CLONE_NEWNS) != 0 or libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None) != 0:
        lab.skip(f"no mount namespace: {os.strerror(ctypes.get_errno())}")
    if libc.mount(b"tmpfs", os.fsencode(folder), b"tmpfs", 0, f"size={DISK_BYTES}".encode()) != 0:
        lab.skip(f"no tmpfs: {os.strerror(ctypes.get_errno())}")
    try:
        yield
    finally:
        libc.umount2(os.fsencode(folder), 2)


def a_full_disk_is_reported_at_both_ends(place: Place, _outage_s: float) -> None:
    directory = place.target.parent
    with small_disk(directory):
        receiver, sender = place.receiver(), place.sender()
        for program in (receiver, sender):
            assert program.result() == FAILED, program.words
            assert "No space left on device" in program.words, program.words
        assert not place.target.exists()
        if not resumes(place.netblt):
            assert list(directory.iterdir()) == []
            return
        lab.run("mount", "-o", f"remount,size={4 * FILE_BYTES}", str(directory))
        before = place.sent_bytes()
        receiver, sender = place.receiver(), place.sender()
        succeeded(sender, receiver, within_s=lab.PATIENCE_S)
        assert place.stored()
        assert place.nothing_left()
        assert place.sent_bytes() - before < REST * FILE_BYTES, "it was sent again from the beginning"


def a_read_error_is_reported_at_both_ends(place: Place, _outage_s: float) -> None:
    receiver = place.receiver()
    strace = ("strace", "-f", "-qq", "-o", "/dev/null", "-P", str(place.source),
              "-e", "inject=read,pread64,preadv,readv,copy_file_range:error=EIO:when=4+")  # fmt: skip
    sender = place.sender(before=strace)
    for program in (sender, receiver):
        assert program.result() == FAILED, program.words
        assert "Input/output error" in program.words or "cannot read" in program.words, program.words
    assert not place.target.exists()


# ---- sources that change -------------------------------------------------------------------------------------------


def a_source_that_becomes_shorter_is_reported_at_both_ends(place: Place, _outage_s: float) -> None:
    receiver, sender = place.receiver(), place.sender(*FEW_BUFFERS)
    place.wait_for_share(0.3)
    os.truncate(place.source, FILE_BYTES // 2)
    for program in (sender, receiver):
        assert program.result() == FAILED, program.words
    assert not place.target.exists()
    print(f"   {sender.last_error}")


def a_source_that_changes_is_not_stored_as_a_mixture(place: Place, _outage_s: float) -> None:
    if not resumes(place.netblt):
        return
    old = place.source.read_bytes()
    receiver, sender = place.receiver(), place.sender(*FEW_BUFFERS)
    place.wait_for_share(0.3)
    with place.source.open("r+b") as file:
        file.write(old[::-1])
    results = [program.result() for program in (sender, receiver)]
    print(f"   {results} {sender.last_error}")
    if place.target.exists():
        assert place.target.read_bytes() in (old, old[::-1]), "a mixture of both versions has the name"
    else:
        assert 0 not in results, (sender.words, receiver.words)
        assert "chang" in sender.words, sender.words


TESTS: list[Callable[[Place, float], None]] = [
    an_outage_shorter_than_the_death_timer_delays,
    an_outage_longer_than_the_death_timer_fails_at_both_ends,
    a_sender_that_retries_goes_on_after_an_outage,
    a_changed_port_of_the_active_end,
    a_full_disk_is_reported_at_both_ends,
    a_read_error_is_reported_at_both_ends,
    a_source_that_becomes_shorter_is_reported_at_both_ends,
    a_source_that_changes_is_not_stored_as_a_mixture,
]


def carry_out(test: Callable[[Place, float], None], netblt: str, outage_s: float) -> None:
    with tempfile.TemporaryDirectory(prefix="netblt-interrupted-") as folder:
        place = Place(netblt, Path(folder))
        try:
            test(place, outage_s)
        finally:
            place.end()
    print(f"ok {test.__name__}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--netblt", required=True)
    parser.add_argument("--outage", type=float, default=3, metavar="S", help="how long nothing passes (3)")
    parser.add_argument("--only", metavar="TEXT", default="", help="only tests whose names contain TEXT")
    given = parser.parse_args()
    lab.enter_user_namespace()
    with ThreadPoolExecutor(AT_ONCE) as pool:  # they wait most of the time
        chosen = [test for test in TESTS if given.only in test.__name__]
        for future in [pool.submit(carry_out, test, given.netblt, given.outage) for test in chosen]:
            future.result()


if __name__ == "__main__":
    main()
