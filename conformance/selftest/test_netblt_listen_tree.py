# SPDX-License-Identifier: GPL-2.0-or-later
"""`netblt listen` and directories: both directions, after interruptions of either end, and several peers at once."""

from __future__ import annotations

import os
import random
import signal
import stat
import time
from pathlib import Path

import pytest
from selftest.netblt_command_helpers import DONE, INTERRUPTED, UNREACHABLE, leftovers, make_file, one_line
from selftest.netblt_command_lab import Lab, Process
from selftest.netblt_listen_helpers import fetch, make_root, reports, serve, store

pytest_plugins = ["selftest.netblt_command_fixtures"]

PIECE_BYTES = 65536
# A piece takes 0.16 s.
SLOW_ENOUGH = [
    "--packet-size", "1000", "--buffer-size", "8000", "--max-buffers", "16",
    "--burst-size", "8", "--burst-interval", "20",
]  # fmt: skip


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_root(tmp_path)


def make_tree(path: Path, large_bytes: int = 300_000) -> Path:
    """A directory with what a directory may have."""
    (path / "sub" / "empty").mkdir(parents=True)
    make_file(path / "a", 5000, seed=1)
    make_file(path / "large", large_bytes, seed=2)
    (path / "none").write_bytes(b"")
    make_file(path / "sub" / "z", 70_000, seed=3)
    (path / "a").chmod(0o640)
    (path / "sub" / "z").chmod(0o755)
    (path / "link").symlink_to("sub/z")
    (path / "sub" / "up").symlink_to("../a")
    for number, entry in enumerate(sorted(path.rglob("*"), reverse=True)):
        os.utime(entry, ns=(0, 1_600_000_000_123_456_789 + number * 10**9), follow_symlinks=False)
    os.utime(path, ns=(0, 1_500_000_000_000_000_000))
    return path


def describe(path: Path) -> dict[str, tuple[object, ...]]:
    """What a transfer must keep of a directory."""
    found: dict[str, tuple[object, ...]] = {}
    for entry in [path, *path.rglob("*")]:
        status = entry.lstat()
        kind = stat.S_IFMT(status.st_mode)
        what: object = entry.readlink() if entry.is_symlink() else entry.read_bytes() if entry.is_file() else None
        mode = None if entry.is_symlink() else stat.S_IMODE(status.st_mode)
        time_ns = None if entry.is_symlink() else status.st_mtime_ns
        found[str(entry.relative_to(path))] = (kind, mode, time_ns, what)
    return found


def journal_bytes(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.glob(".netblt-partial-*/journal"))


def wait_until_pieces_are_kept(process: Process, directory: Path) -> None:
    process.wait_until(lambda: journal_bytes(directory) > 64 * 4, "pieces are kept")


def end(process: Process) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()


class TestWhole:
    def test_directories_go_both_ways_and_each_gets_a_line(self, lab: Lab, root: Path, tmp_path: Path) -> None:
        offered, brought = make_tree(root / "inner" / "offered"), make_tree(tmp_path / "brought")
        server = serve(lab, root, "--json")
        fetched = fetch(lab, "inner/offered", tmp_path / "fetched")
        assert fetched.wait() == DONE, fetched.errors
        stored = lab.start(lab.here, "send", brought, lab.there.address)
        assert stored.wait() == DONE, stored.errors
        server.wait_until(lambda: len(reports(server)) == 2, "both are reported")

        assert describe(tmp_path / "fetched") == describe(offered)
        assert describe(root / "brought") == describe(brought)
        assert leftovers(root) == []
        for line, name, role in zip(reports(server), ("inner/offered", "brought"), ("sender", "receiver"), strict=True):
            assert (line["file"], line["role"], line["result"]) == (name, role, "done")
            assert (line["files"], line["bytes"], line["bytes_held"]) == (4, 375_000, 0)

    def test_what_is_there_already_is_not_sent_and_needs_no_force(
        self, udp_lab: Lab, root: Path, tmp_path: Path
    ) -> None:
        brought = make_tree(tmp_path / "brought")
        server = serve(udp_lab, root, "--json")
        assert store(udp_lab, brought, "target").wait() == DONE
        make_file(brought / "new", 1234, seed=8)
        again = store(udp_lab, brought, "target")
        assert again.wait() == DONE, again.errors
        server.wait_until(lambda: len(reports(server)) == 2, "both are reported")
        assert (reports(server)[1]["bytes"], reports(server)[1]["bytes_held"]) == (1234, 375_000)
        make_file(brought / "a", 5000, seed=9)
        changed = store(udp_lab, brought, "target")

        assert changed.wait() != DONE
        assert (root / "target" / "a").read_bytes() != (brought / "a").read_bytes()
        assert (root / "target" / "new").exists()

    def test_force_replaces_what_has_changed(self, udp_lab: Lab, root: Path, tmp_path: Path) -> None:
        brought = make_tree(tmp_path / "brought")
        serve(udp_lab, root, "--force")
        assert store(udp_lab, brought, "target").wait() == DONE
        make_file(brought / "a", 6000, seed=9)
        assert store(udp_lab, brought, "target").wait() == DONE

        assert describe(root / "target") == describe(brought)

    def test_everything_is_fetched_without_a_name(self, udp_lab: Lab, root: Path, tmp_path: Path) -> None:
        make_tree(root / "inner" / "tree")
        (tmp_path / "got").mkdir()
        serve(udp_lab, root)
        fetched = udp_lab.start(udp_lab.here, "recv", f"{tmp_path}/got/", udp_lab.there.address)

        assert fetched.wait() == DONE, fetched.errors
        assert describe(tmp_path / "got" / "inner") == describe(root / "inner")

    def test_read_only_stores_no_directory(self, udp_lab: Lab, root: Path, tmp_path: Path) -> None:
        serve(udp_lab, root, "--read-only")
        refused = store(udp_lab, make_tree(tmp_path / "tree"), "tree")

        assert refused.wait() == UNREACHABLE
        assert "only gives files away" in one_line(refused)


