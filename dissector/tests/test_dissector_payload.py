# SPDX-License-Identifier: GPL-2.0-or-later
"""The bytes that were transferred: followed, exported, reassembled; each once, in their order."""

from __future__ import annotations

import base64
import hashlib
import json
import random
from pathlib import Path
from typing import Any

import pytest

from dissector.tests import forge
from dissector.tests.forge import Trace, go, ok, resend
from dissector.tests.reader import ROOT, Reader

GOLDEN = ROOT / "pcaps" / "golden" / "lossy-transfer.pcapng"
PACKET_BYTES = 64
BUFFER_PACKETS = 4


class Transfer(Trace):
    """A transfer of random bytes."""

    def __init__(self, buffers: int, client: bytes = b"file.bin", first: int = 0, packet_base: int = 0) -> None:
        super().__init__()
        self.step = 1
        self.content = random.Random(buffers).randbytes(buffers * PACKET_BYTES * BUFFER_PACKETS - 5)
        self.buffers, self.client, self.first, self.packet_base = buffers, client, first, packet_base

    def opened(self) -> None:
        sizes: dict[str, Any] = {"buffer_size": PACKET_BYTES * BUFFER_PACKETS, "packet_size": PACKET_BYTES}
        for kind, by, to in ((forge.OPEN, self.sender, self.receiver), (forge.RESPONSE, self.receiver, self.sender)):
            body = forge.open_body(self.uid, client=self.client if kind == forge.OPEN else b"", **sizes)
            self.put(forge.packet(kind, body, by.port, to.port), by, to)
        self.control(*(go(1 + i, self.number(i)) for i in range(self.buffers)))

    def number(self, buffer: int) -> int:
        return (self.first + buffer * self.step) & 0xFFFFFFFF

    def piece(self, buffer: int, number: int, high: int | None = None, *, spoil: bool = False) -> int:
        at = (buffer * BUFFER_PACKETS + number) * PACKET_BYTES
        octets = self.content[at : at + PACKET_BYTES]
        kind = forge.LDATA if number == BUFFER_PACKETS - 1 else forge.DATA
        last = buffer == self.buffers - 1
        ack = self.buffers if high is None else high
        body = forge.data_body(self.number(buffer), ack, self.packet_base + number, octets, last=last)
        raw = forge.packet(kind, body, self.sender.port, self.receiver.port, covered=24)
        if spoil:  # the packet claims to be its neighbour
            raw = raw[:19] + bytes([raw[19] ^ 1]) + raw[20:]
        return self.put(raw, self.sender, self.receiver)

    def closed(self) -> None:
        self.control(*(ok(20 + i, self.number(i)) for i in range(self.buffers)))
        self.header_only(forge.DONE, by_sender=False)


def scrambled() -> Transfer:
    """Three buffers: retransmissions after later buffers, packets twice, corrupt ones, and two buffers complete at
    once."""
    trace = Transfer(3)
    trace.opened()
    trace.piece(0, 1, spoil=True)
    for number in (0, 2, 3, 3, 3):
        trace.piece(0, number)
    for number in range(BUFFER_PACKETS):
        trace.piece(2, number)
    for number in (1, 0, 3, 3, 2, 0):
        trace.piece(1, number)
    trace.control(resend(10, 0, [1]))
    trace.piece(0, 1)
    trace.piece(0, 1)
    trace.closed()
    return trace


def followed(reader: Reader, path: Path, *options: str, stream: int = 0) -> bytes:
    lines = reader.tshark(path, *options, "-q", "-z", f"follow,netblt,raw,{stream}").splitlines()
    begin = next(number for number, line in enumerate(lines) if line.startswith("Node 1")) + 1
    return bytes.fromhex("".join(line for line in lines[begin:] if not line.startswith("=")))


def exported(reader: Reader, path: Path, folder: str, *options: str) -> dict[str, bytes]:
    place = reader.home / folder
    place.mkdir()
    place.chmod(0o777)
    reader.tshark(path, *options, "-q", "--export-objects", f"netblt,{place}")
    return {file.name: file.read_bytes() for file in place.iterdir()}


