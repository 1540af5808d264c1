# SPDX-License-Identifier: GPL-2.0-or-later
"""`--path measure`: what is proposed follows the measured round trip, and a peer that stays silent costs little."""

from __future__ import annotations

import contextlib
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from selftest.netblt_command_helpers import DONE, INTERRUPTED, LOCAL, UNREACHABLE, one_line
from selftest.netblt_command_lab import DEADLINE_S, Lab
from selftest.netblt_command_relay import LossyRelay

pytest_plugins = ["selftest.netblt_command_fixtures"]

DELAY_S = 0.15  # each way


@pytest.fixture
def long_way(udp_lab: Lab) -> Iterator[LossyRelay]:
    """A relay whose other end is where `udp_lab.there` waits."""
    with LossyRelay(udp_lab.there, udp_lab.udp_port, delay_s=DELAY_S) as relay:
        yield relay


def perf(lab: Lab, relay: LossyRelay, *options: str) -> tuple[dict[str, int], float]:
    """What was agreed, and the round trip in seconds that was reported."""
    server = lab.wait_for_peer(lab.there, "perf", "--rate", "fixed", "--working-set", "256M")
    words = ["perf", lab.there.address, "--encap", "udp", "--udp-port", str(relay.port), "--size", "100000", "--json"]
    client = lab.start_raw(lab.here, [*words, *options])
    assert client.wait() == DONE, client.errors
    server.end()
    (line,) = [line for line in client.error_lines if "round trip" in line]
    return client.report["transfers"][0]["negotiated"], float(line.split()[-2]) / 1e3


class TestMeasuring:
    def test_three_products_of_what_was_measured_are_proposed(self, udp_lab: Lab, long_way: LossyRelay) -> None:
        for _ in range(5):  # a busy machine only makes it longer
            agreed, round_trip_s = perf(udp_lab, long_way, "--path", "20M,measure")
            assert round_trip_s >= 2 * DELAY_S
            if round_trip_s < 3 * DELAY_S:
                break
        assert round_trip_s < 3 * DELAY_S, "neither one way more nor another unit"
        product = 20e6 / 8 * round_trip_s
        under_way = agreed["buffer_size"] * agreed["max_buffers"]
        assert 3 * product + 2 * agreed["buffer_size"] <= under_way <= 3 * product + 4 * agreed["buffer_size"]
        assert 60_000 < agreed["buffer_size"] <= 262_144

    def test_fixed_bursts_tell_the_rate_and_their_interval_counts(self, udp_lab: Lab, long_way: LossyRelay) -> None:
        bursts = ["--burst-size", "100", "--burst-interval", "500", "--packet-size", "1000"]
        agreed, round_trip_s = perf(udp_lab, long_way, "--path", "measure", *bursts)

        rate = 100 * 1000 / 0.5  # data bytes a second
        assert agreed["buffer_size"] * agreed["max_buffers"] >= 3 * rate * (round_trip_s + 0.5)

    def test_an_unknown_rate_is_taken_for_a_gigabit(self, udp_lab: Lab, long_way: LossyRelay) -> None:
        agreed, round_trip_s = perf(udp_lab, long_way, "--path", "measure", "--size", "10")
        assert agreed["buffer_size"] * agreed["max_buffers"] >= 3 * 1e9 / 8 * round_trip_s

    def test_a_short_way_gets_no_less_than_without_measuring(self, lab: Lab) -> None:
        lab.wait_for_peer(lab.there, "perf", "--rate", "fixed")
        client = lab.start(lab.here, "perf", lab.there.address, "--size", "10", "--json", "--path", "measure")
        assert client.wait() == DONE, client.errors
        agreed = client.report["transfers"][0]["negotiated"]
        assert agreed["buffer_size"] * agreed["max_buffers"] >= 3 * 1e9 / 8 * 0.06


