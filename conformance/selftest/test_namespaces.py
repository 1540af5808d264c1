# SPDX-License-Identifier: GPL-2.0-or-later
"""Network namespaces: a fresh one for each caller, and the way back from it, whatever happens inside."""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from netblt_conformance.common import namespaces
from netblt_conformance.common.namespaces import Offload

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")


def present() -> str:
    return str(Path("/proc/thread-self/ns/net").readlink())


HOME = present()  # before any test has left it


@pytest.fixture
def namespace() -> Iterator[int]:
    descriptor = namespaces.new_namespace()
    yield descriptor
    os.close(descriptor)


def test_a_new_namespace_is_another_one_and_the_caller_stays_where_it_is(namespace: int) -> None:
    other = namespaces.new_namespace()
    assert present() == HOME
    with namespaces.elsewhere(namespace):
        first = present()
        with namespaces.elsewhere(other):
            second = present()
        assert present() == first
    os.close(other)
    assert len({HOME, first, second}) == 3


def test_an_exception_elsewhere_leads_home(namespace: int) -> None:
    with pytest.raises(ValueError, match="inside"), namespaces.elsewhere(namespace):
        raise ValueError("inside")
    assert present() == HOME


def test_an_offload_that_is_turned_off_is_off(namespace: int) -> None:
    with namespaces.elsewhere(namespace):
        subprocess.run(["ip", "link", "add", "one", "type", "veth", "peer", "name", "two"], check=True)
        before = gso("one")
        namespaces.turn_off("one", [Offload.SEGMENTATION])
        assert (before, gso("one"), gso("two")) == (True, False, True)


def gso(interface: str) -> bool:
    """Whether generic segmentation offload (ETHTOOL_GGSO) is on."""
    value = ctypes.create_string_buffer(struct.pack("@II", 0x23, 0))
    request = struct.pack("@16sP", interface.encode(), ctypes.addressof(value)).ljust(40, b"\0")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, 0x8946, request)
    return bool(struct.unpack("@II", value.raw[:8])[1])
