# SPDX-License-Identifier: GPL-2.0-or-later
"""Which requirement a case reports: the one by which something was due, or the one that is violated."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from netblt_conformance.common import paths
from netblt_conformance.common.verdicts import Cause, Origin, Result, Verdict
from netblt_conformance.common.waits import Awaited
from netblt_conformance.mutants import mutants, mutation
from netblt_conformance.packets.packets import Packet, Type
from netblt_conformance.peer.base import Peer
from netblt_conformance.peer.exchange import Seen


@pytest.fixture(scope="module")
def workshop() -> Iterator[mutation.Workshop]:
    with mutation.workshop(paths.root() / "reference_impl" / "core") as made:
        yield made


def failures(made: mutation.Workshop, name: str, case: str) -> list[Result]:
    (mutant,) = mutants.chosen(mutants.load(paths.mutants()), [name])
    outcome = mutation.run_cases(made.build(mutant), case, made.report(mutant))
    return [result for result in outcome.results if result.verdict is Verdict.FAIL]


def test_a_repair_that_does_not_come_after_all_data_were_sent_is_due_by_the_rule_of_the_end(
    workshop: mutation.Workshop,
) -> None:
    rows = failures(workshop, "no-repairs-after-the-last-buffer", "repairs_are_served_after_the_last_buffer_was_sent")
    assert {(row.cause, row.due_by) for row in rows} == {(Cause.ABSENCE, "CLOSE-08")}


def test_a_repair_that_does_not_come_before_that_is_due_by_the_rule_of_repairs(workshop: mutation.Workshop) -> None:
    rows = failures(
        workshop, "three-packets-of-a-request", "repairs_of_the_lower_buffer_come_first_whichever_was_asked_for_first"
    )
    assert {(row.cause, row.due_by) for row in rows} == {(Cause.ABSENCE, "RESEND-02")}


def test_an_ldata_that_is_not_sent_again_is_due_by_the_rule_of_the_ldata(workshop: mutation.Workshop) -> None:
    rows = failures(workshop, "ldata-never-repeated", "all_messages_of_one_control_take_effect")
    assert {row.due_by for row in rows if row.cause is Cause.ABSENCE} == {"RESEND-05"}


def test_what_is_asked_for_behind_messages_that_alone_are_acknowledged_is_due_by_the_rule_of_whole_packets(
    workshop: mutation.Workshop,
) -> None:
    rows = failures(workshop, "duplicate-ends-the-control", "a_new_message_behind_known_ones_takes_effect")
    assert {(row.cause, row.due_by) for row in rows} == {(Cause.ABSENCE, "CTRL-12"), (Cause.ABSENCE, "CTRL-10")}


def test_an_end_that_closes_before_its_last_acknowledgement_owes_this_one(workshop: mutation.Workshop) -> None:
    rows = failures(workshop, "closes-with-the-last-ok", "a_resend_of_any_number_of_packets_is_served")
    assert {(row.cause, row.due_by) for row in rows} == {(Cause.ABSENCE, "CLOSE-03")}


def test_a_control_that_lacks_a_message_does_not_accuse_the_control_timer(workshop: mutation.Workshop) -> None:
    rows = failures(
        workshop, "what-does-not-fit-goes-alone", "a_queue_larger_than_a_packet_begins_with_its_oldest_message"
    )
    waiting = [row for row in rows if row.cause is Cause.ABSENCE]  # a monitor sees that numbers are missing, too
    assert {(row.requirement, row.due_by) for row in waiting} == {("CTRL-04", "")}


def test_a_control_that_is_not_repeated_accuses_the_control_timer(workshop: mutation.Workshop) -> None:
    rows = failures(workshop, "control-repeated-once", "only_the_death_timer_ends_the_repetition_of_control")
    assert {(row.cause, row.due_by) for row in rows} == {(Cause.ABSENCE, "TIMER-01")}


def test_a_quit_that_is_not_repeated_accuses_the_repetition_of_quit(workshop: mutation.Workshop) -> None:
    rows = failures(workshop, "quit-once", "quit_is_repeated_until_quitack_comes")
    assert {(row.cause, row.due_by) for row in rows} == {(Cause.ABSENCE, "QUIT-02")}


@pytest.mark.parametrize(("seen", "due_by"), [((), ""), ((Type.CONTROL,), ""), ((Type.CONTROL, Type.QUIT), "QUIT-02")])
def test_a_quit_is_due_only_as_a_repetition(seen: tuple[Type, ...], due_by: str) -> None:
    peer = Peer.__new__(Peer)
    peer.seen = [Seen(Packet(b"", type=one), 0, 1, b"") for one in seen]
    assert peer.due_by(Awaited.QUIT) == due_by


@pytest.mark.parametrize(("mutant", "requirement"), [("offer-ignored", "NEG-09"), ("null-ack-other-pace", "CTRL-11")])
def test_a_wrong_pair_in_a_null_ack_breaks_the_offer_only_if_it_is_also_used(
    workshop: mutation.Workshop, mutant: str, requirement: str
) -> None:
    rows = failures(workshop, mutant, "a_slower_offer_is_adopted_and_never_loosened")
    assert {row.violated for row in rows} == {requirement}


SENT = "    write_header(out, emitter, type, length);\n    nb_put32(out + 12, fields->buffer);"
OTHER_DATA = mutants.Mutant.model_validate(
    {
        "name": "the-last-byte-is-another",
        "requirement": "DATA-08",
        "about": "a sender changes the last byte of each packet",
        "edit": [{"file": "wire_encode.c", "old": SENT, "new": "    out[length - 1] ^= 1;\n" + SENT}],
    }
)


@pytest.mark.parametrize(
    ("library", "role"),
    [("four-gigabytes-of-one-size", "active-receiver"), (OTHER_DATA.name, "active-sender")],
)
def test_other_data_accuse_their_delivery_whatever_the_case_is_about(
    workshop: mutation.Workshop, library: str, role: str
) -> None:
    """The case is about numbers of packets that need more than a byte. Those are right: the receiver cuts a buffer, the
    sender changes bytes."""
    known = [*mutants.load(paths.mutants()), OTHER_DATA]
    (mutant,) = mutants.chosen(known, [library])
    outcome = mutation.run_cases(
        workshop.build(mutant), "buffers_with_a_byte_full_of_packets_arrive: 256", workshop.report(mutant)
    )
    rows = [one for one in outcome.results if one.verdict is Verdict.FAIL and one.role == role]
    assert {row.requirement for row in rows} == {"DATA-08"}
    assert ["DATA-05", "DATA-07", "DATA-08"] in [row.requirements for row in rows if row.origin is Origin.CASE]


def test_other_data_accuse_their_delivery_where_the_case_is_about_times_or_messages(
    workshop: mutation.Workshop,
) -> None:
    case = "the_data_timer_runs_from_the_acknowledgement_of_a_request_that_some_of_its_data_overtook"
    rows = failures(workshop, "duplicates-count", case)
    assert {row.requirement for row in rows if row.origin is Origin.CASE} == {"DATA-08"}
