# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the IP header begins in a captured frame, by the link type of the capture."""

from __future__ import annotations

_ETHERNET = 1
_RAW = frozenset((101, 12, 14, 228, 229))  # the IP header is the first byte
# Other link types: where the Ethernet type is (None: there is none), and where the header ends.
_NULL, _LOOP, _SLL, _SLL2 = 0, 108, 113, 276
_LAYOUT: dict[int, tuple[int | None, int]] = {
    _ETHERNET: (12, 14),
    _SLL: (14, 16),
    _SLL2: (0, 20),
    _NULL: (None, 4),
    _LOOP: (None, 4),
}
_VLAN, _VLAN_BYTES = frozenset((b"\x81\x00", b"\x88\xa8", b"\x91\x00")), 4
_IP = frozenset((b"\x08\x00", b"\x86\xdd"))


def ip_header_at(link_type: int, data: bytes) -> int:
    """Bytes before the IP header of a frame; -1: the link type is unknown, or the frame carries something else.
    `link_type`: LINKTYPE of pcapng. VLAN tags are passed over."""
    if link_type in _RAW:
        return 0
    if link_type not in _LAYOUT:
        return -1
    kind, at = _LAYOUT[link_type]
    if kind is None:
        return at
    while data[kind : kind + 2] in _VLAN:
        kind, at = at + 2, at + _VLAN_BYTES  # a tag ends with the type of what follows
    return at if data[kind : kind + 2] in _IP else -1
