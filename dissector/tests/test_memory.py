# SPDX-License-Identifier: GPL-2.0-or-later
"""The memory of tshark with the plugin, and what is still judged: 200 bytes for a packet, 20 KB for a connection, and
netblt.memory_limit (MiB) for everything beyond, whatever numbers packets claim."""

from __future__ import annotations

import json
import os
import random
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from netblt_conformance.common import nobody

from dissector.tests import forge, hostile
from dissector.tests.forge import Trace
from dissector.tests.reader import Reader

LIMIT_MIB = 32
MIB = 1 << 20
# What differs between two runs of tshark itself: what it allocates for frames and conversations in large pieces.
NOISE = 24 * MIB
REPORTS = ("summary", "verdict")


@dataclass(frozen=True)
class Done:
    resident: int  # bytes, at most
    reports: dict[str, dict[str, Any]]

    @property
    def limits(self) -> dict[int, str]:
        """Stream -> why it was not judged to its end."""
        rows = self.reports["verdict"]["connections"]
        return {row["stream"]: row["limit"] for row in rows if "limit" in row}


def judged(reader: Reader, path: Path, *options: str, reports: tuple[str, ...] = REPORTS) -> Done:
    words = ["tshark", "-n", "-q", "-r", str(reader.readable(path)), "-o", f"netblt.memory_limit:{LIMIT_MIB}", *options]
    words += [word for name in reports for word in ("-z", f"netblt,{name},json")]
    process = subprocess.Popen(nobody.command(words), stdout=subprocess.PIPE, **reader.options())
    assert process.stdout is not None
    text = process.stdout.read().decode()
    process.stdout.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    assert os.waitstatus_to_exitcode(status) == 0
    decoder, at, found = json.JSONDecoder(), 0, {}
    while (at := text.find("{", at)) >= 0:
        document, at = decoder.raw_decode(text, at)
        found[document["report"]] = document
    return Done(usage.ru_maxrss * 1024, found)


@pytest.fixture(scope="module")
def at_rest(reader: Reader) -> int:
    """What tshark takes for a capture of three packets."""
    return judged(reader, hostile.capture(reader.home / "rest.pcapng", hostile.connections, 3)).resident


@pytest.mark.parametrize(
    ("generator", "packets", "streams"),
    [
        (hostile.random_data, 12_500, 1),
        (hostile.highest_numbers, 12_500, 1),
        (hostile.plausible_numbers, 12_500, 1),
        (hostile.one_buffer, 12_500, 1),
        (hostile.random_messages, 2_000, 1),
        (hostile.random_lists, 1_000, 1),
        (hostile.connections, 4_000, 4_000),
        (hostile.broken_openings, 4_000, 4_000),
        (hostile.reopened, 4_000, 2_000),
        (hostile.damaged, 10_000, 1),
    ],
)
def test_memory_is_bounded_by_packets_and_connections(
    reader: Reader,
    capture: Path,
    at_rest: int,
    generator: Callable[[random.Random], Iterator[bytes]],
    packets: int,
    streams: int,
) -> None:
    done = judged(reader, hostile.capture(capture.with_suffix(".pcapng"), generator, packets))
    allowed = 200 * packets + 20_000 * streams + LIMIT_MIB * MIB
    assert done.resident - at_rest <= allowed + NOISE


@pytest.mark.parametrize("name", ["buffers", "redundancy"])
def test_reports_of_every_buffer_and_message_are_bounded_too(
    reader: Reader, capture: Path, at_rest: int, name: str
) -> None:
    path = hostile.capture(capture.with_suffix(".pcapng"), hostile.random_data, 12_500)
    done = judged(reader, path, reports=(name, "verdict"))
    assert done.resident - at_rest <= 200 * 12_500 + 20_000 + LIMIT_MIB * MIB + NOISE


def test_a_connection_without_memory_says_from_which_frame_on_and_what_allows_more(
    reader: Reader, capture: Path
) -> None:
    path = hostile.capture(capture.with_suffix(".pcapng"), hostile.random_messages, 2_000)
    words = judged(reader, path).limits[0]
    assert words.startswith("no memory is left for it from frame ")
    assert f"netblt.memory_limit ({LIMIT_MIB} MiB)" in words
    assert judged(reader, path, "-o", "netblt.memory_limit:2048").limits == {}
    assert "Stream 0: no memory is left" in reader.tshark(
        path, "-q", "-o", f"netblt.memory_limit:{LIMIT_MIB}", "-z", "netblt,verdict"
    )


def guilty(trace: Trace) -> None:
    """A transfer whose receiver gives OK twice, as two messages."""
    trace.open()
    trace.response()
    trace.control(forge.go(1, 0))
    trace.buffer(0, 1, last=True)
    trace.control(forge.ok(2, 0))
    trace.null_ack(2)
    trace.control(forge.ok(3, 0))
    trace.null_ack(3)


def conclusions(done: Done, sender: str) -> dict[str, str]:
    """Rule -> verdict of the connection of this sender."""
    for row in done.reports["verdict"]["connections"]:
        if row["ends"].get("sender", "").startswith(f"{sender}:"):
            return {rule["requirement"]: rule["verdict"] for rule in row["requirements"]}
    raise AssertionError("no such connection")


def test_a_connection_beside_a_hostile_one_is_judged_as_if_it_were_alone(reader: Reader, capture: Path) -> None:
    trace = Trace(sender=forge.End("10.9.0.1", 1000, 100), receiver=forge.End("10.9.0.2", 1, 5000))
    guilty(trace)
    story = [frame.data for frame in trace.frames]
    flood = list(islice(hostile.random_messages(random.Random(2)), 1_000))
    alone = judged(reader, hostile.write(capture.with_suffix(".alone.pcapng"), story))
    beside = judged(reader, hostile.write(capture.with_suffix(".both.pcapng"), flood + story))
    assert beside.limits.keys() == {0}
    assert conclusions(beside, "10.9.0.1") == conclusions(alone, "10.9.0.1")
    assert conclusions(alone, "10.9.0.1")["CTRL-14"] == "violation"


@pytest.mark.parametrize(("limit_mib", "verdict"), [(4, "not observable"), (256, "violation")])
def test_what_comes_when_there_is_no_memory_is_not_judged(
    reader: Reader, capture: Path, limit_mib: int, verdict: str
) -> None:
    """The receiver gives GO for 20,000 buffers, and changes its first message at the end (CTRL-02)."""
    trace = Trace()
    trace.open()
    trace.response()
    for first in range(1, 20_000, 100):
        trace.control(*(forge.go(seq, (seq - 1) * 65_537 % (1 << 32)) for seq in range(first, first + 100)))
    changed = trace.control(forge.go(1, 9))
    done = judged(reader, trace.save(capture), "-o", f"netblt.memory_limit:{limit_mib}")
    (row,) = done.reports["verdict"]["connections"]
    (rule,) = (rule for rule in row["requirements"] if rule["requirement"] == "CTRL-02")
    assert rule["verdict"] == verdict
    assert (rule["violation_frames"] or []) == ([changed] if verdict == "violation" else [])
    assert ("limit" in row) == (verdict != "violation")
