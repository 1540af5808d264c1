# SPDX-License-Identifier: GPL-2.0-or-later
"""The command `netblt` as its users meet it: real files over real packets, alone and beside others, on a terminal.

As root two network namespaces are the two hosts; otherwise raw IP is skipped and UDP runs over loopback.
"""

from __future__ import annotations

import array
import fcntl
import os
import random
import re
import signal
import socket
import subprocess
import termios
import threading
import time
from pathlib import Path

import pytest
from selftest.netblt_command_helpers import (
    DONE,
    FAILED,
    INTERRUPTED,
    KEYS,
    NEGOTIATED_KEYS,
    SLOW,
    UNREACHABLE,
    blake3_sum,
    has_received,
    leftovers,
    make_file,
    move,
    needs_root,
    one_line,
    sha256,
)
from selftest.netblt_command_lab import Lab, make_lab
from selftest.netblt_command_packets import TYPE_CONTROL, TYPE_REFUSED, TYPE_RESPONSE, RawPeer, checksum, open_packet
from selftest.netblt_command_relay import LossyRelay

pytest_plugins = ["selftest.netblt_command_fixtures"]


class TestAddresses:
    @pytest.mark.parametrize("host", ["::1", "[::1]"])
    def test_ipv6_hosts_are_hosts(self, udp_lab: Lab, tmp_path: Path, host: str) -> None:
        source, target = make_file(tmp_path / "source", 100_001), tmp_path / "target"
        receiver = udp_lab.wait_for_peer(udp_lab.there, "recv", target, "-6")
        sender = udp_lab.start(udp_lab.there, "send", source, host, "-6", "--json")

        assert (sender.wait(), receiver.wait()) == (DONE, DONE), sender.errors + receiver.errors
        assert target.read_bytes() == source.read_bytes()

    def test_a_passive_end_waits_on_both_families(self, udp_lab: Lab, tmp_path: Path) -> None:
        source = make_file(tmp_path / "source", 1000)
        for host in ("127.0.0.1", "::1"):
            receiver = udp_lab.wait_for_peer(udp_lab.there, "recv", tmp_path / "target")
            sender = udp_lab.start(udp_lab.there, "send", source, host)
            assert (sender.wait(), receiver.wait()) == (DONE, DONE), sender.errors + receiver.errors

    def test_the_family_that_was_not_wanted_is_not_used(self, udp_lab: Lab, tmp_path: Path) -> None:
        process = udp_lab.start(udp_lab.here, "send", make_file(tmp_path / "source", 10), "::1", "-4")
        assert process.wait() == 2
        assert "::1" in one_line(process)


