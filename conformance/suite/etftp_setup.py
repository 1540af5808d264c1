# SPDX-License-Identifier: GPL-2.0-or-later
"""R1986: what RFC 1986 changes in OPEN and RESPONSE. Runs with --profile etftp."""

from typing import Any

from netblt_conformance import wire
from netblt_conformance.cases.case import ACTIVE, ALL_ROLES, PASSIVE, Case, case
from netblt_conformance.common.model import MICROSECONDS_PER_S as S
from netblt_conformance.common.model import Feature, Stop
from netblt_conformance.packets import etftp, ipv4
from netblt_conformance.packets.packets import Type
from netblt_conformance.peer import ReceiverPeer, SenderPeer
from netblt_conformance.peer.exchange import Seen, UnmetError

FILE = "/maps/overlay.img"
OF_THE_HOST = (1, 2)  # ICMP and IGMP
OPENING_BYTES = 40
RESERVED = 0xFFF0
SMALLEST, LARGEST, LARGEST_MEASURED = 16, 1448, 2048
LARGEST_BUFFER = 524_288


def opening_of(peer: ReceiverPeer | SenderPeer) -> Seen:
    """The OPEN or RESPONSE of the implementation."""
    return (peer.opens or peer.responses)[0]


def body_of(seen: Seen) -> Any:
    """The body of a packet as the scapy layer of ETFTP reads it."""
    return wire.ETFTP(seen.wire).payload


@case(
    "R1986-01",
    roles=ALL_ROLES,
    needs=(Feature.DATAGRAMS,),
    kills_nothing="what carries a packet lies outside the core, and virtual links have no UDP",
)
def test_every_packet_rides_in_udp_with_the_port_of_the_server(t: Case) -> None:
    peer = t.peer(1024)
    peer.connect()
    peer.finish()
    peer.expect_success()
    for number, frame in enumerate(t.link.capture.frames):
        if frame.sent or frame.packet[9] in OF_THE_HOST:
            continue
        datagram = ipv4.unwrap_udp(ipv4.unwrap(frame.packet))
        t.must(datagram is not None, f"a packet of IP protocol {frame.packet[9]} came", number, expected="UDP")
        assert datagram is not None
        port = datagram.destination_port if t.role.active else datagram.source_port
        t.must(
            port == etftp.SERVER_PORT, f"the server's UDP port is {port}", number, expected=f"port {etftp.SERVER_PORT}"
        )


@case("R1986-02", roles=ALL_ROLES)
def test_open_and_response_hold_a_radio_delay_before_the_string(t: Case) -> None:
    peer = t.peer(1024, iut={"client_string": FILE})
    peer.extras.radio_delay_s = 3
    peer.connect()
    seen = opening_of(peer)
    size = seen.packet.length + (len(seen.wire) - len(seen.packet.raw))
    t.must(
        size >= OPENING_BYTES,
        f"{size} bytes have no room for a radio delay",
        seen.frame,
        expected="room for a radio delay",
    )
    body = body_of(seen)
    t.should(
        body.pad == 0, f"the padding after the radio delay is {body.pad:#06x}", seen.frame, expected="zeros as padding"
    )
    t.observe("radio delay", f"{body.radio_delay_s} s")
    if t.role.active:
        text = bytes(seen.wire[OPENING_BYTES:size]).split(b"\0")[0]
        t.must(
            text == FILE.encode(),
            f"the name at byte {OPENING_BYTES} is {text!r}",
            seen.frame,
            expected=f"{FILE!r}, the name of the file",
        )
    peer.finish()
    peer.expect_success()


FLAGS = {"T and R": etftp.BINARY | etftp.RENEGOTIATE, "T": etftp.BINARY, "neither": 0}


