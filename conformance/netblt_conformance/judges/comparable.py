# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules that the dissector decides as surely as the tester does, from the tester's capture.

The tester knows more than its capture shows: which of its own packets it lost on purpose, how long the link takes, what
the client got. So for most rules "held" means no more than "nothing in these packets proves the contrary": whether
a receiver knew of an acknowledgement when it repeated a message (CTRL-05), or a sender of a message that it did not
acknowledge (CTRL-06), only the tester can know. There a FAIL of the suite is no contradiction.

The rules here are about what the implementation's own packets contain, each alone or against its other packets and the
opening. Nothing that it may have missed excuses such a packet, so suite and dissector must come to the same result."""

from __future__ import annotations

COMPARABLE = frozenset(
    {
        # How packets are laid out. Not WIRE-08: only the tester knows what the client asked to put into an OPEN.
        *(f"WIRE-{number:02}" for number in range(2, 14) if number != 8),
        "CKSUM-01",
        "CKSUM-02",
        "CKSUM-04",
        "CTRL-01",  # numbers of control messages, and what follows a number
        "CTRL-02",
        "CTRL-03",
        "DATA-02",  # how data are cut into buffers and packets
        "DATA-03",
        "DATA-04",
        "DATA-05",
        "DATA-06",
        "DATA-09",
        "NEG-01",  # a RESPONSE against the OPEN that it answers
        "NEG-02",
        "NEG-03",
        "NEG-04",
        "NEG-05",
        "NEG-07",
        "OPEN-02",
        "OPEN-04",
        "RESEND-03",  # a retransmitted packet compared with its first transmission
    }
)
