# SPDX-License-Identifier: BSD-2-Clause
"""Success means stored: the end of a transfer with a receiver that is killed, or whose system calls fail, at each step.

strace(1) kills the receiver when it enters a system call, or has the call fail. Afterwards the target is the old file
or the new one, the sender reported success only if it is the new one, and the next receiver finds nothing to keep. The
data are a stream, which is no tree transfer: tree_kill_test does the same for trees.
"""

from __future__ import annotations

import fcntl
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import lab

NETBLT = sys.argv[1]
AT_ONCE = 6  # runs at the same time: most of them wait for the sender's death timer
# Death timers of the sender. A busy machine delays a receiver under strace for more than the short one.
SHORT_S, LONG_S = 1, 20
SYNC_S = 4  # longer than SHORT_S
FAILED = 1
KILLED = -signal.SIGKILL
OLD = b"what was there before"
NEW = os.urandom(100_000)
NAME = "target"
# All of these must have been killed at, or the test proves nothing. How many packets are sent varies: one at least.
STEPS = {"fsync", "linkat", "renameat", "renameat2"}

udp_ports = count(20_000)


@dataclass(frozen=True)
class Mode:
    """How the receiver runs, and whether there is an old file."""

    words: str
    listens: bool
    replaces: bool
    named: bool = False  # it has a temporary name from the beginning

    @property
    def injections(self) -> tuple[str, ...]:
        """As if /proc did not show the nameless file. The C library's start uses access(), and recv looks at the old
        file with it."""
        first = 3 if self.replaces and not self.listens else 2
        return (f"inject=access:error=ENOENT:when={first}+",) if self.named else ()


MODES: tuple[Mode, ...] = (
    Mode("recv of a new file", listens=False, replaces=False),
    Mode("recv over an old file", listens=False, replaces=True),
    Mode("listen with a new file", listens=True, replaces=False),
    Mode("listen --force over an old file", listens=True, replaces=True),
)
if platform.machine() == "x86_64":  # elsewhere access() is another system call, which is used for more
    MODES += (
        Mode("recv over an old file without O_TMPFILE", listens=False, replaces=True, named=True),
        Mode("listen with a new file without O_TMPFILE", listens=True, replaces=False, named=True),
    )


class EarlyEndError(Exception):
    """The receiver did not come so far that it waits."""


@dataclass
class Run:
    """One transfer of NEW to a receiver under strace."""

    host: lab.Host
    mode: Mode
    injections: tuple[str, ...] = ()
    death_timer_s: int = LONG_S
    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp()))
    udp_port: int = field(default_factory=lambda: next(udp_ports))
    sender_status: int = -1
    sender_words: str = ""
    receiver_pid: int = -1
    receiver_status: int = -1
    receiver_words: str = ""

    @property
    def directory(self) -> Path:
        return self.folder / "to"

    @property
    def target(self) -> Path:
        return self.directory / NAME

    @property
    def trace(self) -> Path:
        return self.folder / "trace"

    def receiver(self, *tracing: str) -> subprocess.Popen[str]:
        """Waiting. `tracing` are options of strace, which is not used without any."""
        strace: tuple[str | Path, ...] = ("strace", "-D", "-f", "-qq", "-o", self.trace, *tracing) if tracing else ()
        where = ("--encap", "udp", "--udp-port", str(self.udp_port), "--sync")
        if self.mode.listens:
            how: tuple[str | Path, ...] = ("listen", "--root", self.directory, *(("--force",) * self.mode.replaces))
        else:
            how = ("recv", self.target, "--passive")
        process = self.host.start(*strace, NETBLT, *how, *where)
        assert process.stderr is not None
        line = process.stderr.readline()
        if "waiting" not in line:
            process.communicate(timeout=lab.PATIENCE_S)
            raise EarlyEndError(f"{process.returncode}: {line}")
        return process

    def transfer(self) -> None:
        self.directory.mkdir()
        source = self.folder / NAME
        source.write_bytes(NEW)
        if self.mode.replaces:
            self.target.write_bytes(OLD)
        tracing = [word for injection in (*self.mode.injections, *self.injections) for word in ("-e", injection)]
        receiver = self.receiver("-e", "trace=all", *tracing)
        self.receiver_pid = receiver.pid
        sender = self.host.start(
            NETBLT,
            "send",
            "-",
            "127.0.0.1",
            "--client-string",
            NAME,
            "--encap",
            "udp",
            "--udp-port",
            str(self.udp_port),
            "--death-timer",
            str(self.death_timer_s),
            stdin=source,
        )
        _, self.sender_words = sender.communicate(timeout=lab.PATIENCE_S)
        self.sender_status = sender.returncode
        if self.mode.listens:
            receiver.terminate()
        _, self.receiver_words = receiver.communicate(timeout=lab.PATIENCE_S)
        self.receiver_status = receiver.returncode

    def state(self) -> str:
        """ "old", "new" or what is wrong."""
        if not self.target.exists():
            return "missing" if self.mode.replaces else "old"
        content = self.target.read_bytes()
        return "new" if content == NEW else "old" if content == OLD and self.mode.replaces else "neither"

    def names(self) -> set[str]:
        return {entry.name for entry in self.directory.iterdir()}

    def begin_next(self) -> None:
        """Another receiver, which ends before anything arrives."""
        receiver = self.receiver()
        receiver.terminate()
        receiver.communicate(timeout=lab.PATIENCE_S)

    def clean(self) -> None:
        shutil.rmtree(self.folder)


