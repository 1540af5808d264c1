# SPDX-License-Identifier: GPL-2.0-or-later
"""What the command may still do when it processes packets: no capability, no other user's files, nothing outside its
directory, no system call that moving data does not need."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import stat
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from selftest.netblt_command_helpers import (
    DONE,
    INTERRUPTED,
    LOCAL,
    UNREACHABLE,
    UNSUPPORTED,
    make_file,
    needs_root,
    one_line,
    sha256,
)
from selftest.netblt_command_lab import NETBLT, Lab, Process, is_root
from selftest.netblt_listen_helpers import fetch, make_root, serve, store
from selftest.netblt_rights_helpers import (
    CAPABILITY_SETS,
    EINVAL,
    ENOSYS,
    LANDLOCK_CREATE_RULESET,
    NOBODY,
    OTHER,
    PR_SET_SECCOMP,
    PRCTL,
    SECCOMP,
    become,
    owned_directory,
    owned_file,
    probed,
    status_of,
    without_system_call,
)

pytest_plugins = ["selftest.netblt_command_fixtures"]

PROBE = Path(__file__).with_name("test_netblt_rights_probe.c")
needs_x86_64 = pytest.mark.skipif(os.uname().machine != "x86_64", reason="knows system call numbers of x86-64 only")


@pytest.fixture
def sandbox(udp_lab: Lab, tmp_path: Path) -> None:
    """Skips the test where this kernel or this build confines nothing."""
    required = udp_lab.start(udp_lab.there, "recv", tmp_path / "none", "--passive", "--sandbox", "require")
    try:
        required.wait_until_it_waits()
    except AssertionError:
        assert required.wait() == UNSUPPORTED, required.errors
        pytest.skip(one_line(required))
    required.end()


@pytest.fixture(scope="session")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that tries what injected code would try."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    library = tmp_path_factory.mktemp("probe") / "probe.so"
    options = ["-std=c17", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-O1", "-fPIC", "-shared"]
    subprocess.run([compiler, *options, str(PROBE), "-o", str(library), "-ldl"], check=True, timeout=60)
    return library


@pytest.fixture
def public_path() -> Iterator[Path]:
    """A directory that every user may pass; those of pytest are for the one who runs it."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)
        yield Path(folder)


@pytest.fixture
def preload(sandbox: None, probe: Path) -> Callable[..., Callable[[], None]]:
    """For Lab.start(prepare=): loads the probe; keywords are its environment."""
    del sandbox

    def with_environment(**names: str) -> Callable[[], None]:
        return lambda: os.environ.update(LD_PRELOAD=str(probe), **names)

    return with_environment


def start_waiting(lab: Lab, command: str, folder: Path, *options: str, **more: Any) -> Process:
    """Each command as the end that waits; `folder` holds its files."""
    words: dict[str, list[str | Path]] = {
        "send": ["send", make_file(folder / "source", 5000), "--passive"],
        "recv": ["recv", folder / "target", "--passive"],
        "listen": ["listen", "--root", folder],
        "perf": ["perf", "--passive", "--working-set", "1M"],
    }
    process = lab.start(lab.there, *words[command], *options, **more)
    process.wait_until_it_waits()
    return process


COMMANDS = ["send", "recv", "listen", "perf"]


