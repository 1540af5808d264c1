# SPDX-License-Identifier: GPL-2.0-or-later
"""netblt-conformance check: captures from files and pipes, what it concludes, and how it reports that it cannot."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from netblt_conformance.check.judge import exit_code
from netblt_conformance.common import nobody, paths
from netblt_conformance.common.errors import JudgeError
from netblt_conformance.common.verdicts import ExitCode, Result, Verdict
from netblt_conformance.judges.findings import FindingReader
from netblt_conformance.judges.tshark import plugin_folder
from netblt_conformance.packets import ipv4
from netblt_conformance.packets.packets import seal
from scapy.utils import RawPcapWriter

if TYPE_CHECKING:
    from selftest.conftest import Command

PCAPS = paths.root() / "pcaps"
VIOLATING = PCAPS / "violations" / "order02-progress-first.pcapng"
SUSPECTED = PCAPS / "violations" / "ctrl04-like-split-queue.pcapng"
CLEAN = PCAPS / "violations" / "order02-like-complete-after-all.pcapng"
SCHEMA = json.loads((paths.root() / "conformance" / "schemas" / "check.schema.json").read_text(encoding="utf-8"))
RAW_IP = 101

pytestmark = pytest.mark.skipif(
    shutil.which("tshark") is None or not list(plugin_folder().glob("*/epan/netblt.so")), reason="no tshark or plugin"
)


def checked(command: Command, *arguments: str) -> tuple[int, dict[str, Any]]:
    done = command("check", "--json", *arguments)
    document = json.loads(done.output)
    jsonschema.validate(document, SCHEMA)
    return done.status, document


def findings(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"stream": connection["stream"], "requirement": rule["requirement"], **finding}
        for file in document["files"]
        for connection in file["connections"]
        for rule in connection["requirements"]
        for finding in rule["findings"]
    ]


def pcap(path: Path, *packets: bytes) -> Path:
    """Packets that start at the IPv4 header."""
    with RawPcapWriter(str(path), linktype=RAW_IP) as file:
        file.write_header(None)
        for number, packet in enumerate(packets):
            file.write_packet(packet, sec=1, usec=number)
    return path


def taken_at_an_end(path: Path) -> bool:
    """Its reader must know it, which `check` has no option for."""
    return "capture_position" in json.loads(path.with_name(f"{path.stem}.expected.json").read_text(encoding="utf-8"))


def of_every_kind() -> list[Path]:
    """So many captures that every rule, verdict and end in fault is among them, and a clean one for each area.

    The dissector's tests read all of them; here is asked whether `check` reports what the dissector finds.
    """
    chosen: list[Path] = []
    seen: set[tuple[str, str, str]] = set()
    for path in sorted((PCAPS / "violations").glob("*.pcapng")):
        if taken_at_an_end(path):
            continue
        expected = json.loads(path.with_name(f"{path.stem}.expected.json").read_text(encoding="utf-8"))["findings"]
        kinds = {(one["verdict"], one["requirement"], one["offender_role"]) for one in expected}
        kinds = kinds or {("clean", path.stem.partition("-")[0].rstrip("0123456789"), "")}
        if not kinds <= seen:
            chosen.append(path)
            seen |= kinds
    return chosen


@pytest.mark.nightly
def test_what_is_expected_of_a_capture_is_what_check_reports(command: Command) -> None:
    """Violations expected are there, at their frame and by their end; a file is a FAIL when it holds any."""
    paths_ = of_every_kind()
    _, document = checked(command, *map(str, paths_))
    complaints = []
    for path, file in zip(paths_, document["files"], strict=True):
        expected = json.loads(path.with_name(f"{path.stem}.expected.json").read_text(encoding="utf-8"))
        found = {
            (one["frame"], one["requirement"], one["offender"].split()[1])
            for one in findings({"files": [file]})
            if one["verdict"] == "violation"
        }
        for one in expected["findings"]:
            proofs = {one["frame"], *one.get("proven_by", ())}
            told = {(frame, one["requirement"], one["offender_role"]) for frame in proofs}
            if one["verdict"] == "violation" and not told & found:
                complaints.append(f"{path.stem}: {one['requirement']} in frame {one['frame']} is missing")
        if (file["verdict"] == "FAIL") != bool(found):
            complaints.append(f"{path.stem}: {file['verdict']} with {found}")
    assert complaints == []


def test_a_suspicion_fails_only_when_strict(command: Command) -> None:
    assert checked(command, str(SUSPECTED))[0] == 0
    status, document = checked(command, "--strict", str(SUSPECTED))
    assert status == 1
    assert document["files"][0]["verdict"] == "INCONC"


def test_the_table_names_verdict_requirement_offender_frame_and_text(command: Command) -> None:
    done = command("check", str(VIOLATING))
    assert done.status == 1
    (row,) = [row.split() for row in re.findall(r"^FAIL .*\n(?: {10}.*\n)*", done.output, re.MULTILINE)]
    words = " ".join(row)
    assert words.startswith("FAIL ORDER-02 stream 0: ")
    assert " 10.0.0.1 sender " in words
    assert words.endswith(f"[{VIOLATING}, frame 15]")


def test_what_was_not_put_to_the_test_shows_only_when_asked_for(command: Command) -> None:
    assert "N/A" not in command("check", str(CLEAN)).output
    assert "N/A     QUIT-01" in command("check", "-v", str(CLEAN)).output


def test_a_capture_may_come_through_a_pipe_and_be_compressed(command: Command, tmp_path: Path) -> None:
    packed = tmp_path / "packed.pcapng.gz"
    packed.write_bytes(gzip.compress(VIOLATING.read_bytes()))
    _, plain = checked(command, str(VIOLATING))
    for content in (VIOLATING.read_bytes(), packed.read_bytes()):
        done = subprocess.run(
            [sys.executable, "-m", "netblt_conformance", "check", "--json", "-"],
            input=content,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 1
        assert findings(json.loads(done.stdout)) == findings(plain)
    assert findings(checked(command, str(packed))[1]) == findings(plain)


@pytest.mark.skipif(not nobody.changes_user(), reason="only root can become another user")
def test_users_and_root_come_to_the_same_conclusion(command: Command, tmp_path: Path) -> None:
    capture = tmp_path / "capture.pcapng"
    shutil.copy(VIOLATING, capture)
    words = [sys.executable, "-m", "netblt_conformance", "check", "--json", "-"]
    try:
        subprocess.run([sys.executable, "-c", "import netblt_conformance"], check=True, **nobody.credentials())
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this tree cannot be read by others")
    with capture.open("rb") as file:
        done = subprocess.run(
            words,
            stdin=file,
            capture_output=True,
            **nobody.credentials(),
            env={**os.environ, "HOME": "/nonexistent"},
            check=False,
        )
    assert done.returncode == 1, done.stderr
    assert findings(json.loads(done.stdout)) == findings(checked(command, str(VIOLATING))[1])


def test_what_cannot_be_judged_is_named_and_is_neither_pass_nor_failure(command: Command, tmp_path: Path) -> None:
    foreign = pcap(tmp_path / "foreign.pcap", ipv4.wrap(b"x" * 40, bytes(4), bytes(4), 1, 6))
    text = tmp_path / "text.pcap"
    text.write_text("no capture at all", encoding="utf-8")
    word = tmp_path / "word.pcap"
    word.write_text("hello\n", encoding="utf-8")  # tshark takes it for a file of another kind
    nothing = tmp_path / "nothing.pcapng"
    nothing.touch()
    empty = tmp_path / "empty"
    empty.mkdir()
    for name, complaint in (
        (str(foreign), "holds no NETBLT packet, or only some that the capture cut off"),
        (str(text), "text.pcap"),
        (str(word), "its first bytes are not those of a pcapng or pcap file"),
        (str(nothing), "the file is empty"),
        ("/no/such/file", "No such file"),
        (str(empty), "holds no capture"),
        (str(PCAPS / "violations" / "v4-like-rfc998-opening.pcapng"), "version byte"),
    ):
        done = command("check", name)
        assert done.status == 2, done.output
        assert complaint in done.errors
        assert name in done.errors
        assert complaint not in done.output, "an error is printed once"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("r198609-too-small", {"R1986-09"}),
        ("etftp-neg02-packet-size", {"NEG-02"}),
        ("v4-neg02-packet-size", {"NEG-02"}),
        ("etftp-like-998-kept", set()),
        ("v4-like-998-kept", set()),
    ],
)
def test_other_dialects_are_judged(command: Command, name: str, told: set[str]) -> None:
    status, document = checked(command, str(PCAPS / "violations" / f"{name}.pcapng"))
    assert status == bool(told)
    assert {finding["requirement"] for finding in findings(document)} == told


def test_a_file_that_is_cut_short_is_judged_up_to_there_and_in_error(command: Command, tmp_path: Path) -> None:
    cut = tmp_path / "cut.pcapng"
    cut.write_bytes(VIOLATING.read_bytes()[:-10])
    done = command("check", str(cut))
    assert done.status == 1, "the violation before the cut stands"
    assert "cut short" in done.errors
    cut.write_bytes(CLEAN.read_bytes()[:-10])
    assert command("check", str(cut)).status == 2


def opening(port: int, uid: int, *, flags: int = 0, string: bytes = b"abc\0") -> bytes:
    """An OPEN; by the values given it breaks WIRE-09 (reserved flags) or WIRE-07 (string)."""
    body = struct.pack(">IIIHHHHHH", uid, 1024, 4096, 256, 8, 10, 30, flags, 2) + string
    return seal(struct.pack(">HBBHHHH", 0, 2, 0, 12 + len(body), port, 1, 0) + body)


def test_findings_of_several_packets_in_one_frame_stay_with_their_connection(command: Command, tmp_path: Path) -> None:
    """One datagram, two connections: the first breaks two rules, the second one."""
    datagram = opening(1000, 7, flags=0x8000, string=b"abcd") + opening(2000, 8, flags=0x4000)
    udp = struct.pack(">HHHH", 9980, 9980, 8 + len(datagram), 0) + datagram
    packet = ipv4.wrap(udp, bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]), 1, 17)
    _, document = checked(command, str(pcap(tmp_path / "two.pcap", packet)))
    told = {(one["stream"], one["requirement"], one["text"].partition(";")[0]) for one in findings(document)}
    assert {one[:2] for one in told} == {(0, "WIRE-07"), (0, "WIRE-09"), (1, "WIRE-09")}
    assert {one[2] for one in told if one[1] == "WIRE-07"} == {"the string does not end in NUL"}
    assert {one[2] for one in told if one[1] == "WIRE-09"} == {"reserved flags are set"}


def test_junit_counts_what_the_document_counts(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "check.xml"
    command("check", "-q", "--junit", str(file), str(VIOLATING), "/no/such/file")
    suite = ET.fromstring(file.read_text(encoding="utf-8"))
    assert suite.get("failures") == "1"
    assert suite.get("errors") == "1"
    assert suite.find("properties/property[@name='layout']") is not None


def test_copies_carry_the_findings_as_comments(command: Command, tmp_path: Path) -> None:
    command("check", "--write", str(tmp_path), str(VIOLATING))
    copy = tmp_path / f"{VIOLATING.stem}.checked.pcapng"
    words = ["tshark", "-r", str(copy), "-Y", 'frame.comment contains "ORDER-02"', "-T", "fields", "-e", "frame.number"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["15", "16"]


def test_captures_of_one_name_from_two_folders_get_a_copy_each(command: Command, tmp_path: Path) -> None:
    names = [tmp_path / folder / "same.pcapng" for folder in ("here", "there")]
    for name, source in zip(names, (CLEAN, VIOLATING), strict=True):
        name.parent.mkdir()
        shutil.copy(source, name)
    command("check", "--write", str(tmp_path / "out"), *map(str, names))
    copies = sorted((tmp_path / "out").iterdir())
    assert [path.name for path in copies] == ["same-2.checked.pcapng", "same.checked.pcapng"]
    assert checked(command, str(copies[0]))[1]["files"][0]["verdict"] == "FAIL"
    assert checked(command, str(copies[1]))[1]["files"][0]["verdict"] == "PASS"


def test_several_captures_are_reported_in_the_order_in_which_they_were_named(command: Command) -> None:
    """They are judged at the same time, and the small ones are done first."""
    large = max((PCAPS / "golden").glob("*.pcapng"), key=lambda path: path.stat().st_size)
    names = [str(large), str(VIOLATING), str(CLEAN), str(SUSPECTED)]
    assert [file["file"] for file in checked(command, *names)[1]["files"]] == names


FINDING = (
    b'{"frame": 3, "interface": "", "time": 1.5, "stream": 0, "requirement": "CTRL-04", "verdict": "suspected", '
    b'"offender": "10.0.0.2 receiver", "text": "bad \\u0001", "offending_frame": 0, "request_frame": 2, '
    b'"evidence_frame": 0}\n'
)


@pytest.mark.parametrize("size", [1, 7, 64])
def test_findings_come_out_as_soon_as_their_line_is_whole(size: int) -> None:
    reader, found = FindingReader(), []
    for at in range(0, len(FINDING), size):
        found += reader.feed(FINDING[at : at + size])
    assert [(one.frame, one.stream, one.time, one.text, one.request_frame) for one in found] == [
        (3, 0, 1.5, "bad \x01", 2)
    ]
    assert not reader.feed(b'{"report": "summary"}\n{"stream": 0}\n')
    reader.end()


def test_findings_alike_are_counted_and_the_first_thousand_kept() -> None:
    reader = FindingReader()
    kept = reader.feed(FINDING * 1003)
    assert len(kept) == 1000
    assert reader.more == {(0, "CTRL-04", "suspected", "10.0.0.2 receiver"): 3}


@pytest.mark.parametrize(
    "text",
    [b"Segmentation fault\n", b"[]\n", b'{"stream": 0}\n', b'{"requirement": "CTRL-04"}\n', b'{"damaged": 3}\n'],
)
@pytest.mark.parametrize("size", [1, 100])
def test_output_that_is_none_of_the_plugins_is_told(text: bytes, size: int) -> None:
    reader = FindingReader()

    def feed_all() -> None:
        for at in range(0, len(text), size):
            reader.feed(text[at : at + size])

    with pytest.raises(JudgeError, match="tshark's output cannot be read"):
        feed_all()


def test_output_that_ends_inside_a_line_is_told() -> None:
    reader = FindingReader()
    reader.feed(FINDING + FINDING[:-1])
    with pytest.raises(JudgeError, match="it ends inside a line"):
        reader.end()


@pytest.mark.parametrize(
    ("verdicts", "strict", "code"),
    [
        ([Verdict.PASS], False, ExitCode.HOLDS),
        ([Verdict.INCONC], False, ExitCode.HOLDS),
        ([Verdict.PASS, Verdict.INCONC], True, ExitCode.FAILED),
        ([Verdict.PASS, Verdict.FAIL], False, ExitCode.FAILED),
        ([Verdict.PASS, Verdict.ERROR], False, ExitCode.COULD_NOT_RUN),
        ([Verdict.NA], False, ExitCode.COULD_NOT_RUN),
        ([], False, ExitCode.COULD_NOT_RUN),
    ],
)
def test_the_exit_status_of_a_check(verdicts: list[Verdict], strict: bool, code: ExitCode) -> None:
    results = [Result("stream 0", ["CTRL-04"], "-", verdict, "x", expected="y") for verdict in verdicts]
    assert exit_code(results, strict=strict) is code
