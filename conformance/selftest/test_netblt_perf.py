# SPDX-License-Identifier: GPL-2.0-or-later
"""`netblt perf`: the test program of RFC 1030, with its figures checked against one another and against the clock."""

from __future__ import annotations

import contextlib
import itertools
import os
import pty
import re
import signal
from pathlib import Path
from typing import Any

import pytest
from selftest.netblt_command_helpers import (
    DONE,
    INTERRUPTED,
    NEGOTIATED_KEYS,
    UNREACHABLE,
    forge_opens,
    one_line,
)
from selftest.netblt_command_lab import Lab, Process
from selftest.netblt_command_relay import LossyRelay

pytest_plugins = ["selftest.netblt_command_fixtures"]

TRANSFER_KEYS = {
    "lane", "peer", "result", "reason", "role", "active", "bytes", "seconds", "setup_seconds", "data_seconds",
    "goodput_bps", "steady_bps", "sender_steady_bps", "receiver_steady_bps", "steady", "packets_sent",
    "data_packets_sent", "data_packets_received", "packets_lost", "packets_retransmitted", "data_timeouts",
    "wire_bytes", "round_trip_seconds", "cpu_seconds", "negotiated",
}  # fmt: skip
# Of a receiver that got data.
INTERVAL_KEYS = {"first_us", "last_us", "interval_ms", "intervals"}
TOTAL_KEYS = {
    "transfers", "bytes", "seconds", "goodput_bps", "packets_lost", "packets_retransmitted", "data_timeouts",
    "wire_bytes", "cpu_seconds",
}  # fmt: skip
HEAD = ["BS/BI", "PSZ", "BFSZ", "XFSZ", "NBUFS", "#LOSS", "#RXM", "DTMOS", "SPEED", "R-SPEED"]

# 10 packets of 1000 bytes in 10 ms are 8 Mb/s of data.
EIGHT_MBPS = ["--packet-size", "1000", "--buffer-size", "20000", "--burst-size", "10", "--burst-interval", "10"]
FIXED = ["--rate", "fixed"]


def measure(lab: Lab, *options: str, passive: list[str] | None = None) -> tuple[dict[str, Any], Process]:
    """One run of the active end, and the passive end that served it."""
    server = lab.wait_for_peer(lab.there, "perf", *(passive or FIXED))
    client = lab.start(lab.here, "perf", lab.there.address, *options, "--json")
    assert client.wait() == DONE, client.errors
    return client.report, server


