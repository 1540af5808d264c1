# SPDX-License-Identifier: BSD-2-Clause
"""Forged packets against a running transfer between two `netblt`, by an attacker who does not see its packets."""

from __future__ import annotations

import itertools
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import field
from field import CLIENTS, Field, Listener, Settings
from running import KINDS, PORTS, Running, wait_until_under_way

SWEEP_PER_S = 60_000  # sockets of a busy machine drop what comes faster
OPENS_PER_S = 8000  # each of these makes the listener work, and a flood is another test's matter
KNOWN_PER_S = 2000  # of each attack; a batch of them runs at the same time
KNOWN_PACKETS = 2000
BATCH = 20
BEGIN_S = 4.0  # until the last transfer of a batch is under way
END_S = 45  # more than a death timer
# Contents do not matter for these: the four numbers of the connection are all that there is to guess.
SWEPT_ALWAYS = ("ABORT", "QUIT", "REFUSED")
# Of both ends. Half of it is the time that an end stays to acknowledge a QUIT once more.
SHORT_DEATH_TIMER = ("--death-timer", "8")
BELIEVED_WITHIN_S = 6
NEVER_S = 12.0
ICMP = {
    f"ICMP {name} unreachable": f"unreachable:code={code}" for code, name in ((1, "host"), (2, "protocol"), (3, "port"))
}


@dataclass(frozen=True)
class Attack:
    name: str
    step: str  # for the program `forge`
    to_server: bool

    @property
    def target(self) -> str:
        return "listener" if self.to_server else "client"


def at_both_ends(kinds: dict[str, str]) -> list[Attack]:
    return [Attack(name, step, to_server) for name, step in kinds.items() for to_server in (True, False)]


def sweep_rate(attack: Attack) -> int:
    return OPENS_PER_S if attack.name == "OPEN" else SWEEP_PER_S


def batches(attacks: list[Attack]) -> list[list[Attack]]:
    """OPENs by themselves: what they do to one transfer they do to all transfers of the listener."""
    others = [attack for attack in attacks if attack.name != "OPEN"]
    opens = [attack for attack in attacks if attack.name == "OPEN"]
    parts = [others[i : i + BATCH] for i in range(0, len(others), BATCH)]
    return [*parts, opens] if opens else parts


def begin_transfers(
    ground: Field, server: Listener, encap: str, upload: bool, count: int, seconds: float, options: tuple[str, ...] = ()
) -> list[Running]:
    """So many at once, each from an address of its own."""
    transfers = [
        Running(ground, server, encap, upload, seconds, client, options) for client in itertools.islice(CLIENTS, count)
    ]
    wait_until_under_way(transfers)
    return transfers


def attack_batch(
    ground: Field, server: Listener, encap: str, upload: bool, attacks: list[Attack], sweep: bool
) -> list[str]:
    """Each attack on a transfer of its own. Returns what went wrong."""
    sweep_s = sum(PORTS / sweep_rate(attack) for attack in attacks)
    seconds = BEGIN_S + (sweep_s if sweep else KNOWN_PACKETS / KNOWN_PER_S)
    transfers = begin_transfers(ground, server, encap, upload, len(attacks), seconds)
    forged, sent, running = [], [], []
    for attack, transfer in zip(attacks, transfers, strict=True):
        rate, count = (sweep_rate(attack), PORTS) if sweep else (KNOWN_PER_S, KNOWN_PACKETS)
        forged.append(transfer.forge(attack.to_server, attack.step, sweep=sweep, rate=rate, count=count))
        if sweep:  # one after the other, or the sockets drop the packets
            forged[-1].counters()
    for program, transfer in zip(forged, transfers, strict=True):
        sent.append(program.counters()["packets"])
        running.append(transfer.running)
    until = time.monotonic() + END_S
    problems = []
    for attack, transfer, packets, was_running in zip(attacks, transfers, sent, running, strict=True):
        problem = transfer.finish(max(1.0, until - time.monotonic()))
        field.figure(
            f"{'port sweep' if sweep else 'ports known'}: {attack.name}", encap=encap, target=attack.target,
            transfer="upload" if upload else "download", forged_packets=packets,
            attacked_to_the_end=was_running or not problem, success=not problem, problem=problem,
        )  # fmt: skip
        if problem:
            direction = "upload" if upload else "download"
            problems.append(f"{attack.name} to the {attack.target} ({encap}, {direction}): {problem}")
    return problems


def attack_all(
    settings: Settings, folder: Path, attacks: list[Attack], sweep: bool, few: list[tuple[str, bool]]
) -> None:
    """Every encapsulation and direction, or without --full a `few` of them."""
    every = [(encap, upload) for encap in ("ip", "udp") for upload in (True, False)]
    problems = []
    with field.playground(settings, folder) as ground:
        for encap, upload in every if settings.full else few:
            with field.listening(ground, encap) as server:
                for batch in batches(attacks):
                    problems += attack_batch(ground, server, encap, upload, batch, sweep)
    assert not problems, "\n    ".join([f"{len(problems)} of the transfers did not succeed:", *problems])