class TestTransfers:
    @pytest.mark.parametrize("active", ["sender", "receiver"])
    def test_a_file_arrives_whole_whoever_opens(self, lab: Lab, tmp_path: Path, active: str) -> None:
        source, target = make_file(tmp_path / "source", 3_000_001), tmp_path / "target"

        sender, receiver = move(lab, source, target, active=active)

        assert target.read_bytes() == source.read_bytes()
        assert leftovers(tmp_path) == []
        for process, role in ((sender, "sender"), (receiver, "receiver")):
            report = process.report
            assert set(report) == KEYS
            assert set(report["negotiated"]) == NEGOTIATED_KEYS
            assert report["result"] == "done"
            assert report["role"] == role
            assert report["active"] is (role == active)
            assert report["bytes"] == 3_000_001
            assert report["blake3"] == blake3_sum(source)
            assert report["sha256"] is None
            assert report["seconds"] > 0
            assert report["goodput_bps"] == pytest.approx(3_000_001 * 8 / report["seconds"], rel=1e-3)
        assert sender.report["wire_bytes"] > 3_000_001
        assert sender.report["packets_sent"] >= 3_000_001 // sender.report["negotiated"]["packet_size"]

    @pytest.mark.parametrize("size", [0, 1, 999, 1000, 1001, 7999, 8000, 8001, 16000, 50_003])
    def test_every_size_around_packet_and_buffer_ends_arrives(self, udp_lab: Lab, tmp_path: Path, size: int) -> None:
        source, target = make_file(tmp_path / "source", size), tmp_path / "target"
        options = ["--packet-size", "1000", "--buffer-size", "8000", "--burst-interval", "0"]

        move(udp_lab, source, target, active="sender", options=options)

        assert target.read_bytes() == source.read_bytes()

    @pytest.mark.parametrize("size", [0, 8000, 20_001])
    def test_stdin_and_stdout_are_files_too(self, udp_lab: Lab, tmp_path: Path, size: int) -> None:
        source = make_file(tmp_path / "source", size)
        receiver = udp_lab.wait_for_peer(udp_lab.there, "recv", "-")
        with subprocess.Popen(["cat", source], stdout=subprocess.PIPE) as cat:
            assert cat.stdout is not None
            sender = udp_lab.start(
                udp_lab.here, "send", "-", udp_lab.there.address, "--buffer-size", "8000", "--packet-size", "1000",
                "--json", stdin=cat.stdout.fileno(),
            )  # fmt: skip
            assert sender.wait() == DONE, sender.errors

        assert receiver.wait() == DONE, receiver.errors
        assert receiver.stdout.read_bytes() == source.read_bytes()
        assert sender.report["sha256"] == sha256(source)

    def test_a_file_that_tells_no_size_is_sent_up_to_its_end(self, udp_lab: Lab, tmp_path: Path) -> None:
        source, target = Path("/proc/filesystems"), tmp_path / "target"
        assert source.stat().st_size == 0
        move(udp_lab, source, target, active="sender")

        assert target.read_bytes() == source.read_bytes() != b""

    def test_a_slow_producer_and_a_slow_reader_only_slow_it_down(self, udp_lab: Lab) -> None:
        content = random.Random(3).randbytes(600_000)
        in_read, in_write = os.pipe()
        out_read, out_write = os.pipe()
        receiver = udp_lab.wait_for_peer(udp_lab.there, "recv", "-", "--max-buffers", "2", stdout=out_write)
        sender = udp_lab.start(udp_lab.here, "send", "-", udp_lab.there.address, stdin=in_read)
        os.close(in_read)
        os.close(out_write)

        received = feed_and_read(in_write, out_read, content)

        assert (sender.wait(), receiver.wait()) == (DONE, DONE), sender.errors + receiver.errors
        assert received == content

    def test_a_result_that_stdout_does_not_take_is_a_failure(self, udp_lab: Lab, tmp_path: Path) -> None:
        receiver = udp_lab.wait_for_peer(udp_lab.there, "recv", tmp_path / "target")
        source = make_file(tmp_path / "source", 1000)
        with Path("/dev/full").open("w") as full:
            sender = udp_lab.start(udp_lab.here, "send", source, udp_lab.there.address, "--json", stdout=full.fileno())

        assert (sender.wait(), receiver.wait()) == (FAILED, DONE)
        assert sender.error_lines == ["netblt: cannot write to stdout"]

    def test_a_receiver_whose_reader_has_stopped_can_be_interrupted(self, udp_lab: Lab, tmp_path: Path) -> None:
        out_read, out_write = os.pipe()
        receiver = udp_lab.wait_for_peer(udp_lab.there, "recv", "-", stdout=out_write)
        source = make_file(tmp_path / "source", 2_000_000)
        udp_lab.start(udp_lab.here, "send", source, udp_lab.there.address)
        os.close(out_write)
        receiver.wait_until(lambda: not has_room(out_read), "the pipe is full")

        receiver.send_signal(signal.SIGINT)

        assert receiver.wait() == INTERRUPTED
        assert receiver.error_lines[-1] == "netblt: interrupted by the user"
        os.close(out_read)

    def test_the_passive_end_only_restricts(self, udp_lab: Lab, tmp_path: Path) -> None:
        source, target = make_file(tmp_path / "source", 100_000), tmp_path / "target"
        receiver = udp_lab.wait_for_peer(
            udp_lab.there, "recv", target, "--json", "--packet-size", "500", "--buffer-size", "1M", "--max-buffers",
            "3", "--burst-size", "8", "--burst-interval", "1", "--client-string", "from the receiver",
        )  # fmt: skip
        sender = udp_lab.start(
            udp_lab.here, "send", source, udp_lab.there.address, "--json", "--packet-size", "1000", "--buffer-size",
            "10k", "--max-buffers", "5", "--burst-size", "4", "--burst-interval", "2", "--client-string",
            "as long, from the sender",  # no RESPONSE is longer than its OPEN
        )  # fmt: skip

        assert (sender.wait(), receiver.wait()) == (DONE, DONE), sender.errors + receiver.errors
        agreed = {"packet_size": 500, "buffer_size": 10240, "max_buffers": 3, "burst_size": 4, "burst_interval_ms": 2}
        for process, string in ((sender, "from the receiver"), (receiver, "as long, from the sender")):
            negotiated = process.report["negotiated"]
            assert {key: negotiated[key] for key in agreed} == agreed
            assert negotiated["data_checksum"] is True
            assert negotiated["peer_string"] == string

    def test_a_path_is_filled_three_times_over(self, udp_lab: Lab, tmp_path: Path) -> None:
        """100 Mb/s times 600 ms are 7.5 MB: three of them and two buffers, each of 64 to 256 KiB."""
        receiver = udp_lab.wait_for_peer(udp_lab.there, "recv", tmp_path / "target")
        sender = udp_lab.start(
            udp_lab.here, "send", make_file(tmp_path / "source", 10), udp_lab.there.address, "--json", "--path",
            "100M,600ms", "--rate", "fixed",
        )  # fmt: skip
        assert (sender.wait(), receiver.wait()) == (DONE, DONE), sender.errors + receiver.errors
        agreed = sender.report["negotiated"]

        assert 60_000 <= agreed["buffer_size"] <= 262_144
        assert agreed["buffer_size"] % agreed["packet_size"] == 0
        assert (agreed["max_buffers"] - 2) * agreed["buffer_size"] >= 3 * 7_500_000
        wire = (agreed["packet_size"] + 52) * 8 * agreed["burst_size"] / agreed["burst_interval_ms"] * 1000
        assert 0.97e8 <= wire <= 1e8

    def test_data_checksums_are_off_only_if_nobody_wants_them(self, udp_lab: Lab, tmp_path: Path) -> None:
        source = make_file(tmp_path / "source", 10_000)
        for passive, expected in ((["--no-data-checksum"], False), ([], True)):
            receiver = udp_lab.wait_for_peer(udp_lab.there, "recv", tmp_path / "target", *passive)
            sender = udp_lab.start(udp_lab.here, "send", source, udp_lab.there.address, "--no-data-checksum", "--json")
            assert (sender.wait(), receiver.wait()) == (DONE, DONE)
            assert sender.report["negotiated"]["data_checksum"] is expected

    def test_bursts_keep_their_interval_from_start_to_start(self, lab: Lab, tmp_path: Path) -> None:
        source, target = make_file(tmp_path / "source", 100_000), tmp_path / "target"
        options = ["--packet-size", "1000", "--burst-size", "5", "--burst-interval", "20", "--buffer-size", "20000"]

        planned = 19 * 0.020  # 20 bursts: 19 intervals from the first start to the last
        for _ in range(5):  # a busy machine only makes it longer
            sender, _receiver = move(lab, source, target, active="sender", options=options)
            assert planned * 0.95 <= sender.report["seconds"]
            if sender.report["seconds"] <= planned * 1.5 + 0.2:
                break
        assert sender.report["seconds"] <= planned * 1.5 + 0.2

    @pytest.mark.parametrize("stream", [False, True])
    def test_an_existing_file_is_replaced(self, udp_lab: Lab, tmp_path: Path, stream: bool) -> None:
        """By a file with its mode; by a stream, which has none, with the mode of the old file."""
        source, target = make_file(tmp_path / "source", 5000), make_file(tmp_path / "target", 9000, seed=2)
        source.chmod(0o604)
        target.chmod(0o640)

        receiver = udp_lab.wait_for_peer(udp_lab.there, "recv", target)
        sender = udp_lab.start(
            udp_lab.here, "send", "-" if stream else source, udp_lab.there.address, stdin=source if stream else None
        )

        assert (sender.wait(), receiver.wait()) == (DONE, DONE), sender.errors + receiver.errors
        assert target.read_bytes() == source.read_bytes()
        assert target.stat().st_mode & 0o777 == (0o640 if stream else 0o604)

    def test_a_symbolic_link_stays_one(self, udp_lab: Lab, tmp_path: Path) -> None:
        (tmp_path / "elsewhere").mkdir()
        real = make_file(tmp_path / "elsewhere" / "real", 10)
        link = tmp_path / "link"
        link.symlink_to(real)
        source = make_file(tmp_path / "source", 5000)

        move(udp_lab, source, link, active="receiver")

        assert link.is_symlink()
        assert real.read_bytes() == source.read_bytes()


