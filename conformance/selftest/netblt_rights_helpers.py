# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of the command's rights share: what a process may do, and kernels that lack what confines it."""

from __future__ import annotations

import ctypes
import os
import pwd
import struct
from collections.abc import Callable
from pathlib import Path

from selftest.netblt_command_lab import Process

CAPABILITY_SETS = ["CapInh", "CapPrm", "CapEff", "CapAmb"]
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, SECCOMP_MODE_FILTER = 22, 38, 2
ENOSYS, EINVAL = 38, 22
LANDLOCK_CREATE_RULESET = 444  # the same on all architectures
SECCOMP, PRCTL = 317, 157  # x86-64

NOBODY = pwd.getpwnam("nobody")
OTHER = pwd.getpwnam("daemon")


def status_of(process: Process) -> dict[str, str]:
    """/proc/PID/status."""
    lines = Path(f"/proc/{process.popen.pid}/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def probed(process: Process) -> dict[str, str]:
    """What test_netblt_rights_probe.c reported."""
    lines = [line.split(": ") for line in process.errors.splitlines() if line.startswith("probe: ")]
    return {attempt: result for _, attempt, result in lines}


def without_system_call(*calls: tuple[int, int | None, int]) -> Callable[[], None]:
    """For Lab.start(prepare=): a kernel without these calls, each a number, its first argument (None: whatever it is)
    and the error that it gives."""
    libc = ctypes.CDLL(None, use_errno=True)
    number_at, argument_at = 0, 16  # in struct seccomp_data
    load, jump_if_equal, give = 0x20, 0x15, 0x06
    allow, fail = 0x7FFF0000, 0x00050000
    steps: list[bytes] = []
    for number, argument, error in calls:
        body = [] if argument is None else [(load, 0, 0, argument_at), (jump_if_equal, 0, 1, argument)]
        body.append((give, 0, 0, fail | error))
        steps.append(struct.pack("=HBBI", load, 0, 0, number_at))
        steps.append(struct.pack("=HBBI", jump_if_equal, 0, len(body), number))
        steps += [struct.pack("=HBBI", *step) for step in body]
    steps.append(struct.pack("=HBBI", give, 0, 0, allow))
    program = ctypes.create_string_buffer(b"".join(steps))
    described = struct.pack("@HP", len(steps), ctypes.addressof(program))

    def install() -> None:
        if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "no_new_privs")
        if libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, described, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "seccomp")
        assert program is not None  # lives as long as this function

    return install


def owned_directory(path: Path, owner: pwd.struct_passwd, mode: int) -> Path:
    path.mkdir()
    os.chown(path, owner.pw_uid, owner.pw_gid)
    path.chmod(mode)
    return path


def owned_file(path: Path, owner: pwd.struct_passwd, mode: int) -> Path:
    path.write_bytes(b"what only its owner may read")
    os.chown(path, owner.pw_uid, owner.pw_gid)
    path.chmod(mode)
    return path


def become(user: pwd.struct_passwd) -> None:
    """In a child of root, before it executes a program."""
    os.setgroups([])
    os.setresgid(user.pw_gid, user.pw_gid, user.pw_gid)
    os.setresuid(user.pw_uid, user.pw_uid, user.pw_uid)
