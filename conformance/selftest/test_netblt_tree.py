# SPDX-License-Identifier: GPL-2.0-or-later
"""Tree transfers between two `netblt` commands, and files exchanged with ends that know nothing of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from selftest.netblt_command_helpers import (
    DONE,
    LOCAL,
    UNREACHABLE,
    UNSUPPORTED,
    blake3_sum,
    leftovers,
    make_file,
    one_line,
    sha256,
)
from selftest.netblt_command_lab import Lab, Process
from selftest.netblt_tree_helpers import (
    EXAMPLES,
    PIECE,
    STEADY,
    assert_same_tree,
    bytes_of,
    listing,
    look,
    make_tree,
    names_in,
    partial_directories,
    receive,
    send,
)

pytest_plugins = ["selftest.netblt_command_fixtures"]


def both(lab: Lab, paths: list[Path], dest: Path | str, *, active: str, options: list[str] | None = None) -> None:
    """One successful session; `active` opens it, and has the options."""
    if active == "sender":
        receiver = receive(lab, dest)
        sender = send(lab, *paths, options=options)
    else:
        sender = lab.wait_for_peer(lab.here, "send", *paths, "--json")
        receiver = lab.start(lab.there, "recv", dest, lab.here.address, "--json", *(options or []))
    for process in (sender, receiver):
        assert process.wait() == DONE, process.errors
        assert process.report["result"] == "done"


class TestTrees:
    @pytest.mark.parametrize("active", ["sender", "receiver"])
    def test_a_directory_arrives_as_it_is(self, lab: Lab, tmp_path: Path, active: str) -> None:
        source, target = make_tree(tmp_path / "source"), tmp_path / "target"
        both(lab, [source], target, active=active)

        assert_same_tree(source, target)
        assert partial_directories(tmp_path) == []
        assert leftovers(tmp_path) == []

    @pytest.mark.parametrize("active", ["sender", "receiver"])
    def test_the_summary_has_the_figures_and_sums(self, udp_lab: Lab, tmp_path: Path, active: str) -> None:
        source = make_tree(tmp_path / "source")
        both(udp_lab, [source], tmp_path / "target", active=active)

        files = [path for path in source.rglob("*") if path.is_file() and not path.is_symlink()]
        sums = {f"source/{path.relative_to(source)}": blake3_sum(path) for path in files}
        for process in udp_lab.processes:
            report = process.report
            assert (report["files"], report["bytes"], report["bytes_held"]) == (len(files), bytes_of(source), 0)
            assert (report["resumed"], report["transfers"]) == (False, 1)
            assert {row["path"]: row["sum"] for row in report["sums"] if row["size"] > 0} == {
                name: value for name, value in sums.items() if name != "source/empty"
            }
            assert report["blake3"] is None
            assert report["sha256"] is None

    def test_sha256_on_request(self, udp_lab: Lab, tmp_path: Path) -> None:
        source, target = make_file(tmp_path / "source", 300_001), tmp_path / "target"
        both(udp_lab, [source], target, active="sender", options=["--hash", "sha256"])

        assert target.read_bytes() == source.read_bytes()
        for process in udp_lab.processes:
            assert (process.report["sha256"], process.report["blake3"]) == (sha256(source), None)

    @pytest.mark.parametrize("size", [0, 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE + 5])
    def test_files_of_all_sizes_keep_mode_and_time(self, udp_lab: Lab, tmp_path: Path, size: int) -> None:
        source, target = make_file(tmp_path / "source", size), tmp_path / "target"
        source.chmod(0o640)
        os.utime(source, ns=(1, 1_234_567_890_123_456_789))
        both(udp_lab, [source], target, active="sender")

        assert look(source) == look(target)

    def test_holes_stay_holes(self, udp_lab: Lab, tmp_path: Path) -> None:
        source, target = tmp_path / "source", tmp_path / "target"
        with source.open("wb") as file:
            file.truncate(40 * 1024 * PIECE)  # 2.5 GiB
            for place in (0, 77 * PIECE, 40 * 1024 * PIECE - 5):
                file.seek(place)
                file.write(b"bytes")
        if source.stat().st_blocks * 512 > 100 * PIECE:
            pytest.skip("this file system has no holes")
        both(udp_lab, [source], target, active="sender")

        assert target.stat().st_size == source.stat().st_size
        assert target.stat().st_blocks * 512 < 100 * PIECE
        with target.open("rb") as file:
            for place in (0, 77 * PIECE, 40 * 1024 * PIECE - 5):
                file.seek(place)
                assert file.read(5) == b"bytes"
        report = udp_lab.processes[1].report
        assert report["wire_bytes"] < 20 * PIECE
        assert report["bytes_held"] == 0  # a hole is nothing that the receiver had

    def test_what_cannot_be_sent_is_left_out_and_named(self, udp_lab: Lab, tmp_path: Path) -> None:
        source, target = make_tree(tmp_path / "source"), tmp_path / "target"
        os.mkfifo(source / "fifo")
        receiver, sender = receive(udp_lab, target), send(udp_lab, source)

        assert (sender.wait(), receiver.wait()) == (DONE, DONE), sender.errors + receiver.errors
        assert "fifo" in one_line(sender)
        (source / "fifo").unlink()
        assert listing(source).keys() == listing(target).keys()


class TestDest:
    def test_a_single_file_gets_the_name_of_dest(self, udp_lab: Lab, tmp_path: Path) -> None:
        source = make_file(tmp_path / "source", 1000)
        both(udp_lab, [source], tmp_path / "target", active="sender")
        assert (tmp_path / "target").read_bytes() == source.read_bytes()

    @pytest.mark.parametrize("slash", ["", "/"])
    def test_a_directory_that_is_there_gets_it_under_its_own_name(
        self, udp_lab: Lab, tmp_path: Path, slash: str
    ) -> None:
        source, target = make_tree(tmp_path / "source"), tmp_path / "target"
        target.mkdir()
        both(udp_lab, [source], f"{target}{slash}", active="sender")

        assert_same_tree(source, target / "source")
        assert names_in(target) == ["source"]

    def test_a_slash_makes_the_directory(self, udp_lab: Lab, tmp_path: Path) -> None:
        source = make_file(tmp_path / "source", 1000)
        both(udp_lab, [source], f"{tmp_path}/target/", active="sender")
        assert (tmp_path / "target" / "source").read_bytes() == source.read_bytes()

    @pytest.mark.parametrize("active", ["sender", "receiver"])
    @pytest.mark.parametrize("exists", [False, True])
    def test_several_paths_lie_in_dest(self, udp_lab: Lab, tmp_path: Path, active: str, exists: bool) -> None:
        tree, file, target = make_tree(tmp_path / "a tree"), make_file(tmp_path / "file", 70_000), tmp_path / "target"
        if exists:
            target.mkdir()
        both(udp_lab, [tree, file], target, active=active)

        assert names_in(target) == ["a tree", "file"]
        assert_same_tree(tree, target / "a tree")
        assert (target / "file").read_bytes() == file.read_bytes()

    def test_without_dest_everything_goes_to_the_current_directory(self, udp_lab: Lab, tmp_path: Path) -> None:
        source, here = make_tree(tmp_path / "source"), tmp_path / "here"
        here.mkdir()
        sender = udp_lab.wait_for_peer(udp_lab.here, "send", source)
        receiver = udp_lab.start(udp_lab.there, "recv", udp_lab.here.address, prepare=lambda: os.chdir(here))

        assert (sender.wait(), receiver.wait()) == (DONE, DONE), sender.errors + receiver.errors
        assert_same_tree(source, here / "source")

    def test_two_paths_with_one_name_are_an_error(self, udp_lab: Lab, tmp_path: Path) -> None:
        for directory in ("a", "b"):
            (tmp_path / directory).mkdir()
            make_file(tmp_path / directory / "x", 10)
        sender = udp_lab.start(udp_lab.here, "send", tmp_path / "a" / "x", tmp_path / "b" / "x", "127.0.0.1")

        assert sender.wait() == LOCAL
        assert "x" in one_line(sender)


class TestUnchanged:
    def test_unchanged_files_are_not_sent_again(self, udp_lab: Lab, tmp_path: Path) -> None:
        source, target = make_tree(tmp_path / "source"), tmp_path / "target"
        target.mkdir()
        both(udp_lab, [source], f"{target}/", active="sender")
        inode = (target / "source" / "sub" / "large").stat().st_ino
        (source / "one").write_bytes(b"2")
        both(udp_lab, [source], f"{target}/", active="sender", options=STEADY)

        assert_same_tree(source, target / "source")
        assert (target / "source" / "sub" / "large").stat().st_ino == inode
        receiver, sender = udp_lab.processes[2:]
        for process in (sender, receiver):
            assert process.report["bytes"] == 1
            assert process.report["bytes_held"] == bytes_of(source) - 1
            assert process.report["resumed"] is True
        assert sender.report["wire_bytes"] < PIECE

    @pytest.mark.parametrize("slash", ["", "/"])
    def test_what_is_there_is_found_before_much_was_sent(self, udp_lab: Lab, tmp_path: Path, slash: str) -> None:
        """At a rate at which all of it would come in a fraction of a second."""
        source, target = make_file(tmp_path / "source", 300 * PIECE), tmp_path / "target"
        dest = f"{target}{slash}"
        fast = ["--path", "1G,1ms"]
        both(udp_lab, [source], dest, active="sender", options=fast)
        both(udp_lab, [source], dest, active="sender", options=fast)

        assert udp_lab.processes[3].report["bytes"] == 0
        assert udp_lab.processes[3].report["wire_bytes"] < 30 * PIECE

    @pytest.mark.parametrize("active", ["sender", "receiver"])
    def test_checksum_compares_contents(self, udp_lab: Lab, tmp_path: Path, active: str) -> None:
        """One file has another time and the same bytes, one the same time and other bytes."""
        source, target = tmp_path / "source", tmp_path / "target"
        for directory in (source, target):
            directory.mkdir()
            make_file(directory / "same", 4 * PIECE)
            make_file(directory / "other", 4 * PIECE, seed=1 if directory == source else 2)
            os.utime(directory / "other", ns=(1, 10**18))
        os.utime(target / "same", ns=(1, 2 * 10**18))
        inode = (target / "same").stat().st_ino
        paths = [source / "same", source / "other"]
        if active == "sender":
            receiver = receive(udp_lab, target, "--checksum")
            sender = send(udp_lab, *paths, options=STEADY)
        else:
            sender = udp_lab.wait_for_peer(udp_lab.here, "send", *paths, "--json", *STEADY)
            receiver = udp_lab.start(udp_lab.there, "recv", target, udp_lab.here.address, "--json", "--checksum")

        assert (sender.wait(), receiver.wait()) == (DONE, DONE), sender.errors + receiver.errors
        for name in ("same", "other"):
            assert look(source / name) == look(target / name)
        assert (target / "same").stat().st_ino == inode
        assert sender.report["wire_bytes"] < 6 * PIECE

    def test_without_checksum_size_and_time_decide(self, udp_lab: Lab, tmp_path: Path) -> None:
        source, target = make_file(tmp_path / "source", PIECE), make_file(tmp_path / "target", PIECE, seed=2)
        for path in (source, target):
            os.utime(path, ns=(1, 10**18))
        before = target.read_bytes()
        both(udp_lab, [source], target, active="sender")
        assert target.read_bytes() == before


class TestParts:
    @pytest.mark.parametrize("active", ["sender", "receiver"])
    def test_a_tree_larger_than_a_part_takes_several_transfers(self, udp_lab: Lab, tmp_path: Path, active: str) -> None:
        source, target = make_tree(tmp_path / "source"), tmp_path / "target"
        make_file(source / "large", 30 * PIECE + 1)
        parts = ["--part-size", "256k"]
        if active == "sender":
            receiver, sender = receive(udp_lab, target), send(udp_lab, source, options=parts)
        else:
            sender = udp_lab.wait_for_peer(udp_lab.here, "send", source, "--json", *parts)
            receiver = udp_lab.start(udp_lab.there, "recv", target, udp_lab.here.address, "--json")

        assert (sender.wait(), receiver.wait()) == (DONE, DONE), sender.errors + receiver.errors
        assert_same_tree(source, target)
        for process in (sender, receiver):
            assert process.report["transfers"] >= bytes_of(source) // (4 * PIECE)
            assert process.report["bytes"] == bytes_of(source)

    def test_a_file_beyond_4_gib_needs_no_option(self, udp_lab: Lab, tmp_path: Path) -> None:
        source, target = tmp_path / "source", tmp_path / "target"
        with source.open("wb") as file:
            file.truncate(2**32 + 5)  # sparse
            file.seek(2**32)
            file.write(b"bytes")
        both(udp_lab, [source], target, active="sender")

        assert target.stat().st_size == 2**32 + 5
        with target.open("rb") as file:
            file.seek(2**32)
            assert file.read() == b"bytes"


class TestForeignEnds:
    """The programs of reference_impl/examples use the library alone."""

    def example(self, lab: Lab, name: str, *arguments: str | Path) -> Process:
        if not (EXAMPLES / name).exists():
            pytest.skip(f"{name} is not built")
        host = lab.here if name == "udp_send" else lab.there
        return lab.start_raw(host, [*map(str, arguments), str(lab.udp_port)], program=EXAMPLES / name)

    def test_a_file_goes_to_a_foreign_receiver(self, udp_lab: Lab, tmp_path: Path) -> None:
        source, target = make_file(tmp_path / "source", 300_001), tmp_path / "target"
        receiver = self.example(udp_lab, "udp_receive", target)
        sender = send(udp_lab, source)

        assert (sender.wait(), receiver.wait()) == (DONE, 0), sender.errors + receiver.errors
        assert target.read_bytes() == source.read_bytes()
        assert sender.report["files"] is None
        assert sender.report["sha256"] == sha256(source)

    def test_a_file_comes_from_a_foreign_sender(self, udp_lab: Lab, tmp_path: Path) -> None:
        source, target = make_file(tmp_path / "source", 300_001), tmp_path / "target"
        receiver = receive(udp_lab, target)
        sender = self.example(udp_lab, "udp_send", source, udp_lab.there.address)

        assert (sender.wait(), receiver.wait()) == (0, DONE), sender.errors + receiver.errors
        assert target.read_bytes() == source.read_bytes()
        assert receiver.report["sha256"] == sha256(source)
        assert partial_directories(tmp_path) == []

    @pytest.mark.parametrize("count", [1, 2])
    def test_a_foreign_receiver_gets_no_tree(self, udp_lab: Lab, tmp_path: Path, count: int) -> None:
        make_tree(tmp_path / "source")
        file = make_file(tmp_path / "file", 10)
        self.example(udp_lab, "udp_receive", tmp_path / "target")
        sender = send(udp_lab, tmp_path / "source", *[file][: count - 1])

        assert sender.wait() == UNSUPPORTED
        assert "tree transfers" in one_line(sender)
        assert sender.report["result"] == "not-supported"
        assert (tmp_path / "target").read_bytes() == b""

    def test_a_foreign_sender_has_no_name_for_a_directory(self, udp_lab: Lab, tmp_path: Path) -> None:
        source = make_file(tmp_path / "source", 10)
        receiver = receive(udp_lab, f"{tmp_path}/")
        sender = self.example(udp_lab, "udp_send", source, udp_lab.there.address)

        assert sender.wait() != 0
        assert receiver.popen.poll() is None, "it waits for a peer that can do it"

    def test_a_stream_is_sent_as_one_file(self, udp_lab: Lab, tmp_path: Path) -> None:
        source, target = make_file(tmp_path / "source", 300_001), tmp_path / "target"
        receiver = receive(udp_lab, target)
        sender = udp_lab.start(udp_lab.here, "send", "-", udp_lab.there.address, "--json", stdin=source)

        assert (sender.wait(), receiver.wait()) == (DONE, DONE), sender.errors + receiver.errors
        assert target.read_bytes() == source.read_bytes()
        assert sender.report["sha256"] == receiver.report["sha256"] == sha256(source)

    @pytest.mark.parametrize("active", ["sender", "receiver"])
    def test_a_stream_takes_no_tree(self, udp_lab: Lab, tmp_path: Path, active: str) -> None:
        source = make_tree(tmp_path / "source")
        if active == "sender":
            udp_lab.wait_for_peer(udp_lab.there, "recv", "-")
            process = send(udp_lab, source)
            assert process.wait() == UNSUPPORTED
            assert "tree transfers" in one_line(process)
        else:
            udp_lab.wait_for_peer(udp_lab.here, "send", source)
            process = udp_lab.start(udp_lab.there, "recv", "-", udp_lab.here.address)
            assert process.wait() == UNREACHABLE
            assert "tree transfers" in one_line(process)
