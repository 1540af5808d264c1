# SPDX-License-Identifier: GPL-2.0-or-later
"""The committed byte vectors are whole, keep to their schema, and sum as RFC 998 5.1 says."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

ROOT = Path(__file__).resolve().parents[2]
VECTORS = ROOT / "pcaps" / "vectors"
SCHEMA = json.loads((VECTORS / "schema.json").read_text(encoding="utf-8"))
FILES = sorted(path for path in VECTORS.glob("*.json") if path.name != "schema.json")
ENTRIES: list[dict[str, Any]] = [entry for path in FILES for entry in json.loads(path.read_text(encoding="utf-8"))]
ALL_TYPES = {
    "OPEN", "RESPONSE", "KEEPALIVE", "QUIT", "QUITACK", "ABORT",
    "DATA", "LDATA", "NULL-ACK", "CONTROL", "REFUSED", "DONE",
}  # fmt: skip


def verifies(octets: bytes) -> bool:
    """Another way to add than the vectors' own: one big number modulo 0xFFFF (2**16 is 1 there).

    The sum of a field and its complement is 0xFFFF, which is zero in that arithmetic; all-zero octets are the one
    string that is zero there without being 0xFFFF on a 16-bit adder.
    """
    even = octets + b"\0" * (len(octets) % 2)
    return any(even) and int.from_bytes(even, "big") % 0xFFFF == 0


def covered(entry: dict[str, Any]) -> bytes:
    """The bytes under the Checksum field: 24 of a DATA or LDATA packet, else up to Length."""
    reach = 24 if entry["type"] in ("DATA", "LDATA") else entry["fields"]["length"]
    return bytes.fromhex(entry["hex"])[:reach]


def run_tool(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The tool as a person calls it."""
    command = [sys.executable, "-m", "pcaps.tools.make_vectors", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_vector_file_keeps_to_the_schema(path: Path) -> None:
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    ("name", "change", "named"),
    [
        ("open-typical-read", {"error": "sort"}, "'sort' is not one of"),
        ("open-typical-read", {"colour": 1}, "'colour' was unexpected"),
        ("open-typical-read", {"hex": "0"}, "does not match"),
        ("data-minimal", {"data_checksum": "perhaps"}, "'perhaps' is not one of"),
        ("short-4-bytes", {"fields": {"checksum": 1}}, "is expected to be empty"),
    ],
)
def test_the_schema_names_a_mistake(name: str, change: dict[str, Any], named: str) -> None:
    spoilt = {**next(entry for entry in ENTRIES if entry["name"] == name), **change}
    messages = [error.message for error in jsonschema.Draft202012Validator(SCHEMA).iter_errors([spoilt])]
    assert any(named in message for message in messages), messages


def test_the_schema_wants_the_fields_of_the_packet_type() -> None:
    entry = next(entry for entry in ENTRIES if entry["name"] == "control-ok-typical")
    spoilt = json.loads(json.dumps(entry))
    del spoilt["fields"]["messages"][0]["control_timer_ms"]
    messages = [error.message for error in jsonschema.Draft202012Validator(SCHEMA).iter_errors([spoilt])]
    assert messages == ["'control_timer_ms' is a required property"]


def test_the_committed_files_are_what_the_tool_writes() -> None:
    done = run_tool("--check")
    assert done.returncode == 0, done.stderr


def test_check_names_the_file_that_was_edited_or_is_missing_or_strange(tmp_path: Path) -> None:
    for path in FILES:
        shutil.copy(path, tmp_path)
    edited = tmp_path / "open.json"
    edited.write_text(edited.read_text(encoding="utf-8").replace("14380", "14381", 1), encoding="utf-8")
    (tmp_path / "data.json").unlink()
    (tmp_path / "mine.json").write_text("[]\n", encoding="utf-8")
    done = run_tool("--check", "--directory", str(tmp_path))
    assert done.returncode == 1
    for sentence in ("open.json differs", "data.json is missing", "mine.json is not made by this tool"):
        assert sentence in done.stderr


