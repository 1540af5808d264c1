# SPDX-License-Identifier: GPL-2.0-or-later
"""The command `netblt` as its users meet it: real files over real packets, and everything that can be wrong.

As root two network namespaces are the two hosts; otherwise raw IP is skipped and UDP runs over loopback.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pty
import random
import re
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # pytest adds this folder only, mypy its parent

from selftest.netblt_command_lab import NETBLT, Lab, Process, is_root, make_lab
from selftest.netblt_command_packets import TYPE_CONTROL, TYPE_REFUSED, TYPE_RESPONSE, RawPeer, checksum, open_packet

DONE, FAILED, LOCAL, UNREACHABLE, UNSUPPORTED, INTERRUPTED = 0, 1, 2, 3, 127, 130

KEYS = {
    "result", "reason", "role", "active", "bytes", "sha256", "seconds", "goodput_bps", "steady_bps", "packets_sent",
    "packets_retransmitted", "data_timeouts", "wire_bytes", "negotiated",
}  # fmt: skip
NEGOTIATED_KEYS = {
    "buffer_size", "packet_size", "burst_size", "burst_interval_ms", "death_timer_s", "max_buffers", "data_checksum",
    "peer_string",
}  # fmt: skip

# Slow enough to be caught in the act: 4 packets of 1000 bytes in 20 ms.
SLOW = ["--packet-size", "1000", "--buffer-size", "8000", "--burst-size", "4", "--burst-interval", "20"]

pytestmark = pytest.mark.skipif(not NETBLT.exists(), reason=f"{NETBLT} is not built: run tools/build")
needs_root = pytest.mark.skipif(not is_root(), reason="needs root: raw IP sockets, network namespaces")


@pytest.fixture(autouse=True)
def bounded_in_time() -> Iterator[None]:
    """A test that hangs fails; the processes that it started end with its lab."""

    def too_long(_number: int, _frame: object) -> None:
        raise TimeoutError("this test takes too long")

    before = signal.signal(signal.SIGALRM, too_long)
    signal.alarm(100)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(params=[pytest.param("ip", marks=needs_root), "udp"])
def lab(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Lab]:
    """Two hosts, once with raw IP and once with UDP."""
    made = make_lab(tmp_path, request.param)
    yield made
    made.close()


@pytest.fixture
def udp_lab(tmp_path: Path) -> Iterator[Lab]:
    """For what does not depend on the encapsulation: needs no privilege."""
    made = make_lab(tmp_path, "udp")
    yield made
    made.close()


@pytest.fixture
def raw_lab(tmp_path: Path) -> Iterator[Lab]:
    """For raw IP only; mark the test with needs_root."""
    made = make_lab(tmp_path, "ip")
    yield made
    made.close()


def make_file(path: Path, size: int, seed: int = 1) -> Path:
    path.write_bytes(random.Random(seed).randbytes(size))
    return path


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def leftovers(directory: Path) -> list[str]:
    """Temporary files of a receiver."""
    return [entry.name for entry in directory.iterdir() if ".netblt-" in entry.name]


def one_line(process: Process) -> str:
    lines = process.error_lines
    assert len(lines) == 1, f"one clear line was wanted: {lines}"
    assert lines[0].startswith("netblt: ")
    return lines[0]


def move(
    lab: Lab, source: Path, target: Path, *, active: str, options: list[str] | None = None
) -> tuple[Process, Process]:
    """One transfer from `here` to `there`; `active` ("sender", "receiver") opens it. Answers (sender, receiver)."""
    more = [*(options or []), "--json"]
    if active == "sender":
        receiver = lab.wait_for_peer(lab.there, "recv", target, "--json")
        sender = lab.start(lab.here, "send", source, lab.there.address, *more)
    else:
        sender = lab.wait_for_peer(lab.here, "send", source, "--json")
        receiver = lab.start(lab.there, "recv", target, lab.here.address, *more)
    for process in (sender, receiver):
        assert process.wait() == DONE, process.errors
    return sender, receiver


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
            assert report["sha256"] == sha256(source)
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

    def test_a_pipe_that_closes_early_fails_both_ends(self, udp_lab: Lab, tmp_path: Path) -> None:
        source = make_file(tmp_path / "source", 500_000)
        out_read, out_write = os.pipe()
        receiver = udp_lab.wait_for_peer(udp_lab.there, "recv", "-", stdout=out_write)
        os.close(out_write)
        os.close(out_read)
        sender = udp_lab.start(udp_lab.here, "send", source, udp_lab.there.address)

        assert receiver.wait() == FAILED
        assert "stdout" in one_line(receiver)
        assert sender.wait() == FAILED
        assert "aborted" in one_line(sender)

    def test_the_passive_end_only_restricts(self, udp_lab: Lab, tmp_path: Path) -> None:
        source, target = make_file(tmp_path / "source", 100_000), tmp_path / "target"
        receiver = udp_lab.wait_for_peer(
            udp_lab.there, "recv", target, "--json", "--packet-size", "500", "--buffer-size", "1M", "--max-buffers",
            "3", "--burst-size", "8", "--burst-interval", "1", "--client-string", "from the receiver",
        )  # fmt: skip
        sender = udp_lab.start(
            udp_lab.here, "send", source, udp_lab.there.address, "--json", "--packet-size", "1000", "--buffer-size",
            "10k", "--max-buffers", "5", "--burst-size", "4", "--burst-interval", "2", "--client-string",
            "from the sender",
        )  # fmt: skip

        assert (sender.wait(), receiver.wait()) == (DONE, DONE), sender.errors + receiver.errors
        agreed = {"packet_size": 500, "buffer_size": 10240, "max_buffers": 3, "burst_size": 4, "burst_interval_ms": 2}
        for process, string in ((sender, "from the receiver"), (receiver, "from the sender")):
            negotiated = process.report["negotiated"]
            assert {key: negotiated[key] for key in agreed} == agreed
            assert negotiated["data_checksum"] is True
            assert negotiated["peer_string"] == string

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

        sender, _ = move(lab, source, target, active="sender", options=options)

        planned = 19 * 0.020  # 20 bursts: 19 intervals from the first start to the last
        assert planned * 0.95 <= sender.report["seconds"] <= planned * 1.5 + 0.2

    def test_an_existing_file_is_replaced_and_keeps_its_mode(self, udp_lab: Lab, tmp_path: Path) -> None:
        source, target = make_file(tmp_path / "source", 5000), make_file(tmp_path / "target", 9000, seed=2)
        target.chmod(0o640)

        move(udp_lab, source, target, active="sender")

        assert target.read_bytes() == source.read_bytes()
        assert target.stat().st_mode & 0o777 == 0o640

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


class TestBadInput:
    @pytest.mark.parametrize(
        ("arguments", "expected", "words"),
        [
            ([], LOCAL, "what to do"),
            (["push", "f", "h"], LOCAL, "push"),
            (["listen"], UNSUPPORTED, "not supported"),
            (["send"], LOCAL, "FILE"),
            (["send", "f"], LOCAL, "--passive"),
            (["send", "f", "h", "--passive"], LOCAL, "leave out h"),
            (["send", "f", "h", "x"], LOCAL, "x is too much"),
            (["send", "f", "h", "--frobnicate"], LOCAL, "--frobnicate"),
            (["send", "f", "h", "--port"], LOCAL, "--port"),
            (["send", "f", "h", "--port", "0"], LOCAL, "between 1 and 65535"),
            (["send", "f", "h", "--port", "65536"], LOCAL, "between 1 and 65535"),
            (["send", "f", "h", "--port", "1x"], LOCAL, "1x"),
            (["send", "f", "h", "--port", "-1"], LOCAL, "between 1 and 65535"),
            (["send", "f", "h", "--burst-interval", "65536"], LOCAL, "between 0 and 65535"),
            (["send", "f", "h", "--burst-size", "0"], LOCAL, "between 1 and 65535"),
            (["send", "f", "h", "--max-buffers", "1k"], LOCAL, "1k"),
            (["send", "f", "h", "--packet-size", "64k"], LOCAL, "between 1 and 65491"),
            (["send", "f", "h", "--buffer-size", "99999999999999999999"], LOCAL, "out of range"),
            (["send", "f", "h", "--buffer-size", "1G", "--max-buffers", "2"], LOCAL, "together"),
            (["send", "f", "h", "--version-byte", "256"], LOCAL, "between 0 and 255"),
            (["send", "f", "h", "--death-timer", "0"], LOCAL, "between 1 and 65535"),
            (["send", "f", "h", "--encap", "tcp"], LOCAL, "tcp"),
            (["send", "f", "h", "--bind", "nowhere"], LOCAL, "nowhere"),
            (["send", "f", "h", "--udp-port", "5"], LOCAL, "--encap udp"),
            (["send", "f", "h", "--client-string", "x" * 256], LOCAL, "256 bytes"),
            (["recv", "-", "h", "--json"], LOCAL, "stdout"),
        ],
    )
    def test_a_wrong_command_line_is_named(self, udp_lab: Lab, arguments: list[str], expected: int, words: str) -> None:
        process = udp_lab.start_raw(udp_lab.here, arguments)

        assert process.wait() == expected
        assert words in one_line(process)

    def test_help_and_version_go_to_stdout(self, udp_lab: Lab) -> None:
        for option, words in (("--help", "netblt send FILE HOST"), ("--version", "netblt ")):
            process = udp_lab.start_raw(udp_lab.here, [option])
            assert process.wait() == DONE
            assert words in process.stdout.read_text()
            assert process.errors == ""

    def test_json_is_written_for_a_local_error_too(self, udp_lab: Lab, tmp_path: Path) -> None:
        process = udp_lab.start(udp_lab.here, "send", tmp_path / "missing", "127.0.0.1", "--json")

        assert process.wait() == LOCAL
        assert process.report["result"] == "local-error"
        assert "missing" in process.report["reason"]
        assert set(process.report) == KEYS
        assert process.report["negotiated"] is None
        assert process.report["sha256"] is None

    def test_a_missing_file(self, lab: Lab, tmp_path: Path) -> None:
        process = lab.start(lab.here, "send", tmp_path / "missing", lab.there.address)

        assert process.wait() == LOCAL
        assert "missing: No such file" in one_line(process)

    def test_a_directory_to_send(self, udp_lab: Lab, tmp_path: Path) -> None:
        process = udp_lab.start(udp_lab.here, "send", tmp_path, udp_lab.there.address)

        assert process.wait() == LOCAL
        assert "is a directory" in one_line(process)

    def test_an_unreadable_file(self, udp_lab: Lab, tmp_path: Path) -> None:
        source = make_file(tmp_path / "secret", 10)
        source.chmod(0)
        process = udp_lab.start(udp_lab.here, "send", source, udp_lab.there.address, prepare=become_nobody)

        assert process.wait() == LOCAL
        assert "Permission denied" in one_line(process)

    def test_a_file_past_4_gib(self, udp_lab: Lab, tmp_path: Path) -> None:
        source = tmp_path / "huge"
        with source.open("wb") as huge:
            huge.truncate(2**32 + 1)  # sparse
        process = udp_lab.start(udp_lab.here, "send", source, udp_lab.there.address)

        assert process.wait() == LOCAL
        assert "4294967296" in one_line(process)

    def test_an_unknown_host(self, lab: Lab, tmp_path: Path) -> None:
        source = make_file(tmp_path / "source", 10)
        process = lab.start(lab.here, "send", source, "no-such-host.invalid")

        assert process.wait() == LOCAL
        assert "no-such-host.invalid" in one_line(process)

    @pytest.mark.parametrize("host", ["0.0.0.0", "255.255.255.255", "224.0.0.1"])
    def test_an_address_that_is_no_host(self, udp_lab: Lab, tmp_path: Path, host: str) -> None:
        process = udp_lab.start(udp_lab.here, "send", make_file(tmp_path / "source", 10), host)

        assert process.wait() == LOCAL
        assert host in one_line(process)

    @needs_root
    def test_a_host_without_a_route(self, lab: Lab, tmp_path: Path) -> None:
        process = lab.start(lab.here, "send", make_file(tmp_path / "source", 10), "203.0.113.1", "--json")

        assert process.wait() == UNREACHABLE
        assert "203.0.113.1" in one_line(process)
        assert process.report["result"] == "unreachable"

    @needs_root
    def test_a_host_that_is_not_there(self, lab: Lab, tmp_path: Path) -> None:
        absent = "10.9.0.77"  # on the cable's network; nobody answers ARP
        process = lab.start(lab.here, "send", make_file(tmp_path / "source", 10), absent)

        assert process.wait(20) == UNREACHABLE
        assert f"{absent} is unreachable: No route to host" in one_line(process)

    def test_a_host_where_nothing_listens(self, lab: Lab, tmp_path: Path) -> None:
        started = time.monotonic()
        process = lab.start(lab.here, "recv", tmp_path / "target", lab.there.address)

        assert process.wait(20) == UNREACHABLE
        assert "--passive" in one_line(process)
        assert time.monotonic() - started < 10, "ICMP says so at once"
        assert not (tmp_path / "target").exists()
        assert leftovers(tmp_path) == []

    def test_a_peer_that_never_answers(self, udp_lab: Lab, tmp_path: Path) -> None:
        source = make_file(tmp_path / "source", 10)
        kinds = {"udp": (socket.SOCK_DGRAM, 0, udp_lab.udp_port)}
        if is_root():
            kinds["ip"] = (socket.SOCK_RAW, 30, 0)
        with contextlib.ExitStack() as silent_sockets:
            processes = []
            for encap, (kind, protocol, port) in kinds.items():  # all at once: each takes half a minute
                with udp_lab.there.inside():
                    silent = silent_sockets.enter_context(socket.socket(socket.AF_INET, kind, protocol))
                    silent.bind((udp_lab.there.address, port))
                processes.append(
                    udp_lab.start(udp_lab.here, "send", source, udp_lab.there.address, "--json", encap=encap)
                )
            for process in processes:
                assert process.wait() == UNREACHABLE
                assert "does not answer" in one_line(process)
                assert process.report["result"] == "unreachable"

    def test_a_peer_that_plays_the_same_role_refuses(self, lab: Lab, tmp_path: Path) -> None:
        lab.wait_for_peer(lab.there, "send", make_file(tmp_path / "source", 10))
        process = lab.start(lab.here, "send", tmp_path / "source", lab.there.address, "--json")

        assert process.wait() == UNREACHABLE
        assert "refused: this end sends" in one_line(process)
        assert process.report["result"] == "refused"

    def test_no_permission_for_raw_ip(self, udp_lab: Lab, tmp_path: Path) -> None:
        process = udp_lab.start(
            udp_lab.here, "send", make_file(tmp_path / "source", 10), "127.0.0.1", encap="ip", prepare=become_nobody
        )

        assert process.wait() == LOCAL
        line = one_line(process)
        assert "CAP_NET_RAW" in line
        assert "--encap udp" in line

    def test_a_port_in_use(self, lab: Lab, tmp_path: Path) -> None:
        first = lab.wait_for_peer(lab.there, "recv", tmp_path / "first")
        second = lab.start(lab.there, "recv", tmp_path / "second", "--passive")

        assert second.wait() == LOCAL
        assert "in use" in one_line(second)
        assert first.popen.poll() is None
        first.send_signal(signal.SIGKILL)
        first.popen.wait()
        lab.wait_for_peer(lab.there, "recv", tmp_path / "third")  # free again when its owner is gone

    @needs_root
    def test_a_port_claimed_on_one_address_and_on_all(self, raw_lab: Lab, tmp_path: Path) -> None:
        lab = raw_lab
        lab.there.ip("address", "add", "10.9.0.3/24", "dev", lab.there.interface)
        lab.wait_for_peer(lab.there, "recv", tmp_path / "one", "--bind", "10.9.0.2")
        for clashing in (["--bind", "10.9.0.2"], []):
            process = lab.start(lab.there, "recv", tmp_path / "two", "--passive", *clashing)
            assert process.wait() == LOCAL
            assert "in use" in one_line(process)
        lab.wait_for_peer(lab.there, "recv", tmp_path / "other", "--bind", "10.9.0.3")

    def test_an_address_that_is_not_ours(self, udp_lab: Lab, tmp_path: Path) -> None:
        process = udp_lab.start(udp_lab.here, "recv", tmp_path / "target", "--passive", "--bind", "203.0.113.9")

        assert process.wait() == LOCAL
        assert "--bind 203.0.113.9" in one_line(process)

    @needs_root
    def test_packets_larger_than_the_route_carries(self, lab: Lab, tmp_path: Path) -> None:
        largest = {"ip": 1456, "udp": 1448}[lab.encap]
        source = make_file(tmp_path / "source", 10)
        process = lab.start(lab.here, "send", source, lab.there.address, "--packet-size", str(largest + 1))

        assert process.wait() == LOCAL
        assert f"at most {largest}" in one_line(process)

    @pytest.mark.parametrize("target", [".", "nowhere/target", "sub/"])
    def test_a_target_that_cannot_be_written(self, udp_lab: Lab, tmp_path: Path, target: str) -> None:
        process = udp_lab.start(udp_lab.here, "recv", f"{tmp_path}/{target}", "--passive")

        assert process.wait() == LOCAL
        assert str(tmp_path) in one_line(process)

    def test_a_target_without_write_permission(self, udp_lab: Lab, tmp_path: Path) -> None:
        target = make_file(tmp_path / "target", 10)
        target.chmod(0o444)
        process = udp_lab.start(udp_lab.here, "recv", target, "--passive", prepare=become_nobody)

        assert process.wait() == LOCAL
        assert "Permission denied" in one_line(process)


def become_nobody() -> None:
    """In the child: no privilege at all."""
    if is_root():
        os.setgroups([])
        os.setresgid(65534, 65534, 65534)
        os.setresuid(65534, 65534, 65534)


def limit_files_to_100_kb() -> None:
    """In the child: like a full disk, for anybody."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))


