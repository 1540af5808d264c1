# SPDX-License-Identifier: GPL-2.0-or-later
"""tcpreplay as a part of the wire link: sends prepared packets into a veth, with their own timing or as fast as it can.

Addresses, ports and checksums are rewritten here: tcprewrite knows neither NETBLT's ports nor its checksum, changes the
length of short packets and loses nanoseconds."""

from __future__ import annotations

import shutil
import struct
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from netblt_conformance.common.child import die_with_parent
from netblt_conformance.common.errors import HarnessError, NotSupportedError
from netblt_conformance.packets import ipv4

_PCAP_NANOSECONDS = 0xA1B23C4D
_LINKTYPE_ETHERNET = 1
_SNAPLEN = 65_535
_NANOSECONDS_PER_S = 1_000_000_000
# The whole replay; a storm takes milliseconds, a capture with its own timing a few seconds.
LIMIT_S = 60.0
_DATA_TYPES = (6, 7)
_DATA_HEADER_BYTES = 24


def program() -> str | None:
    return shutil.which("tcpreplay")


def rewrite(packet: bytes, local_port: int, foreign_port: int) -> bytes:
    """A NETBLT packet with other ports and the checksum that fits them. A wrong checksum stays wrong."""
    length = struct.unpack_from(">H", packet, 4)[0]
    end = _DATA_HEADER_BYTES if packet[3] in _DATA_TYPES else length
    sound = ipv4.ones_complement_sum(packet[:end]) == 0xFFFF
    changed = bytearray(packet)
    struct.pack_into(">HH", changed, 6, local_port, foreign_port)
    if sound:
        struct.pack_into(">H", changed, 0, 0)
        struct.pack_into(">H", changed, 0, ipv4.internet_checksum(bytes(changed[:end])))
    return bytes(changed)


def write_pcap(path: Path, frames: Sequence[tuple[int, bytes]]) -> None:
    """Ethernet frames with times in nanoseconds."""
    parts = [struct.pack("<IHHiIII", _PCAP_NANOSECONDS, 2, 4, 0, 0, _SNAPLEN, _LINKTYPE_ETHERNET)]
    for time_ns, frame in frames:
        seconds, rest = divmod(time_ns, _NANOSECONDS_PER_S)
        parts.append(struct.pack("<IIII", seconds, rest, len(frame), len(frame)) + frame)
    path.write_bytes(b"".join(parts))


def replay(
    interface: str,
    frames: Sequence[tuple[int, bytes]],
    enter: Callable[[], None],
    *,
    top_speed: bool,
    loops: int = 1,
) -> None:
    """Sends the frames on an interface of the namespace that `enter` goes to, and waits until they have left."""
    name = program()
    if name is None:
        raise NotSupportedError("tcpreplay is not installed (run tools/setup)")
    with tempfile.TemporaryDirectory(prefix="netblt-replay-") as folder:
        file = Path(folder) / "frames.pcap"
        write_pcap(file, frames)
        speed = ["--topspeed"] if top_speed else []
        command = [name, "--quiet", f"--intf1={interface}", f"--loop={loops}", *speed, str(file)]

        def before_exec() -> None:
            enter()
            die_with_parent()

        try:
            done = subprocess.run(
                command, preexec_fn=before_exec, capture_output=True, text=True, timeout=LIMIT_S, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise HarnessError(f"tcpreplay: {error}") from None
    if done.returncode != 0:
        lines = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        raise HarnessError(f"tcpreplay failed: {lines[-1].strip() if lines else f'exit status {done.returncode}'}")
