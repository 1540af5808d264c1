# SPDX-License-Identifier: GPL-2.0-or-later
"""The network of one meeting: two hosts and the flakeway between them, in three network namespaces."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from pathlib import Path
from typing import Any

from netblt_conformance.bakeoff.model import LISTENER_ADDRESS, OPENER_ADDRESS
from netblt_conformance.common import namespaces, paths
from netblt_conformance.common.child import die_with_parent
from netblt_conformance.common.errors import HarnessError, LinkUnavailableError
from netblt_conformance.common.model import Encapsulation
from netblt_conformance.links import netns, veth
from netblt_conformance.links.process import Process
from netblt_conformance.links.transport import Surroundings

LEFT, RIGHT, HOST = "left", "right", "eth0"
MTU = 1500
_READY_S = 10.0
_END_S = 10.0
_LOOK_AGAIN_S = 0.002


class Host(Surroundings):
    """Where one implementation runs."""

    def __init__(self, namespace: int, addresses: tuple[str, str], encapsulation: Encapsulation, udp_port: int) -> None:
        """`addresses`: its own and its peer's."""
        self.namespace = namespace
        self.address, self.peer_address = addresses
        self.encapsulation = encapsulation
        self.udp_port = udp_port

    def values(self) -> dict[str, str]:
        return {
            "local_address": self.address,
            "peer_address": self.peer_address,
            "local_udp_port": str(self.udp_port),
            "peer_udp_port": str(self.udp_port),
        }

    def before_exec(self) -> None:
        namespaces.enter(self.namespace)

    def listens(self, pid: int) -> bool:
        return veth.has_socket(pid, self.encapsulation, self.udp_port)


class Network:
    """left [the relay's namespace] right, with a host at each side. A context manager."""

    def __init__(self, encapsulation: Encapsulation, udp_port: int) -> None:
        self.udp_port = udp_port
        self._namespaces: list[int] = []
        try:
            self._namespaces = [namespaces.new_namespace() for _ in range(3)]
            self._connect()
        except OSError as error:
            self.close()
            raise LinkUnavailableError(
                f"network namespaces cannot be made here ({error.strerror or error}): run as root or with "
                "CAP_SYS_ADMIN and CAP_NET_ADMIN"
            ) from None
        left, self.middle, right = self._namespaces
        addresses = OPENER_ADDRESS, LISTENER_ADDRESS
        self.opener = Host(left, addresses, encapsulation, udp_port)
        self.listener = Host(right, addresses[::-1], encapsulation, udp_port)

    def _connect(self) -> None:
        left, middle, right = self._namespaces
        with namespaces.elsewhere(middle):
            macs = [netns.make_veth(name, HOST, there, MTU)[0] for name, there in ((LEFT, left), (RIGHT, right))]
        sides = ((left, OPENER_ADDRESS, LISTENER_ADDRESS, macs[1]), (right, LISTENER_ADDRESS, OPENER_ADDRESS, macs[0]))
        for there, own, other, mac in sides:
            with namespaces.elsewhere(there):
                netns.configure(HOST, own, (other,), mac)
                namespaces.turn_off(HOST, netns.OFFLOADS)
                netns.await_carrier(HOST)
        with namespaces.elsewhere(middle):
            for name in (LEFT, RIGHT):
                netns.await_carrier(name)

    def __enter__(self) -> Network:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        for descriptor in self._namespaces:
            with contextlib.suppress(OSError):
                os.close(descriptor)
        self._namespaces = []


class Relay:
    """The program flakeway in the middle of a network. A context manager; `end` gives its statistics."""

    def __init__(self, network: Network, rules: tuple[str, ...], seed: int, capture: Path, limit_s: float) -> None:
        program = paths.build() / "bin" / "flakeway"
        if not program.is_file():
            raise LinkUnavailableError(f"{program} is not there: run tools/build first")
        statements = capture.with_suffix(".rules")
        statements.write_text("".join(f"{rule}\n" for rule in rules), encoding="utf-8")
        command = [str(program), "--left", LEFT, "--right", RIGHT, "--seed", str(seed), "--rules", str(statements)]
        command += ["--udp-port", str(network.udp_port), "--capture", str(capture), "--json"]

        def before_exec() -> None:
            namespaces.enter(network.middle)
            die_with_parent()

        self._process = Process([*command, "--duration", f"{limit_s:g}"], {}, before_exec)
        try:
            self._await_ready()
        except BaseException:
            self._process.free()
            raise
        finally:
            statements.unlink()

    def _await_ready(self) -> None:
        give_up = time.monotonic() + _READY_S
        while "flakeway: ready" not in self._process.output():
            if self._process.exit_code is not None or time.monotonic() > give_up:
                raise HarnessError(f"the flakeway did not start: {self._process.last_words() or 'it printed nothing'}")
            time.sleep(_LOOK_AGAIN_S)

    def __enter__(self) -> Relay:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.free()

    def end(self) -> dict[str, Any]:
        """Its statistics; the capture is complete then."""
        if self._process.exit_code is None:
            self._process.popen.send_signal(signal.SIGTERM)
        if self._process.wait(_END_S) != 0:
            raise HarnessError(f"the flakeway {self._process.how_it_ended()}: {self._process.last_words()}")
        found: dict[str, Any] = json.loads(self._process.output().splitlines()[-1])
        return found


def usable() -> str | None:
    """Why no network can be made here; None when it can. For a process without threads, which is then changed."""
    try:
        netns.become_root_of_a_user_namespace()
        Network(Encapsulation.IP, 0).close()
    except (LinkUnavailableError, HarnessError, OSError) as error:
        return str(error)
    return None
