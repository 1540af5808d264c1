# SPDX-License-Identifier: GPL-2.0-or-later
"""A transfer for each row of pairs.toml: each value of each parameter meets each value of every other."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from netblt_conformance.cases.case import Case, case
from netblt_conformance.common import toml_file
from netblt_conformance.common.model import (
    ACTIVE_RECEIVER,
    ACTIVE_SENDER,
    PASSIVE_RECEIVER,
    PASSIVE_SENDER,
    ROLES_BY_NAME,
    Role,
)
from netblt_conformance.common.toml_file import Table
from netblt_conformance.peer import ReceiverPeer, SenderPeer
from netblt_conformance.wire import data_checksum_ok
from pydantic.types import Strict

SIZES = ("buffer_size", "packet_size")
RESTRICTED = {
    "nothing": (),
    "sizes": SIZES,
    "pace": ("burst_size", "burst_interval_ms", "max_buffers"),
    "everything": (*SIZES, "burst_size", "burst_interval_ms", "max_buffers"),
}


class RowOfFile(Table):
    """A row as it is written."""

    role: Literal["active-sender", "active-receiver", "passive-sender", "passive-receiver"]
    buffer_size: int
    packet_size: int
    burst_size: int
    burst_interval_ms: int
    max_buffers: int
    data_checksum: bool
    death_timer_s: int
    length: str
    restricted: Literal["nothing", "sizes", "pace", "everything"]
    lost: Literal["nothing", "a packet", "the LDATA"]


class File(Table):
    """pairs.toml."""

    row: Annotated[tuple[RowOfFile, ...], Strict(False)]


@dataclass(frozen=True)
class Row:
    """What one transfer is made with: the proposal, and what the passive end makes of it."""

    role: Role
    proposed: dict[str, Any]
    agreed: dict[str, Any]
    length: str
    lost: str

    @staticmethod
    def read(row: RowOfFile) -> "Row":
        proposed = row.model_dump(exclude={"role", "length", "restricted", "lost"})
        tighter = {name: Row.tighter(name, proposed[name]) for name in RESTRICTED[row.restricted]}
        return Row(ROLES_BY_NAME[row.role], proposed, proposed | tighter, row.length, row.lost)

    @staticmethod
    def tighter(name: str, value: int) -> int:
        """About three quarters of a size, and no multiple of anything; a slower pace."""
        return value + 7 if name == "burst_interval_ms" else max(1, value * 3 // 4 - 1)

    @property
    def byte_count(self) -> int:
        size, packet = self.agreed["buffer_size"], self.agreed["packet_size"]
        counts: dict[str, int] = {
            "one byte": 1,
            "a buffer less one byte": size - 1,
            "a buffer": size,
            "a buffer and one byte": size + 1,
            "two buffers and a packet": 2 * size + min(packet, size),
            "two buffers and a half": 2 * size + size // 2,
        }
        return counts[self.length]


def load() -> dict[str, Row]:
    file = toml_file.read(Path(__file__).with_name("pairs.toml"), File)
    return {f"row {number}": Row.read(row) for number, row in enumerate(file.row, 1)}


ROWS = load()


def rows_of(role: Role) -> tuple[str, ...]:
    return tuple(name for name, row in ROWS.items() if row.role == role)


def lose_once(t: Case, row: Row, peer: ReceiverPeer | SenderPeer) -> list[tuple[int, int]]:
    """Lets the network swallow one packet of buffer 0. On a real link, where the wait for its retransmission is long,
    none."""
    last = -(-min(peer.terms.buffer_size, max(len(peer.data), 1)) // peer.terms.packet_size) - 1
    lost = {"nothing": [], "a packet": [(0, 0)], "the LDATA": [(0, last)]}[row.lost]
    return [] if t.link.real_time else lost


def transfer(t: Case) -> None:
    row = ROWS[t.variant]
    # The passive end has the tighter limits, whichever end it is.
    own, iut = (row.agreed, row.proposed) if t.role.active else (row.proposed, row.agreed)
    peer = t.peer(row.byte_count, own=own, iut=iut)
    peer.connect()
    for name in ("packet_size", "buffer_size", "burst_size", "max_buffers"):
        got = getattr(peer.terms, name)
        t.must(
            1 <= got <= row.proposed[name],
            f"{name} {got} is agreed",
            expected=f"at most {row.proposed[name]}, as proposed",
        )
    lost = lose_once(t, row, peer)

    def lose(buffer: int, packet: int) -> bool:
        swallowed = (buffer, packet) in lost
        if swallowed:
            lost.remove((buffer, packet))
        return swallowed

    if isinstance(peer, SenderPeer):
        peer.finish(lose)
        t.expect_delivered_by(peer)
        return
    peer.lose = lambda packet: lose(packet.buffer - peer.first_buffer, packet.packet)
    peer.buffer(0)  # is requested even if nothing of it comes
    received = peer.finish()
    peer.expect_success()
    t.expect_intact(received, peer.data)
    for seen in peer.seen:
        summed = not (seen.packet.is_data and peer.terms.data_checksum) or data_checksum_ok(seen.packet.raw)
        t.must(summed, f"{seen.packet} has a wrong data checksum", seen.frame, expected="a data checksum, as agreed")


JUDGED = ("DATA-08", "NEG-06", "CKSUM-04", "CKSUM-05")


@case(*JUDGED, roles=(ACTIVE_SENDER,), variants=rows_of(ACTIVE_SENDER))
def test_parameters_combined_in_pairs_work_for_an_active_sender(t: Case) -> None:
    transfer(t)


@case(*JUDGED, roles=(PASSIVE_SENDER,), variants=rows_of(PASSIVE_SENDER))
def test_parameters_combined_in_pairs_work_for_a_passive_sender(t: Case) -> None:
    transfer(t)


@case(*JUDGED, roles=(ACTIVE_RECEIVER,), variants=rows_of(ACTIVE_RECEIVER))
def test_parameters_combined_in_pairs_work_for_an_active_receiver(t: Case) -> None:
    transfer(t)


@case(*JUDGED, roles=(PASSIVE_RECEIVER,), variants=rows_of(PASSIVE_RECEIVER))
def test_parameters_combined_in_pairs_work_for_a_passive_receiver(t: Case) -> None:
    transfer(t)
