# SPDX-License-Identifier: BSD-2-Clause
"""Forged packets against a running transfer between two `netblt`, by an attacker who does not see its packets."""

from __future__ import annotations

import time
from pathlib import Path

import field
from field import Field, Listener, Settings
from running import END_S, KINDS, PORTS, Attack, at_both_ends, begin_transfers

SWEEP_PER_S = 60_000  # sockets of a busy machine drop what comes faster
OPENS_PER_S = 8000  # each of these makes the listener work, and a flood is another test's matter
KNOWN_PER_S = 2000  # of each attack; a batch of them runs at the same time
KNOWN_PACKETS = 2000
BATCH = 20
BEGIN_S = 4.0  # until the last transfer of a batch is under way
# Contents do not matter for these: the four numbers of the connection are all that there is to guess.
SWEPT_ALWAYS = ("ABORT", "QUIT", "REFUSED")
ICMP = {
    f"ICMP {name} unreachable": f"unreachable:code={code}" for code, name in ((1, "host"), (2, "protocol"), (3, "port"))
}


def sweep_rate(attack: Attack) -> int:
    return OPENS_PER_S if attack.name == "OPEN" else SWEEP_PER_S


def batches(attacks: list[Attack]) -> list[list[Attack]]:
    """OPENs by themselves: what they do to one transfer they do to all transfers of the listener."""
    others = [attack for attack in attacks if attack.name != "OPEN"]
    opens = [attack for attack in attacks if attack.name == "OPEN"]
    parts = [others[i : i + BATCH] for i in range(0, len(others), BATCH)]
    return [*parts, opens] if opens else parts


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


if __name__ == "__main__":
    field.main(
        a_sweep_over_all_ports_ends_no_transfer,
        forged_packets_with_the_right_ports_end_and_corrupt_no_transfer,
        forged_icmp_ends_no_running_transfer,
    )