# ---- kill -9 at each system call ------------------------------------------------------------------------------------

CALL = re.compile(r"^(\d+)\s+(\w+)\(")


def calls_of_the_end(run: Run) -> list[tuple[str, int]]:
    """System calls from the first that stores the file permanently to the last that sends a packet: name and how
    manieth of that name in its thread, as strace counts."""
    counts: Counter[tuple[str, str]] = Counter()
    calls = []
    for line in run.trace.read_text(errors="replace").splitlines():
        match = CALL.match(line)
        if match is not None:
            counts[match[1], match[2]] += 1
            calls.append((match[2], counts[match[1], match[2]]))
    begin = next(i for i, (name, _) in enumerate(calls) if name in ("fsync", "linkat"))
    end = max(i for i, (name, _) in enumerate(calls) if name == "sendmmsg")
    return list(dict.fromkeys(calls[begin : end + 1]))


def kill_at(host: lab.Host, mode: Mode, call: tuple[str, int]) -> str | None:
    """The name of the call if it was reached."""
    name, number = call
    run = Run(host, mode, (f"inject={name}:signal=SIGKILL:when={number}",), death_timer_s=SHORT_S)
    try:
        run.transfer()
    except EarlyEndError:  # another thread made as many calls of that name before
        run.clean()
        return None
    where = f"{mode.words}, killed at {name} number {number}, sender: {run.sender_words}"
    allowed = {NAME} if run.mode.replaces or run.state() == "new" else set()
    assert run.state() in ("old", "new"), f"{where}: the target is {run.state()}"
    assert run.sender_status != 0 or run.state() == "new", f"{where}: success, and the target is {run.state()}"
    left = run.names() - allowed
    assert all(entry.startswith(".netblt-") for entry in left), f"{where}: left {left}"
    run.begin_next()
    assert run.names() == allowed, f"{where}: left for good {run.names() - allowed}"
    run.clean()
    return name if run.receiver_status == KILLED else None


def a_receiver_that_is_killed_at_any_call_of_the_end_leaves_the_old_file_or_the_new_one() -> None:
    host = lab.Host()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for mode in MODES:
            whole = Run(host, mode)
            whole.transfer()
            assert whole.sender_status == 0, whole.sender_words
            assert whole.state() == "new", whole.state()
            assert whole.names() == {NAME}, whole.names()
            calls = calls_of_the_end(whole)
            whole.clean()
            reached = list(pool.map(lambda call, mode=mode: kill_at(host, mode, call), calls))
            missed = [call for call, name in zip(calls, reached, strict=True) if call[0] in STEPS and name is None]
            assert not missed, f"{mode.words}: never came to {missed}"
            assert "sendmmsg" in reached, f"{mode.words}: never came to sendmmsg"
            print(f"ok {mode.words}: killed at {sum(name is not None for name in reached)} of {len(calls)} calls")


# ---- calls that fail ------------------------------------------------------------------------------------------------