class TestFigures:
    @pytest.mark.parametrize("reverse", [False, True])
    def test_what_is_counted_fits_together(self, lab: Lab, reverse: bool) -> None:
        report, _ = measure(lab, "--size", "1000000", *EIGHT_MBPS, *(["--reverse"] if reverse else []))
        (transfer,) = report["transfers"]

        assert set(report) == {"result", "reason", "role", "active", "transfers", "totals"}
        assert set(transfer) == TRANSFER_KEYS | (INTERVAL_KEYS if reverse else set())
        assert set(transfer["negotiated"]) == NEGOTIATED_KEYS
        assert set(report["totals"]) == TOTAL_KEYS
        assert report["role"] == transfer["role"] == ("receiver" if reverse else "sender")
        assert transfer["bytes"] == report["totals"]["bytes"] == 1_000_000
        assert sum(transfer.get("intervals", [1_000_000])) == 1_000_000
        if reverse:
            whole_us = 1e6 * transfer["data_seconds"]
            assert 0 < transfer["last_us"] - transfer["first_us"] <= whole_us, "of the data, all but the first buffer"
        assert transfer["data_packets_sent"] == 1000 + transfer["packets_retransmitted"]
        assert transfer["packets_lost"] == transfer["data_packets_sent"] - transfer["data_packets_received"]
        assert transfer["goodput_bps"] == pytest.approx(8_000_000 / transfer["seconds"], rel=1e-3)
        assert transfer["setup_seconds"] + transfer["data_seconds"] <= transfer["seconds"]
        assert 0 < transfer["cpu_seconds"] < transfer["seconds"]

    @pytest.mark.parametrize("reverse", [False, True])
    def test_steady_speed_is_what_the_bursts_say(self, udp_lab: Lab, reverse: bool) -> None:
        options = ["--size", "2000000", *EIGHT_MBPS, *(["--reverse"] if reverse else [])]
        report, _ = measure(udp_lab, *options)
        (transfer,) = report["transfers"]

        # A busy machine sends late bursts, which are not caught up: slower is possible, faster is not.
        while_data_moved = transfer["bytes"] * 8 / transfer["data_seconds"]
        for end in ("sender_steady_bps", "receiver_steady_bps"):
            assert transfer[end] == pytest.approx(while_data_moved, rel=0.06)
            assert transfer[end] < 8.2e6
        assert transfer["steady_bps"] == transfer["sender_steady_bps"]
        assert transfer["goodput_bps"] < 8.2e6

    def test_one_buffer_has_no_steady_speed(self, udp_lab: Lab) -> None:
        report, _ = measure(udp_lab, "--size", "20000", *EIGHT_MBPS)
        assert report["transfers"][0]["steady_bps"] is None

    @pytest.mark.parametrize("size", ["0", "1", "999", "20000", "20001"])
    def test_small_transfers_are_transfers(self, udp_lab: Lab, size: str) -> None:
        report, _ = measure(udp_lab, "--size", size, *EIGHT_MBPS)
        assert report["transfers"][0]["bytes"] == int(size)

    def test_loss_is_told_by_both_ends_together(self, udp_lab: Lab) -> None:
        server = udp_lab.wait_for_peer(udp_lab.there, "perf", *FIXED)
        with LossyRelay(udp_lab.there, udp_lab.udp_port, seed=1, loss=0.05, reorder=0) as relay:
            client = udp_lab.start_raw(
                udp_lab.here,
                ["perf", udp_lab.there.address, "--encap", "udp", "--udp-port", str(relay.port), "--size", "3000000",
                 "--json", "--burst-size", "10", "--burst-interval", "2"],
            )  # fmt: skip
            assert client.wait() == DONE, client.errors
        (transfer,) = client.report["transfers"]

        assert transfer["packets_lost"] > 0
        assert transfer["packets_retransmitted"] >= transfer["packets_lost"]
        assert transfer["data_timeouts"] > 0
        server.send_signal(signal.SIGINT)
        assert server.wait(10) == INTERRUPTED

    def test_the_table_has_the_columns_of_rfc_1030(self, udp_lab: Lab) -> None:
        udp_lab.wait_for_peer(udp_lab.there, "perf", *FIXED)
        for _ in range(5):  # a busy machine only makes it slower
            client = udp_lab.start(udp_lab.here, "perf", udp_lab.there.address, "--size", "500000", *EIGHT_MBPS)
            assert client.wait() == DONE, client.errors
            head, row = (line.split() for line in client.stdout.read_text().splitlines())

            assert head == HEAD
            values = dict(zip(head, row, strict=True))
            assert (values["BS/BI"], values["PSZ"], values["BFSZ"], values["XFSZ"]) == ("10/10", "1000", "20000", "500")
            speeds = [float(values["SPEED"]), float(values["R-SPEED"])]
            assert max(speeds) < 8.2
            if min(speeds) > 2:
                break
        assert min(speeds) > 2, "megabits"