class TestFiles:
    @pytest.mark.parametrize("sends", [True, False])
    def test_one_transfer_waits_for_the_real_open(self, lab: Lab, tmp_path: Path, sends: bool) -> None:
        """The measuring OPEN must not use up the one transfer that a passive end serves."""
        source, target = tmp_path / "source", tmp_path / "target"
        source.write_bytes(b"x" * 100_000)
        passive = ("recv", target) if sends else ("send", source)
        active = ("send", source) if sends else ("recv", target)
        peer = lab.wait_for_peer(lab.there, *passive)
        client = lab.start(lab.here, active[0], active[1], lab.there.address, "--path", "measure")
        assert (client.wait(), peer.wait()) == (DONE, DONE), client.errors
        assert target.read_bytes() == source.read_bytes()


def foreign_ports(silent: socket.socket) -> list[int]:
    """The NETBLT ports that the OPENs which lie in this socket are for."""
    silent.setblocking(False)
    ports = []
    with contextlib.suppress(BlockingIOError):
        while True:
            ports.append(int.from_bytes(silent.recv(2048)[8:10], "big"))
    return ports


class TestSilence:
    def test_a_silent_peer_costs_a_bounded_time(self, udp_lab: Lab, tmp_path: Path) -> None:
        (tmp_path / "source").write_bytes(b"nobody wants this")
        with udp_lab.there.inside():
            silent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            silent.bind((udp_lab.there.address, udp_lab.udp_port))
        with silent:
            client = udp_lab.start(
                udp_lab.here, "send", tmp_path / "source", udp_lab.there.address, "--path", "measure",
                "--open-timeout", "2",
            )  # fmt: skip
            assert client.wait() == UNREACHABLE
            ports = foreign_ports(silent)
        assert "going on without" in client.errors
        assert ports.count(1) in (1, 2), "two seconds: at 0 s and at 1 s"
        assert len(ports) - ports.count(1) in (1, 2), "as long as that, with a port that nobody has"

    def test_an_interrupt_ends_it(self, udp_lab: Lab, tmp_path: Path) -> None:
        (tmp_path / "source").write_bytes(b"nobody wants this")
        with udp_lab.there.inside():
            silent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            silent.bind((udp_lab.there.address, udp_lab.udp_port))
        with silent:
            client = udp_lab.start(
                udp_lab.here, "send", tmp_path / "source", udp_lab.there.address, "--path", "measure", "--json"
            )
            silent.settimeout(DEADLINE_S)
            silent.recv(2048)
            client.send_signal(signal.SIGINT)
            assert client.wait() == INTERRUPTED
            assert 1 not in foreign_ports(silent), "it went on to open"
            assert client.report["result"] == "interrupted"

    def test_nobody_there_is_told_at_once(self, udp_lab: Lab) -> None:
        words = ["perf", udp_lab.there.address, "--path", "measure", "--open-timeout", "90"]
        client = udp_lab.start(udp_lab.here, *words)
        assert client.wait() == UNREACHABLE, "by ICMP; without it, it would wait for longer than we do"
        assert "nothing answers" in one_line(client)

    def test_the_end_that_waits_cannot_measure(self, udp_lab: Lab, tmp_path: Path) -> None:
        client = udp_lab.start(udp_lab.there, "recv", tmp_path / "x", "--passive", "--path", "measure")
        assert client.wait() == LOCAL
        assert "measure" in one_line(client)


@pytest.mark.parametrize("reverse", [False, True])
def test_a_measurement_by_time_on_a_long_way_is_one_transfer_of_that_length(
    udp_lab: Lab, long_way: LossyRelay, reverse: bool
) -> None:
    """Its end is not judged by how slowly it began."""
    udp_lab.wait_for_peer(udp_lab.there, "perf", "--rate", "fixed")
    words = ["perf", udp_lab.there.address, "--encap", "udp", "--udp-port", str(long_way.port), "--time", "4", "--json"]
    bursts = ["--path", "5M,500ms", "--rate", "fixed"]
    for _ in range(5):  # a busy machine only makes it longer
        client = udp_lab.start_raw(udp_lab.here, [*words, *bursts, *(["--reverse"] if reverse else [])])
        assert client.wait() == DONE, client.errors
        (transfer,) = client.report["transfers"]
        assert transfer["seconds"] > 3.7
        if transfer["seconds"] < 7:
            break
    assert transfer["seconds"] < 7
