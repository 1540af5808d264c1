# SPDX-License-Identifier: GPL-2.0-or-later
"""Adapters: the shipped ones load, mistakes are named with file, key and reason, claims and known failures count."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from netblt_conformance.adapter import adapter, adapter_file
from netblt_conformance.common import paths, wording
from netblt_conformance.common.errors import NotSupportedError
from netblt_conformance.common.model import (
    ACTIVE_SENDER,
    ALL_ROLES,
    PASSIVE_RECEIVER,
    Encapsulation,
    Feature,
    Parameters,
    Start,
)
from netblt_conformance.common.remarks import Remark
from netblt_conformance.common.verdicts import Result, Verdict, exit_code
from netblt_conformance.run import known

GOOD = """
name = "example"
[wire.roles.active-sender]
command = ["prog", "{file_in}", "{peer_address}", "{data_checksum}"]
"""
REMOTE = """
name = "far"
[remote]
address = "192.0.2.9"
[remote.roles.passive-receiver]
port = 7
"""
URL = "https://example.org/issues/7"
KNOWN = f"""
name = "x"
[[known_failure]]
case = "CTRL-04"
role = "passive-receiver"
url = "{URL}"
message = "only the news"
"""


def loaded(tmp_path: Path, text: str) -> adapter.Adapter:
    path = tmp_path / "x.toml"
    path.write_text(text, encoding="utf-8")
    return adapter_file.read(path)


@pytest.mark.parametrize("path", sorted(paths.adapters().glob("*.toml")), ids=lambda path: path.stem)
def test_a_shipped_adapter_loads(path: Path) -> None:
    assert adapter_file.read(path).name


def test_the_reference_adapter_describes_every_role() -> None:
    assert set(adapter_file.read(paths.adapters() / "reference.toml").roles) == set(ALL_ROLES)


def after_name(text: str) -> str:
    return f'name = "x"\n{text}\n'


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "x.toml: name: missing"),
        (after_name("colour = 1"), "x.toml: colour: unknown key 'colour'"),
        (after_name("wire = 3"), "x.toml: wire: 3 must be a table"),
        (after_name("[wire]\ntempo = 1"), "wire.tempo: unknown key 'tempo'"),
        (after_name('[wire]\nquit_signal = "SIGFOO"'), "wire.quit_signal: 'SIGFOO' is no signal"),
        (after_name('[wire]\nready_s = "soon"'), "wire.ready_s: 'soon' must be a number"),
        (after_name('[wire]\nready_output = "("'), "wire.ready_output: .* is no regular expression"),
        (after_name("[wire]\nsuccess_exit = [300]"), "wire.success_exit 1: 300 must be less than or equal to 255"),
        (after_name('[wire]\nencapsulation = "tcp"'), "wire.encapsulation: 'tcp': must be ip or udp"),
        (after_name("[wire]\nudp_port = 0"), "wire.udp_port: 0 must be from 1 to 65535"),
        (
            after_name('[wire.roles.sender]\ncommand = "a"'),
            "roles.sender: unknown key .*mean 'active-sender'",
        ),
        (after_name("[wire.roles.active-sender]\nport = 1"), "active-sender.command: .*missing: how it is started"),
        (after_name('[wire.roles.active-sender]\ncommand = "a"\nbefore = "b"'), "active-sender.before: unknown key"),
        (GOOD.replace("{peer_address}", "{peer}"), "active-sender.command: unknown placeholder {peer}"),
        (GOOD.replace("{peer_address}", "{peer"), "expected '}'"),
        (GOOD.replace("{data_checksum}", "x{data_checksum}"), "must be a word of its own"),
        (after_name('[wire]\ndata_checksum_on = ["{sum}"]'), "wire.data_checksum_on: unknown placeholder {sum}"),
        (after_name('[wire]\ndata_checksum_on = ["{encapsulation}"]'), "unknown placeholder {encapsulation}"),
        (after_name("[pipe]"), "pipe.command: missing: how it is started, a string or a list of strings"),
        (after_name('[pipe]\ncommand = "a {file_in}"'), "pipe.command: {file_in} means nothing here"),
        (after_name("[pipe]\ncommand = 3"), "pipe.command: a command is a string or a list of strings"),
        (after_name("[pipe]\ncomand = 'a'"), "pipe.comand: unknown key 'comand'; did you mean 'command'"),
        (after_name("[pipe"), "x.toml"),
        (after_name("[environment]\nA = 1"), "environment.A: 1 must be a text"),
        (after_name("[pics]\nquit = 1"), "pics.quit: 1 must be true or false"),
        (after_name("[pics]\nmax_buffers = 0"), "pics.max_buffers: 0 must be from 1 to 65535"),
        (after_name('[pics]\nunsupported = ["CTRL-99"]'), "pics.unsupported: 'CTRL-99' is no requirement"),
        (after_name("[pixit]\nmtu = 100"), "pixit.mtu: 100 must be from 576 to 65535"),
        (after_name("[pixit]\nclose_max_s = -1"), "pixit.close_max_s: -1 must be greater than or equal to 0"),
        (after_name("known_failure = 1"), "known_failure: 1 must be a list"),
        (
            KNOWN.replace("message", "massage"),
            "CTRL-04.massage: .*did you mean 'message'",
        ),
        (KNOWN.replace("https:", "see:"), "known_failure CTRL-04.url: .* is no address of an issue"),
        (KNOWN.replace("message =", "# message ="), "known_failure CTRL-04: requirement or message is missing"),
        (
            KNOWN.replace('message = "only', 'requirement = "NO"\nmessage = "only'),
            "known_failure CTRL-04.requirement: ",
        ),
        (KNOWN.replace("passive-receiver", "receiver"), "known_failure CTRL-04.role: unknown role"),
        (REMOTE.replace("address =", "adress ="), "remote.address: missing"),
        (REMOTE.replace("port = 7", ""), "passive-receiver.port: missing"),
        (REMOTE.replace("passive", "active"), "active-receiver.command: .*missing: the hook"),
        (REMOTE + GOOD.split("\n", 2)[2], "an adapter has one of them"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(adapter.AdapterError, match=complaint) as caught:
        loaded(tmp_path, text)
    assert "x.toml" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(adapter.AdapterError, match="No such file"):
        adapter_file.read(tmp_path / "none.toml")


@pytest.mark.parametrize(("on", "last"), [("1", ["--sum", "192.0.2.1"]), ("", [])])
def test_placeholders_are_filled(tmp_path: Path, on: str, last: list[str]) -> None:
    words = '[wire]\ndata_checksum_on = ["--sum", "{peer_address}"]\n[wire.roles'
    mine = loaded(tmp_path, GOOD.replace("[wire.roles", words))
    values = {"file_in": "/tmp/in", "peer_address": "192.0.2.1", "data_checksum": on}
    assert mine.expand(mine.roles[ACTIVE_SENDER].command, values) == ["prog", "/tmp/in", "192.0.2.1", *last]


def test_a_role_inherits_what_the_table_says_of_all(tmp_path: Path) -> None:
    text = (
        GOOD.replace("[wire.roles", "[wire]\nready_s = 9\nsuccess_exit = [0, 3]\n[wire.roles") + "success_exit = [4]\n"
    )
    role = loaded(tmp_path, text).roles[ACTIVE_SENDER]
    assert role.ready_s == 9.0
    assert role.success_exit == frozenset({4})


def test_encapsulations_stand_in_order_of_preference(tmp_path: Path) -> None:
    mine = loaded(tmp_path, after_name('[wire]\nencapsulation = ["udp", "ip"]'))
    assert mine.encapsulations == (Encapsulation.UDP, Encapsulation.IP)


def test_a_remote_implementation_needs_no_command_when_it_is_passive(tmp_path: Path) -> None:
    mine = loaded(tmp_path, REMOTE)
    assert mine.remote is not None
    assert mine.roles[PASSIVE_RECEIVER].port == 7
    assert not mine.roles[PASSIVE_RECEIVER].command


# ---- what it claims ----


def start(**parameters: int | bool) -> Start:
    values = Parameters(**parameters)  # type: ignore[arg-type]
    return Start(ACTIVE_SENDER, values, bytes(4), bytes(4), 1, 2, 1, "t")


def test_an_implementation_is_started_with_no_more_than_it_claims(tmp_path: Path) -> None:
    claims = loaded(tmp_path, after_name("[pics]\nmax_buffers = 1\nmax_packet_size = 100")).pics
    parameters = adapter.capped(start(max_buffers=4, packet_size=256), claims).parameters
    assert (parameters.max_buffers, parameters.packet_size, parameters.buffer_size) == (1, 100, 1024)


def test_what_is_not_claimed_is_not_asked_for(tmp_path: Path) -> None:
    claims = loaded(tmp_path, after_name("[pics]\ndata_checksum = false\nabort = false")).pics
    assert claims.lacks == {Feature.ABORT}
    with pytest.raises(NotSupportedError, match="PICS does not claim it: data_checksum"):
        adapter.capped(start(data_checksum=True), claims)


# ---- known failures ----


def row(verdict: Verdict, seen: str = "", role: str = "passive-receiver") -> tuple[str, Result]:
    return "k", Result("some_case", ["CTRL-04", "CTRL-01"], role, verdict, seen, expected="the news")


def settled(tmp_path: Path, *rows: tuple[str, Result], everything: bool = False) -> list[Result]:
    return [result for _, result in known.settle(list(rows), loaded(tmp_path, KNOWN), everything=everything)]


def test_a_known_failure_does_not_fail_the_run_and_names_its_issue(tmp_path: Path) -> None:
    results = settled(tmp_path, row(Verdict.FAIL, "it holds only the news"))
    assert [result.verdict for result in results] == [Verdict.WARN]
    assert results[0].has(Remark.KNOWN)
    assert wording.reason(results[0]) == f"known failure, {URL}: it holds only the news; expected: the news"
    assert exit_code(results) == 0


def test_another_failure_of_the_same_case_still_fails(tmp_path: Path) -> None:
    (result,) = settled(tmp_path, row(Verdict.FAIL, "no CONTROL at all"))
    assert result.verdict is Verdict.FAIL
    assert result.has(Remark.OTHER_THAN_KNOWN)
    assert f"known is another failure, 'only the news', {URL}" in wording.reason(result)


def test_a_known_failure_may_be_told_by_its_requirement(tmp_path: Path) -> None:
    by_requirement = KNOWN.replace('message = "only the news"', 'requirement = "CTRL-01"')
    key, result = row(Verdict.FAIL, "any words")
    violated = dataclasses.replace(result, violated="CTRL-01")
    mine = loaded(tmp_path, by_requirement)
    found = [one for _, one in known.settle([(key, result), (key, violated)], mine, everything=False)]
    assert [one.verdict for one in found] == [Verdict.FAIL, Verdict.WARN]
    assert found[0].has(Remark.OTHER_THAN_KNOWN)
    assert "known is another failure, 'CTRL-01'" in wording.reason(found[0])
    both = loaded(tmp_path, by_requirement + 'message = "other words"\n')
    ((_, one),) = known.settle([(key, violated)], both, everything=False)
    assert one.verdict is Verdict.FAIL


def test_the_same_failure_in_another_role_is_not_known(tmp_path: Path) -> None:
    (result,) = settled(tmp_path, row(Verdict.FAIL, "only the news", role="active-receiver"))
    assert (result.verdict, result.seen) == (Verdict.FAIL, "only the news")


def test_an_unexpected_pass_fails_the_run(tmp_path: Path) -> None:
    results = settled(tmp_path, row(Verdict.PASS))
    assert [result.verdict for result in results] == [Verdict.PASS, Verdict.FAIL]
    assert "x.toml: known_failure 1 (CTRL-04" in results[1].seen
    assert "passes now: remove the entry" in results[1].seen
    assert exit_code(results) == 1


def test_what_was_not_run_is_not_missed_unless_everything_was(tmp_path: Path) -> None:
    other = row(Verdict.PASS, role="active-sender")
    assert len(settled(tmp_path, other)) == 1
    assert "fits no case" in settled(tmp_path, other, everything=True)[1].seen