class TestInterruptions:
    @pytest.mark.parametrize("killed", ["server", "peer"])
    def test_an_upload_goes_on(self, udp_lab: Lab, root: Path, tmp_path: Path, killed: str) -> None:
        brought = make_tree(tmp_path / "brought", 12 * PIECE_BYTES)
        server = serve(udp_lab, root, "--json")
        sender = store(udp_lab, brought, "target", *SLOW_ENOUGH)
        wait_until_pieces_are_kept(server, root)
        end(server if killed == "server" else sender)
        if killed == "server":
            end(sender)
            server = serve(udp_lab, root, "--json")
        again = store(udp_lab, brought, "target", "--json")

        assert again.wait() == DONE, again.errors
        assert describe(root / "target") == describe(brought)
        assert leftovers(root) == []
        server.wait_until(lambda: any(line["result"] == "done" for line in reports(server)), "it is told")
        line = reports(server)[-1]
        assert line["bytes_held"] >= PIECE_BYTES
        assert line["bytes"] + line["bytes_held"] == 12 * PIECE_BYTES + 75_000

    @pytest.mark.parametrize("killed", ["server", "peer"])
    def test_a_download_goes_on(self, udp_lab: Lab, root: Path, tmp_path: Path, killed: str) -> None:
        make_tree(root / "offered", 12 * PIECE_BYTES)
        server = serve(udp_lab, root, "--json", *SLOW_ENOUGH)
        receiver = fetch(udp_lab, "offered", tmp_path / "got")
        wait_until_pieces_are_kept(receiver, tmp_path)
        end(server if killed == "server" else receiver)
        if killed == "server":
            end(receiver)
            server = serve(udp_lab, root, "--json")
        again = fetch(udp_lab, "offered", tmp_path / "got", "--json")

        assert again.wait() == DONE, again.errors
        assert describe(tmp_path / "got") == describe(root / "offered")
        server.wait_until(lambda: any(line["result"] == "done" for line in reports(server)), "it is told")
        line = reports(server)[-1]
        assert line["bytes_held"] >= PIECE_BYTES
        assert line["bytes"] + line["bytes_held"] == 12 * PIECE_BYTES + 75_000

    def test_files_that_change_between_two_attempts(self, udp_lab: Lab, root: Path, tmp_path: Path) -> None:
        make_tree(root / "offered", 8 * PIECE_BYTES)
        serve(udp_lab, root, *SLOW_ENOUGH)
        receiver = fetch(udp_lab, "offered", tmp_path / "got")
        wait_until_pieces_are_kept(receiver, tmp_path)
        end(receiver)
        make_file(root / "offered" / "large", 100_000, seed=7)

        assert fetch(udp_lab, "offered", tmp_path / "got").wait() == DONE
        assert describe(tmp_path / "got") == describe(root / "offered")

    def test_a_directory_in_parts(self, udp_lab: Lab, root: Path, tmp_path: Path) -> None:
        brought = make_tree(tmp_path / "brought", 20 * PIECE_BYTES)
        server = serve(udp_lab, root, "--json")
        sender = store(udp_lab, brought, "target", "--part-size", "256k", "--json")
        assert sender.wait() == DONE, sender.errors
        server.wait_until(lambda: len(reports(server)) == 1, "one line for all parts")

        assert describe(root / "target") == describe(brought)
        assert sender.report["transfers"] > 4
        assert (reports(server)[0]["bytes"], reports(server)[0]["bytes_held"]) == (20 * PIECE_BYTES + 75_000, 0)