class TestFailureInTheMiddle:
    def test_a_full_disk_fails_both_ends_and_leaves_nothing(self, lab: Lab, tmp_path: Path) -> None:
        target_directory = tmp_path / "to"
        target_directory.mkdir()
        receiver = lab.wait_for_peer(
            lab.there, "recv", target_directory / "target", "--json", prepare=limit_files_to_100_kb
        )
        sender = lab.start(lab.here, "send", make_file(tmp_path / "source", 500_000), lab.there.address)

        assert receiver.wait() == FAILED
        assert "File too large" in one_line(receiver)
        assert receiver.report["result"] == "local-error"
        assert sender.wait() == FAILED
        assert "cannot store" in one_line(sender)
        assert list(target_directory.iterdir()) == []

    @needs_root
    def test_a_disk_that_is_really_full(self, udp_lab: Lab, tmp_path: Path) -> None:
        disk = tmp_path / "disk"
        disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", disk], check=True)
        try:
            receiver = udp_lab.wait_for_peer(udp_lab.there, "recv", disk / "target")
            udp_lab.start(udp_lab.here, "send", make_file(tmp_path / "source", 900_000), udp_lab.there.address)
            assert receiver.wait() == FAILED
            assert "No space left" in one_line(receiver)
            assert list(disk.iterdir()) == []
        finally:
            subprocess.run(["umount", disk], check=True)

    def test_a_file_that_shrinks_fails_both_ends(self, udp_lab: Lab, tmp_path: Path) -> None:
        source, target = make_file(tmp_path / "source", 400_000), tmp_path / "target"
        receiver = udp_lab.wait_for_peer(udp_lab.there, "recv", target)
        sender = udp_lab.start(udp_lab.here, "send", source, udp_lab.there.address, *SLOW)
        receiver.wait_until(lambda: any_bytes_in_temporary(tmp_path), "data has arrived")
        os.truncate(source, 40_000)

        assert sender.wait() == FAILED
        assert "became shorter" in one_line(sender)
        assert receiver.wait() == FAILED
        assert not target.exists()
        assert leftovers(tmp_path) == []

    def test_nothing_shows_under_the_final_name_before_the_end(self, lab: Lab, tmp_path: Path) -> None:
        source, target = make_file(tmp_path / "source", 100_000), make_file(tmp_path / "target", 77, seed=5)
        before = target.read_bytes()
        receiver = lab.wait_for_peer(lab.there, "recv", target)
        sender = lab.start(lab.here, "send", source, lab.there.address, *SLOW)
        receiver.wait_until(lambda: any_bytes_in_temporary(tmp_path), "data has arrived")
        during = target.read_bytes()

        assert (sender.wait(), receiver.wait()) == (DONE, DONE)
        assert during == before
        assert target.read_bytes() == source.read_bytes()

    def test_a_peer_that_dies_is_given_up(self, lab: Lab, tmp_path: Path) -> None:
        source, target = make_file(tmp_path / "source", 400_000), tmp_path / "target"
        receiver = lab.wait_for_peer(lab.there, "recv", target, "--death-timer", "2", "--json")
        sender = lab.start(lab.here, "send", source, lab.there.address, *SLOW)
        receiver.wait_until(lambda: any_bytes_in_temporary(tmp_path), "data has arrived")
        sender.send_signal(signal.SIGKILL)

        assert receiver.wait(20) == FAILED
        assert receiver.error_lines[-1].endswith("silent for 2 s: gave it up")
        assert len(receiver.error_lines) <= 2, "at most one line about what ICMP said, and the end"
        assert receiver.report["result"] == "peer-dead"
        assert not target.exists()
        assert leftovers(tmp_path) == []

    @needs_root
    def test_a_short_loss_of_the_cable_does_no_harm(self, lab: Lab, tmp_path: Path) -> None:
        source, target = make_file(tmp_path / "source", 100_000), tmp_path / "target"
        receiver = lab.wait_for_peer(lab.there, "recv", target)
        sender = lab.start(lab.here, "send", source, lab.there.address, *SLOW)
        receiver.wait_until(lambda: any_bytes_in_temporary(tmp_path), "data has arrived")
        lab.here.ip("link", "set", "left", "down")  # takes the route with it: ENETUNREACH
        time.sleep(0.3)
        lab.here.ip("link", "set", "left", "up")

        assert (sender.wait(), receiver.wait()) == (DONE, DONE), sender.errors + receiver.errors
        assert target.read_bytes() == source.read_bytes()
        assert len([line for line in sender.error_lines if "going on" in line]) == 1

    @needs_root
    def test_a_full_interface_queue_loses_nothing(self, lab: Lab, tmp_path: Path) -> None:
        source, target = make_file(tmp_path / "source", 500_000), tmp_path / "target"
        large_bursts = ["--burst-size", "64", "--burst-interval", "20"]  # 90 kB at once for a queue of 10 kB
        with lab.here.inside():
            subprocess.run(
                "tc qdisc add dev left root tbf rate 200mbit burst 5k limit 10k", shell=True, check=True, timeout=10
            )

        sender, _ = move(lab, source, target, active="sender", options=large_bursts)

        assert target.read_bytes() == source.read_bytes()
        assert sender.report["packets_retransmitted"] == 0, "what the queue refused was offered again"


