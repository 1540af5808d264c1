# SPDX-License-Identifier: GPL-2.0-or-later
"""`netblt listen`: a directory served to many peers, and to hostile ones."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from selftest.netblt_command_helpers import (
    DONE,
    FAILED,
    INTERRUPTED,
    KEYS,
    LOCAL,
    SLOW,
    UNREACHABLE,
    blake3_sum,
    has_received,
    leftovers,
    make_file,
    one_line,
)
from selftest.netblt_command_lab import Lab
from selftest.netblt_listen_helpers import fetch, make_root, meanwhile, reports, serve, store
from selftest.netblt_listen_puppets import Puppet

pytest_plugins = ["selftest.netblt_command_fixtures"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The directory that is served, with a secret beside it."""
    make_file(tmp_path / "secret", 1000, seed=9)
    return make_root(tmp_path)


class TestServing:
    def test_files_go_both_ways_and_each_gets_a_line(self, lab: Lab, root: Path, tmp_path: Path) -> None:
        offered, brought = make_file(root / "inner" / "offered", 300_001), make_file(tmp_path / "brought", 200_003)
        server = serve(lab, root, "--json")

        fetched = fetch(lab, "inner/offered", tmp_path / "fetched")
        assert fetched.wait() == DONE, fetched.errors
        stored = lab.start(lab.here, "send", brought, lab.there.address)  # named after the file
        assert stored.wait() == DONE, stored.errors
        server.wait_until(lambda: len(reports(server)) == 2, "both are reported")

        assert (tmp_path / "fetched").read_bytes() == offered.read_bytes()
        assert (root / "brought").read_bytes() == brought.read_bytes()
        sent, received = reports(server)
        for line, name, role, file in ((sent, "inner/offered", "sender", offered),
                                       (received, "brought", "receiver", brought)):  # fmt: skip
            assert set(line) == KEYS | {"file", "peer"}
            assert (line["file"], line["role"], line["result"]) == (name, role, "done")
            assert line["blake3"] == blake3_sum(file)
            assert line["peer"].startswith(lab.here.address)

    def test_twenty_transfers_at_the_same_time(self, udp_lab: Lab, root: Path, tmp_path: Path) -> None:
        server = serve(udp_lab, root, "--json")
        # 200 packets, 4 each 20 ms: all of them overlap.
        slow = [*SLOW[:-4], "--burst-size", "4", "--burst-interval", "20"]
        up = [make_file(tmp_path / f"up{i}", 200_000 + i, seed=i) for i in range(10)]
        down = [make_file(root / f"down{i}", 200_000 + i, seed=50 + i) for i in range(10)]
        peers = [store(udp_lab, file, file.name, *slow) for file in up]
        peers += [fetch(udp_lab, file.name, tmp_path / f"got-{file.name}", *slow) for file in down]

        assert [peer.wait() for peer in peers] == [DONE] * 20, [peer.errors for peer in peers]
        server.wait_until(lambda: len(reports(server)) == 20, "all are reported")
        for file in up:
            assert (root / file.name).read_bytes() == file.read_bytes()
        for file in down:
            assert (tmp_path / f"got-{file.name}").read_bytes() == file.read_bytes()
        ends = [line["seconds"] for line in reports(server)]
        assert min(ends) > 0.5, "each took as long as its rate says, so they overlapped"
        assert leftovers(root) == []

    def test_more_than_max_connections_are_refused(self, udp_lab: Lab, root: Path, tmp_path: Path) -> None:
        server = serve(udp_lab, root, "--max-connections", "1")
        first = store(udp_lab, make_file(tmp_path / "first", 400_000), "first", *SLOW)
        server.wait_until(lambda: has_received(server), "data has arrived")
        second = store(udp_lab, tmp_path / "first", "second")

        assert second.wait() == UNREACHABLE
        assert "too many transfers" in one_line(second)
        assert first.wait() == DONE

    def test_two_cannot_store_under_one_name_at_once(self, udp_lab: Lab, root: Path, tmp_path: Path) -> None:
        server = serve(udp_lab, root, "--force")
        file = make_file(tmp_path / "file", 1_200_000)  # longer than it takes to see that it was not lost
        first = store(udp_lab, file, "inner/x", *SLOW)
        server.wait_until(lambda: has_received(server), "data has arrived")
        second = store(udp_lab, file, "inner/x")
        third = store(udp_lab, file, "x")

        assert second.wait() == UNREACHABLE
        assert "another transfer is storing" in one_line(second)
        assert (third.wait(), first.wait()) == (DONE, DONE)

    def test_two_names_of_one_file_are_one_name(self, udp_lab: Lab, root: Path, tmp_path: Path) -> None:
        (root / "way").symlink_to("inner")
        server = serve(udp_lab, root, "--force")
        file = make_file(tmp_path / "file", 1_200_000)
        first = store(udp_lab, file, "way/x", *SLOW)
        server.wait_until(lambda: has_received(server), "data has arrived")
        second = store(udp_lab, file, "inner/x")

        assert second.wait() == UNREACHABLE
        assert "another transfer is storing" in one_line(second)
        assert first.wait() == DONE

    def test_an_interrupt_ends_transfers_in_order_and_nothing_partial_stays(
        self, udp_lab: Lab, root: Path, tmp_path: Path
    ) -> None:
        server = serve(udp_lab, root)
        sender = store(udp_lab, make_file(tmp_path / "file", 4_000_000), "file", "--json", *SLOW)
        server.wait_until(lambda: has_received(server), "data has arrived")
        server.send_signal(signal.SIGTERM)

        assert server.wait() == INTERRUPTED
        assert sender.wait() == FAILED
        assert sender.report["result"] == "peer-quit"
        assert sorted(entry.name for entry in root.iterdir()) == ["inner"]


