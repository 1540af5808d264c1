# SPDX-License-Identifier: GPL-2.0-or-later
"""ROBUST: damaged and impossible packets in masses. A transfer before and after shows that the implementation lives;
when it dies, the verdict names the packet that it died of."""

import dataclasses

from netblt_conformance import fuzz, packets
from netblt_conformance.case import ACTIVE, ALL_ROLES, PASSIVE, Case, case
from netblt_conformance.packets import Kind, Message, Packet, Type
from netblt_conformance.peer import ReceiverPeer, SenderPeer
from netblt_conformance.tolerances import QUIET_US

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


def throw(t: Case, peer: ReceiverPeer | SenderPeer, packets_to_send: list[fuzz.Mutated]) -> None:
    for mutated in packets_to_send:
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
        t.must(not t.link.status().failed, "a damaged packet ended the connection")
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
    throw(t, peer, fuzz.generate(t.seed, t.random, sound, COUNT, sealed=True))
    t.note("the packets thrown at it")
    if t.link.status().failed:
        t.observe("impossible packets with good checksums", "end the connection")
        return
    t.must(not t.link.status().succeeded, "success was reported in the middle of the transfer")
    t.observe("impossible packets with good checksums", "are borne")
    peer.listen(QUIET_US)


# Nonsense may be answered, acknowledged or obeyed in many ways.
FREE = {
    "CTRL-05", "CTRL-06", "CTRL-07", "CTRL-09", "CTRL-14", "DATA-01", "DATA-09", "DATA-10", "DATA-12", "DATA-13",
    "OPEN-02", "OPEN-04", "OPEN-05", "OPEN-07", "NEG-01", "NEG-02", "NEG-03", "NEG-04", "NEG-05", "NEG-07", "NEG-10",
    "ORDER-01", "ORDER-02", "ORDER-03", "RATE-01", "RESEND-01", "RESEND-02", "RESEND-06", "TIMER-04", "TIMER-08",
    "ABORT-02", "QUIT-05", "CLOSE-01", "ABORT-03",
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
    t.must(not answers, "a packet that is too short was answered", answers[0].frame if answers else None)
    peer.finish()
    peer.expect_success()


def harmless(t: Case, peer: ReceiverPeer | SenderPeer) -> list[fuzz.Mutated]:
    """Well-formed packets of every type that mean nothing here: other IDs, numbers far away."""
    forge, stranger = peer.forge, peer.opening_values(unique_id=peer.unique_id ^ 0x00FF00FF)
    far = Packet(b"", type=Type.DATA, buffer=t.profile.first_buffer + 70_000, packet=3, data=b"\x5a" * 256)
    made = {
        "OPEN of a stranger": forge.opening(Type.OPEN, stranger),
        "RESPONSE of a stranger": forge.opening(Type.RESPONSE, stranger),
        "KEEPALIVE": forge.packet(Type.KEEPALIVE),
        "QUITACK that nobody asked for": forge.packet(Type.QUITACK),
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
            peer.until(lambda: len(peer.buffer(0).packets) >= 2, 2_000_000, "expected data")
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
        peer.until(lambda: t.link.status().closed, 60_000_000, "expected the connection to be closed")
    if t.link.real_time:
        return  # its program has ended: there is nobody left
    old += [frame.packet[20:] for frame in t.link.capture.frames if frame.sent][len(old) :]
    throw(t, peer, [fuzz.Mutated(f"packet {n} of the earlier connection", packet) for n, packet in enumerate(old)])
    t.must(t.link.status().succeeded, "a stale packet turned success into failure")
    if isinstance(peer, SenderPeer):
        t.expect_delivered(peer.data)
    if not t.role.active:
        peer.unique_id ^= 0x12345678
        answers = (Type.RESPONSE, Type.REFUSED)
        peer.send_open()
        seen = peer.expect(lambda packet: packet.type in answers, 5_000_000, "expected an answer to a new OPEN")
        t.observe("the ports of a connection that is over", "RESPONSE" if seen.packet.type is Type.RESPONSE else "busy")
