# SPDX-License-Identifier: GPL-2.0-or-later
"""The wire link: real packets, the program's end as text, nothing that remains, and what happens without rights."""

from __future__ import annotations

import contextlib
import os
import select
import shlex
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from netblt_conformance.adapter.adapter_file import read
from netblt_conformance.common import namespaces, nobody, paths
from netblt_conformance.common.errors import LinkUnavailableError
from netblt_conformance.common.remarks import Remark
from netblt_conformance.common.verdicts import Verdict
from netblt_conformance.links import netns, places
from netblt_conformance.links.program import remove_leftovers
from netblt_conformance.packets.packets import Forge, Type

if TYPE_CHECKING:
    from netblt_conformance.common.verdicts import Result
    from selftest.conftest import Command, Outcome

CONFORMANCE = Path(__file__).resolve().parents[1]
PROGRAM = paths.build() / "bin" / "netblt"
FEW = "CKSUM-06,CTRL-04,RESEND-02"
ONE = "two_packets_set_a_connection_up"

pytestmark = pytest.mark.usefixtures("wire_is_possible")


def adapter(tmp_path: Path, command: str, more: str = "") -> str:
    """An adapter whose program is a shell script, in the role of a passive receiver."""
    path = tmp_path / "adapter.toml"
    script = tmp_path / "program"
    script.write_text(f"#!/bin/sh\n{command}\n", encoding="utf-8")
    script.chmod(0o755)
    words = f'command = ["{script}", "{{bin}}/netblt", "{{file_out}}", "{{local_port}}", "{{local_address}}"]'
    text = f'name = "script"\n[wire]\nready_s = 1\n{more}\n[wire.roles.passive-receiver]\n{words}\n'
    path.write_text(text, encoding="utf-8")
    return str(path)


# The reference, run by the script above.
RECEIVE = 'exec "$1" recv "$2" --passive --port "$3" --bind "$4" --quiet --buffer-size 1024 --packet-size 256'


def unconfirmed(result: Result) -> bool:
    """A busy machine disturbed it once; alone it passed."""
    return result.verdict == Verdict.INCONC and result.has(Remark.UNCONFIRMED)


def all_passed(done: Outcome) -> bool:
    """A program that has ended with its transfer cannot be asked what it does afterwards; long cases are not run."""
    left = [result for result in done.results if result.verdict != Verdict.PASS and not unconfirmed(result)]
    return any(result.verdict == Verdict.PASS for result in done.results) and all(
        result.verdict == Verdict.NA and ("its program has ended" in result.seen or "(--long)" in result.seen)
        for result in left
    )


@pytest.mark.nightly
def test_the_program_passes_with_real_packets(command: Command) -> None:
    done = command("run", "--link", "wire", "--select", FEW)
    assert done.status == 0, done.output + done.errors
    assert all_passed(done)
    judged = [result for result in done.results if result.verdict == Verdict.PASS]
    looked_at_again = sum(unconfirmed(result) for result in done.results)  # both looks may leave one
    assert 0 <= len(list(done.report.glob("*.pcapng"))) - len(judged) <= 2 * looked_at_again


@pytest.mark.parametrize(
    ("script", "status", "words"),
    [
        ("echo cannot do that >&2; exit 127", 2, "no transfer has run in this role: is the command right"),
        ("echo unknown option >&2; exit 2", 2, "refuses its command line: unknown option"),
        ("kill -SEGV $$", 1, "SIGSEGV"),
        ("echo 'x.c:1: runtime error: shift exponent' >&2; exit 1", 1, "runtime error: shift exponent"),
        ("sleep 60", 2, "did not listen within 1 s"),
        ("echo bye >&2; exit 0", 2, "does not listen: the program ended with exit status 0, standard error: bye"),
    ],
)
def test_the_end_of_a_program_is_told_in_words(
    command: Command, tmp_path: Path, script: str, status: int, words: str
) -> None:
    file = adapter(tmp_path, script)
    done = command("run", "--link", "wire", "--adapter", file, "--select", "OPEN-02", "--role", "passive-receiver")
    assert done.status == status, done.output + done.errors
    assert words in done.output + done.errors


def test_a_program_that_is_not_there_is_named(command: Command, tmp_path: Path) -> None:
    file = adapter(tmp_path, "true")
    (tmp_path / "program").unlink()
    done = command("run", "--link", "wire", "--adapter", file, "--select", "OPEN-02")
    assert done.status == 2
    assert str(tmp_path / "program") in done.errors