@case("R1986-03", roles=ALL_ROLES, variants=tuple(FLAGS))
def test_the_flags_t_and_r_are_set_and_answered(t: Case) -> None:
    peer = t.peer(1024)
    proposed = peer.extras.flags = FLAGS[t.variant]
    peer.connect()
    seen = opening_of(peer)
    flags = int(body_of(seen).flags)
    t.must(not flags & RESERVED, f"flags {flags:#06x}", seen.frame, expected="reserved flags that are zero")
    t.observe("transfer mode", "binary" if flags & etftp.BINARY else "netascii")
    t.observe("renegotiation of the packet size", "on" if flags & etftp.RENEGOTIATE else "off")
    if not t.role.active:
        turned_on = flags & ~proposed & etftp.RENEGOTIATE
        t.must(not turned_on, "RESPONSE sets R, which OPEN does not", seen.frame, expected="the flags of the OPEN")
        t.should(
            not (flags ^ proposed) & etftp.BINARY, "RESPONSE changes T", seen.frame, expected="the flags of the OPEN"
        )
    peer.finish()
    peer.expect_success()


@case("R1986-04", roles=ALL_ROLES)
def test_m_is_0_where_the_active_end_sends(t: Case) -> None:
    peer = t.peer(1024)
    peer.connect()
    seen = opening_of(peer)
    mode = int(body_of(seen).flags) & etftp.MODE
    active_sends = t.role.active == t.role.sender
    t.should(bool(mode) != active_sends, f"M is {mode} where the active end {'sends' if active_sends else 'receives'}")
    peer.finish()
    peer.expect_success()


NAMES = {"3 characters": "/ab", "4 characters": "/abc", "5 characters": "/abcd"}


@case("R1986-18", "R1986-19", roles=ACTIVE, variants=tuple(NAMES))
def test_the_name_of_the_file_is_a_terminated_and_padded_string(t: Case) -> None:
    peer = t.peer(1024, iut={"client_string": NAMES[t.variant]})
    peer.connect()
    seen = opening_of(peer)
    field = bytes(seen.wire[OPENING_BYTES:])
    expect_string(t, seen, field, NAMES[t.variant])
    peer.finish()
    peer.expect_success()


def expect_string(t: Case, seen: Seen, field: bytes, text: str) -> None:
    """The field holds the text, NUL and fill up to a multiple of 4."""
    t.must(
        field[-1:] == b"\0",
        f"the string field {field!r} does not end in NUL",
        seen.frame,
        expected="a string that ends in NUL",
    )
    t.must(
        len(field) % 4 == 0,
        f"the string field {field!r} is no multiple of 4 bytes",
        seen.frame,
        expected="a multiple of 4 bytes",
    )
    t.must(field.rstrip(b"\0") == text.encode(), f"the string is {field!r}", seen.frame, expected=f"{text!r}")


@case("R1986-19", roles=ACTIVE)
def test_open_names_the_file(t: Case) -> None:
    peer = t.peer(1024, iut={"client_string": FILE})
    peer.connect()
    seen = opening_of(peer)
    name = bytes(seen.wire[OPENING_BYTES:]).split(b"\0")[0].decode("utf-8", "replace")
    t.must(name == FILE, f"OPEN names {name!r}", seen.frame, expected=f"{FILE!r}, the name of the file")


@case("R1986-18", roles=ALL_ROLES, needs=(Feature.QUIT,))
def test_the_reason_of_a_quit_is_a_terminated_and_padded_string(t: Case) -> None:
    peer = t.peer(4096)
    with t.preamble():
        peer.connect()
        peer.listen(t.tolerances.crossing_us)
        t.link.stop(Stop.QUIT, "the client")
        seen = peer.expect_type(Type.QUIT, 15 * S)
    field = bytes(seen.wire[12 : seen.packet.length])
    t.must(
        not field or field[-1] == 0,
        f"the reason {field!r} does not end in NUL",
        seen.frame,
        expected="a string that ends in NUL",
    )
    t.must(
        len(field) % 4 == 0,
        f"the reason {field!r} is no multiple of 4 bytes",
        seen.frame,
        expected="a multiple of 4 bytes",
    )


# ---- sizes ----

