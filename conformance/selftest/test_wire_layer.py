# SPDX-License-Identifier: GPL-2.0-or-later
"""The scapy layer reads in every byte vector what the vector states of itself."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import scapy
from netblt_conformance.wire import (
    NETBLT,
    TYPE_NAMES,
    NETBLTControl,
    NETBLTData,
    NETBLTGo,
    NETBLTLData,
    NETBLTNullAck,
    NETBLTOk,
    NETBLTResend,
    checksum_ok,
    data_checksum_ok,
    peek,
)
from scapy.config import conf
from scapy.packet import Padding, Raw

ROOT = Path(__file__).resolve().parents[2]
VECTORS = ROOT / "pcaps" / "vectors"
LAYERS = ROOT / "conformance" / "netblt_conformance" / "wire"
ENTRIES: list[dict[str, Any]] = [
    entry
    for path in sorted(VECTORS.glob("*.json"))
    if path.name != "schema.json"
    for entry in json.loads(path.read_text(encoding="utf-8"))
]
HEADER_FIELDS = ("checksum", "version", "length", "local_port", "foreign_port", "padding")


def named(entry: dict[str, Any]) -> str:
    """A vector's name as the test's."""
    return str(entry["name"])


def vectors(**wanted: Any) -> list[dict[str, Any]]:
    """The entries with these values."""
    return [entry for entry in ENTRIES if all(entry[key] == value for key, value in wanted.items())]


@pytest.fixture(autouse=True)
def _exceptions_are_not_swallowed() -> Iterator[None]:
    """scapy turns what a layer raises into Raw, which would hide it."""
    before = conf.debug_dissector
    conf.debug_dissector = True
    yield
    conf.debug_dissector = before


def without_cache(packet: Any) -> bytes:
    """Octets built from the fields: scapy remembers what a packet was read from."""
    packet.clear_cache()
    for layer in packet.iterpayloads():
        layer.raw_packet_cache = None
        for message in getattr(layer, "messages", []):
            message.raw_packet_cache = None
    return bytes(packet)


def text(value: bytes) -> str:
    """What a person reads of a string field."""
    return bytes(value).partition(b"\0")[0].decode("ascii")


def message_fields(message: Any) -> dict[str, Any]:
    """A control message in the words of the vectors."""
    head = {"seq": message.seq, "buffer": message.buffer}
    if isinstance(message, NETBLTGo):
        return {"type": "GO", **head}
    if isinstance(message, NETBLTOk):
        names = ("burst_size", "burst_interval_ms", "control_timer_ms")
        return {"type": "OK", **head, **{name: getattr(message, name) for name in names}}
    assert isinstance(message, NETBLTResend)
    return {"type": "RESEND", **head, "count": message.count, "packets": list(message.packets)}


def setup_fields(body: Any) -> dict[str, Any]:
    """OPEN or RESPONSE in the words of the vectors."""
    names = "unique_id buffer_size transfer_size packet_size burst_size burst_interval_ms death_timer_s max_buffers"
    flags = int(body.flags)
    return {
        **{name: getattr(body, name) for name in names.split() if name in body.fields},
        "write": bool(flags & 1),
        "data_checksum_flag": bool(flags & 2),
        "reserved_flags": flags & 0xFFFC,
        "string": text(body.string),
    }


def body_fields(packet: Any) -> dict[str, Any]:
    """What follows the header, with the names of the vectors."""
    body = packet.payload
    if hasattr(body, "unique_id"):
        return setup_fields(body)
    if isinstance(body, NETBLTData | NETBLTLData):
        names = ("buffer", "high_seq", "packet", "data_checksum")
        flags = int(body.flags)
        area = body[Raw].load if Raw in body else b""
        fields = {name: getattr(body, name) for name in names}
        return {**fields, "last_buffer": bool(flags & 1), "reserved_flags": flags & 0xFFFE, "data_hex": area.hex()}
    if isinstance(body, NETBLTNullAck):
        return {name: getattr(body, name) for name in ("high_seq", "burst_size", "burst_interval_ms")}
    if isinstance(body, NETBLTControl):
        return {"messages": [message_fields(message) for message in body.messages]}
    return {"string": text(body.string)} if hasattr(body, "string") else {}


def header_fields(packet: Any) -> dict[str, Any]:
    """The header in the words of the vectors."""
    return {**{name: getattr(packet, name) for name in HEADER_FIELDS}, "type_code": packet.type}


@pytest.mark.parametrize("entry", ENTRIES, ids=named)
def test_octets_are_read_and_given_back(entry: dict[str, Any]) -> None:
    octets = bytes.fromhex(entry["hex"])
    assert bytes(NETBLT(octets)) == octets or not octets
    assert without_cache(NETBLT(octets)) == octets or not octets


@pytest.mark.parametrize(
    "entry",
    [entry for entry in vectors(dialect="rfc998") if entry["error"] in (None, "checksum", "message")],
    ids=named,
)
def test_fields_are_the_vectors_fields(entry: dict[str, Any]) -> None:
    packet = NETBLT(bytes.fromhex(entry["hex"]))
    assert TYPE_NAMES[packet.type] == entry["type"]
    assert {**header_fields(packet), **body_fields(packet)} == entry["fields"]


@pytest.mark.parametrize("entry", vectors(dialect="version4"), ids=named)
def test_version_4_is_read_as_version_4(entry: dict[str, Any]) -> None:
    packet = NETBLT(bytes.fromhex(entry["hex"]))
    assert {**header_fields(packet), **body_fields(packet)} == entry["fields"]


@pytest.mark.parametrize("entry", vectors(error="short"), ids=named)
def test_less_than_a_header_is_raw(entry: dict[str, Any]) -> None:
    assert not isinstance(NETBLT(bytes.fromhex(entry["hex"])), NETBLT)


@pytest.mark.parametrize(
    "entry",
    [entry for entry in ENTRIES if entry["error"] in ("length", "type")],
    ids=named,
)
def test_a_body_that_cannot_be_is_raw_behind_a_read_header(entry: dict[str, Any]) -> None:
    packet = NETBLT(bytes.fromhex(entry["hex"]))
    expected = {name: entry["fields"][name] for name in (*HEADER_FIELDS, "type_code")}
    assert header_fields(packet) == expected
    assert {type(layer) for layer in packet.iterpayloads()} <= {NETBLT, Raw, Padding}


@pytest.mark.parametrize("entry", vectors(error="message"), ids=named)
def test_what_follows_the_last_readable_message_is_raw(entry: dict[str, Any]) -> None:
    packet = NETBLT(bytes.fromhex(entry["hex"]))
    assert Raw in packet


@pytest.mark.parametrize("entry", ENTRIES, ids=named)
def test_the_quick_checks_agree_with_the_vectors(entry: dict[str, Any]) -> None:
    octets = bytes.fromhex(entry["hex"])
    header = peek(octets)
    fields = entry["fields"]
    if entry["error"] == "short":
        assert header is None
    else:
        assert header == (fields["type_code"], fields["length"], fields["local_port"], fields["foreign_port"])
    if entry["error"] in ("short", "length"):
        # Only a Length below the minimum of a type that is summed up to Length can still verify.
        assert not checksum_ok(octets) or fields["length"] <= len(octets)
    else:
        assert checksum_ok(octets) == (entry["error"] != "checksum")
    if entry.get("data_checksum") in ("good", "bad"):
        assert data_checksum_ok(octets) == (entry["data_checksum"] == "good")


SENT_BY_ITSELF = [
    entry
    for entry in vectors(valid=True, dialect="rfc998")
    # Two values of a field verify here, and a builder takes the other one.
    if entry["name"] not in ("keepalive-checksum-other-zero", "data-extreme-values", "ldata-extreme-values")
]


@pytest.mark.parametrize("entry", SENT_BY_ITSELF, ids=named)
def test_length_and_checksums_fill_themselves_in_as_the_vectors_have_them(entry: dict[str, Any]) -> None:
    packet = NETBLT(bytes.fromhex(entry["hex"]))
    del packet.length
    del packet.checksum
    if entry.get("data_checksum") == "good":
        packet.payload.data_checksum = None
    for message in getattr(packet.payload, "messages", []):
        if isinstance(message, NETBLTResend):
            message.count = None
    length = entry["fields"]["length"]
    assert without_cache(packet)[:length].hex() == entry["hex"][: 2 * length]


@pytest.fixture(scope="module")
def scapy_with_netblt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a copy of scapy, of which `contrib` has netblt.py."""
    folder = tmp_path_factory.mktemp("scapy")
    shutil.copytree(Path(scapy.__file__).parent, folder / "scapy", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(LAYERS / "netblt.py", folder / "scapy" / "contrib")
    return folder


def utscapy(scapy_copy: Path, campaign: Path) -> subprocess.CompletedProcess[str]:
    """Runs a campaign as scapy's contributors do; the package of the suite cannot be imported."""
    command = [sys.executable, "-m", "scapy.tools.UTscapy", "-t", str(campaign), "-f", "text", "-N", "-q", "-q"]
    environment = {"PYTHONPATH": str(scapy_copy), "PATH": "/usr/bin:/bin", "HOME": "/nonexistent"}
    return subprocess.run(command, cwd=scapy_copy, env=environment, capture_output=True, text=True, check=False)


def test_the_campaign_passes_in_scapy_contrib(scapy_with_netblt: Path) -> None:
    done = utscapy(scapy_with_netblt, LAYERS / "netblt.uts")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_failing_campaign_is_noticed(scapy_with_netblt: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.uts"
    text = (LAYERS / "netblt.uts").read_text(encoding="utf-8")
    assert "0x2c9b" in text
    wrong.write_text(text.replace("0x2c9b", "0x2c9c"), encoding="utf-8")
    assert utscapy(scapy_with_netblt, wrong).returncode != 0


def test_scapy_lists_the_contribution(scapy_with_netblt: Path) -> None:
    """scapy reads the name and the status of a contribution from its comments."""
    program = "from scapy.main import list_contrib; print(list_contrib('netblt', ret=True))"
    environment = {"PYTHONPATH": str(scapy_with_netblt), "PATH": "/usr/bin:/bin", "HOME": "/nonexistent"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert "(NETBLT), RFC 998" in done.stdout
    assert "'loads'" in done.stdout


def test_the_file_of_the_layers_imports_only_scapy_and_the_standard_library() -> None:
    tree = ast.parse((LAYERS / "netblt.py").read_text(encoding="utf-8"))
    modules = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    modules |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    roots = {module.split(".")[0] for module in modules}
    assert "scapy" in roots
    assert roots - {"scapy"} <= sys.stdlib_module_names


def test_the_layer_loads_by_itself_and_binds_protocol_30() -> None:
    program = (
        "from netblt_conformance.wire import NETBLT\n"
        "import sys\n"
        "from scapy.layers.inet import IP\n"
        "assert IP(bytes(IP(src='127.0.0.1', dst='127.0.0.1')/NETBLT(local_port=3)))[NETBLT].local_port == 3\n"
        "mine = {name for name in sys.modules if name.startswith('netblt_conformance.')}\n"
        "assert all(name.startswith('netblt_conformance.wire') for name in mine), mine\n"
    )
    environment = {"PYTHONPATH": str(ROOT / "conformance"), "PATH": "/usr/bin:/bin", "HOME": "/nonexistent"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
