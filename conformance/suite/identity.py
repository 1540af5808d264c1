# SPDX-License-Identifier: GPL-2.0-or-later
"""The unique ID of a connection request, from one start of an active end to the next (RFC 998 5.1)."""

from netblt_conformance.cases.case import ACTIVE, Case, case
from netblt_conformance.common.model import MICROSECONDS_PER_S as S
from netblt_conformance.packets.packets import Type

# In virtual time a start costs nothing: so many that an ID of one byte repeats itself.
STARTS, REAL_STARTS = 48, 3
# Between two starts: an ID that is made of a clock that counts seconds is unique too.
APART_US = S + S // 10


@case("OPEN-14", roles=ACTIVE, variants=("the same ports", "other ports"))
def test_each_connection_request_has_another_unique_id(t: Case) -> None:
    seen: dict[int, int] = {}
    for start in range(REAL_STARTS if t.link.real_time else STARTS):
        peer = t.peer(1024, same_ports=bool(start) and t.variant == "the same ports")
        with t.preamble():
            opening = peer.await_open()
        unique_id = opening.packet.unique_id
        text = f"the OPENs of start {seen.get(unique_id)} and of start {start} have the unique ID {unique_id:#010x}"
        t.must(unique_id not in seen, text, opening.frame)
        seen[unique_id] = start
        peer.listen(APART_US)
        peer.send(peer.forge.reason(Type.REFUSED, "one after the other"))