PACKET_SIZES = {"8 bytes": 8, "2048 bytes": 2048, "8192 bytes": 8192}


def judge_packet_size(t: Case, size: int, seen: Seen) -> None:
    t.must(
        SMALLEST <= size <= LARGEST_MEASURED,
        f"data packets of {size} bytes",
        seen.frame,
        expected="data packets of 16 to 1448 bytes",
    )
    t.should(
        size <= LARGEST,
        f"data packets of {size} bytes, which 2.6 uses and 2.4 excludes",
        seen.frame,
        expected="less than 1448 bytes, as 2.4 says",
    )


@case("R1986-09", roles=ACTIVE, variants=tuple(PACKET_SIZES))
def test_an_open_keeps_the_range_of_packet_sizes(t: Case) -> None:
    peer = t.peer(1024, iut={"packet_size": PACKET_SIZES[t.variant], "buffer_size": 16_384})
    with t.preamble():
        seen = peer.await_open()
    judge_packet_size(t, seen.packet.packet_size, seen)


def answer_to(peer: ReceiverPeer | SenderPeer, **proposal: int) -> Seen | None:
    """The RESPONSE to a proposal; None when it is refused or gets no answer, which is as good."""
    try:
        seen = peer.propose(Type.RESPONSE, Type.REFUSED, Type.ABORT, **proposal)
    except UnmetError:
        return None
    return seen if seen.packet.type is Type.RESPONSE else None


@case("R1986-09", roles=PASSIVE, variants=tuple(PACKET_SIZES))
def test_a_response_keeps_the_range_of_packet_sizes(t: Case) -> None:
    peer = t.peer(1024, iut={"packet_size": 16_384, "buffer_size": 16_384})
    seen = answer_to(peer, packet_size=PACKET_SIZES[t.variant], buffer_size=16_384)
    t.observe(f"a proposal of {t.variant} in a packet", "accepted" if seen else "refused")
    if seen is not None:
        judge_packet_size(t, seen.packet.packet_size, seen)


def judge_blocks(t: Case, seen: Seen) -> None:
    buffer, packet = seen.packet.buffer_size, seen.packet.packet_size
    t.must(
        packet > 0 and buffer % packet == 0,
        f"{buffer} bytes are no whole packets of {packet}",
        seen.frame,
        expected="a buffer of whole packets",
    )


@case("R1986-24", roles=ACTIVE)
def test_an_open_proposes_buffers_of_whole_packets(t: Case) -> None:
    peer = t.peer(1024, iut={"buffer_size": 1000, "packet_size": 256})
    with t.preamble():
        seen = peer.await_open()
    judge_blocks(t, seen)


@case("R1986-24", roles=PASSIVE)
def test_a_response_restricts_to_buffers_of_whole_packets(t: Case) -> None:
    peer = t.peer(1024, iut={"buffer_size": 1000, "packet_size": 256})
    seen = answer_to(peer, buffer_size=2048, packet_size=256)
    if seen is not None:
        judge_blocks(t, seen)


def judge_buffer(t: Case, seen: Seen) -> None:
    size = seen.packet.buffer_size
    t.should(
        size <= LARGEST_BUFFER, f"a buffer of {size} bytes", seen.frame, expected=f"at most {LARGEST_BUFFER} bytes"
    )


@case("R1986-25", roles=ACTIVE)
def test_an_open_keeps_the_largest_buffer(t: Case) -> None:
    peer = t.peer(1024, iut={"buffer_size": 1 << 20, "packet_size": 1024})
    with t.preamble():
        seen = peer.await_open()
    judge_buffer(t, seen)


@case("R1986-25", roles=PASSIVE)
def test_a_response_keeps_the_largest_buffer(t: Case) -> None:
    peer = t.peer(1024, iut={"buffer_size": 1 << 20, "packet_size": 1024})
    seen = answer_to(peer, buffer_size=1 << 20, packet_size=1024)
    if seen is not None:
        judge_buffer(t, seen)
