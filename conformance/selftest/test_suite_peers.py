# SPDX-License-Identifier: GPL-2.0-or-later
"""The scripted peers, without an implementation: what they request and send at the end of a transfer."""

from __future__ import annotations

import collections
import dataclasses
import time
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from netblt_conformance.packets.packets import Kind, Message, Packet, Type
from netblt_conformance.peer.exchange import Seen, UnmetError
from netblt_conformance.peer.receiver import ReceivedBuffer, ReceiverPeer
from netblt_conformance.peer.sender import USELESS_REQUESTS, SenderPeer
from selftest.test_suite_oracles import TERMS


def _sends_nothing(messages: Iterable[Message] | None = None) -> int:
    del messages
    return 0


def receiver(last_buffer: int | None) -> ReceiverPeer:
    """A receiver that waits for buffers 0 and 1, with all sending left out."""
    peer = ReceiverPeer.__new__(ReceiverPeer)
    peer.first_buffer, peer.next_seq, peer.queue, peer.last_buffer = 0, 1, [], last_buffer
    peer.buffers, peer.offer = {0: ReceivedBuffer(), 1: ReceivedBuffer()}, None
    peer._to_confirm = {0, 1}
    peer.agreed = cast("Any", SimpleNamespace(packets_per_buffer=2))
    peer.send_control = _sends_nothing  # type: ignore[method-assign]
    return peer


def requested(peer: ReceiverPeer) -> list[int]:
    peer._recover(confirmed=set())
    return [message.buffer for message in peer.queue if message.kind is Kind.RESEND]


def test_a_receiver_requests_nothing_beyond_the_last_buffer() -> None:
    assert requested(receiver(last_buffer=None)) == [0, 1]
    assert requested(receiver(last_buffer=0)) == [0]


def test_a_sender_serves_no_request_that_counts_as_served() -> None:
    peer = SenderPeer.__new__(SenderPeer)
    peer._gos, peer._of_buffer, peer.served = [0], {}, {3}
    found = [peer._is_served(Message(Kind.RESEND, seq, 0, packets=(0,))) for seq in (3, 4)]
    assert found == [True, False]


@pytest.mark.parametrize(
    ("ack", "pace"),
    [(1, (8, 10)), (2, (3, 12)), (3, (3, 12)), (4, (8, 40)), (5, (8, 10))],
)
def test_a_sender_has_the_pace_of_the_newest_acknowledged_ok_or_a_slower_one(ack: int, pace: tuple[int, int]) -> None:
    """RFC 998 4: it may modify what an OK offers, but only by making it more restrictive. Offers: a slower pair, more
    packets than agreed in a longer interval, a faster pair."""
    peer = SenderPeer.__new__(SenderPeer)
    peer.agreed, peer.restriction = cast("Any", SimpleNamespace(burst_size=8, burst_interval_ms=10)), None
    offers = {2: (3, 12), 4: (20, 40), 5: (20, 5)}
    peer._offers = [
        Message(Kind.OK, seq, 0, burst_size=size, burst_interval_ms=interval)
        for seq, (size, interval) in offers.items()
    ]
    assert peer.pace(ack) == pace


def test_thousands_of_requests_are_counted_in_time() -> None:
    """Stimulus: a receiver requests a packet that no buffer has, in each CONTROL, until the case gives up."""
    peer = SenderPeer.__new__(SenderPeer)
    peer.messages, peer.controls, peer._came_in, peer._of_buffer, peer._requests = {}, [], {}, {}, []
    peer._gos, peer._answers, peer.lose, peer.first_buffer = [0], False, lambda _control: False, 0
    peer.monitor = cast("Any", SimpleNamespace(session=SimpleNamespace(slack_us=0)))
    count = 6000
    for seq in range(1, count + 1):
        message = Message(Kind.RESEND, seq, 0, packets=(4,))
        peer.react(Seen(Packet(b"", type=Type.CONTROL, messages=(message,)), 1000 * seq, seq, b""))
    began = time.process_time()
    assert len(peer.requests(0)) == count
    assert time.process_time() - began < 3


def test_a_sender_drops_requests_for_a_buffer_that_has_its_ok() -> None:
    """A receiver may request the same packets for as long as nothing comes (RFC 998 5.2.2, AMB-45). When they have
    come, the requests that are left mean nothing: a sender disposes of a buffer with its OK."""
    peer = SenderPeer.__new__(SenderPeer)
    requests = [Message(Kind.RESEND, seq, 0, packets=(0,)) for seq in range(3, 9)]
    peer.messages = {message.seq: message for message in requests}
    peer._requests, peer._gos, peer._confirmed = [(0, message.seq) for message in requests], [0, 1], set()
    peer._lowest = 0
    peer._of_buffer = {(Kind.GO, number): [Message(Kind.GO, number + 1, number)] for number in range(2)}
    peer.data, peer.agreed = bytes(16), cast("Any", SimpleNamespace(buffer_size=8, packet_size=4, max_buffers=2))
    served: list[int] = []

    def delivers(buffer: int, *_what: object) -> None:
        served.append(buffer)
        if buffer == 0:
            peer._confirmed.add(0)

    peer._deliver = delivers  # type: ignore[method-assign, assignment]
    unsent = collections.deque([1])
    while peer._serve(unsent, lambda _buffer, _packet: False):
        pass
    assert served == [0, 1]


def test_a_request_for_a_buffer_without_a_go_is_not_waited_for() -> None:
    """Its GO was lost, and the receiver took it for acknowledged."""
    peer = SenderPeer.__new__(SenderPeer)
    peer.messages = {4: Message(Kind.RESEND, 4, 2, packets=(0,))}
    peer.data, peer._gos, peer._confirmed, peer._of_buffer = bytes(24), [1, 3], {1}, {}
    peer.agreed = cast("Any", SimpleNamespace(buffer_size=8, packet_size=4, max_buffers=2))
    assert peer._request_due_us(collections.Counter()) == 0


@pytest.mark.parametrize("name", ["buffer_size", "packet_size", "max_buffers"])
def test_a_connection_with_a_value_of_zero_is_not_open(name: str) -> None:
    peer = SenderPeer.__new__(SenderPeer)
    zero: dict[str, Any] = {name: 0}
    response = dataclasses.replace(TERMS, **zero)
    with pytest.raises(UnmetError, match=f"{name.replace('_', ' ')} 0"):
        peer.settle(response, 30)


def test_requests_that_name_nothing_of_what_is_missing_are_waited_for_a_few_times() -> None:
    """A receiver whose data timer expires again and again would keep the tester waiting without end."""

    class Stubborn(SenderPeer):
        requests_made = 0

        def expect_resend(self, buffer: int, count: int = 1) -> Message:
            self.requests_made = count
            return Message(Kind.RESEND, count, buffer, packets=(0,))

        def send_packets(self, buffer: int, numbers: Iterable[int]) -> None:
            del buffer, numbers

    peer = Stubborn.__new__(Stubborn)
    peer.seen = []
    with pytest.raises(UnmetError) as unmet:
        peer.repair(0, [0, 1])
    assert unmet.value.due_by == "RESEND-01"
    assert peer.requests_made == 1 + USELESS_REQUESTS + 1  # the first one named packet 0
