# SPDX-License-Identifier: GPL-2.0-or-later
"""The committed captures are whole and described, and the violations in them are what their expectations state."""

from __future__ import annotations

import json
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from netblt_conformance.wire import (
    NETBLT,
    NETBLTControl,
    NETBLTData,
    NETBLTLData,
    NETBLTNullAck,
    NETBLTOpen,
    NETBLTResend,
    NETBLTResponse,
    checksum_ok,
)

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from pcaps.tools.read_capture import Captured, capture

ROOT = Path(__file__).resolve().parents[2]
PCAPS = ROOT / "pcaps"
CAPTURES = sorted([*(PCAPS / "violations").glob("*.pcapng"), *(PCAPS / "golden").glob("*.pcapng")])
FORGED = [path for path in CAPTURES if path.parent.name == "violations"]
WHOLE = [path for path in CAPTURES if path not in FORGED or path.stem.startswith(("ctrl04", "order02"))]
ABOUT_OCTETS = ("wire", "cksum", "data14")  # data14: in IP fragments
DIALECTS = ("r1986", "etftp", "v4")  # the layers of scapy below read RFC 998
SCHEMA = json.loads((PCAPS / "expected.schema.json").read_text(encoding="utf-8"))


def expectation(path: Path) -> dict[str, Any]:
    """What lies beside a capture."""
    found: dict[str, Any] = json.loads(path.with_suffix(".expected.json").read_text(encoding="utf-8"))
    return found


def test_there_are_violations_and_look_alikes_of_each_rule() -> None:
    for rule in ("ctrl04", "order02"):
        mine = [path for path in FORGED if path.name.startswith(rule)]
        assert sum(bool(expectation(path)["findings"]) for path in mine) >= 1
        assert sum(not expectation(path)["findings"] for path in mine) >= 2


