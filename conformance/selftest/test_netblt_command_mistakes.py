# SPDX-License-Identifier: GPL-2.0-or-later
"""Everything that can be wrong before a transfer of the command `netblt` begins: one clear line, the right exit code.

As root two network namespaces are the two hosts; otherwise raw IP is skipped and UDP runs over loopback.
"""

from __future__ import annotations

import contextlib
import ctypes
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from netblt_conformance.common import nobody
from selftest.netblt_command_helpers import (
    DONE,
    KEYS,
    LOCAL,
    UNREACHABLE,
    leftovers,
    make_file,
    needs_root,
    one_line,
)
from selftest.netblt_command_lab import Lab, is_root

pytest_plugins = ["selftest.netblt_command_fixtures"]


PR_CAPBSET_DROP = 24
# Binds the names by which netblt claims the default port, as any local user can, and holds them until its input ends.
SQUAT = """
import socket, sys
places = ("any", "any/00000000", "0.0.0.0", "10.9.0.2")
names = ["netblt/claiming", *("netblt/ip/1/" + place for place in places)]
held = []
for name in names:
    held.append(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
    held[-1].bind("\\0" + name)
print("bound", flush=True)
sys.stdin.read()
"""


def lose_all_capabilities() -> None:
    """In the child: what it executes has no privilege at all, even as root."""
    if is_root():
        libc = ctypes.CDLL(None)
        for capability in range(64):  # more than there are: those that do not exist are an error without effect
            libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)


