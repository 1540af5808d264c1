# SPDX-License-Identifier: GPL-2.0-or-later
"""NETBLT (RFC 998) as scapy layers; see `netblt` for how to build and read packets, `fast` for what needs no scapy."""

from netblt_conformance.wire.control import NETBLTControl, NETBLTGo, NETBLTOk, NETBLTResend
from netblt_conformance.wire.data import NETBLTData, NETBLTLData, NETBLTNullAck
from netblt_conformance.wire.etftp import (
    ETFTP,
    ETFTP_PORT,
    ETFTPControl,
    ETFTPNullAck,
    ETFTPOk,
    ETFTPOpen,
    ETFTPResponse,
)
from netblt_conformance.wire.fast import Header, checksum_ok, data_checksum_ok, peek
from netblt_conformance.wire.fields import TextField, Verbatim
from netblt_conformance.wire.netblt import IP_PROTOCOL, NETBLT, TYPE_NAMES, UDP_PORT
from netblt_conformance.wire.setup import NETBLTAbort, NETBLTOpen, NETBLTQuit, NETBLTRefused, NETBLTResponse
from netblt_conformance.wire.version4 import (
    NETBLT4Control,
    NETBLT4Data,
    NETBLT4LData,
    NETBLT4NullAck,
    NETBLT4Open,
    NETBLT4Resend,
    NETBLT4Response,
    NETBLT5Message,
)

__all__ = [
    "ETFTP",
    "ETFTP_PORT",
    "IP_PROTOCOL",
    "NETBLT",
    "TYPE_NAMES",
    "UDP_PORT",
    "ETFTPControl",
    "ETFTPNullAck",
    "ETFTPOk",
    "ETFTPOpen",
    "ETFTPResponse",
    "Header",
    "NETBLT4Control",
    "NETBLT4Data",
    "NETBLT4LData",
    "NETBLT4NullAck",
    "NETBLT4Open",
    "NETBLT4Resend",
    "NETBLT4Response",
    "NETBLT5Message",
    "NETBLTAbort",
    "NETBLTControl",
    "NETBLTData",
    "NETBLTGo",
    "NETBLTLData",
    "NETBLTNullAck",
    "NETBLTOk",
    "NETBLTOpen",
    "NETBLTQuit",
    "NETBLTRefused",
    "NETBLTResend",
    "NETBLTResponse",
    "TextField",
    "Verbatim",
    "checksum_ok",
    "data_checksum_ok",
    "peek",
]