def feed_and_read(write_fd: int, read_fd: int, content: bytes) -> bytes:
    """Feeds `content` in uneven pieces with pauses, reads the other pipe with other pauses, until it ends."""

    def feed() -> None:
        with os.fdopen(write_fd, "wb", buffering=0) as pipe:
            for offset in range(0, len(content), 30_011):
                pipe.write(content[offset : offset + 30_011])
                time.sleep(0.005)

    feeder = threading.Thread(target=feed)
    feeder.start()
    received = b""
    while piece := os.read(read_fd, 20_000):
        received += piece
        time.sleep(0.002)
    os.close(read_fd)
    feeder.join()
    return received


class TestBadNetwork:
    @pytest.mark.parametrize("target", ["file", "stdout"])
    @pytest.mark.parametrize("seed", [1, 2])
    def test_what_is_lost_or_late_still_arrives_whole(
        self, udp_lab: Lab, tmp_path: Path, target: str, seed: int
    ) -> None:
        lab = udp_lab
        source = make_file(tmp_path / "source", 600_001, seed=seed)
        receiving = [tmp_path / "target", "--json"] if target == "file" else ["-"]
        receiver = lab.wait_for_peer(lab.there, "recv", *receiving)
        with LossyRelay(lab.there, lab.udp_port, seed=seed, loss=0.05, reorder=0.02) as relay:
            lab.udp_port = relay.port
            sender = lab.start(
                lab.here, "send", source, lab.there.address, "--json", "--packet-size", "1000", "--buffer-size", "8000"
            )
            assert sender.wait() == DONE, sender.errors
            assert receiver.wait() == DONE, receiver.errors

        arrived = tmp_path / "target" if target == "file" else receiver.stdout
        assert arrived.read_bytes() == source.read_bytes()
        assert relay.dropped > 10
        assert relay.reordered > 3
        assert sender.report["packets_retransmitted"] > 0
        if target == "stdout":
            assert sender.report["sha256"] == sha256(source)
        if target == "file":
            assert sender.report["blake3"] == blake3_sum(source)
            assert receiver.report["blake3"] == blake3_sum(source), "hashed in order, though buffers came out of order"
            assert receiver.report["data_timeouts"] > 0