class TestNames:
    @pytest.mark.parametrize(
        ("name", "words"),
        [
            ("../secret", "no . or .."),
            ("inner/../../secret", "no . or .."),
            ("..", "no . or .."),
            ("/etc/hostname", "relative"),
            ("./file", "no . or .."),
            ("inner//file", "no empty part"),
            ("inner/", "no empty part"),
            ("missing", "no such file"),
            ("missing/file", "no such file"),
            ("file/under", "no such file"),
            ("fifo", "not a file or directory"),
            ("out", "link that is not followed"),
            ("outer/secret", "link that is not followed"),
            ("absolute", "link that is not followed"),
            ("proc/self/environ", "link that is not followed"),
            ("round", "link that is not followed"),
            (".file.netblt-01234567", "no such file"),
            ("x" * 255, "no such file"),
        ],
    )
    def test_what_may_not_be_fetched_is_refused(
        self, udp_lab: Lab, root: Path, tmp_path: Path, name: str, words: str
    ) -> None:
        make_file(root / "file", 10)
        make_file(root / ".file.netblt-01234567", 10)
        os.mkfifo(root / "fifo")
        (root / "out").symlink_to("../secret")
        (root / "outer").symlink_to("..")
        (root / "absolute").symlink_to(tmp_path / "secret")
        (root / "proc").symlink_to("/proc")
        (root / "round").symlink_to("round")
        serve(udp_lab, root)
        peer = fetch(udp_lab, name, tmp_path / "got")

        assert peer.wait() == UNREACHABLE
        assert words in one_line(peer)
        assert not (tmp_path / "got").exists()

    @pytest.mark.parametrize(
        ("name", "words"),
        [
            ("../new", "no . or .."),
            ("/tmp/new", "relative"),
            ("outer/new", "link that is not followed"),
            ("missing/new", "no such file"),
            ("out", "not to be replaced"),
            ("inner", "a directory of that name exists"),
            ("there", "not to be replaced"),
        ],
    )
    def test_what_may_not_be_stored_is_refused(
        self, udp_lab: Lab, root: Path, tmp_path: Path, name: str, words: str
    ) -> None:
        """What has a name that may be used shows only when the peer has sent what it is: it may be the same."""
        before = make_file(root / "there", 10).read_bytes()
        (root / "outer").symlink_to("..")
        (root / "out").symlink_to("../new")
        serve(udp_lab, root)
        peer = store(udp_lab, make_file(tmp_path / "source", 100), name)

        assert peer.wait() == (FAILED if name in ("out", "inner", "there") else UNREACHABLE)
        assert words in one_line(peer)
        assert (root / "there").read_bytes() == before
        assert not (tmp_path / "new").exists()

    @pytest.mark.parametrize(
        ("name", "reason"),
        [
            (b"", "client string: no file name"),
            (b".", "no empty part, no . or .."),
            (b"out", "exists and is no plain file"),
            (b"inner", "exists and is no plain file"),
            (b"there", "exists, not to be replaced"),
            (b"there netblt=held:0123456789abcdef", ""),
        ],
    )
    def test_a_peer_that_knows_no_trees(self, udp_lab: Lab, root: Path, name: bytes, reason: str) -> None:
        make_file(root / "there", 10)
        (root / "out").symlink_to("../new")
        serve(udp_lab, root)
        peer = Puppet(udp_lab)

        assert peer.open(name) == reason
        peer.close()

    def test_links_inside_are_followed_to_read(self, udp_lab: Lab, root: Path, tmp_path: Path) -> None:
        file = make_file(root / "inner" / "file", 1234)
        (root / "alias").symlink_to("inner/file")
        serve(udp_lab, root)

        assert fetch(udp_lab, "alias", tmp_path / "got").wait() == DONE
        assert (tmp_path / "got").read_bytes() == file.read_bytes()

    def test_force_replaces_and_read_only_stores_nothing(self, udp_lab: Lab, root: Path, tmp_path: Path) -> None:
        old, new = make_file(root / "file", 10, seed=1), make_file(tmp_path / "new", 100, seed=2)
        forced = serve(udp_lab, root, "--force")
        assert store(udp_lab, new, "file").wait() == DONE
        forced.wait_until(lambda: old.read_bytes() == new.read_bytes(), "it is replaced")
        forced.send_signal(signal.SIGINT)
        assert forced.wait() == INTERRUPTED
        serve(udp_lab, root, "--force", "--read-only")
        refused = store(udp_lab, old, "other")

        assert refused.wait() == UNREACHABLE
        assert "only gives files away" in one_line(refused)
        assert fetch(udp_lab, "file", tmp_path / "got").wait() == DONE

    def test_only_allowed_addresses_are_served(self, udp_lab: Lab, root: Path, tmp_path: Path) -> None:
        make_file(root / "file", 10)
        near = ".".join(udp_lab.here.address.split(".")[:3]) + ".0/24"
        server = serve(udp_lab, root, "--allow", "192.0.2.0/25")
        refused = fetch(udp_lab, "file", tmp_path / "got")
        assert refused.wait() == UNREACHABLE
        assert "does not serve your address" in one_line(refused)
        server.send_signal(signal.SIGINT)
        assert server.wait() == INTERRUPTED
        serve(udp_lab, root, "--allow", "192.0.2.0/25", "--allow", near)

        assert fetch(udp_lab, "file", tmp_path / "got").wait() == DONE

    def test_a_directory_that_becomes_a_link_again_and_again_never_leads_out(
        self, udp_lab: Lab, root: Path, tmp_path: Path
    ) -> None:
        """The classic race: inner is a directory when it is looked at and a link to the outside when it is used."""
        make_file(root / "inner" / "secret", 500, seed=3)
        secret = (tmp_path / "secret").read_bytes()
        (root / "link").symlink_to("..")
        serve(udp_lab, root, "--force")
        with swapping(root / "inner", root / "link"):
            for _ in range(12):
                fetch(udp_lab, "inner/secret", tmp_path / "got").wait()
                assert not (tmp_path / "got").exists() or (tmp_path / "got").read_bytes() != secret
                store(udp_lab, make_file(tmp_path / "new", 10), "inner/planted").wait()
        assert not (tmp_path / "planted").exists()
        assert (tmp_path / "secret").read_bytes() == secret


