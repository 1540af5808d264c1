# SPDX-License-Identifier: GPL-2.0-or-later
"""ROBUST: damaged and impossible packets in masses. A transfer before and after shows that the implementation lives;
when it dies, the verdict names the packet that it died of."""

import dataclasses
from collections.abc import Callable

from netblt_conformance.cases.case import ACTIVE, ALL_ROLES, PASSIVE, Case, case
from netblt_conformance.common.errors import NotSupportedError
from netblt_conformance.common.model import MICROSECONDS_PER_S as S
from netblt_conformance.common.model import Feature, Stop
from netblt_conformance.common.tolerances import QUIET_US
from netblt_conformance.common.waits import Awaited
from netblt_conformance.packets import fuzz, packets
from netblt_conformance.packets.packets import Kind, Message, Packet, Type
from netblt_conformance.peer import ReceiverPeer, SenderPeer

COUNT = 150  # packets of a kind and role; each is another one


def sound_packets(t: Case, peer: ReceiverPeer | SenderPeer) -> dict[str, bytes]:
    """One packet of every type and control message, as this connection would carry them."""
    forge, first = peer.forge, t.profile.first_buffer
    data = Packet(b"", type=Type.DATA, buffer=first, packet=1, data=b"\xa5" * 256)
    everything = [
        Message(Kind.GO, 900, first + 1),
        Message(Kind.OK, 901, first, burst_size=8, burst_interval_ms=10, control_timer_ms=500),
        Message(Kind.RESEND, 902, first, packets=(0, 1, 2)),
    ]
    return {
        "OPEN": forge.opening(Type.OPEN, peer.opening_values()),
        "RESPONSE": forge.opening(Type.RESPONSE, peer.opening_values()),
        "KEEPALIVE": forge.packet(Type.KEEPALIVE),
        "QUIT": forge.reason(Type.QUIT, "fuzz"),
        "QUITACK": forge.packet(Type.QUITACK),
        "ABORT": forge.reason(Type.ABORT, "fuzz"),
        "DATA": forge.data(data),
        "LDATA": forge.data(dataclasses.replace(data, type=Type.LDATA, packet=3)),
        "NULL-ACK": forge.null_ack(1, 8, 10),
        "CONTROL": forge.control(everything),
        "REFUSED": forge.reason(Type.REFUSED, "fuzz"),
        "DONE": forge.packet(Type.DONE),
    }


def throw(
    t: Case, peer: ReceiverPeer | SenderPeer, packets_to_send: list[fuzz.Mutated], *, until_failure: bool = False
) -> None:
    """`until_failure`: no more once the connection has failed, for an OPEN would begin another one."""
    t.provokes("WIRE-02")  # an ABORT that answers one belongs to no connection: its version may be that packet's
    for mutated in packets_to_send:
        if until_failure and t.link.status().failed:
            break
        t.note(f"{mutated.name} ({mutated.packet[:48].hex()})")
        t.link.send(mutated.packet)
        peer.listen(max(2 * t.link.delay_us, peer.ms(1)))  # so that the packet named last is the one that it dies of
    peer.listen(QUIET_US)


@case("ROBUST-01", "CKSUM-06", roles=ALL_ROLES, control=True)
def test_damaged_packets_whose_checksum_shows_it_change_nothing(t: Case) -> None:
    peer = t.peer(4096)
    with t.preamble():
        peer.connect()
        t.run_first_buffer(peer)
    if t.stimulus:
        throw(t, peer, fuzz.generate(t.seed, t.random, sound_packets(t, peer), COUNT, sealed=False))
        t.must(
            not t.link.status().failed, "a damaged packet ended the connection", expected="a connection that goes on"
        )
    peer.finish()
    peer.expect_success()
    if isinstance(peer, SenderPeer):
        t.expect_delivered(peer.data)