class TestCapabilities:
    @pytest.mark.parametrize("sandbox_option", ["auto", "off"])
    @pytest.mark.parametrize("command", COMMANDS)
    def test_none_is_left_while_it_waits(self, lab: Lab, tmp_path: Path, command: str, sandbox_option: str) -> None:
        process = start_waiting(lab, command, tmp_path, "--sandbox", sandbox_option)
        status = status_of(process)

        for name in CAPABILITY_SETS:
            assert int(status[name], 16) == 0, name
        assert status["NoNewPrivs"] == "1"
        if is_root():
            assert int(status["CapBnd"], 16) == 0

    @pytest.mark.parametrize("role", ["send", "recv"])
    def test_none_is_left_at_the_end_that_opens(self, lab: Lab, tmp_path: Path, role: str) -> None:
        words: list[str | Path] = [role, make_file(tmp_path / "file", 10)]
        process = lab.start(lab.here, *words, lab.there.address)

        def has_given_up() -> bool:
            status = status_of(process)
            return int(status["CapPrm"], 16) == 0 and status["NoNewPrivs"] == "1"

        process.wait_until(has_given_up, "capabilities, and the way back to them, are gone")

    @needs_root
    def test_a_user_with_cap_net_raw_alone_uses_raw_ip(self, raw_lab: Lab, public_path: Path) -> None:
        if shutil.which("setpriv") is None:
            pytest.skip("no setpriv(1)")
        root = owned_directory(public_path / "served", NOBODY, 0o700)
        rights = [
            "--reuid", str(NOBODY.pw_uid), "--regid", str(NOBODY.pw_gid), "--clear-groups",
            "--inh-caps", "+net_raw", "--ambient-caps", "+net_raw", "--bounding-set", "-all,+net_raw",
        ]  # fmt: skip
        log = public_path / "server.stderr"
        with raw_lab.there.inside(), log.open("wb") as stderr:
            popen = subprocess.Popen(
                ["setpriv", *rights, "--pdeathsig", "KILL", str(NETBLT), "listen", "--root", str(root)],
                stderr=stderr, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            )  # fmt: skip
        server = Process(popen, log, log)
        raw_lab.processes.append(server)
        server.wait_until_it_waits()
        stored = store(raw_lab, make_file(public_path / "source", 3000), "new")

        assert stored.wait() == DONE, stored.errors
        assert sha256(root / "new") == sha256(public_path / "source")
        assert int(status_of(server)["CapPrm"], 16) == 0


@needs_root
class TestRootServes:
    """Started as root without --user: it may do what the modes of files allow the user root."""

    @pytest.mark.parametrize("mode", [0o000, 0o600])
    def test_a_file_that_only_another_user_may_read_is_refused(self, lab: Lab, tmp_path: Path, mode: int) -> None:
        root = make_root(tmp_path)
        owned_file(root / "secret", NOBODY, mode)
        serve(lab, root)
        fetched = fetch(lab, "secret", tmp_path / "copy")

        assert fetched.wait() == UNREACHABLE
        assert "permission denied" in one_line(fetched)

    def test_the_same_without_a_sandbox(self, udp_lab: Lab, tmp_path: Path) -> None:
        root = make_root(tmp_path)
        owned_file(root / "secret", NOBODY, 0o600)
        serve(udp_lab, root, "--sandbox", "off")
        fetched = fetch(udp_lab, "secret", tmp_path / "copy")

        assert fetched.wait() == UNREACHABLE
        assert "permission denied" in one_line(fetched)

    def test_files_of_root_and_files_for_everybody_are_served(self, udp_lab: Lab, tmp_path: Path) -> None:
        private = owned_directory(tmp_path / "home", NOBODY, 0o700)  # the way to DIR is the local user's to open
        root = make_root(private)
        owned_file(root / "own", pwd.getpwuid(0), 0o600)
        owned_file(root / "open", NOBODY, 0o644)
        serve(udp_lab, root)
        for name in ("own", "open"):
            fetched = fetch(udp_lab, name, tmp_path / name)
            assert fetched.wait() == DONE, fetched.errors

    def test_send_opens_any_file_that_root_names(self, udp_lab: Lab, tmp_path: Path) -> None:
        secret = owned_file(owned_directory(tmp_path / "home", NOBODY, 0o700) / "secret", NOBODY, 0o600)
        receiver = udp_lab.wait_for_peer(udp_lab.there, "recv", tmp_path / "copy")
        sender = udp_lab.start(udp_lab.here, "send", secret, udp_lab.there.address)

        assert (sender.wait(), receiver.wait()) == (DONE, DONE), sender.errors + receiver.errors

    def test_recv_refuses_at_once_a_directory_that_root_may_not_write(self, udp_lab: Lab, tmp_path: Path) -> None:
        target = owned_directory(tmp_path / "home", NOBODY, 0o755) / "target"
        receiver = udp_lab.start(udp_lab.there, "recv", target, "--passive")

        assert receiver.wait() == LOCAL
        assert "--user" in one_line(receiver)


