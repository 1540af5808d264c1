# SPDX-License-Identifier: BSD-2-Clause
"""Network namespaces of our own for tests with real processes: nothing outside is seen or changed, and all of it is
removed when the test process ends, in whatever way."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

PATIENCE_S = 60  # nothing takes so long, on the busiest machine
SKIPPED = 77  # what ctest takes for "cannot be tested here"
PR_SET_PDEATHSIG = 1
CLONE_NEWNET = 0x40000000
CLONE_NEWUSER = 0x10000000

os.environ["NETBLT_NO_PATH_MEMORY"] = "1"  # no transfer of a test depends on an earlier one

libc = ctypes.CDLL(None, use_errno=True)


def skip(reason: str) -> NoReturn:
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def die_with_parent() -> None:
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def enter_user_namespace() -> None:
    """Root of a user namespace of our own, for users who are not root."""
    if os.geteuid() == 0:
        return
    uid, gid = os.getuid(), os.getgid()
    if libc.unshare(CLONE_NEWUSER) != 0:
        skip("neither root nor user namespaces")
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"0 {uid} 1")
    Path("/proc/self/gid_map").write_text(f"0 {gid} 1")


def run(*words: str) -> None:
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL)


class Host:
    """A network namespace. It lives as long as this object's file descriptor."""

    def __init__(self) -> None:
        home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        if libc.unshare(CLONE_NEWNET) != 0:
            skip("no network namespaces")
        self.namespace = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        run("ip", "link", "set", "lo", "up")
        libc.setns(home, CLONE_NEWNET)
        os.close(home)

    def within(self) -> None:
        """For preexec_fn: the child lives here, and no longer than we do."""
        die_with_parent()
        libc.setns(self.namespace, CLONE_NEWNET)

    def run(self, *words: str) -> str:
        done = subprocess.run(
            words, check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL, preexec_fn=self.within
        )
        return done.stdout

    def start(self, *words: str | Path, stdin: Path = Path(os.devnull)) -> subprocess.Popen[str]:
        with stdin.open("rb") as source:
            return subprocess.Popen(
                [str(word) for word in words],
                stdin=source,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                preexec_fn=self.within,
            )

    def call(self, function: Callable[[], None]) -> None:
        """Runs `function` in this namespace."""
        home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        libc.setns(self.namespace, CLONE_NEWNET)
        try:
            function()
        finally:
            libc.setns(home, CLONE_NEWNET)
            os.close(home)


def wait_until(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, f"never came so far that {what}"
        time.sleep(0.005)


def has_raw_socket(process: subprocess.Popen[str]) -> bool:
    """It can be reached by raw IPv4."""
    inodes = {line.split()[9] for line in Path(f"/proc/{process.pid}/net/raw").read_text().splitlines()[1:]}
    return bool(inodes & {link[8:-1] for link in open_files(process) if link.startswith("socket:[")})


def has_received(process: subprocess.Popen[str]) -> bool:
    """Its target, which has no name yet, has data."""
    return any(
        size > 0 for link, size in open_files(process).items() if link.endswith(" (deleted)") or ".netblt-" in link
    )


def open_files(process: subprocess.Popen[str]) -> dict[str, int]:
    """What a process has open, and how large it is. It may close some while we look."""
    found = {}
    for descriptor in Path(f"/proc/{process.pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found[str(descriptor.readlink())] = descriptor.stat().st_size
    return found


def joined_hosts() -> tuple[Host, Host]:
    """Two hosts, 10.30.0.1 and fd30::1, 10.30.0.2 and fd30::2, on one Ethernet link `eth`."""
    left, right = Host(), Host()
    left.run("ip", "link", "add", "eth", "type", "veth", "peer", "name", "other")
    left.run("ip", "link", "set", "other", "netns", f"/proc/{os.getpid()}/fd/{right.namespace}")
    right.run("ip", "link", "set", "other", "name", "eth")
    for number, host in ((1, left), (2, right)):
        host.run("ip", "address", "add", f"10.30.0.{number}/24", "dev", "eth")
        host.run("ip", "address", "add", f"fd30::{number}/64", "dev", "eth", "nodad")
        host.run("ip", "link", "set", "eth", "up")
    return left, right