def test_the_forged_captures_are_what_the_tool_writes() -> None:
    command = [sys.executable, "-m", "pcaps.tools.forge", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", [f"violations/{FORGED[0].name}", "README.md"])
def test_forge_check_names_a_file_that_differs(tmp_path: Path, name: str) -> None:
    shutil.copytree(PCAPS / "violations", tmp_path / "violations")
    shutil.copy(PCAPS / "README.md", tmp_path)
    changed = tmp_path / name
    changed.write_bytes(changed.read_bytes()[:-1])
    command = [sys.executable, "-m", "pcaps.tools.forge", "--check", "--directory", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"{name} differs" in done.stderr


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)
def test_a_capture_has_an_expectation_that_keeps_to_the_schema(path: Path) -> None:
    jsonschema.Draft202012Validator(SCHEMA).validate(expectation(path))


def test_every_expectation_has_its_capture() -> None:
    beside = {path.with_suffix("").with_suffix(".pcapng") for path in PCAPS.glob("*/*.expected.json")}
    assert beside == set(CAPTURES)


def test_the_index_lists_each_capture_once_and_says_what_its_expectation_says() -> None:
    page = (PCAPS / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z0-9-]+)` \| .* \| (.*) \|$", page, re.MULTILINE)
    assert sorted(name for name, _ in rows) == sorted(path.stem for path in CAPTURES)
    told = dict(rows)
    for path in CAPTURES:
        wanted = expectation(path)
        verdicts = [
            f"{finding['requirement']} {finding['verdict']}, {finding['offender_role']}"
            for finding in wanted["findings"]
        ]
        assert told[path.stem] == ("; ".join(verdicts) or ("at most suspected" if wanted["tolerated"] else "none"))


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)
def test_every_packet_of_a_capture_is_sound(path: Path) -> None:
    packets = capture(path)
    subject = path.stem.removeprefix("etftp-")
    assert len(packets) == expectation(path)["packets"]
    last = 0
    for packet in packets:
        assert packet.protocol == (17 if path.stem.startswith(("r1986", "etftp")) else 30), "ETFTP uses UDP"
        assert packet.octets[8] == 64
        assert struct.unpack_from(">H", packet.octets, 2)[0] == len(packet.octets)
        assert sum(struct.unpack(">10H", packet.octets[:20])) % 0xFFFF == 0
        assert checksum_ok(packet.netblt) or path.stem.startswith("v4") or subject.startswith(ABOUT_OCTETS)
        assert packet.time_ns >= last
        last = packet.time_ns


@pytest.mark.parametrize("path", WHOLE, ids=lambda path: path.stem)
def test_every_transfer_comes_to_its_end(path: Path) -> None:
    packets = capture(path)
    kinds = {type(netblt(packet).payload) for packet in packets}
    assert {NETBLTControl, NETBLTData, NETBLTLData, NETBLTNullAck} <= kinds
    assert ({NETBLTOpen, NETBLTResponse} <= kinds) == ("without-open" not in path.stem)
    assert any(netblt(packet).type == 11 for packet in packets), "DONE"


def netblt(packet: Captured) -> Any:
    """The packet as scapy layers."""
    return NETBLT(packet.netblt)


def sender_ack(packet: Captured) -> int | None:
    """The high-seq of a packet that has one."""
    found = netblt(packet).payload.fields.get("high_seq")
    return None if found is None else int(found)


def violations_of(requirement: str) -> list[Any]:
    """Capture and finding, for each violation of one requirement."""
    return [
        pytest.param(path, finding, id=f"{path.stem}-{finding['frame']}")
        for path in FORGED
        for finding in expectation(path)["findings"]
        if finding["requirement"] == requirement and not path.stem.startswith(DIALECTS)
    ]


@pytest.mark.parametrize(("path", "finding"), violations_of("CTRL-04"))
def test_a_ctrl_04_violation_has_all_that_proves_it(path: Path, finding: dict[str, Any]) -> None:
    packets = capture(path)
    offence = packets[finding["frame"] - 1]
    before, behind = packets[: finding["frame"] - 1], packets[finding["frame"] :]
    carried = [message.seq for message in netblt(offence).messages]
    acknowledged = max(sender_ack(packet) or 0 for packet in before)
    absent = set(range(acknowledged + 1, max(carried))) - set(carried)
    earlier = [packet for packet in before if netblt(packet).type == 9]
    bodies = {message.seq: bytes(message) for packet in earlier for message in netblt(packet).messages}
    assert absent
    assert absent <= bodies.keys()
    queue = {**bodies, **{message.seq: bytes(message) for message in netblt(offence).messages}}
    whole = 12 + sum(len(body) for seq, body in queue.items() if seq > acknowledged)
    assert whole <= max(netblt(packet).length for packet in earlier)
    later = [packet for packet in behind if (ack := sender_ack(packet)) is not None and ack < min(absent)]
    assert later
    assert {packet.number for packet in later} <= set(finding["proven_by"])
    sender = later[0].source
    ids = [packet.identification for packet in packets if packet.source == sender]
    assert ids == list(range(ids[0], ids[0] + len(ids)))


@pytest.mark.parametrize(("path", "finding"), violations_of("ORDER-02"))
def test_an_order_02_violation_has_all_that_proves_it(path: Path, finding: dict[str, Any]) -> None:
    packets = capture(path)
    offence = packets[finding["frame"] - 1]
    before = packets[: finding["frame"] - 1]
    later_buffer = netblt(offence).payload.buffer
    messages = [message for packet in before if netblt(packet).type == 9 for message in netblt(packet).messages]
    asked = [message for message in messages if isinstance(message, NETBLTResend) and message.buffer < later_buffer]
    request = asked[-1]
    assert netblt(offence).payload.high_seq >= request.seq
    assert finding["proven_by"]
    for number in finding["proven_by"]:
        repair = packets[number - 1]
        assert repair.identification > offence.identification > 0
        assert netblt(repair).payload.buffer == request.buffer
        assert netblt(repair).payload.packet in request.packets
    ids = [packet.identification for packet in packets if packet.source == offence.source]
    assert ids == list(range(ids[0], ids[0] + len(ids)))
    asking = [netblt(packet) for packet in packets[finding["frame"] : max(finding["proven_by"])]]
    assert all(packet.type != 9 for packet in asking)
