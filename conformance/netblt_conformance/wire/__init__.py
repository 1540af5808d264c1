# SPDX-License-Identifier: GPL-2.0-or-later
"""NETBLT packets: `netblt` has the scapy layers, in one file that scapy/contrib can take; `fast` needs no scapy.

The layers are imported when the first of them is used: scapy takes as long to import as a command takes for the rest.
"""

from typing import TYPE_CHECKING, Any

from netblt_conformance.wire.fast import Header, checksum_ok, data_checksum_ok, peek

if TYPE_CHECKING:
    from netblt_conformance.wire.netblt import (
        ETFTP,
        ETFTP_PORT,
        IP_PROTOCOL,
        NETBLT,
        TYPE_NAMES,
        UDP_PORT,
        ETFTPControl,
        ETFTPNullAck,
        ETFTPOk,
        ETFTPOpen,
        ETFTPResponse,
        NETBLT4Control,
        NETBLT4Data,
        NETBLT4LData,
        NETBLT4NullAck,
        NETBLT4Open,
        NETBLT4Resend,
        NETBLT4Response,
        NETBLT5Message,
        NETBLTAbort,
        NETBLTControl,
        NETBLTData,
        NETBLTGo,
        NETBLTLData,
        NETBLTNullAck,
        NETBLTOk,
        NETBLTOpen,
        NETBLTQuit,
        NETBLTRefused,
        NETBLTResend,
        NETBLTResponse,
        TextField,
        Verbatim,
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


def __getattr__(name: str) -> Any:
    """A name of `netblt`."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from netblt_conformance.wire import netblt

    return getattr(netblt, name)