class TestBadInput:
    @pytest.mark.parametrize(
        ("arguments", "expected", "words"),
        [
            ([], LOCAL, "a command is missing"),
            (["push", "f", "h"], LOCAL, "push"),
            (["listen"], LOCAL, "--root"),
            (["listen", "x", "--root", "."], LOCAL, "x is too much"),
            (["listen", "--root", ".", "--allow", "10.0.0.0/33"], LOCAL, "at most 32 bits"),
            (["listen", "--root", ".", "--client-string", "x"], LOCAL, "no option of netblt listen"),
            (["perf"], LOCAL, "HOST"),
            (["perf", "h", "x"], LOCAL, "x is too much"),
            (["perf", "h", "--count", "1"], LOCAL, "--repeat"),
            (["perf", "h", "--size", "1", "--time", "1"], LOCAL, "exclude"),
            (["perf", "h", "--size", "5G"], LOCAL, "out of range"),
            (["perf", "--passive", "--reverse"], LOCAL, "leave them out"),
            (["send", "f", "h", "--root", "."], LOCAL, "no option of netblt send"),
            (["send", "f", "h", "--no-resume"], LOCAL, "no option of netblt send"),
            (["recv", "f", "h", "--part-size", "1G"], LOCAL, "no option of netblt recv"),
            (["send", "f", "h", "--part-size", "1k"], LOCAL, "between 262144 and"),
            (["send", "f", "h", "--hash", "md5"], LOCAL, "blake3 or sha256"),
            (["send", "f", "h", "--retry", "0"], LOCAL, "or forever"),
            (["send", "f", "h", "--retry", "soon"], LOCAL, "or forever"),
            (["send", "f", "--passive", "--schedule", "10:00+1h"], LOCAL, "--schedule"),
            (["send", "f", "-", "h"], LOCAL, "stdin"),
            (["send", "f", "", "h"], LOCAL, "empty"),
            (["recv"], LOCAL, "HOST"),
            (["recv", "--passive"], LOCAL, "DEST"),
            (["send", "f", "h", "--rate", "auto", "--burst-size", "4"], LOCAL, "leave one of them out"),
            (["send", "f", "h", "--rate", "fast"], LOCAL, "auto or fixed"),
            (["send", "f", "h", "--profile", "x"], LOCAL, "mit1987"),
            (["send", "f", "h", "--path", "100M"], LOCAL, "100M,600ms"),
            (["send", "f", "h", "--path", "100M,3601s"], LOCAL, "out of range"),
            (["send", "f", "--passive", "--open-timeout", "5"], LOCAL, "--open-timeout"),
            (["send", "f", "h", "-4", "--bind", "::1"], LOCAL, "different families"),
            (["send", "f", "h", "--pcap", ""], LOCAL, "--pcap"),
            (["send", "f", "h", "--transmit", "x"], LOCAL, "af_packet"),
            (["send", "f", "h", "--transmit", "af_packet", "--encap", "udp"], LOCAL, "raw IP"),
            (["send"], LOCAL, "PATH"),
            (["send", "f"], LOCAL, "--passive"),
            (["recv", "f", "h", "--passive"], LOCAL, "h is too much"),
            (["recv", "f", "h", "x"], LOCAL, "h is too much"),
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
        for option, words in (("--help", "netblt send PATH... HOST"), ("--version", "netblt ")):
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

    def test_an_unreadable_file(self, udp_lab: Lab, tmp_path: Path) -> None:
        source = make_file(tmp_path / "secret", 10)
        source.chmod(0)
        process = udp_lab.start(udp_lab.here, "send", source, udp_lab.there.address, prepare=lose_all_capabilities)

        assert process.wait() == LOCAL
        assert "Permission denied" in one_line(process)

    def test_a_name_with_a_line_feed_is_complained_of_in_one_line(self, udp_lab: Lab, tmp_path: Path) -> None:
        process = udp_lab.start(udp_lab.here, "send", tmp_path / "two\nlines\033[2J", udp_lab.there.address)

        assert process.wait() == LOCAL
        assert "two?lines?[2J: No such file" in one_line(process)

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
        absent = "10.9.0.77"  # on the cable's network; no host answers ARP
        process = lab.start(lab.here, "send", make_file(tmp_path / "source", 10), absent)

        assert process.wait() == UNREACHABLE
        assert f"{absent} is unreachable: No route to host" in one_line(process)

    def test_a_host_where_nothing_listens(self, lab: Lab, tmp_path: Path) -> None:
        process = lab.start(lab.here, "recv", tmp_path / "target", lab.there.address, "--open-timeout", "90")

        assert process.wait() == UNREACHABLE, "by ICMP; without it, it would wait for longer than we do"
        assert "--passive" in one_line(process)
        assert not (tmp_path / "target").exists()
        assert leftovers(tmp_path) == []

    def test_a_peer_that_never_answers(self, udp_lab: Lab, tmp_path: Path) -> None:
        source = make_file(tmp_path / "source", 10)
        impatient = ["--json", "--open-timeout", "3"]
        kinds = {"udp": (socket.SOCK_DGRAM, 0, udp_lab.udp_port)}
        if is_root():
            kinds["ip"] = (socket.SOCK_RAW, 30, 0)
        with contextlib.ExitStack() as silent_sockets:
            processes = []
            for encap, (kind, protocol, port) in kinds.items():
                with udp_lab.there.inside():
                    silent = silent_sockets.enter_context(socket.socket(socket.AF_INET, kind, protocol))
                    silent.bind((udp_lab.there.address, port))
                processes.append(
                    udp_lab.start(udp_lab.here, "send", source, udp_lab.there.address, *impatient, encap=encap)
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
            udp_lab.here,
            "send",
            make_file(tmp_path / "source", 10),
            "127.0.0.1",
            encap="ip",
            prepare=lose_all_capabilities,
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
        lab.wait_for_peer(lab.there, "recv", tmp_path / "third")  # free again when its owner has exited

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

    @needs_root
    @pytest.mark.skipif(not nobody.changes_user(), reason="root cannot become another user here")
    def test_a_user_without_raw_sockets_keeps_nobody_off_a_port(self, raw_lab: Lab, tmp_path: Path) -> None:
        lab = raw_lab
        with lab.there.inside():
            # Not the one of the virtual environment, which may lie where other users may not go.
            python = Path(sys.executable).resolve()
            squatter = subprocess.Popen(
                [python, "-c", SQUAT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, **nobody.credentials()
            )
        try:
            assert squatter.stdout is not None
            assert squatter.stdout.readline() == b"bound\n"
            first = lab.wait_for_peer(lab.there, "recv", tmp_path / "first")
            second = lab.start(lab.there, "recv", tmp_path / "second", "--passive")
            assert second.wait() == LOCAL
            assert "in use" in one_line(second)  # by the first one, which has a raw socket
            assert first.popen.poll() is None
        finally:
            squatter.communicate()

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

    @pytest.mark.parametrize("target", ["nowhere/target", "nowhere/sub/"])
    def test_a_target_that_cannot_be_written(self, udp_lab: Lab, tmp_path: Path, target: str) -> None:
        process = udp_lab.start(udp_lab.here, "recv", f"{tmp_path}/{target}", "--passive")

        assert process.wait() == LOCAL
        assert str(tmp_path) in one_line(process)

    def test_a_name_that_is_too_long_is_told_before_anything_arrives(self, udp_lab: Lab, tmp_path: Path) -> None:
        process = udp_lab.start(udp_lab.here, "recv", tmp_path / ("n" * 256), "--passive")

        assert process.wait() == LOCAL
        assert "File name too long" in one_line(process)

    def test_a_link_that_leads_nowhere_is_no_target(self, udp_lab: Lab, tmp_path: Path) -> None:
        (tmp_path / "link").symlink_to("nowhere")
        process = udp_lab.start(udp_lab.here, "recv", tmp_path / "link", "--passive")

        assert process.wait() == LOCAL
        assert "leads nowhere" in one_line(process)
        assert (tmp_path / "link").is_symlink()

    @pytest.mark.parametrize("option", ["--pcap", "--qlog"])
    @pytest.mark.parametrize("alias", ["source", "./source", "hard", "soft"])
    def test_a_record_never_overwrites_the_file_that_is_sent(
        self, udp_lab: Lab, tmp_path: Path, option: str, alias: str
    ) -> None:
        source = make_file(tmp_path / "source", 1000)
        before = source.read_bytes()
        (tmp_path / "hard").hardlink_to(source)
        (tmp_path / "soft").symlink_to(source)
        process = udp_lab.start(
            udp_lab.here, "send", source, udp_lab.there.address, option, f"{tmp_path}/{alias}", "--json"
        )

        assert process.wait() == LOCAL
        assert "are the same file" in one_line(process)
        assert process.report["result"] == "local-error"
        assert source.read_bytes() == before

    def test_two_records_need_two_files(self, udp_lab: Lab, tmp_path: Path) -> None:
        record = str(tmp_path / "record")
        process = udp_lab.start(
            udp_lab.here, "recv", tmp_path / "target", "--passive", "--pcap", record, "--qlog", record
        )

        assert process.wait() == LOCAL
        assert "are the same file" in one_line(process)

    def test_a_target_without_write_permission(self, udp_lab: Lab, tmp_path: Path) -> None:
        target = make_file(tmp_path / "target", 10)
        target.chmod(0o444)
        process = udp_lab.start(udp_lab.here, "recv", target, "--passive", prepare=lose_all_capabilities)

        assert process.wait() == LOCAL
        assert "Permission denied" in one_line(process)
