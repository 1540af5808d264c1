# SPDX-License-Identifier: GPL-2.0-or-later
"""The string field of OPEN, RESPONSE, QUIT, ABORT and REFUSED."""

from __future__ import annotations

from typing import Any

from netblt_conformance.wire.scapy_edge import StrField


class Verbatim(bytes):
    """Octets of a string field as they stand on the wire: nothing is added when the packet is built."""

    def __repr__(self) -> str:
        return f"Verbatim({super().__repr__()})"


def wire_form(text: bytes) -> bytes:
    """Text with its NUL, filled with NULs to a multiple of four (WIRE-07)."""
    terminated = text + b"\0"
    return terminated + b"\0" * (-len(terminated) % 4)


class TextField(StrField):
    """A NUL-terminated, NUL-filled string that takes the rest of the packet.

    Its value is the text without NUL and fill. A field on the wire that no text would be written as (missing,
    unterminated, something behind the NUL) is read as a Verbatim, and written as it was read; give a Verbatim to forge
    one.
    """

    def any2i(self, pkt: Any, x: Any) -> Any:
        """A str is taken as ASCII text with escapes for the rest; a Verbatim stays one."""
        return x if isinstance(x, Verbatim) else super().any2i(pkt, x)

    def i2m(self, _pkt: Any, x: Any) -> bytes:
        """The octets of the field."""
        if isinstance(x, Verbatim):
            return bytes(x)
        return wire_form(b"" if x is None else bytes(x))

    def m2i(self, _pkt: Any, x: bytes) -> bytes:
        """The text, or a Verbatim when building the text would not give these octets."""
        text = x.partition(b"\0")[0]
        return text if wire_form(text) == x else Verbatim(x)

    def i2len(self, pkt: Any, x: Any) -> int:
        """The size on the wire."""
        return len(self.i2m(pkt, x))
