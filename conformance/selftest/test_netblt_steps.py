# SPDX-License-Identifier: GPL-2.0-or-later
"""`netblt send` and `recv` with --passive, and a peer that does single steps (docs/tree-transfer.md)."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from selftest.netblt_command_helpers import DONE, FAILED, UNREACHABLE, make_file, one_line
from selftest.netblt_command_lab import Lab, Process
from selftest.netblt_tree_forge import (
    TREE_PEER,
    Entry,
    decode_header,
    encode_content,
    encode_manifest,
    end_of,
    first_step,
    hash_of,
    header_of,
    pull,
    push,
)
from selftest.netblt_tree_helpers import names_in, partial_directories

pytest_plugins = ["selftest.netblt_command_fixtures"]

needs_peer = pytest.mark.skipif(not TREE_PEER.exists(), reason="tree_peer is not built")
FILES = [Entry(b"one", data=random.Random(1).randbytes(30_000)), Entry(b"two", data=random.Random(2).randbytes(20_000))]
MANIFEST = encode_manifest(FILES)
ID = hash_of(MANIFEST)[:8].hex()
NOTHING = "0" * 16
pytestmark = needs_peer


def first_part() -> bytes:
    """Step 1 as far as the first file."""
    return header_of(MANIFEST).encode() + MANIFEST + encode_content(FILES[:1])


def second_part(lab: Lab) -> Process:
    """Step 5."""
    offset = len(encode_content(FILES[:1]))
    header = header_of(MANIFEST)
    data = type(header)(flags=0, offset=offset, manifest_id=header.manifest_id).encode() + encode_content(FILES[1:])
    return push(lab, f"x netblt=content:{ID}:{NOTHING}:{offset}", data)


def make_files(directory: Path) -> list[Path]:
    """The files of MANIFEST."""
    directory.mkdir()
    paths = [directory / entry.path.decode() for entry in FILES]
    for path, entry in zip(paths, FILES, strict=True):
        path.write_bytes(entry.data)
        path.chmod(entry.mode)
        os.utime(path, ns=(0, entry.seconds * 10**9 + entry.nanoseconds))
    return paths


def start_receiver(lab: Lab, target: Path) -> Process:
    return lab.wait_for_peer(lab.there, "recv", f"{target}/", "--json", "--death-timer", "3")


def test_a_receiver_waits_for_the_next_part_of_the_same_host(udp_lab: Lab, tmp_path: Path) -> None:
    target, other = tmp_path / "target", make_file(tmp_path / "other", 10)
    receiver = start_receiver(udp_lab, target)
    assert end_of(push(udp_lab, "x", first_part())).startswith("done")
    stranger = udp_lab.start(udp_lab.there, "send", other, "127.0.0.1")
    assert stranger.wait() == UNREACHABLE
    assert "busy with another transfer" in one_line(stranger)
    assert end_of(second_part(udp_lab)).startswith("done")

    assert receiver.wait() == DONE, receiver.errors
    assert names_in(target) == ["one", "two"]
    for entry in FILES:
        assert (target / entry.path.decode()).read_bytes() == entry.data
    assert receiver.report["transfers"] == 2


def test_a_peer_that_does_not_go_on_is_a_failure_and_what_came_stays(udp_lab: Lab, tmp_path: Path) -> None:
    target = tmp_path / "target"
    receiver = start_receiver(udp_lab, target)
    assert end_of(push(udp_lab, "x", first_part())).startswith("done")

    assert receiver.wait() == FAILED
    assert "did not go on" in one_line(receiver)
    assert len(partial_directories(target)) == 1
    receiver = start_receiver(udp_lab, target)
    assert "netblt: resume" in end_of(push(udp_lab, "x", first_step(FILES)))
    assert "netblt: resume" in end_of(second_part(udp_lab)), "this content takes nothing into account that is there"
    sender = udp_lab.start(udp_lab.here, "send", *make_files(tmp_path / "source"), udp_lab.there.address)
    assert (sender.wait(), receiver.wait()) == (DONE, DONE), sender.errors + receiver.errors
    assert names_in(target) == ["one", "two"]
    assert receiver.report["bytes_held"] == len(FILES[0].data)


def test_content_of_a_manifest_that_is_not_there_is_asked_for_from_the_beginning(udp_lab: Lab, tmp_path: Path) -> None:
    receiver = start_receiver(udp_lab, tmp_path / "target")
    assert "netblt: changed" in end_of(second_part(udp_lab))
    assert receiver.popen.poll() is None
    assert end_of(push(udp_lab, "x", first_step(FILES))).startswith("done")
    assert receiver.wait() == DONE, receiver.errors


def test_damaged_data_end_the_command_and_nothing_gets_a_name(udp_lab: Lab, tmp_path: Path) -> None:
    receiver = start_receiver(udp_lab, tmp_path / "target")
    data = bytearray(first_step(FILES))
    data[-40_000] ^= 1
    assert "cannot store" in end_of(push(udp_lab, "x", bytes(data)))

    assert receiver.wait() == FAILED
    assert not {"one", "two"} <= set(names_in(tmp_path / "target"))


def test_a_sender_answers_steps_that_it_cannot_do_with_the_step_to_go_on_with(udp_lab: Lab, tmp_path: Path) -> None:
    source = make_file(tmp_path / "source", 100_000)
    sender = udp_lab.wait_for_peer(udp_lab.there, "send", source, "--json", "--death-timer", "5")
    assert "netblt: changed" in end_of(pull(udp_lab, f"x netblt=content:{ID}:{NOTHING}:0"))
    whole = pull(udp_lab, "x netblt=held:0123456789abcdef")
    assert not end_of(whole).startswith("done"), "a held list comes from a receiver"
    first = pull(udp_lab, "x")
    assert end_of(first).startswith("done")
    header = decode_header(first.stdout.read_bytes()[:56])
    assert header.list_bytes > 0

    assert sender.wait() == DONE, sender.errors
