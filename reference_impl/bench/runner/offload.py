# SPDX-License-Identifier: BSD-2-Clause
"""Turns segmentation offload of an interface off, so that packets cross the line in their final size: offload.py IF.

What `ethtool -K IF tso off gso off gro off` does, without needing ethtool.
"""

import array
import fcntl
import socket
import struct
import sys

SIOCETHTOOL = 0x8946
SETTINGS = {"tso": 0x1F, "gso": 0x24, "gro": 0x2C}  # ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO


def main() -> None:
    interface = sys.argv[1].encode()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        for command in SETTINGS.values():
            value = array.array("B", struct.pack("II", command, 0))
            request = struct.pack("16sP", interface, value.buffer_info()[0])
            fcntl.ioctl(any_socket, SIOCETHTOOL, request)


main()