class TestRuns:
    def test_repeated_and_parallel_transfers_are_all_there(self, udp_lab: Lab) -> None:
        options = ["--size", "100000", "--repeat", "3", "--parallel", "4", *EIGHT_MBPS]
        report, server = measure(udp_lab, *options, passive=[*FIXED, "--json"])

        assert len(report["transfers"]) == report["totals"]["transfers"] == 12
        assert sorted(transfer["lane"] for transfer in report["transfers"]) == sorted([0, 1, 2, 3] * 3)
        assert report["totals"]["bytes"] == 1_200_000
        assert report["totals"]["packets_lost"] == 0
        server.wait_until(lambda: len(server.json_lines) == 12, "the passive end reported each")
        reports = server.json_lines
        assert {line["role"] for line in reports} == {"receiver"}
        assert {line["active"] for line in reports} == {False}

    @pytest.mark.parametrize("reverse", [False, True])
    def test_a_measurement_by_time_lasts_so_long(self, udp_lab: Lab, reverse: bool) -> None:
        report, _ = measure(udp_lab, "--time", "2", *EIGHT_MBPS, *(["--reverse"] if reverse else []))

        assert report["totals"]["seconds"] > 1.5, "no upper bound: a busy machine may take its time"
        assert report["totals"]["bytes"] > 1_000_000

    def test_the_passive_end_serves_so_many(self, udp_lab: Lab) -> None:
        _, server = measure(udp_lab, "--size", "10000", "--repeat", "2", passive=["--count", "2"])
        assert server.wait(20) == DONE

    def test_an_interrupt_ends_both_and_the_object_is_whole(self, udp_lab: Lab) -> None:
        udp_lab.wait_for_peer(udp_lab.there, "perf", *FIXED)
        client = udp_lab.start(udp_lab.here, "perf", udp_lab.there.address, "--time", "60", "--json", *EIGHT_MBPS)
        signal_when_sending(udp_lab, client)

        assert client.wait(20) == INTERRUPTED
        assert client.report["result"] == "interrupted"
        assert [transfer["result"] for transfer in client.report["transfers"]] == ["local-quit"]

    def test_nobody_there(self, udp_lab: Lab) -> None:
        client = udp_lab.start(udp_lab.here, "perf", udp_lab.there.address, "--json")

        assert client.wait() == UNREACHABLE
        assert "nothing answers" in one_line(client)
        assert client.report["result"] == "unreachable"
        assert client.report["transfers"] == []

    def test_a_file_receiver_takes_data_and_has_no_figures(self, udp_lab: Lab, tmp_path: Path) -> None:
        receiver = udp_lab.wait_for_peer(udp_lab.there, "recv", tmp_path / "data")
        client = udp_lab.start(udp_lab.here, "perf", udp_lab.there.address, "--size", "50000", "--json", *EIGHT_MBPS)

        assert (client.wait(), receiver.wait()) == (DONE, DONE)
        (transfer,) = client.report["transfers"]
        assert (tmp_path / "data").stat().st_size == transfer["bytes"] == 50_000
        assert transfer["packets_lost"] is None
        assert transfer["data_timeouts"] is None
        assert transfer["packets_retransmitted"] == 0


class TestForgedOpens:
    """Any host can send an OPEN in the name of another one: it must take neither memory nor the place of a peer."""

    OPENS = 60
    # What the core keeps of a peer, its buffers excluded; one working set has 64 MiB.
    BYTES_OF_A_PEER = 64 << 10

    @pytest.mark.parametrize(("write", "wish"), [(True, b"perf"), (False, b"perf size=1000000")])
    def test_they_take_no_memory_not_even_addresses(self, udp_lab: Lab, write: bool, wish: bytes) -> None:
        server = udp_lab.wait_for_peer(udp_lab.there, "perf")
        resident, mapped = most_memory_bytes(server, "VmHWM"), most_memory_bytes(server, "VmPeak")
        forge_opens(udp_lab, [wish] * self.OPENS, write=write)
        refused = udp_lab.start(udp_lab.here, "recv", "/dev/null", udp_lab.there.address)
        assert refused.wait() == UNREACHABLE, "its OPEN came behind the forged ones and was refused"

        assert most_memory_bytes(server, "VmHWM") - resident < self.OPENS * self.BYTES_OF_A_PEER
        assert most_memory_bytes(server, "VmPeak") - mapped < self.OPENS * self.BYTES_OF_A_PEER

    @pytest.mark.parametrize(("write", "wish"), [(True, b"perf"), (False, b"perf size=1000000")])
    def test_they_do_not_count(self, udp_lab: Lab, write: bool, wish: bytes) -> None:
        server = udp_lab.wait_for_peer(udp_lab.there, "perf", "--count", "2", "--json")
        forge_opens(udp_lab, [wish] * 3, write=write)
        options = ["--size", "10000", "--repeat", "2", *EIGHT_MBPS]
        honest = udp_lab.start(udp_lab.here, "perf", udp_lab.there.address, *options)

        assert honest.wait() == DONE, honest.errors
        assert server.wait() == DONE, "it does not wait for peers that do not exist"
        assert [(report["result"], report["bytes"]) for report in server.json_lines] == [("done", 10_000)] * 2

    @pytest.mark.parametrize(("write", "wish"), [(True, b"perf"), (False, b"perf size=1000000")])
    def test_they_leave_room_for_a_peer(self, udp_lab: Lab, write: bool, wish: bytes) -> None:
        udp_lab.wait_for_peer(udp_lab.there, "perf")
        forge_opens(udp_lab, [wish] * 80, write=write)
        honest = udp_lab.start(udp_lab.here, "perf", udp_lab.there.address, "--size", "100000", *EIGHT_MBPS)

        assert honest.wait() == DONE, honest.errors


def most_memory_bytes(process: Process, kind: str) -> int:
    """The most that was resident (VmHWM) or mapped (VmPeak) so far."""
    status = Path(f"/proc/{process.popen.pid}/status").read_text()
    (line,) = [line for line in status.splitlines() if line.startswith(f"{kind}:")]
    return int(line.split()[1]) * 1024