def in_steps(step: int) -> Transfer:
    """Four buffers whose numbers increase by `step`; the second comes before the first is complete."""
    trace = Transfer(4)
    trace.step = step
    trace.opened()
    for buffer, number in ((0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (1, 3), (0, 2), (0, 3)):
        trace.piece(buffer, number)
    for buffer in (2, 3):
        for number in range(BUFFER_PACKETS):
            trace.piece(buffer, number)
    trace.closed()
    return trace


@pytest.mark.parametrize("passes", [(), ("-2",)], ids=["one-pass", "two-passes"])
@pytest.mark.parametrize("step", [2, 7, 100_000])
def test_buffer_numbers_in_steps_leave_nothing_out(
    reader: Reader, capture: Path, step: int, passes: tuple[str, ...]
) -> None:
    """RFC 998 8: numbers increase, and the GOs name all of them."""
    trace = in_steps(step)
    path = trace.save(capture)
    assert followed(reader, path, *passes) == trace.content
    assert exported(reader, path, f"steps-{step}-{len(passes)}", *passes) == {"file.bin": trace.content}


def test_a_buffer_that_the_capture_lacks_is_no_step(reader: Reader, capture: Path) -> None:
    """The second buffer has a GO and no data."""
    trace = in_steps(7)
    del trace.frames[5:9]
    assert list(exported(reader, trace.save(capture), "lacks-a-buffer")) == ["file.bin.incomplete"]


def test_a_step_beyond_messages_that_the_capture_lacks_may_be_a_gap(reader: Reader, capture: Path) -> None:
    """Two GOs came in a CONTROL that was not captured, and a buffer's data with it."""
    trace = Transfer(4)
    trace.opened()
    del trace.frames[2]
    trace.control(go(1, 0))
    for buffer in (0, 3):
        for number in range(BUFFER_PACKETS):
            trace.piece(buffer, number)
        trace.control(go(4, 3))
    trace.control(ok(5, 0), ok(8, 3))
    trace.header_only(forge.DONE, by_sender=False)
    assert list(exported(reader, trace.save(capture), "lacks-messages")) == ["file.bin.incomplete"]


@pytest.mark.parametrize("passes", [(), ("-2",)], ids=["one-pass", "two-passes"])
def test_follow_gives_each_byte_once_and_in_order(reader: Reader, capture: Path, passes: tuple[str, ...]) -> None:
    trace = scrambled()
    assert followed(reader, trace.save(capture), *passes) == trace.content


def test_follow_needs_no_opening(reader: Reader, capture: Path) -> None:
    trace = scrambled()
    trace.frames = trace.frames[2:]
    assert followed(reader, trace.save(capture)) == trace.content


def test_sharkd_follows_as_tshark_does(reader: Reader, capture: Path) -> None:
    trace = scrambled()
    path = trace.save(capture)
    asked = [
        {"jsonrpc": "2.0", "id": 1, "method": "load", "params": {"file": str(path)}},
        {"jsonrpc": "2.0", "id": 2, "method": "frame", "params": {"frame": 9, "proto": True}},
        *(
            {
                "jsonrpc": "2.0",
                "id": number,
                "method": "follow",
                "params": {"follow": "NETBLT", "filter": "netblt.stream == 0"},
            }
            for number in (3, 4)
        ),
    ]
    done = reader.run("sharkd", "-", stdin="".join(json.dumps(line) + "\n" for line in asked))
    answers = {answer["id"]: answer for answer in map(json.loads, done.stdout.splitlines()) if "id" in answer}
    for number in (3, 4):
        pieces = answers[number]["result"]["payloads"]
        assert b"".join(base64.b64decode(piece["d"]) for piece in pieces) == trace.content


def test_the_golden_transfer_is_exported_whole(reader: Reader) -> None:
    path = reader.home / GOLDEN.name
    path.write_bytes(GOLDEN.read_bytes())
    wanted = json.loads(GOLDEN.with_suffix(".expected.json").read_text(encoding="utf-8"))["sha256"]
    files = exported(reader, path, "golden-objects")
    assert sorted(files) == ["lossy-transfer", "lossy-transfer(1)"]  # one for each capture point
    assert {hashlib.sha256(content).hexdigest() for content in files.values()} == {wanted}


@pytest.mark.parametrize(
    ("client", "name"),
    [
        (b"file.bin", "file.bin"),
        (b"../../etc/passwd", "passwd"),
        (b"C:\\temp\\plan.doc", "plan.doc"),
        (b"/", "netblt-stream-0"),
        (b"..", "netblt-stream-0"),
        (b"", "netblt-stream-0"),
    ],
)
def test_an_object_is_named_by_the_client_string(reader: Reader, capture: Path, client: bytes, name: str) -> None:
    trace = Transfer(2, client)
    trace.opened()
    for buffer in range(2):
        for number in range(BUFFER_PACKETS):
            trace.piece(buffer, number)
    trace.closed()
    files = exported(reader, trace.save(capture), f"objects-{client.hex() or 'none'}")
    assert files == {name: trace.content}
    assert not (reader.home / "etc").exists()


@pytest.mark.parametrize("passes", [(), ("-2",)], ids=["one-pass", "two-passes"])
def test_a_transfer_with_holes_is_marked(reader: Reader, capture: Path, passes: tuple[str, ...]) -> None:
    trace = Transfer(3)
    trace.opened()
    for buffer in range(3):
        for number in range(BUFFER_PACKETS):
            if (buffer, number) != (1, 2):
                trace.piece(buffer, number)
    trace.closed()
    files = exported(reader, trace.save(capture), f"holes{len(passes)}", *passes)
    hole = (BUFFER_PACKETS + 2) * PACKET_BYTES
    assert files == {"file.bin.incomplete": trace.content[:hole] + trace.content[hole + PACKET_BYTES :]}
    assert b"[bytes missing in capture file]" in followed(reader, capture)


def test_a_transfer_that_goes_on_is_marked(reader: Reader, capture: Path) -> None:
    trace = Transfer(3)
    trace.opened()
    for number in range(BUFFER_PACKETS):
        trace.piece(0, number)
    files = exported(reader, trace.save(capture), "unfinished")
    assert files == {"file.bin.incomplete": trace.content[: BUFFER_PACKETS * PACKET_BYTES]}


def test_a_buffer_that_was_not_captured_at_all_is_a_hole(reader: Reader, capture: Path) -> None:
    trace = Transfer(3)
    trace.opened()
    for buffer in (0, 2):
        for number in range(BUFFER_PACKETS):
            trace.piece(buffer, number)
    trace.closed()
    size = BUFFER_PACKETS * PACKET_BYTES
    files = exported(reader, trace.save(capture), "lost-buffer")
    assert files == {"file.bin.incomplete": trace.content[:size] + trace.content[2 * size :]}
    gap = b"[bytes missing in capture file]"
    assert followed(reader, capture) == trace.content[:size] + gap + trace.content[2 * size :]


@pytest.mark.parametrize("opened", [True, False])
def test_buffer_numbers_may_wrap(reader: Reader, capture: Path, opened: bool) -> None:
    trace = Transfer(4, first=0xFFFFFFFE)
    if opened:
        trace.opened()
    for buffer in (0, 2, 1, 3):
        for number in range(BUFFER_PACKETS):
            trace.piece(buffer, number)
    trace.closed()
    assert followed(reader, trace.save(capture)) == trace.content
    if opened:
        assert exported(reader, capture, "wrapped") == {"file.bin": trace.content}


class FarApart(Transfer):
    """Its second buffer is more than half of all numbers above the first one."""

    def number(self, buffer: int) -> int:
        return buffer * (2**31 + 70_001)


def test_a_far_higher_number_comes_after_the_first_one(reader: Reader, capture: Path) -> None:
    trace = FarApart(2)
    trace.opened()
    for buffer in (1, 0):
        for number in range(BUFFER_PACKETS):
            trace.piece(buffer, number)
    trace.closed()
    assert list(exported(reader, trace.save(capture), "far-apart").values()) == [trace.content]


@pytest.mark.parametrize(("first", "packet_base"), [(1, 0), (0, 1), (1, 1)])
def test_numbers_may_count_from_one(reader: Reader, capture: Path, first: int, packet_base: int) -> None:
    trace = Transfer(2, first=first, packet_base=packet_base)
    trace.opened()
    for buffer in range(2):
        for number in (1, 0, 2, 3):
            trace.piece(buffer, number)
    trace.closed()
    assert followed(reader, trace.save(capture)) == trace.content


@pytest.mark.parametrize("passes", [(), ("-2",)], ids=["one-pass", "two-passes"])
def test_reassembled_buffers_stand_where_their_turn_comes(
    reader: Reader, capture: Path, passes: tuple[str, ...]
) -> None:
    trace = scrambled()
    names = ("netblt.reassembled", "netblt.reassembled.data", "netblt.reassembled.frame")
    rows = reader.rows(trace.save(capture), *names, options=("-o", "netblt.reassemble:TRUE", *passes))
    (at,) = [number for number, row in enumerate(rows, 1) if row["netblt.reassembled"]]
    assert at == len(trace.frames) - 3  # the retransmission of buffer 0, which held up the others
    assert rows[at - 1]["netblt.reassembled"] == ["0", "1", "2"]
    assert bytes.fromhex("".join(rows[at - 1]["netblt.reassembled.data"])) == trace.content
    assert len(rows[at - 1]["netblt.reassembled.frame"]) == 3 * BUFFER_PACKETS
    assert reader.rows(capture, "netblt.reassembled", options=passes)[at - 1]["netblt.reassembled"] == []
