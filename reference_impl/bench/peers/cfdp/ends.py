# SPDX-License-Identifier: BSD-2-Clause
"""Both ends of a CFDP class 2 transfer by the handlers of cfdp-py: what `tools/bench --space` drives in virtual time.

The handlers have no socket. Their only clock is `time_ms` of spacepackets, which `virtual_time` replaces.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

from cfdppy.exceptions import PduIgnoredForDest, PduIgnoredForSource
from cfdppy.filestore import NativeFilestore
from cfdppy.handler.dest import DestHandler
from cfdppy.handler.source import SourceHandler
from cfdppy.mib import (
    CheckTimerProvider,
    DefaultFaultHandlerBase,
    IndicationConfig,
    LocalEntityConfig,
    RemoteEntityConfig,
    RemoteEntityConfigTable,
)
from cfdppy.request import PutRequest
from cfdppy.user import CfdpUserBase
from spacepackets import countdown
from spacepackets.cfdp import ChecksumType, ConditionCode, TransmissionMode
from spacepackets.cfdp.pdu import DeliveryCode, PduFactory
from spacepackets.countdown import Countdown
from spacepackets.seqcount import SeqCountProvider
from spacepackets.util import ByteFieldU8

SOURCE, TARGET = ByteFieldU8(1), ByteFieldU8(2)
EXPIRATIONS_MAX = 10_000  # of timers: an operator does not give up during an outage
MS_PER_S = 1000


@contextlib.contextmanager
def virtual_time(now_s: Callable[[], float]) -> Iterator[None]:
    """All timers of the library read `now_s`."""
    real = countdown.time_ms
    countdown.time_ms = lambda: round(now_s() * MS_PER_S)
    try:
        yield
    finally:
        countdown.time_ms = real


class Faults(DefaultFaultHandlerBase):
    """Notes the first fault that ends a transaction."""

    def __init__(self) -> None:
        super().__init__()
        self.first: ConditionCode | None = None

    def notice_of_suspension_cb(self, _transaction: object, cond: ConditionCode, _progress: int) -> None:
        self.first = self.first or cond

    def notice_of_cancellation_cb(self, _transaction: object, cond: ConditionCode, _progress: int) -> None:
        self.first = self.first or cond

    def abandoned_cb(self, _transaction: object, cond: ConditionCode, _progress: int) -> None:
        self.first = self.first or cond

    def ignore_cb(self, _transaction: object, cond: ConditionCode, _progress: int) -> None:
        pass


class Filestore(NativeFilestore):
    """Files of this host. The sender computes its checksum once, not for each EOF PDU that it repeats."""

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[tuple[object, ...], bytes] = {}

    def calculate_checksum(self, checksum_type, file_path, size_to_verify, segment_len=4096) -> bytes:
        key = (checksum_type, file_path, size_to_verify, file_path.stat().st_mtime_ns)
        if key not in self._known:
            self._known[key] = super().calculate_checksum(checksum_type, file_path, size_to_verify, segment_len)
        return self._known[key]


class User(CfdpUserBase):
    """Notes the end of the transaction."""

    def __init__(self) -> None:
        super().__init__(Filestore())
        self.over = False
        self.complete = False

    def transaction_finished_indication(self, params) -> None:
        self.over = True
        self.complete = params.finished_params.delivery_code == DeliveryCode.DATA_COMPLETE

    def _nothing(self, *_: object, **__: object) -> None:
        pass

    transaction_indication = eof_sent_indication = metadata_recv_indication = file_segment_recv_indication = _nothing
    report_indication = suspended_indication = resumed_indication = fault_indication = _nothing
    abandoned_indication = eof_recv_indication = _nothing


class Timers(CheckTimerProvider):
    """Only class 1 needs the check timer."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def provide_check_timer(self, local_entity_id, remote_entity_id, entity_type) -> Countdown:  # noqa: ARG002
        return Countdown.from_seconds(self._seconds)


class End:
    """One handler and the packets that it wants to send."""

    def __init__(self, handler: SourceHandler | DestHandler, user: User, faults: Faults) -> None:
        self._handler, self._user, self._faults = handler, user, faults
        self._arrived: deque[bytes] = deque()
        self._outgoing: deque[bytes] = deque()
        self.finished_s: float | None = None

    @property
    def over(self) -> bool:
        return self._user.over and not self._handler.packets_ready and not self._outgoing and not self._busy

    @property
    def _busy(self) -> bool:
        return self._handler.state.value != 0

    @property
    def trouble(self) -> str | None:
        return self._faults.first.name if self._faults.first is not None else None

    def _run(self, packet: bytes | None) -> None:
        with contextlib.suppress(PduIgnoredForSource, PduIgnoredForDest):
            self._handler.state_machine(PduFactory.from_raw(packet) if packet is not None else None)
        while (holder := self._handler.get_next_packet()) is not None:
            self._outgoing.append(bytes(holder.pdu.pack()))
        if self._user.complete and self.finished_s is None:
            self.finished_s = countdown.time_ms() / MS_PER_S

    def take(self, packet: bytes) -> None:
        self._run(packet)

    def give(self) -> bytes | None:
        """The handler's next packet; without one, its timers are looked at and file data made."""
        if not self._outgoing:
            self._run(None)
        return self._outgoing.popleft() if self._outgoing else None


def _remote(entity: ByteFieldU8, packet_bytes: int, timer_s: float) -> RemoteEntityConfigTable:
    return RemoteEntityConfigTable([
        RemoteEntityConfig(
            entity_id=entity, max_file_segment_len=None, max_packet_len=packet_bytes, closure_requested=False,
            crc_on_transmission=False, default_transmission_mode=TransmissionMode.ACKNOWLEDGED,
            crc_type=ChecksumType.CRC_32, positive_ack_timer_interval_seconds=timer_s,
            positive_ack_timer_expiration_limit=EXPIRATIONS_MAX, nak_timer_interval_seconds=timer_s,
            nak_timer_expiration_limit=EXPIRATIONS_MAX, immediate_nak_mode=True,
        )
    ])  # fmt: skip


def make_ends(source: Path, copy: Path, packet_bytes: int, timer_s: float) -> tuple[End, End]:
    """The sender of `source`, which has its request already, and the receiver."""
    users, faults = (User(), User()), (Faults(), Faults())
    local = [LocalEntityConfig(entity, IndicationConfig(), fault)
             for entity, fault in zip((SOURCE, TARGET), faults, strict=True)]  # fmt: skip
    sender = SourceHandler(local[0], users[0], _remote(TARGET, packet_bytes, timer_s), Timers(timer_s),
                           SeqCountProvider(16))  # fmt: skip
    receiver = DestHandler(local[1], users[1], _remote(SOURCE, packet_bytes, timer_s), Timers(timer_s))
    sender.put_request(PutRequest(TARGET, source, copy, TransmissionMode.ACKNOWLEDGED, False))
    return End(sender, users[0], faults[0]), End(receiver, users[1], faults[1])
