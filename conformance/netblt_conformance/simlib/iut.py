# SPDX-License-Identifier: GPL-2.0-or-later
"""Implementations under test as shared libraries (conformance/sim/netblt_iut.h)."""

from __future__ import annotations

import dataclasses
import ipaddress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from netblt_conformance.common.model import Status
from netblt_conformance.simlib._native import ffi, lib, text

_OUTPUT_BYTES = 65535
_ERROR_BYTES = 512


class IutError(Exception):
    """A library that cannot be loaded, or an instance that could not be started; the message states why."""


@dataclasses.dataclass(slots=True)
class IutParams:
    """netblt_iut_params, name for name."""

    active: bool = False
    sender: bool = False
    version_byte: int = 2
    data_checksum: bool = True
    local_port: int = 1
    foreign_port: int = 1
    buffer_size: int = 4096
    packet_size: int = 512
    burst_size: int = 8
    burst_interval_ms: int = 10
    death_timer_s: int = 30
    max_buffers: int = 4
    client_stall_from: int = 0
    client_stall_until_us: int = 0
    seed: int = 1
    local_address: str = "10.0.0.1"
    foreign_address: str = "10.0.0.2"
    client_string: str = ""

    def peer(self) -> IutParams:
        """What the end is started with that meets this one: the other role, addresses and ports exchanged, the next
        seed."""
        return dataclasses.replace(
            self,
            active=not self.active,
            sender=not self.sender,
            local_port=self.foreign_port,
            foreign_port=self.local_port,
            seed=self.seed + 1,
            local_address=self.foreign_address,
            foreign_address=self.local_address,
        )


def _params_to_c(params: IutParams) -> Any:
    c_params = ffi.new("netblt_iut_params *")
    for field in dataclasses.fields(params):
        value = getattr(params, field.name)
        if field.name.endswith("_address"):
            value = ipaddress.IPv4Address(value).packed
        elif field.name == "client_string":
            value = value.encode()
            if len(value) > 255:
                raise IutError(f"client_string has {len(value)} bytes; 255 is the most")
        try:
            setattr(c_params, field.name, int(value) if isinstance(value, bool) else value)
        except (OverflowError, TypeError) as error:
            raise IutError(f"{field.name} = {value!r} does not fit: {error}") from None
    return c_params


class IutLibrary:
    """A shared library with the ABI of netblt_iut.h. Several may be loaded at a time."""

    def __init__(self, path: str | Path) -> None:
        error = ffi.new("char[]", _ERROR_BYTES)
        self.path = Path(path)
        library = lib.iut_library_open(str(self.path.resolve()).encode(), error, _ERROR_BYTES)
        if library == ffi.NULL:
            raise IutError(text(error))
        self._library = ffi.gc(library, lib.iut_library_close)

    def start(self, params: IutParams, data: bytes = b"", now_us: int = 0) -> Iut:
        """Starts one end of one transfer; a sender sends `data`."""
        return Iut(self, params, data, now_us)


class Iut:
    """One end of one transfer. Use it as a context manager, or let it be collected."""

    def __init__(self, library: IutLibrary, params: IutParams, data: bytes = b"", now_us: int = 0) -> None:
        error = ffi.new("char[]", _ERROR_BYTES)
        self.library = library  # keeps the code loaded as long as the instance lives
        self.params = dataclasses.replace(params)
        iut = lib.iut_start(library._library, _params_to_c(params), data, len(data), now_us, error, _ERROR_BYTES)
        if iut == ffi.NULL:
            raise IutError(text(error))
        self._iut = ffi.gc(iut, lib.iut_free)
        self._buffer = ffi.new("uint8_t[]", _OUTPUT_BYTES)
        self._view = ffi.buffer(self._buffer)
        self._destination = ffi.new("uint8_t[4]")
        self._length = ffi.new("size_t *")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Frees the instance; it sends nothing to its peer. The object is of no use afterwards."""
        ffi.release(self._iut)

    def packet(self, source: str | bytes, packet: bytes, now_us: int) -> None:
        """A NETBLT packet from the IPv4 address `source` has arrived."""
        address = source if isinstance(source, bytes) else ipaddress.IPv4Address(source).packed
        lib.iut_packet(self._iut, address, packet, len(packet), now_us)

    def advance(self, now_us: int) -> None:
        """Runs the timers that are due."""
        lib.iut_advance(self._iut, now_us)

    def output(self, now_us: int) -> tuple[bytes, bytes] | None:
        """The next packet that leaves now, as (destination address in 4 bytes, packet); None = none."""
        length = lib.iut_output(self._iut, now_us, self._destination, self._buffer, _OUTPUT_BYTES)
        if not length:
            return None
        return bytes(ffi.buffer(self._destination)), self._view[:length]

    def outputs(self, now_us: int) -> list[bytes]:
        """All packets that leave now, wherever they go."""
        packets = []
        while (output := self.output(now_us)) is not None:
            packets.append(output[1])
        return packets

    @property
    def deadline(self) -> int | None:
        """When advance() is wanted; None = never."""
        deadline = int(lib.iut_deadline(self._iut))
        return None if deadline == lib.FLAKEWAY_NEVER else deadline

    @property
    def status(self) -> Status:
        return Status(lib.iut_status(self._iut))

    @property
    def reason(self) -> str:
        return text(lib.iut_reason(self._iut))

    @property
    def delivered(self) -> bytes:
        """What the client received so far, in order."""
        pointer = lib.iut_delivered(self._iut, self._length)
        return bytes(ffi.buffer(pointer, self._length[0])) if self._length[0] else b""

    @property
    def peer_string(self) -> str:
        return text(lib.iut_peer_string(self._iut))

    def stop(self, now_us: int, reason: str = "", *, abort: bool = False) -> bool:
        """The client quits, or the NETBLT layer aborts. False when it cannot."""
        return int(lib.iut_stop(self._iut, int(abort), reason.encode(), now_us)) == 0
