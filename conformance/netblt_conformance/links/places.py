# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the wire link of each case, after detecting where packets can run here: network namespaces as root, network
namespaces of an ordinary user, or UDP on loopback; or the way to an implementation that runs elsewhere."""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from netblt_conformance.adapter.adapter import Adapter
from netblt_conformance.common.errors import LinkUnavailableError
from netblt_conformance.common.model import Encapsulation, Role
from netblt_conformance.links import netns, sockets, veth
from netblt_conformance.links.base import LinkFactory
from netblt_conformance.links.program import remove_leftovers
from netblt_conformance.links.transport import Transport
from netblt_conformance.links.wire import WireLink
from netblt_conformance.packets.capture import Capture

NAMESPACES = "network namespaces"
USER_NAMESPACES = "network namespaces of an ordinary user"
LOOPBACK = "UDP on loopback"
# Forces a place, for tests and for kernels that promise more than they keep.
PLACE_VARIABLE = "NETBLT_WIRE_PLACE"
_PLACES = {"namespaces": NAMESPACES, "loopback": LOOPBACK}
# Wire cases mostly wait: 967 runs wait 1450 s together and need 80 s of a processor. So many at a time disturb none on
# two processors; more would not help, because the longest case alone takes a minute.
LOCAL_JOBS = 32
PRIORITY = -10


@dataclass(frozen=True, slots=True)
class Place:
    """Where the packets of this run go."""

    words: str
    encapsulation: Encapsulation
    namespaces: bool


class WireLinkFactory(LinkFactory):
    """One program (or one conversation with a running one) for each case."""

    name = "wire"
    real_time = True

    def __init__(self, adapter: Adapter) -> None:
        self.adapter: Adapter = adapter
        self.tolerances = adapter.pixit.tolerances
        self.jobs = adapter.remote.jobs if adapter.remote else LOCAL_JOBS
        self.spare_jobs = 0 if adapter.remote else LOCAL_JOBS
        self._place: Place | None = None
        self._prepared = False
        self._working: set[Role] = set()

    # ---- what can be done here ----

    def tidy(self) -> None:
        remove_leftovers()

    def check(self) -> None:
        """Tries the whole way in a child: rights, namespaces, the program's file."""
        remove_leftovers()
        if not self.adapter.roles:
            table = "remote" if self.adapter.remote else "wire"
            raise LinkUnavailableError(f"{self.adapter.path}: no [{table}.roles]: it cannot be used with --link wire")
        for role, described in self.adapter.roles.items():
            if described.command:
                self._check_program(role, described.command)
        if self.adapter.remote is None:
            self._place = self._find_place()
        else:
            self._make_transport().close()

    def _check_program(self, role: Role, template: tuple[str, ...]) -> None:
        try:
            program = self.adapter.expand(template[:1], {})[0]
        except KeyError:
            return  # named by a parameter: the case will show it
        if shutil.which(program) is not None:
            return
        if Path(program).is_file():
            raise LinkUnavailableError(f"{self.adapter.path}: {role}: {program} is not executable: chmod +x {program}")
        hint = "run tools/build first" if "{bin}" in template[0] else "see the adapter"
        raise LinkUnavailableError(f"{self.adapter.path}: {role}: no program {program}: {hint}")

    def _find_place(self) -> Place:
        """The best that is possible here; LinkUnavailableError states why nothing is."""
        forced = os.environ.get(PLACE_VARIABLE)
        if forced is not None and forced not in _PLACES:
            raise LinkUnavailableError(f"{PLACE_VARIABLE}={forced}: must be {' or '.join(_PLACES)}")
        why_not = f"{PLACE_VARIABLE} forbids namespaces" if forced == "loopback" else in_a_child(veth.usable)
        if not why_not:
            words = NAMESPACES if os.geteuid() == 0 else USER_NAMESPACES
            return Place(words, self.adapter.encapsulations[0], namespaces=True)
        if forced == "namespaces":
            raise LinkUnavailableError(why_not)
        problem = self._loopback_problem()
        if problem:
            raise LinkUnavailableError(f"{why_not}; and UDP on loopback is no way out: {problem}")
        return Place(LOOPBACK, Encapsulation.UDP, namespaces=False)

    def _loopback_problem(self) -> str | None:
        if Encapsulation.UDP not in self.adapter.encapsulations:
            return f'{self.adapter.path.name} does not state that it supports UDP (wire.encapsulation = ["ip", "udp"])'
        for role, described in self.adapter.roles.items():
            if not any("{local_address}" in word for word in described.command):
                return (
                    f"the command for {role} in {self.adapter.path.name} has no {{local_address}}: without it cases "
                    "that run at the same time meet each other's packets"
                )
        return None

    def testing(self) -> dict[str, str]:
        found = {
            "name": self.adapter.name,
            "program": self.adapter.program(),
            "version": self.adapter.version(),
            "link": "remote" if self.adapter.remote is not None else self.name,
        }
        return {key: value for key, value in found.items() if value}

    def describe(self) -> dict[str, str]:
        about = {"kernel": f"{platform.system()} {platform.release()}"}
        if self.adapter.remote is not None:
            way = self.adapter.encapsulations[0].value
            return {**about, "place": f"remote {self.adapter.remote.address}", "encapsulation": way}
        if self._place is not None:
            return {**about, "place": self._place.words, "encapsulation": self._place.encapsulation.value}
        return about

    # ---- one case ----

    def worked(self, role: Role) -> None:
        """A transfer in this role has run: from now on exit status 127 can be believed."""
        self._working.add(role)

    def make(self, capture: Capture) -> WireLink:
        return WireLink(self.adapter, capture, self._make_transport(), self._working.__contains__)

    def _prepare(self) -> None:
        """Once in each worker. Other work on the machine shall wait rather than the tester and its implementation,
        where the kernel allows it."""
        if self._prepared:
            return
        self._prepared = True
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, PRIORITY)
        if self._place is not None and self._place.namespaces:
            netns.become_root_of_a_user_namespace()

    def _make_transport(self) -> Transport:
        remote, mtu = self.adapter.remote, self.adapter.pixit.mtu
        if remote is not None:
            way = self.adapter.encapsulations[0]
            # An active end elsewhere must know where we are; a passive one answers to where we speak from.
            own_port = self.adapter.udp_port if any(role.active for role in self.adapter.roles) else 0
            return sockets.to_host(remote.address, way, self.adapter.udp_port, mtu, remote.local_address, own_port)
        if self._place is None:
            self._place = self._find_place()
        self._prepare()
        if not self._place.namespaces:
            return sockets.loopback(self.adapter.udp_port, mtu)
        return veth.VethTransport(self._place.encapsulation, self.adapter.udp_port, mtu)


def in_a_child(question: Callable[[], str | None]) -> str | None:
    """Asks in a child: the answer may change the process permanently."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, (question() or "").encode()[:4000])
        except BaseException as error:
            os.write(writer, (str(error) or type(error).__name__).encode()[:4000])
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        message = stream.read().decode()
    os.waitpid(child, 0)
    return message or None