class TestSeveralProcesses:
    def test_two_transfers_live_together_on_different_ports(self, lab: Lab, tmp_path: Path) -> None:
        sources = [make_file(tmp_path / f"source{port}", 400_000, seed=port) for port in (1, 2)]
        udp_port = lab.udp_port
        receivers, senders = [], []
        for port in (1, 2):
            lab.udp_port = udp_port + port
            receivers.append(lab.wait_for_peer(lab.there, "recv", tmp_path / f"target{port}", "--port", str(port)))
        for port in (1, 2):
            lab.udp_port = udp_port + port
            senders.append(
                lab.start(lab.here, "send", sources[port - 1], lab.there.address, "--port", str(port), "--json")
            )

        for process in (*senders, *receivers):
            assert process.wait() == DONE, process.errors
        for port in (1, 2):
            assert (tmp_path / f"target{port}").read_bytes() == sources[port - 1].read_bytes()

    @needs_root
    def test_both_ends_on_one_host(self, raw_lab: Lab, tmp_path: Path) -> None:
        raw_lab.there = raw_lab.here
        try:
            source, target = make_file(tmp_path / "source", 400_000), tmp_path / "target"
            move(raw_lab, source, target, active="sender")
            assert target.read_bytes() == source.read_bytes()
        finally:
            raw_lab.there = make_lab(tmp_path, "ip").there

    @needs_root
    def test_nobody_answers_for_the_port_of_another_process(self, raw_lab: Lab, tmp_path: Path) -> None:
        lab = raw_lab
        for port in (1, 2):
            lab.wait_for_peer(lab.there, "recv", tmp_path / f"target{port}", "--port", str(port))
        lab.start(lab.there, "recv", tmp_path / "target3", "10.9.0.88")  # an active end sees the OPEN as well

        with lab.here.inside(), RawPeer(lab.here.address) as peer:
            peer.send(open_packet(5000, 2), lab.there.address)
            answers = peer.answers(2)

        assert {answer.type for answer in answers} == {TYPE_RESPONSE, TYPE_CONTROL}
        assert {answer.local_port for answer in answers} == {2}

    @needs_root
    def test_a_port_that_nobody_owns_is_refused(self, raw_lab: Lab, tmp_path: Path) -> None:
        lab = raw_lab
        lab.wait_for_peer(lab.there, "recv", tmp_path / "target")

        with lab.here.inside(), RawPeer(lab.here.address) as peer:
            peer.send(open_packet(5000, 7), lab.there.address)
            answers = peer.answers(1)

        assert [answer.type for answer in answers] == [TYPE_REFUSED]
        assert answers[0].local_port == 7

    def test_the_passive_end_serves_one_transfer_only(self, lab: Lab, tmp_path: Path) -> None:
        source = make_file(tmp_path / "source", 400_000)
        receiver = lab.wait_for_peer(lab.there, "recv", tmp_path / "target")
        first = lab.start(lab.here, "send", source, lab.there.address, *SLOW)
        receiver.wait_until(lambda: has_received(receiver), "data has arrived")
        second = lab.start(lab.here, "send", source, lab.there.address)

        assert second.wait() == UNREACHABLE
        assert "busy" in one_line(second)
        assert (first.wait(), receiver.wait()) == (DONE, DONE)


