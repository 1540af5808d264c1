# SPDX-License-Identifier: GPL-2.0-or-later
"""`netblt listen` when things go wrong around it: unvalidated peers, full disks, files and directories that change."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from pathlib import Path

import pytest
from selftest.netblt_command_helpers import (
    DONE,
    FAILED,
    INTERRUPTED,
    SLOW,
    UNREACHABLE,
    forge_opens,
    has_received,
    leftovers,
    make_file,
    needs_root,
    one_line,
)
from selftest.netblt_command_lab import Lab
from selftest.netblt_listen_helpers import fetch, make_root, reports, serve, store

pytest_plugins = ["selftest.netblt_command_fixtures"]

CLONE_NEWNS = 0x00020000


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_root(tmp_path)


class TestStrangers:
    def test_forged_opens_take_no_place_from_those_who_answer(self, udp_lab: Lab, root: Path, tmp_path: Path) -> None:
        file = make_file(root / "file", 5000)
        brought = make_file(tmp_path / "brought", 200_000)
        server = serve(udp_lab, root, "--json", "--max-connections", "4")
        honest = store(udp_lab, brought, "slow", *SLOW)
        server.wait_until(lambda: has_received(server), "data has arrived")
        forge_opens(udp_lab, [b"file"] * 40, write=False)
        forge_opens(udp_lab, [b"new%d" % i for i in range(40)], write=True)

        assert fetch(udp_lab, "file", tmp_path / "got").wait() == DONE
        assert (tmp_path / "got").read_bytes() == file.read_bytes()
        assert store(udp_lab, brought, "quick").wait() == DONE
        assert honest.wait() == DONE
        assert sorted(entry.name for entry in root.iterdir()) == ["file", "inner", "quick", "slow"]
        assert {line["file"] for line in reports(server)} == {"file", "quick", "slow"}, "no forged transfer is reported"

    def test_places_that_peers_have_answered_for_are_kept(self, udp_lab: Lab, root: Path, tmp_path: Path) -> None:
        server = serve(udp_lab, root, "--json", "--max-connections", "1")
        first = store(udp_lab, make_file(tmp_path / "file", 300_000), "first", *SLOW)
        server.wait_until(lambda: has_received(server), "data has arrived")
        forge_opens(udp_lab, [b"x"] * 8, write=True)  # fewer than are refused at once
        second = store(udp_lab, tmp_path / "file", "second")

        assert second.wait() == UNREACHABLE
        assert "too many transfers" in one_line(second)
        assert first.wait() == DONE

    def test_a_program_that_waits_to_write_into_a_fifo_is_not_woken(
        self, udp_lab: Lab, root: Path, tmp_path: Path
    ) -> None:
        os.mkfifo(root / "fifo")
        (root / "alias").symlink_to("fifo")
        woken = threading.Event()

        def write() -> None:
            descriptor = os.open(root / "fifo", os.O_WRONLY)
            woken.set()
            os.close(descriptor)

        writer = threading.Thread(target=write)
        writer.start()
        try:
            serve(udp_lab, root, "--json")
            for name in ("fifo", "alias"):
                refused = fetch(udp_lab, name, tmp_path / "got")
                assert refused.wait() == UNREACHABLE
                assert "not a file or directory" in one_line(refused)
            assert not woken.is_set()
        finally:
            reader = os.open(root / "fifo", os.O_RDONLY | os.O_NONBLOCK)
            writer.join()
            os.close(reader)
        assert woken.is_set(), "the control arm: who opens it wakes the writer"


@pytest.fixture
def mounts_of_our_own() -> None:
    """A process may mount what no other process sees. In a chroot the mounts above it cannot be made private."""
    probe = subprocess.run(["unshare", "--mount", "--propagation", "private", "true"], capture_output=True, check=False)
    if probe.returncode != 0:
        pytest.skip(f"no private mounts here: {probe.stderr.decode('utf-8', 'replace').strip()}")


class TestDisks:
    @needs_root
    @pytest.mark.usefixtures("mounts_of_our_own")
    def test_a_full_disk_ends_one_transfer_and_not_the_server(self, udp_lab: Lab, root: Path, tmp_path: Path) -> None:
        def on_a_small_disk() -> None:
            libc = ctypes.CDLL(None, use_errno=True)
            assert libc.unshare(CLONE_NEWNS) == 0
            subprocess.run(["mount", "--make-rprivate", "/"], check=True)
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(root)], check=True)
            (root / "old").write_bytes(b"old")

        large, small = make_file(tmp_path / "large", 3_000_000), make_file(tmp_path / "small", 100_000)
        server = serve(udp_lab, root, "--json", "--force", prepare=on_a_small_disk)
        disk = Path(f"/proc/{server.popen.pid}/root{root}")

        for name in ("new", "old"):
            failed = store(udp_lab, large, name)
            assert failed.wait() == FAILED
            assert "cannot store the data" in one_line(failed)
        for partial in disk.glob(".netblt-partial-*"):  # the same transfers could go on with more room
            shutil.rmtree(partial)
        assert store(udp_lab, small, "small").wait() == DONE
        assert sorted(entry.name for entry in disk.iterdir()) == ["old", "small"]
        assert (disk / "old").read_bytes() == b"old"
        assert (disk / "small").read_bytes() == small.read_bytes()
        server.wait_until(lambda: len(reports(server)) == 3, "all are reported")
        assert [line["result"] for line in reports(server)] == ["local-error", "local-error", "done"]
        assert "No space left" in reports(server)[0]["reason"]

    def test_directories_that_go_away_end_their_transfers_only(self, udp_lab: Lab, root: Path, tmp_path: Path) -> None:
        source = make_file(tmp_path / "source", 300_000)
        server = serve(udp_lab, root, "--json")
        lost = store(udp_lab, source, "inner/file", *SLOW)
        other = store(udp_lab, source, "file", *SLOW)
        server.wait_until(lambda: has_received(server), "data has arrived")
        shutil.rmtree(root / "inner")

        assert lost.wait() == FAILED
        assert "cannot store the data" in one_line(lost)
        assert other.wait() == DONE
        assert [entry.name for entry in root.iterdir()] == ["file"]
        shutil.rmtree(root)
        refused = store(udp_lab, source, "more")
        assert refused.wait() == UNREACHABLE
        server.send_signal(signal.SIGHUP)
        assert server.wait() == INTERRUPTED

    def test_a_directory_that_was_removed_is_told_before_anything_arrives(self, udp_lab: Lab, tmp_path: Path) -> None:
        """On tmpfs, which makes files without a name in a directory that was removed, and refuses only to name them."""
        source = make_file(tmp_path / "source", 300_000)
        with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
            root = make_root(Path(folder))
            serve(udp_lab, root, "--json")
            shutil.rmtree(root)
            refused = store(udp_lab, source, "more")
            assert refused.wait() == UNREACHABLE
        assert "the server cannot write it" in one_line(refused)

    def test_a_file_that_grows_is_sent_as_long_as_it_was_where_it_is_sent_alone(self, udp_lab: Lab, root: Path) -> None:
        """To stdout, without a tree transfer: the file may be read to its end before or after it grows."""
        growing = make_file(root / "growing", 600_000)
        before = growing.read_bytes()
        serve(udp_lab, root, "--json")
        peer = fetch(udp_lab, growing.name, Path("-"), *SLOW)
        peer.wait_until(lambda: peer.stdout.stat().st_size > 0, "data has arrived")
        with growing.open("ab") as file:
            file.write(b"more" * 1000)

        assert peer.wait() == DONE, peer.errors
        assert peer.stdout.read_bytes() == before

    def test_a_file_that_shrinks_is_not_sent(self, udp_lab: Lab, root: Path, tmp_path: Path) -> None:
        # Much more than is read ahead and under way at a time, so that not all of it has been read at once.
        shrinking, target = make_file(root / "shrinking", 2_000_000), tmp_path / "shrunk"
        server = serve(udp_lab, root, "--json")
        peer = fetch(udp_lab, shrinking.name, target, *SLOW)
        peer.wait_until(lambda: has_received(peer), "data has arrived")
        os.truncate(shrinking, 50_000)

        assert peer.wait() == FAILED, peer.errors
        assert not target.exists()
        assert leftovers(tmp_path) == []
        server.wait_until(lambda: len(reports(server)) == 1, "it is reported")
        (line,) = reports(server)
        assert (line["file"], line["result"], line["role"]) == ("shrinking", "local-error", "sender")
        assert "became shorter" in line["reason"]

    def test_a_log_that_nobody_reads_is_told_once_and_stops_nothing(
        self, udp_lab: Lab, root: Path, tmp_path: Path
    ) -> None:
        file = make_file(root / "file", 5000)
        reader, writer = os.pipe()
        server = serve(udp_lab, root, "--json", stdout=writer)
        os.close(writer)
        os.close(reader)
        for _ in range(3):
            assert fetch(udp_lab, "file", tmp_path / "got").wait() == DONE
        assert (tmp_path / "got").read_bytes() == file.read_bytes()
        server.wait_until(lambda: len(server.error_lines) > 0, "a line on stderr")

        assert "cannot write to stdout" in one_line(server)

    def test_peers_that_fall_silent_free_the_name_and_leave_nothing(
        self, udp_lab: Lab, root: Path, tmp_path: Path
    ) -> None:
        source = make_file(tmp_path / "source", 300_000)
        server = serve(udp_lab, root, "--json", "--death-timer", "4")
        silent = store(udp_lab, source, "file", *SLOW)
        server.wait_until(lambda: has_received(server), "data has arrived")
        silent.popen.kill()
        address = udp_lab.there.address  # another host, which cannot be the one that was killed
        early = udp_lab.start(udp_lab.there, "send", source, address, "--client-string", "file", "--bind", address)
        if udp_lab.here.address != address:
            assert early.wait() == UNREACHABLE
            assert "another transfer is storing it" in one_line(early)
        server.wait_until(lambda: "peer-dead" in [line["result"] for line in reports(server)], "it has given it up")

        assert leftovers(root) == []
        assert store(udp_lab, source, "file").wait() == DONE
        assert (root / "file").read_bytes() == source.read_bytes()