@case("ROBUST-01", "ROBUST-06", "ROBUST-07", roles=ALL_ROLES)
def test_impossible_packets_with_good_checksums_never_make_a_false_success(t: Case) -> None:
    peer = t.peer(4096, data_checksum=True)
    with t.preamble():
        peer.connect()
        t.run_first_buffer(peer)
    ends = ("QUIT", "ABORT", "DONE")  # these have their effect whatever is changed in their text
    sound = {name: packet for name, packet in sound_packets(t, peer).items() if name not in ends}
    for monitor in t.monitors:  # what the implementation makes of nonsense is its own business, as long as it lives
        monitor.disabled.update(requirement for requirement in FREE)
    throw(t, peer, fuzz.generate(t.seed, t.random, sound, COUNT, sealed=True), until_failure=True)
    t.note("the impossible packets")
    if t.link.status().failed:
        t.observe("impossible packets with good checksums", "end the connection")
        return
    t.must(
        not t.link.status().succeeded,
        "success was reported in the middle of the transfer",
        expected="no success before the transfer ends",
    )
    t.observe("impossible packets with good checksums", "are borne")
    peer.listen(QUIET_US)


# Nonsense may be answered, acknowledged or obeyed in many ways.
FREE = {
    "CTRL-04", "CTRL-05", "CTRL-06", "CTRL-07", "CTRL-09", "CTRL-11", "CTRL-14", "DATA-01", "DATA-09",
    "DATA-10", "DATA-12", "DATA-13", "OPEN-01", "OPEN-02", "OPEN-04", "OPEN-05", "OPEN-07", "NEG-01", "NEG-02",
    "NEG-03", "NEG-04", "NEG-05", "NEG-07", "NEG-10", "ORDER-01", "ORDER-02", "ORDER-03", "RATE-01",
    "RESEND-01", "RESEND-02", "RESEND-06", "TIMER-04", "TIMER-08", "ABORT-02", "QUIT-05", "CLOSE-01",
    "ABORT-03",
}  # fmt: skip


@case("ROBUST-01", "DEMUX-03", roles=PASSIVE)
def test_a_listening_end_bears_damaged_packets_of_every_type(t: Case) -> None:
    peer = t.peer(2048)
    sound = sound_packets(t, peer)
    del sound["OPEN"]  # a damaged OPEN with a good checksum is a request like any other
    throw(t, peer, fuzz.generate(t.seed, t.random, sound_packets(t, peer), COUNT, sealed=False))
    elsewhere = [dataclasses.replace(peer.forge, local_port=peer.own_port ^ 2)]
    for forge in elsewhere:
        peer_packets = {name: forge.packet(packet[3], packet[12:]) for name, packet in sound.items()}
        mutated = fuzz.generate(t.seed, t.random, peer_packets, COUNT, sealed=True)
        throw(t, peer, [m for m in mutated if len(m.packet) < 4 or m.packet[3] != Type.OPEN])
    peer.open()
    peer.finish()
    peer.expect_success()


@case("ROBUST-01", roles=ALL_ROLES)
def test_packets_cut_at_every_offset_with_length_and_checksum_to_match_do_no_harm(t: Case) -> None:
    peer = t.peer(4096)
    with t.preamble():
        peer.connect()
        t.run_first_buffer(peer)
    cut: list[fuzz.Mutated] = []
    for name, packet in sound_packets(t, peer).items():
        if name in ("QUIT", "ABORT", "DONE", "KEEPALIVE", "QUITACK", "REFUSED"):
            continue  # a shorter reason is a reason
        end = packets.MINIMUM_BYTES.get(Type(packet[3]), packets.HEADER_BYTES + 1)
        for size in range(packets.HEADER_BYTES, end):
            short = bytearray(packet[:size])
            short[4:6] = size.to_bytes(2, "big")
            cut.append(fuzz.Mutated(f"{name} cut to {size} bytes", packets.seal(short)))
    throw(t, peer, cut)
    answers = [s for s in peer.seen if s.packet.type in (Type.ABORT, Type.REFUSED)]
    t.must(
        not answers,
        "a packet that is too short was answered",
        answers[0].frame if answers else None,
        expected="no answer",
    )
    peer.finish()
    peer.expect_success()