def passive_receiver(command: Command, file: str, select: str, place: str = "") -> Outcome:
    words = ["run", "--link", "wire", "--adapter", file, "--select", select, "--role", "passive-receiver"]
    return command(*words, NETBLT_WIRE_PLACE=place) if place else command(*words)


def test_exit_status_127_is_believed_in_a_role_that_has_run(command: Command, tmp_path: Path) -> None:
    """The program knows some tests by their ID and does not want one of them; the others it passes."""
    script = f'case "$NETBLT_TEST_ID" in every_control*) echo not that one >&2; exit 127;; esac\n{RECEIVE}'
    done = passive_receiver(command, adapter(tmp_path, script), f"every_control,{ONE}")
    verdicts = {result.case: result.verdict for result in done.results}
    assert verdicts["every_control_carries_all_messages_that_are_not_acknowledged"] is Verdict.NA
    assert Verdict.PASS in verdicts.values()
    assert done.status == 0, done.output + done.errors
    assert any(result.seen == "not that one" for result in done.results)


def test_each_case_tells_its_id(command: Command, tmp_path: Path) -> None:
    log = tmp_path / "log"
    done = passive_receiver(command, adapter(tmp_path, f'echo "$NETBLT_TEST_ID" >> {log}\n{RECEIVE}'), "CKSUM-06")
    told = set(log.read_text(encoding="utf-8").splitlines())
    cases = {f"{r.case}[{r.role}{'' if r.arm == 'stimulus' else '-control'}]" for r in done.results}
    assert cases <= told
    assert len(told - cases) == 1, "the probe has an ID of its own"
    assert (tmp_path / "log").read_text(encoding="utf-8").splitlines()[0] not in cases


def test_readiness_and_success_can_be_words_of_the_program(command: Command, tmp_path: Path) -> None:
    """It prints that it listens, ends with 7 after success, and prints this."""
    script = f"({RECEIVE}) & sleep 0.3; echo now I listen; wait $! && echo all is well; exit 7"
    more = 'ready_output = "now I listen$"\nsuccess_exit = [7]\nsuccess_output = "^all is well"'
    done = passive_receiver(command, adapter(tmp_path, script, more), "two_packets_set_a_connection_up")
    assert [result.verdict for result in done.results] == [Verdict.PASS], done.output
    done = passive_receiver(
        command, adapter(tmp_path, script, more.replace("well", "swell")), "two_packets_set_a_connection_up"
    )
    assert [result.verdict for result in done.results] == [Verdict.FAIL], done.output


@pytest.mark.parametrize(
    ("end", "status", "words"),
    [("exit 1", 0, "known failure, https://example.org/1"), ("exit 0", 1, "passes now: remove the entry")],
)
def test_a_known_failure_passes_and_an_unexpected_pass_fails(
    command: Command, tmp_path: Path, end: str, status: int, words: str
) -> None:
    file = Path(adapter(tmp_path, f"{RECEIVE.removeprefix('exec ')}\n{end}"))
    known = '\n[[known_failure]]\ncase = "OPEN-01"\nurl = "https://example.org/1"\nmessage = "failure was reported"\n'
    file.write_text(file.read_text(encoding="utf-8") + known, encoding="utf-8")
    done = passive_receiver(command, str(file), "OPEN-01")
    assert done.status == status, done.output
    assert words in " ".join(done.output.split())


@pytest.mark.nightly
@pytest.mark.parametrize("encapsulation", ["ip", "udp"])
def test_the_wire_carries_netblt_in_ip_and_in_udp(command: Command, tmp_path: Path, encapsulation: str) -> None:
    text = (paths.adapters() / "reference.toml").read_text(encoding="utf-8")
    file = tmp_path / "reference.toml"
    assert '["ip", "udp"]' in text
    file.write_text(text.replace('["ip", "udp"]', f'"{encapsulation}"'), encoding="utf-8")
    done = command("run", "--link", "wire", "--adapter", str(file), "--select", "OPEN-01,CTRL-04,CLOSE-01")
    assert done.status == 0, done.output + done.errors
    assert f"network namespaces, {encapsulation})" in done.output
    assert {result.verdict for result in done.results if not unconfirmed(result)} == {Verdict.PASS}, done.output


