# SPDX-License-Identifier: BSD-2-Clause
"""Reflection: what a server sends to addresses that an attacker forges."""

from __future__ import annotations

import select
import socket
import time
from dataclasses import dataclass
from pathlib import Path

import field
from field import Field, Settings

# To all unvalidated peers together: three times what came from them, and this much besides.
AMPLIFICATION = 3
ALLOWANCE_BYTES = 64 << 10
ALLOWANCE_BYTES_PER_S = 64 << 10
TAIL_S = 2  # retransmissions that the attack has caused count too
FILE_BYTES = 20_000_000
ATTACK_S = 2

READ = "open:read,string=big,packet-size=1408"
WRITE = "open:write,string=up-%,packet-size=1408"
# Control messages as a receiver sends them that gets every buffer: GO 0, then OK n and GO n + 1.
ACKNOWLEDGED = [
    word
    for n in range(8)
    for word in (
        f"ok:seq={2 * n + 2},buffer={n},at={200 * n + 250}",
        f"go:seq={2 * n + 3},buffer={n + 1},at={200 * n + 250}",
    )
]
GO = "go:seq=1,buffer=0,at=50"
GO_BYTES = {"ip": 40, "udp": 48}  # of the IP packet
MOMENT_S = 0.1  # for what was on its way, and for a server on a busy machine
ETH_P_ALL, PACKET_OUTGOING = 3, 4


def reflect(ground: Field, encap: str, name: str, rate: float, *steps: str, seconds: float = ATTACK_S) -> None:
    """Forges conversations and asserts the bound on what the victim gets."""
    with field.listening(ground, encap) as server:
        server.file("big", FILE_BYTES)
        before, begin = ground.victim_bytes(), time.monotonic()
        attack = ground.forge(
            "--encap", encap, "--rate", f"{rate:g}", "--count", f"{max(1, rate * seconds):.0f}", *steps
        ).counters()
        time.sleep(TAIL_S)
        elapsed = time.monotonic() - begin
        received = ground.victim_bytes() - before
        bound = AMPLIFICATION * attack["bytes"] + ALLOWANCE_BYTES + ALLOWANCE_BYTES_PER_S * elapsed
        field.figure(
            f"reflection: {name}", encap=encap, rate_per_s=rate, forged_packets=attack["packets"],
            forged_bytes=attack["bytes"], victim_bytes=received, seconds=round(elapsed, 1),
            factor=round(received / attack["bytes"], 2), bound_bytes=round(bound),
        )  # fmt: skip
        assert attack["failed"] == 0, attack
        assert server.program.running, server.program.words
        assert received > 0, "nothing reached the victim: the attack does not work at all"
        assert received <= bound, f"{name} over {encap}: {received} bytes to the victim, at most {bound:.0f} allowed"


def encapsulations(settings: Settings) -> tuple[str, ...]:
    return ("udp", "ip") if settings.full else ("udp",)


def attack_all(settings: Settings, folder: Path, name: str, rates: tuple[float, ...], *steps: str) -> None:
    """The same attack over each encapsulation at each rate; without --full at the last rate only."""
    problems = []
    with field.playground(settings, folder) as ground:
        for encap in encapsulations(settings):
            for rate in rates if settings.full else rates[-1:]:
                try:
                    reflect(ground, encap, name, rate, *steps, seconds=5 if settings.full else ATTACK_S)
                except AssertionError as problem:
                    problems.append(str(problem))
    assert not problems, "; ".join(problems)


def forged_open_and_go_pairs_are_no_amplifier(settings: Settings, folder: Path) -> None:
    attack_all(settings, folder, "OPEN to read, GO", (50, 200, 500), READ, GO)


def blind_acknowledgements_are_no_amplifier(settings: Settings, folder: Path) -> None:
    attack_all(settings, folder, "OPEN to read, GO, OK and GO eight times", (1, 20), READ, GO, *ACKNOWLEDGED)


def a_write_open_with_a_short_death_timer_is_no_amplifier(settings: Settings, folder: Path) -> None:
    attack_all(settings, folder, "OPEN to write, death timer 1", (50, 500), f"{WRITE},death=1")


def a_flood_of_opens_is_no_amplifier(settings: Settings, folder: Path) -> None:
    attack_all(settings, folder, "OPEN to read and write", (500, 5000), "open:either,string=big")


def a_raw_ip_server_is_no_amplifier(settings: Settings, folder: Path) -> None:
    with field.playground(settings, folder) as ground:
        reflect(ground, "ip", "OPEN to read, GO", 200, READ, GO)


# ---- ICMP -------------------------------------------------------------------------------------------------------


@dataclass
class Watched:
    """Packets that the victim got: before its first ICMP message, within a moment after it, and later."""

    before: int = 0
    at_once: int = 0
    later: int = 0
    later_bytes: int = 0


def watch_icmp(ground: Field, attack: tuple[str, ...], listen_s: float) -> Watched:
    """Sends the attack from one forged address, whose host replies to everything with ICMP unreachable."""
    seen = Watched()

    def watch() -> None:
        with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_ALL)) as tap:
            tap.bind(("server", ETH_P_ALL))
            ground.forge(*attack, source=field.ONE_FORGED)
            until, refused_at = time.monotonic() + listen_s, 0.0
            while (left := until - time.monotonic()) > 0:
                if not select.select([tap], [], [], left)[0]:
                    continue
                packet, name = tap.recvfrom(65536)
                now = time.monotonic()
                if packet[0] >> 4 != 4:
                    continue
                if name[2] == PACKET_OUTGOING:
                    refused_at = refused_at or now
                elif not refused_at:
                    seen.before += 1
                elif now - refused_at < MOMENT_S:
                    seen.at_once += 1
                else:
                    seen.later += 1
                    seen.later_bytes += len(packet)

    ground.victim.call(watch)
    return seen


def icmp_unreachable_ends_what_an_unvalidated_peer_gets(settings: Settings, folder: Path) -> None:
    """The GO of the reader comes long after the ICMP message. It is a stray packet then, which may be replied to."""
    problems = []
    with field.playground(settings, folder, victim_replies=True) as ground:
        for encap in ("udp", "ip"):
            for name, steps, replies_bytes in (
                ("read", [READ, GO.replace("at=50", "at=500")], AMPLIFICATION * GO_BYTES[encap]),
                ("write", [WRITE], 0),
            ):
                with field.listening(ground, encap) as server:
                    server.file("big", FILE_BYTES)
                    ports = ("--local-port", "5000", "--udp-from", "6000")
                    seen = watch_icmp(ground, ("--encap", encap, *ports, *steps), 2)
                field.figure(
                    f"reflection: ICMP unreachable after OPEN to {name}", encap=encap, packets_before=seen.before,
                    packets_within_100_ms=seen.at_once, packets_later=seen.later, bytes_later=seen.later_bytes,
                )  # fmt: skip
                if seen.before == 0:
                    problems.append(f"{encap}, {name}: nothing reached the victim")
                if seen.later_bytes > replies_bytes:
                    problems.append(
                        f"{encap}, {name}: {seen.later_bytes} bytes after ICMP unreachable, at most {replies_bytes}"
                    )
    assert not problems, "; ".join(problems)


if __name__ == "__main__":
    field.main(
        forged_open_and_go_pairs_are_no_amplifier,
        blind_acknowledgements_are_no_amplifier,
        a_write_open_with_a_short_death_timer_is_no_amplifier,
        a_flood_of_opens_is_no_amplifier,
        a_raw_ip_server_is_no_amplifier,
        icmp_unreachable_ends_what_an_unvalidated_peer_gets,
    )