@needs_root
class TestUser:
    @pytest.mark.parametrize("written", ["nobody", f"{NOBODY.pw_uid}", "nobody:nogroup", "4242:4343"])
    def test_user_and_group_change_for_good(self, lab: Lab, public_path: Path, written: str) -> None:
        process = lab.start(
            lab.there, "listen", "--root", make_root(public_path), "--user", written,
            prepare=lambda: os.setgroups([0, OTHER.pw_gid]),
        )  # fmt: skip
        process.wait_until_it_waits()
        status = status_of(process)
        user, group = (4242, 4343) if written == "4242:4343" else (NOBODY.pw_uid, NOBODY.pw_gid)

        assert status["Uid"].split() == [str(user)] * 4
        assert status["Gid"].split() == [str(group)] * 4
        assert set(status["Groups"].split()) <= {str(group)}
        for name in [*CAPABILITY_SETS, "CapBnd"]:
            assert int(status[name], 16) == 0, name

    def test_what_it_stores_belongs_to_the_user(self, lab: Lab, public_path: Path) -> None:
        root = owned_directory(public_path / "served", NOBODY, 0o700)
        serve(lab, root, "--user", "nobody")
        stored = store(lab, make_file(public_path / "source", 100_000), "new")

        assert stored.wait() == DONE, stored.errors
        assert sha256(root / "new") == sha256(public_path / "source")
        assert (root / "new").stat().st_uid == NOBODY.pw_uid

    def test_it_gives_away_what_the_user_may_read_and_nothing_of_root(self, lab: Lab, public_path: Path) -> None:
        root = make_root(public_path)
        owned_file(root / "secret", pwd.getpwuid(0), 0o600)
        owned_file(root / "own", NOBODY, 0o600)
        serve(lab, root, "--user", "nobody")
        refused, fetched = fetch(lab, "secret", public_path / "1"), fetch(lab, "own", public_path / "2")

        assert (refused.wait(), fetched.wait()) == (UNREACHABLE, DONE), refused.errors + fetched.errors

    def test_recv_writes_where_the_user_may(self, udp_lab: Lab, public_path: Path) -> None:
        target = owned_directory(public_path / "home", NOBODY, 0o755) / "target"
        receiver = udp_lab.wait_for_peer(udp_lab.there, "recv", target, "--user", "nobody")
        sender = udp_lab.start(udp_lab.here, "send", make_file(public_path / "source", 9000), udp_lab.there.address)

        assert (sender.wait(), receiver.wait()) == (DONE, DONE), sender.errors + receiver.errors
        assert (target.stat().st_uid, stat.S_IMODE(target.stat().st_mode)) == (NOBODY.pw_uid, 0o644)

    def test_a_udp_port_below_1024_is_still_possible(self, udp_lab: Lab) -> None:
        server = udp_lab.start_raw(
            udp_lab.there,
            ["perf", "--passive", "--user", "nobody", "--encap", "udp", "--udp-port", "998", "--working-set", "1M"],
        )
        server.wait_until_it_waits()
        client = udp_lab.start_raw(
            udp_lab.here, ["perf", udp_lab.there.address, "--encap", "udp", "--udp-port", "998", "--size", "5000"]
        )
        assert client.wait() == DONE, client.errors

    def test_claims_on_ports_of_raw_ip_still_count(self, raw_lab: Lab) -> None:
        """Two users, neither of them root: each sees that the other holds a raw socket, so its claim is no pretence."""
        first = raw_lab.start(raw_lab.there, "perf", "--passive", "--user", NOBODY.pw_name, "--working-set", "1M")
        first.wait_until_it_waits()
        second = raw_lab.start(raw_lab.there, "perf", "--passive", "--user", OTHER.pw_name, "--working-set", "1M")

        assert second.wait() == LOCAL
        assert "port 1 is in use" in one_line(second)


