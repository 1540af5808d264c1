# SPDX-License-Identifier: BSD-2-Clause
"""A transfer between two `netblt` that takes as long as a test wants, and the forged packets that are aimed at it."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import select
import socket
import struct
import subprocess
import threading
import time
from dataclasses import dataclass
from typing import Any

import field
import lab
from field import CLIENTS, PORT, SERVER, UDP_PORT, Field, Forge, Listener

PIECE_BYTES = 20_000
PIECE_S = 0.05  # 400 kB/s go into an upload
# 579 kB/s come out of a download, which ends when it ends.
PACED = ("--burst-size", "4", "--burst-interval", "10", "--packet-size", "1448")
PACED_BYTES_PER_S = 4 * 1448 * 100
PORTS = 65536
END_S = 45  # more than a death timer
OPEN = 0
NETBLT_PROTOCOL = 30
IP_HEADER_BYTES, UDP_HEADER_BYTES = 20, 8
ETH_P_IP = 0x0800
SO_ATTACH_FILTER = 26
BPF_LOAD_BYTE, BPF_JUMP_IF_EQUAL, BPF_RETURN = 0x30, 0x15, 0x06

# Everything that RFC 998 has, with what an attacker would write into it who knows nothing of the transfer. Numbers of
# buffers and messages are small ones, as a transfer that counts from 0 or 1 has them, or random ones.
KINDS: dict[str, str] = {
    "ABORT": "abort:string=forged",
    "QUIT": "quit:string=forged",
    "REFUSED": "refused:string=forged",
    "QUITACK": "quitack",
    "DONE": "done",
    "KEEPALIVE": "keepalive",
    "NULL-ACK": "null-ack:seq=random,burst-size=1,burst-interval=1000",
    "NULL-ACK, small number": "null-ack:seq=random:1-400,burst-size=1,burst-interval=1000",
    "DATA": "data:seq=random,buffer=random,packet=random:0-90,bytes=1448",
    "DATA, small buffer number": "data:seq=1,buffer=random:0-63,packet=random:0-90,bytes=1448",
    "LDATA": "ldata:seq=random,buffer=random,packet=random:0-90,bytes=100",
    "LDATA, small buffer number": "ldata:seq=1,buffer=random:0-63,packet=random:0-90,bytes=100",
    "GO": "go:seq=random,buffer=random",
    "GO, small numbers": "go:seq=random:1-400,buffer=random:0-63",
    "OK": "ok:seq=random,buffer=random,burst-size=1,burst-interval=1000",
    "OK, small numbers": "ok:seq=random:1-400,buffer=random:0-63,burst-size=1,burst-interval=1000",
    "RESEND": "resend:seq=random,buffer=random,packet=random:0-90",
    "RESEND, small numbers": "resend:seq=random:1-400,buffer=random:0-63,packet=random:0-90",
    "OPEN": "open:either,string=forged-%",
    "RESPONSE": "response:either,string=forged",
}


@dataclass(frozen=True)
class Ports:
    """What the client chose for its connection."""

    netblt: int
    udp: int


class OpenTap:
    """Sees the OPENs that the clients send, and nothing else: a busy network must not fill its buffer."""

    def __init__(self, ground: Field, encap: str) -> None:
        self.encap = encap
        self.netblt_at = IP_HEADER_BYTES + (UDP_HEADER_BYTES if encap == "udp" else 0)
        ground.server.call(self._open)

    def _open(self) -> None:
        self.tap = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_IP))
        # Classic BPF: the packet's type is OPEN.
        program = b"".join(
            struct.pack("HBBI", *instruction)
            for instruction in (
                (BPF_LOAD_BYTE, 0, 0, self.netblt_at + 3),
                (BPF_JUMP_IF_EQUAL, 0, 1, OPEN),
                (BPF_RETURN, 0, 0, 256),
                (BPF_RETURN, 0, 0, 0),
            )
        )
        held = ctypes.create_string_buffer(program)
        self.tap.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HP", 4, ctypes.addressof(held)))
        self.tap.bind(("client", ETH_P_IP))

    def next(self, timeout_s: float) -> tuple[str, Ports] | None:
        """The address and ports of the next client, or None."""
        until = time.monotonic() + timeout_s
        while select.select([self.tap], [], [], max(0.0, until - time.monotonic()))[0]:
            packet = self.tap.recv(512)
            if packet[9] != (NETBLT_PROTOCOL if self.encap == "ip" else socket.IPPROTO_UDP):
                continue
            udp_port = int.from_bytes(packet[20:22], "big") if self.encap == "udp" else 0
            netblt = packet[self.netblt_at :]
            return socket.inet_ntoa(packet[12:16]), Ports(int.from_bytes(netblt[6:8], "big"), udp_port)
        return None

    def ports_of(self, client: str) -> Ports:
        """Of the connection that this client opens next."""
        until = time.monotonic() + lab.PATIENCE_S
        while (left := until - time.monotonic()) > 0:
            seen = self.next(left)
            if seen is not None and seen[0] == client:
                return seen[1]
        raise AssertionError(f"{client} sends no OPEN")

    def close(self) -> None:
        self.tap.close()


def aim(
    ground: Field, encap: str, client: str, ports: Ports, to_server: bool, *words: str, sweep: bool = False
) -> Forge:
    """Sends forged packets to one end of a connection, in the name of the other. With `sweep` each packet has another
    NETBLT port of the client, else it is the right one."""
    client_port = "0-65535" if sweep else str(ports.netblt)
    local, foreign = (client_port, str(PORT)) if to_server else (str(PORT), client_port)
    udp_from, udp_to = (ports.udp, UDP_PORT) if to_server else (UDP_PORT, ports.udp)
    return ground.forge(
        "--encap", encap, "--local-port", local, "--foreign-port", foreign, "--udp-from", str(udp_from),
        "--udp-to", str(udp_to), "--seed", str(time.monotonic_ns() % 2**32), *words,
        to=SERVER if to_server else client, source=client if to_server else SERVER,
    )  # fmt: skip


class Running:
    """A transfer between client and listener. An upload is fed through standard input until finish(); a download lasts
    for about `seconds`."""

    def __init__(
        self,
        ground: Field,
        server: Listener,
        encap: str,
        upload: bool,
        seconds: float = 0,
        client: str = CLIENTS[0],
        options: tuple[str, ...] = (),
    ) -> None:
        self.options = options
        self.ground, self.server, self.encap, self.upload, self.address = ground, server, encap, upload, client
        self.name = f"running-{time.monotonic_ns()}"
        self.stored = server.root / self.name
        self.other = ground.folder / self.name
        self.feeding, self.paused = True, False
        tap = OpenTap(ground, encap)
        if upload:
            self._start_upload()
        else:
            self._start_download(seconds)
        self.ports = tap.ports_of(client)
        tap.close()

    def _start_upload(self) -> None:
        reading, self.pipe = os.pipe()
        self.client = self.ground.program(
            self.ground.client, "send", "-", SERVER, "--encap", self.encap, "--bind", self.address, "--json",
            "--client-string", self.name, "--buffer-size", "131072", *self.options,
            stdin=reading,
        )  # fmt: skip
        os.close(reading)
        self.feeder = threading.Thread(target=self._feed, daemon=True)
        self.feeder.start()

    def _feed(self) -> None:
        with self.other.open("wb") as copy, contextlib.suppress(BrokenPipeError):
            while self.feeding:
                if not self.paused:
                    piece = os.urandom(PIECE_BYTES)
                    copy.write(piece)
                    os.write(self.pipe, piece)
                time.sleep(PIECE_S)
        os.close(self.pipe)

    def _start_download(self, seconds: float) -> None:
        self.stored.write_bytes(os.urandom(int(PACED_BYTES_PER_S * seconds)))
        self.client = self.ground.program(
            self.ground.client, "recv", self.other, SERVER, "--encap", self.encap, "--bind", self.address, "--json",
            *PACED, *self.options,
        )  # fmt: skip

    def server_reports(self) -> list[dict[str, Any]]:
        """What the listener has printed of this transfer: nothing as long as it runs."""
        return self.server.reports(self.name)

    @property
    def running(self) -> bool:
        """At both ends."""
        return self.client.running and not self.server_reports()

    def forge(self, to_server: bool, step: str, sweep: bool = False, rate: float = 0, count: int = 2000) -> Forge:
        """Aims forged packets at one end; with `sweep` one for each port, whatever `count` is."""
        words = ("--rate", f"{rate:g}", "--count", str(PORTS if sweep else count), step)
        return aim(self.ground, self.encap, self.address, self.ports, to_server, *words, sweep=sweep)

    def finish(self, timeout_s: float = lab.PATIENCE_S) -> str:
        """Lets it come to its end. Empty, or what is wrong with that."""
        self.feeding = False
        status = self.client.result(timeout_s)
        if self.upload:
            self.feeder.join()
        if status == field.TOO_LONG:
            return f"the client did not end within {timeout_s:.0f} s"
        if status != 0:
            return f"the client's exit status is {status}: {self.client.last_error}"
        self.server.wait_for_report(self.name)
        results = [report["result"] for report in self.server_reports()]
        if results != ["done"]:
            return f"the listener reports {results}"
        return "" if field.are_equal(self.stored, self.other) else "the contents differ, and both ends report success"

    def abandon(self) -> None:
        self.feeding = False
        self.client.end()
        if self.upload:
            self.feeder.join()


def stored_files(process: subprocess.Popen[str]) -> int:
    """How many files without a name it has that hold data."""
    files = lab.open_files(process).items()
    return sum(size > 0 for name, size in files if name.endswith(" (deleted)") or ".netblt-" in name)


def wait_until_under_way(transfers: list[Running]) -> None:
    """The receiver of each has got data."""
    server = transfers[0].server.program.process
    uploads = sum(transfer.upload for transfer in transfers)
    downloads = [transfer.client.process for transfer in transfers if not transfer.upload]

    def under_way() -> bool:
        for transfer in transfers:
            assert transfer.running, f"a transfer ended before any attack: {transfer.client.last_error}"
        return stored_files(server) >= uploads and all(stored_files(process) > 0 for process in downloads)

    lab.wait_until(under_way, "data has arrived")


@dataclass(frozen=True)
class Attack:
    name: str
    step: str  # for the program `forge`
    to_server: bool

    @property
    def target(self) -> str:
        return "listener" if self.to_server else "client"


def at_both_ends(kinds: dict[str, str]) -> list[Attack]:
    return [Attack(name, step, to_server) for name, step in kinds.items() for to_server in (True, False)]


def begin_transfers(
    ground: Field, server: Listener, encap: str, upload: bool, count: int, seconds: float, options: tuple[str, ...] = ()
) -> list[Running]:
    """So many at once, each from an address of its own."""
    transfers = [
        Running(ground, server, encap, upload, seconds, client, options) for client in itertools.islice(CLIENTS, count)
    ]
    wait_until_under_way(transfers)
    return transfers
