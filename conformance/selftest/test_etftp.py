# SPDX-License-Identifier: GPL-2.0-or-later
"""The suite plays ETFTP: packets change their layout at the edge, runs take what holds there, mutants are killed."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from netblt_conformance.catalogue import catalogue
from netblt_conformance.commands.commands import checked_cases
from netblt_conformance.common import paths
from netblt_conformance.common.verdicts import Verdict
from netblt_conformance.links.base import IUT_ADDRESS, TESTER_ADDRESS
from netblt_conformance.mutants import coverage, mutants, mutation, subject
from netblt_conformance.mutants.mutants import MutantError
from netblt_conformance.packets import etftp, ipv4, packets
from netblt_conformance.packets.capture import Capture
from netblt_conformance.packets.dialect import ETFTP, RFC998
from netblt_conformance.packets.etftp import Extras
from netblt_conformance.packets.packets import Forge, Kind, Message, Packet, Type
from netblt_conformance.wire import ETFTP as LAYER

if TYPE_CHECKING:
    from selftest.conftest import Command

FORGE = Forge(2, 3000, 4000)
EXTRAS = Extras(flags=etftp.BINARY | etftp.RENEGOTIATE, radio_delay_s=7, packet_size=512)
VALUES: dict[str, Any] = {"unique_id": 77, "buffer_size": 1024, "packet_size": 256, "burst_size": 3}


def opening(kind: Type = Type.OPEN, flags: int = 3) -> bytes:
    return FORGE.opening(kind, Packet(b"", **VALUES, flags=flags, string=packets.text_field("/a/file")))


MESSAGES = [
    Message(Kind.OK, 1, 9, burst_size=5, burst_interval_ms=40, control_timer_ms=500),
    Message(Kind.RESEND, 2, 10, packets=(4, 5, 6)),
    Message(Kind.OK, 3, 11, burst_size=2, burst_interval_ms=70, control_timer_ms=9),
    Message(Kind.GO, 4, 12),
]
WHOLE = {
    "OPEN": opening(),
    "RESPONSE that reads": opening(Type.RESPONSE, flags=0),
    "NULL-ACK": FORGE.null_ack(9, 5, 40),
    "CONTROL": FORGE.control(MESSAGES),
    "DATA": FORGE.data(Packet(b"", type=Type.DATA, buffer=3, packet=1, data=b"abc")),
    "QUIT": FORGE.reason(Type.QUIT, "enough"),
    "KEEPALIVE": FORGE.packet(Type.KEEPALIVE),
}


@pytest.mark.parametrize("octets", WHOLE.values(), ids=WHOLE)
def test_what_went_to_the_wire_reads_as_it_was(octets: bytes) -> None:
    assert etftp.from_wire(etftp.to_wire(octets, EXTRAS)) == octets


@pytest.mark.parametrize("octets", WHOLE.values(), ids=WHOLE)
@pytest.mark.parametrize("spoilt", [False, True])
def test_a_checksum_stays_as_good_or_bad_as_it_was(octets: bytes, spoilt: bool) -> None:
    sent = etftp.to_wire(packets.spoil(octets) if spoilt else octets, EXTRAS)
    assert packets.read(sent).checksum_good is not spoilt


def test_an_open_on_the_wire_has_what_rfc_1986_has() -> None:
    body = LAYER(etftp.to_wire(opening(flags=3), EXTRAS)).payload
    assert (body.radio_delay_s, body.pad, body.string.rstrip(b"\0")) == (7, 0, b"/a/file")
    assert {name: getattr(body, name) for name in VALUES} == VALUES
    assert int(body.flags) == 0x0002 | etftp.BINARY | etftp.RENEGOTIATE  # WRITE is 1 in RFC 998 and 0 here


def test_null_ack_and_every_ok_carry_the_packet_size() -> None:
    assert LAYER(etftp.to_wire(WHOLE["NULL-ACK"], EXTRAS)).payload.packet_size == 512
    messages = LAYER(etftp.to_wire(WHOLE["CONTROL"], EXTRAS)).payload.messages
    assert [m.packet_size for m in messages if m.type == Kind.OK] == [512, 512]
    assert messages[1].packets == [4, 5, 6]


def test_an_open_of_rfc_998_is_left_to_be_found() -> None:
    """Four bytes that are not there cannot be removed."""
    bare = FORGE.opening(Type.OPEN, Packet(b"", **VALUES))
    assert len(bare) == 36
    assert etftp.from_wire(bare) == bare


@pytest.mark.parametrize("octets", [b"", b"\0" * 11, opening()[:30], opening()[:4] + b"\xff\xff" + opening()[6:]])
def test_what_is_no_whole_packet_goes_out_as_it_is(octets: bytes) -> None:
    assert etftp.to_wire(octets, EXTRAS) == octets
    assert etftp.from_wire(octets) == octets


@pytest.mark.parametrize("active", [False, True])
def test_captures_hold_udp_with_the_port_of_the_server_at_the_passive_end(active: bool) -> None:
    capture = Capture(ETFTP.udp_ports(active=active))
    capture.add(0, b"payload!", TESTER_ADDRESS, IUT_ADDRESS, sent=True)
    capture.add(1, b"payload!", IUT_ADDRESS, TESTER_ADDRESS, sent=False)
    datagrams = [ipv4.unwrap_udp(ipv4.unwrap(frame.packet)) for frame in capture.frames]
    ports = [(one.source_port, one.destination_port) for one in datagrams if one is not None]
    expected = [(etftp.SERVER_PORT, etftp.CLIENT_PORT), (etftp.CLIENT_PORT, etftp.SERVER_PORT)]
    assert ports == (expected if active else expected[::-1])


def test_a_dialect_takes_what_holds_in_it() -> None:
    assert ETFTP.holds(["CKSUM-01", "R1986-02"])
    assert not ETFTP.holds(["CKSUM-01", "WIRE-09"])
    assert RFC998.holds(["WIRE-09"])
    assert not RFC998.holds(["R1986-02"])


# ---- runs ----


@pytest.mark.usefixtures("built_writer")
def test_the_edited_core_passes_and_the_plugin_agrees(command: Command) -> None:
    done = command("run", "--profile", "etftp", "--select", "R1986,OPEN-01,RESEND-04", judged=True)
    assert done.status == 0, done.output
    assert "profile ETFTP (RFC 1986)" in done.output.splitlines()[0]
    judged = {identifier for result in done.results for identifier in result.requirements}
    assert {"R1986-02", "R1986-10", "R1986-23", "OPEN-01", "RESEND-04"} <= judged
    assert {result.verdict for result in done.results} <= {Verdict.PASS, Verdict.NA}


def test_an_end_that_speaks_rfc_998_fails(command: Command, built_library: Path) -> None:
    done = command("run", "--profile", "etftp", "--iut-library", str(built_library), "--select", "R1986-02")
    assert done.status == 1, done.output
    assert Verdict.PASS not in {result.verdict for result in done.results if result.requirements == ["R1986-02"]}


def test_the_pipe_link_plays_it_and_no_sweep_of_rfc_998(command: Command, tmp_path: Path, built_library: Path) -> None:
    del built_library
    endpoint = paths.build() / "bin" / "pipe_endpoint"
    if not endpoint.is_file():
        pytest.skip("pipe_endpoint is not built: run tools/build")
    adapter = tmp_path / "etftp.toml"
    library = subject.library(ETFTP)
    adapter.write_text(
        f'name = "edited"\n[environment]\nLD_PRELOAD = "{library}"\n[pipe]\ncommand = ["{endpoint}"]\n',
        encoding="utf-8",
    )
    select = "R1986-02,sweep pipelined"
    done = command("run", "--profile", "etftp", "--adapter", str(adapter), "--select", select)
    assert done.status == 0, done.output
    assert [result.case for result in done.results if "sweep" in result.case] == []


def test_a_requirement_that_does_not_hold_in_the_dialect_has_no_runs(command: Command) -> None:
    done = command("run", "--profile", "etftp", "--select", "WIRE-09")
    assert done.status == 2
    assert "do not hold in ETFTP (RFC 1986)" in done.errors
    assert command("run", "--select", "R1986-02").status == 2


def test_over_real_packets_the_adapter_must_say_that_it_speaks_etftp(command: Command, tmp_path: Path) -> None:
    done = command("run", "--profile", "etftp", "--link", "wire")
    assert (done.status, 'encapsulation = "udp" and udp_port = 1818' in done.errors) == (2, True)
    other = tmp_path / "other.toml"
    other.write_text((paths.adapters() / "etftp.toml").read_text().replace("udp_port = 1818", "udp_port = 1819"))
    assert command("run", "--profile", "etftp", "--adapter", str(other)).status == 2


@pytest.mark.nightly
@pytest.mark.usefixtures("wire_is_possible")
def test_a_program_that_speaks_etftp_passes_over_udp(command: Command) -> None:
    roles = [word for role in ("active-sender", "passive-sender") for word in ("--role", role)]
    adapter = str(paths.adapters() / "etftp.toml")
    done = command("run", "--profile", "etftp", "--adapter", adapter, *roles, "--select", "R1986-01,R1986-10")
    assert done.status == 0, done.output
    assert {result.verdict for result in done.results} == {Verdict.PASS}


def test_the_list_shows_the_cases_of_the_profile(command: Command) -> None:
    listed = command("list", "--profile", "etftp").output
    assert "open and response hold a radio delay" in listed
    assert "WIRE-09" not in listed
    assert "R1986" not in command("list").output


# ---- mutants ----


@pytest.mark.usefixtures("built_writer")
def test_mutants_of_the_edited_core_are_killed(capsys: pytest.CaptureFixture[str]) -> None:
    names = ["etftp-no-size-in-ok", "etftp-buffers-from-1", "etftp-quitack-at-the-end"]
    assert mutation.run(mutation.Wanted(names, paths.core(), verbose=False, dialect=ETFTP)) == 0, (
        capsys.readouterr().out
    )


def test_every_requirement_of_rfc_1986_that_has_a_case_has_a_mutant() -> None:
    cases = {name: words[1:] for name, words in checked_cases().items()}
    found = coverage.survey(cases)
    tested = [one for name, one in found.items() if name.startswith("R1986") and one.cases]
    assert len(tested) > 20
    assert [one.requirement.id for one in tested if not one.mutants and not one.requirement.unmutated] == []
    breaks = {mutant.requirement for mutant in mutants.load(paths.dialect("etftp"))}
    assert all("etftp" in catalogue.requirements()[one].dialects for one in breaks)


def test_an_edit_that_no_longer_fits_the_core_is_named(tmp_path: Path) -> None:
    core = tmp_path / "core"
    shutil.copytree(paths.core(), core)
    header = mutants.source_file(core, "wire.h")
    header.write_text(header.read_text().replace("NB_OPEN_BYTES = 36,", "NB_OPEN_BYTES = 4 * 9,"))
    with pytest.raises(MutantError, match=r"etftp-formats: its old text is 0 times in wire\.h"):
        subject.copy_core(core, tmp_path / "copy", ETFTP)
