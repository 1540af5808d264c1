# SPDX-License-Identifier: BSD-2-Clause
"""Places and names of a listener that a peer holds without transferring anything."""

from __future__ import annotations

import os
import time
from pathlib import Path

import field
from field import CLIENTS, Field, Honest, Listener, Program, Settings

PLACES = 100  # of a listener by default
FILE_BYTES = 500_000
TRANSFER_MAX_S = 45
SETTLE_S = 1.0
IDLE_BUFFER_BYTES = 4096  # a sender that cannot know whether more follows keeps the last one
KEPT = "keepalive:at=2000,every=5000,repeat=10"

# Each takes places with packets that are sent blindly: one conversation for each place.
HOLDING: dict[str, list[str]] = {
    "OPEN to write, NULL-ACK 1, KEEPALIVE": [
        "open:write,string=forged-%",
        "null-ack:seq=1,burst-size=16,burst-interval=2,at=50",
        KEPT,
    ],
    "OPEN to write, NULL-ACKs of every sequence number, KEEPALIVE": [
        "open:write,string=forged-%",
        "null-ack:seq=random,burst-size=16,burst-interval=2,at=50,every=10,repeat=50",
        KEPT,
    ],
    "OPEN to read, GO, OK, KEEPALIVE": [
        "open:read,string=big",
        "go:seq=1,buffer=0,at=50",
        "ok:seq=2,buffer=0,at=400",
        KEPT,
    ],
    "OPEN to write, first DATA, KEEPALIVE": [
        "open:write,string=forged-%",
        "null-ack:seq=1,burst-size=16,burst-interval=2,at=50",
        "data:seq=1,buffer=0,packet=0,at=60,bytes=1448",
        KEPT,
    ],
}
SOURCES = {"random addresses": field.FORGED, "one prefix /24": "100.64.7.0/24", "one address": field.ONE_FORGED}


def honest_problems(ground: Field, server: Listener, encap: str) -> list[str]:
    transfers = [
        Honest(ground, server, encap, upload, FILE_BYTES, CLIENTS[i]) for i, upload in enumerate((True, False))
    ]
    return [outcome.problem for outcome in field.wait_for_all(transfers, TRANSFER_MAX_S) if outcome.problem]


def places_that_forged_packets_take_are_given_to_honest_peers(settings: Settings, folder: Path) -> None:
    problems = []
    with field.playground(settings, folder) as ground:
        for encap in ("udp", "ip") if settings.full else ("udp",):
            for name, steps in HOLDING.items():
                for where, source in SOURCES.items() if settings.full else list(SOURCES.items())[:1]:
                    with field.listening(ground, encap) as server:
                        server.file("big", 5_000_000)
                        forged = ground.forge(
                            "--encap", encap, "--rate", "500", "--count", str(2 * PLACES), *steps, source=source
                        )
                        time.sleep(2 * PLACES / 500 + SETTLE_S)
                        found = honest_problems(ground, server, encap)
                        forged.process.terminate()
                        sent = forged.counters()["packets"]
                    field.figure(
                        f"places: {name}", encap=encap, source=where, forged_packets=sent, honest_transfers=2,
                        failed=len(found),
                    )  # fmt: skip
                    problems += [f"{name} from {where} over {encap}: {problem}" for problem in found]
    assert not problems, "\n    ".join(["honest transfers got no place:", *problems])


def idle_senders(ground: Field, encap: str, count: int, data: bytes) -> tuple[list[Program], list[int]]:
    """Real connections of one host that send these bytes and then nothing, and the pipes that they wait for."""
    programs, pipes = [], []
    for i in range(count):
        reading, writing = os.pipe()
        os.write(writing, data)
        pipes.append(writing)
        programs.append(
            ground.program(
                ground.attacker, "send", "-", field.SERVER, "--encap", encap, "--client-string", f"idle-{i}",
                "--buffer-size", str(IDLE_BUFFER_BYTES), "--max-buffers", "2", stdin=reading,
            )
        )  # fmt: skip
        os.close(reading)
    return programs, pipes


def places_that_one_host_holds_without_progress_are_not_all_there_are(settings: Settings, folder: Path) -> None:
    problems = []
    with field.playground(settings, folder) as ground:
        for encap in ("udp", "ip") if settings.full else ("udp",):
            for name, data in (("nothing", b""), ("two buffers", bytes(3 * IDLE_BUFFER_BYTES - 1))):
                with field.listening(ground, encap) as server:
                    programs, pipes = idle_senders(ground, encap, PLACES + 5, data)
                    time.sleep(3)
                    holding = sum(program.running for program in programs)
                    found = honest_problems(ground, server, encap)
                    field.figure(
                        f"places: connections of one address that send {name}", encap=encap, connections=len(programs),
                        held_when_honest_peers_come=holding, honest_transfers=2, failed=len(found),
                    )  # fmt: skip
                    for pipe in pipes:
                        os.close(pipe)
                    for program in programs:
                        program.end()
                problems += [f"after connections that send {name} over {encap}: {problem}" for problem in found]
    assert not problems, "\n    ".join(["honest transfers got no place:", *problems])


def a_forged_open_does_not_lock_a_name(settings: Settings, folder: Path) -> None:
    problems = []
    with field.playground(settings, folder) as ground:
        for encap in ("udp", "ip"):
            with field.listening(ground, encap) as server:
                name = "wanted"
                ground.forge("--encap", encap, f"open:write,string={name}").counters()
                time.sleep(0.3)
                transfer = Honest(ground, server, encap, True, FILE_BYTES, CLIENTS[0], name=name)
                (outcome,) = field.wait_for_all([transfer], TRANSFER_MAX_S)
                field.figure(
                    "name lock: one forged OPEN to write", encap=encap, success=not outcome.problem,
                    problem=outcome.problem,
                )  # fmt: skip
                if outcome.problem:
                    problems.append(f"over {encap}, {outcome.problem}")
    assert not problems, "; ".join(problems)


if __name__ == "__main__":
    field.main(
        places_that_forged_packets_take_are_given_to_honest_peers,
        places_that_one_host_holds_without_progress_are_not_all_there_are,
        a_forged_open_does_not_lock_a_name,
    )