class TestUserMistakes:
    @pytest.mark.parametrize(
        ("written", "words"),
        [
            ("no-such-user", "no user no-such-user"),
            ("nobody:no-such-group", "no group no-such-group"),
            ("4242", "--user 4242:GROUP"),
            ("4294967295", "no user 4294967295"),
            ("-1", "no user -1"),
            (":nogroup", "no user"),
            ("nobody:", "no group"),
        ],
    )
    def test_the_error_names_what_is_wrong(self, udp_lab: Lab, tmp_path: Path, written: str, words: str) -> None:
        process = udp_lab.start(udp_lab.there, "listen", "--root", tmp_path, f"--user={written}")

        assert process.wait() == LOCAL
        assert words in one_line(process)

    def test_only_root_becomes_another_user(self, udp_lab: Lab, public_path: Path) -> None:
        readable = Path(shutil.copy(NETBLT, public_path))  # the clone may be root's alone

        def prepare() -> None:
            if is_root():
                become(NOBODY)

        process = udp_lab.start(
            udp_lab.there, "perf", "--passive", "--user", OTHER.pw_name, prepare=prepare, program=readable
        )

        assert process.wait() == LOCAL
        assert "only root can become another user" in one_line(process)


class TestSandbox:
    @pytest.mark.parametrize("command", COMMANDS)
    def test_injected_code_reaches_no_file_and_makes_no_socket(
        self, lab: Lab, tmp_path: Path, preload: Callable[..., Callable[[], None]], command: str
    ) -> None:
        served = tmp_path / "beneath"
        served.mkdir()
        outside = make_file(tmp_path / "outside", 10)
        process = start_waiting(
            lab, command, served, prepare=preload(PROBE_READ=str(outside), PROBE_CREATE=str(tmp_path / "planted"))
        )
        process.wait_until(lambda: "become root" in probed(process), "the probe has tried everything")

        assert probed(process) == {
            "read /etc/passwd": "EACCES",
            "read": "EACCES",
            "create": "EACCES",
            "tcp socket": "ENOSYS",
            "raw socket": "ENOSYS",
            "new process": "ENOSYS",
            "become root": "ENOSYS",
        }
        assert not (tmp_path / "planted").exists()
        assert status_of(process)["Seccomp"] == "2"

    @pytest.mark.parametrize(
        ("command", "read", "create"),
        [
            ("send", "EACCES", "EACCES"),
            ("recv", "worked", "worked"),
            ("listen", "worked", "worked"),
            ("perf", "EACCES", "EACCES"),
        ],
    )
    def test_beneath_its_directory_only_those_who_need_files_reach_them(
        self,
        udp_lab: Lab,
        tmp_path: Path,
        preload: Callable[..., Callable[[], None]],
        command: str,
        read: str,
        create: str,
    ) -> None:
        names = {"PROBE_READ": str(make_file(tmp_path / "beneath", 10)), "PROBE_CREATE": str(tmp_path / "planted")}
        process = start_waiting(udp_lab, command, tmp_path, prepare=preload(**names))
        process.wait_until(lambda: "become root" in probed(process), "the probe has tried everything")

        assert (probed(process)["read"], probed(process)["create"]) == (read, create)

    def test_a_server_that_only_gives_files_away_cannot_create_one(
        self, udp_lab: Lab, tmp_path: Path, preload: Callable[..., Callable[[], None]]
    ) -> None:
        names = {"PROBE_READ": str(make_file(tmp_path / "beneath", 10)), "PROBE_CREATE": str(tmp_path / "planted")}
        process = start_waiting(udp_lab, "listen", tmp_path, "--read-only", prepare=preload(**names))
        process.wait_until(lambda: "become root" in probed(process), "the probe has tried everything")

        assert (probed(process)["read"], probed(process)["create"]) == ("worked", "EACCES")

    def test_executing_a_program_ends_the_process(
        self, udp_lab: Lab, tmp_path: Path, preload: Callable[..., Callable[[], None]]
    ) -> None:
        process = start_waiting(udp_lab, "listen", tmp_path, prepare=preload(PROBE_EXECUTE="1"))
        assert process.wait() == -signal.SIGSYS

    def test_without_a_sandbox_injected_code_reaches_files(
        self, udp_lab: Lab, tmp_path: Path, preload: Callable[..., Callable[[], None]]
    ) -> None:
        """That the probe works at all."""
        process = start_waiting(udp_lab, "perf", tmp_path, "--sandbox", "off", prepare=preload())
        process.wait_until(lambda: "tcp socket" in probed(process), "the probe has tried files")

        assert (probed(process)["read /etc/passwd"], probed(process)["tcp socket"]) == ("worked", "worked")

    def test_records_are_written_and_read_back_by_others(self, lab: Lab, tmp_path: Path, sandbox: None) -> None:
        """--pcap and --qlog lie outside of every directory that the process may reach."""
        del sandbox
        root = make_root(tmp_path)
        records = ["--pcap", str(tmp_path / "server.pcap"), "--qlog", str(tmp_path / "server.qlog")]
        server = serve(lab, root, *records, "--sandbox", "require")
        stored = store(lab, make_file(tmp_path / "source", 50_000), "new", "--sandbox", "require", "--json")
        assert stored.wait() == DONE, stored.errors
        server.send_signal(signal.SIGINT)

        assert server.wait() == INTERRUPTED, server.errors
        assert (tmp_path / "server.pcap").stat().st_size > 50_000
        assert (tmp_path / "server.qlog").stat().st_size > 1000


