# SPDX-License-Identifier: BSD-2-Clause
"""The movers: how each one's programs are started at both ends."""

from __future__ import annotations

import shutil
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

from ..lab import A, B, Line, PathLab, wait_until_open
from ..peers import UDP_PORT, Build
from ..processes import BenchError, Program, run
from .workloads import Workload

SSH_PORT = 2222
SSHD = "/usr/sbin/sshd"
CROC_PORT, CROC_CODE = 9009, "9981-netblt-bench"
UFTP_PORT = 1044
NORM_PORT = 6003
TOLD_SHARE = 0.95  # movers with an option for a rate get so much of the line's
READY_S = 0.5  # for programs that show by nothing that they wait
# All processes of one end in a PID namespace: when its first one ends, so do those that it has started.
TOGETHER = ["unshare", "--pid", "--fork", "--kill-child=KILL"]


@dataclass
class Stage:
    """Where one transfer takes place. `target` is the directory that shall hold the copy, `scratch` is for logs, keys
    and configuration."""

    build: Build
    lab: PathLab
    line: Line
    workload: Workload
    target: Path
    scratch: Path

    @property
    def copy(self) -> Path:
        return self.target / self.workload.source.name

    @property
    def given_bps(self) -> float:
        return self.line.rate_mbit * 1e6 * TOLD_SHARE

    def start(self, argv: list[str], *, sends: bool) -> Program:
        return self.lab.program(argv, sends=sends, pinned=False)


class Mover(ABC):
    """One program that moves files. `key` names it on the command line and in JSON."""

    key: str
    title: str
    receiver_ends = True  # the receiving program ends by itself; others serve on
    receiver_first = True
    encrypts_by_design = False
    traffic: tuple[str, ...] = ("--all-ip",)  # what flakeway has to treat as this program's packets

    @abstractmethod
    def missing(self, build: Build) -> str | None:
        """Why it cannot run here, or None."""

    def cannot(self, workload: Workload, build: Build) -> str | None:  # noqa: ARG002
        """Why it cannot move this, or None."""
        return None

    def prepare(self, stage: Stage) -> None:  # noqa: B027
        """Starts what stays, whatever becomes of a transfer."""

    def receiver(self, stage: Stage) -> Program | None:  # noqa: ARG002
        """Starts the receiving end of one transfer; None: what `prepare` started receives."""
        return None

    @abstractmethod
    def sender(self, stage: Stage) -> Program:
        """Starts the sending end, which ends by itself."""


def not_found(*programs: str) -> str | None:
    for program in programs:
        if shutil.which(program) is None and not Path(program).exists():
            return f"not installed ({Path(program).name}; tools/setup --bench)"
    return None


class Netblt(Mover):
    """This project's command, at its defaults."""

    key, title = "netblt", "netblt"
    options: tuple[str, ...] = ("--encap", "udp", "--quiet")

    def missing(self, build: Build) -> str | None:
        return None if build.netblt.exists() else "not built (tools/build)"

    @staticmethod
    def moves_trees(build: Build) -> bool:
        return "--retry" in run([build.netblt, "send", "--help"])

    def cannot(self, workload: Workload, build: Build) -> str | None:
        return "no directories" if workload.is_tree and not self.moves_trees(build) else None

    def receiver(self, stage: Stage) -> Program:
        place = f"{stage.target}/" if self.moves_trees(stage.build) else str(stage.copy)
        program = stage.start(
            [str(stage.build.netblt), "recv", place, "--passive", "--bind", B, *self.options], sends=False
        )
        wait_until_open(program, "udp", UDP_PORT)
        return program

    def sender(self, stage: Stage) -> Program:
        return stage.start(
            [str(stage.build.netblt), "send", str(stage.workload.source), B, "--bind", A, *self.options], sends=True
        )


class OverSsh(Mover):
    """A mover that starts its other end by ssh: an sshd of our own with keys for this one run."""

    encrypts_by_design = True

    def missing(self, build: Build) -> str | None:  # noqa: ARG002
        return not_found(SSHD, "ssh", "ssh-keygen", self.key)

    def prepare(self, stage: Stage) -> None:
        for name in ("host", "user"):
            run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", stage.scratch / name])
        config = stage.scratch / "sshd_config"
        config.write_text(
            f"ListenAddress {B}:{SSH_PORT}\nHostKey {stage.scratch}/host\nAuthorizedKeysFile {stage.scratch}/user.pub\n"
            "PermitRootLogin yes\nPasswordAuthentication no\nStrictModes no\nUsePAM no\nPidFile none\n"
            "Subsystem sftp internal-sftp\n"
        )
        (stage.scratch / "sshd-start").write_text(
            f"mount -t tmpfs tmpfs /run && mkdir /run/sshd && exec {SSHD} -D -e -f {config}\n"  # seen by itself only
        )
        words = [*TOGETHER, "--mount", "sh", str(stage.scratch / "sshd-start")]
        wait_until_open(stage.start(words, sends=False), "tcp", SSH_PORT)

    @staticmethod
    def ssh_options(stage: Stage) -> list[str]:
        return ["-i", f"{stage.scratch}/user", "-o", "StrictHostKeyChecking=no", "-o", "LogLevel=ERROR",
                "-o", f"UserKnownHostsFile={stage.scratch}/known", "-F", "none"]  # fmt: skip