FAILURES = (
    ("clone3:error=EAGAIN", "Resource temporarily unavailable"),
    ("pwrite64:error=EDQUOT:when=1", "Disk quota exceeded"),
    ("pwrite64:error=ENOSPC:when=1", "No space left on device"),
    ("fsync:error=EIO:when=1", "Input/output error"),
    ("fsync:error=ENOSPC:when=1", "No space left on device"),
)
FAILURES_OF_NAMES = {
    "recv of a new file": (("linkat:error=ENOSPC:when=1", "No space left on device"),),
    "listen with a new file": (
        ("linkat:error=EROFS:when=1", "Read-only file system"),
        ("linkat:error=EDQUOT:when=1", "Disk quota exceeded"),
    ),
    "recv over an old file": (
        ("linkat:error=ENOSPC:when=2", "No space left on device"),
        ("renameat:error=EROFS:when=1", "Read-only file system"),
    ),
    "listen --force over an old file": (
        ("linkat:error=EDQUOT:when=2", "Disk quota exceeded"),
        ("renameat:error=ENOSPC:when=1", "No space left on device"),
    ),
    "recv over an old file without O_TMPFILE": (("renameat:error=EDQUOT:when=1", "Disk quota exceeded"),),
    "listen with a new file without O_TMPFILE": (("renameat2:error=ENOSPC:when=1", "No space left on device"),),
}


def is_syncing(run: Run) -> bool:
    """The first fsync() has begun and not ended."""
    trace = run.trace.read_text(errors="replace") if run.trace.exists() else ""
    return "fsync(" in trace and not re.search(r"fsync(\(\d+\)| resumed>\)) += ", trace)


def expect_failure(run: Run, words: str, state: str) -> None:
    where = f"{run.mode.words}, {run.injections}, sender: {run.sender_words}, receiver: {run.receiver_words}"
    assert run.sender_status == FAILED, where
    assert "cannot store" in run.sender_words, where
    assert words in run.sender_words, where
    assert str(run.folder) not in run.sender_words, where  # what the peer learns reveals nothing of this host
    assert words in run.receiver_words, where
    assert run.mode.listens or run.receiver_status == FAILED, where
    assert run.state() == state, f"{where}: the target is {run.state()}"
    assert run.names() == ({NAME} if run.mode.replaces or state == "new" else set()), f"{where}: {run.names()}"


def fail(host: lab.Host, mode: Mode, injection: str, words: str, state: str) -> None:
    run = Run(host, mode, (f"inject={injection}",))
    run.transfer()
    expect_failure(run, words, state)
    run.clean()


def every_call_of_the_end_that_fails_is_a_failure_at_the_sender() -> None:
    host = lab.Host()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        runs = [
            pool.submit(fail, host, mode, injection, words, "old")
            for mode in MODES
            for injection, words in (*FAILURES, *FAILURES_OF_NAMES[mode.words])
        ]
        # The name is there, but whether it will be after a crash is not known.
        runs += [pool.submit(fail, host, mode, "fsync:error=EIO:when=2", "Input/output error", "new") for mode in MODES]
        for run in runs:
            run.result()


def the_event_loop_makes_no_call_that_waits_for_the_disk() -> None:
    host = lab.Host()
    for mode in MODES:
        run = Run(host, mode)
        run.transfer()
        assert run.sender_status == 0, run.sender_words
        calls = re.findall(
            r"^(\d+)\s+(pwrite64|fsync|linkat|renameat2?)\(", run.trace.read_text(errors="replace"), re.MULTILINE
        )
        assert {"pwrite64", "fsync"} <= {name for _, name in calls}, calls
        assert str(run.receiver_pid) not in {pid for pid, _ in calls}, (mode.words, calls)
        run.clean()


def a_receiver_that_opens_itself_fails_its_sender_too() -> None:
    host = lab.Host()
    run = Run(host, Mode("recv that opens", listens=False, replaces=False), ("inject=fsync:error=EIO:when=1",))
    run.directory.mkdir()
    source = run.folder / NAME
    source.write_bytes(NEW)
    where = ("--encap", "udp", "--udp-port", str(run.udp_port))
    sender = host.start(NETBLT, "send", "-", "--passive", *where, stdin=source)
    assert sender.stderr is not None
    assert "waiting" in sender.stderr.readline()
    tracing: tuple[str | Path, ...] = ("strace", "-D", "-f", "-qq", "-o", run.trace, "-e", *run.injections)
    receiver = host.start(*tracing, NETBLT, "recv", run.target, "127.0.0.1", *where, "--sync")
    _, run.sender_words = sender.communicate(timeout=lab.PATIENCE_S)
    _, run.receiver_words = receiver.communicate(timeout=lab.PATIENCE_S)
    run.sender_status, run.receiver_status = sender.returncode, receiver.returncode
    expect_failure(run, "Input/output error", "old")
    run.clean()


