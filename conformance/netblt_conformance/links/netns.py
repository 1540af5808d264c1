# SPDX-License-Identifier: GPL-2.0-or-later
"""The cable of the wire link: a veth between two network namespaces, of the implementation and of the tester."""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass
from typing import Any

from netblt_conformance.common.errors import HarnessError, LinkUnavailableError
from netblt_conformance.common.namespaces import (
    CLONE_NEWNET,
    CLONE_NEWUSER,
    Offload,
    elsewhere,
    new_namespace,
    turn_off,
    unshare,
)

# UDP: the kernel makes checksums and single packets itself, so that the tester sees what a card would send.
OFFLOADS = (Offload.SEND_CHECKSUM, Offload.TCP_SEGMENTATION, Offload.SEGMENTATION)
IUT_INTERFACE = "iut"
TESTER_INTERFACE = "tester"
PREFIX_LENGTH = 24
CARRIER_LIMIT_S = 10.0


def become_root_of_a_user_namespace() -> None:
    """For ordinary users, where the kernel allows it: network namespaces may then be made. For a process without
    threads."""
    if os.geteuid() == 0:
        return
    uid, gid = os.geteuid(), os.getegid()
    try:
        unshare(CLONE_NEWUSER)
        for name, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {gid} 1")):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:  # noqa: PTH123 - no path, a kernel file
                file.write(text)
        # The old network namespace belongs to another user namespace and cannot be entered again: leave it permanently.
        unshare(CLONE_NEWNET)
    except OSError as error:
        raise LinkUnavailableError(
            f"the wire link needs root, or user namespaces, which this kernel refuses ({error.strerror}): run it with "
            "sudo, or allow them (sysctl kernel.apparmor_restrict_unprivileged_userns=0 on Ubuntu); "
            "without either, --link sim and --link pipe need no rights at all"
        ) from None


@dataclass(slots=True)
class Wire:
    """The two namespaces and what is needed to send a frame between them."""

    iut_namespace: int
    tester_namespace: int
    iut_mac: bytes
    tester_mac: bytes

    def close(self) -> None:
        for descriptor in (self.iut_namespace, self.tester_namespace):
            with contextlib.suppress(OSError):
                os.close(descriptor)


def make_wire(iut_address: str, neighbours: tuple[str, ...], mtu: int = 1500) -> Wire:
    """Makes both namespaces. The tester's end has no address, so its kernel answers nothing by itself."""
    try:
        iut, tester = new_namespace(), new_namespace()
        with elsewhere(tester):
            iut_mac, tester_mac = make_veth(TESTER_INTERFACE, IUT_INTERFACE, iut, mtu)
    except OSError as error:
        raise LinkUnavailableError(
            f"network namespaces cannot be made here ({error.strerror or error}): run as root or with CAP_SYS_ADMIN "
            "and CAP_NET_ADMIN, or use --link sim or --link pipe, which need no rights"
        ) from None
    wire = Wire(iut, tester, iut_mac, tester_mac)
    with elsewhere(iut):
        configure(IUT_INTERFACE, iut_address, neighbours, tester_mac)
        turn_off(IUT_INTERFACE, OFFLOADS)
        await_carrier(IUT_INTERFACE)
    with elsewhere(tester):
        await_carrier(TESTER_INTERFACE)
    return wire


def _iproute() -> Any:
    from pyroute2 import IPRoute

    return IPRoute()


def _mac(route: Any, index: int) -> bytes:
    return bytes.fromhex(route.get_links(index)[0].get_attr("IFLA_ADDRESS").replace(":", ""))


def make_veth(near: str, far: str, namespace: int, mtu: int) -> tuple[bytes, bytes]:
    """A veth pair: `near` in the present namespace, `far` in another one. Returns the MAC addresses of `far` and
    `near`."""
    with _iproute() as route:
        route.link("add", ifname=near, kind="veth", peer={"ifname": far, "mtu": mtu}, mtu=mtu)
        here = route.link_lookup(ifname=near)[0]
        there = route.link_lookup(ifname=far)[0]
        macs = _mac(route, there), _mac(route, here)
        route.link("set", index=there, net_ns_fd=namespace)
        route.link("set", index=here, state="up")
    return macs


def await_carrier(name: str) -> None:
    """The end that came up first drops what it is given, without a report, until the kernel's link watch has run."""
    give_up = time.monotonic() + CARRIER_LIMIT_S
    with _iproute() as route:
        index = route.link_lookup(ifname=name)[0]
        while route.get_links(index)[0].get_attr("IFLA_OPERSTATE") != "UP":
            if time.monotonic() > give_up:
                raise HarnessError(f"the veth end {name!r} did not come up within {CARRIER_LIMIT_S:g} s")
            time.sleep(0.001)


def configure(interface: str, address: str, neighbours: tuple[str, ...], mac: bytes) -> None:
    """In the present namespace: the address of an interface, and fixed neighbours that all have one MAC address."""
    with _iproute() as route:
        index = route.link_lookup(ifname=interface)[0]
        route.addr("add", index=index, address=address, prefixlen=PREFIX_LENGTH)
        route.link("set", index=index, state="up")
        route.link("set", index=route.link_lookup(ifname="lo")[0], state="up")
        for neighbour in neighbours:
            route.neigh("add", dst=neighbour, lladdr=mac.hex(":"), ifindex=index, state="permanent")
