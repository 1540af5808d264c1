# SPDX-License-Identifier: GPL-2.0-or-later
"""dumpcap: captures on interfaces and writes pcapng into a pipe."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence

from netblt_conformance.common.child import die_with_parent
from netblt_conformance.common.errors import JudgeError

# NETBLT is protocol 30 or is carried in UDP on any port; whatever else passes is not worth copying. After "vlan" the
# offsets are others, so it comes last.
FILTER = "ip proto 30 or ip6 proto 30 or udp or vlan"
BUFFER_MIB = 64
CHUNK_BYTES = 1 << 20


class Dumpcap:
    """A context manager; dumpcap never outlives it."""

    def __init__(self, interfaces: Sequence[str], filter_: str, count: int, buffer_mib: int) -> None:
        program = shutil.which(os.environ.get("NETBLT_DUMPCAP", "dumpcap"))
        if program is None:
            raise JudgeError("dumpcap is not installed (package wireshark-common); run tools/setup")
        words = [program, "-q", "-n", "-B", str(buffer_mib), "-f", filter_, "-w", "-"]
        words += [word for name in interfaces for word in ("-i", name)]
        words += ["-c", str(count)] if count else []
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - read when dumpcap has ended
        # A session of its own: Ctrl-C is ours to pass on, once the last packets are wanted.
        self._process = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=self._errors, preexec_fn=die_with_parent, start_new_session=True
        )
        assert self._process.stdout is not None
        self._output = self._process.stdout.fileno()
        self._stopped = False

    def __enter__(self) -> Dumpcap:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._errors.close()

    def read(self, wait_s: float) -> bytes | None:
        """What has come; nothing after `wait_s` without any; None when dumpcap has ended."""
        ready, _, _ = select.select([self._output], [], [], wait_s)
        if not ready:
            return b""
        return os.read(self._output, CHUNK_BYTES) or None

    def stop(self) -> None:
        if self._process.poll() is None:
            self._stopped = True
            self._process.send_signal(signal.SIGINT)

    def complaint(self) -> str:
        """Why dumpcap failed; empty when it did not."""
        status = self._process.wait()
        self._errors.seek(0)
        words = self._errors.read().decode("utf-8", "replace")
        lines = [line.strip() for line in words.splitlines() if line.strip() and not line.startswith("Capturing on")]
        if status == 0 or (self._stopped and status == -signal.SIGINT):  # stopped before it could take the signal
            return ""
        return next((line for line in lines if "dumpcap" not in line or ":" in line), "no reason given")
