# SPDX-License-Identifier: BSD-2-Clause
"""Corruption: an attacker on the path alters data and makes the checksums fit."""

from __future__ import annotations

import contextlib
import select
import socket
import struct
import threading
from collections.abc import Callable
from pathlib import Path

import field
from field import CLIENTS, SERVER, UDP_PORT, Field, Listener, Settings

DATA, LDATA = 6, 7
DATA_HEADER_BYTES = 24
FILE_BYTES = 400_000
ALTERED_DATA = 40  # which DATA packet: one of the first buffers, so that much of the transfer follows
TRANSFER_MAX_S = 45
RELAY = CLIENTS[-1]


def checksum(data: bytes) -> int:
    data += bytes(len(data) % 2)
    total: int = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def with_checksums(packet: bytearray) -> bytes:
    """A DATA or LDATA with both checksums as they must be."""
    length = int.from_bytes(packet[4:6], "big")
    packet[20:22] = struct.pack(">H", checksum(bytes(packet[DATA_HEADER_BYTES:length])))
    packet[0:2] = bytes(2)
    packet[0:2] = struct.pack(">H", checksum(bytes(packet[:DATA_HEADER_BYTES])))
    return bytes(packet)


def swap_words(packet: bytearray) -> bytes:
    """The sum stays what it was."""
    first, second = slice(DATA_HEADER_BYTES, DATA_HEADER_BYTES + 2), slice(DATA_HEADER_BYTES + 2, DATA_HEADER_BYTES + 4)
    packet[first], packet[second] = packet[second], packet[first]
    return bytes(packet)


def replace_data(packet: bytearray) -> bytes:
    length = int.from_bytes(packet[4:6], "big")
    packet[DATA_HEADER_BYTES:length] = b"\xa5" * (length - DATA_HEADER_BYTES)
    return with_checksums(packet)


def flip_one_bit(packet: bytearray) -> bytes:
    packet[DATA_HEADER_BYTES] ^= 1
    return with_checksums(packet)


def shorten(packet: bytearray) -> bytes:
    """Only an LDATA may be shorter than the others."""
    length = int.from_bytes(packet[4:6], "big") - 4
    packet[4:6] = struct.pack(">H", length)
    return with_checksums(packet[:length])


ALTERATIONS: dict[str, tuple[int, int, Callable[[bytearray], bytes]]] = {
    "two words swapped": (DATA, ALTERED_DATA, swap_words),
    "a packet's data replaced": (DATA, ALTERED_DATA, replace_data),
    "one bit": (DATA, ALTERED_DATA, flip_one_bit),
    "one bit of the last packet of a buffer": (LDATA, 1, flip_one_bit),
    "the last packet of a buffer shortened": (LDATA, 1, shorten),
}


class Relay:
    """Carries UDP between one client and the listener, and alters one packet."""

    def __init__(self, ground: Field, kind: int, number: int, alter: Callable[[bytearray], bytes]) -> None:
        self.kind, self.left, self.alter, self.altered = kind, number, alter, 0
        self.stopping = threading.Event()
        ground.client.call(self._open)
        self.thread = threading.Thread(target=self._carry, daemon=True)
        self.thread.start()

    def _open(self) -> None:
        self.front = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.back = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        for one in (self.front, self.back):
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        self.front.bind((RELAY, UDP_PORT))
        self.back.bind((RELAY, 0))
        self.back.connect((SERVER, UDP_PORT))

    def _carry(self) -> None:
        client: tuple[str, int] | None = None
        while not self.stopping.is_set():
            for one in select.select([self.front, self.back], [], [], 0.05)[0]:
                with contextlib.suppress(ConnectionError):  # an end that has exited
                    if one is self.front:
                        packet, client = self.front.recvfrom(65536)
                        self.back.send(self._pass(packet))
                    elif client is not None:
                        self.front.sendto(self._pass(self.back.recv(65536)), client)

    def _pass(self, packet: bytes) -> bytes:
        if len(packet) <= DATA_HEADER_BYTES or packet[3] != self.kind:
            return packet
        self.left -= 1
        if self.left != 0:
            return packet
        self.altered += 1
        return self.alter(bytearray(packet))

    def end(self) -> None:
        self.stopping.set()
        self.thread.join()
        self.front.close()
        self.back.close()


def corrupt(ground: Field, server: Listener, upload: bool, name: str) -> list[str]:
    """One transfer through the relay. Returns what is wrong with its end."""
    relay = Relay(ground, *ALTERATIONS[name])
    file = f"file-{name.replace(' ', '-')}-{upload}"
    here, there = ground.folder / file, server.root / file
    source, target = (here, there) if upload else (there, here)
    source.write_bytes(bytes(range(256)) * (FILE_BYTES // 256))
    client = ground.program(
        ground.client, "send" if upload else "recv", here, RELAY, "--encap", "udp", "--bind", CLIENTS[0], "--json",
        "--buffer-size", "65536", "--rate", "fixed", "--packet-size", "1000",
    )  # fmt: skip
    status = client.result(TRANSFER_MAX_S)
    server.wait_for_report(file)
    relay.end()
    results = [report["result"] for report in server.reports(file)]
    equal = field.are_equal(here, there)
    field.figure(
        f"corruption on the path: {name}", transfer="upload" if upload else "download", altered_packets=relay.altered,
        client_status=status, client_error=client.last_error, listener_result=results, equal=equal,
    )  # fmt: skip
    problems = []
    if relay.altered != 1:
        problems.append(f"{relay.altered} packets were altered, not 1")
    if status == field.TOO_LONG or not results:
        problems.append("an end did not end in time")
    # To detect and recover is as good as to detect and fail.
    if status == 0 and not equal:
        problems.append("the client reports success")
    if "done" in results and not equal:
        problems.append("the listener reports success")
    if target.exists() and not equal:
        problems.append("the altered file was stored")
    direction = "upload" if upload else "download"
    return [f"{name}, {direction}: {problem}" for problem in problems]


def altered_data_never_end_as_success(settings: Settings, folder: Path) -> None:
    problems = []
    with field.playground(settings, folder) as ground, field.listening(ground, "udp") as server:
        for upload in (True, False):
            for name in ALTERATIONS:
                problems += corrupt(ground, server, upload, name)
    assert not problems, "\n    ".join(["altered data were believed:", *problems])


if __name__ == "__main__":
    field.main(altered_data_never_end_as_success)
