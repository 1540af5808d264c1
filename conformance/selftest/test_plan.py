# SPDX-License-Identifier: GPL-2.0-or-later
"""netblt-plan: units, the choice of settings, the output, and real transfers with the printed command lines."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import shlex
import socket
import subprocess
from pathlib import Path as File
from typing import Any
from xml.etree import ElementTree

import pytest
from netblt_conformance.common import paths
from netblt_plan import cli, command_lines, planning, units
from netblt_plan.path import Path, Settings
from netblt_plan.planning import Prediction, fastest, predict

NETBLT = paths.build() / "bin" / "netblt"
SATELLITE = ["--rate", "20M", "--rtt", "560ms", "--loss", "0.3%"]
SHORT = ["--rate", "4M", "--rtt", "20ms", "--loss", "1%", "--size", "300k", "--no-picture"]

needs_root = pytest.mark.skipif(
    os.geteuid() != 0,
    reason="network namespaces need root",
)


def path(**changes: Any) -> Path:
    known = Path(20e6, 20e6, 0.56, 0.003, 0.1, 1500, udp=False)
    return dataclasses.replace(known, **changes)


# ---- units ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("20M", 20e6),
        ("20Mbit", 20e6),
        ("20 Mbit/s", 20e6),
        ("512kbps", 512e3),
        ("512Kb/s", 512e3),
        ("1.5G", 1.5e9),
        ("9600", 9600),
    ],
)
def test_a_rate_counts_bits_in_powers_of_a_thousand(text: str, value: float) -> None:
    assert units.rate(text) == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "value"), [("560ms", 0.56), ("0.56s", 0.56), ("250us", 250e-6), ("0ms", 0), ("1min", 60)]
)
def test_a_time_has_a_unit(text: str, value: float) -> None:
    assert units.seconds(text) == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("100M", 100_000_000),
        ("100MB", 100_000_000),
        ("100MiB", 104_857_600),
        ("1.5k", 1500),
        ("2GiB", 2 << 30),
        ("7", 7),
    ],
)
def test_a_size_is_decimal_unless_it_says_binary(text: str, value: int) -> None:
    assert units.size(text) == value


@pytest.mark.parametrize(
    ("option", "text", "reason"),
    [
        ("--rate", "20MB/s", "'20MB/s' counts bytes: give bits a second"),
        ("--rate", "20m", "'20m' is not a rate"),
        ("--rate", "fast", "'fast' is not a rate"),
        ("--rate", "-20M", "is not a rate"),
        ("--rate", "999", "is out of range: give a value between 1k and 1T bits a second"),
        ("--rtt", "560", "'560' is not a time: give a number with us, ms or s"),
        ("--rtt", "2min", "is out of range"),
        ("--loss", "0.003", "'0.003' is not a share of the packets: give percent"),
        ("--loss", "60%", "is out of range: give a value between 0% and 50%"),
        ("--size", "100Mbit", "'100Mbit' is not a size: give bytes"),
        ("--size", "5GiB", "the largest transfer of RFC 998"),
        ("--mtu", "100", "'100' is not a whole number between 576 and 9000"),
        ("--picture", "plan.gif", "'plan.gif' does not end in .svg"),
    ],
)
def test_a_value_that_cannot_be_read_is_refused_with_what_to_write(
    capsys: pytest.CaptureFixture[str], option: str, text: str, reason: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main([*SATELLITE, "--size", "1M", f"{option}={text}"])
    assert ended.value.code == 2
    assert f"argument {option}: " in (shown := capsys.readouterr().err)
    assert reason in shown


# ---- predictions and the choice -------------------------------------------------------------------------------------


def prediction(seconds: float, buffers: int, automatic: bool = False) -> Prediction:
    settings = Settings(automatic, 1456, 145_600, buffers, 5, 3)
    return Prediction(settings, 10**8, seconds, 0.9, 7e4, 200, 0.0, 19e6, 10**8)


def test_of_equally_fast_settings_the_least_memory_that_holds_three_products_is_chosen() -> None:
    many, enough, few = prediction(40.0, 100), prediction(40.2, 30), prediction(40.0, 10)
    assert fastest(path(), [many, few, enough, prediction(41.0, 29)]) is enough
    assert fastest(path(), [few, prediction(41.0, 30)]) is few
    assert fastest(path(), [prediction(math.nan, 30)]) is None


def test_settings_keep_to_the_limits_of_netblt_and_to_the_path() -> None:
    for known in (
        path(),
        path(rate=1e3, back_rate=1e3),
        path(rate=1e11, back_rate=1e11),
        path(mtu_bytes=9000, udp=True),
    ):
        for settings in planning.first_candidates(known):
            assert 24 + settings.packet_size + known.header_bytes <= known.mtu_bytes
            assert settings.packet_size % 4 == 0
            assert settings.buffer_size % settings.packet_size == 0
            assert settings.buffer_size // settings.packet_size <= 65_535
            assert settings.memory_bytes <= 1 << 30
            assert 1 <= settings.max_buffers <= 65_535
            rate = 8000 * settings.burst_size * settings.packet_size / settings.burst_interval_ms
            assert rate <= known.capacity(settings.packet_size) * 1.0001


def test_a_long_transfer_is_predicted_from_a_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = planning.first_candidates(path(loss=0.0))[-1]
    whole = predict(path(loss=0.0), settings, 200_000_000, [1])
    monkeypatch.setattr(planning, "SIMULATED_PACKETS_MAX", 40_000)
    part = predict(path(loss=0.0), settings, 200_000_000, [1])
    assert not whole.extrapolated
    assert part.extrapolated
    assert part.seconds == pytest.approx(whole.seconds, rel=0.01)
    assert part.sent == pytest.approx(whole.sent, rel=0.01)


def test_more_loss_and_less_rate_take_longer() -> None:
    settings = planning.first_candidates(path())[0]
    usual = predict(path(), settings, 10_000_000, [1, 2])
    assert predict(path(loss=0.05), settings, 10_000_000, [1, 2]).retransmitted > 5 * usual.retransmitted
    assert predict(path(rate=10e6), settings, 10_000_000, [1, 2]).seconds > 1.5 * usual.seconds
    assert 8 * 10_000_000 / 20e6 < usual.seconds < 10


# ---- output ---------------------------------------------------------------------------------------------------------


def test_the_plan_ends_in_a_table_a_picture_and_the_command_lines(
    tmp_path: File, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "plan.svg"
    assert cli.main([*SATELLITE, "--size", "20M", "--picture", str(picture), "--host", "peer", "--file", "a b"]) == 0
    lines = capsys.readouterr().out.splitlines()
    chosen = next(line for line in lines if line[3:4] == "*").split("*")[1].split()
    receive, send = (next(line.strip() for line in lines if f"netblt {word} " in line) for word in ("recv", "send"))
    assert receive == "netblt recv 'a b' --passive"
    assert send.startswith("netblt send 'a b' peer --rate ")
    words = shlex.split(send)
    given = [
        words[words.index(f"--{name}") + 1] for name in ("packet-size", "buffer-size", "max-buffers", "burst-size")
    ]
    assert given == chosen[1:5]
    assert ElementTree.parse(picture).getroot().tag == "{http://www.w3.org/2000/svg}svg"
    text = picture.read_text(encoding="utf-8")
    for words_ in ("Predicted time of each candidate", "chosen", "Mb/s of data", "outstanding buffers"):
        assert words_ in text


def test_the_plan_is_the_same_for_the_same_seed_and_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    documents = []
    for command in (["plan", *SHORT, "--json"], [*SHORT, "--json"]):
        assert cli.main(command) == 0
        documents.append(json.loads(capsys.readouterr().out))
    assert documents[0] == documents[1]
    seconds = [one["seconds"] for one in documents[0]["candidates"]]
    assert seconds == sorted(seconds)
    assert documents[0]["choice"]["seconds"] <= 1.01 * seconds[0]
    assert documents[0]["choice"]["commands"][1][:2] == ["netblt", "send"]


def test_a_long_round_trip_and_much_memory_are_said_to_both_ends() -> None:
    settings = Settings(False, 1456, 1456 * 20_000, 30, 5, 3)
    slow = path(rtt_s=8.0)
    receive = command_lines.receiver(slow, settings, "f")
    send = command_lines.sender(slow, settings, "f", "h")
    assert receive[4:] == ["--death-timer", "48", "--buffer-size", str(1456 * 20_000), "--max-buffers", "30"]
    assert send[4:8] == ["--death-timer", "48", "--open-timeout", "48"]
    assert command_lines.receiver(path(), Settings(False, 1456, 1456, 30, 5, 3), "f")[4:] == []


# ---- real transfers -------------------------------------------------------------------------------------------------


def free_udp_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        any_socket.bind(("127.0.0.1", 0))
        return int(any_socket.getsockname()[1])


@pytest.mark.parametrize("mark", ["*", "+"])
def test_the_printed_command_lines_transfer_a_file(
    tmp_path: File, capsys: pytest.CaptureFixture[str], mark: str
) -> None:
    assert cli.main([*SHORT, "--encap", "udp", "--file", "data", "--host", "127.0.0.1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith(f"{mark} "))
    receive, send = (shlex.split(line)[1:] for line in lines[first + 1 : first + 3])
    port = ["--udp-port", str(free_udp_port()), "--json"]
    source, target = tmp_path / "source", tmp_path / "target"
    for folder in (source, target):
        folder.mkdir()
    (source / "data").write_bytes(os.urandom(100_000))
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    assert receive[0] == "recv"
    assert send[0] == "send"
    with subprocess.Popen([NETBLT, *receive, *port], cwd=target, **pipes) as receiver:
        try:
            assert receiver.stderr is not None
            assert "waiting for a sender" in receiver.stderr.readline()
            done = subprocess.run([NETBLT, *send, *port], cwd=source, **pipes, timeout=60)
            assert done.returncode == 0, done.stderr
            summary = json.loads(receiver.communicate(timeout=60)[0])
            assert receiver.returncode == 0
        finally:
            receiver.kill()
    assert (target / "data").read_bytes() == (source / "data").read_bytes()
    # Nothing was restricted: the transfer ran with the settings of the plan.
    for name in ("packet_size", "buffer_size", "max_buffers"):
        assert str(summary["negotiated"][name]) == send[send.index(f"--{name.replace('_', '-')}") + 1]


@needs_root
def test_a_real_transfer_over_the_path_takes_about_the_predicted_time(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([*SATELLITE, "--size", "4M", "--no-picture", "--try", "4M", "--json"]) == 0
    tried = json.loads(capsys.readouterr().out)["trial"]
    # Never faster than the path; a busy machine makes it slower.
    assert 0.8 < tried["seconds"] / tried["predicted_seconds"] < 6
