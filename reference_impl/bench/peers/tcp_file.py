# SPDX-License-Identifier: BSD-2-Clause
"""Moves one file over one TCP connection: what `tools/bench --space` runs. Usage:

tcp_file.py recv ADDRESS PORT PATH
tcp_file.py send ADDRESS PORT PATH CONGESTION

Both ends exit with 0 when the receiver has the whole file and the sender knows it.
"""

from __future__ import annotations

import socket
import sys
from pathlib import Path

COPY_BYTES = 1 << 20
HAVE_ALL = b"!"


def receive(address: str, port: int, path: Path) -> None:
    with socket.create_server((address, port)) as listener:
        connection, _ = listener.accept()
    with connection, path.open("wb", buffering=0) as file:
        while piece := connection.recv(COPY_BYTES):
            file.write(piece)
        connection.sendall(HAVE_ALL)


def send(address: str, port: int, path: Path, congestion: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as connection, path.open("rb") as file:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion.encode())
        connection.connect((address, port))
        connection.sendfile(file)
        connection.shutdown(socket.SHUT_WR)
        if connection.recv(1) != HAVE_ALL:
            raise ConnectionError("the receiver closed before it had the whole file")


def main(words: list[str]) -> int:
    try:
        match words:
            case ["recv", address, port, path]:
                receive(address, int(port), Path(path))
            case ["send", address, port, path, congestion]:
                send(address, int(port), Path(path), congestion)
            case _:
                print(__doc__, file=sys.stderr)
                return 2
    except OSError as problem:
        print(f"tcp_file: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
