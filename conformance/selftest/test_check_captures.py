# SPDX-License-Identifier: GPL-2.0-or-later
"""netblt-conformance check: damaged packets, folders, several interfaces and the position of a capture."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from netblt_conformance.check.folders import is_capture, listed
from netblt_conformance.check.judge import Checked, rows_of
from netblt_conformance.common import paths
from netblt_conformance.common.verdicts import Verdict
from netblt_conformance.judges.findings import Conclusion
from netblt_conformance.judges.standings import Connection, Standing
from netblt_conformance.judges.tshark import plugin_folder
from netblt_conformance.packets import captures
from netblt_conformance.packets.packets import DATA_HEADER_BYTES, DATA_TYPES, HEADER_BYTES, Type, seal
from netblt_conformance.simlib import Record, pcapng_file
from scapy.utils import RawPcapWriter

if TYPE_CHECKING:
    from selftest.conftest import Command

PCAPS = paths.root() / "pcaps"
CLEAN = PCAPS / "violations" / "order02-like-complete-after-all.pcapng"
VIOLATING = PCAPS / "violations" / "order02-progress-first.pcapng"
SUMMED = PCAPS / "golden" / "lossy-transfer.pcapng"  # its data are checksummed
SCHEMA = json.loads((paths.root() / "conformance" / "schemas" / "check.schema.json").read_text(encoding="utf-8"))
RAW_IP, ETHERNET = 101, 1
IP_BYTES = 20
SENDER, RECEIVER = "10.0.0.1", "10.0.0.2"
WHOLE = 65535

pytestmark = pytest.mark.skipif(
    shutil.which("tshark") is None or not list(plugin_folder().glob("*/epan/netblt.so")), reason="no tshark or plugin"
)


@dataclass
class Frame:
    """An IPv4 packet and the time at which it was captured."""

    microseconds: int
    data: bytes

    @property
    def source(self) -> str:
        return ".".join(map(str, self.data[12:16]))

    @property
    def carries_data(self) -> bool:
        return self.data[IP_BYTES + 3] in DATA_TYPES and len(self.data) > IP_BYTES + DATA_HEADER_BYTES

    def damaged(self, at: int) -> Frame:
        """With one bit turned in the NETBLT packet, `at` bytes after its beginning."""
        octets = bytearray(self.data)
        octets[IP_BYTES + at] ^= 0x10
        return Frame(self.microseconds, bytes(octets))


def frames(capture: Path = CLEAN) -> list[Frame]:
    """What the first interface of a capture saw."""
    found = [packet for packet in captures.read(capture) if packet.interface.number == 0]
    return [Frame(packet.time_ns // 1000, packet.data) for packet in found]


def pcap(path: Path, found: list[Frame], link_type: int = RAW_IP, snap_bytes: int = WHOLE) -> str:
    ethernet = bytes(12) + b"\x08\x00" if link_type == ETHERNET else b""
    with RawPcapWriter(str(path), linktype=link_type, snaplen=snap_bytes) as file:
        file.write_header(None)
        for one in found:
            data = ethernet + one.data
            seconds, rest = divmod(one.microseconds, 1_000_000)
            file.write_packet(data[:snap_bytes], sec=seconds & 0x7FFFFFFF, usec=rest, wirelen=len(data))
    return str(path)


def pcapng(path: Path, sightings: list[tuple[int, Frame]], interfaces: tuple[str, ...] = ("near", "far")) -> str:
    """Of raw IP frames, each with the number of the interface that saw it."""
    records = [Record(number, one.microseconds * 1000, one.data) for number, one in sightings]
    path.write_bytes(pcapng_file(interfaces, records))
    return str(path)


def checked(command: Command, *arguments: str) -> tuple[int, dict[str, Any]]:
    done = command("check", "--json", *arguments)
    document = json.loads(done.output)
    jsonschema.validate(document, SCHEMA)
    return done.status, document


def damage(document: dict[str, Any]) -> list[tuple[Any, ...]]:
    keys = ("source", "checksum", "packets", "frames", "requirement", "verdict", "offender")
    return [tuple(one[key] for key in keys) for file in document["files"] for one in file["damaged"]]


def places(found: list[Frame], source: str, *, data: bool) -> list[int]:
    """Where packets of this end lie that carry data, or are longer than a header; without the first, which opens the
    connection."""
    long = [n for n, one in enumerate(found) if len(one.data) > IP_BYTES + HEADER_BYTES + 4]
    return [n for n in long if found[n].source == source and found[n].carries_data is data][1:]


@pytest.mark.parametrize("link_type", [RAW_IP, ETHERNET])
@pytest.mark.parametrize(
    ("source", "data", "at", "checksum", "requirement"),
    [
        (SENDER, True, HEADER_BYTES + 1, "header", "CKSUM-06"),
        (SENDER, True, DATA_HEADER_BYTES + 2, "data", "CKSUM-07"),
        (RECEIVER, False, HEADER_BYTES + 3, "header", "CKSUM-06"),
    ],
)
def test_damaged_packets_of_each_direction_are_counted_and_named(
    command: Command, tmp_path: Path, link_type: int, source: str, data: bool, at: int, checksum: str, requirement: str
) -> None:
    found = frames(SUMMED if checksum == "data" else CLEAN)
    hit = places(found, source, data=data)[:2]
    for place in reversed(hit):
        found.insert(place, found[place].damaged(at))  # and the same packet undamaged after it
    spoilt = [place + before + 1 for before, place in enumerate(hit)]
    status, document = checked(command, pcap(tmp_path / "damaged.pcap", found, link_type))
    assert damage(document) == [(source, checksum, len(spoilt), spoilt, requirement, "INCONC", None)]
    assert status == 0
    assert command("check", "--strict", str(tmp_path / "damaged.pcap")).status == 1
    text = command("check", str(tmp_path / "damaged.pcap")).output
    assert f"INCONC  {requirement}" in text
    assert f"frames {', '.join(map(str, spoilt))}" in text


@pytest.mark.parametrize("position", [None, "path", "sender", "receiver"])
@pytest.mark.parametrize("source", [SENDER, RECEIVER])
def test_only_the_position_of_the_capture_proves_who_sent_a_damaged_packet(
    command: Command, tmp_path: Path, source: str, position: str | None
) -> None:
    found = frames()
    place = places(found, source, data=source == SENDER)[1]
    found.insert(place, found[place].damaged(HEADER_BYTES + 1))
    name = pcap(tmp_path / "damaged.pcap", found)
    status, document = checked(command, *(["--captured-at", position] if position else []), name)
    assert document["captured_at"] == position
    proven = (source, position) in ((SENDER, "sender"), (RECEIVER, "receiver"))
    expected = ("CKSUM-02", "FAIL", f"{source} {position}") if proven else ("CKSUM-06", "INCONC", None)
    assert damage(document) == [(source, "header", 1, [place + 1], *expected)]
    assert status == (1 if proven else 0)


def test_a_capture_of_headers_alone_has_no_damaged_packets(command: Command, tmp_path: Path) -> None:
    name = pcap(tmp_path / "short.pcap", frames(), snap_bytes=IP_BYTES + DATA_HEADER_BYTES + 4)
    assert damage(checked(command, name)[1]) == []
    assert damage(checked(command, pcap(tmp_path / "whole.pcap", frames()))[1]) == []


def test_the_position_reaches_the_plugin(command: Command) -> None:
    """A violation that only a capture at the sender proves is in the repository; without the position it is none."""
    for path in sorted((PCAPS / "violations").glob("*.expected.json")):
        expected = json.loads(path.read_text(encoding="utf-8"))
        wanted = [one for one in expected["findings"] if one["verdict"] == "violation"]
        if expected.get("capture_position") == "sender" and wanted:
            name = str(path.with_name(path.name.replace(".expected.json", ".pcapng")))
            assert checked(command, "--captured-at", "sender", name)[0] == 1
            return
    pytest.fail("no capture was made at the sender")


def test_a_transfer_that_two_interfaces_saw_is_one(command: Command, tmp_path: Path) -> None:
    for capture, code in ((CLEAN, 0), (VIOLATING, 1)):
        found = frames(capture)
        twice = [(number, one) for one in found for number in (0, 1)]
        status, document = checked(command, pcapng(tmp_path / "twice.pcapng", twice))
        (file,) = document["files"]
        assert status == code
        assert file["transfers"] == 1
        assert [(one["interface"], one["same_transfer_as"]) for one in file["connections"]] == [
            ("near", None),
            ("far", 0),
        ]
        text = command("check", str(tmp_path / "twice.pcapng")).output
        assert "1 connection\n" in text
        assert "seen 2 times" in text
        rows = [line for line in text.splitlines() if line.startswith("FAIL")]
        assert len(rows) == code, "one violation is one row"
        assert ("seen at near and far" in " ".join(text.split())) is bool(code)


def test_what_one_interface_alone_saw_is_reported_with_its_name(command: Command, tmp_path: Path) -> None:
    found = frames()
    place = places(found, RECEIVER, data=False)[0]
    twice = [(number, one) for one in found for number in (0, 1)]
    twice.insert(2 * place + 1, (1, found[place].damaged(HEADER_BYTES + 1)))
    _, document = checked(command, pcapng(tmp_path / "twice.pcapng", twice))
    (file,) = document["files"]
    assert file["transfers"] == 1
    assert [(one["interface"], one["packets"]) for one in file["damaged"]] == [("far", 1)]


def test_two_transfers_between_the_same_ends_stay_two(command: Command, tmp_path: Path) -> None:
    """They have different unique IDs: the later one is no sighting of the first, also at another interface."""
    first, second = frames(), frames(PCAPS / "violations" / "close05-repeated-ok-unanswered.pcapng")
    later = [Frame(one.microseconds + 60_000_000, one.data) for one in second]
    _, document = checked(
        command, pcapng(tmp_path / "two.pcapng", [(0, one) for one in first] + [(1, one) for one in later])
    )
    uids = {one.data[IP_BYTES + HEADER_BYTES :][:4] for one in (first[0], second[0])}
    assert document["files"][0]["transfers"] == len(uids)


@pytest.mark.parametrize("without_opening", [(0, 1), (0,), (1,)], ids=["both", "near", "far"])
def test_a_transfer_whose_opening_an_interface_did_not_see_is_one(
    command: Command, tmp_path: Path, without_opening: tuple[int, ...]
) -> None:
    """No two connections between the same ends exist at a time, so streams that overlap are one transfer."""
    opening = (Type.OPEN, Type.RESPONSE)
    twice = [
        (number, one)
        for one in frames()
        for number in (0, 1)
        if number not in without_opening or one.data[IP_BYTES + 3] not in opening
    ]
    _, document = checked(command, pcapng(tmp_path / "late.pcapng", twice))
    assert document["files"][0]["transfers"] == 1


def test_two_transfers_without_their_openings_that_do_not_overlap_stay_two(command: Command, tmp_path: Path) -> None:
    whole = [one for one in frames() if one.data[IP_BYTES + 3] not in (Type.OPEN, Type.RESPONSE)]
    later = [Frame(one.microseconds + 60_000_000, one.data) for one in whole]
    _, document = checked(
        command, pcapng(tmp_path / "two.pcapng", [(0, one) for one in whole] + [(1, one) for one in later])
    )
    assert document["files"][0]["transfers"] == 2


def with_other_uid(one: Frame) -> Frame:
    """The same packet, of a connection with another unique ID if it is an OPEN or RESPONSE."""
    if one.data[IP_BYTES + 3] not in (Type.OPEN, Type.RESPONSE):
        return one
    payload = bytearray(one.data[IP_BYTES:])
    payload[:2], payload[HEADER_BYTES : HEADER_BYTES + 4] = bytes(2), b"else"
    return Frame(one.microseconds, one.data[:IP_BYTES] + seal(bytes(payload)))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "captures"
    (made / "below").mkdir(parents=True)
    shutil.copy(CLEAN, made / "clean.pcapng")
    shutil.copy(PCAPS / "violations" / "v4-like-rfc998-opening.pcapng", made / "foreign.pcapng")
    (made / "below" / "no-suffix").write_bytes(gzip.compress(VIOLATING.read_bytes()))
    pcap(made / "below" / "old.pcap", frames(), ETHERNET)
    (made / "notes.pcap").write_text("this is no capture", encoding="utf-8")
    (made / "empty").write_bytes(b"")
    return made


def test_a_folder_is_judged_with_all_captures_in_it(command: Command, folder: Path, tmp_path: Path) -> None:
    junit = tmp_path / "check.xml"
    status, document = checked(command, "--junit", str(junit), str(folder))
    assert status == 1
    verdicts = {str(Path(file["file"]).relative_to(folder)): file["verdict"] for file in document["files"]}
    assert verdicts == {"clean.pcapng": "PASS", "below/no-suffix": "FAIL", "below/old.pcap": "PASS"}
    skipped = {str(Path(one["file"]).relative_to(folder)): one["reason"] for one in document["skipped"]}
    assert set(skipped) == {"empty", "notes.pcap", "foreign.pcapng"}
    assert skipped["notes.pcap"] == "not a capture"
    text = command("check", str(folder)).output
    assert f"{folder / 'notes.pcap'}: skipped: not a capture" in text
    named = [one.get("value") for one in ET.parse(junit).iter("property") if one.get("name") == "capture"]
    assert str(folder / "empty") in named


def test_a_folder_without_netblt_cannot_be_judged(command: Command, folder: Path) -> None:
    shutil.rmtree(folder / "below")
    (folder / "clean.pcapng").unlink()
    done = command("check", str(folder))
    assert done.status == 2
    assert done.errors.strip() == f"error: {folder}: holds no capture that can be judged"


def test_a_damaged_file_in_a_folder_is_an_error(command: Command, folder: Path) -> None:
    (folder / "cut.pcapng").write_bytes(CLEAN.read_bytes()[:-10])
    shutil.rmtree(folder / "below")
    done = command("check", str(folder))
    assert done.status == 2
    assert "cut short" in done.errors


def test_captures_are_told_by_their_content_and_links_are_not_followed(folder: Path) -> None:
    (folder / "below" / "loop").symlink_to(folder)
    (folder / "broken.gz").write_bytes(b"\x1f\x8b" + bytes(20))
    found = listed([str(folder), "named"])
    assert [Path(name).name for name in found.captures] == [
        "clean.pcapng",
        "foreign.pcapng",
        "no-suffix",
        "old.pcap",
        "named",
    ]
    assert not is_capture(folder / "broken.gz")
    assert "named" not in found.found


def test_a_rule_that_is_broken_in_another_stream_is_told_there_alone(command: Command) -> None:
    done = command("check", str(PCAPS / "violations" / "wire13-ports-not-swapped.pcapng"))
    rows = re.findall(r"^FAIL .*\n(?: {10}.*\n)*", done.output, re.MULTILINE)
    assert len(rows) == 1
    assert " 10.0.0.2 receiver " in " ".join(rows[0].split())


def test_a_conclusion_without_a_finding_has_reason_frame_and_offender() -> None:
    standing = Standing(
        "CTRL-04", Conclusion.VIOLATED, violations=2, title="all messages", frames=(7, 9), offender="10.0.0.2 receiver"
    )
    connection = Connection(0, {"a": "10.0.0.1:1", "b": "10.0.0.2:2"}, standings={"CTRL-04": standing})
    (row,) = rows_of(connection, "some.pcap")
    assert (row.verdict, row.role, row.frame) == (Verdict.FAIL, standing.offender, 7)
    assert row.seen == "all messages: violation (2 times)"
    assert Checked("some.pcap", [[connection]]).verdict is Verdict.FAIL
