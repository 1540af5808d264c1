# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures of ETFTP (RFC 1986): in UDP, and each breaks one of the few rules that this dialect has of its own."""

from __future__ import annotations

from collections.abc import Callable

from pcaps.tools.dialects import BUFFER_BYTES, ETFTP, ETFTP_PORT, PACKET_BYTES
from pcaps.tools.exchange import ADDRESSES, RECEIVER, SENDER, Exchange, Frame, peer_of, udp_in_ipv4
from pcaps.tools.octets import Message, resend
from pcaps.tools.octets import ok as ok_of_rfc998

UDP_PORTS = {SENDER: 40_000, RECEIVER: ETFTP_PORT}
PORTS = {SENDER: (1024, 1), RECEIVER: (1, 1024)}
PER_BUFFER = BUFFER_BYTES // PACKET_BYTES


class EtftpTalk(Exchange):
    """The client puts a file of some buffers."""

    def carried(self, emitter: str, identification: int, octets: bytes) -> bytes:
        """The packet in UDP."""
        peer = peer_of(emitter)
        ports = (UDP_PORTS[emitter], UDP_PORTS[peer])
        return udp_in_ipv4(ADDRESSES[emitter], ADDRESSES[peer], identification, ports, octets)

    def sets_up(self, kind: str, packet_bytes: int = PACKET_BYTES) -> Frame:
        """OPEN of the sender or RESPONSE of the receiver."""
        emitter = SENDER if kind == "OPEN" else RECEIVER
        string = "maps/overlay.img" if kind == "OPEN" else ""
        content = ETFTP.setup(kind, PORTS[emitter], string, self.buffers * BUFFER_BYTES, packet_bytes)
        return self.capture(self.emit(emitter, content))

    def says_so(self, *messages: Message) -> Frame:
        return self.capture(self.emit(RECEIVER, ETFTP.control(PORTS[RECEIVER], *messages)))

    def puts(self, buffer: int, *numbers: int, ack: int) -> list[Frame]:
        """The packets of a buffer, all of them unless some are named."""
        last = buffer == self.buffers - 1
        frames = []
        for number in numbers or range(PER_BUFFER):
            kind = "LDATA" if number == PER_BUFFER - 1 else "DATA"
            octets = bytes((buffer * PER_BUFFER + number + at) % 251 for at in range(PACKET_BYTES))
            packet = ETFTP.data(kind, PORTS[SENDER], buffer, number, ack, octets, last)
            frames.append(self.capture(self.emit(SENDER, packet)))
        return frames

    def confirms(self, ack: int) -> Frame:
        return self.capture(self.emit(SENDER, ETFTP.null_ack(PORTS[SENDER], ack, 0)))

    def closes(self) -> None:
        """QUIT, answered with DONE."""
        self.capture(self.emit(SENDER, ETFTP.text("QUIT", PORTS[SENDER], "done")))
        self.capture(self.emit(RECEIVER, ETFTP.bare("DONE", PORTS[RECEIVER])))


def kept() -> Exchange:
    """OPEN is repeated after five seconds, half of a buffer is lost, packets get smaller."""
    talk = EtftpTalk("A put of two buffers that keeps every rule of RFC 1986.", buffers=2)
    talk.sets_up("OPEN")
    talk.wait(5_100)
    talk.sets_up("OPEN")
    talk.sets_up("RESPONSE")
    talk.says_so(ETFTP.go(1, 0), ETFTP.go(2, 1))
    talk.puts(0, 0, 3, ack=2)
    talk.says_so(resend(3, 0, [1, 2]))
    talk.puts(0, 1, 2, ack=3)
    talk.says_so(ETFTP.ok(4, 0))
    talk.confirms(4)
    talk.puts(1, ack=4)
    talk.says_so(ETFTP.ok(5, 1))
    talk.confirms(5)
    talk.closes()
    return talk


def from_one() -> Exchange:
    """GO 1 where the first buffer is 0."""
    talk = EtftpTalk("The receiver numbers buffers from 1, as version 4 does.", buffers=3)
    talk.sets_up("OPEN")
    talk.sets_up("RESPONSE")
    first = talk.says_so(ETFTP.go(1, 1), ETFTP.go(2, 2))
    talk.puts(1, ack=2)
    talk.puts(2, ack=2)
    talk.says_so(ETFTP.ok(3, 1), ETFTP.ok(4, 2))
    talk.confirms(4)
    talk.closes()
    talk.wrong("R1986-07", first, RECEIVER, [])
    return talk


def too_large() -> Exchange:
    """More than a datagram on Ethernet holds."""
    talk = EtftpTalk("OPEN and RESPONSE agree on packets of 2048 bytes.", buffers=2)
    for kind, end in (("OPEN", SENDER), ("RESPONSE", RECEIVER)):
        talk.looks_like("R1986-09", talk.sets_up(kind, 2048), end)
    return talk


def too_small() -> Exchange:
    talk = EtftpTalk("OPEN and RESPONSE agree upon data packets of 8 bytes.", buffers=2)
    for kind, end in (("OPEN", SENDER), ("RESPONSE", RECEIVER)):
        talk.wrong("R1986-09", talk.sets_up(kind, 8), end, [])
    return talk


def goes_back() -> Exchange:
    """What was acknowledged is acknowledged no more."""
    talk = EtftpTalk("High-seq falls from 4 to 2 in the middle of a buffer.", buffers=8)
    talk.sets_up("OPEN")
    talk.sets_up("RESPONSE")
    talk.says_so(ETFTP.go(1, 0), ETFTP.go(2, 1), ETFTP.go(3, 2), ETFTP.go(4, 3))
    for buffer in range(3):
        talk.puts(buffer, ack=4)
    wrong = talk.puts(3, 0, ack=2)[0]
    talk.puts(3, 1, 2, 3, ack=4)
    talk.looks_like("R1986-14", wrong, SENDER)
    return talk


def no_size() -> Exchange:
    """R is set, and an OK has zeros where the size belongs."""
    talk = EtftpTalk("Both ends set R, and an OK carries no packet size.", buffers=2)
    talk.sets_up("OPEN")
    talk.sets_up("RESPONSE")
    talk.says_so(ETFTP.go(1, 0), ETFTP.go(2, 1))
    talk.puts(0, ack=2)
    silent = talk.says_so(ok_of_rfc998(3, 0, burst_size=2, burst_interval_ms=50))
    talk.puts(1, ack=3)
    talk.looks_like("R1986-05", silent, RECEIVER)
    return talk


SCRIPTS: dict[str, Callable[[], Exchange]] = {
    "r1986-like-kept": kept,
    "r198605-no-size": no_size,
    "r198607-from-one": from_one,
    "r198609-too-large": too_large,
    "r198609-too-small": too_small,
    "r198614-goes-back": goes_back,
}