def signal_when_sending(lab: Lab, client: Process) -> None:
    """After some transfers' worth of CPU time has been spent it is surely open."""
    client.wait_until(lambda: sent_packets(lab) > 50, "packets leave")
    client.send_signal(signal.SIGINT)


def sent_packets(lab: Lab) -> int:
    with lab.here.inside():
        lines = Path("/proc/thread-self/net/dev").read_text().splitlines()
    for line in lines:
        name, _, figures = line.partition(":")
        if name.strip() == lab.here.interface:
            return int(figures.split()[9])
    return 0


LINE = re.compile(r" *(\d+\.\d\d)-(\d+\.\d\d) +s +([\d.]+) (k?M?B) +([\d.]+ [kM]?b/s|-)  \d+ (retransmitted|RESENDs)")


def read_lines(text: str) -> list[tuple[float, float, float, str, str]]:
    """Lines of --interval: from, until, bytes, rate, what is counted."""
    found = [match for line in text.splitlines() if (match := LINE.fullmatch(line.rstrip("\r")))]
    unit = {"B": 1, "kB": 1e3, "MB": 1e6}
    return [(float(one[1]), float(one[2]), float(one[3]) * unit[one[4]], one[5], one[6]) for one in found]


class TestIntervals:
    def test_each_second_has_a_line_at_both_ends(self, udp_lab: Lab) -> None:
        server = udp_lab.wait_for_peer(udp_lab.there, "perf", *FIXED, "--interval", "1", "--count", "2")
        options = ["--size", "2200000", "--interval", "1", "--parallel", "2", *EIGHT_MBPS]
        client = udp_lab.start(udp_lab.here, "perf", udp_lab.there.address, *options)
        assert client.wait() == DONE, client.errors
        assert server.wait() == DONE

        for process, counted in ((client, "retransmitted"), (server, "RESENDs")):
            text = process.stdout.read_text()
            lines = read_lines(text)
            assert len(lines) >= 3
            assert lines[0][0] == 0
            assert all(before[1] == after[0] for before, after in itertools.pairwise(lines))
            assert all(0.9 < line[1] - line[0] < 1.5 for line in lines[:-1]), "a busy machine may be late"
            assert sum(line[2] for line in lines) == pytest.approx(4_400_000, rel=0.02)
            assert {line[4] for line in lines} == {counted}
            rest = [line.split() for line in text.splitlines() if not LINE.fullmatch(line)]
            assert rest[0] == HEAD
            assert [row[3] for row in rest if row != HEAD] == ["2200", "2200"]

    def test_transfers_one_after_the_other_share_one_time(self, udp_lab: Lab) -> None:
        udp_lab.wait_for_peer(udp_lab.there, "perf", *FIXED)
        options = ["--size", "500000", "--interval", "1", "--repeat", "3", *EIGHT_MBPS]
        client = udp_lab.start(udp_lab.here, "perf", udp_lab.there.address, *options)
        assert client.wait() == DONE, client.errors

        lines = read_lines(client.stdout.read_text())
        assert len(lines) == 3
        assert all(before[1] <= after[0] for before, after in itertools.pairwise(lines))
        assert [line[2] for line in lines] == [500_000] * 3

    def test_a_terminal_gets_lines_by_default(self, udp_lab: Lab) -> None:
        udp_lab.wait_for_peer(udp_lab.there, "perf", *FIXED)
        for more, lines_wanted in (([], True), (["--quiet"], False)):
            master, slave = pty.openpty()
            options = ["--size", "1300000", *more, *EIGHT_MBPS]
            client = udp_lab.start(udp_lab.here, "perf", udp_lab.there.address, *options, stdout=slave)
            os.close(slave)
            written = b""
            with contextlib.suppress(OSError):  # the last writer has closed it
                while piece := os.read(master, 65536):
                    written += piece
            os.close(master)
            assert client.wait() == DONE, client.errors
            assert (len(read_lines(written.decode())) >= 2) == lines_wanted
            assert "R-SPEED" in written.decode()

    def test_json_has_intervals_of_its_own(self, udp_lab: Lab) -> None:
        client = udp_lab.start(udp_lab.here, "perf", udp_lab.there.address, "--interval", "1", "--json")
        assert client.wait() == 2
        assert "--interval prints lines and --json has intervals" in client.errors
