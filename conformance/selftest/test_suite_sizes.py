# SPDX-License-Identifier: GPL-2.0-or-later
"""Implementations that agree to less than a case states: the case runs in smaller sizes, and few are N/A."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from netblt_conformance.cases.case import Case, Profile
from netblt_conformance.common import paths
from netblt_conformance.common.errors import NotSupportedError
from netblt_conformance.common.model import PASSIVE_SENDER, Parameters
from netblt_conformance.common.sizes import LEAST_PACKET_BYTES, Limits, Sizes, SizesError
from netblt_conformance.common.verdicts import Judgement, Verdict
from netblt_conformance.links.sim import SimLinkFactory
from netblt_conformance.mutants import mutants, mutation
from netblt_conformance.packets import ipv4, packets
from netblt_conformance.packets.capture import Capture
from netblt_conformance.run.engine import ATTEMPTS, Engine, Run

if TYPE_CHECKING:
    from selftest.conftest import Command, Outcome

# Cases that no smaller sizes can replace, by what an implementation restricts, each with what it is about.
ONE_BUFFER = {
    "a_buffer_that_is_complete_when_its_request_is_acknowledged_is_not_asked_for": "another buffer stays open",
    "a_buffer_that_waits_behind_another_one_is_not_doubled_by_a_request": "a buffer waits for one before it",
    "a_buffer_that_was_begun_is_finished_while_the_client_stalls": "one buffer is confirmed while another is sent",
    "a_control_with_news_sets_the_control_timer_again": "a buffer ends while the OK of another one waits",
    "a_faster_offer_is_adopted_or_the_restriction_is_reported: just before a burst": "data follow the confirmed buffer",
    "a_faster_offer_is_adopted_or_the_restriction_is_reported: while data are sent": "data follow the confirmed buffer",
    "a_later_buffer_of_which_nothing_comes_is_requested": "two buffers are open",
    "a_queue_larger_than_a_packet_begins_with_its_oldest_message: requests": "requests for four buffers",
    "a_sender_holds_back_when_it_gets_too_many_gos: 2 after a RESEND": "two buffers are the limit",
    "a_sender_holds_back_when_it_gets_too_many_gos: 3": "three buffers are the limit",
    "a_sender_in_its_dally_acknowledges_no_hole_and_then_everything": "OKs for two buffers come together",
    "a_slower_offer_is_adopted_and_never_loosened: the upper one of two": "two buffers are outstanding",
    "all_messages_behind_a_hole_have_their_effect_once_they_are_acknowledged": "GOs for three buffers come together",
    "any_packet_of_the_last_buffer_tells_that_it_is_the_last": "the last buffer begins first",
    "data_of_a_later_buffer_make_earlier_ones_due_soon_but_not_at_once": "a later buffer overtakes an earlier one",
    "no_packet_is_asked_for_before_those_of_the_buffers_below_have_come": "four buffers are outstanding",
    "nothing_of_a_buffer_is_sent_again_behind_its_ok: the lower one of two": "two buffers are outstanding",
    "nothing_of_a_buffer_is_sent_again_behind_its_ok: the upper one of two": "two buffers are outstanding",
    "nothing_is_transferred_behind_its_own_quit": "a buffer waits when the one before it ends",
    "repairs_come_before_any_packet_of_a_later_buffer: one buffer ahead": "a later buffer is being sent",
    "repairs_come_before_any_packet_of_a_later_buffer: two buffers ahead": "a later buffer is being sent",
    "repairs_of_the_lower_buffer_come_first_whichever_was_asked_for_first: one after the other": "two are requested",
    "repairs_of_the_lower_buffer_come_first_whichever_was_asked_for_first: together": "two are requested",
    "requests_that_come_together_are_all_served: a buffer, then the OK of the next one": "two buffers are outstanding",
    "requests_that_come_together_are_all_served: a buffer, then the next one": "two buffers are requested",
    "requests_that_come_together_are_all_served: each of many buffers": "several buffers are requested",
    "several_buffers_go_out_without_waiting_for_an_ok": "several buffers are outstanding",
    "the_first_packet_of_a_buffer_tightens_its_timer": "the highest of four buffers",
    "the_next_buffer_follows_without_waiting_for_the_ok": "two buffers are outstanding",
    "the_receiver_is_not_done_while_an_earlier_buffer_has_holes": "the later buffer is complete before the earlier one",
    "what_found_no_room_in_a_full_control_is_requested_when_there_is_room": "requests for four buffers",
    "what_is_requested_of_any_of_many_outstanding_buffers_is_sent_again": "eleven buffers are outstanding",
}
MANY_PACKETS = {
    "a_resend_with_a_byte_full_of_entries_is_served: 255": "a list of 255 packets",
    "a_resend_with_a_byte_full_of_entries_is_served: 256": "a list of 256 packets",
    "a_resend_with_a_byte_full_of_entries_is_served: 257": "a list of 257 packets",
    "a_queue_larger_than_a_packet_begins_with_its_oldest_message: requests": "a list of 960 packets",
    "a_request_larger_than_a_packet_loses_nothing": "a list of 1000 packets",
    "buffers_with_a_byte_full_of_packets_arrive: 255": "255 packets in a buffer",
    "buffers_with_a_byte_full_of_packets_arrive: 256": "256 packets in a buffer",
    "buffers_with_a_byte_full_of_packets_arrive: 257": "257 packets in a buffer",
    "packet_numbers_go_on_beyond_one_byte": "300 packets in a buffer",
    "what_found_no_room_in_a_full_control_is_requested_when_there_is_room": "lists of 240 packets",
}
NOT_POSSIBLE = {
    "passive-one-buffer": ONE_BUFFER,
    "passive-rounded-packets": MANY_PACKETS,
    "passive-thirds": MANY_PACKETS,
}
SIZES = st.builds(Parameters, buffer_size=st.integers(1, 70_000), packet_size=st.integers(1, 2_000))
LIMITS = st.builds(Limits, buffer_size=st.integers(1, 70_000), packet_size=st.integers(1, 2_000))


@pytest.fixture(scope="module")
def variant() -> Iterator[Callable[[str], Path]]:
    """Builds a legal variant of the reference."""
    with mutation.workshop(paths.core()) as made:

        @functools.cache
        def build(name: str) -> Path:
            return made.build(*mutants.chosen(mutants.load_variants(paths.variants()), [name]))

        yield build


@pytest.mark.parametrize("share", ["1/3", pytest.param("1/1", marks=pytest.mark.nightly)])
@pytest.mark.parametrize("name", NOT_POSSIBLE)
def test_only_cases_that_no_smaller_sizes_can_replace_are_not_run_on_a_restricting_end(
    variant: Callable[[str], Path], name: str, share: str, command: Command, whole_run: Outcome
) -> None:
    roles = ("--role", "passive-sender", "--role", "passive-receiver")
    words = ("--no-dissector", "--no-sweep", "--share", share)
    done = command("run", "--iut-library", str(variant(name)), *words, *roles)
    assert {result.verdict for result in done.results} <= {Verdict.PASS, Verdict.NA}
    everywhere = {result.case for result in whole_run.results if result.verdict is Verdict.NA}
    lacking = {result.case for result in done.results if result.verdict is Verdict.NA} - everywhere
    assert lacking <= set(NOT_POSSIBLE[name])


@given(SIZES, LIMITS)
def test_smaller_sizes_are_within_the_limits_and_give_a_buffer_as_many_packets(
    stated: Parameters, limits: Limits
) -> None:
    made = Sizes.within(stated, limits).made
    if made == stated:
        fits = stated.buffer_size <= limits.buffer_size and stated.packet_size <= limits.packet_size
        room = min(stated.packet_size, limits.packet_size, limits.buffer_size // stated.packets_per_buffer)
        assert fits or room < LEAST_PACKET_BYTES
        return
    assert made.buffer_size <= limits.buffer_size
    assert made.packet_size <= limits.packet_size
    assert made.packets_per_buffer == stated.packets_per_buffer
    assert dataclasses.replace(made, buffer_size=stated.buffer_size, packet_size=stated.packet_size) == stated


@given(SIZES, LIMITS, st.integers(0, 300_000))
@example(Parameters(buffer_size=1000), Limits(300, 100), 999)
def test_a_transfer_keeps_its_buffers_its_packets_and_whether_the_last_ones_are_full(
    stated: Parameters, limits: Limits, length: int
) -> None:
    sizes = Sizes.within(stated, limits)
    assert shape(sizes.scaled(length), sizes.made) == shape(length, stated)


def shape(length: int, sizes: Parameters) -> tuple[int, int, bool, bool]:
    """Full buffers, packets of the rest, whether the rest is empty, and whether its last packet is shorter."""
    buffers, rest = divmod(length, sizes.buffer_size)
    return buffers, -(-rest // sizes.packet_size), rest == 0, rest % sizes.packet_size > 0


RUN = Run("a_case", "a.py", (), PASSIVE_SENDER, "stimulus")


class Played:
    """A case that ends in a given way."""

    def __init__(self, end: Exception | Verdict) -> None:
        self.end, self.closed, self.postponed, self.profile = end, False, None, Profile()
        self.judgement = Judgement(end, "seen", expected="what was due") if isinstance(end, Verdict) else Judgement()

    def run(self, function: Callable[[], object]) -> None:
        del function
        if isinstance(self.end, Exception):
            raise self.end

    def close(self) -> None:
        self.closed = True


def too_small(text: str, buffer_size: int) -> SizesError:
    stated = Parameters(buffer_size=2 * buffer_size)
    return SizesError(text, Sizes(stated, stated), Limits(buffer_size, 100))


def play(*ends: Exception | Verdict) -> tuple[Any, list[Played]]:
    """What counts of a case whose runs end like this, or why it is N/A, and the runs that there were."""
    engine, waiting, begun = Engine(), [Played(end) for end in ends], []

    def begin(*_: object) -> Any:
        begun.append(waiting.pop(0))
        return begun[-1]

    engine._link = lambda _run: SimpleNamespace()  # type: ignore[method-assign,assignment,return-value]
    engine._begun = begin  # type: ignore[method-assign,assignment]
    try:
        counts: Any = engine._played(RUN, begin(), lambda _case: None)
    except NotSupportedError as reason:
        counts = str(reason)
    return counts, begun


def test_a_case_runs_again_where_other_sizes_fit_and_that_run_counts() -> None:
    counts, runs = play(too_small("first", 500), Verdict.FAIL)
    assert counts is runs[1]
    assert all(one.closed for one in runs)


def test_what_was_agreed_first_is_the_reason_when_no_sizes_fit() -> None:
    assert play(*[too_small(f"attempt {n}", 1000 - n) for n in range(ATTEMPTS + 2)])[0] == "attempt 0"
    assert play(too_small("first", 500), NotSupportedError("second"))[0] == "first"


def test_a_second_run_that_decides_nothing_does_not_count() -> None:
    assert play(too_small("first", 500), Verdict.INCONC)[0] == "first"
    counts, runs = play(Verdict.INCONC)
    assert counts is runs[0]


def test_a_case_does_not_run_again_where_sizes_are_not_what_is_missing() -> None:
    stated = Parameters(buffer_size=1000, packet_size=100)
    outstanding = SizesError("two buffers", Sizes(stated, stated), Limits(1000, 100))
    for reason in (outstanding, NotSupportedError("no client")):
        counts, runs = play(reason, Verdict.PASS)
        assert (counts, len(runs)) == (str(reason), 1)


@pytest.mark.parametrize(("name", "outstanding", "controls"), [("", [0, 1], 1), ("passive-one-buffer", [1], 3)])
def test_gos_in_turn_wait_for_room_only_where_fewer_buffers_were_agreed(
    built_library: Path, variant: Callable[[str], Path], name: str, outstanding: list[int], controls: int
) -> None:
    factory = SimLinkFactory(variant(name) if name else built_library)
    case = Case("gos_in_turn", (), PASSIVE_SENDER, "stimulus", factory.make(Capture()), 1, Profile())
    peer = case.receiver(2 * 1024, max_buffers=2)
    peer.connect()
    peer.go_in_turn(0, 1)
    assert peer.unconfirmed == outstanding
    sent = [packets.read(ipv4.unwrap(frame.packet).payload) for frame in case.link.capture.frames if frame.sent]
    assert sum(packet.type is packets.Type.CONTROL for packet in sent) == controls
    peer.finish()
    peer.expect_success()
    case.close()


def test_a_case_within_limits_sends_as_much_data_in_proportion(built_library: Path) -> None:
    limits = Limits(300, 100)
    link = SimLinkFactory(built_library).make(Capture())
    case = Case("within_limits", (), PASSIVE_SENDER, "stimulus", link, 1, Profile(), limits=limits)
    peer = case.receiver(2 * 1024 + 256)
    peer.connect()
    assert (peer.terms.buffer_size, peer.terms.packet_size) == (300, 75)
    assert len(peer.data) == 2 * 300 + 75
    peer.require(buffer_size=1024, packet_size=256)
    with pytest.raises(SizesError, match="needs 375"):
        peer.require(buffer_size=1024 + 256)
    assert peer.finish() == peer.data
    case.close()