def any_bytes_in_temporary(directory: Path) -> bool:
    return any((directory / name).stat().st_size > 0 for name in leftovers(directory))


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
            answers = peer.answers_within(0.5)

        assert {answer.type for answer in answers} == {TYPE_RESPONSE, TYPE_CONTROL}
        assert {answer.local_port for answer in answers} == {2}

    @needs_root
    def test_a_port_that_nobody_owns_is_refused(self, raw_lab: Lab, tmp_path: Path) -> None:
        lab = raw_lab
        lab.wait_for_peer(lab.there, "recv", tmp_path / "target")

        with lab.here.inside(), RawPeer(lab.here.address) as peer:
            peer.send(open_packet(5000, 7), lab.there.address)
            answers = peer.answers_within(0.5)

        assert [answer.type for answer in answers] == [TYPE_REFUSED]
        assert answers[0].local_port == 7

    def test_the_passive_end_serves_one_transfer_only(self, lab: Lab, tmp_path: Path) -> None:
        source = make_file(tmp_path / "source", 100_000)
        receiver = lab.wait_for_peer(lab.there, "recv", tmp_path / "target")
        first = lab.start(lab.here, "send", source, lab.there.address, *SLOW)
        receiver.wait_until(lambda: any_bytes_in_temporary(tmp_path), "data has arrived")
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
            headers = [datagram[:20] for datagram in peer.datagrams_within(0.3)]

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

            assert peer.answers_within(0.3) == []