def test_every_packet_type_and_control_message_has_several_vectors() -> None:
    sound = [entry for entry in ENTRIES if entry["valid"] and entry["dialect"] == "rfc998"]
    for name in ALL_TYPES:
        assert sum(entry["type"] == name for entry in sound) >= 3, name
    messages = [message for entry in sound if entry["type"] == "CONTROL" for message in entry["fields"]["messages"]]
    for name in ("GO", "OK", "RESEND"):
        assert sum(message["type"] == name for message in messages) >= 3, name
    assert {entry["error"] for entry in ENTRIES} == {None, "short", "length", "type", "checksum", "message"}


def test_names_are_used_once() -> None:
    names = [entry["name"] for entry in ENTRIES]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    "entry",
    [entry for entry in ENTRIES if entry["error"] not in ("short", "length")],
    ids=lambda entry: str(entry["name"]),
)
def test_the_sum_with_its_field_is_ffff_exactly_where_the_vector_says_so(entry: dict[str, Any]) -> None:
    assert verifies(covered(entry)) == (entry["error"] != "checksum")


@pytest.mark.parametrize(
    "entry", [entry for entry in ENTRIES if "data_checksum" in entry], ids=lambda entry: str(entry["name"])
)
def test_the_data_checksum_is_what_the_vector_says(entry: dict[str, Any]) -> None:
    area = bytes.fromhex(entry["hex"])[24 : entry["fields"]["length"]]
    assert area.hex() == entry["fields"]["data_hex"]
    if entry["data_checksum"] == "unchecked":
        return
    even = area + b"\0" * (len(area) % 2)
    field = entry["fields"]["data_checksum"].to_bytes(2, "big")
    assert verifies(even + field) == (entry["data_checksum"] == "good")


def hand_worked_sums() -> list[tuple[str, list[int], list[int], int]]:
    """(vector, words, running sums, result) of each table in docs/vectors.md, where they were added by hand."""
    page = (ROOT / "docs" / "vectors.md").read_text(encoding="utf-8")
    tables = re.findall(r"^### `([a-z0-9-]+)`: ([0-9A-F]{4})$(.*?)(?=^#|\Z)", page, re.MULTILINE | re.DOTALL)
    worked = []
    for name, result, body in tables:
        rows = re.findall(r"^\| ([0-9A-F]{4}) \|.*\| ([0-9A-F]{4}) \|$", body, re.MULTILINE)
        worked.append(
            (name, [int(word, 16) for word, _ in rows], [int(total, 16) for _, total in rows], int(result, 16))
        )
    return worked


def test_the_page_works_out_at_least_five_sums_one_with_a_carry_and_one_with_an_odd_byte() -> None:
    worked = hand_worked_sums()
    assert len(worked) >= 5
    assert any(sum(words) > 0xFFFF for _, words, _, _ in worked)
    assert "data-summed-odd" in {name for name, *_ in worked}


@pytest.mark.parametrize("sample", hand_worked_sums(), ids=lambda sample: f"{sample[0]}-{sample[3]:04x}")
def test_a_sum_worked_out_by_hand_is_the_vectors_own(sample: tuple[str, list[int], list[int], int]) -> None:
    name, words, totals, result = sample
    entry = next(entry for entry in ENTRIES if entry["name"] == name)
    header = covered(entry)
    area = bytes.fromhex(entry["hex"])[24 : entry["fields"]["length"]]
    whole = {
        entry["fields"]["checksum"]: b"\0\0" + header[2:],
        entry["fields"].get("data_checksum"): area,
    }[result]
    even = whole + b"\0" * (len(whole) % 2)
    words_there = [int.from_bytes(even[at : at + 2], "big") for at in range(0, len(even), 2)]
    assert [word for word in words_there if word] == [word for word in words if word]
    assert totals[-1] == 0xFFFF - result
    assert all(total % 0xFFFF == sum(words[: count + 1]) % 0xFFFF for count, total in enumerate(totals))