def harmless(t: Case, peer: ReceiverPeer | SenderPeer) -> list[fuzz.Mutated]:
    """Well-formed packets of every type that mean nothing here: other IDs, numbers far away."""
    forge, stranger = peer.forge, peer.opening_values(unique_id=peer.unique_id ^ 0x00FF00FF)
    far = Packet(b"", type=Type.DATA, buffer=t.profile.first_buffer + 70_000, packet=3, data=b"\x5a" * 256)
    made = {
        "OPEN from another address": forge.opening(Type.OPEN, stranger),
        "RESPONSE from another address": forge.opening(Type.RESPONSE, stranger),
        "KEEPALIVE": forge.packet(Type.KEEPALIVE),
        "QUITACK without a QUIT": forge.packet(Type.QUITACK),
        "DATA far away": forge.data(far),
        "LDATA far away": forge.data(dataclasses.replace(far, type=Type.LDATA)),
        "NULL-ACK of nothing": forge.null_ack(0, 8, 10),
        "CONTROL far away": forge.control([Message(Kind.RESEND, 30_000, far.buffer, packets=(1,))]),
        "type 12": forge.packet(12),
        "type 200": forge.packet(200, b"\0" * 40),
    }
    return [fuzz.Mutated(name, packet) for name, packet in made.items()]


@case("ROBUST-08", "ROBUST-02", roles=ACTIVE)
def test_every_type_while_opening_is_borne(t: Case) -> None:
    peer = t.peer(2048)
    with t.preamble():
        peer.await_open()
    throw(t, peer, [m for m in harmless(t, peer) if "stranger" not in m.name])
    peer.respond()
    peer.finish()
    peer.expect_success()


@case("ROBUST-08", "ROBUST-02", "OPEN-09", roles=ALL_ROLES, variants=("open", "mid-buffer"))
def test_every_type_in_the_middle_of_a_transfer_is_borne(t: Case) -> None:
    peer = t.peer(4096, burst_size=1, burst_interval_ms=20)
    with t.preamble():
        peer.connect()
        if t.variant == "mid-buffer":
            peer.require(packets_per_buffer=3)
        if t.variant == "mid-buffer" and isinstance(peer, ReceiverPeer):
            peer.go(0)
            peer.until(lambda: len(peer.buffer(0).packets) >= 2, 2_000_000, "data")
        elif t.variant == "mid-buffer" and isinstance(peer, SenderPeer):
            peer.expect_go(0)
            peer.send_packets(0, [0, 1])
    throw(t, peer, harmless(t, peer))
    peer.finish()
    peer.expect_success()
    if isinstance(peer, SenderPeer):
        t.expect_delivered(peer.data)


@case("DEMUX-04", "DEMUX-03", "ABORT-02", roles=ALL_ROLES)
def test_after_the_end_old_packets_do_no_harm_and_the_ports_are_free_again(t: Case) -> None:
    peer = t.peer(2048)
    with t.preamble():
        peer.connect()
        old = [frame.packet[20:] for frame in t.link.capture.frames if frame.sent]
        peer.finish()
        peer.expect_success()
        peer.expect_closed()
    if t.link.real_time:
        return  # its program has ended
    old += [frame.packet[20:] for frame in t.link.capture.frames if frame.sent][len(old) :]
    if not t.role.active:  # one that still listens takes an old OPEN for a new one and repeats what it sent then
        t.provokes("OPEN-02", "CTRL-05", "CTRL-06", "CTRL-13", "DATA-13", "TIMER-02", "CLOSE-06")
    throw(t, peer, [fuzz.Mutated(f"packet {n} of the earlier connection", packet) for n, packet in enumerate(old)])
    t.must(
        t.link.status().succeeded,
        "a stale packet turned success into failure",
        expected="success, as it was reported before",
    )
    if isinstance(peer, SenderPeer):
        t.expect_delivered(peer.data)
    if not t.role.active:
        peer.unique_id ^= 0x12345678
        answers = (Type.RESPONSE, Type.REFUSED)
        peer.send_open()
        seen = peer.expect(lambda packet: packet.type in answers, 5_000_000, "an answer to a new OPEN")
        accepted = seen.packet.type is Type.RESPONSE
        t.must(
            not accepted or seen.packet.unique_id == peer.unique_id,
            "RESPONSE has another unique ID",
            seen.frame,
            expected="the unique ID of the OPEN",
        )
        t.observe("the ports of a connection that is over", "RESPONSE" if accepted else "busy")