class TestInterrupt:
    def test_waiting_ends_at_once(self, lab: Lab, tmp_path: Path) -> None:
        receiver = lab.wait_for_peer(lab.there, "recv", tmp_path / "target", "--json")
        receiver.send_signal(signal.SIGINT)

        assert receiver.wait(5) == INTERRUPTED
        assert receiver.report["result"] == "interrupted"
        assert leftovers(tmp_path) == []

    @pytest.mark.parametrize("interrupted", ["sender", "receiver"])
    def test_one_interrupt_quits_with_a_reason(self, lab: Lab, tmp_path: Path, interrupted: str) -> None:
        source, target = make_file(tmp_path / "source", 4_000_000), tmp_path / "target"
        receiver = lab.wait_for_peer(lab.there, "recv", target, "--json")
        sender = lab.start(lab.here, "send", source, lab.there.address, "--json", *SLOW)
        receiver.wait_until(lambda: any_bytes_in_temporary(tmp_path), "data has arrived")
        quitter, other = (sender, receiver) if interrupted == "sender" else (receiver, sender)
        quitter.send_signal(signal.SIGINT)

        assert quitter.wait(20) == INTERRUPTED
        assert other.wait(20) == FAILED
        assert quitter.report["result"] == "local-quit"
        assert other.report["result"] == "peer-quit"
        assert "interrupted by the user" in other.report["reason"]
        assert other.report["sha256"] is None
        assert not target.exists()
        assert leftovers(tmp_path) == []

    def test_a_second_interrupt_aborts(self, udp_lab: Lab, tmp_path: Path) -> None:
        lab = udp_lab
        source, target = make_file(tmp_path / "source", 4_000_000), tmp_path / "target"
        receiver = lab.wait_for_peer(lab.there, "recv", target, "--json")
        # One packet in two seconds: a buffer that no QUIT may cut short (QUIT-04) lasts long.
        slow = ["--packet-size", "1000", "--buffer-size", "100k", "--burst-size", "1", "--burst-interval", "2000"]
        sender = lab.start(lab.here, "send", source, lab.there.address, "--json", *slow)
        sender.wait_until(lambda: receiver_is_open(receiver), "it is open")
        time.sleep(0.5)
        sender.send_signal(signal.SIGINT)
        time.sleep(0.5)
        assert sender.popen.poll() is None, "the buffer under way is finished first"
        sender.send_signal(signal.SIGINT)

        assert sender.wait(5) == INTERRUPTED
        assert receiver.wait(5) == FAILED
        assert receiver.report["result"] == "peer-aborted"
        assert "interrupted by the user" in receiver.report["reason"]

    def test_an_interrupt_while_opening_ends_it(self, udp_lab: Lab, tmp_path: Path) -> None:
        with udp_lab.there.inside(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
            silent.bind((udp_lab.there.address, udp_lab.udp_port))
            sender = udp_lab.start(
                udp_lab.here, "send", make_file(tmp_path / "source", 10), udp_lab.there.address, "--json"
            )
            silent.settimeout(10)
            silent.recv(65535)  # its OPEN
            sender.send_signal(signal.SIGINT)
            assert sender.wait(10) == INTERRUPTED


def receiver_is_open(receiver: Process) -> bool:
    """The target's temporary file exists from the start: data is not needed to know that the process lives."""
    return receiver.popen.poll() is None


class TestTerminal:
    def test_progress_is_drawn_on_a_terminal_ten_times_a_second_at_most(self, udp_lab: Lab, tmp_path: Path) -> None:
        source = make_file(tmp_path / "source", 200_000)
        udp_lab.wait_for_peer(udp_lab.there, "recv", tmp_path / "target")
        started = time.monotonic()
        screen = run_on_terminal(udp_lab, ["send", str(source), udp_lab.there.address, *SLOW])
        seconds = time.monotonic() - started

        drawn = re.findall(r"\r([^\r]*?)\x1b\[K", screen)
        lines = [line for line in drawn if line]
        assert 5 <= len(lines) <= seconds * 10 + 1
        assert any(
            re.search(r"\d+% \[=*>? *\] +[\d.]+ k?B of 200 kB +[\d.]+ [kM]b/s +\d+:\d\d left", line) for line in lines
        )
        assert "sent again" in lines[-1]
        assert f"sha256 {sha256(source)}" in screen

    def test_quiet_says_nothing_even_on_a_terminal(self, udp_lab: Lab, tmp_path: Path) -> None:
        source = make_file(tmp_path / "source", 50_000)
        udp_lab.wait_for_peer(udp_lab.there, "recv", tmp_path / "target")

        assert run_on_terminal(udp_lab, ["send", str(source), udp_lab.there.address, "--quiet"]) == ""

    def test_without_a_terminal_only_the_summary_is_written(self, udp_lab: Lab, tmp_path: Path) -> None:
        source = make_file(tmp_path / "source", 200_000)
        receiver = udp_lab.wait_for_peer(udp_lab.there, "recv", tmp_path / "target")
        sender = udp_lab.start(udp_lab.here, "send", source, udp_lab.there.address, *SLOW)

        assert (sender.wait(), receiver.wait()) == (DONE, DONE)
        for process in (sender, receiver):
            assert "\r" not in process.errors
            assert "\x1b" not in process.errors
            assert process.error_lines[-1] == f"sha256 {sha256(source)}"
            assert process.stdout.read_bytes() == b""


def run_on_terminal(lab: Lab, arguments: list[str]) -> str:
    """Runs the command with a terminal as stderr; answers what it wrote there."""
    master, slave = pty.openpty()

    def with_terminal() -> None:
        os.dup2(slave, 2)

    process = lab.start(lab.here, *arguments, prepare=with_terminal)
    os.close(slave)
    written = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:  # the last writer has gone
            break
        if not piece:
            break
        written += piece
    os.close(master)
    assert process.wait() == DONE, written
    return written.decode()