class TestSeveralPeers:
    def test_one_name_and_names_beneath_it_are_stored_once_at_a_time(
        self, udp_lab: Lab, root: Path, tmp_path: Path
    ) -> None:
        brought = make_tree(tmp_path / "brought", 30 * PIECE_BYTES)
        (root / "target" / "sub").mkdir(parents=True)
        server = serve(udp_lab, root, "--force")
        first = store(udp_lab, brought, "target", *SLOW_ENOUGH)
        wait_until_pieces_are_kept(server, root)
        others = [store(udp_lab, brought, name) for name in ("target", "target/sub", "target/sub/x", "")]

        assert [other.wait() for other in others] == [UNREACHABLE] * 4
        assert all("another transfer is storing it" in one_line(other) for other in others)
        assert store(udp_lab, brought, "beside").wait() == DONE
        assert first.wait() == DONE, first.errors
        assert describe(root / "target") == describe(brought)

    def test_a_name_waits_for_a_peer_that_was_lost(self, udp_lab: Lab, root: Path, tmp_path: Path) -> None:
        brought = make_tree(tmp_path / "brought", 12 * PIECE_BYTES)
        server = serve(udp_lab, root, "--min-progress", "3")
        first = store(udp_lab, brought, "target", *SLOW_ENOUGH)
        wait_until_pieces_are_kept(server, root)
        first.send_signal(signal.SIGINT)  # lets the server know
        assert first.wait() == INTERRUPTED
        other = udp_lab.start(
            udp_lab.there, "send", brought, udp_lab.there.address, "--bind", udp_lab.there.address,
            "--client-string", "target",
        )  # fmt: skip
        other.wait()
        if udp_lab.here.address != udp_lab.there.address:
            assert "another transfer is storing it" in one_line(other)
        assert store(udp_lab, brought, "target").wait() == DONE

        assert describe(root / "target") == describe(brought)

    def test_two_directories_at_the_same_time_both_ways(self, udp_lab: Lab, root: Path, tmp_path: Path) -> None:
        offered = make_tree(root / "offered", 6 * PIECE_BYTES)
        brought = make_tree(tmp_path / "brought", 6 * PIECE_BYTES)
        serve(udp_lab, root)
        peers = [store(udp_lab, brought, f"up{i}", *SLOW_ENOUGH) for i in range(2)]
        peers += [fetch(udp_lab, "offered", tmp_path / f"down{i}", *SLOW_ENOUGH) for i in range(2)]

        assert [peer.wait() for peer in peers] == [DONE] * 4, [peer.errors for peer in peers]
        for i in range(2):
            assert describe(root / f"up{i}") == describe(brought)
            assert describe(tmp_path / f"down{i}") == describe(offered)

    def test_a_walk_delays_nobody(self, udp_lab: Lab, root: Path, tmp_path: Path) -> None:
        """While a directory with very many files is walked, the file of another peer is sent."""
        for i in range(4_000):
            (root / "inner" / f"{i}").touch()
        make_file(root / "file", 10)
        serve(udp_lab, root)
        begun = time.monotonic()
        walked = [fetch(udp_lab, "inner", tmp_path / f"many{i}") for i in range(2)]
        assert fetch(udp_lab, "file", tmp_path / "one").wait() == DONE
        alone = time.monotonic() - begun

        assert [peer.wait() for peer in walked] == [DONE] * 2
        assert alone < time.monotonic() - begun
        assert len(list((tmp_path / "many1").iterdir())) == 4_000


class TestKills:
    @pytest.mark.parametrize("role", ["upload", "download"])
    def test_both_ends_are_killed_at_random_moments(self, udp_lab: Lab, root: Path, tmp_path: Path, role: str) -> None:
        """At any moment a final name has what it had or what it is to have, and in the end all is there."""
        source = make_tree(tmp_path / "source" if role == "upload" else root / "source", 20 * PIECE_BYTES)
        target = root / "target" if role == "upload" else tmp_path / "target"
        dice = random.Random(role)
        wanted = describe(source)
        server = serve(udp_lab, root)

        def start_peer() -> Process:
            if role == "upload":
                return store(udp_lab, source, "target", *SLOW_ENOUGH)
            return fetch(udp_lab, "source", target, *SLOW_ENOUGH)

        for _ in range(6):
            peer = start_peer()
            time.sleep(dice.uniform(0.02, 0.7))
            victims = dice.choice([[peer], [server], [peer, server]])
            for victim in victims:
                end(victim)
            assert_nothing_half(target, wanted)
            if server in victims:
                server = serve(udp_lab, root)
            end(peer)
        last = start_peer()

        assert last.wait() == DONE, last.errors
        assert describe(target) == wanted
        assert list(target.parent.glob(".netblt-*")) == []


def assert_nothing_half(target: Path, wanted: dict[str, tuple[object, ...]]) -> None:
    """Files that have their names are complete; directories get mode and time at the end."""
    if not target.exists():
        return
    for path, what in describe(target).items():
        kind = what[0]
        assert kind == wanted[path][0]
        if kind != stat.S_IFDIR:
            assert what == wanted[path], path
