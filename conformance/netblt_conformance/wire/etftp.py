# SPDX-License-Identifier: GPL-2.0-or-later
# scapy.contrib.description = NETBLT in the dialect of ETFTP (RFC 1986)
# scapy.contrib.status = loads
"""The dialect of RFC 1986: OPEN and RESPONSE know of radios, OK and NULL-ACK of another packet size (R1986-01..05).

    IP(dst="10.0.0.2") / UDP(sport=1024, dport=1818) / ETFTP(local_port=1, foreign_port=2) / ETFTPOpen(string="a.tar")

It rides in UDP, the server on port 1818. What it does not change it shares with RFC 998.
"""

from __future__ import annotations

from typing import Any, ClassVar

from scapy.fields import PacketListField, ShortField, XShortField
from scapy.layers.inet import UDP
from scapy.packet import bind_bottom_up, bind_layers

from netblt_conformance.wire.control import (
    LARGEST_COUNT,
    OK,
    ControlMessage,
    NETBLTOk,
    message_head,
    next_message,
)
from netblt_conformance.wire.netblt import CONTROL, NETBLT, NULL_ACK, OPEN, RESPONSE, Layers
from netblt_conformance.wire.scapy_edge import Packet
from netblt_conformance.wire.setup import setup_fields

ETFTP_PORT = 1818
# Lowest bit first. M: 1 = READ here, which is the reverse of RFC 998 (R1986-04). C: data are checksummed. T: binary.
# R: the packet size may change.
SETUP_FLAGS = ["M", "C", "T", "R", *(f"bit{number}" for number in range(4, 16))]


def open_fields() -> list[Any]:
    """OPEN and RESPONSE: those of RFC 998, the radio's delay before the string (R1986-02)."""
    delay = (ShortField("radio_delay_s", 0), XShortField("pad", 0))
    return setup_fields(SETUP_FLAGS, buffer_size=8192, before_string=delay)


class ETFTPOpen(Packet):
    """Asks for a connection."""

    name = "ETFTP OPEN"
    minimum_bytes = 28
    fields_desc: ClassVar[list[Any]] = open_fields()


class ETFTPResponse(Packet):
    """Accepts one."""

    name = "ETFTP RESPONSE"
    minimum_bytes = 28
    fields_desc: ClassVar[list[Any]] = open_fields()


class ETFTPNullAck(Packet):
    """Acknowledges, and confirms changed values (R1986-05, R1986-06)."""

    name = "ETFTP NULL-ACK"
    minimum_bytes = 8
    fields_desc: ClassVar[list[Any]] = [
        ShortField("high_seq", 0),
        ShortField("burst_size", 5),
        ShortField("burst_interval_ms", 40),
        ShortField("packet_size", 0),
    ]


class ETFTPOk(ControlMessage):
    """A buffer has arrived whole; offers values for later ones, the packet size among them."""

    name = "ETFTP OK"
    fields_desc: ClassVar[list[Any]] = [
        *message_head(OK),
        ShortField("burst_size", 5),
        ShortField("burst_interval_ms", 40),
        ShortField("control_timer_ms", 500),
        ShortField("packet_size", 0),
    ]


def next_etftp_message(control: Any, messages: list[Any], current: Any, remain: bytes) -> type[Any] | None:
    """As in RFC 998, but for OK."""
    found = next_message(control, messages, current, remain)
    return ETFTPOk if found is NETBLTOk else found


class ETFTPControl(Packet):
    """Control messages in the order of their sequence numbers."""

    name = "ETFTP CONTROL"
    minimum_bytes = 0
    when_empty: ClassVar[dict[str, Any]] = {}
    fields_desc: ClassVar[list[Any]] = [
        PacketListField("messages", [], next_cls_cb=next_etftp_message, max_count=LARGEST_COUNT),
    ]


class ETFTP(NETBLT):
    """The header of RFC 998 with the bodies of RFC 1986."""

    name = "ETFTP"
    match_subclass = True
    bodies: ClassVar[Layers] = {
        **NETBLT.bodies,
        OPEN: ETFTPOpen,
        RESPONSE: ETFTPResponse,
        NULL_ACK: ETFTPNullAck,
        CONTROL: ETFTPControl,
    }


for _code, _body in ETFTP.bodies.items():
    bind_layers(ETFTP, _body, type=_code)
bind_bottom_up(UDP, ETFTP, dport=ETFTP_PORT)
bind_bottom_up(UDP, ETFTP, sport=ETFTP_PORT)
bind_layers(UDP, ETFTP, dport=ETFTP_PORT)
