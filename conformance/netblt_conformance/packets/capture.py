# SPDX-License-Identifier: GPL-2.0-or-later
"""Every packet of one case, as the tester sent and received it, kept until the verdict is known: then one pcapng."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from netblt_conformance.common.words import fit_lines
from netblt_conformance.packets import ipv4

if TYPE_CHECKING:
    from netblt_conformance.simlib import PcapngWriter

NANOSECONDS_PER_US = 1_000
# The comment of a packet that the tester ignores, as if the network had lost it.
COUNTS_AS_LOST = "the tester treats it as lost on the way"


@dataclass(slots=True)
class Frame:
    time_us: int
    packet: bytes  # from the IPv4 header on
    sent: bool  # by the tester
    comments: list[str] = field(default_factory=list)


class Capture:
    """Interface "tester" of one case. Times are microseconds since the case began."""

    def __init__(self, udp_ports: tuple[int, int] | None = None) -> None:
        """`udp_ports`: of the implementation and of all others, where packets are carried in UDP."""
        self._udp_ports = udp_ports
        self.frames: list[Frame] = []
        self._identification: dict[bytes, int] = {}

    def add(self, time_us: int, payload: bytes, source: bytes, destination: bytes, *, sent: bool) -> int:
        """Records a NETBLT packet that never had an IP header; IP IDs climb for each emitter. Answers the frame."""
        identification = self._identification.get(source, 0) + 1
        self._identification[source] = identification
        if self._udp_ports is None:
            return self.add_ip(time_us, ipv4.wrap(payload, source, destination, identification), sent=sent)
        iut, other = self._udp_ports
        ports = (other, iut) if sent else (iut, other)
        return self.add_ip(time_us, ipv4.wrap_udp(payload, source, destination, ports, identification), sent=sent)

    def add_ip(self, time_us: int, packet: bytes, *, sent: bool) -> int:
        self.frames.append(Frame(time_us, packet, sent))
        return len(self.frames) - 1

    def comment(self, frame: int, text: str) -> None:
        self.frames[frame].comments.append(fit_lines(text))

    def write(self, path: Path) -> None:
        """One pcapng. The compiled writer is loaded here, so that reading a catalogue needs nothing built."""
        from netblt_conformance.simlib import PcapngWriter

        writer = PcapngWriter()
        self.add_to(writer, "tester")
        writer.save(path)

    def add_to(self, writer: PcapngWriter, interface: str) -> None:
        """The frames as packets of a new interface of a pcapng file."""
        from netblt_conformance.simlib import CaptureDirection

        number = writer.interface(interface)
        for frame in self.frames:
            direction = CaptureDirection.OUTBOUND if frame.sent else CaptureDirection.INBOUND
            comment = "\n".join(frame.comments) or None
            writer.packet(
                number, frame.time_us * NANOSECONDS_PER_US, frame.packet, comment=comment, direction=direction
            )