def test_without_namespaces_packets_go_through_udp_on_loopback_and_the_run_says_so(
    command: Command, tmp_path: Path
) -> None:
    """With a UDP port of its own: another program may use the default one."""
    text = (paths.adapters() / "reference.toml").read_text(encoding="utf-8")
    file = tmp_path / "reference.toml"
    assert text.count("udp_port = 9980\n") == 1
    file.write_text(text.replace("udp_port = 9980\n", f"udp_port = {free_udp_port()}\n"), encoding="utf-8")
    done = command(
        "run", "--link", "wire", "--adapter", str(file), "--select", "RESEND-02", NETBLT_WIRE_PLACE="loopback"
    )
    assert done.status == 0, done.output + done.errors
    assert "(UDP on loopback, udp)" in done.output
    assert all_passed(done)


def test_loopback_needs_an_adapter_that_can_do_udp(command: Command, tmp_path: Path) -> None:
    done = passive_receiver(command, adapter(tmp_path, RECEIVE), "OPEN-01", place="loopback")
    assert done.status == 2
    assert "does not state that it supports UDP" in done.errors


FAR = "127.0.0.9"


def free_udp_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind((FAR, 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def far_udp_port() -> int:
    """Where the remote implementation listens: other tests, and other runs of this one, go on beside it."""
    return free_udp_port()


@contextlib.contextmanager
def receiving(tmp_path: Path, far_udp_port: int) -> Iterator[int]:
    """The reference, receiving one file after the other on loopback as if on another host; its NETBLT port."""
    words = [str(PROGRAM), "recv", str(tmp_path / "far"), "--passive", "--port", "77", "--encap", "udp"]
    words += ["--udp-port", str(far_udp_port), "--bind", FAR, "--buffer-size", "64k", "--max-buffers", "8"]
    loop = f"while true; do {shlex.join(words)}; done"
    process = subprocess.Popen(["sh", "-c", loop], start_new_session=True, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        assert "waiting for" in process.stderr.readline()
        yield 77
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@pytest.fixture
def daemon(tmp_path: Path, far_udp_port: int) -> Iterator[int]:
    with receiving(tmp_path, far_udp_port) as port:
        yield port


def remote(file: Path, udp_port: int, role: str) -> Path:
    """An adapter for what already runs."""
    text = f'name = "far away"\n[remote]\naddress = "{FAR}"\nencapsulation = "udp"\nudp_port = {udp_port}\n{role}'
    file.write_text(text, encoding="utf-8")
    return file


IMPATIENT = "[pixit]\nsetup_max_s = 1\n"
STORED = "a_data_packet_with_a_bad_header_checksum_is_not_stored: DATA"


def test_a_remote_implementation_is_judged_by_what_it_sends(
    command: Command, tmp_path: Path, far_udp_port: int, daemon: int
) -> None:
    file = remote(tmp_path / "remote.toml", far_udp_port, f"[remote.roles.passive-receiver]\nport = {daemon}\n")
    # This one serves a peer at a time and is away between two, so the tester has to ask again; and nothing shows what
    # its client gets, so only the packets count.
    done = passive_receiver(command, str(file), f"RESEND-01,{ONE},OPEN-02,NEG-03,the_data_arrive")
    # Its limits are its own too: the tester does not know them (NEG-06), and its client cannot be stalled (DATA-15).
    client = [result.requirements[0] in ("DATA-08", "DATA-15") for result in done.results]
    assert {result.verdict for result, asks in zip(done.results, client, strict=True) if not asks} == {Verdict.PASS}
    assert {result.verdict for result, asks in zip(done.results, client, strict=True) if asks} == {Verdict.NA}
    assert "remote 127.0.0.9" in done.output


class Busy:
    """Is in front of a remote end and refuses for it: as if it were still busy whenever a connection is opened."""

    def __init__(self, udp_port: int, behind_udp_port: int, busy_s: float) -> None:
        self._behind = (FAR, behind_udp_port)
        self._front = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._front.bind((FAR, udp_port))
        self._back = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._back.bind(("127.0.0.1", 0))
        self._busy_s = busy_s
        self._first_s: dict[bytes, float] = {}  # when a connection was opened first, by its unique ID
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._serve)
        self.refused = 0

    def __enter__(self) -> Busy:
        self._thread.start()
        return self

    def __exit__(self, *about: object) -> None:
        self._over.set()
        self._thread.join()
        self._front.close()
        self._back.close()

    def _has_waited(self, unique_id: bytes) -> bool:
        now_s = time.monotonic()
        return now_s >= self._first_s.setdefault(unique_id, now_s) + self._busy_s

    def _serve(self) -> None:
        tester: tuple[str, int] | None = None
        while not self._over.is_set():
            for ready in select.select([self._front, self._back], [], [], 0.1)[0]:
                packet, whence = ready.recvfrom(65536)
                if ready is self._back:
                    if tester is not None:
                        self._front.sendto(packet, tester)
                    continue
                tester = whence
                if packet[3] != Type.OPEN or self._has_waited(packet[12:16]):
                    self._back.sendto(packet, self._behind)
                else:
                    theirs, ours = struct.unpack_from(">HH", packet, 6)
                    self._front.sendto(Forge(packet[2], ours, theirs).reason(Type.REFUSED, "busy"), tester)
                    self.refused += 1


@pytest.mark.parametrize(
    ("busy_s", "more", "verdicts"),
    [(2.5, "", {Verdict.PASS}), (3600, IMPATIENT, {Verdict.INCONC, Verdict.FAIL})],
    ids=["for a while", "for ever"],
)
def test_a_remote_end_that_is_busy_is_asked_again_for_a_while(
    command: Command, tmp_path: Path, far_udp_port: int, busy_s: float, more: str, verdicts: set[Verdict]
) -> None:
    behind = free_udp_port()
    file = remote(tmp_path / "remote.toml", far_udp_port, f"[remote.roles.passive-receiver]\nport = 77\n{more}")
    with receiving(tmp_path, behind), Busy(far_udp_port, behind, busy_s) as busy:
        done = passive_receiver(command, str(file), "a_packet_lost_again_is_asked_for_again")
    assert busy.refused > 1
    assert {result.verdict for result in done.results} <= verdicts, done.output


@pytest.fixture
def server(tmp_path: Path, far_udp_port: int) -> Iterator[int]:
    """A server for files, which wants to know their names; its NETBLT port."""
    (tmp_path / "served").mkdir()
    words = [str(PROGRAM), "listen", "--root", str(tmp_path / "served"), "--force", "--port", "78", "--encap", "udp"]
    words += ["--udp-port", str(far_udp_port), "--bind", FAR]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield 78
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize(("string", "verdict"), [('tester_string = "file"', Verdict.PASS), ("", Verdict.INCONC)])
def test_a_server_is_given_the_string_that_it_wants(
    command: Command, tmp_path: Path, far_udp_port: int, server: int, string: str, verdict: Verdict
) -> None:
    role = f"[remote.roles.passive-receiver]\nport = {server}\n{string}\n"
    file = remote(tmp_path / "remote.toml", far_udp_port, role)
    done = passive_receiver(command, str(file), "a_packet_lost_again_is_asked_for_again")
    assert [result.verdict for result in done.results] == [verdict], done.output


@pytest.mark.long
def test_a_remote_implementation_fetches_what_was_delivered(
    command: Command, tmp_path: Path, far_udp_port: int
) -> None:
    """An active end is triggered by a command whose exit status is the outcome, and a hook fetches the file."""
    far = tmp_path / "far"
    words = ["{bin}/netblt", "recv", str(far), "{peer_address}", "--port", "{peer_port}", "--encap", "udp"]
    words += ["--udp-port", "{peer_udp_port}", "--bind", FAR, "--quiet", "--buffer-size", "{buffer_size}"]
    words += ["--packet-size", "{packet_size}"]
    text = f"[remote.roles.active-receiver]\ncommand = {words}\nafter = ['cp', '{far}', '{{file_out}}']\n"
    text += f"before = ['rm', '-f', '{far}']\n"
    file = remote(tmp_path / "remote.toml", far_udp_port, text)
    done = command("run", "--link", "wire", "--adapter", str(file), "--select", STORED, "--role", "active-receiver")
    assert [result.verdict for result in done.results] == [Verdict.PASS] * 2, done.output + done.errors
    remote(file, far_udp_port, text.replace("'cp'", "'false'"))
    done = command("run", "--link", "wire", "--adapter", str(file), "--select", STORED, "--role", "active-receiver")
    assert "after: false failed" in done.output


@pytest.mark.long
def test_nobody_at_a_remote_address_is_inconclusive_within_bounds(
    command: Command, tmp_path: Path, far_udp_port: int
) -> None:
    role = f"jobs = 3\n[remote.roles.passive-receiver]\nport = 7\n{IMPATIENT}"
    file = remote(tmp_path / "remote.toml", far_udp_port, role)
    done = passive_receiver(command, str(file), "OPEN-02")
    assert done.status in (1, 2), done.output
    assert not [result for result in done.results if result.verdict is Verdict.PASS]


def running_with(test_id: str) -> list[int]:
    """Processes whose environment holds this test ID."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"NETBLT_TEST_ID={test_id}".encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def namespace_of(pid: int | str) -> str:
    try:
        return str(Path(f"/proc/{pid}/ns/net").readlink())
    except OSError:
        return ""


def test_nothing_is_left_when_the_suite_is_killed(tmp_path: Path) -> None:
    words = ["run", "--link", "wire", "--select", "OPEN-03", "--role", "active-sender", "--report", str(tmp_path / "r")]
    suite = subprocess.Popen(
        [sys.executable, "-m", "netblt_conformance", *words, "--seed", str(os.getpid())],
        env={**os.environ, "PYTHONPATH": str(CONFORMANCE)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    name = "an_open_without_answer_is_repeated_and_then_given_up[active-sender]"
    try:
        give_up = time.monotonic() + 90
        while not running_with(name) and time.monotonic() < give_up:
            time.sleep(0.05)
        programs = running_with(name)
        assert programs
        home = namespace_of("self")
        namespaces = {namespace_of(pid) for pid in programs} - {home}
        assert namespaces
    finally:
        suite.send_signal(signal.SIGKILL)
        suite.wait()
    give_up = time.monotonic() + 30
    while running_with(name) and time.monotonic() < give_up:
        time.sleep(0.05)
    assert not running_with(name)
    left = {namespace_of(folder.name) for folder in Path("/proc").glob("[0-9]*")} - {""}
    assert not namespaces & left, "processes in the case's network namespaces"
    folders = list(Path(tempfile.gettempdir()).glob("netblt-wire-*-*"))
    remove_leftovers()
    owners = {folder.name.split("-")[2] for folder in folders if folder.exists()}
    assert all(Path(f"/proc/{owner}").exists() for owner in owners)


def test_an_interrupted_run_leaves_no_folder(tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    words = ["run", "--link", "wire", "--select", "OPEN-03", "--role", "active-sender", "--report", str(tmp_path / "r")]
    suite = subprocess.Popen(
        [sys.executable, "-m", "netblt_conformance", *words, "--no-dissector"],
        env={**os.environ, "PYTHONPATH": str(CONFORMANCE), "TMPDIR": str(temporary)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    give_up = time.monotonic() + 90
    while not list(temporary.glob("netblt-wire-*")) and time.monotonic() < give_up:
        time.sleep(0.05)
    assert list(temporary.glob("netblt-wire-*"))
    suite.send_signal(signal.SIGTERM)
    assert suite.wait(60) == 2
    assert not list(temporary.glob("netblt-wire-*"))


def test_without_rights_the_other_links_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing:
        @staticmethod
        def unshare(flags: int) -> int:
            del flags
            return -1

    monkeypatch.setattr(namespaces, "_libc", Refusing)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(LinkUnavailableError, match="--link sim and --link pipe need no rights"):
        netns.become_root_of_a_user_namespace()
    # The whole factory: with an adapter that can do UDP there is a way left.
    assert places.WireLinkFactory(read(paths.adapters() / "reference.toml"))._find_place().words == places.LOOPBACK


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder for another user: pytest's own lie in closed ones."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        yield Path(name)


@pytest.mark.skipif(not nobody.changes_user(), reason="only root can become another user")
def test_an_ordinary_user_gets_the_wire_link_through_a_user_namespace(open_folder: Path) -> None:
    words = ["run", "--link", "wire", "--select", "CKSUM-06", "--role", "passive-receiver", "-q"]
    become = nobody.credentials()
    if subprocess.run(["unshare", "-rn", "true"], capture_output=True, check=False, cwd="/", **become).returncode != 0:
        pytest.skip("no user namespaces for ordinary users here")
    if subprocess.run(["test", "-r", str(PROGRAM)], check=False, cwd="/", **become).returncode != 0:
        pytest.skip("the build folder is closed to other users")
    done = subprocess.run(
        [sys.executable, "-m", "netblt_conformance", *words, "--report", str(open_folder / "r")],
        **become,
        env={**os.environ, "PYTHONPATH": str(CONFORMANCE), "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(open_folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