# ---- every state of a connection ----

FEW = 40  # packets of a kind, state and role; each is another one
LENGTH = 1024  # one buffer
# A sender dallies for as long as the receiver's control timer may run (CLOSE-04): long enough for all that is thrown.
DALLY_TIMER_MS = 20_000
# These have their effect whatever is changed in their text.
ENDS = {Type.QUIT, Type.QUITACK, Type.ABORT, Type.DONE, Type.REFUSED}

TesterEnd = ReceiverPeer | SenderPeer


@dataclasses.dataclass(frozen=True)
class State:
    """How to get the implementation there, and what must be possible from there when nothing has happened."""

    enter: Callable[[Case, TesterEnd], None]
    leave: Callable[[Case, TesterEnd], None]
    succeeds: bool = False  # whatever the tester sends, success may be reported from here on


def _complete(t: Case, peer: TesterEnd) -> None:
    peer.finish()
    _expect_success(t, peer)


def _expect_success(t: Case, peer: TesterEnd) -> None:
    peer.expect_success()
    if isinstance(peer, SenderPeer):
        t.expect_delivered(peer.data)


# ---- a passive end listens, an active one opens ----


def _await_open(t: Case, peer: TesterEnd) -> None:
    if t.role.active:
        peer.await_open()


def _open_and_complete(t: Case, peer: TesterEnd) -> None:
    if t.role.active:
        peer.respond()
    else:
        peer.open()
    _complete(t, peer)


# ---- quitting ----


def _quit(t: Case, peer: TesterEnd) -> None:
    if Feature.QUIT not in t.link.features:
        raise NotSupportedError(f"not available here: {Feature.QUIT.value}")
    peer.connect()
    peer.listen(t.tolerances.crossing_us)
    t.link.stop(Stop.QUIT, "the client has had enough")
    peer.expect_type(Type.QUIT, 15 * S)


def _still_quits(_t: Case, peer: TesterEnd) -> None:
    peer.expect_type(Type.QUIT, 15 * S)
    peer.send(peer.forge.packet(Type.QUITACK))
    peer.expect_failure()


def _be_quit(_t: Case, peer: TesterEnd) -> None:
    peer.connect()
    peer.send_quit()
    peer.expect_type(Type.QUITACK)


def _has_quit(_t: Case, peer: TesterEnd) -> None:
    peer.send_quit()
    peer.expect_type(Type.QUITACK)
    peer.expect_failure()


# ---- the end of a transfer: a receiver's last OK is not acknowledged yet, a sender dallies ----


def _all_but_the_end(_t: Case, peer: TesterEnd) -> None:
    if isinstance(peer, ReceiverPeer):
        peer.control_timer_ms = DALLY_TIMER_MS
    peer.connect()
    peer.require(buffer_size=LENGTH)
    if isinstance(peer, ReceiverPeer):
        peer.go(0)
        peer.expect_buffer(0)
        peer.expect_ack(peer.ok(0)[0].seq)
    else:
        go = peer.expect_go(0)
        peer.answer_controls(False)
        peer.withhold_ack(at=go.seq)
        peer.send_buffer(0)
        peer.expect_ok(0)


def _end(t: Case, peer: TesterEnd) -> None:
    t.must(
        not t.link.status().closed, "closed before the end was due", expected="an open connection until the end is due"
    )
    if isinstance(peer, ReceiverPeer) and not t.dialect.ends_with_quit:
        peer.send_control([peer.monitor.session.issued.messages[-1]])
        acknowledged = "the repeated OK to be acknowledged during the dally"
        peer.expect(lambda packet: packet.type is Type.NULL_ACK, peer.ack_deadline_us, acknowledged)
    elif isinstance(peer, SenderPeer):
        peer.acknowledge()
    peer.end()
    _expect_success(t, peer)