@needs_root
class TestRawIp:
    def test_privileges_are_gone_while_it_waits(self, raw_lab: Lab, tmp_path: Path) -> None:
        process = raw_lab.wait_for_peer(raw_lab.there, "recv", tmp_path / "target")
        status = Path(f"/proc/{process.popen.pid}/status").read_text()

        cap_net_raw = 1 << 13
        for name in ("CapEff", "CapPrm", "CapInh"):
            found = re.search(rf"{name}:\s*([0-9a-f]+)", status)
            assert found is not None
            assert int(found.group(1), 16) & cap_net_raw == 0, name

    def test_ip_headers_are_those_of_a_packet_that_must_not_be_fragmented(self, raw_lab: Lab, tmp_path: Path) -> None:
        raw_lab.wait_for_peer(raw_lab.there, "recv", tmp_path / "target")
        with raw_lab.here.inside(), RawPeer(raw_lab.here.address) as peer:
            peer.send(open_packet(5000, 1), raw_lab.there.address)
            headers = [datagram[:20] for datagram in peer.datagrams(2)]

        assert len(headers) >= 2, "RESPONSE and CONTROL"
        for header in headers:
            assert header[0] == 0x45
            assert header[6:8] == b"\x40\x00", "DF, no offset (DATA-14)"
            assert header[8:10] == bytes([64, 30])
            assert checksum(header) == 0, "checksum"
        first, second = (int.from_bytes(header[4:6], "big") for header in headers[:2])
        assert (second - first) % 65536 == 1, "each packet has an identification of its own"

    def test_packets_for_a_group_or_a_broadcast_are_nobodys(self, raw_lab: Lab, tmp_path: Path) -> None:
        raw_lab.wait_for_peer(raw_lab.there, "recv", tmp_path / "target")
        with raw_lab.here.inside(), RawPeer(raw_lab.here.address) as peer:
            peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
            peer.send(open_packet(5000, 1), "10.9.0.255")

            assert peer.answers(0) == []


def has_room(pipe: int) -> bool:
    """Whether the pipe takes another page."""
    waiting = array.array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, waiting)
    return waiting[0] <= fcntl.fcntl(pipe, fcntl.F_GETPIPE_SZ) - 4096