class Rsync(OverSsh):
    key, title = "rsync", "rsync over ssh"

    def sender(self, stage: Stage) -> Program:
        shell = " ".join(["ssh", "-p", str(SSH_PORT), *self.ssh_options(stage)])
        return stage.start([*TOGETHER, "rsync", "-aS", "--partial", "-e", shell, str(stage.workload.source),
                            f"root@{B}:{stage.target}/"], sends=True)  # fmt: skip


class Scp(OverSsh):
    key, title = "scp", "scp"

    def sender(self, stage: Stage) -> Program:
        return stage.start([*TOGETHER, "scp", "-q", "-r", "-p", "-P", str(SSH_PORT), *self.ssh_options(stage),
                            str(stage.workload.source), f"root@{B}:{stage.target}/"], sends=True)  # fmt: skip


class Croc(Mover):
    """With a relay of our own, on the sender's host."""

    key, title = "croc", "croc"
    receiver_first = False
    encrypts_by_design = True

    def missing(self, build: Build) -> str | None:
        return None if build.peer("croc").exists() else "not built (go; tools/bench)"

    def _words(self, stage: Stage, end: str, *words: str) -> list[str]:
        home = stage.scratch / end
        home.mkdir(exist_ok=True)
        return ["env", f"HOME={home}", f"CROC_CONFIG_DIR={home}", f"CROC_SECRET={CROC_CODE}",
                str(stage.build.peer("croc")), *words]  # fmt: skip

    def prepare(self, stage: Stage) -> None:
        ports = ",".join(str(CROC_PORT + number) for number in range(5))
        relay = stage.start(self._words(stage, "relay", "relay", "--host", A, "--ports", ports), sends=True)
        wait_until_open(relay, "tcp", CROC_PORT)

    def _common(self) -> list[str]:
        return ["--yes", "--overwrite", "--no-compress", "--disable-clipboard", "--ignore-stdin",
                "--relay", f"{A}:{CROC_PORT}"]  # fmt: skip

    def sender(self, stage: Stage) -> Program:
        program = stage.start(self._words(stage, "sender", *self._common(), "send", "--no-local",
                                          str(stage.workload.source)), sends=True)  # fmt: skip
        time.sleep(READY_S + stage.line.round_trip_ms / 1e3 * 8)  # it makes its room at the relay
        return program

    def receiver(self, stage: Stage) -> Program:
        return stage.start(self._words(stage, "receiver", *self._common(), "--out", str(stage.target)), sends=False)


class Uftp(Mover):
    """Multicast's own mover, here to one receiver; its rate is fixed."""

    key, title = "uftp", "uftp, rate given"
    receiver_ends = False

    def missing(self, build: Build) -> str | None:  # noqa: ARG002
        return not_found("uftp", "uftpd")

    def prepare(self, stage: Stage) -> None:
        words = ["uftpd", "-d", "-D", str(stage.target), "-I", "eth0", "-p", str(UFTP_PORT), "-B", "4000000"]
        wait_until_open(stage.start(words, sends=False), "udp", UFTP_PORT)

    def sender(self, stage: Stage) -> Program:
        round_trip_s = max(0.01, stage.line.round_trip_ms / 1e3)
        return stage.start(["sh", "-c", 'cd "$1" && shift && exec uftp "$@"', "uftp", str(stage.scratch),
                            "-M", B, "-I", "eth0", "-p", str(UFTP_PORT), "-R", str(round(stage.given_bps / 1000)),
                            "-r", f"{max(0.1, 2 * round_trip_s):g}", "-b", "1400",
                            str(stage.workload.source)], sends=True)  # fmt: skip


class Norm(Mover):
    """NORM (RFC 5740) by a small program on its library, here to one receiver; its rate is fixed."""

    key, title = "norm", "NORM, rate given"
    receiver_ends = False

    def missing(self, build: Build) -> str | None:
        return None if build.peer("norm_file").exists() else "not installed (libnorm-dev; tools/setup --bench)"

    def receiver(self, stage: Stage) -> Program:
        program = stage.start([str(stage.build.peer("norm_file")), "recv", str(stage.target)], sends=False)
        wait_until_open(program, "udp", NORM_PORT)
        return program

    def sender(self, stage: Stage) -> Program:
        return stage.start([str(stage.build.peer("norm_file")), "send", B, f"{stage.given_bps:.0f}",
                            str(stage.workload.source)], sends=True)  # fmt: skip


MOVERS: list[Mover] = [Netblt(), Rsync(), Scp(), Croc(), Uftp(), Norm()]


def known(key: str) -> Mover:
    for mover in MOVERS:
        if mover.key == key:
            return mover
    raise BenchError(f"there is no mover '{key}'; there are: {', '.join(mover.key for mover in MOVERS)}")