def _everything(t: Case, peer: TesterEnd) -> None:
    if t.link.real_time:
        raise NotSupportedError("its program has ended")
    peer.connect()
    _complete(t, peer)
    peer.expect_closed()


def _stays_over(t: Case, peer: TesterEnd) -> None:
    t.must(
        t.link.status().succeeded,
        "what came after the end turned success into failure",
        expected="success, as it was reported before",
    )
    _expect_success(t, peer)


STATES = {
    "setup": State(_await_open, _open_and_complete),
    "quitting": State(_quit, _still_quits),
    "asked to quit": State(_be_quit, _has_quit),
    "end": State(_all_but_the_end, _end, succeeds=True),
    "over": State(_everything, _stays_over, succeeds=True),
}


def entered(t: Case, **parameters: bool) -> tuple[State, TesterEnd]:
    state = STATES[t.variant]
    # Of a full buffer a sender may not know that it is the last (AMB-41).
    peer = t.peer(LENGTH - 24 if t.role.sender else LENGTH, max_buffers=1, **parameters)
    with t.preamble():
        state.enter(t, peer)
    return state, peer


def throw_cut(t: Case, peer: TesterEnd, sound: dict[str, bytes]) -> None:
    """Every packet cut at every offset, with the Length that it had, and with Length and checksum to match where it is
    then shorter than its type can be."""
    for name, packet in sound.items():
        t.note(f"{name} cut at every offset")
        least = packets.minimum_bytes(Type(packet[3]))
        for size in range(len(packet)):
            t.link.send(packet[:size])
            if packets.HEADER_BYTES <= size < least:
                short = bytearray(packet[:size])
                short[4:6] = size.to_bytes(2, "big")
                t.link.send(packets.seal(short))
        peer.listen(max(2 * t.link.delay_us, peer.ms(1)))


@case("ROBUST-01", "CKSUM-06", roles=ALL_ROLES, control=True, variants=tuple(STATES))
def test_damaged_packets_change_nothing_in_any_state(t: Case) -> None:
    state, peer = entered(t)
    if t.stimulus:
        sound = sound_packets(t, peer)
        throw_cut(t, peer, sound)
        throw(t, peer, fuzz.generate(t.seed, t.random, sound, FEW, sealed=False))
        t.note("damaged packets")
    state.leave(t, peer)


@case("ROBUST-01", "ROBUST-06", "ROBUST-07", roles=ALL_ROLES, variants=tuple(STATES))
def test_impossible_packets_with_good_checksums_are_survived_in_any_state(t: Case) -> None:
    state, peer = entered(t, data_checksum=True)
    for monitor in t.monitors:  # what it makes of nonsense is its own business, as long as it lives
        monitor.disabled.update(FREE)
    listens = t.variant in ("setup", "over") and not t.role.active
    ends = {*ENDS, Type.OPEN} if listens else ENDS  # to who listens a damaged one is a request like any other
    sound = {name: packet for name, packet in sound_packets(t, peer).items() if packet[3] not in ends}
    mutated = fuzz.generate(t.seed, t.random, sound, FEW, sealed=True)
    throw(t, peer, [m for m in mutated if len(m.packet) < packets.HEADER_BYTES or m.packet[3] not in ends])
    t.note("impossible packets")
    if listens or t.variant == "over":
        state.leave(t, peer)
        return
    t.must(
        state.succeeds or not t.link.status().succeeded,
        "success was reported of a transfer that was not made",
        expected="failure to be reported to the client",
    )
    peer.send_abort()  # whatever was made of all that: this ends it, if the peer is still there
    peer.go_silent()  # packets after it would show that it was forged
    expected = "the client to learn the outcome"
    peer.until(lambda: _has_outcome(t), t.tolerances.close_max_us, expected, Awaited.FAILURE)
    t.must(
        state.succeeds or t.link.status().failed,
        "success was reported of a transfer that was not made",
        expected="failure to be reported to the client",
    )
    if isinstance(peer, SenderPeer) and t.link.status().succeeded:
        t.expect_delivered(peer.data)
    peer.listen(QUIET_US)


def _has_outcome(t: Case) -> bool:
    status = t.link.status()
    return status.succeeded or status.failed