NO_LANDLOCK = (LANDLOCK_CREATE_RULESET, None, ENOSYS)


class TestKernelsWithout:
    @pytest.mark.parametrize("command", COMMANDS)
    def test_landlock_that_is_required_and_missing_is_an_error(
        self, udp_lab: Lab, tmp_path: Path, sandbox: None, command: str
    ) -> None:
        del sandbox
        words: dict[str, list[str | Path]] = {
            "send": ["send", make_file(tmp_path / "source", 10), "--passive"],
            "recv": ["recv", tmp_path / "target", "--passive"],
            "listen": ["listen", "--root", tmp_path],
            "perf": ["perf", "--passive", "--working-set", "1M"],
        }
        process = udp_lab.start(
            udp_lab.there, *words[command], "--sandbox", "require", prepare=without_system_call(NO_LANDLOCK)
        )

        assert process.wait() == UNSUPPORTED
        assert "Landlock" in one_line(process)

    def test_a_server_reports_once_that_landlock_is_missing(self, udp_lab: Lab, tmp_path: Path, sandbox: None) -> None:
        del sandbox
        server = serve(udp_lab, tmp_path, prepare=without_system_call(NO_LANDLOCK))

        assert "sandbox incomplete: this kernel has no Landlock" in one_line(server)
        assert status_of(server)["Seccomp"] == "2", "the filter is there all the same"

    def test_one_transfer_does_without_a_word(self, udp_lab: Lab, tmp_path: Path, sandbox: None) -> None:
        del sandbox
        receiver = udp_lab.wait_for_peer(
            udp_lab.there, "recv", tmp_path / "target", prepare=without_system_call(NO_LANDLOCK)
        )
        assert receiver.error_lines == []

    @needs_x86_64
    @pytest.mark.parametrize(("option", "code"), [("require", UNSUPPORTED), ("auto", None)])
    def test_a_missing_system_call_filter_is_treated_alike(
        self, udp_lab: Lab, tmp_path: Path, sandbox: None, option: str, code: int | None
    ) -> None:
        del sandbox
        missing = without_system_call((SECCOMP, None, ENOSYS), (PRCTL, PR_SET_SECCOMP, EINVAL))
        server = udp_lab.start(udp_lab.there, "listen", "--root", tmp_path, "--sandbox", option, prepare=missing)
        if code is None:
            server.wait_until_it_waits()
        else:
            assert server.wait() == code
        assert "no system call filter" in one_line(server)
