# SPDX-License-Identifier: BSD-2-Clause
"""Ends of a running or idle transfer: forged ABORTs and QUITs end none, real ones are believed at once."""

from __future__ import annotations

import itertools
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import field
from field import Field, Listener, Settings
from running import END_S, KINDS, Running, at_both_ends, begin_transfers

# Of both ends. Half of it is the time that an end stays to acknowledge a QUIT once more.
SHORT_DEATH_TIMER = ("--death-timer", "8")
BELIEVED_WITHIN_S = 6
NEVER_S = 12.0


def forged_aborts_and_quits_end_no_idle_transfer(settings: Settings, folder: Path) -> None:
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


def real_aborts_and_quits_are_believed(settings: Settings, folder: Path) -> None:
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
    field.main(forged_aborts_and_quits_end_no_idle_transfer, real_aborts_and_quits_are_believed)
