# SPDX-License-Identifier: GPL-2.0-or-later
"""Scripted peers: the tester's end of a connection, in either role, doing exactly what a case asks of it."""

from netblt_conformance.peer.receiver import ReceiverPeer
from netblt_conformance.peer.sender import SenderPeer

__all__ = ["ReceiverPeer", "SenderPeer"]
