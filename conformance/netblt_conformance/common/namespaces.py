# SPDX-License-Identifier: GPL-2.0-or-later
"""Anonymous network namespaces: a descriptor for each. A namespace ends with the last process
and descriptor that uses it."""

from __future__ import annotations

import contextlib
import ctypes
import enum
import fcntl
import os
import socket
import struct
from collections.abc import Iterator, Sequence

CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)

_SIOCETHTOOL = 0x8946  # linux/sockios.h
_IFREQ_BYTES = 40


class Offload(enum.IntEnum):
    """What a network card may do for the kernel: the commands that set it (linux/ethtool.h)."""

    SEND_CHECKSUM = 0x17
    TCP_SEGMENTATION = 0x1F
    SEGMENTATION = 0x24
    RECEIVE_COALESCING = 0x2C


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def unshare(flags: int) -> None:
    """Moves this thread into fresh namespaces (CLONE_NEW...). OSError when the kernel refuses."""
    _check(_libc.unshare(flags), "unshare")


def enter(descriptor: int) -> None:
    """Moves this thread into the network namespace."""
    _check(_libc.setns(descriptor, CLONE_NEWNET), "setns")


def _own() -> int:
    return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)


@contextlib.contextmanager
def back_home() -> Iterator[None]:
    """Whatever happens inside, this thread returns to the network namespace that it is in now."""
    home = _own()
    try:
        yield
    finally:
        enter(home)
        os.close(home)


@contextlib.contextmanager
def elsewhere(descriptor: int) -> Iterator[None]:
    """In another network namespace for a while."""
    with back_home():
        enter(descriptor)
        yield


def new_namespace() -> int:
    """A descriptor of a fresh network namespace, which the caller closes. OSError when the kernel refuses."""
    with back_home():
        unshare(CLONE_NEWNET)
        return _own()


def turn_off(interface: str, offloads: Sequence[Offload]) -> None:
    """In the present namespace: what a veth has no hardware for is not used. The tester sees what a card would send."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        for command in offloads:
            value = ctypes.create_string_buffer(struct.pack("@II", command, 0))
            request = struct.pack("@16sP", interface.encode(), ctypes.addressof(value)).ljust(_IFREQ_BYTES, b"\0")
            with contextlib.suppress(OSError):  # an old kernel that lacks one does not use it either
                fcntl.ioctl(control, _SIOCETHTOOL, request)