def while_one_file_is_synced_its_sender_waits_and_other_transfers_go_on() -> None:
    host = lab.Host()
    run = Run(host, MODES[3], (f"inject=fsync:delay_enter={SYNC_S}s:when=1",), death_timer_s=SHORT_S)
    with ThreadPoolExecutor(1) as pool:
        transfer = pool.submit(run.transfer)
        lab.wait_until(lambda: is_syncing(run), "the file is synced")
        other = host.start(
            *(NETBLT, "recv", run.folder / "other", "127.0.0.1", "--client-string", NAME),
            *("--encap", "udp", "--udp-port", str(run.udp_port), "--death-timer", "1"),
        )
        _, words = other.communicate(timeout=lab.PATIENCE_S)
        assert other.returncode == 0, words
        assert is_syncing(run), "the other transfer had to wait for the sync"
        assert (run.folder / "other").read_bytes() == OLD
        transfer.result()
    assert run.sender_status == 0, run.sender_words  # after more than its death timer
    assert run.state() == "new"
    run.clean()


def a_target_that_another_program_creates_meanwhile_is_kept_and_the_sender_fails() -> None:
    host = lab.Host()
    for named in (False, True) if len(MODES) > 4 else (False,):
        mode = Mode("listen with a new file", listens=True, replaces=False, named=named)
        # strace holds the receiver up for a while before it syncs the file.
        run = Run(host, mode, ("inject=fsync:delay_enter=700000:when=1",))
        with ThreadPoolExecutor(1) as pool:
            transfer = pool.submit(run.transfer)
            lab.wait_until(lambda run=run: is_syncing(run), "the file is synced")  # type: ignore[misc]
            run.target.write_bytes(OLD)
            transfer.result()
        assert run.sender_status == FAILED, run.sender_words
        assert "File exists" in run.sender_words, run.sender_words
        assert run.target.read_bytes() == OLD
        assert run.names() == {NAME}, run.names()
        run.clean()


# ---- temporary names ------------------------------------------------------------------------------------------------


def only_temporary_files_that_no_process_has_locked_are_removed() -> None:
    host = lab.Host()
    for mode in MODES[:3:2]:
        run = Run(host, mode)
        run.directory.mkdir()
        stale, alive = run.directory / ".netblt-3", run.directory / ".netblt-200"
        link, fifo, other = (run.directory / f".netblt-{end}" for end in ("4", "5", "file"))
        for file in (stale, alive, other):
            file.write_bytes(OLD)
        link.symlink_to(other)
        os.mkfifo(fifo)
        with alive.open("rb") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            run.begin_next()
            assert run.names() == {alive.name, link.name, fifo.name, other.name}, run.names()
        run.begin_next()
        assert run.names() == {link.name, fifo.name, other.name}, run.names()
        run.clean()


def main() -> None:
    if shutil.which("strace") is None:
        lab.skip("strace is not installed")
    if subprocess.run(["strace", "-qq", "-o", "/dev/null", "true"], check=False).returncode != 0:
        lab.skip("strace may not trace here")
    lab.enter_user_namespace()
    tests: list[Callable[[], None]] = [
        every_call_of_the_end_that_fails_is_a_failure_at_the_sender,
        the_event_loop_makes_no_call_that_waits_for_the_disk,
        a_receiver_that_opens_itself_fails_its_sender_too,
        while_one_file_is_synced_its_sender_waits_and_other_transfers_go_on,
        a_target_that_another_program_creates_meanwhile_is_kept_and_the_sender_fails,
        only_temporary_files_that_no_process_has_locked_are_removed,
        a_receiver_that_is_killed_at_any_call_of_the_end_leaves_the_old_file_or_the_new_one,
    ]
    for test in tests:
        test()
        print(f"ok {test.__name__}", flush=True)


main()