def a_sweep_over_all_ports_ends_no_transfer(settings: Settings, folder: Path) -> None:
    kinds = KINDS if settings.full else {name: KINDS[name] for name in SWEPT_ALWAYS}
    attack_all(settings, folder, at_both_ends(kinds), True, [("ip", True)])


def forged_packets_with_the_right_ports_end_and_corrupt_no_transfer(settings: Settings, folder: Path) -> None:
    attack_all(settings, folder, at_both_ends(KINDS), False, [("udp", True), ("ip", False)])


def forged_icmp_ends_no_running_transfer(settings: Settings, folder: Path) -> None:
    attack_all(settings, folder, at_both_ends(ICMP), False, [("udp", True), ("ip", False)])


# ---- idle connections -------------------------------------------------------------------------------------------


def forged_farewells_end_no_idle_transfer(settings: Settings, folder: Path) -> None:
    problems = []
    attacks = at_both_ends({name: KINDS[name] for name in ("ABORT", "QUIT")})
    idle_s = 20 if settings.full else 4
    with field.playground(settings, folder) as ground:
        for encap in ("udp", "ip") if settings.full else ("udp",):
            with field.listening(ground, encap) as server:
                transfers = begin_transfers(ground, server, encap, True, len(attacks), 0)
                for transfer in transfers:
                    transfer.paused = True
                time.sleep(1)  # what was under way is through
                # For longer than a short grace: meanwhile both ends have nothing to send but KEEPALIVE.
                forged = [
                    transfer.forge(attack.to_server, attack.step, rate=20, count=20 * idle_s)
                    for attack, transfer in zip(attacks, transfers, strict=True)
                ]
                for program in forged:
                    program.counters()
                for transfer in transfers:
                    transfer.paused = False
                for attack, transfer in zip(attacks, transfers, strict=True):
                    problem = transfer.finish(END_S)
                    field.figure(
                        f"idle transfer, ports known: {attack.name}", encap=encap, target=attack.target,
                        success=not problem, problem=problem,
                    )  # fmt: skip
                    if problem:
                        problems.append(f"{attack.name} to the {attack.target} over {encap}: {problem}")
    assert not problems, "\n    ".join(["idle transfers were ended:", *problems])


@dataclass
class Interruption:
    """An end of a transfer that its user ends, and how long the peer took to end it too."""

    transfer: Running
    by_client: bool
    word: str
    idle: bool
    seconds: float = NEVER_S

    @property
    def seen(self) -> bool:
        return bool(self.transfer.server_reports()) if self.by_client else not self.transfer.client.running


def interrupt(interruptions: list[Interruption]) -> None:
    """Two signals at once abort, one asks for an orderly end."""
    begin = time.monotonic()
    for one in interruptions:
        process = (one.transfer.client if one.by_client else one.transfer.server.program).process
        process.send_signal(signal.SIGINT)
        if one.word == "ABORT":
            process.send_signal(signal.SIGTERM)
    while time.monotonic() - begin < NEVER_S and any(one.seconds == NEVER_S for one in interruptions):
        for one in interruptions:
            if one.seconds == NEVER_S and one.seen:
                one.seconds = time.monotonic() - begin
        time.sleep(0.02)
    for one in interruptions:
        one.transfer.abandon()


def begin_interruptions(ground: Field, server: Listener, encap: str, by_client: bool, words: str) -> list[Interruption]:
    cases = list(itertools.product(words.split(), (True, False)))
    transfers = begin_transfers(ground, server, encap, True, len(cases), 0, SHORT_DEATH_TIMER)
    interruptions = []
    for transfer, (word, idle) in zip(transfers, cases, strict=True):
        transfer.paused = idle
        interruptions.append(Interruption(transfer, by_client, word, idle))
    time.sleep(1)
    return interruptions


def real_farewells_are_believed(settings: Settings, folder: Path) -> None:
    problems = []
    encaps = ("udp", "ip") if settings.full else ("udp",)
    ends = ((True, "QUIT ABORT"), (False, "QUIT"), (False, "ABORT"))  # all transfers of a listener end together
    with field.playground(settings, folder) as ground:
        for encap, (by_client, words) in itertools.product(encaps, ends):
            with field.listening(ground, encap, *SHORT_DEATH_TIMER) as server:
                interruptions = begin_interruptions(ground, server, encap, by_client, words)
                interrupt(interruptions)
            for one in interruptions:
                end, state = "client" if by_client else "listener", "idle" if one.idle else "busy"
                field.figure(f"a real {one.word}", encap=encap, by=end, state=state, seconds=round(one.seconds, 2))
                if one.seconds > BELIEVED_WITHIN_S:
                    problems.append(f"{one.word} by the {end}, {state}, over {encap}: {one.seconds:.0f} s")
    assert not problems, "; ".join(problems)


if __name__ == "__main__":
    field.main(
        a_sweep_over_all_ports_ends_no_transfer,
        forged_packets_with_the_right_ports_end_and_corrupt_no_transfer,
        forged_icmp_ends_no_running_transfer,
        forged_farewells_end_no_idle_transfer,
        real_farewells_are_believed,
    )
