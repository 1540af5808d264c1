# SPDX-License-Identifier: GPL-2.0-or-later
"""`netblt listen` and peers whose tree transfers are not what they should be: nothing outside DIR is changed."""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from selftest.netblt_command_helpers import make_file
from selftest.netblt_command_lab import Lab, Process
from selftest.netblt_listen_helpers import make_root, serve
from selftest.netblt_tree_forge import (
    HEADER_BYTES,
    Entry,
    Header,
    decode_header,
    directory,
    encode_content,
    encode_held,
    encode_manifest,
    end_of,
    first_step,
    hash_of,
    header_of,
    held_step,
    link,
    pull,
    push,
)

pytest_plugins = ["selftest.netblt_command_fixtures"]

RSS_MAX_KIB = 100 << 10


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The directory that is served, in one whose contents must not change."""
    make_file(tmp_path / "secret", 1000, seed=9)
    return make_root(tmp_path)


@pytest.fixture
def server(udp_lab: Lab, root: Path, tmp_path: Path) -> Iterator[Process]:
    """Afterwards it still serves, nothing outside is changed, and nothing partial is left."""
    secret = (tmp_path / "secret").read_bytes()
    running = serve(udp_lab, root)
    outside = {path for path in tmp_path.iterdir() if not path.name.startswith("forged-")}
    yield running
    assert end_of(push(udp_lab, "honest", first_step([Entry(b"honest", data=b"good")]))) == "done: "
    assert (root / "honest").read_bytes() == b"good"
    assert (tmp_path / "secret").read_bytes() == secret
    new = {path for path in tmp_path.iterdir() if not path.name.startswith("forged-")} - outside
    assert {path.suffix for path in new} <= {".stdout", ".stderr"}
    assert peak_kib(running) < RSS_MAX_KIB


def names_in(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def peak_kib(process: Process) -> int:
    status = Path(f"/proc/{process.popen.pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))


TOP = directory(b"t")
GOOD = Entry(b"t/file", data=b"x" * 1000)


def with_path(path: bytes) -> bytes:
    return first_step([TOP, Entry(path, data=b"data")])


BAD_MANIFESTS = {
    "up": (with_path(b"t/../../x"), ""),
    "up at the beginning": (first_step([Entry(b"../x", data=b"data")]), ""),
    "absolute": (first_step([Entry(b"/tmp/netblt-planted", data=b"data")]), ""),
    "a dot": (with_path(b"t/./x"), ""),
    "empty part": (with_path(b"t//x"), ""),
    "empty": (first_step([Entry(b"", data=b"data")]), ""),
    "a NUL": (with_path(b"t/a\0b"), ""),
    "a line": (with_path(b"t/a\nb"), "control character"),
    "an escape": (with_path(b"t/\x1b[31m"), "control character"),
    "a temporary name": (with_path(b"t/.netblt-1"), "reserved"),
    "beneath a temporary name": (
        first_step([TOP, directory(b"t/.netblt-partial-0"), Entry(b"t/.netblt-partial-0/x", data=b"d")]),
        "reserved",
    ),
    "no directory": (first_step([TOP, Entry(b"t/no/x", data=b"data")]), ""),
    "twice": (first_step([TOP, GOOD, GOOD]), ""),
    "beneath a file": (first_step([TOP, GOOD, Entry(b"t/file/x", data=b"data")]), ""),
    "beneath a link": (first_step([TOP, link(b"t/a", b"b"), Entry(b"t/a/x", data=b"data")]), ""),
    "a link up": (first_step([TOP, link(b"t/a", b"../secret")]), "leads out"),
    "a link up and down": (first_step([TOP, directory(b"t/d"), link(b"t/d/a", b"../../../secret")]), "leads out"),
    "a link down and up": (first_step([TOP, link(b"t/a", b"d/../../../secret")]), "leads out"),
    "an absolute link": (first_step([TOP, link(b"t/a", b"/etc/passwd")]), "leads out"),
    "a link alone": (first_step([link(b"t", b"../secret")]), "leads out"),
    "an unknown kind": (first_step([TOP, replace(GOOD, kind=4)]), ""),
    "a size beyond all": (first_step([TOP, replace(GOOD, size=1 << 63)]), ""),
    "a hole outside": (first_step([TOP, replace(GOOD, holes=((7, 1),))]), ""),
    "2 TiB of holes": (
        first_step([TOP, replace(GOOD, size=(1 << 41) + len(GOOD.data), holes=((0, 1 << 25),))]),
        "holes",
    ),
    "a hole without end": (first_step([TOP, replace(GOOD, holes=((0, (1 << 64) - 1),))]), ""),
}


def forged(manifest: bytes, content: bytes = b"") -> bytes:
    return header_of(manifest).encode() + manifest + content


HONEST = encode_manifest([TOP, GOOD])
CONTENT = encode_content([GOOD])
BAD_DATA = {
    "2^32 - 1 entries": (forged(encode_manifest([TOP], count=0xFFFFFFFF)), ""),
    "fewer entries than bytes": (forged(encode_manifest([TOP, GOOD], count=1)), ""),
    "a manifest cut short": (forged(HONEST[:-3]), ""),
    "a manifest of 2^63 bytes": (replace(header_of(HONEST), list_bytes=1 << 63).encode() + HONEST, ""),
    "a manifest of 1 GiB": (replace(header_of(HONEST), list_bytes=1 << 30).encode() + HONEST, ""),
    "another manifest's hash": (replace(header_of(HONEST), manifest_id=bytes(16)).encode() + HONEST + CONTENT, ""),
    "another magic": (replace(header_of(HONEST), magic=b"NBTX").encode() + HONEST + CONTENT, ""),
    "another version": (replace(header_of(HONEST), version=2).encode() + HONEST + CONTENT, ""),
    "a damaged header": (header_of(HONEST).encode()[:-1] + b"?" + HONEST + CONTENT, ""),
    "a held list": (held_step(HONEST, encode_held([1])), ""),
    "a wrong piece hash": (forged(HONEST, GOOD.data + bytes(32) + hash_of(GOOD.data)), ""),
    "a wrong sum": (forged(HONEST, GOOD.data + hash_of(GOOD.data) + bytes(32)), ""),
    "wrong bytes": (forged(HONEST, b"y" * 1000 + 2 * hash_of(GOOD.data)), ""),
    "more than the content": (forged(HONEST, CONTENT + b"more"), ""),
    "no header": (b"x" * 40, ""),
    "nothing": (b"", ""),
}


class TestStoring:
    def test_bad_manifests_are_refused_with_a_reason(self, udp_lab: Lab, server: Process, root: Path) -> None:
        for what, (data, words) in BAD_MANIFESTS.items():
            end = end_of(push(udp_lab, "target", data))
            assert end.startswith("peer-aborted: "), what
            assert words in end, what
            server.wait_until(lambda: names_in(root) == ["inner"], f"nothing is left of {what}")

    @pytest.mark.usefixtures("server")
    def test_bad_data_are_refused_with_a_reason(self, udp_lab: Lab, root: Path) -> None:
        for what, (data, words) in BAD_DATA.items():
            end = end_of(push(udp_lab, "target", data))
            assert end.startswith("peer-aborted: "), what
            assert words in end, what
            assert not (root / "target" / "file").exists(), what

    @pytest.mark.usefixtures("server")
    def test_bits_that_give_rights_are_dropped(self, udp_lab: Lab, root: Path) -> None:
        entries = [replace(TOP, mode=0o7777), replace(GOOD, mode=0o7755)]
        assert end_of(push(udp_lab, "target", first_step(entries))) == "done: "

        assert stat.S_IMODE((root / "target" / "file").stat().st_mode) == 0o755
        assert stat.S_IMODE((root / "target").stat().st_mode) == 0o777

    @pytest.mark.usefixtures("server")
    def test_no_link_in_the_target_is_followed(self, udp_lab: Lab, root: Path, tmp_path: Path) -> None:
        (root / "target").mkdir()
        (root / "target" / "d").symlink_to(tmp_path)
        end = end_of(push(udp_lab, "target", first_step([TOP, directory(b"t/d"), Entry(b"t/d/planted", data=b"x")])))

        assert end.startswith("peer-aborted: ")
        assert not (tmp_path / "planted").exists()
        (root / "target" / "d").unlink()

    def test_more_entries_than_the_server_stores(self, udp_lab: Lab, root: Path) -> None:
        server = serve(udp_lab, root, "--max-entries", "10")
        entries = [TOP, *(Entry(b"t/%02d" % i, data=b"x") for i in range(20))]
        end = end_of(push(udp_lab, "target", first_step(entries)))

        assert "more files and directories" in end
        server.wait_until(lambda: names_in(root) == ["inner"], "nothing is left of the directory")


class TestSending:
    @pytest.mark.usefixtures("server")
    def test_a_directory_is_sent_without_what_is_being_stored(self, udp_lab: Lab, root: Path) -> None:
        make_file(root / "inner" / "file", 1000)
        make_file(root / "inner" / ".netblt-7", 1000)
        (root / "inner" / ".netblt-partial-0").mkdir()
        os.mkfifo(root / "inner" / "pipe")
        puller = pull(udp_lab, "inner")
        assert end_of(puller) == "done: "
        data = puller.stdout.read_bytes()
        header = decode_header(data)

        assert data[HEADER_BYTES : HEADER_BYTES + header.list_bytes].count(b"inner") == 2
        assert struct.unpack_from("!I", data, HEADER_BYTES) == (2,)
        assert (root / "inner" / "file").read_bytes() in data

    @pytest.mark.usefixtures("server")
    def test_temporary_names_are_not_there(self, udp_lab: Lab, root: Path) -> None:
        make_file(root / "inner" / ".netblt-7", 1000)
        (root / ".netblt-partial-0").mkdir()
        make_file(root / ".netblt-partial-0" / "file", 1000)

        for name in ["inner/.netblt-7", ".netblt-partial-0/file", ".netblt-partial-0"]:
            assert end_of(pull(udp_lab, name)) == "refused: no such file", name
        (root / ".netblt-partial-0" / "file").unlink()

    @pytest.mark.usefixtures("server")
    def test_names_that_lead_out_are_refused(self, udp_lab: Lab, root: Path) -> None:
        (root / "out").symlink_to("../secret")
        (root / "outer").symlink_to("..")

        for name in ["..", "../secret", "/etc", "inner/..", "out", "outer/secret", "x netblt=held:"]:
            assert end_of(pull(udp_lab, name)).startswith("refused: "), name

    @pytest.mark.usefixtures("server")
    def test_links_that_lead_out_are_not_followed(self, udp_lab: Lab, root: Path, tmp_path: Path) -> None:
        (root / "inner" / "out").symlink_to("../../secret")
        (root / "inner" / "outer").symlink_to(tmp_path)
        puller = pull(udp_lab, "inner")

        assert end_of(puller) == "done: "
        assert (tmp_path / "secret").read_bytes()[:16] not in puller.stdout.read_bytes()

    def test_more_entries_than_the_server_sends(self, udp_lab: Lab, root: Path) -> None:
        for i in range(20):
            make_file(root / "inner" / f"{i}", 1)
        serve(udp_lab, root, "--max-entries", "10")

        assert "more than 10 files" in end_of(pull(udp_lab, "inner"))


BAD_HELD_LISTS = [
    b"",
    b"\0\0",
    encode_held([0]),
    encode_held([7]),
    encode_held([1], count=0xFFFFFFFF),
    encode_held([1, 1]),
    struct.pack("!IIBIBQ", 1, 1, 0, 1, 60, 1 << 60) + bytes(32),
]


def held_data(manifest_id: str, held: bytes) -> bytes:
    header = Header(2, flags=0, list_bytes=len(held), manifest_id=bytes.fromhex(manifest_id) + bytes(8))
    return replace(header, held_id=hash_of(held)[:8]).encode() + held


class TestSteps:
    """Steps 3 to 5 by a peer that makes them up."""

    @pytest.mark.usefixtures("server")
    def test_content_of_other_files(self, udp_lab: Lab, root: Path) -> None:
        make_file(root / "inner" / "file", 1000)

        assert end_of(pull(udp_lab, f"inner netblt=content:{'0' * 16}:{'0' * 16}:0")) == "peer-aborted: netblt: changed"

    @pytest.mark.usefixtures("server")
    def test_a_held_list_that_the_server_does_not_have(self, udp_lab: Lab, root: Path) -> None:
        manifest_id = self.manifest_id(udp_lab, root)

        assert end_of(pull(udp_lab, f"inner netblt=content:{manifest_id}:{'1' * 16}:0")) == (
            "peer-aborted: netblt: resume"
        )

    @pytest.mark.usefixtures("server")
    def test_content_beyond_its_end(self, udp_lab: Lab, root: Path) -> None:
        manifest_id = self.manifest_id(udp_lab, root)
        end = end_of(pull(udp_lab, f"inner netblt=content:{manifest_id}:{'0' * 16}:{1 << 40}"))

        assert end.startswith("peer-aborted: ")
        assert "shorter" in end

    @pytest.mark.usefixtures("server")
    def test_what_is_held_is_not_sent_again(self, udp_lab: Lab, root: Path) -> None:
        manifest_id = self.manifest_id(udp_lab, root)
        held = encode_held([1])
        data = held_data(manifest_id, held)
        assert end_of(push(udp_lab, f"inner netblt=held:{manifest_id}", data)) == "done: "
        puller = pull(udp_lab, f"inner netblt=content:{manifest_id}:{hash_of(held)[:8].hex()}:0")

        assert end_of(puller) == "done: "
        assert puller.stdout.stat().st_size == HEADER_BYTES
        assert decode_header(puller.stdout.read_bytes()).held_id == hash_of(held)[:8]

    @pytest.mark.usefixtures("server")
    def test_a_bad_held_list(self, udp_lab: Lab, root: Path) -> None:
        manifest_id = self.manifest_id(udp_lab, root)
        for held in BAD_HELD_LISTS:
            data = held_data(manifest_id, held)
            push(udp_lab, f"inner netblt=held:{manifest_id}", data).wait()
            end = end_of(pull(udp_lab, f"inner netblt=content:{manifest_id}:{hash_of(held)[:8].hex()}:0"))
            assert end.startswith("peer-aborted: "), held
            assert end != "peer-aborted: netblt: changed", held

    @pytest.mark.usefixtures("server")
    def test_a_held_list_with_a_wrong_header(self, udp_lab: Lab, root: Path) -> None:
        (root / "inner" / "file").write_bytes(b"x")
        manifest_id = hash_of(HONEST)[:8].hex()
        wrong: list[dict[str, object]] = [{"list_bytes": 1 << 60}, {"data": 1}, {"held_id": b"\1" * 8}, {"version": 9}]
        for changes in wrong:
            data = held_step(HONEST, encode_held([1]), **changes)
            assert end_of(push(udp_lab, f"inner netblt=held:{manifest_id}", data)).startswith("peer-aborted: "), changes

    @pytest.mark.usefixtures("server")
    def test_held_lists_take_bounded_memory(self, udp_lab: Lab, root: Path) -> None:
        (root / "inner" / "file").write_bytes(b"x")
        for i in range(8):
            manifest = encode_manifest([TOP], count=i)
            data = held_step(manifest, bytes([i]) * (15 << 20))
            assert end_of(push(udp_lab, f"inner netblt=held:{hash_of(manifest)[:8].hex()}", data)) == "done: "
        too_long = held_step(HONEST, bytes(17 << 20))

        assert end_of(push(udp_lab, f"inner netblt=held:{hash_of(HONEST)[:8].hex()}", too_long)).startswith("peer-")

    @pytest.mark.usefixtures("server")
    def test_the_held_list_of_what_is_not_stored_here(self, udp_lab: Lab) -> None:
        assert end_of(pull(udp_lab, f"inner netblt=held:{'0' * 16}")) == "peer-aborted: netblt: changed"

    @staticmethod
    def manifest_id(lab: Lab, root: Path) -> str:
        make_file(root / "inner" / "file", 1000)
        puller = pull(lab, "inner")
        assert end_of(puller) == "done: "
        return decode_header(puller.stdout.read_bytes()).manifest_id[:8].hex()