class TestMisuse:
    def test_a_root_that_is_not_there(self, udp_lab: Lab, tmp_path: Path) -> None:
        process = udp_lab.start(udp_lab.there, "listen", "--root", tmp_path / "missing", "--json")

        assert process.wait() == LOCAL
        assert "missing" in one_line(process)
        assert process.report["result"] == "local-error"

    def test_garbage_and_a_flood_of_bad_names_do_no_harm(self, udp_lab: Lab, root: Path, tmp_path: Path) -> None:
        file = make_file(root / "file", 5000)
        server = serve(udp_lab, root, "--bind", udp_lab.there.address)
        with udp_lab.here.inside(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as noise:
            for i in range(2000):
                noise.sendto(os.urandom(i % 120), (udp_lab.there.address, udp_lab.udp_port))
        peers = [fetch(udp_lab, f"nothing{i}", tmp_path / "no") for i in range(15)]
        assert {peer.wait() for peer in peers} == {UNREACHABLE}

        assert fetch(udp_lab, "file", tmp_path / "got").wait() == DONE
        assert (tmp_path / "got").read_bytes() == file.read_bytes()
        assert server.popen.poll() is None


@contextmanager
def swapping(directory: Path, link: Path) -> Iterator[None]:
    """Exchanges the two names all the time."""
    aside = directory.with_name("aside")

    def swap(stop: threading.Event) -> None:
        while not stop.is_set():
            directory.rename(aside)
            link.rename(directory)
            time.sleep(0.0003)
            directory.rename(link)
            aside.rename(directory)
            time.sleep(0.0003)

    with meanwhile(swap):
        yield
