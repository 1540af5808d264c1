# SPDX-License-Identifier: BSD-2-Clause
"""Looks for a text in every packet of this namespace: prints "ready", and "seen" when it has passed."""

import socket
import sys

ETH_P_ALL = 3
FRAME_MAX_BYTES = 65536


def main(text: bytes) -> None:
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL)) as line:
        print("ready", flush=True)
        while text not in line.recv(FRAME_MAX_BYTES):
            pass
        print("seen", flush=True)


if __name__ == "__main__":
    main(sys.argv[1].encode())
